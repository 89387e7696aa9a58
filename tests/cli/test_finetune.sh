# A trained network for other classes, as a user meets it: it is better than one from nothing where examples are few, what
# is wrong is said in one line, and what is saved is a network like any other.
# ctest: slow: trains small networks
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"
export XDG_CACHE_HOME=$PWD/cache

net=$DROVE_SOURCE_DIR/examples/models/residual-cifar.yaml
few='synth:images?n=60&n_test=240&size=12&classes=12&seed=2'
run_for 0 train --data 'synth:images?n=1500&size=12&classes=12' --test none --model "$net" --rule adam --lr 0.002 \
    --until epochs=3 --quiet --metrics none --out base

# Few examples.
accuracy() { grep -m1 '"test_accuracy":' "$1/summary.json" | tr -dc '0-9.e+-'; }
for each in 'tuned base?head=new&freeze=body 0.01' "scratch $net 0.002"; do
    set -- $each
    run_for 0 train --data "$few" --test split --model "$2" --rule adam --lr "$3" --until epochs=15 --metrics none --out "$1"
    cp err.txt "$1.txt"
done
grep -q '^drove: model: layer "classes" is made anew, with 12 outputs$' tuned.txt || fail "no word: $(cat tuned.txt)"
grep -qE '^drove: freeze: 780 of 78172 parameters are trained; the outputs of "pool" are kept, 64 numbers an example, in [0-9.]+ s$' \
    tuned.txt || fail "no word: $(cat tuned.txt)"
awk -v a="$(accuracy tuned)" -v b="$(accuracy scratch)" 'BEGIN { exit !(a > b + 0.1) }' ||
    fail "expected more of a trained network: $(accuracy tuned), from nothing $(accuracy scratch)"

# The saved model is whole: it scores the images themselves, and is described and exported.
run_for 0 eval tuned --data "$few&part=test" --json
awk -v a="$(accuracy tuned)" -v b="$(grep -m1 '"accuracy":' out.txt | tr -dc '0-9.e+-')" \
    'BEGIN { d = a - b; exit !(d < 0.01 && d > -0.01) }' || fail "eval: $(cat out.txt)"
run_for 0 model tuned
grep -q ': 78172 parameters' out.txt || fail "not whole: $(cat out.txt)"
run_for 0 export tuned --onnx tuned.onnx
run_for 0 export tuned --pytorch tuned.pt
run_for 0 model 'tuned?freeze=c*,classes'
grep -q '^frozen: conv1, c1, c1-norm, c2, c2-norm, c-short, c-short-norm, classes: ' out.txt || fail "$(cat out.txt)"

# Images that are cut anew each time, and networks whose lower layers are trained, are computed with each batch.
run_for 0 train --data "$few&mirror=1" --test none --model 'base?head=new&freeze=body' --lr 0.01 --until epochs=1
grep -q 'frozen layers are computed with every batch, as images are augmented anew each time$' err.txt ||
    fail "$(cat err.txt)"
run_for 0 train --data "$few" --test none --model 'base?freeze=c1,c2' --lr 0.01 --until epochs=1
grep -q 'frozen layers are computed with every batch, as trained layers, or random ones, stand below others$' err.txt ||
    fail "$(cat err.txt)"

# Mistakes.
mistake() {
    run_for 2 train --data "$few" --test none --until epochs=1 --lr 0.01 --model "$1"
    [ "$(wc -l <err.txt)" = 1 ] || fail "$1: expected one line: $(cat err.txt)"
    grep -qF "drove: $2" err.txt || fail "$1: expected \"$2\", found: $(cat err.txt)"
}
mistake 'base?head=old' '--model base?head=old: model?head: expected kept or new, found "old"'
mistake 'base?hed=new' '--model base?hed=new: model: unknown key "hed"; did you mean "head"?'
mistake 'auto?freeze=body' '--model auto?freeze=body: expected a network with ?head and ?freeze, found none'
mistake 'mlp:4?head=new' '--model mlp:4?head=new: expected a network with parameters to begin with (.onnx, a saved model, --init pytorch:FILE), found none'
mistake "$net?freeze=conv2" 'freeze: expected layers with parameters (NAME, NAME* or body), found "conv2"; did you mean "conv1"?'
mistake "$net?freeze=*" "freeze: model $net: expected a layer that is trained, found all frozen"
run_for 2 train --data 'synth:images?n=60&size=12&classes=5' --test none --until epochs=1 --lr 0.01 --model base
grep -qF 'base: expected data of 12 classes, found 5 (?head=new makes the last layer anew)' err.txt || fail "$(cat err.txt)"

# A step size of 0 in a model file freezes.
cat >zero.yaml <<'END'
layers:
  - {name: a, type: dense, units: 4, weight_lr: 0, bias_lr: 0}
  - {name: last, type: dense}
END
run_for 0 train --data "$few" --test none --model zero.yaml --lr 0.01 --until epochs=1
grep -q '^drove: freeze: 60 of 1792 parameters are trained; the outputs of "a" are kept, 4 numbers' err.txt ||
    fail "$(cat err.txt)"

drawn='^drove: freeze: the frozen layers stay as they were drawn: neither --init nor the model names a file$'
[ "$(grep -c "$drawn" err.txt)" = 1 ] || fail "random layers are frozen in silence: $(cat err.txt)"
if grep -q "$drawn" tuned.txt; then fail "layers of a file were not drawn: $(cat tuned.txt)"; fi

# --resume makes no head: it goes on with the one that was made.
run_for 0 train --resume tuned --until epochs=16 --metrics none
if grep -q 'made anew' err.txt; then fail "no layer is made anew: $(cat err.txt)"; fi

# A table whose outputs are kept has the rows that were read.
awk 'BEGIN { srand(1); print "a,b,y"; for (i = 0; i < 50; i++) printf "%.4f,%.4f,%s\n", rand(), rand(), i % 3 ? "p" : "q" }' >t.csv
run_for 0 train --data t.csv --label y --test split --model mlp:4 --lr 0.1 --until epochs=1 --quiet --metrics none --out table
run_for 0 train --data t.csv --label y --test split --model 'table?freeze=body' --lr 0.1 --until epochs=1 --metrics none
grep -q '; the outputs of "layer0" are kept, 4 numbers an example' err.txt || fail "not kept: $(cat err.txt)"
grep -q '^drove: table: 3 columns, 50 rows, 2 features ' err.txt || fail "expected 50 rows: $(cat err.txt)"

# Sparse data: frozen layers are computed with each batch, and give what those of the same data as they are give.
sparse='synth:logistic?n=500&d=40&density=0.1'
run_for 0 data convert "$sparse" npy:x.npy,y.npy
run_for 0 train --data "$sparse" --test none --model mlp:8 --lr 0.1 --until epochs=1 --threads 1 --quiet --metrics none --out wide
for each in "sparse $sparse" 'dense npy:x.npy,y.npy?scale=none'; do
    set -- $each
    run_for 0 train --data "$2" --test none --model 'wide?freeze=body' --rule sgd --lr 0.1 --until epochs=3 --threads 1 --metrics none --out "$1"
    cp err.txt "$1.txt"
done
grep -q 'frozen layers are computed with every batch, as the data are sparse$' sparse.txt || fail "$(cat sparse.txt)"
grep -q 'the outputs of "layer0" are kept' dense.txt || fail "$(cat dense.txt)"
loss() { grep -m1 '"loss":' "$1/summary.json" | tr -dc '0-9.e+-'; }
awk -v a="$(loss sparse)" -v b="$(loss dense)" 'BEGIN { d = a - b; exit !(a > 0 && d < 1e-5 && d > -1e-5) }' ||
    fail "sparse $(loss sparse), dense $(loss dense)"
