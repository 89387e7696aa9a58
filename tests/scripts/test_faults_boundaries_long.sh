# The long walk of scripts/faults --boundaries.  ctest: timeout=7200
set -eu
export DROVE_TEST_FAULTS_MOST=10 DROVE_TEST_FAULTS_SAMPLE=10 DROVE_TEST_BOUNDARIES=.
. "$DROVE_SOURCE_DIR/tests/scripts/test_faults_boundaries.sh"
