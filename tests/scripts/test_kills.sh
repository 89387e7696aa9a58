# Runs that are killed, get signals or lose workers: a short walk of scripts/kills, other moments each day.
# ctest: timeout=600
# ctest: syncs: a kill is to fall into saves that take their time
set -eu
command -v python3 >/dev/null || { echo "no python3: skipped"; exit 77; }
[ -z "$DROVE_SANITIZE" ] || { echo "too slow with sanitizers: skipped"; exit 77; }
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"
take_day
folder=$PWD/walk
rm -rf "$folder"
cd "$DROVE_SOURCE_DIR"
scripts/kills --build "$DROVE_BUILD_DIR" --folder "$folder" --count "${DROVE_TEST_KILLS_COUNT-40}" --seed "$DROVE_TEST_DAY"
