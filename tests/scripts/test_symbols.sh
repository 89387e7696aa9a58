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
"$DROVE_CC" -E -P -I"$DROVE_SOURCE_DIR/include" all.c | grep -oE '\bdrove_[a-z0-9_]+ *\([^*]' | # no pointers to functions
    sed -E 's/ *\(.$//' | sort -u >declared.txt
nm -D --without-symbol-versions --defined-only "$shared" | awk '$2 != "A" { print $3 }' | sort -u >exported.txt
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
major=$(sed -n 's/^#define DROVE_VERSION_MAJOR //p' "$DROVE_SOURCE_DIR/include/drove/version.h")
readelf -d "$shared" | grep -q "SONAME.*\[libdrove\.so\.$major\]"

# The version while compiling and while running: from CMake's reading of the header, the library and the program.
built=$(sed -n 's/^Version: //p' "$DROVE_BUILD_DIR/drove.pc")
[ "$("$DROVE" --version)" = "drove $built" ] || { echo "drove.pc has version $built, the program another"; exit 1; }
first=$(grep -m 1 -oE '^## \[[0-9.]+\]' "$DROVE_SOURCE_DIR/CHANGELOG.md")
[ "$first" = "## [$built]" ] || { echo "CHANGELOG.md begins with '$first', expected version $built"; exit 1; }
cat >version.c <<END
#include <drove/version.h>
#include <stdio.h>
#if DROVE_VERSION_NUMBER < DROVE_VERSION_MAKE(1, 0, 0) || DROVE_VERSION_NUMBER >= DROVE_VERSION_MAKE($((major + 1)), 0, 0)
#error "wrong DROVE_VERSION_NUMBER"
#endif
int main(void)
{
    const int number = drove_version_number();
    printf("%d.%d.%d %s %s\n", number / 1000000, number / 1000 % 1000, number % 1000, drove_version(), DROVE_VERSION);
    return 0;
}
END
"$DROVE_CC" -I"$DROVE_SOURCE_DIR/include" version.c "$shared" -Wl,-rpath,"$(dirname "$shared")" -o version
[ "$(./version)" = "$built $built $built" ] || { echo "expected version $built, found: $(./version)"; exit 1; }
echo "$(wc -l <exported.txt) functions exported"
