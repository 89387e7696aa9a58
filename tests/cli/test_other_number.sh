# ctest: slow: 40 runs, four of them over MPI
# A run goes on with 2, 4 and 1 workers instead of 3, as threads and as ranks.  Its line says what became of step size, alpha
# and batch; an independent reader of the states finds in each, to the last vector, what the former one had: the centre bit
# for bit, the outer velocity too, and the mean of what the rules had kept, as many steps later.
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"
. "$DROVE_SOURCE_DIR/tests/cli/lib_ranks.sh"
has_proc || exit 77
awk 'BEGIN { srand(4); for (i = 0; i < 240; i++) { x = rand() - 0.5; z = rand() - 0.5; print (x + z > 0 ? 1 : 0) "," x "," z } }' >rows.csv

# Gradients of a norm of 1e-30 and a step size as small: what is kept falls by the rule's factors alone.
still="--lr 1e-30 --clip 1e-30 --schedule constant"
cat >compare.py <<'PY'
import json, math, struct, sys
before, after, n_before, n_after, factors = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), [float(f) for f in sys.argv[5].split(",")]
N = 64  # parameters of mlp:8 with two inputs and two classes, each layer's rounded up
def read(path):
    data = open(path, "rb").read()
    n = struct.unpack("<Q", data[:8])[0]
    out = {}
    for name, about in json.loads(data[8:8 + n]).items():
        if name != "__metadata__":
            begin, end = about["data_offsets"]
            kind = {"F32": "f", "U64": "Q", "F64": "d"}[about["dtype"]]
            out[name] = struct.unpack("<%d%s" % ((end - begin) // struct.calcsize(kind), kind), data[8 + n + begin:8 + n + end])
    return out
def norm(v):
    return math.sqrt(sum(x * x for x in v))
def same(what, a, b, most):
    gap = norm([x - y for x, y in zip(a, b)])
    if len(a) != len(b) or not gap <= most * norm(a) or norm(a) == 0:
        sys.exit("%s: expected a vector of norm %.6g, found %.6g, which differs by %.3g" % (what, norm(a), norm(b), gap))
a, b = read(before), read(after)
assert len(a["vector"]) % N == 0
shown = ["centre %.6g" % norm(a["vector"][:N])]
# A velocity moves the parameters on: by mu / (1 - mu) of it in all.
kept = [a["worker.%d.state.0" % i] for i in range(n_before)] if "worker.0.state.0" in a else [a["vector"][N:]]
reach = max(norm(v) for v in kept) * factors[0] / (1 - factors[0]) if len(factors) == 1 else 0
same("centre", a["vector"][:N], b["vector"][:N], reach / norm(a["vector"][:N]))
updates = b["counters"][1] - a["counters"][1]
assert updates > 0, "no update"
for k in range(len(a["vector"]) // N - 1):  # shared by all
    kept = a["vector"][N * (k + 1):N * (k + 2)]
    same("shared state %d" % k, [x * factors[k] ** updates for x in kept], b["vector"][N * (k + 1):N * (k + 2)], 1e-4)
    shown.append("shared state %.6g" % norm(kept))
assert ("elastic.v.0" in a) == ("elastic.v.0" in b)
for i in range(n_after):
    if "elastic.v.0" in a:
        same("outer velocity", a["elastic.v.0"], b["elastic.v.%d" % i], 0)
if "elastic.v.0" in a:
    shown.append("outer velocity %.6g" % norm(a["elastic.v.0"]))
steps_before = max(a["worker.%d.trace" % i][6] for i in range(n_before))
for k in range(2):
    if "worker.0.state.%d" % k not in a:
        continue
    mean = [sum(x) / n_before for x in zip(*(a["worker.%d.state.%d" % (i, k)] for i in range(n_before)))]
    shown.append("mean of state %d %.6g" % (k, norm(mean)))
    for i in range(n_after):
        steps = b["worker.%d.trace" % i][6] - steps_before
        assert steps >= 0, "worker %d: its rule is at a step before that of the state" % i
        same("state %d of worker %d" % (k, i), [x * factors[k] ** steps for x in mean], b["worker.%d.state.%d" % (i, k)], 1e-4)
print(", ".join(shown))
PY

# N: sets `begin` to what starts drove with so many workers.
of_threads() { begin=("$DROVE"); as=(--threads "$1"); }
of_ranks() { begin=("${launch[@]}" -n "$1" "$DROVE"); as=(--threads 1); }

usual_alpha() { awk -v n="$1" 'BEGIN { printf "%.3g", 0.9 / n }'; }

# HOW STRATEGY RULE FACTORS TEXT [OPTION...]: TEXT is in the line, NOW and BEFORE in it for the usual alpha of so many.
goes_on() {
    local how=$1 strategy=$2 rule=$3 factors=$4 text=$5 n before=3 epochs=1
    shift 5
    rm -rf run
    $how 3
    "${begin[@]}" train --defaults classic --data 'csv:rows.csv?label=1' --test none --model mlp:8 --strategy "$strategy" --rule "$rule" \
        --batch 4 --lr 0.01 --until epochs=1 --out run --quiet "${as[@]}" "$@" >out.txt 2>err.txt || fail "$strategy: $(cat err.txt)"
    for n in 2 4 1; do
        cp run/state.safetensors before.safetensors
        epochs=$(awk -v e="$epochs" 'BEGIN { print e + 0.1 }')
        $how "$n"
        # shellcheck disable=SC2086
        "${begin[@]}" train --resume run --until epochs="$epochs" $still "${as[@]}" >out.txt 2>err.txt || fail "$strategy: $(cat err.txt)"
        line=$(grep "^drove: --resume: $before workers* before, $n now: .*step size 1e-30 as given" err.txt) ||
            fail "$strategy, $before to $n: not said: $(cat err.txt)"
        said=${text/NOW/$(usual_alpha "$n")}
        said=${said/BEFORE/$(usual_alpha "$before")}
        [[ $line == *"$said"* ]] || fail "$strategy, $before to $n: expected \"$said\": $line"
        norms=$(python3 compare.py before.safetensors run/state.safetensors "$before" "$n" "$factors") ||
            fail "$how $strategy $rule, $before to $n"
        echo "$how $strategy $rule $before to $n: $norms"
        before=$n
    done
}

adam=0.9,0.999
centre="each begins at the centre, with the mean of what the rules had kept; what replicas had beyond it is dropped;"
for strategy in easgd easgd-async easgd-sync3; do
    goes_on of_threads $strategy adam $adam "; alpha NOW (BEFORE before); "
done
goes_on of_threads measgd-async momentum:0.9 0.9 "; alpha NOW (BEFORE before); batches of 4 as before"
goes_on of_threads pmsgd-async momentum:0.9 0.9 "; batches of 4 as before"
goes_on of_threads psgd-async adam $adam "$centre"
goes_on of_threads 'diloco?h=15' adam $adam "$centre"
goes_on of_threads local adam $adam "each begins at the centre, with the mean of what the rules had kept; step"
for strategy in allreduce sync accumulate; do
    goes_on of_threads $strategy adam $adam "step size"
done
goes_on of_threads sync adam $adam ": each begins with the mean of what the rules had kept; step size" --rule-state worker

# What messages of few bits had left over belongs to workers that are no more, and so do clocks.
run_for 0 train 'csv:rows.csv?label=1' --test none --model mlp:8 --strategy easgd-sync3 --precision C8s --rho 2 --lr 0.1 \
    --batch 4 --threads 3 --until epochs=1 --out bits --quiet
run_for 0 train --resume bits --threads 2 --until epochs=2
rest="what messages of few bits had left over is dropped; step size 0.1 as before; alpha 0.2 (--rho times the step size)"
grep -q "^drove: --resume: 3 workers before, 2 now: $centre $rest; an update has 8 examples (12 before)\$" err.txt ||
    fail "few bits: $(cat err.txt)"
run_for 0 train 'csv:rows.csv?label=1' --test none --model mlp:8 --strategy ssp:1 --threads 3 --until epochs=1 --out clocks --quiet
run_for 2 train --resume clocks --threads 2 --until epochs=2
[ "$(cat err.txt)" = 'drove: --resume: clocks: --threads: expected 3 as in the run to be continued, found 2' ] || fail "ssp: $(cat err.txt)"

(find_libraries mpich openmpi) >reason.txt || { cat reason.txt && exit 0; }
find_libraries mpich openmpi
for name in $libraries; do
    use_library "$name"
    goes_on of_ranks easgd adam $adam "; alpha NOW (BEFORE before); batches of 4"
    goes_on of_ranks 'diloco?h=15' momentum:0.9 0.9 "$centre"
done
