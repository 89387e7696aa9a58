#!/bin/bash
# An MPI program that hands drove communicators of its own, by Open MPI and by MPICH: two halves of a job train two
# models, each the bits of two workers in one process; what is refused; messages of the program's own meanwhile.
set -eu
[ -e /proc/self/stat ] && [ -d /sys/devices/system/cpu ] ||
    { echo "skip: /proc or /sys is not mounted, without which MPI's libraries end"; exit 77; }
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 LD_LIBRARY_PATH="$DROVE_BUILD_DIR/src"

fail() {
    echo "FAILED: $*"
    sed 's/^/    /' out.txt
    exit 1
}

launch() { # LIBRARY N PROGRAM ARGUMENT...
    local library=$1 n=$2
    shift 2
    if [ "$library" = openmpi ]; then
        timeout 100 mpirun.openmpi --oversubscribe --bind-to none --mca mpi_yield_when_idle 1 -n "$n" "$@"
    else
        timeout 100 mpirun.mpich -n "$n" "$@"
    fi >out.txt 2>&1 </dev/null
}

n_run=0
for library in openmpi mpich; do
    if ! command -v "mpirun.$library" >/dev/null || [ ! -x "$DROVE_BUILD_DIR/tests/mpi_communicator_$library" ]; then
        echo "skip: $library: no launcher, or not built for it"
        continue
    fi
    n_run=$((n_run + 1))
    rm -rf network-24 network-12
    launch $library 4 "$DROVE_BUILD_DIR/examples/example_mpi_two_models_$library" || fail "$library: two models"
    for units in 24 12; do
        grep -q "^$units units, 2 ranks: loss" out.txt || fail "$library: $units units"
        awk -v units=$units '$1 == units { if ($6 + 0 != $9 + 0) exit 1 }' out.txt || fail "$library: losses of a half"
        if [ ! -d threads-$units ]; then
            "$DROVE" train --data 'synth:digits?n=1200' --test none --model mlp:$units --strategy easgd-sync3 --lr 0.05 \
                --batch 16 --until epochs=2 --threads 2 --out threads-$units --quiet >/dev/null
        fi
        cmp threads-$units/model.safetensors network-$units/model.safetensors ||
            fail "$library: $units units: other parameters than those of two workers in one process"
    done
    launch $library 4 "$DROVE_BUILD_DIR/tests/mpi_communicator_$library" cases || fail "$library: cases"
    launch $library 2 "$DROVE_BUILD_DIR/tests/mpi_communicator_$library" single || fail "$library: single"
    launch $library 2 "$DROVE_BUILD_DIR/tests/mpi_communicator_$library" serialized || fail "$library: serialized"
done
[ $n_run -gt 0 ] || { echo "no MPI to run programs by: skipped"; exit 77; }
