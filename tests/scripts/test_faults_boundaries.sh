# Calls of OpenCL, CUDA (the stand-in) and MPI that fail: a short walk of scripts/faults.
# ctest: slow: a run of the program for each call of a device or of MPI that fails
# ctest: timeout=900
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"
[ -e "$DROVE_BUILD_DIR/tests/faults/libdrove_faults.so" ] || { echo "built without DROVE_FAULTS: skipped"; exit 77; }
command -v python3 >/dev/null || { echo "no python3: skipped"; exit 77; }
cases=opencl,cuda,cuda-beside,mpich-allreduce
take_day
has_mpi_surroundings || cases=opencl,cuda,cuda-beside
# What a driver has compiled stays for the next time.
cd "$DROVE_SOURCE_DIR"
# shellcheck disable=SC2086
scripts/faults --boundaries --build "$DROVE_BUILD_DIR" --folder "$OLDPWD/walk" --cache "$OLDPWD/../device-cache" \
    --only "${DROVE_TEST_BOUNDARIES-^(${cases//,/|})$}" --seed "$DROVE_TEST_DAY" \
    --most ${DROVE_TEST_FAULTS_MOST-1} --sample ${DROVE_TEST_FAULTS_SAMPLE-2}
