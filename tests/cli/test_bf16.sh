# --precision bf16: a network trains as well as with floats, its file predicts what the run reported, and a resumed run
# has the same bits; what does not go together is refused.
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"
data='synth:digits?n=2000&n_test=500'
small="--data $data --model mlp:32 --threads 1 --strategy sequential --batch 16 --lr 0.1"
value() { python3 -c 'import json, sys; print(json.load(open(sys.argv[1])).get(sys.argv[2]))' "$1" "$2"; }

# Other numbers than floats, the same quality.
# shellcheck disable=SC2086
{
    run_for 0 train $small --until epochs=2 --out float --json && mv out.txt float.json
    run_for 0 train $small --until epochs=2 --out bf16 --precision bf16 --json && mv out.txt bf16.json
}
[ "$(value bf16.json precision)" = bf16 ] || fail "$(value bf16.json precision)"
[ "$(value float.json precision)" = None ] || fail "$(value float.json precision)"
[ "$(value bf16.json rounding)" = None ] || fail "bf16 has no roundings to choose"
python3 - <<'END' || fail "bf16 and floats should learn alike, and not the same"
import json
narrow, wide = (json.load(open(name))["loss"] for name in ("bf16.json", "float.json"))
assert narrow != wide and abs(narrow - wide) < 0.05 * wide + 0.005, (narrow, wide)
END

# The file knows its numbers: the same loss as the run's, and another one in floats.
run_for 0 eval bf16 --data "$data" --json && mv out.txt eval.json
strings -a bf16/model.safetensors | grep -q '"precision":"bf16"' || fail "the model file does not say bf16"
! strings -a float/model.safetensors | grep -q '"precision"' || fail "a model of floats needs no word"
python3 - <<'END' || fail "drove eval: not the loss of the run: $(cat eval.json)"
import json
run, use = json.load(open("bf16.json")), json.load(open("eval.json"))
assert abs(run["loss"] - use["loss"]) < 1e-6, (run["loss"], use["loss"])
END

# Interrupted and resumed: the same bits.
# shellcheck disable=SC2086
{
    run_for 0 train $small --until epochs=1 --out half --precision bf16 --json
    run_for 0 train --resume half --until epochs=2
    cmp half/model.safetensors bf16/model.safetensors || fail "a resumed run has other bits"
    wrong 'precision' train --resume half --until epochs=3 --precision none
}

# Any layer and any strategy.
for net in lenet 'mlp:16,16 --activation tanh' linear; do
    # shellcheck disable=SC2086
    run_for 0 train --data "$data" --model $net --threads 1 --batch 8 --until updates=20 --precision bf16 --json
    [ "$(value out.txt precision)" = bf16 ] || fail "$net"
done
for strategy in hogwild leashed sync rwlock replicas easgd; do
    run_for 0 train --data "$data" --model mlp:16 --threads 2 --strategy "$strategy" --batch 8 --until updates=40 \
        --precision bf16 --json
    [ "$(value out.txt precision)" = bf16 ] || fail "$strategy"
done
[ "$(nproc)" -eq 1 ] || run_for 0 train --data "$data" --model mlp:16 --workers 'cpu:0-1?gradient=one' --strategy hogbatch --until updates=20 --precision bf16
grep -q 'precision   products in bf16 (.*), sums and parameters in floats' out.txt || fail "$(cat out.txt)"

wrong 'expected none, bf16 or a DMGC signature' train --data "$data" --precision bf17
wrong 'expected D4' data convert "$data" 'quant:q?precision=bf16'
# An accelerator rounds as the host does: a run goes the same way, but for the order of sums.  (PoCL's compiler leaks
# where it has to compile, so not with AddressSanitizer.)
loss_on() { # WORKERS
    run_for 0 train --data "$data" --model mlp:32 --defaults classic --workers "$1" --strategy sequential --batch 16 --until updates=60 \
        --precision bf16 --json
    value out.txt loss
}
if [ -z "${DROVE_SANITIZE:-}" ] && "$DROVE" info 2>/dev/null | grep -q 'opencl:0'; then
    host=$(loss_on cpu:0) device=$(loss_on opencl:0)
    python3 -c "import sys; a, b = map(float, sys.argv[1:]); sys.exit(not abs(a - b) < 2e-3 * a)" "$host" "$device" ||
        fail "loss $host on a core, $device on an accelerator"
fi

# Parameters in bf16: learns as well, resumes to the same bits, works with several workers; its file holds floats.
small="--data $data --model mlp:32 --defaults classic --threads 1 --strategy sequential --batch 16 --lr 0.1 --rule sgd"
masters='bf16?masters=bf16'
# shellcheck disable=SC2086
{
    run_for 0 train $small --until epochs=2 --precision "$masters" --out narrow --json && mv out.txt narrow.json
    run_for 0 train $small --until epochs=2 --precision bf16 --json && mv out.txt wide.json
    run_for 0 train $small --until epochs=1 --precision "$masters" --out part
    run_for 0 train --resume part --until epochs=2
}
cmp part/model.safetensors narrow/model.safetensors || fail "a resumed run with parameters in bf16 has other bits"
python3 -c 'import json; a, b = (json.load(open(n + ".json"))["loss"] for n in ("narrow", "wide"))
assert a != b and abs(a - b) < 0.1 * b, (a, b)' || fail "parameters in bf16"
run_for 0 eval narrow --data "$data" --json
python3 -c 'import json; run, use = json.load(open("narrow.json")), json.load(open("out.txt"))
assert abs(run["loss"] - use["loss"]) < 1e-6, (run["loss"], use["loss"])' || fail "drove eval: another loss"
for how in hogwild easgd-sync3 local; do
    run_for 0 train --data "$data" --model mlp:32 --threads 2 --strategy $how --batch 8 --lr 0.1 --until epochs=1 --precision "$masters"
done
grep -q 'precision   products and parameters in bf16' out.txt || fail "$(cat out.txt)"
wrong 'found bf16' train --data "$data" --threads 2 --strategy replicas --precision "$masters"
wrong 'masters: expected bf16' train --data "$data" --precision 'bf16?masters=float'
wrong 'model-range: expected none' train --data "$data" --precision "$masters" --model-range 1
