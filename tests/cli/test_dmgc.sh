# drove dmgc: signatures in words, predictions worked out by hand, refusals in one line.
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"
replay "$expected/dmgc.txt"

# SIGNATURE: what stands first in the answer is the signature itself.
for signature in D8M8 'D64f[i64]M64fG64fC64fs' i1 G1C1s D3M5 C1; do
    run_for 0 dmgc "$signature"
    [ "$(sed -n '1s/^signature *//p' out.txt)" = "$signature" ] || fail "$signature: $(head -n 1 out.txt)"
done

# All rows of Table 2, dense and sparse: with one thread the prediction is the table's figure.
n_rows=0
while read -r signature dense sparse; do
    run_for 0 dmgc "$signature"
    grep -q "^prediction *$dense GNPS, dense" out.txt || fail "$signature, dense: $(cat out.txt)"
    run_for 0 dmgc "$signature" --sparse 3%
    grep -q "^prediction *$sparse GNPS, sparse" out.txt || fail "$signature, sparse: $(cat out.txt)"
    n_rows=$((n_rows + 1))
done <<'END'
D32f[i32]M8 0.203 0.103
D32f[i32]M16 0.208 0.08
D32f[i32]M32f 0.936 0.101
D8[i8]M32f 0.999 0.089
D16[i16]M32f 1.183 0.089
D16[i16]M16 1.739 0.106
D8[i8]M16 2.238 0.105
D16[i16]M8 2.526 0.172
D8[i8]M8 3.339 0.166
END
[ "$n_rows" = 9 ] || fail "expected 9 rows, found $n_rows"

# --measure: how fast is not tested, that the figures are there is.
tiny='--measure --bytes 64KiB --seconds 0.004'
run_for 0 dmgc D8M8 --features 1000 --threads 2 $tiny
[ ! -s err.txt ] || fail "--measure: $(cat err.txt)"
grep -Eq '^measured +[0-9.e-]+ GNPS, [0-9.]+ of the prediction; hogwild, kernels [a-z0-9]+' out.txt || fail "$(cat out.txt)"
grep -Eq '^bandwidth +[0-9.e-]+ GB/s, [0-9.]+ of the [0-9.]+ GB/s that reading alone reaches$' out.txt || fail "$(cat out.txt)"
grep -Eq '^steps +[0-9.e+]+ a second, each of 1 example; ' out.txt || fail "$(cat out.txt)"
run_for 0 dmgc D8i8M16 --features 3000 --sparse 3% --threads 2 $tiny --strategy replicas:core --batch 8 --rounding nearest \
    --isa ref --json
python3 - <<'END' || fail "$(cat out.txt)"
import json
a = json.load(open("out.txt"))
m = a["measurement"]
assert m["gnps"] > 0 and m["read_gb_per_s"] > 0 and m["bytes_per_number"] == 2, m
assert abs(m["of_prediction"] - m["gnps"] / a["prediction"]["gnps"]) < 1e-6 * m["of_prediction"]
assert abs(m["steps_per_s"] * 90 * 8 - m["gnps"] * 1e9) < 1e-6 * m["gnps"] * 1e9
assert (m["threads"], m["batch"], m["features"], m["isa"]) == (2, 8, 3000, "ref"), m
assert (m["strategy"], m["rounding"], m["prefetch"]) == ("replicas:core", "nearest", "on"), m
END
# What Table 2 does not have can be measured all the same.
run_for 0 dmgc D16M32f --features 100 $tiny
run_for 0 dmgc D8i16M8 --features 1000 --sparse 3% $tiny
grep -q '^prediction *none: ' out.txt || fail "D8i16M8: $(cat out.txt)"

# Constants: of a file, of this machine, the paper's.
run_for 0 bench calibrate --bytes 4KiB --seconds 0.0005 --json
python3 - <<'END' || fail "$(cat out.txt)"
import json, math, os
r = json.load(open("out.txt"))
f = json.load(open(os.environ["XDG_CONFIG_HOME"] + "/drove/throughput.json"))
assert r["file"].endswith("/config/drove/throughput.json")
assert len(r["constants"]) == 18 and len(f["rows"]) == 9
assert f["machine"] == r["processor"] and f["n_cores"] == r["n_processors"]
assert len(r["rows"]) == 18 * 8 * (2 if r["threads"] > 1 else 1)
for row in r["rows"]:
    assert row["gnps"] > 0 and row["predicted_gnps"] > 0, row
END
# Those of a slower tier are not the machine's.
cp config/drove/throughput.json own.json
run_for 2 bench calibrate --bytes 4KiB --seconds 0.0005 --isa ref
grep -q -e '--isa ref: expected --out FILE' err.txt || fail "bench calibrate --isa ref: $(cat err.txt)"
cmp own.json config/drove/throughput.json
run_for 0 dmgc D8M8
grep -Eq '^constants +.*, [0-9]+ processors?, measured 2[0-9]{3}-[0-9]{2}-[0-9]{2}$' out.txt || fail "stored constants: $(cat out.txt)"
run_for 0 dmgc D8M8 --constants config/drove/throughput.json
grep -q '^constants .*, measured' out.txt || fail "constants of a file: $(cat out.txt)"
run_for 0 dmgc D8M8 --constants paper
grep -q '^constants  *Xeon E7-8890 v3' out.txt || fail "the paper's constants: $(cat out.txt)"
echo '{"throughput": 2}' >config/drove/throughput.json
run_for 2 dmgc D8M8
grep -q '^drove: .*/config/drove/throughput.json: machine: expected a short text$' err.txt || fail "$(cat err.txt)"
run_for 0 dmgc D8M8 --constants paper
