# On a terminal: one line that is drawn again and again, as wide as the terminal at most, and cleared at the end.
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"
has_pseudo_terminal || exit 77

# LOCALE COLUMNS: screen.txt is what the terminal got.
on_terminal() {
    LC_ALL=$1 TERM=xterm script -qec "stty cols $2; '$DROVE' train --data 'synth:digits?n=20000&n_test=500' --threads 1 \
        --eval-examples 100 --until seconds=0.6 --eval-every 1e6" typescript >screen.txt 2>&1 || fail "failed: $(cat screen.txt)"
}

# COLUMNS: every drawing of the bar is narrower than that.  The drawings end with the code that clears the rest.
check_width() {
    tr '\r' '\n' <screen.txt | grep $'\033\\[K$' | sed $'s/\033\\[K$//' >bars.txt
    [ "$(wc -l <bars.txt)" -ge 2 ] || fail "expected several drawings: $(cat screen.txt)"
    LC_ALL=C.UTF-8 awk -v most="$1" 'length($0) >= most { print "too wide: " $0; exit 1 }' bars.txt
    [ "$(wc -l <bars.txt)" -le 30 ] || fail "drawn much more than ten times a second"
}

on_terminal C 80
check_width 80
grep -q '^ *[0-9]* % \[[#-]*\]  epoch .*  loss .* left  .* ex/s  1 worker$' bars.txt || fail "$(cat bars.txt)"
if LC_ALL=C grep -q '[^ -~]' bars.txt; then fail "only ASCII was asked for"; fi
# The last thing before the summary clears the line.
tr '\r' '\n' <screen.txt | grep -q $'^\033\\[K.' || fail "the bar was not cleared"

on_terminal C 30
check_width 30

# A bar has a seventh of the columns, 8 to 32.
on_terminal C 400
check_width 400
grep -q '^ *[0-9]* % \[[#-]\{30\}\]  epoch ' bars.txt || fail "expected a bar of 32 columns: $(cat bars.txt)"

if locale -a 2>/dev/null | grep -qix 'C.utf-\?8'; then
    on_terminal C.UTF-8 60
    grep -q '▕' screen.txt || fail "expected blocks in a UTF-8 locale"
    check_width "$([ "$(printf '█' | LC_ALL=C.UTF-8 awk '{ print length($0) }')" = 1 ] && echo 60 || echo 120)"
    # Between its edges a bar of 8 columns has 48 eighths, as many full as the percentage says.
    eighths=$(sed -nE 's/^ *([0-9]+) % ▕(.*)▏  epoch.*/\1 \2/p' bars.txt | sed 's/█/8/g; s/▉/7/g; s/▊/6/g; s/▋/5/g; s/▌/4/g; s/▍/3/g; s/▎/2/g; s/▏/1/g')
    awk '{ at = index($0, " "); full = 0
        for (i = 1; i <= 6; i++) full += substr($0, at + i, 1)
        if (length($0) != at + 6 || full < int(0.48 * $1 + 0.5) || full > int(0.48 * ($1 + 1) + 0.5)) { print "wrong: " $0; exit 1 } }
        END { if (NR < 2) exit 1 }' <<<"$eighths" || fail "bars: $eighths"
fi

# That of a pack has its networks; elsewhere a line each three seconds.
awk 'BEGIN { srand(1); print "x,z,y"; for (i = 0; i < 3000; i++) { x = rand(); z = rand(); print x "," z "," x * z + 0.1 * rand() } }' >table.csv
LC_ALL=C TERM=xterm script -qec "stty cols 100; '$DROVE' train table.csv --label y --threads 1 --until seconds=2 --out none" typescript \
    >screen.txt 2>&1 || fail "failed: $(cat screen.txt)"
tr '\r' '\n' <screen.txt | grep $'\033\\[K$' | sed $'s/\033\\[K$//' >bars.txt
grep -q '^ *[0-9]* % \[[#-]*\]  [0-9]* of [1-9][0-9]* networks  .* left  1 worker$' bars.txt || fail "a pack: $(cat bars.txt)"
awk '$1 < at { print "it goes back: " $0; exit 1 } { at = $1 } END { exit at < 60 }' bars.txt || fail "a pack: $(cat bars.txt)"
grep -q 'networks trained in' screen.txt && fail "a line beside the bar: $(cat screen.txt)"
"$DROVE" train table.csv --label y --threads 1 --until seconds=8 --out none >out.txt 2>err.txt || fail "$(cat err.txt)"
grep -q '^drove: model: [0-9]* of [0-9]* networks trained in [0-9]* s, about [0-9]* s left$' err.txt || fail "expected a line: $(cat err.txt)"

# The bar of drove sweep has the best setting so far.
cat >study.yaml <<'YAML'
options: {data: "synth:digits?n=300", model: "mlp:16", test: none, defaults: classic, strategy: sequential, threads: 1, until: "loss=50%,epochs=200"}
grid: {lr: [0.02, 0.05]}
repeat: [1, 2]
YAML
LC_ALL=C TERM=xterm script -qec "stty cols 120; '$DROVE' sweep study.yaml --out study" typescript >screen.txt 2>&1 || fail "failed: $(cat screen.txt)"
check_width 120
grep -q '%.*  run ./4  .*best [0-9.]* s  lr=0.0[25]$' bars.txt || fail "$(cat bars.txt)"
