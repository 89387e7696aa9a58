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

# The last evaluation is printed at the end, though it comes within a second of the first: 50 * 100 of 20,000 examples.
run_for 0 train 'synth:logistic?n=20000&d=20' --model logistic --lr 0.01 --batch 100 --threads 1 --until updates=50 \
    --eval-examples 100 --test none --metrics none --out none --json
line=$(printf 'epoch 0.25  loss %.5g  ' "$(sed -nE 's/.*"loss": ([0-9.]+),.*/\1/p' out.txt | head -n 1)")
grep -q "^$line" err.txt || fail "expected $line: $(cat err.txt)"

# A flag that replaces one of the example's settings is what is announced.
run_for 0 train --threads 1 --until updates=3 --eval-examples 100
grep -q '^drove: built-in example: .*--until updates=3$' err.txt || fail "expected --until updates=3: $(cat err.txt)"

# A loss that is lost is said in words.
run_for 3 train --data synth:digits?n=500 --model linear --threads 1 --lr 1e9 --until epochs=200
grep -q -- '-> not a number' out.txt || fail "expected the loss in words: $(cat out.txt)"
if grep -q -- '-nan' out.txt; then fail "-nan is no word for people"; fi

# A line's rate is that since the line before, whatever evaluations were not printed: of 20,000 examples an epoch.
run_for 0 train 'synth:logistic?n=20000&d=20' --model logistic --lr 0.01 --threads 1 --until seconds=2.2 --eval-every 0.1 \
    --eval-examples 100 --test none --metrics none --out none
awk '/^epoch / {
    seconds = $(NF - 1)
    if ($(NF - 2) == "examples/s") {
        rate = $(NF - 3)
        expected = ($2 - epoch) * 20000 / (seconds - before)
        if (seconds - before > 0.5 && (rate < 0.95 * expected || rate > 1.05 * expected)) {
            print "expected about " expected " examples/s: " $0
            exit 1
        }
        n++
    }
    epoch = $2
    before = seconds
}
END { if (n < 2) exit 1 }' err.txt || fail "rates: $(grep '^epoch' err.txt)"
