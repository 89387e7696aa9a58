# The long walk of scripts/kills: more than 1,000 kills and 1,000 signals.  ctest: timeout=7200
set -eu
export DROVE_TEST_KILLS_COUNT=3200
. "$DROVE_SOURCE_DIR/tests/scripts/test_kills.sh"
