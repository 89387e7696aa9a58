# Weights of rows and of classes: against rows that stand in the file several times, under every kind of strategy, with
# resumption, with parts of the data, with low precision; against scikit-learn.
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"
command -v python3 >/dev/null || { echo "no python3 to write tables with: skipped"; exit 77; }

# weighted.csv: whole weights from 0 to 3; copies.csv: each row as often as it weighs; halves.csv: the same weights over
# 2.  t is a word, v a value.
python3 - <<'END'
import random
random.seed(1)
names = "a,b,c,d"
files = {name: open(name + ".csv", "w") for name in ("weighted", "copies", "halves")}
files["weighted"].write(names + ",w,t,v\n")
files["halves"].write(names + ",w,t,v\n")
files["copies"].write(names + ",t,v\n")
for i in range(300):
    x = [random.gauss(0, 1) for _ in range(4)]
    t = "yes" if x[0] - 0.5 * x[1] + random.gauss(0, 0.7) > 0.8 else "no"
    v = 3 * x[0] - x[2] + random.gauss(5, 0.5)
    w = int(4 * random.random())
    row, end = ",".join("%.6f" % k for k in x), ",%s,%.6f\n" % (t, v)
    files["weighted"].write(row + ",%d" % w + end)
    files["halves"].write(row + ",%g" % (w / 2) + end)
    for _ in range(w):
        files["copies"].write(row + end)
END
n_copies=$(($(wc -l <copies.csv) - 1))

# FILE EXPRESSION...: true of the JSON objects m, k, ... in the files before it.
holds() {
    python3 - "$@" <<'END' || fail "expected $*"
import json, sys
m, k = (json.load(open(name)) for name in (sys.argv[1:-1] * 2)[:2])
def same(a, b, bound): return abs(a - b) <= bound * (1 + abs(b))
sys.exit(not eval(sys.argv[-1]))
END
}
same_metrics='all(same(m["metrics"][x] or 0, k["metrics"][x] or 0, 2e-5) for x in ("accuracy", "balanced_accuracy",
"log_loss", "auc", "f1_macro", "rmse", "mae", "r2"))'

at_the_end='--eval-every 1000 --save-every never' # files alone would take most of the time

# ---- weight 2 is the row twice, weight 0 no row: batches of all examples, so that gradients are the same ----
both() { # NAME QUERY ARGUMENT...
    local name=$1 query=$2
    shift 2
    set -- --test none --threads 1 $at_the_end "$@"
    run_for 0 train --data "weighted.csv?$query" --weights w --batch 300 --out "$name-w" "$@"
    run_for 0 train --data "copies.csv?$query" --batch "$n_copies" --out "$name-c" "$@"
    for part in w c; do
        run_for 0 eval "$name-$part/model.safetensors" --data copies.csv --weights none --json
        mv out.txt "$name-$part.json"
    done
    holds "$name-w/summary.json" "$name-c/summary.json" 'same(m["loss"], k["loss"], 1e-4)'
    holds "$name-w/summary.json" "$name-c/summary.json" "$same_metrics"
    holds "$name-w.json" "$name-c.json" "same(m['loss'], k['loss'], 1e-4) and $same_metrics"
}
both logistic 'ignore=v' --label t --model logistic --lr 0.5 --until epochs=60
both softmax 'ignore=v' --label t --model mlp:8 --loss softmax --lr 0.3 --rule momentum:0.9 --until epochs=40
both svm 'ignore=v' --label t --model svm --lr 0.1 --until epochs=40
both values 'ignore=t' --label v --model linear --lr 0.1 --until epochs=40
both network 'ignore=t' --label v --model mlp:8 --lr 0.05 --until epochs=40
defaults=auto both tuned 'ignore=t' --label v --model linear --lr 0.1 --rule sgd --schedule constant --until epochs=40
defaults=auto both tuned-adam 'ignore=v' --label t --model mlp:8 --lr 0.01 --rule adam --until epochs=20
echo "as copies: 7 kinds of models"

# ---- drove eval knows the column; --weights none counts each row once ----
model=logistic-w/model.safetensors
run_for 0 eval $model --data weighted.csv --json && mv out.txt by-schema.json
run_for 0 eval $model --data halves.csv --weights w --json && mv out.txt by-name.json
run_for 0 eval $model --data weighted.csv --weights none --json && mv out.txt none.json
holds by-schema.json logistic-w.json "same(m['loss'], k['loss'], 1e-6) and $same_metrics"
holds by-schema.json by-name.json "same(m['loss'], k['loss'], 1e-6) and $same_metrics"
holds none.json by-schema.json 'not same(m["loss"], k["loss"], 1e-3)'
holds none.json 'sum(map(sum, m["metrics"]["confusion"])) == 300'
run_for 0 eval $model --data weighted.csv --weights none --json
holds out.txt "m['examples'] == 300"
run_for 0 eval logistic-c/model.safetensors --data weighted.csv --weights w --json
holds out.txt by-schema.json "same(m['loss'], k['loss'], 1e-4)"
run_for 2 eval $model --data copies.csv
grep -q 'expected the weights in column "w", found none (?weights=none counts' err.txt || fail "$(cat err.txt)"
run_for 0 predict $model --data copies.csv
[ "$(wc -l <out.txt)" = $((n_copies + 1)) ] || fail "predict: expected a line for each row"

# ---- every strategy weighs; weights are divided by their mean, so that the halves give the same bits ----
weigh() { # OUT FILE COLUMN STRATEGY
    local rule=sgd
    case $4 in measgd-async | pmsgd-async) rule=momentum:0.9 ;; esac
    run_for 0 train --data "$2.csv?ignore=v" --label t --weights "$3" --strategy "$4" --rule $rule --model logistic \
        --lr 0.05 --batch 10 --threads 1 --test none --until epochs=4 $at_the_end --out "$1"
}
for strategy in $("$DROVE" list strategies | cut -d' ' -f1); do
    weigh "by-$strategy" weighted w "$strategy"
    weigh "by-$strategy-none" weighted none "$strategy"
    holds "by-$strategy/summary.json" "by-$strategy-none/summary.json" 'not same(m["loss"], k["loss"], 1e-3)'
    case $strategy in sequential | hogwild | adaptive | easgd-sync3) ;; *) continue ;; esac
    weigh "by-$strategy-halves" halves w "$strategy"
    cmp "by-$strategy/model.safetensors" "by-$strategy-halves/model.safetensors" ||
        fail "$strategy: half the weights give other bits"
done
echo "all strategies weigh"

# ---- low precision: floats as the usual engine; integers with the same bits for half the weights ----
train='--label t --weights w --model logistic --lr 0.05 --threads 1 --test none'
data='weighted.csv?ignore=v'
run_for 0 train --data "$data" $train --precision D32fM32f --batch 1 --until epochs=5 --json && mv out.txt floats.json
run_for 0 train --data "$data" $train --batch 1 --until epochs=5 --order blocks --json && mv out.txt usual.json
holds floats.json usual.json 'same(m["loss"], k["loss"], 1e-2)'
for file in weighted halves; do
    run_for 0 train --data "$file.csv?ignore=v" $train --precision D8M8 --until epochs=5 --out low-$file
done
cmp low-weighted/model.safetensors low-halves/model.safetensors || fail "D8M8: half the weights give other bits"

# ---- resumption: the same bits as without a break, and no other weights ----
train='--label t --model mlp:8 --lr 0.1 --threads 1 --test none --strategy sequential'
run_for 0 train --data 'weighted.csv?ignore=v' --weights w --class-weight yes=2 $train --until epochs=6 --out whole
run_for 0 train --data 'weighted.csv?ignore=v' --weights w --class-weight yes=2 $train --until epochs=3 --out parts
run_for 0 train --resume parts --until epochs=6
cmp whole/model.safetensors parts/model.safetensors || fail "a resumed run differs"
run_for 2 train --resume parts --until epochs=9 --weights none
grep -q -- '--weights: expected "w" as in the run to be continued, found' err.txt || fail "$(cat err.txt)"
run_for 2 train --resume parts --until epochs=9 --class-weight balanced
grep -q -- '--class-weight: expected "yes=2"' err.txt || fail "$(cat err.txt)"

# ---- held-out data and validation examples weigh, too ----
run_for 0 train --data "$data" --label t --weights w --class-weight balanced --defaults auto --model logistic \
    --threads 1 --until validation=60,epochs=10 --out split --json
mv out.txt split.json
holds split.json 'm["test_metrics"]["log_loss"] > 0 and same(m["test_loss"], m["test_metrics"]["log_loss"], 1e-5)'
run_for 0 eval split/model.safetensors --data weighted.csv --weights w --json

# ---- weights of classes: balanced is the same as the numbers; a class of weight 0 is not learned ----
counts=$(awk -F, 'NR > 1 { n[$6]++ }
    END { printf "no=%.17g,yes=%.17g", 300 / (2 * n["no"]), 300 / (2 * n["yes"]) }' weighted.csv)
train="--label t --model logistic --lr 0.5 --batch 300 --threads 1 --test none --until epochs=60 $at_the_end"
run_for 0 train --data 'weighted.csv?ignore=v+w' --class-weight balanced $train --out balanced
run_for 0 train --data 'weighted.csv?ignore=v+w' --class-weight "$counts" $train --out numbers
cmp balanced/model.safetensors numbers/model.safetensors || fail "balanced and $counts differ"
run_for 0 train --data 'weighted.csv?ignore=v+w' --class-weight yes=0 $train --out blind --json
holds out.txt 'all(c["recall"] == (c["class"] == "no") for c in m["metrics"]["per_class"])'
run_for 0 train --data 'synth:digits?n=300' --model mlp:8 --class-weight 3=5,7=0.1 --until epochs=1 --threads 2

# ---- what is wrong ----
wrong 'weights: .*"x"' train --data weighted.csv --label t --weights x
wrong 'another column than the label' train --data weighted.csv --label t --weights t
wrong 'unknown key' train --data synth:digits --weights w
wrong 'expected balanced, or CLASS=NUMBER' train --data weighted.csv --label t --class-weight maybe=2
wrong 'one class for each example, found values' train --data weighted.csv --label v --class-weight balanced

# ---- scikit-learn 1.9.1, with X = StandardScaler().fit(X, sample_weight=w).transform(X) of weighted.csv:
#   log_loss(t, LogisticRegression(C=numpy.inf, tol=1e-10).fit(X, t, sample_weight=w).predict_proba(X), sample_weight=w)
#   the same with fit(X, t, sample_weight=w * compute_sample_weight("balanced", t))
#   roc_auc_score(t, predict_proba(X)[:, 1], sample_weight=w) of the first
# tests/cli/weights_sklearn.py prints them, and runs where scikit-learn is.
train='--label t --weights w --model logistic --lr 2 --batch 300 --threads 1 --test none'
train="$train --until epochs=3000 $at_the_end"
figures='0.2719570004682777 0.3197401321751728 0.9440567187326909'
run_for 0 train --data 'weighted.csv?ignore=v' $train --out optimum
run_for 0 train --data 'weighted.csv?ignore=v' --class-weight balanced $train --out optimum-balanced
for name in optimum optimum-balanced; do
    run_for 0 eval $name/model.safetensors --data weighted.csv --json && mv out.txt $name.json
done
python3 - $figures <<'END' || fail "other figures than scikit-learn's"
import json, sys
loss, balanced, auc = map(float, sys.argv[1:])
m, k = (json.load(open(name + ".json"))["metrics"] for name in ("optimum", "optimum-balanced"))
print(m["log_loss"], k["log_loss"], m["auc"])
sys.exit(not (abs(m["log_loss"] - loss) < 1e-5 and abs(k["log_loss"] - balanced) < 1e-4 and abs(m["auc"] - auc) < 1e-4))
END
if command python3 -c 'import sklearn' 2>/dev/null; then
    found=$(command python3 "$DROVE_SOURCE_DIR/tests/cli/weights_sklearn.py" weighted.csv)
    echo "scikit-learn now: $found"
    python3 -c 'import sys; a = [float(x) for x in sys.argv[1].split()]; b = [float(x) for x in sys.argv[2:]]
sys.exit(any(abs(x - y) > 1e-6 for x, y in zip(a, b)))' "$found" $figures || fail "scikit-learn now: $found"
else
    echo "no scikit-learn here: compared with its figures of another day alone"
fi

# A rare class that counts for more: judged against a guess that counts it so, and not called useless for it.
awk 'BEGIN { srand(1); print "a,b,y"
    for (i = 0; i < 800; i++) { r = rand() < 0.15
        print rand() + rand() + rand() + (r ? 1.2 : 0) "," rand() "," (r ? "yes" : "no") } }' >rare.csv
run_for 0 train rare.csv --label y --class-weight balanced --seed 1 --defaults auto
grep -q 'a constant guess 0.69' err.txt || fail "expected the guess weighted as the losses beside it: $(grep guess err.txt)"
! grep -q 'no better than\|at least 1 % better' out.txt err.txt || fail "a model that tells classes apart: $(cat err.txt out.txt)"
grep -q '^  accuracy .* %, weighted by class   (held-out' out.txt || fail "expected what is weighted to be said: $(cat out.txt)"
