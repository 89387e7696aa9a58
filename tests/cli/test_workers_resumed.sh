# A run whose workers exchange goes on with another number of them, and keeps what is the same for all: the outer velocity
# of diloco, bit for bit, and the mean of what the rules had kept.
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"
has_proc || exit 77
awk 'BEGIN { srand(4); for (i = 0; i < 240; i++) { x = rand() - 0.5; z = rand() - 0.5; print (x + z > 0 ? 1 : 0) "," x "," z } }' >rows.csv

# NAME: its norms and shapes in a state, one line for each tensor.
show() {
    python3 - "$1" <<'PY'
import json, math, struct, sys
data = open(sys.argv[1], "rb").read()
n = struct.unpack("<Q", data[:8])[0]
header = json.loads(data[8:8 + n])
def tensor(name):
    begin, end = header[name]["data_offsets"]
    return struct.unpack("<%df" % ((end - begin) // 4), data[8 + n + begin:8 + n + end])
def norm(v):
    return math.sqrt(sum(x * x for x in v))
v = [tensor(name) for name in sorted(header) if name.startswith("elastic.v.")]
assert v and all(x == v[0] for x in v), "the workers have different outer velocities"
print("outer %.9g" % norm(v[0]))
for k in 0, 1:
    of = [tensor(name) for name in sorted(header) if name.endswith(".state.%d" % k)]
    mean = [sum(x) / len(of) for x in zip(*of)]
    print("mean of state %d %.6g of %d" % (k, norm(mean), len(of)))
PY
}

run_for 0 train 'csv:rows.csv?label=1' --test none --model mlp:8 --strategy 'diloco?h=10' --rule adam --lr 0.01 --batch 4 \
    --workers procs:3 --until epochs=1 --out run
show run/state.safetensors >before.txt
grep -q '^outer 0$' before.txt && fail "no outer velocity to keep: $(cat before.txt)"
# Fewer steps than an exchange needs, so that the outer velocity has to be as it was.
while read -r workers epochs; do
    run_for 0 train --resume run --workers procs:"$workers" --until epochs="$epochs"
    grep -q " workers* before, $workers now: each begins at the centre, with the mean of what the rules" err.txt ||
        fail "$workers workers: not said: $(cat err.txt)"
    show run/state.safetensors >now.txt
    [ "$(grep outer before.txt)" = "$(grep outer now.txt)" ] || fail "$workers workers: $(cat before.txt now.txt)"
    # Adam's second moments fall by a thousandth in a step without a gradient.
    awk '$1 == "mean" && $4 == 1 { print $5 }' before.txt now.txt | tr '\n' ' ' |
        awk '{ exit !($2 > 0.98 * $1 && $2 < 1.3 * $1) }' || fail "$workers workers: the rule's state: $(cat before.txt now.txt)"
done <<'RUNS'
2 1.05
4 1.15
1 1.25
RUNS
cat now.txt
