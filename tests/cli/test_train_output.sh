# What a person sees: evaluations as plain lines on standard error, the summary on standard output.
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"

# The built-in example keeps its settings beside options of machine and run, and says what they are.
run_for 0 train --threads 1 --until updates=10 --eval-examples 100
grep -q '^drove: built-in example: .*--lr 0.05' err.txt || fail "expected the example's settings: $(cat err.txt)"
grep -q '^epoch 0.00  loss ' err.txt || fail "expected a line for the first evaluation"
[ "$(grep -c '^epoch ' err.txt)" -ge 2 ] || fail "expected a line for each evaluation"
[ -s out.txt ] || fail "expected a summary"
if grep -q $'[\r\033]' err.txt out.txt; then fail "control characters where there is no terminal"; fi

# It is not taken where something says what to train, or how.
run_for 0 train --lr 0.01 --until updates=1 --eval-examples 100
if grep -q 'built-in' err.txt; then fail "the example was taken beside --lr"; fi
