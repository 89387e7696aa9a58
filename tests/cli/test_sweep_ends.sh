# drove sweep: Ctrl-C, runs that are killed or told to end, and a program that is gone.
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"
has_proc || exit 77 # where pgrep finds the runs

lines() { wc -l <"$1"; }

# A long study: Ctrl-C ends it in order; meanwhile its folder is locked; two jobs run side by side.
cat >long.yaml <<'YAML'
options: {data: "synth:digits?n=300", model: "mlp:16", test: none, defaults: classic, threads: 1, until: epochs=1e6}
grid: {lr: [0.01, 0.02, 0.03]}
repeat: 2
YAML
# handle_segv=0: AddressSanitizer would make a status of the signal.
ASAN_OPTIONS=${ASAN_OPTIONS-}:handle_segv=0 "$DROVE" sweep long.yaml --out long --jobs 2 >out.txt 2>err.txt &
pid=$!
for i in $(seq 3000); do [ -e long/runs/0002/err.txt ] && break || sleep 0.02; done
sleep 0.2
[ "$(pgrep -c -P $pid)" = 2 ] || fail "expected two runs at a time: $(pgrep -l -P $pid)"
[ ! -e long/runs/0003 ] || fail "expected no third run"
status=0
"$DROVE" sweep long.yaml --out long >out2.txt 2>err2.txt || status=$?
{ [ "$status" = 2 ] && grep -q 'found long in use$' err2.txt; } || fail "the lock: $status $(cat err2.txt)"
# A run that is killed is a result, and the others go on.
kill -SEGV "$(pgrep -P $pid | head -n 1)"
for i in $(seq 3000); do [ "$(lines long/results.jsonl)" -ge 1 ] && break || sleep 0.02; done
kill -INT $pid
status=0
wait $pid || status=$?
[ "$status" = 130 ] || fail "expected status 130, found $status: $(cat err.txt)"
grep -q 'interrupted: the same command with --out long goes on' out.txt || fail "report: $(cat out.txt)"
[ "$(lines long/results.jsonl)" = 1 ] || fail "what an interrupt cuts off is no result: $(cat long/results.jsonl)"
python3 -c 'import json; r = json.load(open("long/results.jsonl")); assert (r["outcome"], r["signal"], r["status"]) == ("crashed", 11, 139), r'
if pgrep -P $pid; then fail "a run is left"; fi

# A run that somebody tells to end is no result, and is made again.
cat >told.yaml <<'YAML'
options: {data: "synth:digits?n=300", model: "mlp:16", test: none, defaults: classic, threads: 1, until: "seconds=3"}
grid: {lr: [0.01]}
YAML
"$DROVE" sweep told.yaml --out told >out.txt 2>err.txt &
pid=$!
for i in $(seq 3000); do [ -e told/runs/0001/err.txt ] && pgrep -P $pid >/dev/null && break || sleep 0.02; done
sleep 0.3
kill -TERM "$(pgrep -P $pid)"
wait $pid || fail "status $?: $(cat err.txt)"
[ "$(lines told/results.jsonl)" = 1 ] || fail "expected one result: $(cat told/results.jsonl)"
python3 -c 'import json; r = json.load(open("told/results.jsonl")); assert r["outcome"] == "finished" and r["figures"]["train_s"] > 2.9, r'

# A program that is gone is an error, not a result of each run that is left.
cp "$DROVE" own
cat >gone.yaml <<'YAML'
options: {data: "synth:digits?n=300", model: "mlp:16", test: none, defaults: classic, threads: 1, until: "seconds=1"}
grid: {lr: [0.01, 0.02, 0.03]}
YAML
./own sweep gone.yaml --out gone >out.txt 2>err.txt &
pid=$!
for i in $(seq 3000); do [ -e gone/runs/0001/err.txt ] && pgrep -P $pid >/dev/null && break || sleep 0.02; done
sleep 0.3
rm own
status=0
wait $pid || status=$?
{ [ "$status" = 1 ] && tail -n 1 err.txt | grep -q 'run 2/3: expected to start .*/own, which cannot be done any more'; } ||
    fail "status $status: $(cat err.txt)"
[ "$(lines gone/results.jsonl)" = 1 ] || fail "expected one result: $(cat gone/results.jsonl)"
run_for 0 sweep gone.yaml --out gone
[ "$(lines gone/results.jsonl)" = 3 ] || fail "expected three results: $(cat gone/results.jsonl)"

# Where the caller ignores SIGCHLD, as a shell may that has started this one, runs have their statuses all the same.
cat >ignored.yaml <<'YAML'
options: {data: "synth:digits?n=300", model: "mlp:16", test: none, defaults: classic, threads: 1, until: epochs=1}
grid: {lr: [0.01, 0.02]}
YAML
python3 -c 'import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN); os.execv(sys.argv[1], sys.argv[1:])' \
    "$DROVE" sweep ignored.yaml --out ignored >out.txt 2>err.txt || fail "SIGCHLD ignored: status $?: $(cat err.txt)"
[ "$(grep -c '"status":0' ignored/results.jsonl)" = 2 ] || fail "SIGCHLD ignored: $(cat ignored/results.jsonl)"
