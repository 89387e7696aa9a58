# Words of other programs: the line says what drove has instead, and that can be pasted.
# ctest: slow: starts the program for each word of other programs
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"

# TEXT ARGUMENT...: one line with TEXT, status 2.
says() {
    local text=$1
    shift
    run "$@"
    [ "$status" = 2 ] || fail "drove $*: expected status 2, found $status: $(cat err.txt)"
    [ "$(wc -l <err.txt)" = 1 ] || fail "drove $*: expected one line: $(cat err.txt)"
    grep -qF -e "$text" err.txt || fail "drove $*: expected '$text', found: $(cat err.txt)"
}

data=synth:logistic?n=200\&d=4\&seed=1

# The advice behind "write" is pasted behind the same data, and trains.
while read -r given; do
    # shellcheck disable=SC2086
    run train "$data" $given
    [ "$status" = 2 ] || fail "$given: expected status 2, found $status"
    advice=$(sed -n 's/.*; write \(--[^;(]*\)$/\1/p; s/.*; write \(--[a-z-]* [^ ,;]*\),* .*/\1/p' err.txt | head -1)
    [ -n "$advice" ] || fail "$given: expected advice, found: $(cat err.txt)"
    case $advice in
    *'--until'*) more= ;;
    *) more='--until epochs=1' ;;
    esac
    eval "run train \"\$data\" --model logistic --quiet --out run $more $advice" || true
    [ "$status" = 0 ] || fail "$given: pasted '$advice': status $status: $(cat err.txt)"
    rm -rf run
done <<'END'
--epochs 2
--max-epochs 2
--num_train_epochs=2
--max_iter 2
--steps 20
--num-iterations 20
--early-stopping 2
--n_iter_no_change 2
--validation-split 0.2
--validation-fraction 0.25
--learning-rate 0.1
--eta0 0.1
--alpha 0.001
--l2 0.001
--weight_decay_rate 0.001
--batch-size 16
--optimizer sgd
--solver adam
--momentum 0.9
--nesterov
--beta1 0.8
--grad-clip 1
--clip_grad_norm 1
--max-grad-norm 1
--num-workers 1
--n-jobs 2
--nthread 1
--random-state 7
--manual_seed 7
--save-steps 1
--loss-function softmax
--criterion CrossEntropyLoss
--objective binary:logistic
--fast-dev-run
--quantization
--silent
END

# Values, models and files.
says 'write --until validation=20%' train "$data" --validation-split 0.2
says 'write --until patience=N' train "$data" --early-stopping true
says 'write --loaders 4' train "$data" --num-workers 4
says 'write --workers cuda:0 (or opencl:0' train "$data" --device cuda
says 'write --out ckpt' train "$data" --output-dir ckpt
says 'write --label price' train "$data" --target-column price
says 'write --label-smoothing 0.1' train "$data" --smoothing 0.1
says 'write --data' train "$data" --mixup 0.2
says 'no trees' train "$data" --n_estimators 100
says 'mirror=1' train "$data" --augment flip
says 'write --rule' train "$data" --optimizer AdamW
says 'write --rule adamw' train "$data" --rule fused_adamw
says 'write --rule momentum:0.9' train "$data" --rule sgdm
says 'write --loss softmax' train "$data" --loss cross_entropy
says 'write --loss squared' train "$data" --loss MSELoss
says 'loss= in Python' train "$data" --loss focal
says 'write --schedule plateau' train "$data" --schedule ReduceLROnPlateau
says 'write he:1' train "$data" --init kaiming_normal
says 'write --strategy allreduce' train "$data" --strategy ddp
says 'write cuda:0' train "$data" --workers gpu
says 'ONNX' train "$data" --model resnet101
says 'write --model mobilenetv3' train "$data" --model mobilenet_v3_large
says 'no trees' train "$data" --model LightGBM
says 'write --model svm' train "$data" --model LinearSVC
says 'write patience=' train "$data" --until early_stopping=5
says 'write mirror=1' train "$data&flip=1"
says 'torch.onnx.export' train "$data" --model net.pt
says 'a Keras file' train "$data" --model net.h5
says "Caffe's parameters" train "$data" --model net.caffemodel
says 'darknet' train "$data" --model yolov3.cfg
printf 'net: "lenet.prototxt"\nbase_lr: 0.01\n' >solver.prototxt
says "a solver's file" train "$data" --model solver.prototxt
: >m.pth
says 'a PyTorch file' predict m.pth --data x.csv
says 'a PyTorch file' eval m.pth --data x.csv

# Commands, and options of others than train.
says 'drove train DATA' fit x.csv
says 'drove predict RUN' infer run
says 'drove eval RUN' evaluate run
says 'write --budget trials=5' tune x.csv --n-trials 5
says 'write --folds 5' tune x.csv --cv 5
says 'write --out p.csv' predict run --output p.csv
says 'write --proba' predict run --probabilities
says 'the model stands first' eval --model run
says 'write --onnx FILE' export run --format onnx

# A slip of ours stays one.
says 'did you mean "--batch"' train "$data" --bacth 5
says 'did you mean "--lr"' train "$data" --lrr 5
