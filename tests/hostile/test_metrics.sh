# What people ask of a model: metrics of drove eval and of a run's summary, and the formats of drove predict.
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"
command -v python3 >/dev/null || { echo "no python3 to read JSON with: skipped"; exit 77; }

# FILE EXPRESSION: true of the JSON object m in FILE.
holds() {
    python3 - "$1" "$2" <<'END' || fail "$1: expected $2: $(head -c 600 "$1")"
import json, sys
m = json.load(open(sys.argv[1]), parse_constant=lambda word: sys.exit("found " + word))
sys.exit(not eval(sys.argv[2]))
END
}
keys="{'average_precision', 'threshold', 'curve', 'sample', 'accuracy', 'balanced_accuracy', 'log_loss', 'auc', 'f1_macro', 'per_class', 'per_value', 'confusion', \
'calibration', 'rmse', 'mae', 'r2', 'f1_micro', 'constant'}"

# ---- several classes ----
data='synth:digits?n=600&n_test=200&seed=4'
run_for 0 train --data "$data" --model mlp:24 --lr 0.1 --threads 1 --until epochs=3 --out digits
grep -q '^  held-out    accuracy ' out.txt || fail "expected metrics in the summary: $(cat out.txt)"
grep -q '^  constant    accuracy ' out.txt || fail "expected the constant guess in the summary: $(cat out.txt)"
holds digits/summary.json "set(m['test_metrics']) == $keys and m['test_metrics']['constant']['from'] == 'training'"
holds digits/summary.json "abs(m['test_metrics']['accuracy'] - m['test_accuracy']) < 1e-9"
holds digits/summary.json "abs(m['metrics']['accuracy'] - m['accuracy']) < 1e-9"

run_for 0 eval digits/model.safetensors --data "$data&part=test" --json
cp out.txt eval.json
holds eval.json "set(m['metrics']) == $keys"
holds eval.json "m['metrics']['rmse'] is None and m['metrics']['f1_micro'] is None"
holds eval.json "len(m['metrics']['per_class']) == 10 and sum(map(sum, m['metrics']['confusion'])) == 200"
holds eval.json "m['metrics']['constant']['from'] == 'training'"
python3 - <<'END' || fail "the metrics of drove eval and of the run's summary differ"
import json
a, b = json.load(open("eval.json"))["metrics"], json.load(open("digits/summary.json"))["test_metrics"]
assert a == b, (a, b)
END
run_for 0 eval digits/model.safetensors --data "$data&part=test" --threads 3 --json
diff eval.json out.txt || fail "metrics depend on the number of threads"
run_for 0 eval digits/model.safetensors --data "$data&part=test"
for line in '^accuracy  ' '^balanced accuracy  ' '^log loss  ' '^AUC  ' '^macro-F1  ' '^class ' '^confusion' '^calibration error'; do
    grep -q "$line" out.txt || fail "expected a line $line: $(cat out.txt)"
done
run_for 0 eval digits/model.safetensors --data "$data&part=test" --metrics none --json
holds out.txt "m['metrics'] is None and m['accuracy'] is not None"
run_for 2 eval digits/model.safetensors --data "$data&part=test" --metrics all
run_for 0 train --data "$data" --model mlp:4 --threads 1 --until updates=2 --metrics none --json
holds out.txt "m['metrics'] is None and m['test_metrics'] is None"
run_for 2 train --data "$data" --metrics all
grep -q -- '--metrics: expected auto or none' err.txt || fail "$(cat err.txt)"

# ---- formats of predictions ----
model=digits/model.safetensors
run_for 0 predict $model --data "$data&part=test"
[ "$(head -n 1 out.txt)" = label,p_0,p_1,p_2,p_3,p_4,p_5,p_6,p_7,p_8,p_9 ] || fail "header: $(head -n 1 out.txt)"
[ "$(wc -l <out.txt)" = 201 ] || fail "expected a header and 200 rows"
cp out.txt rows.csv
awk -F, 'NR > 1 { s = 0; best = 2; for (i = 2; i <= NF; i++) { s += $i; if ($i > $best) best = i }
    if (NF != 11 || s < 0.999 || s > 1.001 || $1 != best - 2) exit 1 }' rows.csv || fail "rows.csv: not labels and probabilities"
run_for 0 predict $model --data "$data&part=test" --threads 3
diff rows.csv out.txt || fail "predictions depend on the number of threads"
run_for 0 predict $model --data "$data&part=test" --out file.csv
[ ! -s out.txt ] || fail "--out: expected nothing on standard output"
diff rows.csv file.csv
run_for 0 predict $model --data "$data&part=test" --out file.npy
run_for 0 predict $model --data "$data&part=test" --format npy
cmp out.txt file.npy || fail "--format npy and --out FILE.npy differ"
[ "$(wc -c <file.npy)" = $((128 + 200 * 10 * 4)) ] || fail "file.npy: $(wc -c <file.npy) bytes"
run_for 0 predict $model --data "$data&part=test" --proba # as ever: lines of probabilities
tail -n +2 rows.csv | cut -d, -f2- | diff - out.txt
run_for 2 predict $model --data "$data&part=test" --proba --format csv
run_for 2 predict $model --data "$data&part=test" --format xml
grep -q -- '--format: expected csv, lines or npy, found "xml"' err.txt || fail "$(cat err.txt)"

# A reader that has seen enough is no error; a full disk is one.
big="synth:digits?n=20000&seed=5"
{ "$DROVE" predict $model --data "$big" 2>err.txt || echo $? >status.txt; } | head -n 2 >two.txt
[ ! -e status.txt ] || fail "closed pipe: status $(cat status.txt): $(cat err.txt)"
[ "$(wc -l <two.txt)" = 2 ] || fail "closed pipe: $(cat two.txt)"
[ ! -s err.txt ] || fail "closed pipe: expected no word: $(cat err.txt)"
"$DROVE" predict $model --data "$big" >/dev/full 2>err.txt && fail "full disk: expected a failure"
[ "$(wc -l <err.txt)" = 1 ] || fail "full disk: expected one line: $(cat err.txt)"

# ---- two classes by name; one class is rare ----
awk 'BEGIN { for (i = 0; i < 400; i++) printf "%g,%g,%s\n", (i * 7) % 13, (i * 5) % 11, i % 10 == 0 ? "yes, really" : "no" }' |
    sed 's/yes, really/"yes, really"/' >rare.csv
run_for 0 train --data csv:rare.csv --test none --model logistic --lr 0.001 --threads 1 --until epochs=1 --out rare
grep -q '^  training    accuracy 90.00 %' out.txt || fail "$(cat out.txt)"
grep -q 'no better than a constant guess: always no\.' out.txt || fail "expected a word: $(cat out.txt)"
run_for 0 eval rare/model.safetensors --data csv:rare.csv --json
holds out.txt "m['metrics']['accuracy'] == 0.9 and m['metrics']['balanced_accuracy'] == 0.5"
holds out.txt "m['metrics']['constant']['guess'] == 'no' and 0 <= m['metrics']['auc'] <= 1"
run_for 0 predict rare/model.safetensors --data csv:rare.csv
[ "$(head -n 1 out.txt)" = 'label,p_no,"p_yes, really"' ] || fail "header: $(head -n 1 out.txt)"
awk -F, 'NR > 1 && (NF != 3 || $2 + $3 < 0.9999 || $2 + $3 > 1.0001 || $1 != "no") { exit 1 }' out.txt || fail "$(head -n 3 out.txt)"

# ---- a threshold for the rare class ----
awk 'BEGIN { srand(5); for (i = 0; i < 2000; i++) { a = 6 * rand() - 3; b = rand(); print a "," b "," (rand() < 1 / (1 + exp(4.5 - 1.2 * a)) ? "yes" : "no") } }' >churn.csv
run_for 0 train --data csv:churn.csv --test none --model logistic --threads 1 --seed 1 --until epochs=10 --lr 0.05 --out churn
grep -q '^  Class yes ([0-9.]* % of the rows) is hardly ever predicted: [0-9]* of its [0-9]* rows are found.$' out.txt || fail "expected a remark: $(cat out.txt)"
grep -q -- '--class-weight balanced, or drove eval --threshold f1 and drove predict with its number.$' out.txt || fail "$(cat out.txt)"
run_for 0 predict churn --data csv:churn.csv
cp out.txt churn.txt
for threshold in f1 cost:fp=1,fn=8 0.25; do
    run_for 0 eval churn --data csv:churn.csv --threshold $threshold --json
    cp out.txt chosen.json
    value=$(python3 -c 'import json; print(json.load(open("chosen.json"))["metrics"]["threshold"]["value"])')
    run_for 0 predict churn --data csv:churn.csv --threshold "$value"
    cp out.txt labels.csv
    python3 - "$threshold" <<'END' || fail "--threshold $threshold: $(head -c 500 chosen.json)"
import csv, json, sys
found = json.load(open("chosen.json"))
m = found["metrics"]
t = m["threshold"]
true = [row[2] == "yes" for row in csv.reader(open("churn.csv"))]
said = [row["label"] == "yes" for row in csv.DictReader(open("labels.csv"))]
p = [float(row["p_yes"]) for row in csv.DictReader(open("churn.txt"))]

def counts(said):
    return [sum(t == a and s == b for t, s in zip(true, said)) for a, b in ((1, 1), (0, 1), (1, 0), (0, 0))]

def f1(said):
    hit, wrong, missed, _ = counts(said)
    return 2 * hit / (2 * hit + wrong + missed)

def cost(said):
    _, wrong, missed, _ = counts(said)
    return (wrong + 8 * missed) / len(true)

hit, wrong, missed, right = counts(said)
assert m["confusion"] == [[right, wrong], [missed, hit]], m["confusion"]
assert abs(found["accuracy"] - (hit + right) / len(true)) < 1e-8 and found["accuracy"] == m["accuracy"]
assert t["class"] == "yes" and abs(t["f1"] - f1(said)) < 1e-8 and abs(t["recall"] - hit / (hit + missed)) < 1e-8
if sys.argv[1] == "f1":
    assert all(t["f1"] >= f1([q >= least for q in p]) - 1e-8 for least in set(p))
elif sys.argv[1] == "0.25":
    assert t["by"] == "given" and t["value"] == 0.25
else:
    assert t["by"] == "cost" and abs(t["cost"] - cost(said)) < 1e-8
    assert all(t["cost"] <= cost([q >= least for q in p]) + 1e-8 for least in set(p))
# average precision: the mean precision down to each row of the class
assert abs(m["average_precision"] - sum(sum(t for t, q in zip(true, p) if q >= own) / sum(q >= own for q in p)
    for own, is_own in zip(p, true) if is_own) / sum(true)) < 1e-8
END
done
run_for 0 eval churn --data csv:churn.csv --threshold f1
grep -q '^threshold [0-9.]* (largest F1 of these examples): yes from this probability on$' out.txt || fail "$(cat out.txt)"
run_for 0 eval churn --data csv:churn.csv --threshold 0.25 --metrics none
grep -q '^accuracy' out.txt || fail "$(cat out.txt)"
run_for 0 predict churn --data csv:churn.csv --threshold 0 --format lines
[ "$(sort -u out.txt)" = yes ] || fail "a threshold of 0 takes all rows: $(sort out.txt | uniq -c)"
# MODEL FILE THRESHOLD TEXT: one line about --threshold that has TEXT, and nothing else.
refuses() {
    run_for 2 eval "$1" --data "$2" --threshold "$3"
    [ "$(wc -l <err.txt)" = 1 ] && [ ! -s out.txt ] || fail "--threshold $3: expected one line: $(cat err.txt)"
    grep -q -- "--threshold: .*$4" err.txt || fail "--threshold $3: expected $4: $(cat err.txt)"
}
refuses churn csv:churn.csv 1.5 'number from 0 to 1, found "1.5"'
refuses churn csv:churn.csv cost:fp=1 'cost:fp=1,fn=5, found "cost:fp=1"'
refuses digits "$data&part=test" f1 'two classes, found 10 classes'
run_for 2 predict churn --data csv:churn.csv --threshold f1
grep -q 'drove eval --threshold f1 prints the number' err.txt || fail "$(cat err.txt)"
run_for 2 predict churn --data csv:churn.csv --threshold 2
run_for 2 predict churn --data csv:churn.csv --threshold 0.5 --format npy
run_for 2 predict digits --data "$data&part=test" --threshold 0.5
[ "$(wc -l <err.txt)" = 1 ] && [ ! -s out.txt ] || fail "expected one line: $(cat err.txt)"

# Margins are no probabilities.
run_for 0 train --data csv:rare.csv --test none --model svm --lr 0.001 --threads 1 --until epochs=1 --out margins --quiet
run_for 0 eval margins/model.safetensors --data csv:rare.csv --json
holds out.txt "m['metrics']['log_loss'] is None and m['metrics']['calibration'] is None and m['metrics']['auc'] is not None"
refuses margins csv:rare.csv f1 'gives probabilities, such as logistic, found hinge'
run_for 0 predict margins/model.safetensors --data csv:rare.csv
[ "$(head -n 1 out.txt)" = label,score ] || fail "header: $(head -n 1 out.txt)"

# ---- values ----
awk 'BEGIN { for (i = 0; i < 200; i++) { x = (i * 7) % 13; printf "%g,%g,%.3f\n", x, (i * 5) % 11, 0.5 * x - 1 + (i % 3) / 10 } }' >values.csv
run_for 0 train --data 'csv:values.csv?scale=standard' --test none --model linear --lr 0.1 --threads 1 --until epochs=20 --out values --quiet
run_for 0 eval values/model.safetensors --data csv:values.csv --json
holds out.txt "m['metrics']['r2'] > 0.99 and m['metrics']['rmse'] < 0.2 and m['metrics']['mae'] < 0.2"
holds out.txt "m['metrics']['accuracy'] is None and m['metrics']['per_class'] is None"
holds out.txt "abs(m['metrics']['constant']['r2']) < 1e-6 and m['metrics']['constant']['rmse'] > 1"
run_for 0 eval values/model.safetensors --data csv:values.csv
grep -q '^RMSE  ' out.txt || fail "$(cat out.txt)"
refuses values csv:values.csv f1 'found one of values'
run_for 0 predict values/model.safetensors --data csv:values.csv
[ "$(head -n 1 out.txt)" = value ] || fail "header: $(head -n 1 out.txt)"

# ---- label sets ----
awk 'BEGIN { for (i = 0; i < 60; i++) printf "%s 1:%d 2:%d\n", i % 3 == 0 ? "0,1" : i % 3 == 1 ? "1" : "0", i % 3 < 1, i % 3 < 2 }' >labels.svm
run_for 0 train --data libsvm:labels.svm --test none --model logistic --lr 1 --threads 1 --until epochs=20 --out sets --quiet
run_for 0 eval sets/model.safetensors --data libsvm:labels.svm --json
holds out.txt "m['metrics']['f1_micro'] == m['accuracy'] and m['metrics']['f1_macro'] is not None and m['metrics']['confusion'] is None"
holds out.txt "len(m['metrics']['per_class']) == 2"
refuses sets libsvm:labels.svm f1 'found one of label sets'
run_for 0 predict sets/model.safetensors --data libsvm:labels.svm
[ "$(head -n 1 out.txt)" = p_0,p_1 ] || fail "header: $(head -n 1 out.txt)"
run_for 0 predict sets/model.safetensors --data libsvm:labels.svm --format lines
[ "$(wc -l <out.txt)" = 60 ] || fail "expected 60 lines"
