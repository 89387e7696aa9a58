# --model auto: the best of several models by validation examples; the default of tables.
# ctest: slow: compares models of several tables by trial runs
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"
defaults=auto
number() { sed -n "s/.*\"$1\": \([0-9.e-]*\).*/\1/p" "$2" | head -n 1; }

# A sum of the columns needs no network.
awk 'BEGIN { srand(6); print "x,z,y"
    for (i = 0; i < 80; i++) { x = rand(); z = rand(); print x "," z "," 3 * x - 2 * z + 0.3 * (rand() - 0.5) }
    }' >sum.csv
run_for 0 train sum.csv --label y --threads 1 --json
cp out.txt first.json
grep -q 'model: linear chosen' err.txt || fail "expected the linear model: $(cat err.txt)"

# The same seed: the same losses, the same choice.
run_for 0 train sum.csv --label y --threads 1 --json --model auto
for key in loss test_loss; do
    [ "$(number $key out.txt)" = "$(number $key first.json)" ] ||
        fail "$key differs: $(cat out.txt) $(cat first.json)"
done

# A label that follows from nothing is as good as guessed.  Bins that are given are not compared with others.
awk 'BEGIN { srand(7); print "x,y"; for (i = 0; i < 300; i++) print rand() "," (rand() < 0.5) }' >noise.csv
run_for 0 train 'noise.csv?bins=4' --label y --threads 1
grep -q 'model: no candidate is at least 1 % better than a constant guess' err.txt || fail "noise: $(cat err.txt)"
grep -q 'bins=' err.txt && fail "noise: expected no other bins: $(cat err.txt)"

# An exclusive or: no linear model does better than a guess; a network is right up to the noise of 5 %.
awk 'BEGIN { srand(5); print "x,z,y"
    for (i = 0; i < 300; i++) {
        x = 2 * rand() - 1; z = 2 * rand() - 1
        print x "," z "," ((x * z > 0) != (rand() < 0.05) ? "a" : "b")
    } }' >xor.csv
run_for 0 train xor.csv --label y --threads 1 --json --out first
cp out.txt first.json
grep -q 'model: mlp:.* chosen: loss .*, a constant guess 0.69' err.txt || fail "expected a network: $(cat err.txt)"
grep -q 'model: no candidate' err.txt && fail "a network is better than a guess: $(cat err.txt)"
awk -v a="$(number test_accuracy out.txt)" 'BEGIN { exit !(a > 0.8) }' || fail "accuracy: $(cat out.txt)"
for file in first/run.json first/summary.json; do
    grep -q '"model_search": *{' "$file" && grep -q '"chosen": *"mlp:' "$file" || fail "$file: $(cat "$file")"
done
grep -q '"model": *"mlp:' first/run.json || fail "expected the model itself: $(cat first/run.json)"

# Both files have the options as resolved.
python3 - <<'PY' || fail "the options of first/summary.json"
import json
summary, run = (json.load(open("first/" + name))["options"] for name in ("summary.json", "run.json"))
assert list(summary) == list(run) and summary["model"].startswith("mlp:") and summary["threads"] == "1", summary
for name, value in run.items():
    assert summary[name] == value or abs(summary[name] - value) <= 1e-8 * abs(value), (name, summary[name], value)
PY

# What a saved run continues with is the model, not the word.
run_for 0 train --resume first
grep -q 'model: ' err.txt && fail "expected no second comparison: $(cat err.txt)"

# A key of which each value says something: as a category it tells more than as a number.
awk 'BEGIN { srand(8); for (k = 0; k < 100; k++) level[k] = 10 * rand(); print "who,x,y"
    for (i = 0; i < 400; i++) { k = i % 100; print 1000 + 7 * k "," rand() "," level[k] + rand() }
    }' >keys.csv
run_for 0 train keys.csv --label y --threads 1 --out keys
grep -q 'model: .* keys chosen' err.txt || fail "expected keys: $(cat err.txt)"
awk -v most=$SECONDS '/trial runs done in/ && $(NF - 1) > most { exit 1 }' err.txt || fail "longer than the whole test: $(cat err.txt)"
grep -q "column \"who\" tells rows apart .* others will be predicted worse ('keys.csv?ignore=who' leaves it out)" err.txt ||
    fail "expected a word on keys: $(cat err.txt)"
grep -q 'types=who:category' keys/run.json || fail "expected the encoding in --data: $(cat keys/run.json)"
run_for 0 eval keys/model.safetensors --data keys.csv --label y
run_for 0 predict keys/model.safetensors --data keys.csv

# Candidates are compared in one unit, whatever runs came before: the same guess has the same loss on the same divisions.
awk 'BEGIN { srand(9); print "x,z,y"; for (i = 0; i < 120; i++) { x = rand(); print x "," rand() "," exp(6 * x * rand()) } }' >tail.csv
run_for 0 train tail.csv --label y --threads 1 --json
tr -d '\n' <out.txt | grep -o '"divisions": [0-9]*,[^}]*"constant_loss": [0-9.]*' |
    awk '{ n = $2 + 0; if (n in guess && (guess[n] - $NF) ^ 2 > 1e-10) exit 1; guess[n] = $NF; seen++ } END { if (seen < 5) exit 1 }' ||
    fail "guesses: $(cat out.txt)"

# An id in the order of time is a number to some candidates.
awk 'BEGIN { srand(4); print "id,x,y"; for (i = 0; i < 200; i++) print 1000 + 7 * (i * 37 % 200) "," rand() "," i * 37 % 200 + 9 * rand() }' >ids.csv
run_for 0 train ids.csv --label y --threads 1 --out ids
grep -q 'model: .* ids chosen' err.txt || fail "expected ids: $(cat err.txt)"
grep -q 'types=id:number' ids/run.json || fail "expected the encoding in --data: $(cat ids/run.json)"
run_for 0 predict ids/model.safetensors --data ids.csv

# So is a code: the numbers of places from the coast to the hills say more than the names.
awk 'BEGIN { srand(3); print "zip,x,y"; for (i = 0; i < 200; i++) printf "%05d,%g,%g\n", 100 + i * 37 % 60, rand(), i * 37 % 60 + 9 * rand() }' >codes.csv
run_for 0 train codes.csv --label y --threads 1 --out codes
grep -q 'types=zip:number' codes/run.json || fail "expected the code as a number: $(cat err.txt)"

# The words of free text, which only some candidates see, decide; the number decides nothing.
awk 'BEGIN { srand(2); print "text,x,y"
    n = split("the a box came it is parcel by car and then they", plain, " ")
    for (i = 0; i < 300; i++) {
        text = ""
        for (k = 0; k < 5; k++) text = text plain[1 + int(n * rand())] " "
        good = rand() < 0.5
        print text (good ? "well" : "broken") " " plain[1 + int(n * rand())] "," rand() "," (good ? "yes" : "no")
    } }' >words.csv
run_for 0 train words.csv --label y --threads 1 --out words
grep -q 'model: .* words chosen' err.txt || fail "expected words: $(cat err.txt)"
grep -q 'text=text' words/run.json || fail "expected the encoding in --data: $(cat words/run.json)"
printf 'text,x\nthe car is broken,0.5\nit came well,0.5\n' >new.csv
run_for 0 predict words/model.safetensors --data new.csv --format lines
[ "$(tr '\n' ' ' <out.txt)" = "no yes " ] || fail "expected no, then yes: $(cat out.txt)"

# What is not compared: a given model, the classic defaults, a given step size, a few rows, other formats, a pipe.
for flags in '--model logistic' '--defaults classic' '--lr 0.1'; do
    # shellcheck disable=SC2086
    run_for 0 train xor.csv --label y --threads 1 --until epochs=1 $flags
    grep -q 'model: ' err.txt && fail "$flags: expected no comparison: $(cat err.txt)"
done
run_for 0 train synth:digits?n=300 --threads 1 --until epochs=1 --json
grep -q '"model": "mlp:128,128,128"' out.txt && grep -q '"model_search": null' out.txt || fail "digits: $(cat out.txt)"
run_for 0 train 'synth:logistic?n=60&d=10' --model auto --threads 1 --until epochs=1 --json
grep -q '"chosen": "' out.txt || fail "auto of digits: $(cat out.txt)"
head -n 20 xor.csv >few.csv
run_for 0 train few.csv --label y --test none --threads 1 --until epochs=1 --json
grep -q '"model": "logistic"' out.txt || fail "few rows: $(cat out.txt)"
grep -q '"eval_every": 100.0' out.txt || fail "few rows: expected 100 updates of one epoch between evaluations: $(cat out.txt)"
grep -q 'model: logistic: fewer than 40 rows, so no models were compared; figures of so few rows say little' err.txt || fail "few rows: $(cat err.txt)"
# A folder that is in use is refused before anything is compared.
run train xor.csv --label y --threads 1 --out first
[ "$status" = 2 ] && ! grep -q comparing err.txt && grep -q 'expected a new or empty folder' err.txt || fail "$status: $(cat err.txt)"
# A longer run goes on with the same validation examples.
awk 'BEGIN { srand(6); print "x,z,y"; for (i = 0; i < 4000; i++) { x = rand(); z = rand(); print x "," z "," (x > z) } }' >more.csv
run_for 0 train more.csv --label y --threads 1 --model logistic --out on
run_for 0 train --resume on --until epochs=200
status=0
"$DROVE" train --data - --label y --model auto <xor.csv >out.txt 2>err.txt || status=$?
[ "$status" = 2 ] && grep -q 'model auto: expected data that can be read more than once' err.txt ||
    fail "pipe: $status $(cat err.txt)"
run_for 2 train xor.csv --label y --model auto --precision D8M8
grep -q 'model auto: expected no low --precision' err.txt || fail "precision: $(cat err.txt)"

# Bins of number columns go into the model file.
run_for 0 train 'sum.csv?bins=8' --label y --model linear --threads 1 --out bins
run_for 0 eval bins/model.safetensors --data sum.csv --label y
run_for 2 train 'sum.csv?bins=1000' --label y
grep -q bins err.txt || fail "bins: $(cat err.txt)"
