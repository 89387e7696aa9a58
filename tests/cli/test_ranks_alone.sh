# Processes that something else than MPI's launchers has started train alone; the first of them says so.
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"
train="train --data synth:logistic?n=50&d=3 --test none --model logistic --until epochs=1 --out none --quiet"
alone() { # VARIABLE=VALUE...
    # shellcheck disable=SC2086
    env "$@" "$DROVE" $train >out.txt 2>err.txt || fail "$*: $(cat err.txt)"
}
for size in WORLD_SIZE:RANK SLURM_STEP_NUM_TASKS:SLURM_PROCID; do
    rank=${size#*:} size=${size%:*}
    alone $size=3 $rank=0
    grep -q "warning: $size is 3, but no MPI was started: each of these processes trains alone" err.txt ||
        fail "$size: $(cat err.txt)"
    [ "$(wc -l <err.txt)" = 1 ] || fail "$size: $(cat err.txt)"
    alone $size=3 $rank=1 # one line a job
    [ ! -s err.txt ] || fail "$size, rank 1: $(cat err.txt)"
    alone $size=1 $rank=0
    [ ! -s err.txt ] || fail "$size of one: $(cat err.txt)"
    alone $size=3 $rank=0 DROVE_MPI=none
    [ ! -s err.txt ] || fail "$size, DROVE_MPI=none: $(cat err.txt)"
    alone $size=many $rank=0
    [ ! -s err.txt ] || fail "$size=many: $(cat err.txt)"
done
echo "one line a job"
