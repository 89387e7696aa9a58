# A disk that fills up while files are written: one line, status 1, nothing half-written.
# A limit on the size of files stands in for the disk (the write fails at the same place);
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"
trap '' XFSZ

limited() {
    status=0
    (ulimit -f 100 && exec "$DROVE" "$@") >out.txt 2>err.txt || status=$?
    [ "$status" = 1 ] || fail "drove $*: expected status 1, found $status: $(cat err.txt)"
    [ "$(grep -vc '^epoch' err.txt)" = 1 ] || fail "drove $*: expected one line of error: $(cat err.txt)"
    grep -q 'too large' err.txt || fail "drove $*: expected the system's reason: $(cat err.txt)"
}

limited train --defaults classic --data 'synth:digits?n=300' --test '' --model mlp:128,128 --threads 1 --until updates=5 --out run
for file in run/*; do
    case $file in
    run/run.json | run/log.jsonl | run/events.*) ;;
    *) fail "expected no $file" ;;
    esac
done
limited data convert 'synth:digits?n=3000' csv:digits.csv
[ -z "$(ls digits.csv* 2>/dev/null)" ] || fail "expected nothing of digits.csv"

# Data that memory does not hold are written piece by piece, so it is the disk that is full.
limited data convert 'synth:logistic?n=4294967295&d=1000' rows:large.rows
[ -z "$(ls large.rows* 2>/dev/null)" ] || fail "expected nothing of large.rows"

# What was there before is still whole afterwards.
run_for 0 train --data 'synth:digits?n=300' --test '' --model mlp:8 --threads 1 --until updates=5 --quiet --out whole
cp whole/state.safetensors before
(ulimit -f 1 && exec "$DROVE" train --defaults classic --resume whole --until updates=9 --quiet) >out.txt 2>err.txt && fail "expected a failure"
cmp -s before whole/state.safetensors || fail "the old state has changed"
run_for 0 train --resume whole --until updates=9 --quiet
