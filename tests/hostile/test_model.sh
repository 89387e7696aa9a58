# train --out, then eval and predict with the model file, data info and convert.
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"
data='synth:digits?n=600&n_test=200&seed=4'
run_for 0 train --data "$data" --model mlp:24 --lr 0.1 --threads 1 --until epochs=3 --out run --quiet
for file in run.json log.jsonl summary.json model.safetensors best.safetensors state.safetensors; do
    [ -s "run/$file" ] || fail "run/$file is missing"
done
run_for 2 train --data "$data" --out run --quiet --until updates=1 # holds another run
grep -q 'run' err.txt

number() { sed -n "s/.*\"$1\": \([0-9.e-]*\).*/\1/p" "$2" | head -n 1; }
run_for 0 eval run/model.safetensors --data "$data&part=test" --json
eval_accuracy=$(number accuracy out.txt)
run_for 0 eval run/model.safetensors --data "$data&part=test"
grep -q '^accuracy ' out.txt
awk -v a="$eval_accuracy" -v b="$(number test_accuracy run/summary.json)" \
    'BEGIN { exit !(a - b < 1e-6 && b - a < 1e-6) }' || fail "eval and the run's summary differ"

run_for 0 predict run/model.safetensors --data "$data&part=test" --format lines
[ "$(wc -l <out.txt)" = 200 ] || fail "expected 200 predictions, found $(wc -l <out.txt)"
if grep -qvE '^[0-9]$' out.txt; then fail "expected digits"; fi
cp out.txt labels.txt
run_for 0 predict run/model.safetensors --data "$data&part=test" --proba --batch 7
awk -F, 'NF != 10 { exit 1 } { s = 0; for (i = 1; i <= NF; i++) s += $i; if (s < 0.999 || s > 1.001) exit 1 }' \
    out.txt || fail "expected ten probabilities a line, of sum 1"
awk -F, '{ best = 1; for (i = 2; i <= NF; i++) if ($i > $best) best = i; print best - 1 }' out.txt | diff - labels.txt ||
    fail "the label should be the most probable one"

# The same examples by way of a file: the same predictions.
run_for 0 data convert "$data&part=test" idx:images.idx,labels.idx
run_for 0 data info idx:images.idx,labels.idx --json
[ "$(number n_rows out.txt)" = 200 ] || fail "expected 200 rows in images.idx"
run_for 0 predict run/model.safetensors --data idx:images.idx,labels.idx --format lines
diff out.txt labels.txt || fail "predictions changed on the way through IDX"
run_for 0 data info "$data" --part test --json
[ "$(number n_rows out.txt)" = 200 ] || fail "--part test: expected 200 rows"

# What a model file settles is not asked for differently.
small="--data $data --model run/model.safetensors --threads 1 --until updates=1 --quiet"
for other in '--activation tanh' '--loss squared' '--init normal:0.1'; do
    # shellcheck disable=SC2086
    run_for 2 train $small $other
    grep -q "run/model.safetensors: ${other% *}: expected " err.txt || fail "$other: $(cat err.txt)"
done
# shellcheck disable=SC2086
run_for 0 train $small --loss softmax

# "auto" with more threads is another strategy: a run does not go on under it.
run_for 2 train --resume run --threads 2 --until epochs=4
grep -q -- '--strategy: expected "sequential" as in the run to be continued, found "hogwild"' err.txt ||
    fail "expected a word about the strategy: $(cat err.txt)"
run_for 0 train --resume run --strategy sequential --until epochs=4 --quiet

# What a run keeps when it goes on is refused with another value, by the flag's own name.
for other in '--seed 2' '--batch 7' '--order random' '--rule momentum:0.5' '--rule-state worker' '--shard own' \
    '--model mlp:9' '--activation tanh' '--loss squared' '--test none' '--model-range 3'; do
    # shellcheck disable=SC2086
    run_for 2 train --resume run --strategy sequential --until epochs=5 $other
    grep -q -- "${other% *}: expected .* as in the run to be continued, found \"" err.txt || fail "$other: $(cat err.txt)"
done

# Label sets are judged by micro-F1, and the word says so.
printf '0,1 1:1\n1 2:1\n0 1:2\n0,1 2:3\n' >labels.svm
run_for 0 train --data libsvm:labels.svm --test none --model logistic --threads 1 --until epochs=2 --out sets --quiet
run_for 0 eval sets/model.safetensors --data libsvm:labels.svm
grep -q '^micro-F1  ' out.txt || fail "expected micro-F1: $(cat out.txt)"

# Values have no accuracy that could be reached.
printf '1,0.5\n2,1.25\n3,2.5\n4,3.75\n' >values.csv
run_for 2 train --data csv:values.csv --model linear --test none --until accuracy=0.9
grep -q -- '--until accuracy: expected data with classes' err.txt || fail "$(cat err.txt)"

# Predictions need no labels that the model knows: any column will do.
printf '1,0,cat\n0,1,dog\n1,0.1,cat\n0.2,1,dog\n' >pets.csv
run_for 0 train --data csv:pets.csv --test none --model logistic --lr 1 --batch 1 --threads 1 --until epochs=50 --out pets --quiet
for label in '?' cat 7 0.5; do
    printf '1,0,%s\n0,1,%s\n' "$label" "$label" >new.csv
    run_for 0 predict pets/model.safetensors --data csv:new.csv --format lines
    [ "$(tr '\n' ' ' <out.txt)" = "cat dog " ] || fail "label $label: expected cat and dog: $(cat out.txt)"
done
run_for 2 eval pets/model.safetensors --data csv:new.csv # a loss needs them
