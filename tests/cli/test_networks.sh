# ctest: timeout=600
# Networks, as a user meets them: they train, the same bits twice, save and predict; what does not fit memory is said
# before it is taken.
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"
export XDG_CACHE_HOME=$PWD/cache # choices of convolutions of its own

images="--data synth:digits?n=600&n_test=60&seed=5 --test split --seed 5 --batch 16"

# Memory, before it is taken.
run_for 2 train --data 'synth:images?size=32&classes=10&n=64' --model vgg19 --batch 8 --threads 4096
grep -qE '^drove: model vgg19: expected at most [0-9.]+ GiB of memory, .* found a need of [0-9.]+ GiB: ' err.txt ||
    fail "no word about memory: $(cat err.txt)"
[ "$(wc -l <err.txt)" = 1 ] || fail "expected one line: $(cat err.txt)"

run_for 2 train --data synth:digits?n=64 --model mlp:16777216,1000000
grep -qE '^drove: model mlp:[0-9,]+: expected at most [0-9.]+ GiB of memory, .* found a need of [0-9.]+ GiB: ' err.txt ||
    fail "no word about memory: $(cat err.txt)"

# Sparse data are for chains of dense layers.
sparse='synth:logistic?n=64&d=20&density=0.2'
run_for 0 train --data "$sparse" --model mlp:4 --activation tanh --test none --until updates=2 --quiet
wrong 'model mlp:4: expected dense data, found sparse data' train --data "$sparse" --model mlp:4 --activation gelu \
    --test none --until updates=2 --quiet

# One worker: the same parameters from two runs, the choice of convolutions being made in the first.
for folder in one two; do
    # shellcheck disable=SC2086
    run_for 0 train $images --model lenet --threads 1 --until epochs=3 --quiet --json --out $folder
    cp out.txt $folder.json
done
cmp one/model.safetensors two/model.safetensors || fail "two runs of one worker differ"
loss() { grep -m1 "\"$2\":" "$1" | tr -dc '0-9.e+-'; }
awk -v a="$(loss one.json loss_initial)" -v b="$(loss one.json loss)" 'BEGIN { exit !(b < a / 2) }' ||
    fail "lenet did not learn: $(loss one.json loss_initial) to $(loss one.json loss)"

# A saved network evaluates as the run did, and predicts.
run_for 0 eval one/model.safetensors --data 'synth:digits?n=600&n_test=60&seed=5&part=test' --json
run_for 0 predict one/model.safetensors --data 'synth:digits?n=600&n_test=60&seed=5&part=test' --format lines
[ "$(wc -l <out.txt)" = 60 ] || fail "expected 60 predictions: $(head out.txt)"
