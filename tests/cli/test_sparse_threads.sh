# Sparse linear models on two threads: what --strategy auto compares, trials beside each other, batches claimed several
# at once.
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"
. "$DROVE_SOURCE_DIR/tests/cli/lib_choice.sh"
command -v python3 >/dev/null || { echo "no python3 to read JSON with: skipped"; exit 77; }
defaults=auto

# ---- what is compared with one thread, by speed alone: long enough by the budget, and over at the first evaluation ----
# STRATEGY, OPTIONS...
compares() {
    local strategy=$1
    shift
    run_for 0 train --model logistic --test none --seed 3 --threads 2 --out none --quiet --json \
        --until loss=99%,seconds=90 "$@"
    says "c['how'] == 'probe' and c['allowed'] == 2 and not s['repeatable']"
    says "[r['strategy'] for r in c['compared']] == ['sequential', '$strategy']"
    says "c['compared'][1]['threads'] == 2 and c['compared'][0]['rate'] == 1"
    says "(c['chosen'] == '$strategy') == ((c['compared'][1]['rate'] or 0) >= 1) and c['chosen'] == s['strategy']"
}
narrow="synth:logistic?n=20000&d=1000&density=0.02"
compares 'replicas?merge=sum' --data "$narrow"
compares 'replicas?merge=sum&period=64' --data "$narrow" --batch 1
compares hogwild --data 'synth:logistic?n=3000&d=300000&density=0.0002'
compares 'replicas?merge=sum' --data "$narrow" --precision D8i16M8

# With a given step size losses are compared, in runs long enough for that.
run_for 0 train --data "$narrow" --model logistic --test none --seed 3 --lr 0.1 --threads 2 --out none --quiet --json \
    --until loss=99%,seconds=90
says "'hogwild' in [r['strategy'] for r in c['compared']] and len(c['compared']) > 2"

# Too short for that, or too few examples for replicas to meet often enough: one thread, unmeasured.
for data in "$narrow" 'synth:logistic?n=4000&d=1000&density=0.02'; do
    epochs=20
    [ "$data" = "$narrow" ] || epochs=400
    run_for 0 train --data "$data" --model logistic --test none --seed 3 --lr 0.1 --threads 2 --out none --quiet --json \
        --until epochs=$epochs
    says 'c["how"] == "short" and c["chosen"] == "sequential" and s["repeatable"]'
done

# ---- trials beside each other: the same choice and the same bits ----
for n in 1 2 3; do
    run_for 0 train --data 'synth:logistic?n=3000&d=500&density=0.02' --model logistic --test none --seed 3 \
        --strategy sequential --threads $n --out "trials-$n" --quiet --json
    says 's["lr"] not in (0.1, 0.01)'
    python3 -c 'import json; print(json.load(open("out.txt"))["lr"])' >"lr-$n"
done
cmp lr-1 lr-2 && cmp lr-1 lr-3 || fail "the step size depends on the threads: $(cat lr-1 lr-2 lr-3)"
cmp trials-1/model.safetensors trials-2/model.safetensors || fail "the model depends on the threads of the trials"

# ---- batches of one, several in one go: the bits of one after the other, and exactly as many as asked for ----
singles="--data $narrow --model logistic --test none --seed 3 --batch 1 --rule sgd --lr 0.5 --schedule cosine:2"
# shellcheck disable=SC2086
run_for 0 train $singles --threads 1 --until epochs=2 --out joined --quiet
# shellcheck disable=SC2086
run_for 0 train $singles --threads 1 --until epochs=2 --out single --timeline single.json --quiet
cmp joined/model.safetensors single/model.safetensors || fail "steps in one go differ from steps one by one"
for strategy in hogwild 'replicas?merge=sum&period=5'; do
    # shellcheck disable=SC2086
    run_for 0 train $singles --threads 2 --strategy "$strategy" --until updates=12345 --out none --quiet --json
    says 's["updates"] == s["examples"] == 12345 and sum(w["updates"] for w in s["workers"]) == 12345'
done
