# A rank that dies, hangs or gets a signal: the job ends within a stated time.
# ctest: timeout=600
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"
. "$DROVE_SOURCE_DIR/tests/cli/lib_ranks.sh"
find_libraries mpich openmpi

# STRATEGY ARGUMENT...: starts three ranks that would train for minutes, and waits until they have saved a state.
# Sets `job` and `victim`, the process of the last rank: one of the job that another started.
start() {
    local strategy=$1 i
    shift
    rm -rf run pids
    mkdir pids
    # shellcheck disable=SC2086,SC2016
    timeout 120 "${launch[@]}" -n 3 sh -c 'touch "pids/${OMPI_COMM_WORLD_RANK:-$PMI_RANK}.$$"; exec "$@"' sh \
        "$DROVE" train --defaults classic $small --strategy "$strategy" --until seconds=100 --save-every seconds=0.2 --out run "$@" \
        >out.txt 2>err.txt </dev/null &
    job=$!
    wait_for_state
    sleep 0.3
    victim=$(basename pids/2.*)
    victim=${victim#2.}
}

# SECONDS: the job must end within these; sets `status`.
ends_within() {
    local begun=$SECONDS
    status=0
    wait "$job" || status=$?
    [ $((SECONDS - begun)) -le "$1" ] || fail "$library: the job took $((SECONDS - begun)) s to end"
}

killed() {
    start "$1"
    kill -KILL "$victim"
    ends_within 60
    [ "$status" != 0 ] || fail "$library: $1: expected a failure of the job"
    ranks_for 0 -n 3 "$DROVE" train --resume run --until updates=1 --quiet
}

told_to_end() {
    start "$1"
    kill -TERM "$victim"
    ends_within 60
    [ "$status" = 143 ] || fail "$library: $1: expected status 143, found $status: $(cat err.txt)"
    [ -f run/summary.json ] || fail "$library: $1: expected a summary"
    ! grep 'has died' err.txt || fail "$library: $1: a line about a death"
    grep -q '"outcome": "interrupted"' run/summary.json || fail "$library: $1: expected an interrupted run"
    ranks_for 0 -n 3 "$DROVE" train --resume run --until updates=1 --quiet
}

# Stopped, it is silent: the others give up after --timeout.
hangs() {
    start "$1" --timeout 2
    kill -STOP "$victim"
    ends_within 60
    kill -KILL "$victim" 2>/dev/null || true
    [ "$status" != 0 ] || fail "$library: $1: expected a failure of the job"
    says 'rank 2 on host'
    word=mpirun
    [ "$library" = openmpi ] || word=mpiexec
    says "$word -n 3 drove train --resume run goes on"
}

for name in $libraries; do
    use_library "$name"
    # Exchanges in rounds, messages to a centre, a coordinator: each loses a rank in two ways; in the long tests in all.
    killed easgd-async
    killed adaptive
    told_to_end easgd-sync3
    told_to_end hogbatch
    hangs allreduce
    hangs easgd-async
    [ -n "${DROVE_TEST_LONG-}" ] || continue
    killed easgd-sync3
    told_to_end psgd-async
    hangs hogbatch
done
echo "ranks by:$libraries"
