# Workers that once broke a run: a team with batches above 512, and a device that never answers beside other workers.
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"
run_for 0 train --data 'synth:digits?n=30000' --model mlp:8 --until epochs=1 --quiet \
    --workers 'cpu:0?gradient=one&batch=20000'
run_for 0 train --data 'synth:digits?n=30000' --model mlp:8 --until epochs=1 --quiet \
    --workers 'cpu:all?gradient=one&max=9000&min=8000'
for strategy in hogwild sync allreduce; do
    run_for 1 train --data synth:digits?n=4000 --model mlp:8 --until epochs=1000 --eval-every 1000 --batch 4 --quiet \
        --strategy $strategy --workers 'fake:?hang_after=20&timeout=0.3&deaf=yes+threads:1'
    grep -q 'worker fake: no answer for 0.6 s' err.txt || fail "$strategy: $(cat err.txt)"
done
