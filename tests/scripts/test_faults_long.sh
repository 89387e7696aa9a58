# The long walk of scripts/faults.  ctest: timeout=7200
set -eu
export DROVE_TEST_FAULTS_MOST=50 DROVE_TEST_FAULTS_SAMPLE=50
. "$DROVE_SOURCE_DIR/tests/scripts/test_faults.sh"
