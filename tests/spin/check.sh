#!/bin/sh
# check.sh FILE.pml: has spin search every state of a model; the current folder takes its intermediate files.
#
# The model passes if the search is complete and finds no error.  A stem that ends in _unsafe is a protocol known to be
# wrong, and passes if spin finds the error: it shows that the property is really looked at.
# The model may say how it is to be searched, in comments:  "cc: -DNFAIR=3"  "pan: -a -f -m200000"
# Exit status: 0 as expected, 1 not, 77 no spin here.
set -eu
model=$1
if ! command -v spin >/dev/null; then
    echo "skip: spin is not installed (scripts/setup --long installs it)"
    exit 77
fi
cc_flags=$(sed -nE 's/.*[^a-z]cc: ([-A-Za-z0-9_= ]*).*/\1/p' "$model" | head -n 1)
pan_flags=$(sed -nE 's/.*[^a-z]pan: ([-A-Za-z0-9_= ]*).*/\1/p' "$model" | head -n 1)
[ -n "$cc_flags" ] || cc_flags=-DSAFETY
[ -n "$pan_flags" ] || pan_flags=-m1000000

cp "$model" model.pml
spin -a model.pml
# shellcheck disable=SC2086
${CC:-cc} -O2 -w -DCOLLAPSE -DMEMLIM=6000 $cc_flags -o pan pan.c
# shellcheck disable=SC2086
./pan $pan_flags >report.txt 2>&1 || true
cat report.txt

found_none() { grep -q 'errors: 0' report.txt; }
complete() { ! grep -qE 'max search depth too small|out of memory|search not completed|Search not completed' report.txt; }
case $model in
*_unsafe.pml)
    if found_none; then echo "check.sh: expected an error, spin found none"; exit 1; fi
    grep -q 'errors: 1' report.txt
    ;;
*)
    if ! found_none; then echo "check.sh: spin found an error"; exit 1; fi
    if ! complete; then echo "check.sh: the search is not complete"; exit 1; fi
    ;;
esac
