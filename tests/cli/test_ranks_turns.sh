# Ranks that take turns (easgd) all stop after the same round, whichever of them has a signal: what was interrupted and
# goes on has the bits of a run that never was.
# ctest: slow: starts ranks that are interrupted at each turn
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"
has_proc || exit 77
. "$DROVE_SOURCE_DIR/tests/cli/lib_ranks.sh"
find_libraries mpich openmpi
options="--data synth:logistic?n=2400&d=4 --model logistic --test none --batch 8 --lr 0.01 --quiet --threads 1"
options="$options --eval-every 1000 --timeout 20"

# RANK: its process.
process_of() {
    local id
    for id in $(ranks_of run); do
        if tr '\0' '\n' <"/proc/$id/environ" | grep -qx -e "PMI_RANK=$1" -e "OMPI_COMM_WORLD_RANK=$1"; then
            echo "$id"
        fi
    done
}

# STRATEGY RANK [OPTION...]
# shellcheck disable=SC2086
check() {
    local name=$1 which=$2 job status=0 next
    shift 2
    rm -rf run whole
    timeout 120 "${launch[@]}" -n 3 "$DROVE" train --defaults classic $options --strategy "$name" "$@" \
        --until epochs=100000 --save-every seconds=0.3 --out "$PWD/run" >out.txt 2>err.txt </dev/null &
    job=$!
    wait_for_state
    sleep 0.5
    kill -INT "$(process_of "$which")"
    wait $job || status=$?
    [ "$status" = 130 ] || fail "$library: $name: expected status 130, found $status: $(cat err.txt)"
    next=$(sed -n 's/.*"epochs": *\([0-9]*\).*/\1/p' run/log.jsonl | tail -n 1)
    ranks_for 0 -n 3 "$DROVE" train --resume "$PWD/run" --until epochs=$((next + 2)) --save-every eval --quiet --json
    grep -q '^  "examples": '$(((next + 2) * 2400))',$' out.txt ||
        fail "$library: $name: expected $((next + 2)) epochs of 2400 examples, found $(grep '"examples"' out.txt)"
    ranks_for 0 -n 3 "$DROVE" train $options --strategy "$name" "$@" --until epochs=$((next + 2)) --out whole
    cmp run/model.safetensors whole/model.safetensors ||
        fail "$library: $name: expected the model of a run that was not interrupted"
}

for name in $libraries; do
    use_library "$name"
    check easgd 1
    check "easgd?overlap=0" 2 --period 3
done
echo "ranks by:$libraries"
