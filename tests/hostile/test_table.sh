# Tables: train, eval and predict by the names of columns, and what is said of files that do not fit.
# ctest: slow: reads some two hundred tables, good and bad
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"
number() { sed -n "s/.*\"$1\": \([0-9.e-]*\).*/\1/p" "$2" | head -n 1; }

# Survival follows from sex, class and age; some cells are missing, one name spans two lines.
awk 'BEGIN {
    srand(3)
    print "id,name,class,age,sex,boarded,alive"
    for (i = 1; i <= 600; i++) {
        sex = rand() < 0.5 ? "man" : "woman"; class = 1 + int(3 * rand()); age = int(70 * rand())
        alive = (sex == "woman") + (class == 1) + (age < 12) - (class == 3) >= 1 ? "yes" : "no"
        printf "%d,\"Person %d,\n of %s\",%s,%s,%s,1912-04-%02d,%s\n", 1000 + i, i, rand(), class == 1 ? "1st" : class == 2 ? "2nd" : "3rd",
            rand() < 0.1 ? "NA" : age, sex, 1 + i % 28, alive
    }
}' >people.csv

run_for 0 data info people.csv --label alive
for line in '^column  *type' '^id  *id, left out' '^class  *category  *3' '^age  *number .* 1 + missing' \
    '^boarded  *date' '^alive  *label' '^name .*left out'; do
    grep -q "$line" out.txt || fail "data info: expected $line: $(cat out.txt)"
done

run_for 0 train people.csv --label alive --test split --model logistic --lr 0.3 --threads 1 --until epochs=10 --out run
grep -q 'table: 7 columns, 600 rows' err.txt || fail "expected the table's summary: $(cat err.txt)"
[ "$(grep -c '  [a-z ]*: ' err.txt)" -le 12 ] || fail "expected a short summary: $(cat err.txt)"
run_for 0 eval run/model.safetensors --data people.csv --json
awk -v a="$(number accuracy out.txt)" 'BEGIN { exit !(a > 0.85) }' || fail "accuracy: $(cat out.txt)"
accuracy=$(number accuracy out.txt)

# Columns in another order, with another separator, decimal comma, CRLF, a mark of UTF-8 and an extra column.
{
    printf '\357\273\277'
    printf 'sex;alive;extra;boarded;age;class\r\n'
    awk 'BEGIN { RS = "\n[0-9]*,\"" } NR > 1 { n = split($0, c, "\""); split(c[n], f, ","); printf "%s;%s;x;%s;%s;%s\r\n", f[4], f[6], f[5], f[3] == "NA" ? "" : f[3] ",0", f[2] }' people.csv |
        tr -d '\n' | tr '\r' '\n' | sed 's/$/\r/'
} >moved.csv
run_for 0 eval run/model.safetensors --data moved.csv --json
[ "$(number examples out.txt)" = 600 ] || fail "moved.csv: $(cat out.txt)"
[ "$(number accuracy out.txt)" = "$accuracy" ] || fail "moved.csv: expected $accuracy: $(cat out.txt)"
grep -q '1 column of no use' err.txt || fail "expected a note on the extra column: $(cat err.txt)"

# No label, an unseen category, a missing cell, through a pipe and compressed.
printf 'class,age,sex,boarded\n1st,30,woman,1912-04-10\n4th,,man,1912-04-11\n' >new.csv
run_for 0 predict run/model.safetensors --data new.csv
[ "$(head -n 1 out.txt)" = label,p_no,p_yes ] && [ "$(cut -d, -f1 out.txt | tail -n 2 | head -n 1)" = yes ] || fail "predictions: $(cat out.txt)"
grep -q 'column "class": 1 cell .*"4th"' err.txt || fail "expected a note on the unseen value: $(cat err.txt)"
cp out.txt expected.txt
status=0
"$DROVE" predict run/model.safetensors --data - <new.csv >out.txt 2>err.txt || status=$?
[ "$status" = 0 ] && cmp -s out.txt expected.txt || fail "standard input: $(cat err.txt)"
gzip -c new.csv >new.csv.gz
run_for 0 predict run/model.safetensors --data new.csv.gz
cmp -s out.txt expected.txt || fail "gzip: $(cat out.txt)"
run_for 0 predict run/model.safetensors --data people.csv --proba
[ "$(wc -l <out.txt)" = 600 ] || fail "predict people.csv: $(wc -l <out.txt) lines"

# Training goes on from the model with its columns and categories, wherever they stand, on rows that lack some.
on='--label alive --test none --model run/model.safetensors --threads 1 --until epochs=1 --quiet'
run_for 0 train people.csv $on --out on
run_for 0 train moved.csv $on --out on-moved
cmp on/model.safetensors on-moved/model.safetensors || fail "moved columns give another model"
if cmp -s run/model.safetensors on/model.safetensors; then fail "nothing was trained"; fi
head -n 41 people.csv | sed 's/,1st,/,4th,/' >few.csv
run_for 0 train few.csv $on --out on-few
run_for 0 eval on-few/model.safetensors --data people.csv
run_for 0 train 'people.csv?bins=8' $on --out on-bins
cmp on/model.safetensors on-bins/model.safetensors || fail "a key changed the model's columns"
run_for 0 train 'people.csv?bins=8' --label alive --test none --model run/model.safetensors --threads 1 --until epochs=1
grep -q '?bins is left out' err.txt || fail "expected a note on ?bins: $(cat err.txt)"
# A resumed run does not mistake another model in its place for the one that it went on from.
cp -r run start
both='--label alive --test none --model start --threads 1 --strategy sequential --quiet'
run_for 0 train people.csv $both --until epochs=3 --out whole
run_for 0 train people.csv $both --until epochs=1 --out parts
run_for 0 train 'people.csv?ignore=age' --label alive --model logistic --threads 1 --until epochs=1 --quiet --out other
cp other/model.safetensors start/model.safetensors
run_for 0 train --resume parts --until epochs=3 --quiet
cmp whole/model.safetensors parts/model.safetensors || fail "a resumed run differs"
sed 's/,yes$/,maybe/' people.csv >maybe.csv
wrong 'class "maybe"\|"maybe"' train maybe.csv $on
printf 'class,age,alive\n1st,30,yes\n2nd,31,no\n' >less.csv
wrong '2 missing: "sex", "boarded"' train less.csv $on
run_for 0 train 'people.csv?bins=8' --label alive --model logistic --threads 1 --quiet --until epochs=2 --out binned
run_for 0 train people.csv --label alive --model binned --threads 1 --quiet --until epochs=1
run_for 0 train people.csv --label alive --model 'mlp:8' --threads 2 --until epochs=1 --quiet --out deep
run_for 0 train --quiet --resume deep --until epochs=2
run_for 0 predict deep/model.safetensors --data new.csv
# A network on random features of the table, and a table as half of a cluster's data.
run_for 0 train people.csv --label alive --features rff:64 --model logistic --threads 1 --until epochs=1 --quiet --out map
run_for 0 predict map/model.safetensors --data new.csv

# Errors: one line, status 2.
printf 'class,age\n1st,30\n' >less.csv
wrong '2 missing: "sex", "boarded"' predict run/model.safetensors --data less.csv
wrong 'label column "alive"' eval run/model.safetensors --data new.csv
wrong 'expected a table' eval run/model.safetensors --data csv:new.csv
wrong 'did you mean "alive"' train people.csv --label alife
wrong 'no column "height"\|expected a column' data info people.csv --label height
printf 'a,b,y\n1,2,0\n3,4\n' >ragged.csv
wrong 'ragged.csv:3: row 2: expected 3 cells, found 2: none for column "y"' train ragged.csv
printf 'a,b,y\n1,2,0\n3,4,1,5\n' >ragged.csv
wrong 'found 4: more after column "y"' train ragged.csv
printf 'a,b,y\n1,"2,0\n' >quote.csv
wrong 'quote.csv:2: row 1: column "b": expected a closing quote' train quote.csv
printf 'PK\003\004 xl' >sheet.csv
wrong 'no ZIP archive, or truncated' train sheet.csv
printf 'a,b\n\000,1\n' >binary.csv
wrong 'binary' train binary.csv
: >empty.csv
wrong 'empty file' train empty.csv
printf 'a,y\n1,2\n' >one.csv
wrong 'a column to learn from, found one row' train one.csv
wrong 'cannot be opened\|no such file' train absent.csv
wrong '--label: expected --data with columns' train --data synth:digits --label x

# Streams whose row, cell or line does not end: refused when that much of it is there, in one line.
endless() { # BEGIN BYTE: BEGIN, and then 100 MB
    printf "$1"
    head -c 100000000 /dev/zero | tr '\0' "$2" || true
}
endless 'a,b,y\n1,2,0\n3,4' x | wrong 'standard input:3: expected records of at most 67108864 bytes' data info -
{ printf 'a,b,y\n1,2,0\n3,"4' && yes 'to be continued' | head -c 100000000 || true; } |
    wrong 'standard input:3: .*a quote that is never closed' data info -
endless '1 1:2\n0 1:' 3 | wrong 'standard input:2: expected lines of at most 67108864 bytes' data info libsvm:-

# Names that hold the characters of lists and specs.
printf 'a+b,R&D,5%%,y\n1,2,3,0\n3,1,6,1\n4,5,1,1\n' >odd.csv
run_for 0 data info 'odd.csv?label=R%26D&ignore=5%25'
grep -q '^R&D  *label' out.txt && grep -q '^5%  *ignored' out.txt || fail "odd names: $(cat out.txt)"
run_for 0 data info 'odd.csv?types=a+b:category+y:category' --label '5%'
for line in '^a+b  *category' '^y  *category' '^5%  *label'; do
    grep -q "$line" out.txt || fail "odd names: expected $line: $(cat out.txt)"
done
wrong 'write %26' data info 'odd.csv?ignore=R&D'
wrong 'write %25' data info 'odd.csv?ignore=5%'

# A few words among numbers, in a label, and a row of sums: the same model as from missing cells.
awk 'BEGIN {
    srand(6)
    print "a,b,y" >"gaps.csv"; print "a,b,y" >"words.csv"
    for (i = 1; i <= 300; i++) {
        a = int(5000 * rand()) / 100; b = int(10 * rand()); y = sprintf("%.3f", 0.3 * a + b)
        printf "%s,%d,%s\n", i % 100 == 7 ? "NA" : a, b, i == 40 ? "" : y >"gaps.csv"
        printf "%s,%d,%s\n", i % 100 == 7 ? "unknown" : a, b, i == 40 ? "unknown" : y >"words.csv"
    }
    print "Total,1e308," >"words.csv"
}'
for table in gaps words; do
    run_for 0 train $table.csv --label y --model linear --threads 1 --until epochs=3 --test none --out from_$table
    grep -q 'table: 3 columns, 299 rows, 3 features' err.txt || fail "$table.csv: $(cat err.txt)"
done
for note in 'column "a": 3 cells are no number and count as missing: "unknown", first in row 7 (?types=a:text' \
    'label "y": 1 cell is no number and counts as missing: "unknown", first in row 40'; do
    grep -q "$note" err.txt || fail "words.csv: expected $note: $(cat err.txt)"
done
grep -q 'infinite' err.txt && fail "a row without a label counts: $(cat err.txt)"
run_for 0 predict from_words/model.safetensors --data words.csv --out by_words.csv
grep -q 'column "a": 4 cells are no number' err.txt && grep -q 'column "b": 1 cell is infinite or beyond' err.txt ||
    fail "predict words.csv: $(cat err.txt)"
run_for 0 predict from_gaps/model.safetensors --data gaps.csv --out by_gaps.csv
head -n 301 by_words.csv | cmp -s - by_gaps.csv || fail "words.csv: expected the predictions of gaps.csv"
run_for 0 eval from_words/model.safetensors --data words.csv --json
[ "$(number examples out.txt)" = 299 ] || fail "eval words.csv: $(cat out.txt)"

# Labels and headers that are likely mistakes.
printf 'a,y,y\n1,2,0\n3,4,1\n' >two.csv
wrong 'label: expected one column called "y" in two.csv, found 2' data info two.csv --label y
run_for 0 data info two.csv --label 2
awk 'BEGIN { print "stars_text,y"; for (i = 0; i < 80; i++) printf "word%d a b c d,%d\n", i, i % 2 }' >reviews.csv
run_for 0 data info reviews.csv --label y # text alone: its words are used, and that is said
grep -q 'column "stars_text": its words are used' out.txt || fail "text alone: $(cat out.txt)"
cp out.txt alone.txt
run_for 0 data info 'reviews.csv?text=stars_text' --label y
grep -v '^notes' alone.txt | cmp -s - out.txt || fail "text= differs: $(cat alone.txt out.txt)"
printf '# made in May\na,b,y\n1,2,0\n3,4,1\n' >title.csv
run_for 0 data info title.csv --label y
grep -q 'the first line, "# made in May", is left out: it is no row of 3 cells' out.txt || fail "title.csv: $(cat out.txt)"
printf '# made,in,May\na,b,y\n1,2,0\n3,4,1\n' >title.csv # as many cells as names
wrong 'no column "y" in its first line, but in line 2' data info title.csv --label y
printf '# made, in May\na,b,y\n1,2,0\n3,4,1\n' >title.csv
wrong 'is the first line a title or a comment above the header' data info title.csv
printf 'a,y\n1,1.5\n2,inf\n' >infinite.csv
wrong 'infinite.csv: row 2: column "y": expected a finite number up to 3.4e38 as label, found "inf"' \
    data info infinite.csv --label y
awk 'BEGIN {
    split("yes,Yes,no ,no", c, ","); print "a,y"
    for (i = 0; i < 60; i++) printf "%d,\"%s\"\n", i % 13, c[1 + i % 4]
}' >case.csv
run_for 0 data info case.csv --label y
grep -q 'classes   2: ' out.txt && grep -q 'truth values in upper and lower case are one class' out.txt ||
    fail "case.csv: $(cat out.txt)"
sed 's/yes/rain/;s/Yes/Rain/' case.csv >weather.csv
run_for 0 data info weather.csv --label y
grep -q 'classes   3: ' out.txt && grep -q 'classes "Rain" and "rain" differ in case alone' out.txt ||
    fail "weather.csv: $(cat out.txt)"
awk 'BEGIN { print "a,y"; for (i = 0; i < 60; i++) printf "%d,name%d\n", i % 13, i }' >names.csv
wrong 'found 60 different labels in 60 rows' data info names.csv --label y
awk 'BEGIN { print "a,y"; for (i = 0; i < 60; i++) printf "%d,2021-01-%02d\n", i % 13, 1 + i % 5 }' >days.csv
run_for 0 data info days.csv --label y
grep -q 'the labels are dates, read as classes' out.txt || fail "days.csv: $(cat out.txt)"
sed 's/alive/ALIVE/' people.csv >upper.csv
wrong 'expected the label column "alive", found "ALIVE"' eval run/model.safetensors --data upper.csv

# Amounts and dates as people write them: the same model as from plain ones.
awk 'BEGIN {
    srand(5)
    print "rate,price,born,y" >"plain.csv"; print "rate,price,born,y" >"written.csv"
    for (i = 0; i < 300; i++) {
        rate = int(1000 * rand()) / 10; price = int(900 * rand()) + 1000
        d = 1 + int(28 * rand()); m = 1 + int(12 * rand())
        y = rate > 50 ? "yes" : "no"
        printf "%s,%d.50,2020-%02d-%02d,%s\n", rate, price, m, d, y >"plain.csv"
        printf "%s %%,\"$%d,%03d.50\",", rate, int(price / 1000), price % 1000 >"written.csv"
        printf "%02d/%02d/2020,%s\n", d, m, y >"written.csv"
    }
}'
for table in plain written; do
    run_for 0 train $table.csv --label y --model logistic --threads 1 --until epochs=3 --quiet --test none \
        --out of_$table
done
for table in plain written; do
    run_for 0 predict of_written/model.safetensors --data $table.csv --out by_written.csv
    run_for 0 predict of_plain/model.safetensors --data plain.csv --out by_plain.csv
    cmp -s by_written.csv by_plain.csv || fail "$table.csv: expected the predictions of the plain table"
done
run_for 0 data info written.csv --label y
for line in '^rate  *number, %' '^price  *number, \$' '^born  *date, day first'; do
    grep -q "$line" out.txt || fail "data info: expected $line: $(cat out.txt)"
done

# The real tables, where they are: every one loads and trains.
folder=${DROVE_TEST_DATA:-$DROVE_SOURCE_DIR/../shared/data}/tables
if [ ! -r "$folder/titanic.train.csv" ]; then
    echo "skipped: the tables of $folder are not there (DROVE_TEST_DATA names the folder)"
    exit 0
fi
for table in titanic:survived Computers:price MedExp:med Males:wage BudgetFood:wfood biopsy:class colon:status Treatment:treat; do
    name=${table%:*}
    defaults=auto run_for 0 train "$folder/$name.train.csv" --label "${table#*:}" --test "$folder/$name.test.csv" \
        --model mlp:128,128,128 --threads 2 --until epochs=2 --json
    echo "$name: test loss $(number test_loss out.txt), accuracy $(number test_accuracy out.txt)"
done
