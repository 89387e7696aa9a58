# Worker processes of a program that ignores SIGCHLD, as some supervisors have it: they are waited for all the same, and the
# line about one that is killed says by which signal.
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"
has_proc || exit 77
cat >ignoring.py <<'PY'
import os, signal, sys
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
os.execv(sys.argv[1], sys.argv[1:])
PY
python=$(type -P python3) # whose process number is the program's
run="train --defaults classic --data synth:digits?n=600 --test none --model mlp:16 --lr 0.01 --workers procs:2 --out none"

# shellcheck disable=SC2086
for strategy in hogwild sync; do
    "$python" -S ignoring.py "$DROVE" $run --strategy $strategy --until epochs=2 --quiet >out.txt 2>err.txt || fail "$strategy: $(cat err.txt)"
    "$python" -S ignoring.py "$DROVE" $run --strategy $strategy --until seconds=60 --eval-every 1 >out.txt 2>err.txt &
    job=$!
    until grep -q '^epoch 2' err.txt || ! kill -0 $job 2>/dev/null; do sleep 0.05; done
    read -r victim _ <"/proc/$job/task/$job/children" || true
    kill -KILL "$victim"
    until grep -q 'was ended by signal 9 (Killed) after' err.txt || ! kill -0 $job 2>/dev/null; do sleep 0.05; done
    kill -INT $job 2>/dev/null || true
    status=0
    wait $job || status=$?
    grep -q "worker . (process $victim.*) was ended by signal 9 (Killed) after" err.txt || fail "$strategy: $(cat err.txt)"
    case $strategy in
    hogwild) [ "$status" = 130 ] || fail "hogwild: expected status 130, found $status: $(cat err.txt)" ;;
    sync) [ "$status" = 1 ] || fail "sync: expected status 1, found $status: $(cat err.txt)" ;;
    esac
done
