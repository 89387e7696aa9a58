# What linear models of wide sparse data choose: all rows, a fixed length, and for hinges of many classes a step size by the
# margin; with them both classify texts that are easy to tell apart.
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"
defaults=auto
command -v python3 >/dev/null || { echo "no python3 to write data with: skipped"; exit 77; }

# Rows of 20 different words, of which 10 belong to the class; each row has the squared length 4.
python3 - <<'END'
import random
random.seed(5)
for name, n in (("train", 1200), ("test", 400)):
    with open(name + ".libsvm", "w") as f:
        for i in range(n):
            words = random.sample(range(1 + 100 * (i % 12), 101 + 100 * (i % 12)), 10) + random.sample(range(1201, 5001), 10)
            f.write("%d %s\n" % (i % 12, " ".join("%d:%.9f" % (w, 0.2 ** 0.5) for w in sorted(words))))
END

for model in svm logistic; do
    run_for 0 train --data libsvm:train.libsvm --test libsvm:test.libsvm --model $model --threads 1 --out none --quiet --json
    cp out.txt $model.json
done
python3 - <<'END' || fail "the choices above"
import json, math
svm, logistic = (json.load(open(m + ".json")) for m in ("svm", "logistic"))
def check(what, found, expected): assert found == expected, "%s: expected %s, found %s" % (what, expected, found)
for name, r, updates in (("svm", svm, 3000), ("logistic", logistic, 6000)):
    epochs = math.ceil(updates / math.ceil(1200 / 32))
    check(name + " rule", r["rule"], "sgd")
    check(name + " epochs", r["epochs"], epochs)
    assert not r["tuning"]["validation_examples"], r["tuning"]
    assert r["test_accuracy"] > 0.97, (name, r["test_accuracy"])
check("trials of svm", svm["tuning"]["trials"], [])
assert abs(svm["lr"] - 0.3 * 32 / 4) < 1e-5, svm["lr"]
assert len(logistic["tuning"]["trials"]) > 0
END

# ---- no model named: a linear one; over narrow data and with a step size the usual network ----
run_for 0 train --data libsvm:train.libsvm --test libsvm:test.libsvm --threads 1 --out none --quiet --json
python3 -c "
import json
auto, named = json.load(open('out.txt')), json.load(open('logistic.json'))
assert auto['model'] == 'logistic' and auto['loss'] == named['loss'] and auto['epochs'] == named['epochs'], auto" ||
    fail "no model: expected the run of logistic"
run_for 0 train --data libsvm:train.libsvm --test none --threads 1 --out none --until epochs=1
grep -q "model: logistic (wide sparse data" err.txt || fail "no model: expected a line about it, found $(cat err.txt)"
run_for 0 train --data libsvm:train.libsvm --test none --threads 1 --lr 0.01 --out none --quiet --json --until epochs=1 --defaults classic
grep -q '"model": "mlp:128,128,128"' out.txt || fail "--defaults classic: expected the usual network, found $(cat out.txt)"

# ---- two classes keep their trials; narrow data keep their validation examples ----
sed 's/^[0-9]*/&#/; s/^\([0-9]*[02468]\)#/1/; s/^[0-9]*#/0/' train.libsvm >two.libsvm
run_for 0 train --data libsvm:two.libsvm --test none --model svm --threads 1 --out none --quiet --json
python3 -c "import json; r = json.load(open('out.txt')); assert r['tuning']['trials'] and r['rule'] == 'sgd', r['tuning']" ||
    fail "two classes: expected trials of sgd"
cut -d ' ' -f 1-11 train.libsvm >narrow.libsvm
run_for 0 train --data libsvm:narrow.libsvm --test none --model svm --threads 1 --out none --quiet --json
python3 -c "
import json
r = json.load(open('out.txt'))
assert r['rule'] == 'adagrad' and r['tuning']['validation_examples'] == 120, r" || fail "narrow data: expected adagrad and 120 examples"
