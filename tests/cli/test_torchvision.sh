# The networks called as torchvision's take its modules' state_dicts, predict the same, and make the same ten steps.
# Skipped where python3, or the interpreter that DROVE_TEST_PYTHON names, has no torchvision.
# ctest: timeout=600
# ctest: slow: fifteen runs of networks of up to fifty layers, and the same by PyTorch
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"
export XDG_CACHE_HOME=$PWD/cache # choices of convolutions of its own
python=${DROVE_TEST_PYTHON:-$(type -P python3 || echo python3)}
check="$DROVE_SOURCE_DIR/tests/cli/torchvision_check.py"

# NAME MODEL TORCHVISION'S SIDE BATCH STEPS: an empty one compares predictions alone, as of the deeper networks, where ten steps
# magnify the rounding of the first.
same() {
    local name=$1 model=$2 written=0
    "$python" "$check" write "$name" "$3" "$4" 5 "$5" || written=$?
    [ "$written" != 77 ] || exit 77
    [ "$written" = 0 ] || fail "$name: torchvision wrote nothing"
    local data="npy:$name.x.npy,$name.y.npy?scale=none"
    local options="--test none --model $model --init pytorch:$name.state.safetensors --batch $5 --threads 1 --strategy sequential --quiet"
    # shellcheck disable=SC2086
    run_for 0 train "$data" $options --lr 0.01 --until updates=0 --out "$name"
    run_for 0 predict "$name" "$data" --proba
    mv out.txt "$name.csv"
    "$python" "$check" compare "$name" "$name.csv" || fail "$name: other predictions"
    rm -r "$name"
    [ -n "$6" ] || return 0
    # shellcheck disable=SC2086
    run_for 0 train "$data" $options --rule momentum:0.9 --lr 0.002 --schedule constant --defaults classic --until updates=10 \
        --eval-every 1 --out "$name"
    "$python" "$check" losses "$name" "$name/log.jsonl" || fail "$name: other steps"
    rm -r "$name"
}

same resnet18 resnet18 resnet18 64 16 steps
same small 'mobilenetv3?dropout=0' mobilenet_v3_small 64 16 steps
same large 'mobilenetv3?dropout=0&size=large' mobilenet_v3_large 64 16 steps
same resnet34 resnet34 resnet34 64 16 ''
same resnet50 resnet50 resnet50 64 16 ''
