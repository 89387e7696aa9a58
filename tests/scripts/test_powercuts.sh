# The power is cut behind some operation of each command, another one each day: scripts/powercuts.
# ctest: slow: each cut goes on with the command
set -eu
command -v python3 >/dev/null || { echo "no python3: skipped"; exit 77; }
[ -z "$DROVE_SANITIZE" ] || { echo "too slow with sanitizers: skipped"; exit 77; }
[ -e "$DROVE_BUILD_DIR/tests/faults/libdrove_powercut.so" ] || { echo "built without DROVE_FAULTS: skipped"; exit 77; }
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"
has_proc || exit 77
take_day
folder=$PWD/cuts
cd "$DROVE_SOURCE_DIR"
scripts/powercuts --build "$DROVE_BUILD_DIR" --folder "$folder" --self-test
every=${DROVE_TEST_POWERCUTS_EVERY-12}
scripts/powercuts --build "$DROVE_BUILD_DIR" --folder "$folder" --every "$every" --first "$DROVE_TEST_DAY"
# Without fsync something is lost, and found to be.
if scripts/powercuts --build "$DROVE_BUILD_DIR" --folder "$folder" --only predict --deaf >"$folder/deaf.txt"; then
    fail "no fsync, and nothing was lost: $(cat "$folder/deaf.txt")"
fi
grep -q 'the command is over' "$folder/deaf.txt" || fail "without fsync: $(cat "$folder/deaf.txt")"
