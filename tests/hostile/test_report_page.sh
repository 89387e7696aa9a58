# drove report --html, --svg and --pdf: numbers against the files, names that are hostile, runs that are not whole, no gnuplot.
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"

check() { python3 "$DROVE_SOURCE_DIR/tests/cli/report_page.py" "$@" >check.txt || fail "report_page.py $*"; }
check make
command -v gnuplot >/dev/null 2>&1 && has_gnuplot=true || has_gnuplot=false
pictures() { # the last page has at least so many; without gnuplot none
    $has_gnuplot || set -- 0
    [ "$(cat check.txt)" -ge "$1" ] || fail "expected $1 pictures, found $(cat check.txt)"
}

# The figures of a sweep, computed anew from its logs and results.
run_for 0 report sweep --html sweep.html
check numbers sweep.html
pictures 6
! $has_gnuplot || [ ! -s err.txt ] || fail "said: $(cat err.txt)"

# A real run: its page, and the command on it gives the same run.
run_for 0 train synth:digits?n=300 --model mlp:8 --until epochs=2 --lr 0.05 --threads 1 --test split --out real --quiet
run_for 0 report real --html real.html
check page real.html
pictures 6
command=$(sed -n 's/.*<code>drove \(train [^<]*\)<\/code>.*/\1/p' real.html | sed "s/&#39;/'/g; s/&amp;/\\&/g")
eval "run_for 0 $command --out again --quiet"
cmp real/model.safetensors again/model.safetensors || fail "the command gives another model: $command"

# What a table's columns matter, of the summary; without it, the weights of the model file.
python3 -c 'import random
random.seed(1)
print("big,small,none,y")
for i in range(1000): a, b, c = (random.gauss(0, 9) for _ in "abc"); print("%.3f,%.3f,%.3f,%s" % (a, b, c, "yes" if a + b / 4 > 0 else "no"))' >rows.csv
run_for 0 train rows.csv --label y --model logistic --until epochs=20 --lr 0.1 --threads 1 --out told --quiet
run_for 0 report told --html told.html
check importance told.html
run_for 0 train rows.csv --label y --model logistic --until epochs=20 --lr 0.1 --threads 1 --out table --quiet --metrics none
run_for 0 report table --html table.html
check inputs table.html

# Runs side by side: folders in legends, metrics of the held-out data, curves of predictions, staleness in the table.
mkdir parts
run_for 0 train rows.csv --label y --model mlp:4 --until epochs=5 --lr 0.1 --threads 2 --strategy hogwild --out parts/net --quiet
run_for 0 report told parts/net --html both.html --csv both.csv
check compare both.html both.csv told parts/net
pictures 6
run_for 0 train rows.csv --label small --model linear --until epochs=5 --lr 0.1 --threads 1 --out value --quiet
run_for 0 report value --html value.html
check values value.html value

# A run in low precision: measured throughput beside what drove dmgc predicts for its features and threads.
run_for 0 train 'synth:logistic?n=2000&d=96' --model logistic --precision D8M8 --until epochs=3 --lr 0.1 --threads 2 --strategy hogwild --out low --quiet
run_for 0 dmgc D8M8 --features 96 --threads 2 --json
cp out.txt dmgc.json
run_for 0 report low --html low.html
check throughput low.html

# Names are text, in the page and for gnuplot.
run_for 0 report hostile/* --html hostile.html
check names hostile.html
[ ! -e uid ] && ! ls | grep -q "^x$" || fail "a name was run"
if $has_gnuplot; then
    run_for 0 report hostile/* sweep --svg svg --pdf pdf
    [ ! -s err.txt ] || fail "said: $(cat err.txt)"
    check files svg
    for file in svg/*.svg; do
        name=$(basename "$file" .svg)
        [ "$(head -c 5 "pdf/$name.pdf")" = %PDF- ] || fail "expected a PDF: pdf/$name.pdf"
    done
    [ "$(ls svg | wc -l)" = "$(ls pdf | wc -l)" ] || fail "svg: $(ls svg), pdf: $(ls pdf)"
    run_for 0 report hostile/* sweep --svg svg # again, into the same folder
fi

# Of many workers the stalest are shown.
run_for 0 report wide --html wide.html
check wide wide.html

# One evaluation, no run at all, many runs.
run_for 0 report one --html one.html
check page one.html
run_for 0 report empty --html empty.html
check page empty.html
grep -q 'There is no run here yet' empty.html || fail "an empty sweep: $(cat empty.html)"
run_for 0 report many --html many.html --csv many.csv
check page many.html
[ "$(wc -c <many.html)" -lt 3000000 ] || fail "400 runs make $(wc -c <many.html) bytes"

# Lines that are not whole are left out with a message, in both.
printf '{"epochs":' >>one/log.jsonl
run_for 0 report one --html one.html
grep -q '^one/log.jsonl:2: left out: ' err.txt || fail "not said: $(cat err.txt)"

# Without gnuplot: tables and one line; no picture.  A gnuplot that fails is no loss either.
mkdir bin
PATH="$PWD/bin" run_for 0 report sweep --html plain.html
[ "$(wc -l <err.txt)" = 1 ] && grep -q '^no pictures: gnuplot is not in PATH' err.txt || fail "said: $(cat err.txt)"
check numbers plain.html
[ "$(cat check.txt)" = 0 ] || fail "pictures without gnuplot"
for form in svg pdf; do
    PATH="$PWD/bin" run_for 2 report sweep --$form plain
    grep -q "^drove: --$form: expected gnuplot in PATH" err.txt && [ ! -e plain ] || fail "--$form: $(cat err.txt)"
done
run_for 2 report real --svg sweep.html/figures
[ "$(wc -l <err.txt)" = 1 ] || fail "expected one line: $(cat err.txt)"
printf '#!/bin/sh\necho "no such terminal" >&2\nexit 1\n' >bin/gnuplot && chmod +x bin/gnuplot
PATH="$PWD/bin:/bin:/usr/bin" run_for 0 report sweep --html plain.html
grep -q '^no pictures: .*no such terminal' err.txt || fail "said: $(cat err.txt)"
check numbers plain.html

# What is refused leaves the page of before.
cp sweep.html before.html
run_for 2 report nowhere --html sweep.html
cmp sweep.html before.html || fail "a refused report changed the page"
run_for 2 report sweep --html nowhere/sweep.html
! ls "${TMPDIR:-/tmp}" | grep -q '^drove-report-' || fail "a folder of gnuplot was left"
