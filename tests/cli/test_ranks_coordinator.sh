# A coordinator over MPI ranks: every example once, losses as of threads, shares, limits, states, refusals.
# ctest: slow: starts ranks for each strategy that has a coordinator
# ctest: timeout=600
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"
. "$DROVE_SOURCE_DIR/tests/cli/lib_ranks.sh"
find_libraries openmpi mpich
python=$(command -v python3) || { echo "skip: no python3"; exit 77; }

# EXPRESSION: must be true of the summary s in out.txt and of its workers w.
holds() {
    "$python" -c "
import json, sys
s = json.load(open('out.txt'))
w = s['workers']
sys.exit(0 if eval(sys.argv[1]) else 1)" "$1" || fail "$library: expected $1: $(cat out.txt)"
}

# Sixteen epochs with few ends of stretches: a batch that was cut there to one example is a noisy step.
long="--batch 16 --until epochs=16 --eval-every 4 --json"

# Sets `least` and `most`: the span of the last losses of two threads, groups of their own, under three seeds, with half
# of it at both ends.
spread_of_threads() {
    local seed
    for seed in 1 2 3; do
        # shellcheck disable=SC2086
        run_for 0 train $small $long --strategy 'hogbatch?tail=as-is' --workers threads:1+threads:1 --seed $seed
        cp out.txt seed$seed.json
    done
    read -r least most <<<"$("$python" -c '
import json
loss = [json.load(open(f"seed{i}.json"))["loss"] for i in (1, 2, 3)]
margin = max(0.5 * (max(loss) - min(loss)), 0.15 * max(loss))
print(min(loss) - margin, max(loss) + margin)')"
}

# STRATEGY ARGUMENT...: two ranks, of which each does a part.
trains() {
    # shellcheck disable=SC2086
    ranks_for 0 -n 2 "$DROVE" train $small $long --strategy "$@"
    holds 's["outcome"] == "finished" and s["examples"] == 19200'
    holds 'sum(i["examples"] for i in w) == 19200 and sum(i["updates"] for i in w) == s["updates"]'
    holds 'len(w) == 2 and all(i["updates"] > 0 and 0 < i["busy"] <= 1 and i["lost"] is None for i in w)'
    holds 's["cluster"]["ranks"] == 2 and s["dropped"] == 0'
}

fits_spread() {
    holds "s['updates'] == 1200 and $least < s['loss'] < $most"
    holds '[i["name"] for i in w] == ["rank:0", "rank:1"]'
}

# Updates keep in step: neither of two equal ranks runs away.
shares_are_about_equal() {
    holds 'all(0.3 < i["share"] < 0.7 for i in w)'
}

limits() {
    # shellcheck disable=SC2086
    set -- "$DROVE" train $small --strategy hogbatch --batch 16 --json
    ranks_for 0 -n 3 "$@" --until updates=100
    holds '100 <= s["updates"] <= 102' # what is in hand is finished
    ranks_for 0 -n 3 "$@" --until seconds=1
    holds '0.5 < s["train_s"] < 10'
    ranks_for 0 -n 3 "$@" --until epochs=0.3
    holds 's["examples"] == 360'
    ranks_for 4 -n 2 "$@" --until loss=0.0001,epochs=1
    holds 's["outcome"] == "missed" and s["examples"] == 1200'
}

# The state of ranks is continued by as many ranks, by others, and by threads; that of threads by ranks.
resumes() {
    rm -rf ranks threads
    # shellcheck disable=SC2086
    ranks_for 0 -n 2 "$DROVE" train $small --strategy adaptive --batch 16 --until epochs=1 --out ranks
    grep -q '"counted_updates"' ranks/log.jsonl || fail "$library: expected the workers in the log"
    cp -r ranks more
    cp -r ranks fewer
    ranks_for 0 -n 2 "$DROVE" train --resume ranks --until epochs=2 --quiet --json
    holds 's["examples"] == 2400 and sum(i["examples"] for i in w) == 2400'
    ranks_for 0 -n 3 "$DROVE" train --resume more --until epochs=2 --quiet --json
    holds 's["examples"] == 2400'
    run_for 0 train --resume fewer --threads 2 --until epochs=2 --quiet --json
    holds 's["examples"] == 2400'
    # shellcheck disable=SC2086
    run_for 0 train $small --strategy adaptive --threads 2 --batch 16 --until epochs=1 --out threads
    ranks_for 0 -n 2 "$DROVE" train --resume threads --threads 1 --until epochs=2 --quiet --json
    holds 's["examples"] == 2400'
    rm -rf more fewer
}

refusals() {
    # shellcheck disable=SC2086
    set -- "$DROVE" train $small --until epochs=1
    ranks_for 2 -n 2 "$@" --strategy 'hogbatch?merge=replace'
    says 'merge=replace: over ranks the parameters are at rank 0'
    ranks_for 2 -n 2 "$@" --strategy 'adaptive?alpha=1'
    says 'adaptive?alpha: expected a number above 1'
    ranks_for 2 -n 2 "$@" --strategy hogbatch --shard own
    says 'whose coordinator gives out all examples'
    ranks_for 2 -n 2 "$@" --strategy hogbatch --workers threads:1+threads:1
    says 'expected one worker'
    # The device of rank 0 fails after 2 batches, that of rank 1 would after 12.
    ranks_for 1 -n 2 "$@" --strategy hogbatch --workers 'fake:?speed=10&fail_after=%r2'
    says 'lost after 2 batches'
}

spread_of_threads
for name in $libraries; do
    use_library "$name"
    trains 'hogbatch?tail=as-is' --threads 1
    fits_spread
    trains 'hogbatch?tail=as-is&update=coordinator' --threads 2
    fits_spread
    trains adaptive --threads 1
    holds 's["loss"] < 0.4 * s["loss_initial"]'
    trains adaptive --workers 'fake:?speed=20&min=4&max=64'
    holds '[i["name"].startswith(f"rank:{k} fake") for k, i in enumerate(w)] == [True, True]'
    shares_are_about_equal
    trains hogbatch:mixed --workers 'fake:?speed=20' # the device's sizes are measured at each rank
    trains adaptive --workers 'cpu:%r'
    limits
    resumes
    refusals
done
echo "ranks by:$libraries"
