# Files as people have them by mistake: one clear line each, status 2, and the word that helps.
# ctest: slow: starts the program for each mistake
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"
defaults=auto

awk 'BEGIN {
    srand(1)
    print "a,b,colour,kind"
    for (i = 0; i < 120; i++) {
        a = rand(); b = rand()
        print a "," b "," (i % 3 ? "red" : "blue") "," (a + b > 1 ? "big" : "small")
    }
}' >good.csv
run_for 0 train good.csv --label kind --model mlp:16 --until epochs=20 --threads 1 --out m --quiet

# WORD FILE: refused as training data, as test data and as data of a finished model, each time in one line.
refused() {
    wrong "$1" train "$2" --label kind --out none
    wrong "$1" train good.csv --label kind --test "$2" --out none --quiet
    wrong "$1" eval m --data "$2"
    wrong "$1" predict m --data "$2"
}

# ---- what is no table ----
: >empty.csv
refused 'empty.csv: expected a table, found an empty file' empty.csv
head -n 1 good.csv >header.csv
refused 'header.csv: expected rows below the header, found none' header.csv
gzip -c good.csv | head -c 300 >cut.csv
refused 'cut.csv' cut.csv
head -c 50000 "$DROVE" >program.csv
refused 'program.csv: expected a table as text, found a binary file' program.csv
refused 'absent.csv: cannot be opened: No such file' absent.csv
mkdir folder folder.csv
refused 'folder.csv: cannot be opened: Is a directory' folder.csv
wrong 'folder: expected a folder of PNG or JPEG images for each class, found no image' train --data folder --out none
wrong 'images: expected a table, like the training data' eval m --data folder
wrong 'folder: expected a folder of PNG or JPEG images for each class, found no image' train folder --out none
wrong 'folder: expected no column as label' train folder --label kind --out none
wrong 'expected a file that exists or a format of .drove list data., found "absent"' predict m --data absent
wrong 'a folder without model.safetensors' predict folder --data good.csv

# ---- words in the wrong place ----
wrong 'good.csv: expected a saved model (.safetensors) or the folder of a run, found a data set' \
    predict good.csv --data good.csv
wrong 'good.csv: expected a saved model' eval good.csv m
cp good.csv good
wrong 'good:1:1: .*; a data file without .csv: --data good$' train good
run_for 0 train --data good --label kind --model logistic --until epochs=1 --out none --quiet
printf 'epochs: 3\n' >bad.yaml
wrong 'bad.yaml:1:1: unknown option' train bad.yaml
if grep -q 'data file' err.txt; then fail "a run file is no table: $(cat err.txt)"; fi
run_for 0 predict m --data good.csv
cp out.txt with_flag.txt
run_for 0 predict m good.csv
cmp out.txt with_flag.txt || fail "predict m good.csv: not as with --data"
run_for 0 eval m good.csv
grep -q '^data      good.csv, 120 examples' out.txt || fail "eval m good.csv: $(cat out.txt)"
run_for 0 train - --label kind --until epochs=1 --out none <good.csv
grep -q 'model: a pack of' err.txt || fail "a pipe: $(cat err.txt)"
run_for 0 train - --label kind --model logistic --until epochs=1 --out none <good.csv
if grep -q 'a pack of' err.txt; then fail "a given model: $(cat err.txt)"; fi
run_for 0 list strategies
grep -q '^auto  ' out.txt || fail "list strategies: expected auto"

# One line of 100 MB, as a cell, as a header and behind a quote: refused after 64 MiB, however long it goes on.
{ head -n 50 good.csv; printf '1,2,'; head -c 100000000 /dev/zero | tr '\0' z; printf ',big\n'; } >long.csv
refused 'long.csv:51: expected lines of at most' long.csv
head -c 100000000 /dev/zero | tr '\0' 7 >line.csv
refused 'line.csv:1: expected lines of at most' line.csv
rm long.csv line.csv

# ---- columns ----
wrong 'good.csv has no column "knid"; did you mean "kind"' train good.csv --label knid
wrong 'from "a" to "kind" or 1 to 4, found "qqqqqqqq"' train good.csv --label qqqqqqqq
cut -d, -f1,3,4 good.csv >less.csv
wrong 'less.csv: expected the columns of the training data; 1 missing: "b"' eval m --data less.csv
wrong 'less.csv: expected the columns of the training data; 1 missing: "b"' \
    train good.csv --label kind --test less.csv --quiet
sed '1s/colour/color/' good.csv >renamed.csv
wrong 'renamed.csv: expected the columns of the training data; 1 missing: "colour"' predict m --data renamed.csv
sed '1s/$/,more/; 2,$s/$/,1/' good.csv >more.csv
run_for 0 eval m --data more.csv
grep -q '1 column of no use to the model left out ("more")' err.txt || fail "more.csv: $(cat err.txt)"
cut -d, -f1-3 good.csv >unlabelled.csv
wrong 'unlabelled.csv: expected the label column "kind", found none' eval m --data unlabelled.csv
run_for 0 predict m --data unlabelled.csv
cp out.txt predictions.txt
# In another order the columns mean the same: compared with the rows in their own order.
awk -F, '{ print $4 "," $3 "," $1 "," $2 }' good.csv >moved.csv
run_for 0 predict m --data moved.csv
cmp out.txt predictions.txt || fail "moved columns: other predictions"
# ten thousand of them
awk 'BEGIN {
    srand(2)
    for (i = 0; i < 10000; i++) printf "c%d,", i
    print "kind"
    for (r = 0; r < 60; r++) {
        for (i = 0; i < 10000; i++) printf "%d,", 10 * rand()
        print r % 2 ? "big" : "small"
    }
}' >wide.csv
run_for 0 train wide.csv --label kind --max-members 1 --until epochs=1 --threads 1 --json --out none
grep -q 'table: 10001 columns, 60 rows' err.txt || fail "wide.csv: $(cat err.txt)"
tr -d ' \n' <out.txt | grep -q '"member":"linear","divisions":5,"loss":0' || fail "expected a linear model of 10,000 columns: $(cat out.txt)"
# Digits by chance: no member is better than the guess, which is named so.
grep -q 'the best member alone (the constant guess) 0' err.txt || fail "expected the guess: $(cat err.txt)"

# ---- cells ----
sed 's/red/green/' good.csv >unseen.csv
run_for 0 predict m --data unseen.csv
grep -q 'colour": 80 cells with a value that the training data do not have count as missing ("green")' err.txt ||
    fail "unseen.csv: $(cat err.txt)"
awk -F, 'BEGIN { OFS = "," } NR > 1 { $2 = "" } { print }' good.csv >hole.csv
run_for 0 train hole.csv --label kind --model logistic --until epochs=1 --out none
grep -q 'constant: b (empty); left out' err.txt || fail "an empty column: $(cat err.txt)"
run_for 0 eval m --data hole.csv
grep -q 'column "b": all 120 cells are missing' err.txt || fail "hole.csv: $(cat err.txt)"
run_for 0 eval m --data good.csv
if grep -q missing err.txt; then fail "good.csv has all its cells: $(cat err.txt)"; fi

# ---- labels ----
grep -v small good.csv >same.csv
wrong 'same.csv: expected labels of at least two classes, found big in all [0-9]* rows' \
    train same.csv --label kind --test none --quiet
awk -F, 'BEGIN { OFS = "," } NR > 1 { $4 = "3.5" } { print }' good.csv >level.csv
wrong 'level.csv: expected labels of at least two values, found 3.5 in all 120 rows' train level.csv --label kind
awk -F, 'BEGIN { OFS = "," } NR > 1 { $4 = "" } { print }' good.csv >nothing.csv
wrong 'nothing.csv: expected labels in column "kind", found none' train nothing.csv --label kind
sed 's/small/tiny/' good.csv >other.csv
run_for 0 eval m --data other.csv
grep -q 'rows of a class that the training data do not have ("tiny", first in row [0-9]*) count as wrong' err.txt ||
    fail "other.csv: $(cat err.txt)"

# ---- control characters: shown, never sent to the terminal ----
escape=$(printf '\033')[31m
sed "s/big/b${escape}ig/; s/red/r${escape}ed/" good.csv >coloured.csv
clean() {
    local controls
    controls=$(printf '[\001-\010\013-\037\177]')
    if LC_ALL=C grep -q "$controls" out.txt err.txt; then fail "$*: $(cat -v out.txt err.txt)"; fi
}
shown() { grep -qF "$1" out.txt || fail "expected $1: $(cat out.txt)"; }
run_for 0 data info coloured.csv --label kind
clean data info
shown '\x1b[31mig'
printf 'x,kind,size\n' >lines.csv
for i in 1 2 3 4; do printf '%d,"big\nclass",1\n%d,"small\tone",2\n' $i $((9 - i)) >>lines.csv; done
run_for 0 data info lines.csv --label kind
clean data info lines.csv
shown 'classes   2: big\x0aclass (4), small\x09one (4)'
run_for 0 train lines.csv --label kind --model logistic --until epochs=1 --threads 1 --quiet --out lines
run_for 0 predict lines --data lines.csv --format lines
clean predict
[ "$(wc -l <out.txt)" = 8 ] || fail "expected a line for each row: $(cat out.txt)"
run_for 0 train coloured.csv --label kind --model logistic --until epochs=1 --threads 1 --out coloured
clean train
run_for 0 eval coloured --data coloured.csv
clean eval
shown '\x1b[31mig'
escape=$(printf '\033')
sed "s/r$escape.31med/${escape}new/" coloured.csv >unseen_coloured.csv
run_for 0 predict coloured --data unseen_coloured.csv --out predictions.csv
grep -qF '("\x1bnew")' err.txt || fail "unseen: $(cat -v err.txt)"
