# A target that cannot be reached ends the run all the same; a short run takes the rule's step size.
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"
defaults=auto
awk 'BEGIN { srand(3); print "x,z,y"
    for (i = 0; i < 300; i++) {
        x = rand() - 0.5
        print x "," rand() "," ((x > 0) != (rand() < 0.2) ? "a" : "b") } }' >noise.csv

run_for 4 train noise.csv --label y --model mlp:8 --threads 1 --until accuracy=99.9%
grep -q '^Target missed (--until accuracy=99.9%,validation=[0-9]*,patience=[0-9]*,epochs=[0-9]*)' out.txt ||
    fail "expected the limits of auto: $(cat out.txt)"
run_for 4 train noise.csv --label y --model mlp:8 --threads 1 --until loss=0.0001,validation=100
grep -q '^Target missed (--until loss=0.0001,validation=100,patience=[0-9]*,epochs=[0-9]*)' out.txt ||
    fail "expected the validation examples that were asked for: $(cat out.txt)"
grep -q '^  validation  loss [0-9.]* of 100 examples, best at epoch [0-9.]*$' out.txt || fail "best: $(cat out.txt)"
run_for 4 train noise.csv --label y --model logistic --lr 0.1 --threads 1 --until loss=0.0001 --out none
grep -q '^Target missed (--until loss=0.0001,epochs=500)' out.txt || fail "with --lr: $(cat out.txt)"
# Limits that are given are the only ones; a target that is met ends the run.
run_for 4 train noise.csv --label y --model mlp:8 --threads 1 --until accuracy=99.9%,epochs=2
grep -q '^Target missed (--until accuracy=99.9%,epochs=2)' out.txt || fail "with epochs: $(cat out.txt)"
run_for 0 train noise.csv --label y --model mlp:8 --threads 1 --until accuracy=60%
grep -q '^Target reached' out.txt || fail "expected the target: $(cat out.txt)"

# Too few updates for trials.
run_for 0 train noise.csv --label y --model mlp:8 --threads 1 --until epochs=1
grep -q "(the rule's default: too few updates for trials)\$" err.txt || fail "step size: $(cat err.txt)"
echo "limits and step sizes as expected"
