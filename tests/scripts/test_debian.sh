# The files of the Debian packages agree with what they repeat: version, soname, exported functions, license, examples.
set -eu
cd "$DROVE_SOURCE_DIR"

# fail WHERE EXPECTED FOUND
fail() {
    echo "$1: expected $2, found $3"
    exit 1
}

number() { sed -nE "s/^#define DROVE_VERSION_$1 ([0-9]+)$/\1/p" include/drove/version.h; }
version=$(number MAJOR).$(number MINOR).$(number PATCH)
found=$(sed -nE '1s/^drove \(([^)]*)\) .*/\1/p' debian/changelog)
[ "$found" = "$version" ] || fail "debian/changelog, line 1" "version $version of include/drove/version.h" "'$found'"

package=libdrove$(number MAJOR)
grep -q "^Package: $package\$" debian/control || fail debian/control "the package $package" "none"
[ "$(head -n 1 "debian/$package.symbols")" = "libdrove.so.$(number MAJOR) $package #MINVER#" ] ||
    fail "debian/$package.symbols, line 1" "the soname libdrove.so.$(number MAJOR)" "$(head -n 1 "debian/$package.symbols")"

# A symbol, its version, and the release that brought it: DROVE_1.2 is that of 1.2.0.
awk '/^DROVE_[0-9.]+ *\{/ { name = $1; since = substr(name, 7) ".0"; print " " name "@" name " " since }
    /^ +drove_[a-z0-9_]+;/ { gsub(/[ ;]/, ""); print " " $0 "@" name " " since }' src/drove.map |
    LC_ALL=C sort >"$OLDPWD/wanted.txt"
[ "$(wc -l <"$OLDPWD/wanted.txt")" -gt 50 ] || fail src/drove.map "more than 50 functions" "fewer"
grep '^ ' "debian/$package.symbols" | LC_ALL=C sort | diff "$OLDPWD/wanted.txt" - ||
    fail "debian/$package.symbols" "the functions of src/drove.map (<)" "others (>)"

awk '/^ / && license { sub(/^ /, ""); print ($0 == "." ? "" : $0) } /^License:/ { license = 1 }' debian/copyright >"$OLDPWD/license.txt"
sed '1,/^Copyright/d' LICENSE | tail -n +2 | diff - "$OLDPWD/license.txt" ||
    fail debian/copyright "the text of LICENSE (<)" "another (>)"
holders=$(sed -nE 's/^Copyright \(c\) //p' LICENSE)
grep -q "^Copyright: $holders\$" debian/copyright || fail debian/copyright "'Copyright: $holders'" "$(grep ^Copyright: debian/copyright)"

# Each example is in one package, and each test of the packages is there.
for example in examples/*; do
    [ "$example" != examples/CMakeLists.txt ] || continue
    n=0
    while read -r pattern; do
        # shellcheck disable=SC2254  # a pattern
        case $example in $pattern) n=$((n + 1)) ;; esac
    done <<<"$(cat debian/*.examples)"
    [ $n = 1 ] || fail "$example" "one line of debian/*.examples with it" "$n"
done
while read -r name; do
    [ -x "debian/tests/$name" ] || fail debian/tests/control "an executable test for each name" "none called $name"
done <<<"$(sed -n 's/^Tests: //p' debian/tests/control)"
