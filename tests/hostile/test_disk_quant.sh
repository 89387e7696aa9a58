# quant:FILE larger than memory: the same loss as in memory, by engines of floats and in low precision, --resume, and
# what is said of options and files that do not go together.
# ctest: slow: data larger than the memory that the program may take
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"
number() { sed -n "s/.*\"$1\": \([0-9.e-]*\).*/\1/p" "$2" | head -n 1; }
near() { awk -v a="$1" -v b="$2" -v most="$3" 'BEGIN { d = a - b; exit !(d <= most * b && -d <= most * b) }'; }

dense='synth:logistic?d=100&seed=3' sparse='synth:logistic?d=2000&density=0.02&seed=3'
make() { # FROM PRECISION ROWS
    [ -e "$2" ] || run_for 0 data convert "$1&n=$3" "quant:$2?precision=$2"
}
make "$dense" D4 120000
make "$dense" D8 60000
make "$dense" D32f 20000
make "$sparse" D8i16 60000
make "$sparse" D32fi32 30000

# ---- the same loss ----
# FROM PRECISION TOLERANCE OPTION...: after two epochs, on rows that neither has seen.
compare() {
    local from=$1 file=$2 most=$3
    shift 3
    for data in "quant:$file" "quant:$file?window=4100KiB"; do
        run_for 0 train --data "$data" --test "$from&n=2000&first=60000" --model logistic --until epochs=2 \
            --quiet --json "$@"
        mv out.txt "$(case $data in *window*) echo disk ;; *) echo memory ;; esac).json"
    done
    ! grep -q '"windows"' memory.json || fail "$file: read from disk without need"
    [ "$(number windows disk.json)" -ge 4 ] || fail "$file: expected several windows: $(cat disk.json)"
    near "$(number test_loss disk.json)" "$(number test_loss memory.json)" "$most" ||
        fail "$file $*: loss $(number test_loss disk.json), in memory $(number test_loss memory.json)"
    grep -q '"epochs": 2.0,' disk.json || fail "$file: $(cat disk.json)"
}
floats='--lr 0.1 --batch 8 --threads 1'
# Two seeds differ by up to 4 %, in memory as well.
for file in D4 D8 D32f; do compare "$dense" $file 0.05 $floats; done
for file in D8i16 D32fi32; do compare "$sparse" $file 0.03 $floats; done
low='--lr 0.01 --batch 1'
compare "$dense" D8 0.08 --precision D8M8 $low --threads 1
compare "$dense" D4 0.08 --precision D4M8 $low --threads 1
compare "$dense" D8 0.08 --precision D8M8 $low --threads 1 --order shuffle
compare "$dense" D8 0.05 --precision D8M16 $low --strategy hogwild --threads 2
compare "$dense" D32f 0.03 --precision D32fM32f $low --threads 1
compare "$sparse" D8i16 0.08 --precision D8i16M8 --lr 0.05 --batch 1 --threads 1
compare "$sparse" D8i16 0.05 --precision D8i16M16 --lr 0.05 --batch 4 --threads 1
grep -q '"precision": "D8i16M16"' disk.json || fail "$(cat disk.json)"

# ---- by --memory ----
# What the process itself takes differs, so a first run says how much it is; samples grow with the memory.
make "$dense" D16 160000
options="--model logistic --lr 0.1 --until epochs=1 --threads 1"
run train --data quant:D16 $options --quiet --memory 1MiB
[ "$status" = 2 ] && grep -q -e '--memory 1MiB: expected at least' err.txt || fail "$status: $(cat err.txt)"
memory=$(sed -n 's/.*expected at least \([0-9]*\) MiB.*/\1/p' err.txt | awk '{ printf "%d", 1.15 * ($1 + 3) }')
if [ $((memory * 1024 * 6 / 10)) -lt $(($(wc -c <D16) / 1024)) ]; then
    run_for 0 train --data quant:D16 $options --memory "${memory}MiB" --json
    grep -q 'read from disk while they are trained on' err.txt || fail "--memory ${memory}MiB: $(cat err.txt)"
    awk -v a="$(number test_accuracy out.txt)" 'BEGIN { exit !(a > 0.8) }' || fail "$(cat out.txt)"
    # With other windows a run goes on where its examples end.
    run_for 0 train --data quant:D16 --model logistic --lr 0.1 --threads 1 --batch 100 --memory "${memory}MiB" --until updates=900 --out grown --quiet
    run train --resume grown --memory 4GiB --until epochs=1
    [ "$status" = 2 ] && grep -q 'expected examples read from disk, as in the run to be continued, found them in memory' err.txt ||
        fail "$status: $(cat err.txt)"
    # 4 MiB more may be room for all of them on a machine where the program takes less today.
    run train --resume grown --memory "$((memory + 4))MiB" --until epochs=1 --json
    if [ "$status" = 2 ] && grep -q 'found them in memory' err.txt; then
        run_for 0 train --resume grown --memory "${memory}MiB" --until epochs=1 --json
    else
        [ "$status" = 0 ] || fail "$status: $(cat err.txt)"
        grep -q 'windows of [0-9]* blocks instead of [0-9]*, by the memory' err.txt || fail "$(cat err.txt)"
    fi
    grep -q 'read from disk while' err.txt || fail "$(cat err.txt)"
    grep -q '"epochs": 1\.0' out.txt || fail "$(cat out.txt)"
else
    echo "skipped: the program takes $memory MiB, and the data are no larger"
fi

# ---- --resume ----
# In the middle of a window: bit for bit what one run gives.
for way in "D8 --precision D8M8 --batch 1 --lr 0.01" "D8i16 --lr 0.1 --batch 2"; do
    file=${way%% *} rest="${way#* } --model logistic --threads 1 --test none --quiet"
    rm -rf one two
    run_for 0 train --data "quant:$file?window=4100KiB" $rest --until updates=50000 --out one
    run_for 0 train --data "quant:$file?window=4100KiB" $rest --until updates=23001 --save-every updates=23001 --out two
    run_for 0 train --resume two --until updates=50000 --quiet
    cmp one/model.safetensors two/model.safetensors || fail "$way: a resumed run has other parameters"
done

# ---- by another name ----
# As rows:FILE, or by its path alone, with the defaults, a file is trained on as it is as quant:FILE.
for file in D8 D32f D8i16 D32fi32; do
    for window in '' '?window=4100KiB'; do
        for data in "quant:$file" "rows:$file" "$file"; do
            rm -rf named
            run_for 0 train --defaults auto --data "$data$window" --test none --model logistic --lr 0.1 --batch 8 --threads 1 \
                --until updates=300 --out named --quiet
            [ "$data" != "quant:$file" ] || cp named/model.safetensors expected.safetensors
            cmp named/model.safetensors expected.safetensors || fail "$data$window: other parameters than quant:$file$window"
        done
    done
done

# ---- what goes wrong ----
refuses() { # WORDS DATA OPTION...
    local words=$1 data=$2
    shift 2
    run train --data "$data" --model logistic --lr 0.1 --until epochs=1 --quiet "$@"
    [ "$status" = 2 ] && grep -q -e "$words" err.txt || fail "$data $*: $status: $(cat err.txt)"
    [ "$(wc -l <err.txt)" = 1 ] || fail "$data $*: expected one line: $(cat err.txt)"
}
window='window=4100KiB'
refuses 'expected D16, found D8' "quant:D8?$window" --precision D16M16
refuses 'expected no index term' "quant:D8?$window" --precision D8i8M8
refuses 'order random: expected shuffle or blocks' "quant:D8?$window" --precision D8M8 --order random
refuses 'expected D8i8 (?precision), found D8i16' "quant:D8i16?$window&precision=D8[i8]"
refuses 'scaled before' "quant:D8?$window&scale=unit"
run_for 0 data convert "$dense&n=9000" 'rows:plain.rows?block=64KiB'
refuses 'precision D8M8: expected data quantised before' "rows:plain.rows?$window" --precision D8M8
head -c 4000000 D8 >cut
refuses 'cut: expected a whole file of rows' "quant:cut?$window"
{ head -c 4000000 D8i16 && head -c 1000000 /dev/zero | tr '\0' '\377' && tail -c +5000001 D8i16; } >damaged
refuses 'damaged: damaged: block [0-9]* at byte' "quant:damaged?$window"

# A file that cannot be read by blocks is read whole.
gzip -c -1 D32f >packed
run_for 0 train --data "quant:packed?$window" --model logistic --lr 0.1 --until epochs=1 --quiet --json
! grep -q '"windows"' out.txt || fail "a compressed file was read by blocks"
