# The long walk of scripts/faults --boundaries.  ctest: timeout=10800 only=release
set -eu
export DROVE_TEST_FAULTS_MOST=40 DROVE_TEST_FAULTS_SAMPLE=20 DROVE_TEST_BOUNDARIES=.
. "$DROVE_SOURCE_DIR/tests/scripts/test_faults_boundaries.sh"
