# In a copy of the sources: scripts/demo alone, then `cmake --install`.
set -eu
mkdir copy
tar -C "$DROVE_SOURCE_DIR" --exclude=./build --exclude=./.git -cf - . | tar -C copy -xf -
copy/scripts/demo >demo.txt 2>&1 || { tail -n 20 demo.txt; exit 1; }
cmake --install copy/build/release --prefix "$PWD/prefix" >install.txt 2>&1 || { tail -n 20 install.txt; exit 1; }
prefix/bin/drove list rules >rules.txt
grep -q sgd rules.txt
for module in copy/build/release/lib/drove/*.so; do
    [ ! -e "$module" ] || [ -n "$(find prefix -name "$(basename "$module")")" ] ||
        { echo "not installed: $module"; exit 1; }
done
