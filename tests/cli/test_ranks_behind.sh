# Ranks that do not wait for each other stop at different batches: after --resume none is left out.
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"
. "$DROVE_SOURCE_DIR/tests/cli/lib_ranks.sh"
find_libraries mpich openmpi
data='synth:logistic?n=2000&d=4'
options="--model logistic --test none --strategy psgd-async --batch 8 --lr 0.01 --quiet --threads 1 --eval-every 1000"

# shellcheck disable=SC2086
for name in $libraries; do
    use_library "$name"
    rm -rf run
    timeout 120 "${launch[@]}" -n 2 "$DROVE" train --defaults classic --data "$data" $options --until epochs=1000 \
        --save-every seconds=0.5 --out "$PWD/run" >out.txt 2>err.txt </dev/null &
    job=$!
    halt_one_behind
    status=0
    wait $job || status=$?
    [ -f run/state.safetensors ] || fail "$library: no state (status $status): $(cat err.txt)"
    grep -aq '"behind"' run/state.safetensors || echo "skip: $library: both ranks stopped at the same batch"
    # Updates are counted, whoever makes them: not many more than asked for.
    updates=$(sed -n 's/.*"updates": *\([0-9]*\).*/\1/p' run/log.jsonl | tail -n 1)
    rm -rf more
    cp -r run more
    ranks_for 0 -n 2 "$DROVE" train --resume "$PWD/more" --until updates=$((updates + 100)) --quiet --json
    found=$(sed -n 's/^  "updates": \([0-9]*\),$/\1/p' out.txt)
    [ "$found" -ge $((updates + 100)) ] && [ "$found" -le $((updates + 102)) ] ||
        fail "$library: expected $((updates + 100)) updates, found $found"
    # To the end of the epoch after the last that the state has begun, and no further than where it is.
    next=$(sed -n 's/.*"epochs": *\([0-9]*\).*/\1/p' run/log.jsonl | tail -n 1)
    for epochs in 1 $((2 * next + 40)); do
        ranks_for 0 -n 2 "$DROVE" train --resume "$PWD/run" --until epochs=$epochs --quiet --json
    done
    grep -q '^  "examples": '$((epochs * 2000))',$' out.txt ||
        fail "$library: expected $epochs epochs of 2000 examples, found $(grep '"examples"' out.txt)"
done
echo "ranks by:$libraries"
