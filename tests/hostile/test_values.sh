# Several values of each example: training, the model file, predictions, metrics against their definitions and against
# scikit-learn, and that each value is learned as it is by itself.
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"
command -v python3 >/dev/null || { echo "no python3 to write tables with: skipped"; exit 77; }

# u and v have units a million apart; flag is a truth value.
python3 - <<'END'
import random
random.seed(3)
with open("values.csv", "w") as f:
    f.write("a,b,c,u,v,w,flag\n")
    for i in range(300):
        a, b, c = (random.gauss(0, 1) for _ in range(3))
        u, v = 1000 * a + 500 + random.gauss(0, 100), 0.01 * (b - c) + random.gauss(0, 0.002) + 3
        f.write("%.6f,%.6f,%.6f,%.5f,%.7f,%d,%s\n" % (a, b, c, u, v, i % 3, "yes" if a > 0 else "no"))
END

# ---- the whole way: header, unit, names ----
run_for 0 train --data 'values.csv?ignore=w+flag' --label u,v --defaults auto --model linear --lr 0.1 --threads 1 \
    --until epochs=40 --out both --json
mv out.txt both.json
run_for 0 predict both/model.safetensors --data values.csv
[ "$(head -n 1 out.txt)" = u,v ] || fail "expected the names of the values: $(head -n 1 out.txt)"
cp out.txt predicted.csv
run_for 0 predict both/model.safetensors --data values.csv --format lines
tail -n +2 predicted.csv | diff - out.txt
run_for 0 predict both/model.safetensors --data values.csv --out predicted.npy
[ "$(wc -c <predicted.npy)" = $((128 + 300 * 2 * 8)) ] || fail "predicted.npy: $(wc -c <predicted.npy) bytes"
grep -aq "'descr': '<f8'.*'shape': (300, 2)" predicted.npy || fail "predicted.npy: expected 300 rows of 2"

# ---- metrics: definitions written a second time; scikit-learn's uniform_average ----
run_for 0 eval both/model.safetensors --data values.csv && cp out.txt eval.txt
grep -q '^value .*RMSE .*MAE .*R2$' eval.txt || fail "expected a table of values: $(cat eval.txt)"
cat >check.py <<'END'
import csv, json, math, sys
weighted = len(sys.argv) > 2
m = json.load(open(sys.argv[1]))["metrics"]
rows, found = list(csv.DictReader(open("values.csv"))), list(csv.DictReader(open("predicted.csv")))
w = [float(r["w"]) if weighted else 1.0 for r in rows]
def near(a, b): assert abs(a - b) <= 2e-5 * (1e-9 + abs(b)), (a, b)
means = []
for k, name in enumerate("uv"):
    y, p = [float(r[name]) for r in rows], [float(r[name]) for r in found]
    mean = sum(a * b for a, b in zip(w, y)) / sum(w)
    square = sum(a * (b - c) ** 2 for a, b, c in zip(w, y, p))
    mae = sum(a * abs(b - c) for a, b, c in zip(w, y, p)) / sum(w)
    r2 = 1 - square / sum(a * (b - mean) ** 2 for a, b in zip(w, y))
    own = m["per_value"][k]
    assert own["value"] == name
    near(own["rmse"], math.sqrt(square / sum(w))), near(own["mae"], mae), near(own["r2"], r2)
    means.append((own["rmse"], mae, r2))
near(m["rmse"], sum(x[0] for x in means) / 2), near(m["mae"], sum(x[1] for x in means) / 2)
near(m["r2"], sum(x[2] for x in means) / 2)
assert m["r2"] > 0.97 and len(m["constant"]["guess"]) == 2 and m["per_class"] is None
try:
    from sklearn.metrics import mean_absolute_error, r2_score, root_mean_squared_error
except ImportError:
    print("no scikit-learn here: compared with the definitions alone")
    sys.exit()
y, p = [[float(r[n]) for n in "uv"] for r in rows], [[float(r[n]) for n in "uv"] for r in found]
near(m["r2"], r2_score(y, p, sample_weight=w, multioutput="uniform_average"))
near(m["mae"], mean_absolute_error(y, p, sample_weight=w))
near(m["rmse"], root_mean_squared_error(y, p, sample_weight=w))
print("as scikit-learn's")
END
run_for 0 eval both/model.safetensors --data values.csv --json && cp out.txt eval.json
python3 check.py eval.json || fail "other figures than by the definitions"
run_for 0 eval both/model.safetensors --data values.csv --weights w --json && cp out.txt weighted.json
python3 check.py weighted.json weighted || fail "other figures than by the definitions, with weights"
python3 - <<'END' || fail "the summary of the run and drove eval differ"
import json
a, b = json.load(open("both.json")), json.load(open("eval.json"))
assert a["test_metrics"]["per_value"][1]["value"] == "v" and a["metrics"]["r2"] > 0.97
END

# ---- a linear model of both is the two models of one: batches of all, plain SGD ----
train='--model linear --lr 0.3 --rule sgd --batch 300 --threads 1 --test none --until epochs=30'
for labels in u v u,v; do
    run_for 0 train --data 'values.csv?ignore=w+flag+u+v' --label $labels --defaults auto --schedule constant $train \
        --out by-$labels
    run_for 0 predict by-$labels/model.safetensors --data values.csv --format lines
    cp out.txt by-$labels.txt
done
paste -d, by-u.txt by-v.txt | awk -F, 'NR == FNR { u[FNR] = $1; v[FNR] = $2; next }
    function off(x, y) { return (x - y) ^ 2 > (1e-4 * y) ^ 2 + 1e-9 }
    off($1, u[FNR]) || off($2, v[FNR]) { exit 1 }' - by-u,v.txt || fail "both at once differ from each by itself"

# ---- engines, strategies, resumption, a start from a model ----
data='values.csv?ignore=w+flag&scale=standard'
run_for 0 train --data "$data" --label u,v --weights w --model mlp:8 --lr 1e-7 --threads 2 --strategy leashed \
    --until epochs=2
train='--label v,c --model linear --lr 0.02 --threads 1 --test none'
run_for 0 train --data "$data" $train --batch 1 --until epochs=3 --precision D32fM32f --json && mv out.txt low.json
run_for 0 train --data "$data" $train --batch 1 --until epochs=3 --order blocks --json && mv out.txt usual.json
python3 -c 'import json
a, b = (json.load(open(f + ".json"))["loss"] for f in ("low", "usual"))
assert abs(a - b) < 0.05 * b, (a, b)' || fail "low precision learns something else"
run_for 0 train --data "$data" $train --until epochs=4 --out whole
run_for 0 train --data "$data" $train --until epochs=2 --out parts
run_for 0 train --resume parts --until epochs=4
cmp whole/model.safetensors parts/model.safetensors || fail "a resumed run differs"
run_for 0 train --data "$data" --label v,c --model whole/model.safetensors --lr 0.01 --threads 1 --until epochs=1
run_for 2 train --data "$data" --label v --model whole/model.safetensors --lr 0.01 --threads 1 --until epochs=1
grep -q 'expected 2 values of each example' err.txt || fail "$(cat err.txt)"

# ---- what is wrong ----
wrong 'truth values in all label columns, or numbers in all' train --data values.csv --label u,flag
wrong 'row 1: column "u": expected a truth value' train --data 'values.csv?target=labels' --label u,flag
wrong 'softmax needs' train --data values.csv --label u,v --loss softmax
wrong 'found values' train --data values.csv --label u,v --class-weight balanced
