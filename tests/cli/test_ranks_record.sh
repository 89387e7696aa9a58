# Runs over MPI ranks are recorded by rank 0 and repeated in one process, to the same bits.
# ctest: slow: starts ranks to record, to resume and to replay
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"
. "$DROVE_SOURCE_DIR/tests/cli/lib_ranks.sh"
find_libraries openmpi mpich

# ARGUMENT...: three ranks, recorded and repeated.
repeats() {
    rm -rf ranks one
    # shellcheck disable=SC2086
    ranks_for 0 -n 3 "$DROVE" train $small --until updates=150 --save-every updates=50 "$@" --out ranks --record ranks.rec
    run_for 0 train --replay ranks.rec --out one
    grep -q 'the same bits at all of' err.txt || fail "$library, $*: $(cat err.txt)"
    cmp ranks/model.safetensors one/model.safetensors || fail "$library, $*: another model"
}

# shellcheck disable=SC2086
for name in $libraries; do
    use_library "$name"
    repeats --strategy psgd-async
    repeats --strategy hogbatch
    repeats --strategy easgd-async?overlap=1 --rule momentum:0.9 --rule-state worker --threads 2
    grep -q 'steps of 3 workers on one thread' err.txt || fail "$library: $(cat err.txt)"
    ranks_for 0 -n 3 "$DROVE" train --resume ranks --until updates=220 --record on.rec --quiet
    run_for 0 train --replay on.rec --out on
    cmp ranks/model.safetensors on/model.safetensors || fail "$library: another model of a run that went on"
    rm -rf on
    repeats --strategy diloco?h=5 --threads 1
    grep -q 'run again, as diloco?h=5 repeats by itself' err.txt || fail "$library: $(cat err.txt)"
    ranks_for 2 -n 2 "$DROVE" train $small --strategy easgd-hogwild --out none --record other.rec
    says 'expected a strategy without races, among ranks'
    ranks_for 2 -n 2 "$DROVE" train $small --strategy easgd-async --messages layers --out none --record other.rec
    says 'expected --messages packed, among ranks'
    ranks_for 2 -n 2 "$DROVE" train $small --strategy allreduce --shard own --out none --record other.rec
    says 'expected ranks that have all examples'
    ranks_for 2 -n 2 "$DROVE" train --replay ranks.rec
    says 'expected one process, which repeats all workers'
    [ ! -e other.rec ] || fail "a record of what was refused"
done
echo "ranks by:$libraries"
