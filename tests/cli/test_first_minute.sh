# What a person with a file meets first: a folder with a name, few lines, a summary that leads with the result, the
# folder as a model, a reader that goes away.  The runs name a model: test_model_auto compares them.
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"
defaults=auto

# The answer follows from two columns; a third is noise.
awk 'BEGIN {
    srand(5)
    print "a,b,c,kind"
    for (i = 0; i < 400; i++) { a = rand(); b = rand(); print a "," b "," rand() "," (a + b > 1 ? "big" : "small") }
}' >points.train.csv
{ head -n 1 points.train.csv; tail -n 100 points.train.csv; } >points.test.csv

# ---- the folder ----
run_for 0 train points.train.csv --label kind --model mlp:16 --until epochs=5 --threads 1
[ -f points-1/model.safetensors ] || fail "expected points-1: $(ls)"
grep -q '^  files in points-1:$' out.txt || fail "expected the folder in the summary: $(cat out.txt)"
cp -r points-1 before
run_for 0 train points.train.csv --label kind --model mlp:16 --until epochs=5 --threads 1 --json
grep -q '"out": "points-2"' out.txt || fail "expected the folder in the object: $(cat out.txt)"
diff -r before points-1 || fail "the first run's folder has changed"
: >points-3 # a file in the way
run_for 0 train points.train.csv --label kind --model mlp:16 --until epochs=1 --threads 1 --quiet
[ -d points-4 ] && [ -f points-3 ] || fail "expected points-4 beside a file points-3: $(ls)"

# Runs that begin together take a folder each.
pids=
for _ in 1 2 3; do
    "$DROVE" train points.train.csv --label kind --model mlp:16 --until epochs=1 --threads 1 --quiet &
    pids="$pids $!"
done
for pid in $pids; do wait "$pid"; done
for i in 5 6 7; do [ -f points-$i/model.safetensors ] || fail "expected a folder for each of three runs: $(ls)"; done

# Nothing is written where that is asked for, and none is left by a run that cannot start.
mkdir empty && cd empty
run_for 0 train ../points.train.csv --label kind --model mlp:16 --until epochs=1 --threads 1 --out none --quiet
defaults=classic run_for 0 train ../points.train.csv --label kind --model mlp:16 --until epochs=1 --threads 1 --quiet
run_for 2 train ../points.train.csv --label knd --until epochs=1 --threads 1
rm -f out.txt err.txt
[ -z "$(ls)" ] || fail "expected no files: $(ls)"
cd ..
if [ "$(id -u)" != 0 ]; then
    mkdir closed && chmod a-w closed && cd closed
    status=0
    "$DROVE" train ../points.train.csv --label kind --model mlp:16 --until epochs=1 2>../err.txt >../out.txt ||
        status=$?
    cd .. && [ "$status" != 0 ] || fail "expected a folder that cannot be written to be refused"
    grep -q -- 'cannot make folder points-1 .*--out none' err.txt || fail "expected a way out: $(cat err.txt)"
fi

# ---- few lines, and all of them in the log ----
run_for 0 train points.train.csv --label kind --model mlp:16 --until updates=40 --eval-every 0.1 --threads 1 --out log
[ "$(grep -c '^epoch ' err.txt)" -le 4 ] || fail "expected at most a line a second: $(cat err.txt)"
grep '^epoch ' err.txt | tail -n 1 | grep -q '^epoch 3.[0-9]* ' || fail "expected the last evaluation: $(cat err.txt)"
[ "$(wc -l <log/log.jsonl)" -ge 30 ] || fail "expected every evaluation in the log: $(wc -l <log/log.jsonl)"

# ---- the summary: what was asked for, then how it was done ----
run_for 0 train points.train.csv --label kind --model mlp:16 --test points.test.csv --until epochs=30 --threads 2 \
    --strategy hogwild --out races
order=$(grep -oE '^  (loss|held-out|constant|files|chosen|repeatable|speed) ' out.txt | tr -s ' \n' ' ')
[ "$order" = " loss held-out constant files chosen repeatable speed " ] ||
    fail "summary in the order $order: $(cat out.txt)"
grep -q -- '^  repeatable  no: .*--threads 1 or --strategy sync' out.txt ||
    fail "expected a word on repeating: $(cat out.txt)"
if grep -q 'no better than a constant guess' out.txt; then fail "a model that has learnt: $(cat out.txt)"; fi
# What it advises keeps its promise: the same parameters, bit for bit.
for how in '--threads 1' '--strategy sync --threads 2'; do
    for i in 1 2; do
        # shellcheck disable=SC2086
        run_for 0 train points.train.csv --label kind --model mlp:16 $how --until validation=40,epochs=20 \
            --out "again-$i"
        if grep -q '^  repeatable' out.txt; then fail "$how is repeatable: $(cat out.txt)"; fi
    done
    cmp again-1/model.safetensors again-2/model.safetensors || fail "$how: two runs, two models"
    rm -r again-1 again-2
done
# One tiny step teaches nothing.
awk 'BEGIN {
    srand(6)
    print "a,kind"
    for (i = 0; i < 300; i++) print rand() "," (rand() < 0.7 ? "x" : "y")
}' >noise.csv
run_for 0 train noise.csv --label kind --model mlp:16 --lr 1e-6 --until updates=1 --threads 1 --out none
grep -q '^  The model is no better than a constant guess: always x\.$' out.txt ||
    fail "expected the truth: $(cat out.txt)"

# ---- the folder as a model ----
for way in points-1 points-1/ "$PWD/points-1" points-1/model.safetensors; do
    run_for 0 eval "$way" --data points.test.csv
    [ "$way" = points-1/model.safetensors ] || grep -q '^drove: model: .*points-1/model.safetensors$' err.txt ||
        fail "$way: expected the file to be named: $(cat err.txt)"
    [ -s eval.txt ] || cp out.txt eval.txt
    cmp out.txt eval.txt || fail "$way: expected the result of the file"
done
run_for 0 predict points-1 --data points.test.csv
[ "$(wc -l <out.txt)" = 101 ] || fail "predict: $(wc -l <out.txt) lines"
run_for 0 model points-1
run_for 0 info --model points-1
run_for 0 train points.train.csv --label kind --model points-1 --until epochs=1 --threads 1 --out none
grep -q '^drove: model: points-1/model.safetensors$' err.txt || fail "--model FOLDER: $(cat err.txt)"
rm points-2/model.safetensors
run_for 0 eval points-2 --data points.test.csv
grep -q '^drove: model: points-2/best.safetensors$' err.txt || fail "expected the best: $(cat err.txt)"
wrong 'found a folder without model.safetensors' eval empty --data points.test.csv
# A kind of model is no folder, whatever lies there; with ./ it is one.
cp -r points-1 logistic
run_for 0 train points.train.csv --label kind --model logistic --until epochs=1 --out none
if grep -q 'drove: model:' err.txt; then fail "--model logistic took the folder"; fi
run_for 0 train points.train.csv --label kind --model ./logistic --until epochs=1 --out none
grep -q 'drove: model: ./logistic/model.safetensors' err.txt || fail "--model ./logistic: $(cat err.txt)"

# ---- --option=value: every option takes its default that way ----
n_flags=0
while read -r flag default; do # without modules: looking for devices takes longer than all the rest
    DROVE_MODULE_PATH=/nowhere run_for 0 info "$flag=$default"
    n_flags=$((n_flags + 1))
done <<OPTIONS
$("$DROVE" train --help=all | awk '
    function flush() { if (match(text, /\[[^][]*\]$/)) print flag, substr(text, RSTART + 1, RLENGTH - 2) }
    /^  --/ { flush(); flag = $1; text = $0; next }
    /^                          [^ ]/ { sub(/^ +/, " "); text = text $0; next }
    { flush(); text = "" }
    END { flush() }')
OPTIONS
[ "$n_flags" -ge 40 ] || fail "expected every option with its default, found $n_flags"
run_for 0 train points.train.csv --label=kind --model mlp:16 --lr=auto --until=epochs=1 --threads=1 --out=none

# ---- a label with a few rows of each value ----
awk 'BEGIN { print "x,name"; for (i = 0; i < 3600; i++) print i / 400 ",person " i % 1200 }' >names.csv
run_for 0 data info names.csv --label name
grep -q 'label: 1200 classes in 3600 rows, so that few can be learnt: is it the column that is meant' out.txt || fail "$(cat out.txt)"
run_for 0 train names.csv --label name --model logistic --lr 0.1 --until updates=1 --test none --out none
grep -q 'label: 1200 classes in 3600 rows' err.txt || fail "$(cat err.txt)"

# ---- a reader that goes away ----
for command in "predict points-1 --data big.csv" "list" "list strategies" "list rules --json" "--help" \
    "train --help all" "data info points.train.csv" "eval points-1 --data points.test.csv" "info" "--version"; do
    [ -s big.csv ] || awk 'NR == 1 { print; next } { for (i = 0; i < 50; i++) print }' points.train.csv >big.csv
    # shellcheck disable=SC2086
    { status=0; "$DROVE" $command 2>err.txt || status=$?; echo "$status" >status.txt; } | head -n 1 >/dev/null
    [ "$(cat status.txt)" = 0 ] || fail "drove $command | head -n 1: status $(cat status.txt)"
    ! grep -qv '^drove: model: ' err.txt || fail "drove $command | head -n 1: $(cat err.txt)"
done
