# In a copy of the sources: scripts/demo alone, then `cmake --install`.  The same in a minimal Debian 12, where it may take
# no more than README.md says.
# ctest: timeout=3600
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
status=0
copy/scripts/demo --unknown 2>err.txt || status=$?
[ $status = 2 ] && grep -q usage err.txt || { echo "an unknown option: expected exit status 2, found $status"; exit 1; }

debian() { "$DROVE_SOURCE_DIR/scripts/minimal-debian" "$1" "$PWD/root" "${@:2}"; }
status=0
debian make >debian.txt 2>&1 || status=$?
if [ $status != 0 ]; then
    cat debian.txt
    [ $status = 77 ] # skipped; the rest has passed
    exit
fi
rm -r copy/build
mv copy root/root/drove
trap 'rm -rf --one-file-system root' EXIT
debian run bash -c 'TIMEFORMAT="seconds %U %S"; time /root/drove/scripts/demo' >bare.txt 2>&1 || { tail -n 20 bare.txt; exit 1; }
promised() { tr '\n' ' ' <"$DROVE_SOURCE_DIR/README.md" | grep -oE "$1" | head -n 1 | grep -oE '[0-9]+'; }
megabytes=$(sed -nE 's/^setup: installing \(([0-9]+).* MB to download.*/\1/p' bare.txt)
seconds=$(awk '$1 == "seconds" { printf "%.0f", $2 + $3 }' bare.txt)
most_megabytes=$(promised 'downloads [0-9]+ MB')
most_seconds=$(promised '[0-9]+ seconds of processor time')
echo "minimal Debian: $megabytes MB, $seconds s of processor time; README.md: $most_megabytes MB, $most_seconds s"
[ "$megabytes" -le "$most_megabytes" ] || { echo "more megabytes than README.md says"; exit 1; }
[ "$seconds" -le $((2 * most_seconds)) ] || { echo "twice the seconds that README.md says: processors differ, but not so much"; exit 1; }
