# Parameters and arrays of other programs in the types that these write, and archives that are refused.  Skipped where
# python3, or the interpreter that DROVE_TEST_PYTHON names, has no NumPy.
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"
python=${DROVE_TEST_PYTHON:-$(type -P python3 || echo python3)}
if ! "$python" -c "import numpy" 2>/dev/null; then
    echo "skip: $python has no numpy"
    exit 77
fi
"$python" "$DROVE_SOURCE_DIR/tests/cli/foreign_types.py" "$DROVE"
