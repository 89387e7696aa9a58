# Parameters and arrays of other programs in the types that these write, and archives that are refused.  Skipped without NumPy.
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"
if ! command python3 -c "import numpy" 2>/dev/null; then
    echo "skip: python3 has no numpy"
    exit 77
fi
command python3 "$DROVE_SOURCE_DIR/tests/cli/foreign_types.py" "$DROVE"
