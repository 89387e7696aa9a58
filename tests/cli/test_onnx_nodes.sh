# ONNX's own tests of the operators that drove has: equal, or refused in one line that names the node; none computes something
# else.  All operators: tests/cli/onnx_nodes.py.  Skipped where python3, or the interpreter that DROVE_TEST_PYTHON names, has
# no onnx.
# ctest: timeout=600
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"
python=${DROVE_TEST_PYTHON:-$(command -v python3 || echo python3)}
for word in softmax reshape_ flatten squeeze clip leakyrelu gemm; do
    status=0
    "$python" "$DROVE_SOURCE_DIR/tests/cli/onnx_nodes.py" "$DROVE" "test_$word" >out.txt 2>err.txt || status=$?
    [ "$status" != 77 ] || { cat out.txt; exit 77; }
    [ "$status" = 0 ] || fail "$word: $(grep -E 'different|unnamed' out.txt; tail -n 3 err.txt)"
    tail -n 2 out.txt
done
