# Networks from files: what is wrong is told in one line with status 2; one that is right is described, trained, saved
# and used, and its file is not needed afterwards.
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"

# FILE TEXT...: the error of training on the file, which is one line and status 2, has each of the texts.
refused() {
    local file=$1
    shift
    run_for 2 train --data 'synth:images?size=16&classes=4&n=32' --model "$file" --until updates=1 --quiet
    [ "$(wc -l <err.txt)" = 1 ] || fail "$file: expected one line: $(cat err.txt)"
    [ ! -s out.txt ] || fail "$file: printed to standard output"
    for text in "$@"; do grep -qF -- "$text" err.txt || fail "$file: expected $text: $(cat err.txt)"; done
}

layers() { # FILE LINE...: a file with these layers
    local file=$1
    shift
    echo 'layers:' >"$file"
    for line in "$@"; do echo "  - $line" >>"$file"; done
}

layers cycle.yaml '{name: a, type: sum, inputs: [data, b]}' '{name: b, type: dense, inputs: a}'
refused cycle.yaml 'cycle.yaml:2: layers in a cycle: "a" reads "b" reads "a"'
layers missing.yaml '{name: conv1, type: dense}' '{name: out, type: dense, inputs: conv}'
refused missing.yaml 'missing.yaml:3: layer "out": input "conv"' 'did you mean "conv1"?'
layers double.yaml '{name: a, type: dense}' '{name: b, type: dense, output: a}'
refused double.yaml 'double.yaml:3: layer "b": output "a" is already that of layer "a"'
layers large.yaml '{name: a, type: convolution, kernel: 17}' '{name: out, type: dense}'
refused large.yaml 'large.yaml:2: layer "a": a window of 17 x 17' 'larger than its input of 16 x 16'
layers match.yaml '{name: a, type: convolution, kernel: 3, channels: 4}' \
    '{name: b, type: convolution, inputs: data, kernel: 5, channels: 4}' '{name: s, type: concat, inputs: [a, b]}' \
    '{name: out, type: dense}'
refused match.yaml 'match.yaml:4: layer "s":'
layers unused.yaml '{name: a, type: dense}' '{name: b, type: dense, inputs: data}'
refused unused.yaml 'unused.yaml:3: layer "b": expected one output that no layer reads'
layers word.yaml '{name: a, type: dense, unit: 3}'
refused word.yaml 'word.yaml:2:28: unknown word "unit"; did you mean "units"?'
echo 'layer { name: "a" type: "ReLU" bottom: "data" top: "a" blob: 3 }' >field.prototxt
refused field.prototxt 'field.prototxt:1: unknown field "blob" in "layer"'
refused missing.prototxt 'missing.prototxt'
run_for 2 train --data 'synth:logistic?n=20&d=5' --model lenet --until updates=1 --quiet
grep -q 'layer "conv1": convolution needs images' err.txt || fail "$(cat err.txt)"
run_for 2 train --data 'synth:images?size=16&classes=4&n=32' --model alexnet --until updates=1 --quiet
grep -q 'model alexnet: expected images of at least 55 x 55, found 16 x 16' err.txt || fail "$(cat err.txt)"

# The summary, for people and for programs.
run_for 0 model lenet --input 1x28x28
grep -q '431080 parameters, 2293000 multiply-adds' out.txt || fail "$(cat out.txt)"
run_for 0 model "$DROVE_SOURCE_DIR/tests/support/nets/alexnet.prototxt" --input 3x227x227 --classes 1000 --json
grep -q '"parameters": 60965224' out.txt || fail "$(cat out.txt)"
run_for 2 model lenet --input 28x28
run_for 2 model lenet --input 1x28x28 --classes many
run_for 2 model lenet --input 16777216x16777216x65536 # 2^64 numbers
grep -qF 'fewer than 2^32 numbers' err.txt || fail "--input: $(cat err.txt)"
run_for 0 list layers
grep -q '^max_pool ' out.txt || fail "$(cat out.txt)"

# Saved with its description: batch normalisation, a sum, two heads.
layers net.yaml '{name: c, type: convolution, channels: 8, kernel: 3, pad: 1, bias: false}' \
    '{name: n, type: batch_norm, activation: relu}' '{name: d, type: dropout, ratio: 0.1}' \
    '{name: s, type: sum, inputs: [n, d]}' '{name: side, type: dense}' '{name: p, type: max_pool, inputs: s, kernel: 2}' \
    '{name: out, type: dense}'
printf 'heads:\n  - {input: side, weight: 0.5}\n  - {input: out}\n' >>net.yaml
data='synth:images?size=16&classes=4&n=64'
run_for 0 train --data "$data" --test none --model net.yaml --batch 8 --lr 0.05 --threads 1 --until updates=20 --out one --quiet
cp net.yaml kept.yaml
sed -i 's/ratio: 0.1/ratio: 0.2/' net.yaml
run_for 2 train --resume one --until updates=30 --quiet
grep -q 'model net.yaml: expected the network of the run to be continued, found another' err.txt || fail "$(cat err.txt)"
mv kept.yaml net.yaml
run_for 0 train --resume one --until updates=30 --quiet
run_for 0 train --data "$data" --test none --model net.yaml --batch 8 --lr 0.05 --threads 1 --until updates=30 --out two --quiet
cmp one/model.safetensors two/model.safetensors || fail "a continued run differs from one without a break"
rm net.yaml
run_for 0 eval one/model.safetensors --data "$data" --json
grep -q '"model": "net.yaml"' out.txt || fail "$(cat out.txt)"
run_for 0 predict one/model.safetensors --data "$data" --format lines
[ "$(wc -l <out.txt)" = 64 ] || fail "expected 64 predictions"
run_for 0 model one/model.safetensors
grep -q 'head out, weight 1, the main one' out.txt || fail "$(cat out.txt)"
run_for 0 train --data "$data" --test none --model one/model.safetensors --threads 1 --until updates=1 --quiet
