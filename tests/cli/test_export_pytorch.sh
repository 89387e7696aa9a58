# drove export --pytorch: a network written with NumPy, and with PyTorch where it is, gives drove's predictions from the
# state and the raw data.  --init pytorch:FILE: the other way, from the exported state and from one that PyTorch trained.
# Skipped where no Python has NumPy.
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"
python=
for one in "${DROVE_TEST_PYTHON-}" "${DROVE_PYTHON-}" /usr/bin/python3; do
    if [ -z "$python" ] && "$one" -c 'import numpy' 2>/dev/null; then python=$one; fi
done
if [ -z "$python" ]; then
    echo "skip: no Python with numpy"
    exit 77
fi
"$python" - <<'END'
import numpy as np
rng = np.random.RandomState(0)
y = np.arange(240) % 3
images = rng.randint(0, 128, (240, 2, 9, 7)).astype(np.uint8)
images[np.arange(240), y % 2, 2 + y, 1:5] += 100
np.save("images.npy", images)
np.save("numbers.npy", (5 * rng.randn(240, 6) + 3 * y[:, None]).astype(np.float32) + np.arange(6, dtype=np.float32))
np.save("y.npy", y.astype(np.int32))
digits = np.zeros((240, 1, 20, 20), np.uint8)
for i in range(240):
    digits[i, 0, 4 + 4 * y[i]:8 + 4 * y[i], 3:15] = rng.randint(100, 255, (4, 12))
np.save("digits.npy", digits)
END
cat >mixed.yaml <<'END'
layers:
  - {name: c1, type: convolution, channels: 4, kernel: 3, activation: relu}
  - {name: c2, type: convolution, channels: 6, kernel: [3, 3], pad: 1, groups: 2, bias: false}
  - {name: norm, type: batch_norm, activation: relu}
  - {name: flat, type: flatten}
  - {name: drop, type: dropout, ratio: 0.2}
  - {name: hidden, type: dense, units: 16, activation: relu}
  - {name: out, type: dense}
END

# NETWORK DATA SHAPE ARGUMENT...: trains, predicts and exports.
same() {
    local name=$1 data=$2 shape=$3
    shift 3
    run_for 0 train "npy:$data.npy,y.npy${keys-}" --test none --threads 1 --strategy sequential --until epochs=4 --out "$name" --quiet "$@"
    run_for 0 predict "$name" "npy:$data.npy,y.npy" --proba
    mv out.txt "$name.csv"
    run_for 0 export "$name" --pytorch "$name.safetensors"
    mv out.txt "$name.txt"
    # shellcheck disable=SC2086
    "$python" "$DROVE_SOURCE_DIR/tests/cli/pytorch_check.py" "$name" "$name.safetensors" "$data.npy" "$name.csv" $shape ||
        fail "$name: $(cat "$name.txt")"
    rm -r "$name"
    back "$@"
    local written=0
    "$python" "$DROVE_SOURCE_DIR/tests/cli/pytorch_check.py" --write "$name" "$name.safetensors" "$data.npy" y.npy || written=$?
    case $written in
    0) back "$@" ;;
    77) ;;
    *) fail "$name: PyTorch did not write its state" ;;
    esac
}

# ARGUMENT...: drove predicts what the module of $name.safetensors does, whatever its own scaling, and goes on from there.
back() {
    run_for 0 train "npy:$data.npy,y.npy${keys-}" --test none --threads 1 --strategy sequential --quiet "$@" \
        --init "pytorch:$name.safetensors" --until updates=0 --out "$name"
    run_for 0 predict "$name" "npy:$data.npy,y.npy" --proba
    mv out.txt "$name.csv"
    # shellcheck disable=SC2086
    "$python" "$DROVE_SOURCE_DIR/tests/cli/pytorch_check.py" "$name" "$name.safetensors" "$data.npy" "$name.csv" $shape ||
        fail "$name: read back, drove predicts something else"
    rm -r "$name"
}

same lenet digits '' --model lenet --lr 0.05
grep -q 'tensor  conv2.weight  *50 x 20 x 5 x 5' lenet.txt || fail "tensors: $(cat lenet.txt)"
grep -q 'numbers from 0 to 255' lenet.txt || fail "input: $(cat lenet.txt)"
keys='?scale=standard' same mlp numbers '' --model mlp:8 --lr 0.1
keys='?scale=robust' same mlp numbers '' --model mlp:8 --lr 0.1
keys='?scale=mean-channel' same mixed images '' --model mixed.yaml --lr 0.1
keys='?scale=none' same mixed images '' --model mixed.yaml --lr 0.0005

# A run goes on without the file, to the bits of one that was not stopped.
cp mlp.safetensors start.safetensors
begin="npy:numbers.npy,y.npy --model mlp:8 --test none --threads 1 --strategy sequential --lr 0.05 --init pytorch:start.safetensors --quiet"
# shellcheck disable=SC2086
{
    run_for 0 train $begin --until epochs=4 --out whole
    run_for 0 train $begin --until epochs=2 --out parts
}
rm start.safetensors
run_for 0 train --resume parts --until epochs=4 --quiet
cmp -s whole/model.safetensors parts/model.safetensors || fail "resumed: another model"

# A saved network keeps its statistics until a step, too, whatever the batches that others would be measured on.
plain='npy:images.npy,y.npy?scale=none --test none --threads 1 --strategy sequential --lr 0.0005 --quiet'
# shellcheck disable=SC2086
{
    run_for 0 train $plain --model mixed.yaml --batch 32 --until epochs=2 --out first
    run_for 0 train $plain --model first --batch 16 --until updates=0 --out second
    run_for 0 train $plain --model first --batch 16 --until updates=1 --lr 1e-30 --rule sgd --out third
}
for one in first second third; do
    run_for 0 predict $one npy:images.npy,y.npy --proba
    mv out.txt $one.csv
done
cmp -s first.csv second.csv || fail "other statistics without a step"
! cmp -s first.csv third.csv || fail "after a step the statistics were not measured: nothing was compared"

# ---- what cannot be read ----

not_read() { # EXPECTED STATE ARGUMENT...
    local expected=$1 state=$2
    shift 2
    run train --test none --threads 1 --until updates=0 --lr 0.1 --quiet --init "pytorch:$state" "$@"
    [ "$status" = 2 ] && grep -q -e "$expected" err.txt || fail "$expected: status $status: $(cat err.txt)"
}
not_read 'mlp.safetensors: layer0.weight: expected 9 x 6, as in the model, found 8 x 6' mlp.safetensors npy:numbers.npy,y.npy --model mlp:9
not_read 'expected a tensor layer2.weight, found none' mlp.safetensors npy:numbers.npy,y.npy --model mlp:8,3
sed '/type: batch_norm/d' mixed.yaml >fewer.yaml
not_read 'expected tensors of the model.s layers alone, found norm' mixed.safetensors 'npy:images.npy,y.npy?scale=none' --model fewer.yaml
not_read 'none.safetensors' none.safetensors npy:numbers.npy,y.npy --model mlp:8
not_read 'expected --model with the network of the file, found auto' mlp.safetensors npy:numbers.npy,y.npy --model auto
not_read 'expected a file, found none' '' npy:numbers.npy,y.npy --model mlp:8
not_read 'scaling of its inputs (standard) cannot be taken out of it: it differs within a channel' mixed.safetensors \
    'npy:images.npy,y.npy?scale=standard' --model mixed.yaml
"$python" - <<'END'
import json
data = open("mlp.safetensors", "rb").read()
n = int.from_bytes(data[:8], "little")
header = json.loads(data[8:8 + n])
header.pop("__metadata__", None)
text = json.dumps(header).encode()
start = header["layer0.bias"]["data_offsets"][0]
body = bytearray(data[8 + n:])
body[start:start + 4] = b"\0\0\xc0\x7f"
open("nan.safetensors", "wb").write(len(text).to_bytes(8, "little") + text + body)
END
not_read 'layer0.bias: expected finite numbers, found' nan.safetensors npy:numbers.npy,y.npy --model mlp:8
printf 'colour,y\nred,1\nblue,0\nred,1\nblue,0\n' >table.csv
not_read 'found a table, whose columns are encoded' mlp.safetensors table.csv --model mlp:8

# ---- what cannot be written, in one line, without a file ----

refused() { # EXPECTED ARGUMENT...
    local expected=$1
    shift
    run_for 0 train "$@" --test none --threads 1 --until epochs=1 --lr 0.001 --out refused --quiet
    wrong "$expected" export refused --pytorch refused.safetensors
    [ ! -e refused.safetensors ] || fail "a refused model left a file"
    rm -r refused
}
refused 'layer c1: the scaling of its inputs (standard).*differs within a channel' 'npy:images.npy,y.npy?scale=standard' --model mixed.yaml
sed 's/kernel: 3, activation/kernel: 3, pad: 1, activation/' mixed.yaml >padded.yaml
refused 'layer c1: .*padding would be shifted' 'npy:images.npy,y.npy?scale=mean-channel' --model padded.yaml
printf 'colour,y\nred,1\nblue,0\nred,1\nblue,0\n' >table.csv
refused 'a table, whose columns it encodes' table.csv --model logistic
refused 'a feature map' npy:numbers.npy,y.npy --model logistic --features rff:16
run_for 0 train npy:numbers.npy,y.npy --model mlp:8 --test none --threads 1 --until epochs=1 --out small --quiet
wrong 'expected two files' export small --pytorch a --onnx a
run export small --pytorch small/model.safetensors
[ "$status" != 0 ] || fail "the model was overwritten"
