# drove export --onnx: ONNX Runtime predicts from raw columns, numbers and images what drove predict does, for every
# kind of model.  Skipped where python3, or the interpreter that DROVE_TEST_PYTHON names, has no onnxruntime.
# ctest: timeout=600
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"
python=${DROVE_TEST_PYTHON:-$(type -P python3 || echo python3)}
if ! "$python" -c 'import onnxruntime' 2>/dev/null; then
    echo "skip: $python has no onnxruntime"
    exit 77
fi

# NAME TRAINING EXAMPLES ARGUMENT...: trains, predicts and exports; EXAMPLES: a table, or an array of TRAINING's.
same() {
    local name=$1 training=$2 examples=$3
    shift 3
    run_for 0 train "$training" --test none --threads 1 --strategy sequential --out "$name" --quiet "$@"
    case $examples in
    *.npy) run_for 0 predict "$name" "$training" ;;
    *) run_for 0 predict "$name" "$examples" ;;
    esac
    mv out.txt "$name.csv"
    run_for 0 export "$name" --onnx "$name.onnx"
    mv out.txt "$name.txt"
    "$python" "$DROVE_SOURCE_DIR/tests/cli/onnx_check.py" "$name.onnx" "$name.csv" "$examples" ${tolerance-} ||
        fail "$name: ONNX Runtime predicts something else"
    rm -r "$name" "$name.onnx"
}

# ---- tables: numbers, truth values, dates, categories, hashed ones; missing and unseen cells ----

python3 "$DROVE_SOURCE_DIR/tests/cli/mixed_table.py"
sed 's/,7\.0,/,7,/' new.csv >whole.csv # of a hashed column ONNX takes whole numbers without .0
few='--lr 0.05 --until epochs=3' slowly='--lr 0.001 --until epochs=3'
# shellcheck disable=SC2086
{
    same table 'mixed.csv?types=smokes:boolean' new.csv --label y --model mlp:8 $slowly
    awk 'BEGIN { srand(4); print "ms,k,y"; for (i = 0; i < 400; i++) { ms = int(100000 * rand()); k = rand()
        printf "%.0f,%.4f,%.3f\n", 1700000000000 + ms, k, 1000000000 + ms / 1000 + 5 * k } }' >stamps.csv
    same far stamps.csv stamps.csv --label y --model mlp:8 $few
    same robust 'stamps.csv?scale=robust' stamps.csv --label y --model mlp:8 $few
    same bins 'mixed.csv?bins=16' new.csv --label zone --model mlp:8 $few
    awk 'BEGIN { srand(6); print "ms,month,tenth,y"; for (i = 0; i < 400; i++) { m = 1 + int(12 * rand()); k = int(9 * rand())
        printf "%.0f,%s,%.1f,%.3f\n", 1700000000000 + 7 * k, rand() < 0.1 ? "" : m, k / 10, rand() + (m == 4) + k % 2 } }' >both.csv
    same also 'both.csv?bins=3&also=ms+month+tenth' both.csv --label y --model mlp:8 $few
    same hashed 'mixed.csv?onehot=3&hash=64' whole.csv --label y --model mlp:8 $slowly
    same sparse 'mixed.csv?onehot=3&hash=65536' whole.csv --label y --model linear $slowly
    same names 'mixed.csv?columns=age+seen+label+smokes' new.csv --label smokes --model logistic $few # "label" is an input, too
    same two mixed.csv new.csv --label age+y --model linear $slowly
}
grep -q '^output  label_ ' names.txt || fail "expected another name of the output: $(cat names.txt)"
grep -q '^input   born  *double .*days since 1970-01-01' table.txt || fail "expected the unit of dates: $(cat table.txt)"
run_for 0 train 'mixed.csv?text=shop' --label y --model linear --test none --until epochs=1 --out text --quiet
wrong 'column "shop": a column of text cannot be exported: ' export text --onnx text.onnx
[ ! -e text.onnx ] || fail "a refused model left a file"

folder=${DROVE_TEST_DATA:-$DROVE_SOURCE_DIR/../shared/data}/tables
for name in titanic BudgetFood Computers Males MedExp Treatment biopsy colon; do
    if [ ! -d "$folder" ]; then
        echo "no real tables: $folder is not there"
        break
    fi
    # shellcheck disable=SC2086
    same $name "$folder/$name.train.csv" "$folder/$name.test.csv" --model mlp:16 $few
done

# ---- plain numbers, dense and sparse, each loss ----

numbers() { # SPEC: numbers.npy holds its examples
    rm -f numbers.npy targets.npy
    run_for 0 data convert "$1" npy:numbers.npy,targets.npy
}
# shellcheck disable=SC2086
{
    numbers 'synth:logistic?n=300&d=20'
    same logistic 'synth:logistic?n=300&d=20' numbers.npy --model logistic $few
    same svm 'synth:logistic?n=300&d=20' numbers.npy --model svm $few
    same softmax 'synth:logistic?n=300&d=20' numbers.npy --model mlp:7,5 --loss softmax --activation tanh $few
    same squared 'synth:logistic?n=300&d=20' numbers.npy --model mlp:7 --loss squared --activation sigmoid $few
    same unit 'synth:logistic?n=300&d=20&scale=unit' numbers.npy --model logistic $few
    same raw 'synth:logistic?n=300&d=20&scale=none' numbers.npy --model logistic --lr 0.01 --until epochs=3
    same fourier 'synth:logistic?n=300&d=20' numbers.npy --model logistic --features rff:700 $few
    awk 'BEGIN { srand(2); for (i = 0; i < 300; i++) { a = int(4 * rand()); printf "%d,%d", a, (a + 1) % 4
        for (f = 1; f <= 12; f++) if (f % 4 == a || rand() < 0.2) printf " %d:%.3f", f, 3 * rand(); print "" } }' >labels.svm
    sed 's/,[0-9]*//' labels.svm >one.svm
    numbers 'libsvm:one.svm?scale=standard'
    same sparse_svm 'libsvm:one.svm?scale=standard' numbers.npy --model svm $few
    numbers 'libsvm:one.svm?scale=robust'
    same sparse_robust 'libsvm:one.svm?scale=robust' numbers.npy --model svm $few
    same sparse_mlp 'libsvm:one.svm?scale=unit' numbers.npy --model mlp:6 $few
    same labels 'libsvm:labels.svm' numbers.npy --model mlp:6 $few
}

# ---- networks of images ----

cat >graph.yaml <<'END'
layers:
  - {name: norm0, type: batch_norm}
  - {name: conv1, type: convolution, channels: 16, kernel: [3, 5], pad: [1, 2], groups: 1, activation: relu}
  - {name: norm1, type: batch_norm, activation: tanh}
  - {name: pool1, type: average_pool, kernel: 3, stride: 2, pad: 1, rounds_up: true}
  - {name: dilated, type: convolution, inputs: pool1, channels: 16, kernel: 3, pad: 2, dilation: 2, groups: 4, bias: false}
  - {name: same, type: lrn, inputs: pool1, size: 3, alpha: 0.5, beta: 0.6, kappa: 2}
  - {name: both, type: sum, inputs: [dilated, same], coefficients: [1, -0.5], activation: sigmoid}
  - {name: all, type: concat, inputs: [both, pool1]}
  - {name: drop, type: dropout}
  - {name: pool2, type: max_pool, kernel: 2, stride: 3, rounds_up: true}
  - {name: soft, type: softmax}
  - {name: vector, type: flatten}
  - {name: pixels, type: flatten, inputs: data}
  - {name: hidden, type: dense, units: 12, inputs: pixels, activation: relu}
  - {name: direct, type: dense, units: 9, inputs: data}
  - {name: mean, type: average_pool, inputs: all, global: true}
  - {name: mixed, type: concat, inputs: [vector, hidden, direct]}
  - {name: norm2, type: batch_norm}
  - {name: more, type: concat, inputs: [norm2, mean]}
  - {name: act, type: activation, activation: tanh}
  - {name: out, type: dense}
END
images() { # NAME SPEC ARGUMENT...
    local name=$1 spec=$2
    shift 2
    numbers "$spec"
    same "$name" "$spec" numbers.npy --init he "$@"
}
small='synth:images?n=40&classes=5'
images graph "$small&size=17" --model graph.yaml --lr 0.01 --until epochs=1
images pixels 'synth:digits?n=200' --model mlp:20 --lr 0.1 --until epochs=2
tolerance=5e-3 images bf16 'synth:digits?n=200' --model mlp:20 --precision bf16 --lr 0.1 --until epochs=2
images lenet 'synth:digits?n=200' --model lenet --lr 0.01 --until epochs=1
images quick "$small&size=32" --model cifar-quick --lr 0.001 --until epochs=1
images cifar "$small&size=32&scale=unit-mean" --model 'alexnet-cifar?units=64' --lr 1e-4 --until updates=1
images alexnet 'synth:images?n=6&classes=5&size=67' --model 'alexnet?units=64' --lr 1e-5 --until updates=1
images googlenet 'synth:images?n=6&classes=5&size=80' --model googlenet --lr 1e-5 --until updates=1
images vgg 'synth:images?n=6&classes=5&size=32' --model 'vgg16?units=64' --lr 1e-5 --until updates=1
images resnet18 'synth:images?n=6&classes=5&size=36' --model resnet18 --lr 1e-4 --until updates=1
# floats of so many layers of random numbers are themselves off by up to 6e-5: test_torchvision.sh compares with double
tolerance=2e-4 images resnet50 'synth:images?n=32&classes=5&size=64' --model resnet50 --lr 1e-4 --until updates=1
images mobile 'synth:images?n=32&classes=5&size=50' --model mobilenetv3 --lr 1e-3 --until updates=1
tolerance=2e-4 images mobile_large 'synth:images?n=32&classes=5&size=49' --model 'mobilenetv3?size=large' --lr 1e-3 --until updates=1
numbers "$small&size=20"
same crop "$small&size=20&crop=16x15&pad=2&mirror=1&scale=unit-mean-channel" numbers.npy --model lenet --lr 0.01 --until epochs=1

# ---- every activation; random networks, other ones each day ----

take_day
for seed in activations 1 2 3004 3157 $((DROVE_TEST_DAY * 10)) $((DROVE_TEST_DAY * 10 + 1)); do
    python3 "$DROVE_SOURCE_DIR/tests/cli/random_graphs.py" "$seed"
    same "random$seed" npy:images.npy,y.npy images.npy --model graph.yaml --init he --loss squared --lr 0.001 --until updates=3
done

# ---- the layers that files of others bring, and back again ----

cat >fixed.yaml <<'END'
layers:
  - {name: raised, type: scale, offsets: [0.25], factors: [2, -1, 0.5]}
  - {name: conv1, type: convolution, channels: 4, kernel: 3}
  - {name: slope, type: activation, activation: leaky_relu, slope: 0.2}
  - {name: turned, type: reshape, channels: 8, height: 7, width: 14}
  - {name: bounds, type: clip, low: -0.5, high: 0.75}
  - {name: conv2, type: convolution, channels: 3, kernel: 3, activation: tanh}
  - {name: length, type: normalize}
  - {name: offset, type: scale, offsets: [0.01, 0.02, -0.03]}
  - {name: corners, type: gather, index: [5, 0, 9-20, 0x3]}
  - {name: vector, type: reshape, inputs: offset}
  - {name: some, type: gather, inputs: data, index: [767, 0-255x2, 300]}
  - {name: together, type: concat, inputs: [vector, corners, some]}
  - {name: sum, type: normalize, power: 1}
  - {name: each, type: scale, factors: [30]}
  - {name: out, type: dense}
END
images fixed "$small&size=16&scale=none" --model fixed.yaml --lr 0.01 --until epochs=2
cat >norms.yaml <<'END'
layers:
  - {name: conv1, type: convolution, channels: 8, kernel: 3, stride: 2, pad: [0, 0, 1, 1]}
  - {name: norm1, type: layer_norm, over_height: false, over_width: false, activation: relu}
  - {name: conv2, type: convolution, channels: 6, kernel: [2, 4], pad: [1, 2, 0, 1]}
  - {name: prelu2, type: prelu}
  - {name: mean, type: average_pool, kernel: 3, stride: 1, pad: 1, counts_pad: false}
  - {name: norm2, type: layer_norm}
  - {name: counted, type: average_pool, kernel: 3, stride: 2, pad: [0, 1, 2, 0]}
  - {name: prelu3, type: prelu, slopes: 1}
  - {name: most, type: max_pool, inputs: norm2, kernel: 3, stride: 2, pad: [0, 1, 2, 0]}
  - {name: norm3, type: layer_norm, over_channels: false}
  - {name: both, type: concat, inputs: [prelu3, norm3]}
  - {name: norm4, type: layer_norm, over_height: false, activation: tanh}
  - {name: squeeze, type: average_pool, global: true}
  - {name: reduce, type: convolution, channels: 3, activation: relu}
  - {name: excite, type: convolution, channels: 12, activation: hard_sigmoid}
  - {name: gate, type: product, inputs: [norm4, excite]}
  - {name: turned, type: reshape, channels: 3, height: 8, width: 8, channels_last: true}
  - {name: conv5, type: convolution, channels: 4, kernel: [1, 3], pad: [0, 2, 0, 0]}
  - {name: hidden, type: dense, units: 9}
  - {name: norm6, type: layer_norm}
  - {name: prelu6, type: prelu}
  - {name: out, type: dense}
END
images norms "$small&size=17&scale=none" --model norms.yaml --lr 0.01 --until epochs=2
for model in fixed.yaml:16 norms.yaml:17 lenet:16; do # whose dense layer reads an image
    side=${model#*:} model=${model%:*}
    run_for 0 train "$small&size=$side&scale=none" --test none --model "$model" --lr 1e-4 --until epochs=2 --threads 1 --out there --quiet
    run_for 0 predict there "$small&size=$side"
    mv out.txt there.csv
    run_for 0 export there --onnx there.onnx
    run_for 0 train "$small&size=$side&scale=none" --test none --model there.onnx --lr 0.01 --until updates=0 --threads 1 --out back --quiet
    run_for 0 predict back "$small&size=$side"
    "$python" - there.csv out.txt <<'END' || fail "$model: a network that went to ONNX and back predicts something else"
import csv, sys
a, b = ([row[1:] for row in list(csv.reader(open(path)))[1:]] for path in sys.argv[1:])
sys.exit(not (a and max(abs(float(x) - float(y)) for r, s in zip(a, b) for x, y in zip(r, s)) < 1e-6))
END
    rm -r there back
done
echo "all models as drove predict"
