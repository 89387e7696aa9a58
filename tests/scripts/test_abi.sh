# The library is compatible with the release, and scripts/check-abi sees what is not: in copies of the headers.
set -eu
if [ -n "$DROVE_SANITIZE" ]; then
    echo "skip: sanitizers add symbols of their own"
    exit 77
fi
library=$DROVE_BUILD_DIR/src/libdrove.so
check=$DROVE_SOURCE_DIR/scripts/check-abi
CC=$DROVE_CC
export CC
# 77: skipped, with its reason
"$check" "$DROVE_SOURCE_DIR" "$library" || exit $?

# changed NAME FILE SED-EXPRESSION: a tree with one change
changed() {
    mkdir -p "$1/src" "$1/tests"
    cp -r "$DROVE_SOURCE_DIR/include" "$1/"
    cp "$DROVE_SOURCE_DIR/src/drove.map" "$1/src/"
    cp -r "$DROVE_SOURCE_DIR/tests/abi" "$1/tests/"
    sed -i -E "$3" "$1/$2"
    if cmp -s "$1/$2" "$DROVE_SOURCE_DIR/$2"; then
        echo "$1: nothing was changed in $2"
        exit 1
    fi
}
refused() { # NAME LIBRARY TEXT
    if "$check" "$1" "$2" >"$1.txt" 2>&1; then
        echo "$1: not seen"
        exit 1
    fi
    grep -q "$3" "$1.txt" || { echo "$1: expected '$3', found:"; cat "$1.txt"; exit 1; }
}

changed comment include/drove/train.h 's|of the budget used, 0 .. 1|share of the budget|'
"$check" comment "$library"
changed type include/drove/arrays.h 's/(size_t +)n_rows, n_columns;/unsigned n_rows, n_columns;/'
refused type "$library" 'drove_matrix'
changed order include/drove/status.h 's/^( *DROVE_E_ARG), .*/    DROVE_E_FIRST, DROVE_E_ARG,/'
refused order "$library" 'drove_status'
changed parameter include/drove/export.h 's/drove_export_c\(const drove_export_options \*opt/&, int more/'
refused parameter "$library" 'drove_export_c'
changed field include/drove/data.h 's/^ *int +mirror;.*//'
refused field "$library" 'mirror'

# A function that is gone, from the headers and the map, in a library of such names that has all others.
changed gone src/drove.map '/ drove_export_c;/d'
sed -nE 's/^ +(drove_[a-z0-9_]+);/void \1(void); void \1(void) {}/p' gone/src/drove.map >names.c
"$CC" -shared -fPIC names.c -Wl,--version-script=gone/src/drove.map -o names.so
refused gone "$PWD/names.so" "removed\|Removed"
changed lost src/drove.map 's/^DROVE_1.0 /DROVE_1.1 /'
refused lost "$library" 'src/drove.map'
