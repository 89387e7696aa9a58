# Every cell of `drove list combinations` that runs is run, and every other is refused with its reason.
# Columns that are slow to start take turns, others each day: of those with OpenCL each strategy has one of three, of those
# with a launcher every third strategy; in the long tests all have all.
# ctest: slow: a run for each cell of the table of strategies and workers, some of which start ranks or devices
# ctest: timeout=600
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0 # drivers of devices leave memory behind
python=$(command -v python3) || { echo "skip: no python3"; exit 77; }

take_day
"$DROVE" list combinations --json >cells.json

# One line a cell: strategy, column, the options of the run, what is expected ("runs", or the reason).
"$python" - <<'PY' >cells.txt
import json, os
day = int(os.environ["DROVE_TEST_DAY"])
slow = [["ranks", "ranks+team", "ranks+opencl"], ["opencl", "threads:1+opencl", "opencl+opencl"]]
columns = {
    "threads:2": "--threads 2",
    "procs:2": "--workers procs:2",
    "cpu:0-1": "--workers cpu:0-1?gradient=one",
    "opencl": "--workers opencl:0",
    "cuda": "--workers cuda:0",
    "fake": "--workers fake:?speed=10000",
    "threads:1+opencl": "--workers threads:1+opencl:0",
    "opencl+opencl": "--workers opencl:0.0+opencl:0.1",
    "ranks": "--threads 1",
    "ranks+team": "--threads 2",
    "ranks+opencl": "--workers opencl:0.%r",
    "D8M8": "--threads 2 --precision D8M8",
    "beside": "--threads 2 --eval-beside",
}
def is_due(number, column):
    if os.environ.get("DROVE_TEST_LONG"):
        return True
    for group, among in zip(slow, (9, 3)):  # turns, of which the first are those of the columns
        if column in group:
            return (number + day) % among == group.index(column)
    return True


for number, row in enumerate(json.load(open("cells.json"))):
    for column, options in columns.items():
        if not is_due(number, column):
            continue
        assigned = row["name"] in ("hogbatch", "adaptive")
        if not assigned:
            options = options.replace("?gradient=one", "")
        print("\t".join([row["name"], column, options, "runs" if row[column] is True else row[column]]))
PY

# GPUs are played by the CUDA module on its stand-in, which computes on the processor.
stand_in=$DROVE_BUILD_DIR/tests/stand-in

launcher() { # prints the command that starts two ranks; fails without one
    local root=
    [ "$(id -u)" != 0 ] || root=--allow-run-as-root
    if [ ! -f "$DROVE_BUILD_DIR/lib/drove/drove_mpi_openmpi.so" ] || [ ! -e /proc/self/stat ] || [ ! -d /sys/devices/system/cpu ]; then
        return 1 # a build without it, as with a sanitizer
    elif command -v mpirun.openmpi >/dev/null; then
        echo "mpirun.openmpi $root --oversubscribe --bind-to none --mca mpi_yield_when_idle 1 -n 2"
    else
        return 1
    fi
}

has() { # KIND: can a worker compute on such a device here?
    "$DROVE" train --data synth:digits?n=64 --model mlp:4 --strategy sync --workers "$1" --until updates=1 \
        --quiet >/dev/null 2>&1
}
has_opencl=false has_parts=false has_cuda=false ranks=
! has opencl:0 || has_opencl=true
! has opencl:0.0+opencl:0.1 || has_parts=true
! DROVE_MODULE_PATH=$stand_in has cuda:0 || has_cuda=true
! ranks=$(launcher) || [ -n "$ranks" ] || ranks=

n_run=0 n_refused=0 n_skipped=0
while IFS="$(printf '\t')" read -r strategy column options expected; do
    data="--data synth:digits?n=512 --test synth:digits?n=64&seed=2 --model mlp:8 --batch 32"
    case $column in D8M8) data="--data synth:logistic?n=512&d=32 --model logistic" ;; esac
    start=
    unset DROVE_MODULE_PATH
    case $column in
    cuda) export DROVE_MODULE_PATH=$stand_in; $has_cuda || { n_skipped=$((n_skipped + 1)); continue; } ;;
    opencl | threads:1+opencl) $has_opencl || { n_skipped=$((n_skipped + 1)); continue; } ;;
    opencl+opencl) $has_parts || { n_skipped=$((n_skipped + 1)); continue; } ;;
    ranks+opencl) $has_parts || { n_skipped=$((n_skipped + 1)); continue; } ;;
    esac
    case $column in
    ranks*)
        [ -n "$ranks" ] || { n_skipped=$((n_skipped + 1)); continue; }
        start=$ranks
        ;;
    esac
    status=0
    # shellcheck disable=SC2086
    $start "$DROVE" train $data --strategy "$strategy" $options --until epochs=1 --quiet --json >out.txt 2>err.txt </dev/null ||
        status=$?
    if [ "$expected" = runs ]; then
        if [ $status -ne 0 ] || ! grep -q '"outcome": "finished"' out.txt; then
            echo "$strategy $options: expected a finished run, found status $status:"
            head -n 3 err.txt
            exit 1
        fi
        n_run=$((n_run + 1))
    elif [ $status -eq 0 ] && ! { [ "$strategy" = sequential ] && [ "$column" != "${column#threads:2}" ]; }; then
        # One worker is taken where threads are only counted, and it is said.
        if ! grep -q "one worker" err.txt && [ "$expected" != "it has one worker" ]; then
            echo "$strategy $options: expected to be refused: $expected"
            exit 1
        fi
        n_refused=$((n_refused + 1))
    else
        n_refused=$((n_refused + 1))
        if [ $status -ne 0 ] && [ "$expected" != "it has one worker" ] && ! grep -qF "$expected" err.txt; then
            echo "$strategy $options: expected the reason \"$expected\", found:"
            head -n 1 err.txt
            exit 1
        fi
    fi
done <cells.txt
echo "$n_run cells ran, $n_refused were refused for their reasons"
[ $n_skipped -eq 0 ] || echo "skip: $n_skipped cells: no such device here, or no launcher that can run"
[ $((n_run + n_skipped)) -gt 100 ]
