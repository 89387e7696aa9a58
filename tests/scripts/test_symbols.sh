# The shared library exports every function of the public headers, and nothing else; the static one defines no name that
# is not ours.
set -eu
shared=$DROVE_BUILD_DIR/src/libdrove.so
static=$DROVE_BUILD_DIR/src/libdrove.a
if [ -n "$DROVE_SANITIZE" ]; then
    echo "skip: sanitizers add symbols of their own"
    exit 77
fi

echo '#include <drove/drove.h>' >all.c
"$DROVE_CC" -E -P -I"$DROVE_SOURCE_DIR/include" all.c | grep -oE '\bdrove_[a-z0-9_]+ *\(' | tr -d ' (' | sort -u >declared.txt
nm -D --defined-only "$shared" | awk '{ print $3 }' | sort -u >exported.txt
if ! diff declared.txt exported.txt; then
    echo "< declared in include/drove but not exported    > exported but not declared there"
    exit 1
fi
for header in "$DROVE_SOURCE_DIR"/include/drove/*.h; do
    name=drove/$(basename "$header")
    grep -qF "<$name>" "$DROVE_SOURCE_DIR/include/drove/drove.h" || [ "$name" = drove/drove.h ] || {
        echo "drove.h does not include <$name>"
        exit 1
    }
    # Each header stands on its own.
    echo "#include <$name>" >one.c
    "$DROVE_CC" -std=c11 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -I"$DROVE_SOURCE_DIR/include" one.c
done
if nm --defined-only --extern-only "$static" 2>/dev/null | awk 'NF == 3 { print $3 }' | grep -vE '^(drove|Drove|tensorboard)' ; then
    echo "the static library defines these foreign names"
    exit 1
fi
readelf -d "$shared" | grep -q 'SONAME.*libdrove\.so\.[0-9]'
echo "$(wc -l <exported.txt) functions exported"
