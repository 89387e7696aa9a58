# tests/cli/common.sh - what the tests of the program share.  DROVE is the program; the folder is the test's own.
expected=$DROVE_SOURCE_DIR/tests/cli/expected
export XDG_CONFIG_HOME=$PWD/config # nobody's own constants

# Without the packages of the site, which take longer to find than most scripts to run; "command python3" has them,
# and so has the path that "type -P python3" prints, where "command -v" would name this function.
if [ -n "${DROVE_PYTHON-}" ]; then python3() { "$DROVE_PYTHON" -S "$@"; }; fi

fail() {
    echo "$*" >&2
    exit 1
}

# Runs the program: out.txt, err.txt, $status.  drove train has the classic defaults, or those that $defaults names:
# what a test expects does not depend on what a run would choose.
run() {
    status=0
    case "${1-} $*" in
    *--defaults*) ;;
    train\ *) shift && set -- train --defaults "${defaults-classic}" "$@" ;;
    esac
    "$DROVE" "$@" >out.txt 2>err.txt || status=$?
}

# STATUS ARGUMENT...: runs the program, which must end with this status.
run_for() {
    local wanted=$1
    shift
    run "$@"
    [ "$status" = "$wanted" ] || fail "drove $*: expected status $wanted, found $status: $(cat err.txt)"
}

# For tests that do another part of their work each day: days since 1970, or what DROVE_TEST_DAY says.
take_day() {
    export DROVE_TEST_DAY="${DROVE_TEST_DAY-$(($(date +%s) / 86400))}"
    echo "day $DROVE_TEST_DAY (DROVE_TEST_DAY=$DROVE_TEST_DAY does the same part again)"
}

# True where script(1) can make a terminal for the program; else says why not.
has_pseudo_terminal() {
    if ! command -v script >/dev/null; then
        echo "skip: no pseudo-terminal: script is not installed (Debian: bsdutils)"
    elif ! script -qec true /dev/null >/dev/null 2>&1 </dev/null; then
        echo "skip: no pseudo-terminal: /dev/pts is not mounted, or not for us"
    else
        return 0
    fi
    return 1
}

# True where MPI's libraries can run; else says why not.
has_mpi_surroundings() {
    has_proc || return 1
    [ -d /sys/devices/system/cpu ] || { echo "skip: /sys is not mounted, without which MPI's libraries end" && return 1; }
}

# True where processes can be found; else says why not.
has_proc() {
    [ -e /proc/self/stat ] || { echo "skip: /proc is not mounted" && return 1; }
}

# The names of all commands, as the program itself lists them.
commands() {
    "$DROVE" __complete '' | grep -v -e '^help$' -e '^--'
}

# FILE holds commands, each followed by all that it prints and its status:
#     $ drove train --lrr 1
#     drove: train: unknown option "--lrr"; did you mean "--lr"?
#     -> 2
# A command that fails prints one line, on standard error alone.  Runs all commands again and compares.
replay() {
    local file=$1 line n_commands=0
    while IFS= read -r line; do
        case $line in '$ drove'*) ;; *) continue ;; esac
        echo "$line"
        eval "run ${line#\$ drove}"
        cat out.txt err.txt
        echo "-> $status"
        [ "$status" = 0 ] || [ ! -s out.txt ] || fail "$line: failed, but printed to standard output"
        [ "$status" = 0 ] || [ "$(wc -l <err.txt)" = 1 ] || fail "$line: expected one line of error"
        n_commands=$((n_commands + 1))
    done <"$file" >found.txt
    [ "$n_commands" -gt 0 ] || fail "$file: no commands"
    diff -u "$file" found.txt || fail "$(basename "$file"): not what was expected"
    echo "$n_commands commands as expected"
}

# WORD ARGUMENT...: the program fails with status 2 and one line, with this word in it.
wrong() {
    local word=$1
    shift
    run_for 2 "$@"
    [ "$(wc -l <err.txt)" = 1 ] || fail "$*: expected one line: $(cat err.txt)"
    grep -q -- "$word" err.txt || fail "$*: expected \"$word\": $(cat err.txt)"
}
