# A process that hangs before the run has begun ends it within --timeout, with one line.
# ctest: timeout=120
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"

# The first moments of a large model: the second of three children is stopped as soon as it is there.
"$DROVE" train --data "synth:digits?n=200&n_test=20" --model mlp:4000,4000,4000 --strategy easgd-async --workers procs:3 \
    --timeout 2 --until seconds=5 >out.txt 2>err.txt &
job=$!
victim=
while [ -z "$victim" ] && kill -0 $job 2>/dev/null; do
    read -r _ victim _ 2>/dev/null <"/proc/$job/task/$job/children" || true
done
[ -n "$victim" ] || fail "no child was seen: $(cat err.txt)"
kill -STOP "$victim"
begun=$SECONDS
status=0
wait $job || status=$?
[ $((SECONDS - begun)) -le 60 ] || fail "took $((SECONDS - begun)) s to end"
if grep -q 'the run goes on with 2 of 3' err.txt; then # stopped too late: another test's business
    echo "skip: the child was ready before it could be stopped"
    exit 77
fi
[ $status = 1 ] || fail "expected status 1, found $status: $(cat err.txt)"
tail -n 1 err.txt |
    grep -q 'worker 1 (process [0-9]* on .*) did nothing for 2 s and was ended before the run began; nothing is saved' ||
    fail "$(cat err.txt)"
