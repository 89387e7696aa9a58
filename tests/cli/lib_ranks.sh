# tests/cli/lib_ranks.sh - running the program over MPI ranks, by each library that is here.
# shellcheck disable=SC2034
small="--data synth:digits?n=1200 --model mlp:24 --test none --lr 0.05 --eval-every 0.5 --quiet"

# FIRST OTHER: sets `libraries` to those that have a launcher and a module, or skips the test.  Without DROVE_TEST_LONG
# to one of them, the first if it is there.
find_libraries() {
    local name
    libraries=
    [ $# -gt 0 ] || fail "find_libraries: expected names of libraries"
    has_mpi_surroundings || exit 77
    [ -z "${DROVE_SANITIZE:-}" ] || { echo "MPI libraries are not sanitized: skipped"; exit 77; }
    for name in "$@"; do
        if ! command -v "mpirun.$name" >/dev/null; then
            echo "no mpirun.$name here"
        elif [ ! -f "$DROVE_BUILD_DIR/lib/drove/drove_mpi_$name.so" ]; then
            echo "no module drove_mpi_$name.so was built"
        else
            libraries="$libraries $name"
            [ -n "${DROVE_TEST_LONG-}" ] || break
        fi
    done
    [ -n "$libraries" ] || { echo "no MPI to run ranks by: skipped"; exit 77; }
}

# LIBRARY: sets the array `launch` to the launcher.
use_library() {
    library=$1
    launch=("mpirun.$1")
    [ "$1" != openmpi ] ||
        launch+=(--allow-run-as-root --oversubscribe --bind-to none --mca mpi_yield_when_idle 1)
}

# FOLDER: the processes of its run, the first started first: the program's own, not those of a launcher or a shell.
ranks_of() {
    local id
    for id in $(pgrep -f -- "--out $PWD/$1" | sort -n); do
        [ "$(readlink "/proc/$id/exe")" != "$(readlink -f "$DROVE")" ] || echo "$id"
    done
}

# STATUS ARGUMENT...: runs the launcher, which must end with this status: out.txt, err.txt.  drove train has the
# classic defaults, as in run() of common.sh.
ranks_for() {
    local wanted=$1 word words=()
    shift
    for word in "$@"; do
        words+=("$word")
        [ "$word" != train ] || words+=(--defaults "${defaults-classic}")
    done
    status=0
    timeout 120 "${launch[@]}" "${words[@]}" >out.txt 2>err.txt </dev/null || status=$?
    [ "$status" = "$wanted" ] || fail "$library: $*: expected status $wanted, found $status: $(cat err.txt)"
}

# Until there is run/state.safetensors, for at most a minute.
wait_for_state() {
    local i
    for ((i = 0; i < 3000; i++)); do
        [ ! -f run/state.safetensors ] || return 0
        sleep 0.02
    done
    fail "$library: no state within 60 s: $(cat err.txt)"
}

# Of two ranks, run by a launcher into run/: once there is a state, rank 1 stands still while rank 0 trains on, gets SIGINT
# and waits for it.
halt_one_behind() {
    local rank
    wait_for_state
    mapfile -t rank < <(ranks_of run)
    [ ${#rank[@]} = 2 ] || fail "$library: expected 2 ranks, found ${#rank[@]}: $(cat err.txt)"
    kill -STOP "${rank[1]}"
    sleep 0.2
    kill -INT "${rank[0]}"
    sleep 0.1
    kill -CONT "${rank[1]}"
}

# TEXT: what drove itself said is one line, with this in it.
says() {
    [ "$(grep -c '^drove: ' err.txt)" = 1 ] || fail "$library: expected one line of drove: $(cat err.txt)"
    grep -qF -- "$1" err.txt || fail "$library: expected \"$1\": $(grep '^drove: ' err.txt)"
}
