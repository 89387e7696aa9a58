# Training data that stay on disk: the same loss as in memory, losses and metrics of examples held out, --resume, text
# through a cache, and what is said of files that change and of options that need all data in memory.
# ctest: slow: data larger than the memory that the program may take
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"
export XDG_CACHE_HOME=$PWD/cache
number() { sed -n "s/.*\"$1\": \([0-9.e-]*\).*/\1/p" "$2" | head -n 1; }
near() { awk -v a="$1" -v b="$2" -v most="$3" 'BEGIN { d = a - b; exit !(d <= most * b && -d <= most * b) }'; }

# ---- the same loss ----
# FROM MODEL WINDOW TOLERANCE: after three epochs, on data of their own.
compare() {
    rm -f train.rows test.rows
    run_for 0 data convert "$1&n=6000&first=0" 'rows:train.rows?block=8KiB'
    run_for 0 data convert "$1&n=2000&first=6000" rows:test.rows
    for data in rows:train.rows "rows:train.rows?window=$3"; do
        run_for 0 train --data "$data" --test rows:test.rows --model "$2" --lr 0.1 --batch 8 --threads 1 --until epochs=3 --quiet --json
        mv out.txt "$(case $data in *window*) echo disk ;; *) echo memory ;; esac).json"
    done
    [ "$(number windows disk.json)" -ge 4 ] || fail "$1: expected several windows: $(cat disk.json)"
    near "$(number test_loss disk.json)" "$(number test_loss memory.json)" "$4" ||
        fail "$1: held-out loss $(number test_loss disk.json), in memory $(number test_loss memory.json)"
    grep -q '"epochs": 3.0,' disk.json || fail "$1: $(cat disk.json)"
}
compare 'synth:logistic?d=20&seed=3' logistic 60KiB 0.03
compare 'synth:logistic?d=200&density=0.1&seed=3' logistic 100KiB 0.03
compare 'synth:logistic?d=20&seed=3' mlp:16 60KiB 0.05

# ---- by itself ----
# The defaults, with examples held out for testing and for stopping; they are of blocks that are not trained on.
rm -f d.rows
run_for 0 data convert 'synth:digits?n=4000' 'rows:d.rows?block=32KiB'
run_for 0 train --defaults auto --data 'rows:d.rows?window=800KiB' --model mlp:16 --strategy hogwild --threads 2 --out d --json
grep -q '"disk": {' out.txt || fail "$(cat out.txt)"
grep -q 'read from disk while they are trained on: [0-9]* blocks, [0-9]* windows an epoch' err.txt || fail "$(cat err.txt)"
awk -v a="$(number test_accuracy out.txt)" 'BEGIN { exit !(a > 0.8) }' || fail "held-out accuracy $(number test_accuracy out.txt)"
run_for 0 eval d --data 'synth:digits?n=500&seed=9'
grep -q accuracy out.txt || fail "$(cat out.txt)"

# Fewer examples to judge by than were asked for are said to be so.
rm -f many.rows
run_for 0 data convert 'synth:logistic?n=150000&d=4' 'rows:many.rows?block=16KiB'
for part in 20% 500; do
    run_for 0 train --data 'rows:many.rows?window=800KiB' --model logistic --lr 0.1 --until validation=$part,epochs=1 --out none --threads 1 --json
    [ $part = 500 ] || grep -q 'until validation has [0-9]* examples, not [0-9]*: no more of data on disk are held out' err.txt || fail "$(cat err.txt)"
    [ $part = 20% ] || ! grep -q 'until validation has' err.txt || fail "$(cat err.txt)"
    [ $part = 20% ] || grep -q '"validation_examples": 500' out.txt || fail "$(cat out.txt)"
done

# Strategies whose workers step together, and a device.
for strategy in sync leashed softsync easgd-async; do
    run_for 0 train --data 'rows:d.rows?window=800KiB' --model mlp:16 --strategy $strategy --threads 3 --until epochs=2 --lr 0.05 --quiet --json
    awk -v a="$(number test_accuracy out.txt)" 'BEGIN { exit !(a > 0.3) }' || fail "$strategy: $(number test_accuracy out.txt)"
done
run_for 0 train --data 'rows:d.rows?window=800KiB' --model mlp:16 --strategy hogwild --workers cpu:0+fake --until epochs=1 --lr 0.05 --quiet
run_for 0 train --data 'rows:d.rows?window=800KiB&crop=24x24' --model mlp:16 --loaders 1 --threads 1 --until epochs=1 --lr 0.05 --quiet

# Workers that meet, with windows of few batches: nobody waits for a window that another one holds back.
for strategy in sync local easgd-sync3 allreduce softsync ssp:1; do
    timeout -s KILL 60 "$DROVE" train --defaults classic --data 'rows:train.rows?window=60KiB' --test none --model logistic --lr 0.01 \
        --batch 20 --strategy $strategy --threads 3 --until epochs=20 --out none --quiet >out.txt 2>err.txt ||
        fail "$strategy with small windows: status $?: $(cat err.txt)"
done
run train --data 'rows:train.rows?window=60KiB' --test none --model logistic --lr 0.1 --batch 400 --threads 3 --strategy sync
[ "$status" = 2 ] && grep -q 'expected windows of at least 6 batches of 400 examples' err.txt || fail "$status: $(cat err.txt)"

# ---- --resume ----
# In the middle of a window: bit for bit what one run gives.
common="--model logistic --threads 1 --lr 0.1 --batch 8 --test none --quiet"
rm -rf one two
run_for 0 train --data 'rows:train.rows?window=60KiB' $common --until updates=1700 --out one
run_for 0 train --data 'rows:train.rows?window=60KiB' $common --until updates=613 --save-every updates=613 --out two
run_for 0 train --resume two --until updates=1700 --quiet
cmp one/model.safetensors two/model.safetensors || fail "a resumed run has other parameters"

# ---- text ----
awk 'BEGIN { srand(4); print "a,b,c,y"
    for (i = 0; i < 60000; i++) { a = rand(); b = rand()
        print a "," b "," (i % 3 ? "red" : "blue") "," (a - b + (i % 3 ? 0.3 : 0) > 0.2 ? "yes" : "no") } }' >t.csv
# The process itself takes more than that: it says so, with what it needs.
run train --defaults auto --data t.csv --label y --memory 1MiB --model logistic --out none --until epochs=3
[ "$status" = 2 ] && grep -q -e '--memory 1MiB: expected at least [0-9]* MiB: [0-9]* MiB for the program' err.txt || fail "$status: $(cat err.txt)"
[ "$(ls cache/drove/*.rows | wc -l)" = 1 ] || fail "expected one file in the cache: $(ls cache/drove)"
cached=$(ls cache/drove/*.rows)
run_for 0 data info "rows:$cached"
grep -q '^rows      60000' out.txt || fail "$(cat out.txt)"
run_for 0 train --data "rows:$cached?window=200KiB&scale=standard" --model logistic --lr 0.1 --until epochs=2 --threads 1 --out text --json
awk -v a="$(number test_accuracy out.txt)" 'BEGIN { exit !(a > 0.95) }' || fail "text: $(number test_accuracy out.txt)"
# Rows made from a table are data to test on where they are encoded alike.
run_for 0 eval text --data "rows:$cached"
# Another file of the same name, size and time has a cache of its own.
mkdir -p a b
for f in a b; do awk -v f=$f 'BEGIN { print "x,y"; for (i = 0; i < 90000; i++) print (i + (f == "b")) % 10 "," i % 2 }' >$f/t.csv; touch -d 2024-01-01 $f/t.csv; done
for f in a b; do (cd $f && run train --defaults auto --data t.csv --label y --memory 1MiB --model logistic --out none); done
[ "$(ls cache/drove/*.rows | wc -l)" = 3 ] || fail "expected a cache for each file: $(ls cache/drove)"
# A run that is ended while it writes the cache leaves nothing of it, not even when it is killed.
for signal in INT KILL; do
    "$DROVE" train --defaults classic --data 'synth:logistic?n=100000000' --memory 64MiB --model logistic --lr 0.1 --out none >out.txt 2>err.txt &
    job=$!
    for _ in $(seq 300); do grep -q 'written to' err.txt && break; sleep 0.1; done
    sleep 0.3
    kill -s $signal $job
    status=0 && wait $job || status=$?
    [ "$status" -gt 128 ] || fail "SIG$signal: status $status: $(cat err.txt)"
    [ "$(ls -A cache/drove | wc -l)" = 3 ] || fail "SIG$signal: $(ls -A cache/drove)"
done
# Nowhere to write it.
XDG_CACHE_HOME=/dev/null run train --defaults auto --data t.csv --label y --memory 1MiB --model logistic --out none
[ "$status" = 2 ] && grep -q 'expected a folder for a file of rows' err.txt || fail "$status: $(cat err.txt)"
# The model knows the columns by name.
printf 'c,b,a\nred,0.9,0.05\nblue,0.1,0.95\n' >new.csv
run_for 0 predict text --data new.csv
grep -q '^no,' out.txt && grep -q '^yes,' out.txt || fail "$(cat out.txt)"

# ---- what goes wrong ----
# A file that is cut while it is in use ends the run with a line, and the state that was saved is there.
rm -rf cut && cp train.rows cut.rows
"$DROVE" train --defaults classic --data 'rows:cut.rows?window=60KiB' --model logistic --threads 2 --lr 0.01 --until epochs=1000000 \
    --test none --quiet --out cut >out.txt 2>err.txt &
job=$!
for _ in $(seq 300); do [ -e cut/model.safetensors ] && break; sleep 0.1; done
truncate -s 20000 cut.rows
status=0 && wait $job || status=$?
[ "$status" = 1 ] || [ "$status" = 2 ] || fail "a cut file: status $status: $(cat err.txt)"
grep -q 'cut.rows: the file has changed while it is in use: expected [0-9]* bytes, found 20000' err.txt || fail "$(cat err.txt)"

# OPTIONS WORDS: refused before anything is trained.
refuses() {
    run train --data 'rows:train.rows?window=60KiB' --model logistic --lr 0.1 --until epochs=1 --quiet $1
    [ "$status" = 2 ] && grep -q -e "$2" err.txt || fail "$1: $status: $(cat err.txt)"
}
refuses '--shard own --threads 2' 'shard own: expected whole, as the training data stay on disk'
refuses '--order random' 'order random: expected shuffle'
refuses '--features rff:64' 'features rff:64: expected none'
refuses '--strategy hogbatch --threads 2' 'expected one whose workers take batches themselves'
refuses '--strategy hogwild --workers 2' 'threads'
refuses '--memory 5m' '\-\-memory: expected a whole number with an optional KiB, MiB or GiB'
run_for 0 data convert 'synth:logistic?n=90&d=20' 'rows:few.rows?block=8KiB'
run train --data 'rows:few.rows?window=60KiB' --model logistic
[ "$status" = 2 ] && grep -q 'expected at least 4 whole blocks of' err.txt || fail "$status: $(cat err.txt)"
