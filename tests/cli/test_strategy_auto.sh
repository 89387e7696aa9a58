# --strategy auto: what it chooses, how it says so, and what it leaves alone.
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"
. "$DROVE_SOURCE_DIR/tests/cli/lib_choice.sh"
command -v python3 >/dev/null || { echo "no python3 to read JSON with: skipped"; exit 77; }
defaults=auto

small="--data synth:digits?n=500&n_test=100 --model mlp:16 --seed 3 --out none"
# Long enough for a probe by its budget, but its first evaluation ends it.
long="--data synth:digits?n=500&n_test=100 --model mlp:16 --seed 3 --lr 0.01 --until loss=99%,seconds=90"

# ---- too short for a probe: one thread, and the same bits each time ----
for i in 1 2; do
    # shellcheck disable=SC2086
    run_for 0 train $small --threads 2 --until epochs=3 --save-every never --out "short-$i" --json
    says 'c["how"] == "short" and c["chosen"] == s["strategy"] == "sequential" and c["threads"] == 1'
    says 'c["allowed"] == 2 and s["repeatable"] and len(s["workers"]) == 1'
done
cmp short-1/model.safetensors short-2/model.safetensors || fail "two runs, two models"
# shellcheck disable=SC2086
run_for 0 train $small --threads 2 --until epochs=3
grep -q '^  strategy    sequential, 1 of 2 threads (not measured: too short a run)$' out.txt || fail "$(cat out.txt)"
if grep -q '^  repeatable' out.txt; then fail "it is repeatable: $(cat out.txt)"; fi

# ---- a probe ----
# shellcheck disable=SC2086
run_for 0 train $long --threads 2 --out probed --json
says 'c["how"] == "probe" and c["chosen"] == s["strategy"] and not s["repeatable"]'
says 'c["threads"] == len(s["workers"]) <= c["allowed"] == 2 and c["seconds"] > 0'
says 'c["compared"][0]["strategy"] == "sequential" and c["compared"][0]["rate"] == 1 and len(c["compared"]) > 1'
says 'c["chosen"] == "sequential" or max(r["rate"] or 0 for r in c["compared"]) >= 1.1'
chosen=$(python3 -c 'import json; print(json.load(open("out.txt"))["strategy"])')
python3 -c 'import json, sys
run = json.load(open("probed/run.json"))
sys.exit(run["options"]["strategy"] != sys.argv[1] or run["strategy"] != sys.argv[1])' "$chosen" ||
    fail "run.json does not name $chosen: $(cat probed/run.json)"
# shellcheck disable=SC2086
run_for 0 train $long --threads 2 --out none
why='.* times its rate, (1\.10 is needed|measured too few times)|.* times the rate of one thread|no other was measured'
grep -Eq "^  strategy    [^ ]+, [12] of 2 threads \(($why); a probe of [0-9.]+ s\)\$" out.txt || fail "$(cat out.txt)"
grep -q '^  repeatable  no' out.txt || fail "expected a word on repeating: $(cat out.txt)"

# A run that goes on keeps the choice, and measures nothing.
run_for 0 train --resume probed --threads 2 --until updates=60 --quiet --json
says "c is None and s['strategy'] == '$chosen'"

# Low-precision parameters: the probe's engines share the data that the run prepares.
# shellcheck disable=SC2086
run_for 0 train --data 'synth:logistic?n=2000&d=64' --model logistic --precision D8M8 --threads 2 --seed 3 \
    --until loss=99%,seconds=90 --quiet --out none --json
says 'c["how"] == "probe" and c["chosen"] == s["strategy"]'

# ---- nothing to choose: what is given keeps its meaning ----
# strategy, OPTIONS...
keeps() {
    local strategy=$1
    shift
    # shellcheck disable=SC2086
    run_for 0 train $small --until epochs=2 --json "$@"
    says "c is None and s['strategy'] == '$strategy'"
}
keeps sequential --threads 1
keeps hogwild --threads 2 --strategy hogwild
keeps sync --threads 2 --strategy sync
keeps hogwild --threads 2 --defaults classic
keeps hogwild --workers procs:2
keeps hogwild --threads 2 --shard own
keeps adaptive --workers cpu:0

# ---- bad input ----
# shellcheck disable=SC2086
run_for 2 train $small --threads 2 --strategy autos
grep -q 'unknown strategy "autos"' err.txt || fail "$(cat err.txt)"
# shellcheck disable=SC2086
run_for 2 train $small --threads 2 --strategy auto --period 5
grep -q -- '--period' err.txt || fail "$(cat err.txt)"
