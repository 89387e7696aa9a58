# The reference of the library has no gap, and scripts/reference sees those that are made in copies of the headers.
set -eu
reference=$DROVE_SOURCE_DIR/scripts/reference
# 77: skipped, with its reason
"$reference" "$PWD/html" "$DROVE_SOURCE_DIR" || exit $?

# Every function that the library exports is on a page.
cat html/*.html >pages.txt
sed -nE 's/^ +(drove_[a-z0-9_]+);/\1/p' "$DROVE_SOURCE_DIR/src/drove.map" >functions.txt
[ -s functions.txt ]
while read -r name; do
    grep -qE "class=\"memname\">.*[ *>;]$name(<| )" pages.txt || { echo "$name is on no page"; exit 1; }
done <functions.txt
# The main page has every header.
for header in "$DROVE_SOURCE_DIR"/include/drove/*.h; do
    name=drove/$(basename "$header")
    grep -q "$name" html/index.html || { echo "$name is not on the main page"; exit 1; }
done
# A comment behind two fields belongs to both; errors stand apart; tables keep their form; parameters stay as they are.
for field in row_bytes column_bytes; do
    grep -q "ptrdiff_t drove_matrix::$field" pages.txt || { echo "no field $field"; exit 1; }
done
grep -q '<dt>Errors</dt>' pages.txt
grep -q 'drove_matrix</a> \*classes, size_t n_classes, const char \*const \*name)' pages.txt
grep -q '^  *i8    indices of a sparse data set have 8 bits    omitted' pages.txt
# Nothing is loaded from elsewhere.
if grep -nE '(src|<link [^>]*href)="?(https?:)?//' html/*.html; then
    echo "the pages need a network"
    exit 1
fi

# gap NAME FILE SED-EXPRESSION TEXT: a tree with one change, which must be refused with this text
gap() {
    mkdir -p "$1"
    cp -r "$DROVE_SOURCE_DIR/include" "$1/"
    sed -i -E "$3" "$1/include/drove/$2"
    if cmp -s "$1/include/drove/$2" "$DROVE_SOURCE_DIR/include/drove/$2"; then
        echo "$1: nothing was changed in $2"
        exit 1
    fi
    status=0
    "$reference" "$PWD/$1/html" "$PWD/$1" >"$1.txt" 2>&1 || status=$?
    if [ $status != 1 ] || ! grep -q "$4" "$1.txt"; then
        echo "$1: expected status 1 and '$4', found $status:"
        cat "$1.txt"
        exit 1
    fi
    [ ! -e "$1/html" ] || { echo "$1: wrote pages"; exit 1; }
}
gap function trainer.h '/^.. The model as it is now/i int drove_bare_function(int x);' 'drove_bare_function.* is not documented'
gap struct status.h '/^.. "DROVE_E_DATA" and/i typedef struct drove_bare {\n    int x; /* a number */\n} drove_bare;' 'drove_bare is not documented'
gap field arrays.h 's|(const void +\*index;).*|\1|' 'index.* is not documented'
gap two_fields arrays.h 's|^( +size_t +n_rows, n_columns;) +/\* shape \*/|\1|' 'n_columns.* is not documented'
gap enumerator status.h 's|(DROVE_E_SHAPE,).*|\1|' 'DROVE_E_SHAPE is not documented'
gap macro version.h 's|^/\* "1.2.3" of three.*||' 'DROVE_VERSION_JOIN.* is not documented'
gap file tune.h '1s|.*||' 'tune.h'
