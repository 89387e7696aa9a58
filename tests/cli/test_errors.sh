# Wrong words and values: one line, the nearest known word, status 2.
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"
replay "$expected/errors.txt"
