# Another number of ranks goes on: what those before had not used is left out, and one line says how many examples.
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"
. "$DROVE_SOURCE_DIR/tests/cli/lib_ranks.sh"
find_libraries mpich openmpi
data='synth:logistic?n=2000&d=4'
options="--data $data --model logistic --test none --batch 8 --lr 0.01 --threads 1 --eval-every 1000"

# NUMBER: what the last resumed run said about it; none: nothing.
left_out() {
    local found
    found=$(sed -n 's/.*--resume: [0-9]* workers before, [0-9]* now: \([0-9]*\) examples that.*left out.*/\1/p' err.txt)
    [ "${found:-none}" = "$1" ] || fail "$library: expected $1 examples that are left out, found ${found:-none}: $(cat err.txt)"
}

# shellcheck disable=SC2086
for name in $libraries; do
    use_library "$name"

    # Two workers have had 5 rounds, 10 batches of 8.  Three go on at their fourth round, batch 12.
    rm -rf run two
    ranks_for 0 -n 2 "$DROVE" train $options --strategy allreduce --until updates=5 --out run
    cp -r run two
    ranks_for 0 -n 3 "$DROVE" train --resume run --until updates=6
    left_out 16
    # As many: nothing is.  One: nothing is, as its rounds are single batches.
    ranks_for 0 -n 2 "$DROVE" train --resume two --until updates=6
    left_out none
    ranks_for 0 -n 1 "$DROVE" train --resume two --until updates=7
    left_out none

    # Rank 1 stands still while rank 0 trains on: the state says by how many rounds it is behind.
    rm -rf run
    timeout 120 "${launch[@]}" -n 2 "$DROVE" train --defaults classic $options --strategy psgd-async --quiet \
        --until epochs=100000 --save-every seconds=0.5 --out "$PWD/run" >out.txt 2>err.txt </dev/null &
    job=$!
    halt_one_behind
    wait $job || true
    # 250 batches of 8 examples in an epoch: all are whole.  Three workers go on at a multiple of 3.
    wanted=$(python3 - run/state.safetensors <<'PYTHON'
import json, struct, sys
with open(sys.argv[1], "rb") as file:
    data = file.read()
size = struct.unpack_from("<Q", data)[0]
head = json.loads(data[8:8 + size])
def read(name):
    first, end = head[name]["data_offsets"] if name in head else (0, 0)
    return struct.unpack_from("<%dQ" % ((end - first) // 8), data, 8 + size + first)
print(8 * (sum(read("behind")) + -read("counters")[0] % 3) or "none")
PYTHON
    )
    ranks_for 0 -n 3 "$DROVE" train --resume run --until updates=1
    left_out "$wanted"
    [ "$wanted" != none ] || echo "skip: $library: both ranks stopped at the same batch"
done
echo "ranks by:$libraries"
