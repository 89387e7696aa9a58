#!/bin/sh
# tests/spin/check.sh MODEL.pml: checks every configuration that the model names in its first comment, in lines
#   check: pass|fail|live|stuck -DOPTION...
# pass: no assertion can fail and nothing ends half-way; fail: some assertion can; live: no execution goes on for ever
# without passing a progress label; stuck: one can.  Works in the current folder and leaves its files there.
# Exit status: 0 all as expected, 1 not, 77 no spin on this machine.
set -eu
model=$(readlink -f "$1")
if ! command -v spin >/dev/null 2>&1; then
    echo "check.sh: no spin here (Debian: spin): skipped"
    exit 77
fi

bad=0
while read -r expected options; do
    case $expected in
    pass | fail) compile="-DSAFETY" run="" ;;
    live | stuck) compile="-DNP" run="-l" ;;
    *) echo "check.sh: $model: '$expected' is none of pass, fail, live, stuck" >&2; exit 1 ;;
    esac
    # shellcheck disable=SC2086 # options are words
    spin -a $options "$model" >spin.log 2>&1 || { cat spin.log >&2; exit 1; }
    # shellcheck disable=SC2086
    ${CC:-cc} -O2 -w $compile -DCOLLAPSE -DVECTORSZ=2048 -DMEMLIM=3000 -o pan pan.c
    ./pan -n $run -m1000000 >pan.log 2>&1 || true
    errors=$(sed -n 's/.*errors: \([0-9]*\).*/\1/p' pan.log)
    states=$(sed -n 's/^ *\([0-9.e+]*\) states, stored.*/\1/p' pan.log)
    if ! grep -q '^Full statespace search' pan.log || grep -Eq 'out of memory|max search depth too small' pan.log; then
        verdict=incomplete
    elif [ "${errors:-}" = 0 ]; then
        case $expected in pass | fail) verdict=pass ;; *) verdict=live ;; esac
    else
        case $expected in pass | fail) verdict=fail ;; *) verdict=stuck ;; esac
    fi
    case "$expected $(sed -n 's/^pan:1: //p' pan.log | head -n 1)" in
    "fail assertion violated"* | "stuck non-progress cycle"* | "pass " | "live ") ;;
    *) verdict="$verdict ($(grep '^pan:' pan.log | head -n 1))" ;;
    esac
    line="$(basename "$model" .pml) $options: $verdict, $states states"
    if [ "$verdict" = "$expected" ]; then
        echo "ok      $line"
    else
        echo "WRONG   $line; expected $expected"
        bad=1
    fi
done <<LIST
$(sed -n 's/^ \* check: //p' "$model")
LIST
[ $bad = 0 ] || exit 1
