# The target that scripts/demo builds makes every file that `cmake --install` copies from the build folder.
set -eu
grep -q -- '--target drove_install_set' "$DROVE_SOURCE_DIR/scripts/demo" || { echo "scripts/demo builds another target"; exit 1; }
ninja -C "$DROVE_BUILD_DIR" -t query drove_install_set >made.txt
# Not what other tests build in folders of their own.
find "$DROVE_BUILD_DIR" -path "$DROVE_BUILD_DIR/tests/scratch" -prune -o -name cmake_install.cmake -exec grep -hoE '"/[^"$]+"' {} + | tr -d '"' |
    grep -F "$DROVE_BUILD_DIR/" | sort -u >installed.txt
n_made=0
while read -r path; do
    file=${path#"$DROVE_BUILD_DIR"/}
    case $file in
    drove.pc | drove*.cmake | CMakeFiles/* | */cmake_install.cmake) continue ;; # made by configuring
    *.so.*) file=${file%%.so.*}.so ;;                                          # a library and its links
    esac
    grep -q "^ *$file\$" made.txt || { echo "installed, but not made by drove_install_set: $file"; exit 1; }
    n_made=$((n_made + 1))
done <installed.txt
[ "$n_made" -ge 3 ] || { echo "found only $n_made files that are installed"; cat installed.txt; exit 1; }
echo "drove_install_set makes all $n_made files"
