#!/bin/bash
# Ranks of Open MPI and MPICH on this machine: all exchanges against the fixed tree, RPCs to a centre, a rank that is
# stopped, ranks that disagree.  What is missing is skipped with the reason.
# ctest: slow: starts one to four ranks of two libraries for every exchange
set -u
[ -e /proc/self/stat ] && [ -d /sys/devices/system/cpu ] ||
    { echo "skip: /proc or /sys is not mounted, without which MPI's libraries end"; exit 77; }
ranks=$DROVE_BUILD_DIR/tests/mpi_ranks
failed=0 n_run=0
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

fail() {
    echo "FAILED: $*"
    sed 's/^/    /' out
    failed=$((failed + 1))
}

launch() { # LIBRARY N ARGUMENT...
    local library=$1 n=$2
    shift 2
    if [ "$library" = openmpi ]; then
        timeout 120 mpirun.openmpi --oversubscribe --bind-to none --mca mpi_yield_when_idle 1 -n "$n" "$ranks" "$@"
    else
        timeout 120 mpirun.mpich -n "$n" "$ranks" "$@"
    fi >out 2>&1
}

for library in openmpi mpich; do
    if [ ! -e "$DROVE_BUILD_DIR/lib/drove/drove_mpi_$library.so" ]; then
        echo "skip: $library: its module was not built"
        continue
    fi
    if ! command -v mpirun.$library >/dev/null; then
        echo "skip: $library: no mpirun.$library here"
        continue
    fi
    n_run=$((n_run + 1))
    for n in 1 2 3 4; do
        if [ "$n" = 1 ]; then # one rank is no job of ranks, but a transport of one
            launch $library 1 cases || fail "$library: cases with 1 rank"
            continue
        fi
        launch $library $n cases || fail "$library: cases with $n ranks"
        [ "$(grep -c ': cases right$' out)" = $n ] || fail "$library: cases with $n ranks: lines"
    done
    launch $library 3 rpcs || fail "$library: rpcs"
    launch $library 3 stopped 1
    grep -q 'rank 2 on host .* has not been heard of for 1 s' out || fail "$library: a stopped rank is not named"
    launch $library 2 wide
    grep -q 'the ranks run different exchanges' out || fail "$library: ranks that disagree"
done

# The launcher of one library and the module of another: each process would be a job of its own.
if [ $n_run = 2 ]; then
    DROVE_MPI=mpich launch openmpi 2 cases
    grep -q 'expected the 2 ranks that the launcher started' out || fail "module of another library"
    DROVE_MPI=lam launch mpich 2 cases
    grep -q 'DROVE_MPI: expected openmpi, mpich or none, found "lam"' out || fail "unknown library"
    DROVE_REDUCE=ring launch openmpi 2 cases
    grep -q 'DROVE_REDUCE: expected tree or library, found "ring"' out || fail "unknown sum"
    DROVE_MODULE_PATH= launch mpich 2 cases
    grep -q 'drove_mpi_mpich.so' out || fail "module missing"
fi
[ $failed = 0 ] || exit 1
[ $n_run -gt 0 ] || exit 77
