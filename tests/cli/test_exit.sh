# Exit statuses: 0 reached or finished, 1 cannot write, 2 bad input, 3 crashed, 4 missed, 128+n signal.
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"
small="--data synth:digits?n=500&n_test=100 --model mlp:16 --threads 1"

# shellcheck disable=SC2086
{
    run_for 0 train $small --until updates=5 --quiet
    run_for 0 train $small --until loss=99%,epochs=20 --quiet
    run_for 0 train $small --threads 3 --strategy sequential --until updates=5
    grep -q 'sequential has one worker' err.txt || fail "expected a word about --threads 3"
    run_for 4 train $small --until loss=0.001%,updates=5 --quiet
    [ ! -s out.txt ] || fail "--quiet: expected nothing on standard output"
    [ ! -s err.txt ] || fail "--quiet: expected nothing on standard error"
    crashing="--data synth:digits?n=500&n_test=100 --model linear --threads 1 --lr 100 --until epochs=200"
    run_for 3 train $crashing --quiet
    grep -q '^drove: crashed: the loss became infinite' err.txt || fail "a crash: $(cat err.txt)"
    [ "$(wc -l <err.txt)" = 1 ] || fail "a crash: expected one line: $(cat err.txt)"
    run_for 3 train $crashing --quiet --json
    grep -q '"outcome": "crashed"' out.txt || fail "expected the summary of a crashed run"

    # Output that does not arrive.
    for command in "train $small --until updates=5 --quiet --json" "list rules" "list rules --json" info --help --version \
        "train --help" "data info synth:digits?n=50" "data info synth:digits?n=50 --json"; do
        status=0
        "$DROVE" $command >/dev/full 2>err.txt || status=$?
        [ "$status" = 1 ] || fail "drove $command >/dev/full: expected status 1, found $status"
        [ "$(wc -l <err.txt)" = 1 ] || fail "drove $command >/dev/full: expected one line: $(cat err.txt)"
    done
    status=0
    "$DROVE" list rules >&- 2>err.txt || status=$?
    [ "$status" = 1 ] || fail "closed standard output: expected status 1, found $status"
    mkfifo pipe
    sleep 100 <pipe & # a reader, so that the pipe can be opened
    reader=$!
    exec 3>pipe
    kill $reader
    wait $reader || true
    status=0
    "$DROVE" train $small --until updates=5 --json 2>err.txt >&3 || status=$?
    exec 3>&-
    [ "$status" = 0 ] || fail "closed pipe: expected status 0, found $status"
    if grep -q 'standard output' err.txt; then fail "closed pipe: $(cat err.txt)"; fi

    # Files that are not there are a mistake of the caller.
    run_for 2 train absent.yaml
    run_for 2 train --data csv:absent.csv
    run_for 2 train --model absent.safetensors --until updates=1
    run_for 2 eval absent.safetensors --data synth:digits
    run_for 2 predict absent.safetensors --data synth:digits
    run_for 2 data info csv:absent.csv
    run_for 2 train --resume absent
}

# Signals: the first lets the run end in order, the second does not wait.
for signal in INT TERM; do
    number=$(kill -l "$signal")
    rm -f out.txt err.txt # or the loop below would find those of the run before
    # shellcheck disable=SC2086
    "$DROVE" train $small --until seconds=100 --json >out.txt 2>err.txt &
    pid=$!
    for _ in $(seq 600); do ! grep -qs epoch err.txt || break; sleep 0.1; done
    kill -"$signal" $pid
    status=0
    wait $pid || status=$?
    [ "$status" = $((128 + number)) ] || fail "SIG$signal: expected $((128 + number)), found $status"
    grep -q '"outcome": "interrupted"' out.txt || fail "SIG$signal: expected a summary"
done

# Nobody waits for a long step to end: the second signal leaves at once.
big="--data synth:digits?n=20000&n_test=10 --model mlp:1024,1024,1024 --threads 1 --isa ref"
rm -f err.txt
# shellcheck disable=SC2086
"$DROVE" train $big --batch 20000 --eval-examples 10 >out.txt 2>err.txt &
pid=$!
for _ in $(seq 600); do ! grep -qs epoch err.txt || break; sleep 0.1; done
# Again and again: two signals that come close to each other are one.
SECONDS=0
while kill -TERM $pid 2>/dev/null; do sleep 0.2; done
status=0
wait $pid || status=$?
[ "$status" = 143 ] || fail "second SIGTERM: expected 143, found $status"
[ "$SECONDS" -le 10 ] || fail "second SIGTERM: left after $SECONDS s"
[ ! -s out.txt ] || fail "second SIGTERM: expected no summary"

# Before the first evaluation there is nothing to save: one signal is enough.
# shellcheck disable=SC2086
"$DROVE" train $big --batch 20000 >out.txt 2>err.txt &
pid=$!
sleep 1
kill -TERM $pid
SECONDS=0
status=0
wait $pid || status=$?
[ "$status" = 143 ] || fail "SIGTERM at the start: expected 143, found $status"
[ "$SECONDS" -le 10 ] || fail "SIGTERM at the start: left after $SECONDS s"
wanted='drove: interrupted before training began; no model is saved'
[ "$(tail -n 1 err.txt)" = "$wanted" ] || fail "SIGTERM at the start: $(cat err.txt)"

# A pack: the first signal ends the race, and what there is becomes the model; nothing is left to do but what is asked for.
# So many rows that no machine makes the pack in three seconds, when the first line says how far it is.
awk 'BEGIN {
    srand(1)
    for (j = 0; j < 20; j++) printf "c%d,", j
    print "kind"
    for (i = 0; i < 100000; i++) {
        for (j = sum = 0; j < 20; j++) { x = rand(); sum += x; printf "%.3f,", x }
        print (sum + rand() > 10.5 ? "big" : "small")
    }
}' >sums.csv
wait_for_networks() { # N: until a line says that so many networks are trained, or more; the program's process is $pid
    local n
    for _ in $(seq 600); do
        n=$(sed -n 's/^drove: model: \([0-9]*\) of [0-9]* networks trained in.*/\1/p' err.txt | tail -n 1)
        [ "${n:--1}" -lt "$1" ] || return 0
        kill -0 "$pid" || fail "it ended before: $(cat err.txt)"
        sleep 0.1
    done
    fail "not $1 networks in a minute: $(cat err.txt)"
}
for how in "--threads 2" "--workers procs:2"; do
    rm -rf pack err.txt && : >err.txt
    # shellcheck disable=SC2086
    "$DROVE" train sums.csv --label kind --until epochs=1000 $how --json --out pack >out.txt 2>err.txt &
    pid=$!
    wait_for_networks 1
    kill -INT $pid
    SECONDS=0
    status=0
    wait $pid || status=$?
    [ "$status" = 130 ] || fail "SIGINT in a pack, $how: expected 130, found $status: $(cat err.txt)"
    [ "$SECONDS" -le 20 ] || fail "SIGINT in a pack, $how: left after $SECONDS s"
    grep -q '"outcome": "interrupted"' out.txt && grep -q '"networks": [1-9]' out.txt || fail "SIGINT in a pack: $(cat out.txt)"
    grep -q '^drove: model: interrupted: fewer networks than planned$' err.txt || fail "SIGINT in a pack: $(cat err.txt)"
    grep -q 'epoch nan' err.txt && fail "SIGINT in a pack: $(cat err.txt)"
done
run_for 0 eval pack --data sums.csv
run_for 0 train --defaults auto --resume pack
grep -q '^drove: --resume: nothing to do: 0 epochs are done' err.txt || fail "an interrupted pack, resumed: $(cat err.txt)"
run_for 0 train --defaults auto --resume pack --until epochs=1 --json
grep -q '"epochs": 1.0' out.txt || fail "an interrupted pack, one epoch more: $(cat out.txt)"

# The second signal does not wait: not for the ensemble, either.
: >err.txt
"$DROVE" train sums.csv --label kind --until epochs=1000 --threads 1 --out other >out.txt 2>err.txt &
pid=$!
wait_for_networks 0
kill -STOP $pid # so that it does not end in between
kill -INT $pid
kill -CONT $pid
while kill -TERM $pid 2>/dev/null; do :; done
status=0
wait $pid || status=$?
[ "$status" = 143 ] && [ ! -s out.txt ] && [ ! -e other ] || fail "second signal in a pack: $status $(cat err.txt out.txt)"

# At any moment (a script's background process ignores SIGINT until the program has its handler): one line and no folder, or a summary and a model.
for moment in 0.02 0.06 0.1 0.15 0.2 0.25 0.3 0.4 0.5 0.7; do
    rm -rf other
    "$DROVE" train sums.csv --label kind --until epochs=1000 --threads 1 --json --out other >out.txt 2>err.txt &
    pid=$!
    sleep $moment
    kill -TERM $pid
    status=0
    wait $pid || status=$?
    [ "$status" = 143 ] || fail "SIGTERM after $moment s: expected 143, found $status: $(cat err.txt)"
    if [ -e other/model.safetensors ]; then
        grep -q '"outcome": "interrupted"' out.txt || fail "SIGTERM after $moment s: $(cat out.txt)"
    elif [ -s err.txt ]; then # else it came before the handler
        [ ! -e other ] && [ ! -s out.txt ] && [ "$(wc -l <err.txt)" = 1 ] &&
            grep -q "^$wanted\$\|^drove: interrupted before a member of the pack was trained; no model is saved\$" err.txt ||
            fail "SIGTERM after $moment s: $(cat err.txt out.txt)"
    fi
done
