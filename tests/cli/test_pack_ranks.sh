# A pack is the same for any number of threads, processes and ranks: members, scores and network.
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"
. "$DROVE_SOURCE_DIR/tests/cli/lib_ranks.sh"
defaults=auto

awk 'BEGIN { srand(5); print "x,z,y"
    for (i = 0; i < 300; i++) {
        x = 2 * rand() - 1; z = 2 * rand() - 1
        print x "," z "," ((x * z > 0) != (rand() < 0.05) ? "a" : "b")
    } }' >xor.csv
# So many rows that no machine makes the pack in three seconds, when the first line says how far it is.
awk 'BEGIN {
    srand(1)
    for (j = 0; j < 20; j++) printf "c%d,", j
    print "kind"
    for (i = 0; i < 100000; i++) {
        for (j = sum = 0; j < 20; j++) { x = rand(); sum += x; printf "%.3f,", x }
        print (sum + rand() > 10.5 ? "big" : "small")
    }
}' >sums.csv
options="xor.csv --label y --model auto --max-members 5 --until epochs=20 --json"

# Of out.txt, all that says what was made, without times and places.
pack_of() {
    python3 - out.txt "$1" <<'PY'
import json, sys
result = json.load(open(sys.argv[1]))
pack = result["pack"]
del pack["seconds"]
assert len(pack["members"]) == 5 and pack["networks"] >= 5, pack
scores = {key: result[key] for key in ("loss", "accuracy", "test_loss", "test_accuracy")}
json.dump([scores, pack], open(sys.argv[2], "w"), indent=1)
PY
}

# shellcheck disable=SC2086
{
run_for 0 train $options --threads 1 --out one
pack_of one.json
for where in "--threads 2" "--workers procs:2" "--workers procs:3 --threads 2"; do
    rm -rf other
    run_for 0 train $options $where --out other
    pack_of other.json
    cmp one.json other.json || fail "$where: another pack than with one thread"
    cmp one/model.safetensors other/model.safetensors || fail "$where: another network than with one thread"
    ! grep -q 'has one worker' err.txt || fail "$where: the pack has used all: $(cat err.txt)"
done
run_for 2 train $options --workers 'fake:?speed=250'
grep -q -- '--model auto: expected no --workers beside it' err.txt || fail "$(cat err.txt)"

find_libraries mpich openmpi
for name in $libraries; do
    use_library "$name"
    rm -rf other
    ranks_for 0 -n 2 "$DROVE" train $options --threads 1 --out other
    pack_of other.json
    cmp one.json other.json || fail "$name: another pack than in one process"
    cmp one/model.safetensors other/model.safetensors || fail "$name: another network than in one process"
    # Without the word, ranks train one network together.
    ranks_for 0 -n 2 "$DROVE" train ${options/--model auto/} --threads 1 --out none
    ! grep -q '"networks"' out.txt || fail "$name: expected no pack unless it is asked for"
    ranks_for 2 -n 2 "$DROVE" train $options --threads 1 --out none --shard own
    says '--model auto: expected no --shard beside it'

    # A signal that only the last rank gets ends the pack of all, with its number.
    rm -rf run
    : >err.txt
    timeout 120 "${launch[@]}" -n 2 "$DROVE" train --defaults auto sums.csv --label kind --model auto --until epochs=1000 \
        --threads 1 --out "$PWD/run" >out.txt 2>err.txt </dev/null &
    job=$!
    for _ in $(seq 600); do
        mapfile -t rank < <(ranks_of run)
        ! grep -q 'networks trained in' err.txt || break
        kill -0 "$job" || fail "$name: it ended before: $(cat err.txt)"
        sleep 0.1
    done
    [ ${#rank[@]} = 2 ] || fail "$name: expected 2 ranks, found ${#rank[@]}: $(cat err.txt)"
    kill -TERM "${rank[1]}"
    status=0
    wait "$job" || status=$?
    [ "$status" = 143 ] || fail "$name: SIGTERM of a rank: expected status 143, found $status: $(cat err.txt)"
    grep -q '^Interrupted by SIGTERM' out.txt || fail "$name: SIGTERM of a rank: $(cat out.txt)"
    [ -f run/model.safetensors ] || fail "$name: SIGTERM of a rank: expected a model"
done
}
echo "ranks by:$libraries"
