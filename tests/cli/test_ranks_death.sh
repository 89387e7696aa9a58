# A rank that is killed: one line, by one of the others, says which and how to go on; and no other end makes such a line.
# ctest: slow: ranks of two libraries, which are killed at work
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"
. "$DROVE_SOURCE_DIR/tests/cli/lib_ranks.sh"
DROVE_TEST_LONG=1 find_libraries mpich openmpi # both

# ARGUMENT...: starts three ranks that would train for minutes, and waits until they have saved a state.  Sets `job`.
start() {
    rm -rf run pids
    mkdir pids
    # shellcheck disable=SC2086,SC2016
    timeout 60 "${launch[@]}" -n 3 sh -c 'touch "pids/${OMPI_COMM_WORLD_RANK:-$PMI_RANK}.$$"; exec "$@"' sh \
        "$DROVE" train --defaults classic $small --until seconds=100 --save-every seconds=0.2 --out run "$@" \
        >out.txt 2>err.txt </dev/null &
    job=$!
    wait_for_state
    sleep 0.3
}

# RANK: its process.
process_of() {
    local name
    name=$(basename pids/"$1".*)
    echo "${name#*.}"
}

# Waits for the end of the job: sets `status`.
ends() {
    status=0
    wait "$job" || status=$?
}

none_died() {
    if grep 'has died' err.txt out.txt; then fail "$library: $1: a line about a death"; fi
}

# RANK ARGUMENT...: the launcher kills the others as well, within milliseconds, so the line is a race that is nearly always won:
# here by one job of three at least.  There is never more than one line.
killed() {
    local rank=$1 n_lines=0 i process
    shift
    for ((i = 0; i < 3 && n_lines == 0; i++)); do
        start "$@"
        process=$(process_of "$rank")
        kill -KILL "$process"
        ends
        [ "$status" != 0 ] || fail "$library: expected a failure of the job"
        n_lines=$(grep -c '^drove: ' err.txt || true)
        [ "$n_lines" -le 1 ] || fail "$library: $n_lines lines: $(cat err.txt)"
    done
    says "rank $rank on host "
    says " has died (process $process); the last state is in run: $word -n 3 drove train --resume run goes on"
}

for name in $libraries; do
    use_library "$name"
    word=mpirun
    [ "$name" = openmpi ] || word=mpiexec
    if [ "$name" = openmpi ]; then killed 0 --strategy easgd-sync3; else killed 2 --strategy easgd-async; fi

    # As its line says.
    ranks_for 0 -n 2 "$DROVE" train --resume run --until updates=1 --quiet
    none_died "a normal end"

    # An error that one rank has.
    # shellcheck disable=SC2086,SC2016
    ranks_for 2 -n 2 sh -c '[ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" != 1 ] || set -- "$@" --lr 0.06; exec "$@"' sh \
        "$DROVE" train $small --until updates=9
    none_died "ranks that differ"

    # Where the launcher leaves the others alone, they end the job by themselves, within seconds.
    [ "$name" = mpich ] || continue
    launch+=(-disable-auto-cleanup)
    start --strategy easgd-sync3 --timeout 60
    begun=$SECONDS
    kill -KILL "$(process_of 1)"
    ends
    [ $((SECONDS - begun)) -le 20 ] || fail "the job took $((SECONDS - begun)) s to end"
    says 'rank 1 on host '
    says 'the last state is in run: mpiexec -n 3 drove train --resume run goes on'
done
echo "ranks by:$libraries"
