# A saved model goes on learning from data that stay on disk: inputs are scaled as they were, tables have the model's columns,
# categories and classes.
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"
export XDG_CACHE_HOME=$PWD/cache
defaults=auto
number() { sed -n "s/.*\"$1\": \([0-9.e-]*\).*/\1/p" "$2" | head -n 1; }

# Steps of this size change no parameter: what such a run saves predicts what the first model does, if inputs mean the same.
still="--lr 1e-30 --rule sgd --weight-decay 0 --schedule constant --until epochs=1 --strategy sequential --threads 1"

# ---- numbers ----
# Training data of another place and spread than those of the first run.
numbers() {
    awk -v seed="$1" -v n="$2" -v shift="$3" -v spread="$4" 'BEGIN { srand(seed)
        for (i = 0; i < n; i++) { a = rand(); b = rand(); print shift + spread * a "," shift - spread * b "," (a > b ? 1 : 0) } }'
}
numbers 1 4000 0 1 >first.csv
numbers 2 9000 50 3 >second.csv
run_for 0 train --data csv:first.csv --model mlp:8 --test none --until epochs=3 --seed 1 --out first --quiet
run_for 0 predict first --data csv:second.csv --proba
cp out.txt before.txt
run_for 0 data convert csv:second.csv 'rows:second.rows?block=4KiB'
for test in none split; do
    rm -rf disk memory
    run_for 0 train --model first --data 'rows:second.rows?window=40KiB' $still --test $test --out disk --json
    [ "$(number windows out.txt)" -ge 2 ] || fail "expected several windows: $(cat out.txt)"
    run_for 0 predict disk --data csv:second.csv --proba
    cmp out.txt before.txt || fail "--test $test: on disk inputs are scaled anew"
    run_for 0 train --model first --data rows:second.rows $still --test $test --out memory --quiet
    run_for 0 predict memory --data csv:second.csv --proba
    cmp out.txt before.txt || fail "--test $test: in memory inputs are scaled anew"
done
# Held-out rows are scaled as they were, too: the same loss as drove eval's on all rows, but for the choice of rows.
run_for 0 eval first --data csv:second.csv --json
awk -v a="$(number loss out.txt)" -v b="$(sed -n 's/.*"test_loss": *\([0-9.e-]*\).*/\1/p' disk/log.jsonl | tail -n 1)" \
    'BEGIN { d = a - b; exit !(d < 0.1 * a && -d < 0.1 * a) }' || fail "held-out loss $(tail -n 1 disk/log.jsonl), of all $(number loss out.txt)"
# A scaling that is asked for counts.
rm -rf disk
run_for 0 train --model first --data 'rows:second.rows?window=40KiB&scale=standard' $still --test none --out disk --quiet
run_for 0 predict disk --data csv:second.csv --proba
! cmp -s out.txt before.txt || fail "expected another scaling, which was asked for"

# ---- a table, as text ----
people() {
    awk -v seed="$1" -v n="$2" -v third="$3" 'BEGIN { srand(seed)
        for (i = 0; i < n; i++) { a = rand(); k = int(3 * rand()); t = k == 0 ? "red" : k == 1 ? "blue" : third
            y = a + (t == "red") > 0.7 ? "yes" : "no"
            if (third == "green") print 10 * a "," t "," y
            else print y "," t "," (rand() < 0.1 ? "" : 10 * a + 3) ",more" } }'
}
{ echo 'age,town,alive'; people 1 3000 green; } >people.csv
{ echo 'alive,town,age,extra'; people 2 60000 grey; } >more.csv
run_for 0 train --data people.csv --label alive --model mlp:8 --test none --until epochs=3 --seed 1 --out people --quiet
run_for 0 eval people --data more.csv --json
loss=$(number loss out.txt)
# The rows are written as the model's; the process itself takes more than the memory.
run train --model people --data more.csv --label alive --memory 1MiB $still --test none --out none
[ "$status" = 2 ] && grep -q -e '--memory 1MiB: expected at least' err.txt || fail "$status: $(cat err.txt)"
cached=$(ls cache/drove/*.rows)
[ "$(echo "$cached" | wc -l)" = 1 ] || fail "expected one file in the cache: $cached"
run_for 0 eval people --data "rows:$cached" --json
[ "$(number loss out.txt)" = "$loss" ] || fail "of the rows loss $(number loss out.txt), of the text $loss"
run_for 0 predict people --data more.csv --proba
cp out.txt before.txt
rm -rf disk
run_for 0 train --model people --data "rows:$cached?window=200KiB" $still --test none --out disk --json
[ "$(number windows out.txt)" -ge 2 ] || fail "expected several windows: $(cat out.txt)"
run_for 0 predict disk --data more.csv --proba
cmp out.txt before.txt || fail "of a table inputs are scaled anew"
# It learns.
rm -rf disk
run_for 0 train --model people --data "rows:$cached?window=200KiB" --threads 1 --lr 0.05 --until epochs=3 --test none --out disk --quiet
run_for 0 eval disk --data more.csv --json
awk -v a="$(number loss out.txt)" -v b="$loss" 'BEGIN { exit !(a < b) }' || fail "loss $(number loss out.txt), before $loss"
# Rows for a model are others than those for a new one, and those for another model.
run train --data more.csv --label alive --memory 1MiB --model mlp:8 --out none
[ "$(ls cache/drove/*.rows | wc -l)" = 2 ] || fail "expected a second file: $(ls cache/drove)"
run_for 0 train --data more.csv --label alive --model mlp:8 --test none --until epochs=1 --seed 1 --out others --quiet
run train --model others --data more.csv --label alive --memory 1MiB $still --test none --out none
[ "$(ls cache/drove/*.rows | wc -l)" = 3 ] || fail "expected a third file: $(ls cache/drove)"
# What the model cannot read is said before anything is written.
{ echo 'age,alive'; people 3 60000 green | cut -d, -f1,3; } >less.csv
run train --model people --data less.csv --label alive --memory 1MiB $still --test none --out none
[ "$status" = 2 ] && grep -q '"town"' err.txt || fail "$status: $(cat err.txt)"
sed 's/^yes,/maybe,/' more.csv >maybe.csv
run train --model people --data maybe.csv --label alive --memory 1MiB $still --test none --out none
[ "$status" = 2 ] && grep -q "expected one of the training data's 2 classes" err.txt || fail "$status: $(cat err.txt)"
[ "$(ls cache/drove/*.rows | wc -l)" = 3 ] || fail "a refused file left something: $(ls -A cache/drove)"
