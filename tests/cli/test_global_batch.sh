# ctest: slow: runs of each strategy with four numbers of workers, some over MPI
# --global-batch: one, two, four and eight workers make the same updates, also when the number changes on the way; each door
# to the option, and what it refuses.
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"
. "$DROVE_SOURCE_DIR/tests/cli/lib_ranks.sh"
# 48 does not divide the number of examples: a run that kept a short batch would take other examples with each number.
problem="--data synth:digits?n=500 --test none --model mlp:12 --lr 0.05 --eval-every 1 --seed 3 --quiet"

figure() { sed -n "s/^  \"$1\": \([0-9.]*\),\$/\1/p" out.txt; }
# WHAT: loss, updates and examples are those of $reference, up to the rounding of sums.
agrees() {
    local found
    found="$(figure loss) $(figure updates) $(figure examples)"
    awk -v a="$reference" -v b="$found" 'BEGIN { split(a, x, " "); split(b, y, " "); d = x[1] / y[1] - 1
        exit !(d < 1e-4 && d > -1e-4 && x[2] == y[2] && x[3] == y[3]) }' || fail "$1: expected $reference, found $found"
}

# shellcheck disable=SC2086
{
    run_for 0 train $problem --strategy sync --threads 1 --batch 48 --until epochs=3 --json
    [ "$(figure updates)" = 33 ] || fail "expected a short batch in each epoch: $(figure updates)"
    run_for 0 train $problem --strategy sync --threads 1 --global-batch 48 --until epochs=3 --json
    reference="$(figure loss) $(figure updates) $(figure examples)"
    [ "${reference#* }" = "30 1440" ] || fail "expected 30 updates of 48 examples, found $reference"
    for strategy in sync allreduce accumulate tree; do
        for n in 2 4 8; do
            run_for 0 train $problem --strategy $strategy --threads $n --global-batch 48 --until epochs=3 --json
            agrees "$strategy, $n workers"
            [ "$(figure batch)" = $((48 / n)) ] || fail "$strategy, $n workers: a batch of $(figure batch)"
        done
        rm -rf run
        run_for 0 train $problem --strategy $strategy --threads 3 --global-batch 48 --until epochs=1 --out run
        run_for 0 train --resume run --threads 2 --until epochs=2
        grep -q '^drove: --resume: 3 workers before, 2 now: .*an update has 48 examples as before$' err.txt || fail "$(cat err.txt)"
        run_for 0 train --resume run --threads 4 --until epochs=3 --quiet --json
        agrees "$strategy, 3, 2 and 4 workers"
    done

    # Trials of --lr auto take the batches of an update, so that the number of workers does not matter to the choice.
    lr() { sed -n 's/^  "lr": \([0-9.e-]*\),$/\1/p' out.txt; }
    defaults=auto run_for 0 train $problem --lr auto --rule adam --strategy sync --threads 1 --batch 48 --until epochs=30 --json --out none
    wanted=$(lr)
    defaults=auto run_for 0 train $problem --lr auto --rule adam --strategy sync --threads 4 --global-batch 48 --until epochs=30 --json --out none
    [ "$(lr)" = "$wanted" ] || fail "trials: expected a step size of $wanted, found $(lr)"

    # A run with --batch goes on with --global-batch; the other way round needs a word.
    rm -rf run
    run_for 0 train $problem --strategy sync --threads 4 --batch 12 --until epochs=1 --out run
    run_for 0 train --resume run --threads 2 --global-batch 48 --until epochs=2
    grep -q 'an update has 48 examples as before$' err.txt || fail "$(cat err.txt)"
    run_for 0 train --resume run --threads 4 --until epochs=3 --global-batch 0 --batch 24
    grep -q ': 2 workers before, 4 now: .*an update has 96 examples (48 before)$' err.txt || fail "$(cat err.txt)"

    # As many workers as before take as many examples as before, in either word.
    rm -rf run
    run_for 0 train $problem --strategy sync --threads 2 --batch 24 --until epochs=1 --out run
    run_for 2 train --resume run --global-batch 96 --until epochs=2
    says '--resume: run: --global-batch: expected 48 as in the run to be continued, found 96'
    run_for 0 train --resume run --global-batch 48 --until epochs=2
    run_for 2 train --resume run --global-batch 96 --until epochs=3
    says '--resume: run: --global-batch: expected 48 as in the run to be continued, found 96'

    # The doors: a run file, under a flag; run.json.
    rm -rf run
    printf 'data: synth:digits?n=500\nmodel: mlp:12\nglobal_batch: 40\nbatch: auto\nstrategy: sync\nthreads: 2\nlr: 0.05\n' >run.yaml
    run_for 0 train run.yaml --until epochs=1 --out run --quiet --json
    [ "$(figure batch)" = 20 ] || fail "a run file: a batch of $(figure batch)"
    grep -q '"global_batch": 40,' run/run.json || fail "not in run.json"
    run_for 0 train run.yaml --batch 16 --global-batch 0 --until epochs=1 --out none --quiet --json
    [ "$(figure batch)" = 16 ] || fail "a flag over a run file: a batch of $(figure batch)"

    refused() {
        local line=$1
        shift
        run_for 2 train $problem --until epochs=1 "$@"
        [ "$(cat err.txt)" = "drove: $line" ] || fail "$*: expected \"$line\", found \"$(cat err.txt)\""
    }
    refused '--global-batch: expected a multiple of the 3 workers, such as 51, found 50' --strategy sync --threads 3 --global-batch 50
    refused '--global-batch: expected at most as many as there are training examples, 500, found 502' --strategy sync --threads 2 --global-batch 502
    refused '--batch 8: expected none beside --global-batch, which says it (48 divided by the number of workers); --global-batch 0 leaves it to --batch' \
        --strategy sync --threads 2 --global-batch 48 --batch 8
    refused '--global-batch: expected a whole number from 0 to 1073741824, found "many"' --global-batch many
    for strategy in hogwild softsync:2 ssp:1 easgd hogbatch; do
        run_for 2 train $problem --until epochs=1 --strategy $strategy --threads 2 --global-batch 48
        grep -q "^drove: --global-batch 48: expected a --strategy whose workers make each update together (sync, .*allreduce.*), found $strategy\$" err.txt ||
            fail "$strategy: $(cat err.txt)"
    done
    run_for 2 train $problem --until epochs=1 --threads 2 --global-batch 48
    grep -q 'found auto, here hogwild$' err.txt || fail "$(cat err.txt)"
    run_for 0 train $problem --until epochs=1 --strategy hogwild --threads 1 --global-batch 48

    (find_libraries openmpi mpich) >reason.txt || { cat reason.txt && exit 0; }
    find_libraries openmpi mpich
    for name in $libraries; do
        use_library "$name"
        for n in 2 4; do
            ranks_for 0 -n $n "$DROVE" train $problem --strategy allreduce --threads 1 --global-batch 48 --until epochs=3 --json
            agrees "$n ranks"
        done
        ranks_for 2 -n 2 "$DROVE" train $problem --strategy easgd-async --rule adam --global-batch 48 --until epochs=3
        says 'make each update together (accumulate, tree, easgd-sync1, easgd-sync2, easgd-sync3, allreduce, local, diloco), found easgd-async'
        ranks_for 2 -n 3 "$DROVE" train $problem --strategy allreduce --threads 1 --global-batch 50 --until epochs=3
        says '--global-batch: expected a multiple of the 3 workers, such as 51, found 50'
    done
}
