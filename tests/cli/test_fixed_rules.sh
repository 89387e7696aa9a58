# Rules with state for networks whose parameters are words: floats by that engine have the bits of floats, wherever the
# state lies; words learn; runs are saved and resumed to the same bits, also by several strategies; what does not go
# together is refused.
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"
data='synth:digits?n=2000&n_test=500'
small="--data $data --model mlp:32,16 --threads 1 --batch 16 --lr 0.01 --eval-every 1"
value() { python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$1" "$2"; }

for rule in sgd momentum nesterov adagrad rmsprop adam cocob; do
    for state in shared worker; do
        clip=0
        case $rule in sgd | nesterov | adam) clip=0.5 ;; esac
        for precision in none D32fM32f; do
            # shellcheck disable=SC2086
            run_for 0 train $small --strategy sequential --until epochs=1 --weight-decay 0.001 --clip $clip --rule $rule \
                --rule-state $state --precision $precision --out "out-$precision"
        done
        cmp out-none/model.safetensors out-D32fM32f/model.safetensors || fail "$rule, $state: other bits than floats"
        rm -r out-none out-D32fM32f
    done
done

# Precision, rule, strategy, state: better than the first parameters, and resumed to the same bits.
while read -r precision rule strategy state; do
    case="$precision $rule $strategy $state"
    # shellcheck disable=SC2086
    {
        run_for 0 train $small --precision "$precision" --rule "$rule" --strategy "$strategy" --rule-state "$state" \
            --until epochs=2 --out whole --json && mv out.txt whole.json
        run_for 0 train $small --precision "$precision" --rule "$rule" --strategy "$strategy" --rule-state "$state" \
            --until epochs=1 --out part
        run_for 0 train --resume part --until epochs=2
    }
    cmp whole/model.safetensors part/model.safetensors || fail "$case: a resumed run has other bits"
    python3 -c 'import json; s = json.load(open("whole.json"))
assert s["loss"] < 0.7 * s["loss_initial"], (s["loss"], s["loss_initial"])' || fail "$case: does not learn"
    rm -r whole part
done <<'END'
D8M8 adam sequential shared
D8M8 adam hogwild worker
D8M8 momentum hogwild shared
D16M16 nesterov sequential shared
D8M8?scales=channel rmsprop replicas shared
D8M16 adagrad replicas worker
bf16?masters=bf16 adam hogwild shared
bf16?masters=bf16 nesterov sequential worker
D8M8?scales=channel momentum local auto
D16M16 cocob sequential shared
END

# Back to the best parameters, whose state is kept with them.
# shellcheck disable=SC2086
run_for 0 train $small --precision D8M8 --rule adam --schedule 'plateau:0.2?patience=1&cuts=1' --until epochs=8 --json
python3 -c 'import json; s = json.load(open("out.txt"))
assert s["loss"] < 0.5 * s["loss_initial"], (s["loss"], s["loss_initial"])' || fail "plateau: does not learn"

# Several workers on the same words and state, with words and state of their own, and as processes.
for how in '--strategy hogwild --threads 2' '--strategy replicas --threads 2' '--strategy replicas?merge=sum --threads 2' \
    '--strategy hogwild --threads 2 --rule-state worker' '--strategy easgd-sync3 --threads 2' \
    '--strategy hogwild --workers procs:2'; do
    # shellcheck disable=SC2086
    run_for 0 train --data "$data" --model mlp:32 $how --batch 8 --lr 0.003 --rule adam --until epochs=3 \
        --precision D8M8 --json
    python3 -c 'import json; s = json.load(open("out.txt"))
assert s["loss"] < 0.6 * s["loss_initial"], (s["loss"], s["loss_initial"])' || fail "$how does not learn"
done

# A record of two workers on the same words and state is replayed to the same bits.
run_for 0 train --data "$data" --model mlp:32 --strategy hogwild --threads 2 --batch 8 --lr 0.003 --rule adam --until epochs=1 \
    --precision D8M8 --out recorded --record run.rec
run_for 0 train --replay run.rec --out replayed
cmp recorded/model.safetensors replayed/model.safetensors || fail "a replay has other bits"

wrong 'expected no --schedule by staleness, found staleness' train --data "$data" --model mlp:8 --precision D8M8 \
    --rule adam --schedule staleness
wrong 'expected --rule sgd, no --clip' train --data synth:logistic?n=100 --model logistic --precision D8M8 --clip 1
wrong 'hogwild:live writes while it computes: expected --rule sgd' train --data "$data" --model mlp:8 --precision D8M8 \
    --rule adam --strategy hogwild:live
wrong 'its rule is momentum, with which low-precision parameters are not exchanged' train --data "$data" --model mlp:8 \
    --precision D8M8 --strategy measgd-async --threads 2
wrong 'rule-state shared' train --data "$data" --model mlp:8 --precision D8M8 --rule adam --strategy local --threads 2 \
    --rule-state shared
# The strategy that writes while it computes is left plain SGD.
run_for 0 train --defaults auto --data "$data" --model mlp:8 --precision D8M8 --strategy hogwild:live --threads 1 \
    --until epochs=1 --json
[ "$(value out.txt rule)" = sgd ] || fail "hogwild:live chose $(value out.txt rule)"
