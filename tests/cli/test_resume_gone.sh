# A run goes on although what --model named when it began is gone: its own folder has it.
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"
awk 'BEGIN {
    srand(7); print "a,b,kind,y"
    for (i = 0; i < 240; i++) { a = rand(); b = rand(); print a "," b ",k" int(3 * rand()) "," (a * b > 0.3) + 0 }
}' >table.csv
cat >net.yaml <<'YAML'
layers:
  - {name: hidden, type: dense, units: 6, activation: tanh}
  - {name: classes, type: dense}
YAML
all='table.csv --label y --test none --threads 1 --strategy sequential --lr 0.05 --quiet'
run_for 0 train $all --model mlp:6 --until epochs=2 --out start
cp start/model.safetensors start.safetensors
run_for 0 train table.csv --label y --test none --threads 1 --quiet --model logistic --features rff:16 --until epochs=1 --out mapped
for model in start start.safetensors net.yaml mapped; do
    rm -rf whole parts
    run_for 0 train $all --model $model --until epochs=3 --out whole
    run_for 0 train $all --model $model --until epochs=1 --out parts
    mv $model away
    run_for 0 train --resume parts --until epochs=2 --quiet
    mv parts moved
    run_for 0 train --resume moved --until epochs=3 --quiet # a second time, from another place
    cmp whole/model.safetensors moved/model.safetensors || fail "$model: a resumed run differs from one that was not stopped"
    rm -rf moved
    mv away $model
done
# A model that is there, but is none, and one that is named anew, are what they are.
run_for 0 train $all --model start --until epochs=1 --out parts
wrong 'unknown model "gone"' train --resume parts --until epochs=2 --model gone

# A folder may be called auto, and --out auto beside --resume is the folder that is resumed.
rm -rf auto other && run_for 0 train $all --model mlp:4 --until epochs=1 --out other
cp -r other auto
run_for 0 train --resume auto --until epochs=2 --quiet
run_for 0 train --resume other --out auto --until epochs=2 --quiet
for folder in auto other; do
    grep -q '"epochs": 2' $folder/summary.json || fail "$folder: expected a summary of two epochs: $(cat $folder/summary.json)"
done
cmp auto/model.safetensors other/model.safetensors || fail "the folder auto has another model"

# Another rule is another run, also one without a state to share, where the run's workers share theirs.
run_for 0 train $all --model mlp:4,4 --rule sgd --strategy hogwild --threads 2 --until epochs=1 --out shared
for rule in adam muon; do
    run_for 2 train --resume shared --rule $rule --until epochs=2
    [ "$(wc -l <err.txt)" = 1 ] && grep -q -- "--resume.*shared: --rule: expected .* of the run to be continued\|--resume: shared: --rule: expected .sgd. as in the run to be continued" err.txt ||
        fail "$rule: $(cat err.txt)"
    if grep -q rule-state err.txt; then fail "$rule: nobody has given --rule-state: $(cat err.txt)"; fi
done
