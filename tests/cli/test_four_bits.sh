# Dense linear models with numbers of 4 bits: they learn, count what saturates, resume to the same bits, predict, live in
# files; what they do not go with is refused in one line.
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"
dense='synth:logistic?n=3000&d=41&seed=3' sparse='synth:logistic?n=500&d=300&density=0.05'
value() { # FILE KEY
    python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$@"
}
less() { python3 -c 'import sys; sys.exit(not float(sys.argv[1]) < float(sys.argv[2]))' "$@"; }

# Each pair of formats, from its own start; with two workers, too.
for signature in D4M4 D4M8 D8M4 D4M16 D16M4 D4M32f D32fM4; do
    run_for 0 train --data "$dense" --model logistic --lr 0.05 --until epochs=4 --threads 1 --quiet --json --precision $signature
    less "$(value out.txt loss)" 0.6 || fail "$signature does not learn: $(cat out.txt)"
    [ "$(value out.txt precision)" = $signature ] || fail "$signature: $(value out.txt precision)"
done
for strategy in hogwild replicas:core; do
    run_for 0 train --data "$dense" --model svm --lr 0.02 --batch 4 --until epochs=4 --threads 2 --strategy $strategy --quiet \
        --json --precision D4M4 --weight-decay 0.001
    less "$(value out.txt loss)" 0.9 || fail "$strategy does not learn: $(cat out.txt)"
done
run_for 0 train --data "$dense" --model logistic --lr 0.5 --until epochs=1 --threads 1 --quiet --json --precision D4M4 \
    --model-range 0.01
[ "$(value out.txt clamped)" -gt 100 ] || fail "expected saturated writes: $(cat out.txt)"

# A run that is stopped and resumed has the bits of one that is not.
for signature in D4M4 D4M8 D8M4; do
    rm -rf whole half
    options="--model logistic --lr 0.05 --threads 1 --quiet --precision $signature --rounding xorshift"
    # shellcheck disable=SC2086
    run_for 0 train --data "$dense" $options --until epochs=4 --out whole
    # shellcheck disable=SC2086
    run_for 0 train --data "$dense" $options --until epochs=2 --out half
    run_for 0 train --resume half --until epochs=4 --quiet
    python3 - <<'END' || fail "$signature: resumed, the model differs"
def numbers(path):
    file = open(path, "rb").read()
    return file[8 + int.from_bytes(file[:8], "little"):]
assert numbers("whole/model.safetensors") == numbers("half/model.safetensors")
END
done

# A saved model has at most 15 or 16 values of a weight, and predicts.
run_for 0 predict whole/model.safetensors --data "$dense" --format lines
[ "$(wc -l <out.txt)" = 3000 ] || fail "expected 3000 predictions: $(wc -l <out.txt)"
run_for 0 eval whole/model.safetensors --data "$dense" --json
less "$(value out.txt loss)" 0.6 || fail "eval: $(cat out.txt)"

# As a file, of half the size of D8, which trains as the data do.
run_for 0 data convert "$dense" 'quant:q4?precision=D4'
run_for 0 data info quant:q4
grep -q '^storage   D4,' out.txt || fail "$(cat out.txt)"
run_for 0 train --data quant:q4 --test none --model logistic --lr 0.05 --until epochs=4 --threads 1 --quiet --json --precision D4M8
less "$(value out.txt loss)" 0.6 || fail "from a file: $(cat out.txt)"
wrong 'expected D8, found D4' train --data quant:q4 --model logistic --precision D8M8

wrong 'the data are sparse: .*4 bits are for dense data, found D4' train --data "$sparse" --model logistic --precision D4M4
wrong 'the data are sparse: .*4 bits are for dense data, found M4' train --data "$sparse" --model logistic --precision D8i8M4
wrong '4 bits are for dense data' data convert "$sparse" 'quant:q?precision=D4'
wrong 'expected no index term' train --data "$dense" --model logistic --precision D4i8M4
wrong 'linear models: also D4' train --data "$dense" --model logistic --precision D5M8
wrong 'linear models: also M4' train --data "$dense" --model logistic --precision D8M3
wrong 'expected D8, D16 or D32f' train --data 'synth:digits?n=200' --model mlp:8 --precision D4M4
wrong 'precision' train --data "$dense" --model logistic --precision D4M4 --rule momentum
wrong 'precision' train --data "$dense" --model logistic --precision D4M4 --strategy leashed --threads 2

# A batch takes rows that lie side by side in memory, where they have been mixed: of a file sorted by class it has both.
awk 'BEGIN { srand(3); print "x,y"; for (i = 0; i < 400; i++) print (i >= 200) + 0.2 * rand() "," (i >= 200) }' >sorted.csv
for seed in 1 2 3; do
    run_for 0 train sorted.csv --label y --test none --model logistic --precision D8M16 --batch 20 --lr 0.5 --until updates=1 \
        --threads 1 --strategy sequential --seed $seed --json
    grep -q '"accuracy": 1.0,' out.txt || fail "one update of sorted rows: $(grep accuracy out.txt)"
done
