# A run over MPI ranks: the bits of threads, the files of one run, and one line of error from one rank.
# ctest: slow: starts ranks for each kind of exchange and for each refusal
# ctest: timeout=600
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"
. "$DROVE_SOURCE_DIR/tests/cli/lib_ranks.sh"
find_libraries openmpi mpich

# The same as four threads, bit for bit, for the methods that promise bits.
same_bits() {
    local strategy
    for strategy in "$@"; do # with its options
        rm -rf threads ranks
        # shellcheck disable=SC2086
        run_for 0 train $small --strategy $strategy --threads 4 --until epochs=2 --out threads
        # shellcheck disable=SC2086
        ranks_for 0 -n 4 "$DROVE" train $small --strategy $strategy --threads 1 --until epochs=2 --out ranks
        cmp threads/model.safetensors ranks/model.safetensors || fail "$library: $strategy: other bits than threads"
        grep -q '"ranks": 4' ranks/summary.json || fail "expected four ranks in the summary"
        cut -d, -f1-3,6- threads/log.jsonl | tr ',' '\n' | grep '"loss"' >one.txt
        cut -d, -f1-3,6- ranks/log.jsonl | tr ',' '\n' | grep '"loss"' >other.txt
        cmp one.txt other.txt || fail "$library: $strategy: other losses than threads"
    done
}

# Ends, with all examples counted.
all_counted() {
    local strategy
    for strategy in "$@"; do
        # shellcheck disable=SC2086
        ranks_for 0 -n 3 "$DROVE" train $small --strategy "$strategy" --until epochs=1 --json
        grep -q '"examples": 12[0-9][0-9],' out.txt || fail "$library: $strategy: expected one epoch: $(cat out.txt)"
        grep -q '"ratio": 0\.' out.txt || fail "$library: $strategy: expected a communication ratio"
    done
}

bad_input() {
    # shellcheck disable=SC2086
    set -- "$DROVE" train $small --until epochs=1
    ranks_for 2 -n 1 "$@" --lr 0.1 : -n 1 "$@" --lr 0.2
    says '--lr: expected 0.1 at all ranks, as at rank 0'
    says 'found 0.2 at rank 1'
    ranks_for 2 -n 1 "$@" : -n 1 "$@" --data mnist:/nowhere
    says 'rank 1'
    ranks_for 2 -n 1 "$@" : -n 1 "$@" --rule adm
    says 'rank 1'
    ranks_for 2 -n 1 "$@" : -n 1 "$@" --no-such-option
    says 'rank 1'
    says 'train: unknown option "--no-such-option"'
    ranks_for 2 -n 3 "$@" --no-such-option
    says 'train: unknown option "--no-such-option"'
    ranks_for 2 -n 1 "$@" : -n 1 "$@" --data 'synth:digits?n=1201'
    says '--data'
    ranks_for 2 -n 1 "$@" --isa ref : -n 1 "$@"
    says 'kernels (--isa): expected ref'
    ranks_for 2 -n 2 "$@" --strategy sync
    says 'allreduce is what sync is among ranks'
    ranks_for 2 -n 2 "$@" --strategy local --workers procs:2
    says 'expected no processes of a rank'
    ranks_for 0 -n 2 "${@/--quiet/--json}" --workers threads:2
    grep -q '^drove: --workers threads:2: a rank is one worker, as with --threads 2: its 2 threads compute each batch together$' err.txt ||
        fail "$library: a team without a word: $(cat err.txt)"
    ranks_for 0 -n 2 "${@/--quiet/--json}" --threads 2
    ! grep -q 'a rank is one worker' err.txt || fail "$library: said of --threads: $(cat err.txt)"
    ranks_for 2 -n 2 "$@" --shard own --features rff:8
    says 'expected ?gamma= beside --shard own'
    sed "s/x$/a/" table.csv >other.csv
    mkdir -p one two
    cp table.csv one/t.csv
    cp other.csv two/t.csv
    ranks_for 2 -n 1 sh -c 'cd one && exec "$@"' sh "$@" --data csv:t.csv : \
        -n 1 sh -c 'cd two && exec "$@"' sh "$@" --data csv:t.csv
    says 'names of the classes'
    ranks_for 2 -n 3 "$@" --data 'synth:digits?n=2'
    says 'expected at least as many training examples as ranks, 3, found 2'
    ranks_for 2 -n 2 "$@" --resume /nowhere
    says '/nowhere'
    mkdir -p used
    touch used/file
    ranks_for 2 -n 2 "$@" --out used
    says 'expected a new or empty folder'
    ranks_for 2 -n 2 env DROVE_MODULE_PATH=/nowhere "$@"
    says 'the module drove_mpi_'
}

# A stopped run continues to the same bits; with another number of ranks it goes on from the centre.
resumes() {
    rm -rf whole half
    # shellcheck disable=SC2086
    set -- "$DROVE" train $small --strategy easgd-sync3 --rule momentum:0.9
    ranks_for 0 -n 3 "$@" --until epochs=2 --out whole
    ranks_for 0 -n 3 "$@" --until epochs=1 --out half
    cp -r half fewer
    ranks_for 0 -n 3 "$DROVE" train --resume half --until epochs=2 --quiet
    cmp whole/model.safetensors half/model.safetensors || fail "$library: resumed to other bits"
    ranks_for 0 -n 2 "$DROVE" train --resume fewer --until epochs=2 --quiet --json
    grep -q '"outcome": "finished"' out.txt || fail "$library: expected two ranks to go on where three were"
    rm -rf fewer
    # Where nothing is left to do, the saved examples are all there are: others of all ranks were once guessed ahead.
    ranks_for 0 -n 3 "$DROVE" train --resume half --quiet --json
    awk '/^  "examples":/ { total = $2 + 0 } /^      "examples":/ { of_workers += $2 }
        END { exit total == 0 || total != of_workers }' out.txt ||
        fail "$library: expected the examples of all workers: $(grep '"examples"' out.txt)"
}

# A group of cores for each rank: the same as ranks without groups, whose cores make a team as well.
partitions() {
    rm -rf groups plain
    # shellcheck disable=SC2086
    set -- "$DROVE" train $small --strategy allreduce --until epochs=1
    ranks_for 0 -n 2 "$@" --threads 1 --out plain
    ranks_for 0 -n 2 "$@" --partition auto --out groups
    cmp plain/model.safetensors groups/model.safetensors || fail "$library: groups gave other bits"
    ranks_for 2 -n 2 "$@" --partition 3
    says '--partition 3: expected 2, a group for each rank on this host, or auto'
}

# Of files each rank reads its own part.  Four parts of 400 rows, none left over.
{
    echo a,b,c,name
    awk -v OFS=, 'BEGIN { for (i = 0; i < 400; i++) print i % 7, i % 11 / 3, i % 5 - 2.5, i % 3 ? "x" : "y" }'
} >table.csv
awk 'BEGIN { for (i = 0; i < 400; i++) print i % 3, i % 7 + 1 ":" i % 5 + 1, "9:1" }' >table.svm
rff='--features rff:32?gamma=0.1'
for name in $libraries; do
    use_library "$name"
    same_bits easgd-sync3 allreduce easgd local 'easgd-sync3 --precision C8s' 'easgd-sync1 --shard own'
    same_bits "easgd-sync1 --shard own --data csv:table.csv" "easgd-sync1 --shard own --data csv:table.csv $rff" \
        'allreduce --shard own --data libsvm:table.svm?scale=standard'
    all_counted easgd-async psgd-async diloco
    bad_input
    resumes
    partitions
done
echo "ranks by:$libraries"
