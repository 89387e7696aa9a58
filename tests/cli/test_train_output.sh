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

# A flag that replaces one of the example's settings is what is announced.
run_for 0 train --threads 1 --until updates=3 --eval-examples 100
grep -q '^drove: built-in example: .*--until updates=3$' err.txt || fail "expected --until updates=3: $(cat err.txt)"

# A loss that is lost is said in words.
run_for 3 train --data synth:digits?n=500 --model linear --threads 1 --lr 1e9 --until epochs=200
grep -q -- '-> not a number' out.txt || fail "expected the loss in words: $(cat out.txt)"
if grep -q -- '-nan' out.txt; then fail "-nan is no word for people"; fi
