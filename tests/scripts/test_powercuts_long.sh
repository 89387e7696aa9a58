# Every cut of scripts/powercuts.
# ctest: timeout=1800
DROVE_TEST_POWERCUTS_EVERY=1
export DROVE_TEST_POWERCUTS_EVERY
. "$DROVE_SOURCE_DIR/tests/scripts/test_powercuts.sh"
