# drove bench: the list, the benchmarks by name, refusals in one line.
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"

run_for 0 list benches
cp out.txt list.txt
run_for 0 bench
cmp list.txt out.txt
grep -q '^memory ' out.txt

run_for 0 bench memory --threads 3 --seconds 0.001 --bytes 1MiB
[ ! -s err.txt ] || fail "bench memory: $(cat err.txt)"
for words in 'read 1' 'read 2' 'read 3' 'triad 1' 'triad 2' 'triad 3'; do
    grep -Eq "^${words% *} +${words#* } .*[0-9]\.[0-9]$" out.txt || fail "expected a line of $words: $(cat out.txt)"
done
LC_ALL=C grep -nE '^.{81,}$' out.txt && fail "wider than 80 columns"

run_for 0 bench linear --threads 2 --seconds 0.001 --bytes 64KiB
[ ! -s err.txt ] || fail "bench linear: $(cat err.txt)"
[ "$(grep -Ec '^D[0-9f]+\[i[0-9]+\]M[0-9f]+( +[0-9.]+){7}$' out.txt)" = 18 ] ||
    fail "bench linear: expected 18 rows: $(cat out.txt)"
[ "$(grep -Ec '^(D8M4|D4M8|D4M4) +- +[0-9.]+ +-( +[0-9.]+){4}$' out.txt)" = 3 ] ||
    fail "bench linear: expected 3 rows of 4 bits: $(cat out.txt)"
LC_ALL=C grep -nE '^.{81,}$' out.txt && fail "wider than 80 columns"
run_for 0 bench linear --threads 2 --seconds 0.001 --bytes 64KiB --json
python3 - <<'END' || fail "$(cat out.txt)"
import json
rows = [r for r in json.load(open("out.txt"))["rows"] if r["signature"] == "D8[i8]M8" and r["problem"] == "sparse"]
assert [(r["threads"], r["strategy"]) for r in rows] == [(1, "hogwild"), (2, "hogwild"), (2, "replicas?merge=sum&period=64")]
END
run_for 0 bench linear --threads 1 --seconds 0.001 --bytes 64KiB --json
python3 - <<'END' || fail "$(cat out.txt)"
import json
rows = json.load(open("out.txt"))["rows"]
assert len({(r["signature"], r["problem"]) for r in rows}) == len(rows) == 21
assert {(r["signature"], r["problem"]): r["paper_gnps"] for r in rows}["D8[i8]M8", "sparse"] == 0.166
four = [r for r in rows if r["signature"] == "D4M8"]
assert len(four) == 1 and four[0]["paper_gnps"] is None and abs(four[0]["gb_per_s"] / four[0]["gnps"] - 0.5) < 0.01
END
run_for 0 bench calibrate --threads 1 --seconds 0.0005 --bytes 4KiB --out made/constants.json
[ ! -s err.txt ] && [ -s made/constants.json ] && [ ! -e config ] || fail "bench calibrate: $(cat err.txt out.txt)"
LC_ALL=C grep -nE '^.{81,}$' out.txt | grep -v constants: && fail "wider than 80 columns"

# The obstinate cache: what is asked for, and data of one's own.
run_for 0 bench obstinate --quick --bytes 1KiB --threads 1 --signature D8M8,D8i8M8 --q 0,0.9 --cores 4 --json
[ ! -s err.txt ] || fail "bench obstinate: $(cat err.txt)"
python3 - <<'END' || fail "$(cat out.txt)"
import json
out = json.load(open("out.txt"))
assert out["cores"] == 4 and out["seeds"] == 1 and out["here"] == []
assert {(r["signature"], r["features"]) for r in out["rates"]} == {(s, n) for s in ("D8M8", "D8i8M8") for n in (256, 1024)}
assert all([b["q"] for b in r["by_q"]] == [0, 0.9] for r in out["rates"])
assert all(r["by_q"][0]["speedup"] <= 4 and r["by_q"][1]["old_reads"] > 0 for r in out["rates"])
assert [(r["signature"], r["q"], r["owns_first"]) for r in out["losses"]] == [("D8M8", q, o) for o in (False, True) for q in (0, 0.9)]
END
# One core has no invalidations, so q changes nothing; on data that one feature divides it learns what drawn data do not give.
python3 -c '
import random
random.seed(1)
with open("halves.csv", "w") as f:
    print("a,b,c,class", file=f)
    for _ in range(400):
        x = [random.uniform(-5, 5) for _ in range(3)]
        print(*x, "yes" if x[0] > 0 else "no", sep=",", file=f)'
run_for 0 bench obstinate --quick --bytes 256 --threads 1 --signature D8M8,D32fM32f --q 0,0.9 --cores 1 --data 'csv:halves.csv?label=class' --json
python3 - <<'END' || fail "$(cat out.txt)"
import json
for r in json.load(open("out.txt"))["losses"]:
    assert r["features"] == 3 and r["old_reads"] == 0, r
    assert abs(r["loss"][0] - 0.693147) < 1e-5 and r["loss"][-1] < 0.3, r
END
for bad in '--signature D8M9' '--q 1.5' '--q 0,x' '--cores 65' '--cores 0' '--data synth:digits?n=20'; do
    # shellcheck disable=SC2086
    run_for 2 bench obstinate $bad
    [ "$(wc -l <err.txt)" = 1 ] && grep -q -- "^drove: ${bad% *}" err.txt || fail "$bad: $(cat err.txt)"
done

# What backward takes longer, against the paper's tables: 7 ms of AlexNet, shared out by parameters, layers or time.
run_for 0 bench accumulate --json
python3 - <<'END' || fail "$(cat out.txt)"
import json
out = json.load(open("out.txt"))
rows = {(r["model"], r["reading"]): r for r in out["stretch"]}
assert len(rows) == len(out["stretch"]) == 18
near = lambda a, b: abs(a - b) < 1e-5 * abs(b)
params = {"alexnet": 60965224, "vgg16": 138357544}  # Krizhevsky 2012, Simonyan and Zisserman 2015
for name, n in params.items():
    assert near(rows[name, "device memory"]["longer_s"], 8 * n / 732e9)
assert near(rows["vgg16", "by parameter"]["longer_s"], 7e-3 * params["vgg16"] / params["alexnet"])
assert near(rows["vgg16", "by layer"]["longer_s"], 7e-3 * 16 / 8)  # their layers with parameters
tree = {(r["model"], r["devices"]): r["iteration_s"] for r in out["simulation"] if r["method"] == "tree"}
exchange = {name: tree[name, 2] - tree[name, 1] for name in params}  # of all parameters, behind backward
assert abs(exchange["vgg16"] / exchange["alexnet"] - params["vgg16"] / params["alexnet"]) < 1e-3
for name in ("alexnet", "googlenet", "vgg16"):
    none, table3 = rows[name, "none"], rows[name, "by time of backward"]
    backward_s = table3["longer_s"] / (7 / 104)
    assert none["longer_s"] == 0 and near(table3["stretch"], 111 / 104)
    # Copies stay hidden, so an iteration grows by what backward grows by.
    assert abs(table3["iteration_s"] - none["iteration_s"] - table3["longer_s"]) < 2e-5
    assert abs(rows[name, "at 90 %"]["longer_s"] - (rows[name, "at 90 %"]["stretch"] - 1) * backward_s) < 1e-5 * backward_s
    assert abs(rows[name, "at 90 %"]["efficiency"] - 0.9) < 1e-4
    same = [r for r in out["simulation"] if r["model"] == name and r["method"] == "accumulate" and r["devices"] == 4]
    assert near(same[0]["iteration_s"], table3["iteration_s"])
END

# Communication is the exchange and the data, as in the paper's Table 3.
run_for 0 bench elastic --json
python3 - <<'END' || fail "$(cat out.txt)"
import json
def papers(x):
    if isinstance(x, dict):
        if isinstance(x.get("paper"), dict): yield x["paper"]
        x = list(x.values())
    if isinstance(x, list):
        for y in x: yield from papers(y)
found = [p for p in papers(json.load(open("out.txt"))) if "exchange" in p]
assert len(found) >= 4, found
for p in found:
    assert abs(p["ratio"] - p["exchange"] - p["data"]) < 1e-9, p
    assert abs(p["ratio"] + p["compute"] + p["update"] - 1) < 0.02, p
END

status=0
"$DROVE" bench memory --seconds 0.001 --bytes 64KiB --threads 1 >/dev/full 2>err.txt || status=$?
[ "$status" = 1 ] || fail "bench >/dev/full: expected status 1, found $status"
replay "$expected/bench.txt"
