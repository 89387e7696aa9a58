# ONNX's own tests of the operators that drove has: equal, or refused in one line that names the node; none computes something
# else.  With DROVE_TEST_LONG those of all operators.  Skipped where python3, or the interpreter that DROVE_TEST_PYTHON names,
# has no onnx.
# ctest: timeout=900
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"
python=${DROVE_TEST_PYTHON:-$(type -P python3 || echo python3)}
words="test_softmax test_reshape_ test_flatten test_squeeze test_clip test_leakyrelu test_gemm"
[ -z "${DROVE_TEST_LONG-}" ] || words=
status=0
# shellcheck disable=SC2086
"$python" "$DROVE_SOURCE_DIR/tests/cli/onnx_nodes.py" "$DROVE" $words >out.txt 2>err.txt || status=$?
[ "$status" != 77 ] || { cat out.txt; exit 77; }
[ "$status" = 0 ] || fail "$(grep -E 'different|unnamed' out.txt; tail -n 3 err.txt)"
tail -n 3 out.txt
