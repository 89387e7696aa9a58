# --model auto: a pack of small models, joined in one network; the default of tables.
# ctest: slow: trains packs of several tables
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"
defaults=auto
number() { sed -n "s/.*\"$1\": \([0-9.e-]*\).*/\1/p" "$2" | head -n 1; }

# A sum of the columns, with chance of 0.3 at most, whose deviation is a hundredth of the sum's.
awk 'BEGIN { srand(6); print "x,z,y"
    for (i = 0; i < 300; i++) { x = rand(); z = rand(); print x "," z "," 3 * x - 2 * z + 0.3 * (rand() - 0.5) }
    }' >sum.csv
run_for 0 train sum.csv --label y --threads 1 --until epochs=60 --json --out sum
cp out.txt first.json
grep -q '^drove: model: a pack of [0-9]* networks: ' err.txt || fail "expected a pack: $(cat err.txt)"
grep -q '^drove: model: loss .* of standardised values on 270 examples that its networks had not seen; the best member alone' err.txt ||
    fail "expected its loss: $(cat err.txt)"
grep -q '^epoch' err.txt && fail "a pack has no epochs to tell of: $(cat err.txt)"
awk -v a="$(number test_loss out.txt)" 'BEGIN { exit !(a < 0.03) }' || fail "expected the sum: $(cat out.txt)"

# The same seed: the same losses, whatever the threads, to the last bit; another seed: others.
for how in '--threads 2 --model auto' '--threads 3 --seed 1'; do
    # shellcheck disable=SC2086
    run_for 0 train sum.csv --label y $how --until epochs=60 --json --out none
    python3 - <<'PY' || fail "$how: another pack"
import json
a, b = (json.load(open(name)) for name in ("first.json", "out.txt"))
assert a["loss"] == b["loss"] and a["test_loss"] == b["test_loss"], (a["loss"], b["loss"])
for pack in (a["pack"], b["pack"]):
    del pack["seconds"]
assert a["pack"] == b["pack"], (a["pack"], b["pack"])
PY
done
run_for 0 train sum.csv --label y --threads 2 --seed 2 --until epochs=60 --json --out none
[ "$(number loss out.txt)" != "$(number loss first.json)" ] || fail "seed 2: expected another pack"

# The record of both files, and that shares and losses belong together.
python3 - <<'PY' || fail "the record of the pack"
import json
summary, run = (json.load(open("sum/" + name)) for name in ("summary.json", "run.json"))
assert run["options"]["model"] == "auto" and run["options"]["data"] == "sum.csv?scale=robust", run["options"]
assert summary["updates"] == 0 and summary["epochs"] == 0, summary
for pack in (summary["pack"], run["pack"]):
    members = pack["members"]
    assert len(set(m["member"] for m in members)) == len(members) > 4, members
    assert abs(sum(m["share"] for m in members) - 1) < 1e-6, members
    assert all(m["divisions"] == pack["divisions"] == 5 for m in members if m["share"] > 0), members
    assert pack["networks"] == 5 * sum(m["share"] > 0 for m in members), pack
    finished = {m["member"]: m["loss"] for m in members if m["divisions"] == 5}
    assert pack["best_member"] in finished and pack["loss"] <= 1.02 * pack["best_member_loss"], pack
    assert pack["best_member_loss"] < 1.2 * min(finished.values()), pack
    assert pack["loss"] < 0.05 * pack["constant_loss"] and pack["examples"] == pack["judged_examples"] == 270, pack
    assert abs(pack["constant_loss"] - 0.5) < 0.03, pack  # half of the variance of standardised values
PY

# The network is one as any other: what eval and predict find is what the summary says.
head -n 1 sum.csv >held.csv
run_for 0 train sum.csv --label y --threads 1 --test sum.csv --max-members 3 --json --out whole
cp out.txt whole.json
run_for 0 eval whole --data sum.csv --json
python3 - <<'PY' || fail "eval: other figures than the summary"
import json
summary, found = json.load(open("whole.json")), json.load(open("out.txt"))
assert abs(summary["test_loss"] - found["loss"]) < 1e-5 * found["loss"], (summary["test_loss"], found["loss"])
PY
run_for 0 predict whole --data sum.csv
paste -d, sum.csv out.txt | awk -F, -v wanted="$(number test_loss whole.json)" 'NR > 1 { s += ($3 - $4) ^ 2 / 2 }
    END { s /= NR - 1; exit !(s > 0.999 * wanted && s < 1.001 * wanted) }' || fail "predict: not the loss of the summary, $(number test_loss whole.json)"

# To go on: nothing is left to do, unless epochs are asked for, which train the network.
run_for 0 train --resume whole
grep -q '^drove: --resume: nothing to do: 0 epochs are done' err.txt || fail "nothing to do: $(cat err.txt)"
grep -q 'model: a pack' err.txt && fail "expected no second pack: $(cat err.txt)"
run_for 0 train --resume whole --until epochs=2 --json
[ "$(number epochs out.txt)" = 2.0 ] && grep -q '"pack": null' out.txt || fail "two more epochs: $(cat out.txt)"
awk -v pack="$(number seconds whole.json)" -v own="$(number train_s out.txt)" 'BEGIN { exit !(own < pack / 2) }' ||
    fail "the network's time has that of its members in it: $(number train_s out.txt) s"
run_for 0 train --resume sum
grep -q '^drove: --resume: nothing to do: 0 epochs are done' err.txt || fail "the epochs of members are trained again: $(cat err.txt)"
[ "$(number loss out.txt)" != "$(number loss whole.json)" ] || fail "two epochs changed nothing"
run_for 0 train sum.csv --label y --model sum --threads 1 --until updates=5 --json --out none
[ "$(number updates out.txt)" = 5 ] || fail "--model sum: $(cat out.txt)"

# One member is a linear model: the columns, their weights and nothing else.
run_for 0 train sum.csv --label y --threads 1 --max-members 1 --until epochs=60 --out linear
grep -q 'model: a pack of 5 networks: linear 100 %' err.txt || fail "one member: $(cat err.txt)"
grep -q '^  model       a pack of 5 networks, chosen from 1 kind in ' out.txt || fail "one member: $(cat out.txt)"
wrong 'max-members' train sum.csv --label y --max-members 1000 --out none

# Seconds end it, with the members that there are.
run_for 0 train sum.csv --label y --threads 2 --until seconds=2 --out none
grep -q '^Finished after [0-9.]* s: a pack of [0-9]* networks*\.$' out.txt || fail "seconds=2: $(cat out.txt)"

# A label that follows from nothing is as good as guessed.
awk 'BEGIN { srand(7); print "x,y"; for (i = 0; i < 300; i++) print rand() "," (rand() < 0.5) }' >noise.csv
run_for 0 train noise.csv --label y --threads 2 --until epochs=20 --out none
grep -q 'model: it is not 1 % better than a constant guess' err.txt || fail "noise: $(cat err.txt)"

# An exclusive or: no linear model does better than a guess; a network is right up to the noise of 5 %.
awk 'BEGIN { srand(5); print "x,z,y"
    for (i = 0; i < 300; i++) {
        x = 2 * rand() - 1; z = 2 * rand() - 1
        print x "," z "," ((x * z > 0) != (rand() < 0.05) ? "a" : "b")
    } }' >xor.csv
run_for 0 train xor.csv --label y --threads 2 --until epochs=100 --json --out xor
grep -q 'not 1 % better' err.txt && fail "a network is better than a guess: $(cat err.txt)"
awk -v a="$(number test_accuracy out.txt)" 'BEGIN { exit !(a > 0.8) }' || fail "accuracy: $(cat out.txt)"
run_for 0 predict xor --data xor.csv --format lines
paste -d, xor.csv out.txt | awk -F, 'NR > 1 { n += $3 == $4 } END { exit !(n > 270) }' && fail "expected lines without a header"
printf 'x,z\n0.5,0.5\n0.5,-0.5\n-0.5,-0.5\n' >new.csv
run_for 0 predict xor --data new.csv --format lines
[ "$(tr '\n' ' ' <out.txt)" = "a b a " ] || fail "expected a, b, a: $(cat out.txt)"

# A pipe is read once, and a table of few rows is one.
status=0
"$DROVE" train - --label y --threads 2 --until epochs=2 --out none <xor.csv >out.txt 2>err.txt || status=$?
[ "$status" = 0 ] && grep -q 'model: a pack of' err.txt || fail "pipe: $status $(cat err.txt)"
head -n 20 xor.csv >few.csv
run_for 0 train few.csv --label y --test none --threads 2 --until epochs=5 --out none
grep -q 'model: loss .* on 19 examples' err.txt || fail "few rows: $(cat err.txt)"

# No pack: a given model, the classic defaults, an option that says how one network is trained, other formats.
for flags in '--model logistic' '--defaults classic' '--lr 0.1'; do
    # shellcheck disable=SC2086
    run_for 0 train xor.csv --label y --threads 1 --until epochs=1 --out none $flags
    grep -q 'model: a pack' err.txt && fail "$flags: expected no pack: $(cat err.txt)"
done
for flags in '--rule sgd' '--strategy sequential' '--batch 16' '--until loss=0.1,epochs=1'; do
    # shellcheck disable=SC2086
    run train xor.csv --label y --threads 1 --until epochs=1 --out none --json $flags
    grep -q "^drove: model: mlp:128,128,128 (with ${flags%% *} there is no pack of models)\$" err.txt || fail "$flags: $(cat err.txt)"
    grep -q '"model": "mlp:128,128,128"' out.txt && grep -q '"pack": null' out.txt || fail "$flags: $(cat out.txt)"
done
run_for 0 train synth:digits?n=300 --threads 1 --until epochs=1 --json --out none
grep -q '"model": "mlp:128,128,128"' out.txt && grep -q '"pack": null' out.txt || fail "digits: $(cat out.txt)"
run_for 0 train 'synth:logistic?n=60&d=10' --model auto --threads 1 --until epochs=1 --json --out none
grep -q '"networks": ' out.txt || fail "auto of digits: $(cat out.txt)"
for flags in '--strategy hogwild' '--precision D8M8' '--lr 0.1' '--until loss=0.1'; do
    # shellcheck disable=SC2086
    wrong "model auto: expected no ${flags%% *} beside it, found one" train xor.csv --label y --model auto --out none $flags
done
wrong 'model auto: expected the loss softmax, sigmoid, logistic or squared' train xor.csv --label y --model auto --loss hinge --out none

# A folder that is in use is refused before anything is trained.
run train xor.csv --label y --threads 1 --out xor
[ "$status" = 2 ] && ! grep -q 'model: a pack' err.txt && grep -q 'expected a new or empty folder' err.txt || fail "$status: $(cat err.txt)"

# Numbers near the end of floats, of few values and of many, in training and test rows: losses stay finite.
awk 'BEGIN { srand(2); print "x,f,z,y"
    for (i = 0; i < 300; i++) {
        x = rand(); z = rand()
        print (x - 0.5) * 6.6e38 "," (x < 0.5 ? "0" : x < 0.7 ? "3.3e38" : x < 0.9 ? "-3.3e38" : "1e38") "," z "," x - z
    } }' >far.csv
for data in 'far.csv' 'far.csv?scale=none'; do
    run_for 0 train "$data" --label y --model auto --threads 2 --until epochs=3 --json --out none
    awk -v a="$(number loss out.txt)" -v b="$(number test_loss out.txt)" 'BEGIN { exit !(a < 0.1 && b < 0.1) }' || fail "$data: $(cat out.txt)"
done

# Rows of one group alone, beside a test set of the other: they are divided nevertheless, and that is said.
awk -F, -v OFS=, '{ print $0, NR == 1 ? "g" : NR % 4 ? "p" : "q" }' sum.csv >groups.csv
run_for 0 train 'groups.csv?split=group:g' --label y --threads 2 --until epochs=3 --out none
grep -q '^drove: model: all training rows are of one group' err.txt || fail "two groups: $(cat err.txt)"

# A budget of next to no time gives a model, too.
run_for 0 train sum.csv --label y --threads 2 --until seconds=0.001 --out none
grep -q '^drove: model: a pack of\|^drove: model: the constant guess' err.txt || fail "a millisecond: $(cat err.txt)"

# Bins of number columns go into the model file.
run_for 0 train 'sum.csv?bins=8' --label y --model linear --threads 1 --out bins
run_for 0 eval bins/model.safetensors --data sum.csv --label y
run_for 2 train 'sum.csv?bins=1000' --label y
grep -q bins err.txt || fail "bins: $(cat err.txt)"
