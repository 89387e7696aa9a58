# Calls of the system that fail: a short walk of scripts/faults, and messages that must be these.
# ctest: slow: a run of the program for each call that fails
# ctest: timeout=900
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"
faults=$DROVE_BUILD_DIR/tests/faults/libdrove_faults.so
[ -e "$faults" ] || { echo "built without DROVE_FAULTS: skipped"; exit 77; }
command -v python3 >/dev/null || { echo "no python3: skipped"; exit 77; }
has_proc || exit 77 # LeakSanitizer reads it
export DROVE_MODULE_PATH=/nowhere
small="--defaults classic --data synth:logistic?n=60&d=4 --model logistic --threads 1 --until epochs=1 --quiet"

# The n-th call of WHAT fails, for the first n from FIRST on at which the line of error has WORD.
fails_with() { # WHAT FIRST WORD STATUS ARGUMENT...
    local what=$1 n=$2 word=$3 wanted=$4
    shift 4
    for n in $(seq "$n" $((n + 40))); do
        rm -rf out data.csv
        status=0
        DROVE_FAULT=$what:$n LD_PRELOAD=$faults "$DROVE" "$@" >out.txt 2>err.txt || status=$?
        if grep -q "$word" err.txt; then
            [ "$status" = "$wanted" ] || fail "$what:$n: expected status $wanted, found $status: $(cat err.txt)"
            return
        fi
    done
    fail "$what: no call gave \"$word\"; the last one: $(cat err.txt)"
}

# A folder that cannot be synced: the file is there, and the message says so.
# shellcheck disable=SC2086
fails_with fsync 1 'data.csv: is written, but its folder cannot be synced: .*Input/output error' 1 \
    data convert 'synth:logistic?n=60&d=4' csv:data.csv
[ "$(wc -l <data.csv)" -ge 60 ] || fail "expected the whole file"
rm data.csv
fails_with rename 1 'data.csv: cannot be replaced' 1 data convert 'synth:logistic?n=60&d=4' csv:data.csv
[ -z "$(ls data.csv* 2>/dev/null)" ] || fail "expected nothing of data.csv: $(ls data.csv*)"

# A read of a block that a signal interrupts is made again: the same model.
# shellcheck disable=SC2086
"$DROVE" data convert 'synth:logistic?n=4000&d=4' 'rows:a.rows?block=4096' 2>/dev/null
disk="--defaults classic --data rows:a.rows?window=1MiB --test none --model logistic --lr 0.05 --threads 1 --until epochs=1 --quiet"
# shellcheck disable=SC2086
"$DROVE" train $disk --out whole
for n in 1 3 9; do
    rm -rf out
    # shellcheck disable=SC2086
    DROVE_FAULT=pread:$n:4 LD_PRELOAD=$faults "$DROVE" train $disk --out out >out.txt 2>err.txt || fail "EINTR: $(cat err.txt)"
    grep -q '1 failed: pread' err.txt || fail "pread:$n: expected an interrupted read: $(cat err.txt)"
    cmp whole/model.safetensors out/model.safetensors || fail "pread:$n: another model"
done

# Every text of a run file is read, or memory is named: --out is never lost.  Each day a third of the calls.
take_day
first=$((1 + 2 * (DROVE_TEST_DAY % 3))) step=6
[ -z "${DROVE_TEST_LONG-}" ] || first=1 step=2
printf '%s\n' 'defaults: classic' 'data: synth:logistic?n=60&d=4' 'model: logistic' 'threads: 1' 'until: epochs=1' \
    'out: out' >run.yaml
for n in $(seq $first $step 150); do
    rm -rf out
    status=0
    DROVE_FAULT=memory:$n LD_PRELOAD=$faults "$DROVE" train run.yaml --quiet >out.txt 2>err.txt || status=$?
    if [ "$status" = 0 ]; then
        [ -s out/model.safetensors ] || fail "memory:$n: status 0 without a model"
    elif [ "$status" = 2 ]; then
        fail "memory:$n: $(cat err.txt)"
    fi
done

# The folder is moved away on the way: a failed write, not a mistake in the options.
rm -rf out moved
# shellcheck disable=SC2086
"$DROVE" train $small --until seconds=30 --save-every seconds=0.1 --out out >out.txt 2>err.txt &
run=$!
for _ in $(seq 200); do [ -s out/state.safetensors ] && break || sleep 0.05; done
mv out moved
status=0
wait $run || status=$?
[ "$status" = 1 ] || fail "a folder that went: expected status 1, found $status: $(cat err.txt)"
grep -q 'out/.*No such file' err.txt || fail "a folder that went: $(cat err.txt)"
run_for 0 train --resume moved --until updates=1 --quiet

# The walk.  What it finds is left in failures.txt, each with its command.
cd "$DROVE_SOURCE_DIR"
case $(gcc -print-file-name=liblsan.so 2>/dev/null) in
/*)
    scripts/faults --leaks --build "$DROVE_BUILD_DIR" --folder "$OLDPWD/leaks" --only '^(train|train-runfile|eval)$' \
        --most 1 --sample 2 --seed "$DROVE_TEST_DAY"
    ;;
*) echo "no liblsan.so: leaks are not looked for" ;;
esac
# shellcheck disable=SC2086
scripts/faults --build "$DROVE_BUILD_DIR" --folder "$OLDPWD/walk" --most ${DROVE_TEST_FAULTS_MOST-1} \
    --sample ${DROVE_TEST_FAULTS_SAMPLE-1} --seed "$DROVE_TEST_DAY"
