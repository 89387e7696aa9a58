# --model net.onnx: networks that PyTorch, by both of its exporters, and scikit-learn have written predict what they do
# there, can be trained on, and are saved.  Skipped where python3, or the interpreter that DROVE_TEST_PYTHON names, has
# neither torch nor skl2onnx.
# ctest: timeout=600
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"
python=${DROVE_TEST_PYTHON:-$(type -P python3 || echo python3)}
n_networks=0

for what in torch skl2onnx; do
    if ! "$python" -c "import onnx, $what" 2>/dev/null; then
        echo "no networks of $what: $python has no such package"
        continue
    fi
    "$python" "$DROVE_SOURCE_DIR/tests/cli/onnx_import.py" "${what/skl2onnx/sklearn}" 2>err.txt >list.txt ||
        fail "$what: $(tail -n 5 err.txt)"
    grep 'not written' err.txt || true
    while read -r file data expected options; do
        # shellcheck disable=SC2086
        run_for 0 train "$data" --test none --model "$file" $options --lr 0.01 --threads 1 --until updates=0 --out kept --quiet
        run_for 0 predict kept "$data"
        mv out.txt predictions.csv
        "$python" "$DROVE_SOURCE_DIR/tests/cli/onnx_import.py" compare predictions.csv "$expected" || fail "$file: other predictions"
        rm -r kept
        n_networks=$((n_networks + 1))
    done <list.txt
done
if [ "$n_networks" = 0 ]; then
    echo "skip: nothing to read"
    exit 77
fi
echo "$n_networks networks read"
