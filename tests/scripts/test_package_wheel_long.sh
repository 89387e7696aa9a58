# The wheel: built, installed in a fresh Debian, and used there.
set -eu
status=0
"$DROVE_SOURCE_DIR/scripts/package-wheel" --unknown 2>err.txt || status=$?
[ $status = 2 ] && grep -q usage err.txt || { echo "an unknown option: expected exit status 2, found $status"; exit 1; }
exec "$DROVE_SOURCE_DIR/scripts/package-wheel" # 77: skipped, with its reason
