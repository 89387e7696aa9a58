# A saved state is that of one moment: no rank trains on while rank 0, which has the centre, still writes.
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"
. "$DROVE_SOURCE_DIR/tests/cli/lib_ranks.sh"
find_libraries mpich openmpi
SLOW=$DROVE_BUILD_DIR/tests/faults/libdrove_surroundings.so
[ -e "$SLOW" ] || { echo "built without DROVE_FAULTS: skipped"; exit 77; }
export SLOW

# Example i has feature i alone, and each use of it moves one weight: the loss counts the uses.
awk 'BEGIN { for (i = 1; i <= 256; i++) print i % 2 ? "+1" : "-1", i ":1" }' >counted.svm
options="--data counted.svm --model svm --test none --strategy psgd-hogwild --batch 8 --lr 0.01 --quiet --threads 1"

loss() { sed -n 's/^  "loss": \([0-9.]*\),$/\1/p' "$1"; }

# shellcheck disable=SC2086,SC2016
for name in $libraries; do
    use_library "$name"
    ranks_for 0 -n 2 "$DROVE" train $options --until epochs=1 --json --out none
    wanted=$(loss out.txt)
    for try in 1 2 3; do
        rm -rf run first
        mkdir first
        # Rank 0 is slow at writing.  Its first state is caught before the next one takes its name.
        timeout 120 "${launch[@]}" -n 2 sh -c '
            if [ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" = 0 ]; then
                export LD_PRELOAD="$SLOW" DROVE_SURROUNDINGS=slow=20
            fi
            exec "$@"' sh "$DROVE" train --defaults classic $options --until epochs=3 --save-every epochs=1 --out run \
            >out.txt 2>err.txt </dev/null &
        job=$!
        for ((i = 0; i < 6000; i++)); do
            [ ! -f run/state.safetensors ] || break
            sleep 0.01
        done
        ln run/state.safetensors first/ || fail "$library: no state within 60 s: $(cat err.txt)"
        cp run/run.json first/
        wait "$job" || fail "$library: $(cat err.txt)"
        ranks_for 0 -n 2 "$DROVE" train --resume first --until epochs=1 --quiet --json
        grep -q '^  "examples": 256,$' out.txt || fail "$library: expected the state of one epoch"
        found=$(loss out.txt)
        awk -v a="$wanted" -v b="$found" 'BEGIN { d = a - b; exit !(d < 1e-5 && d > -1e-5) }' ||
            fail "$library, try $try: the state has a loss of $found, after one epoch expected $wanted"
    done
done
echo "ranks by:$libraries"
