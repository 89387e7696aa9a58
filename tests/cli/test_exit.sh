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

# The same while the members of a pack are trained.
awk 'BEGIN {
    srand(1)
    for (j = 0; j < 20; j++) printf "c%d,", j
    print "kind"
    for (i = 0; i < 20000; i++) {
        for (j = 0; j < 20; j++) printf "%.3f,", rand()
        print rand() < 0.5 ? "big" : "small"
    }
}' >noise.csv
"$DROVE" train noise.csv --label kind --out pack >out.txt 2>err.txt &
pid=$!
sleep 0.5
kill -INT $pid
status=0
wait $pid || status=$?
[ "$status" = 130 ] || fail "SIGINT in a pack: expected 130, found $status"
[ "$(tail -n 1 err.txt)" = "$wanted" ] || fail "SIGINT in a pack: $(cat err.txt)"
[ ! -e pack ] || fail "SIGINT in a pack: nothing was to be saved"
