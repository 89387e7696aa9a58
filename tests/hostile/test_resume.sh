# drove train --resume: what it says of a run that is over, or whose steps have come to an end; what it keeps.
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"
awk 'BEGIN {
    srand(7); print "a,b,c,y"
    for (i = 0; i < 240; i++) { a = rand(); b = rand(); c = rand(); print a "," b "," c "," (a * b + c > 0.8) + 0 }
}' >table.csv
field() { # FILE KEY...: the value of a key in an object of JSON
    python3 -c 'import json, sys
value = json.load(open(sys.argv[1]))
for key in sys.argv[2:]: value = value[key]
print(json.dumps(value, sort_keys=True))' "$@"
}
said() { grep -qF -- "$1" err.txt || fail "expected \"$1\": $(cat err.txt)"; }
not_said() { if grep -qF -- "$1" err.txt; then fail "not expected: \"$1\": $(cat err.txt)"; fi; }

# Over: which condition, and what trains on.
begin() { # OPTION...: a run of its own in the folder "run"
    rm -rf run
    run_for 0 train table.csv --label y --test none --model logistic --threads 1 --lr 0.1 --quiet --out run "$@"
}
begin --until epochs=3
cp run/model.safetensors before.safetensors
run_for 0 train --resume run
said '--resume: nothing to do: 3 epochs are done (--until epochs=3); to train on: --until epochs=6'
not_said '--schedule'
cmp run/model.safetensors before.safetensors || fail "nothing to do: expected the same model"
run_for 0 train --resume run --until epochs=6
not_said 'nothing to do'
not_said 'step size'
begin --until updates=20
run_for 0 train --resume run
said 'nothing to do: 20 updates are done (--until updates=20)'
begin --until loss=90%,epochs=50
run_for 0 train --resume run
said 'nothing to do: the target is reached'

# When the targets of the loss were met stays as it was.
awk 'BEGIN { srand(7); print "a,y"; for (i = 0; i < 200; i++) print 2 * (i % 2) - 1 + 0.5 * rand() "," i % 2 }' >apart.csv
run_for 0 train apart.csv --label y --test none --model logistic --threads 1 --lr 0.5 --quiet --until epochs=20 --out met
for key in time_to epochs_to updates_to; do field met/summary.json $key; done >before.txt
grep -q '"10%": [0-9]' before.txt && grep -q '"2%": null' before.txt || fail "expected 10 % met, and not 2 %: $(cat before.txt)"
run_for 0 train --resume met --until epochs=21
for key in time_to epochs_to updates_to; do field met/summary.json $key; done | diff before.txt - || fail "the targets met"

# A schedule at its end: the steps are nothing, which is said with what gives others.
for schedule in cosine linear; do
    begin --until epochs=3 --schedule $schedule:3
    run_for 0 train --resume run
    said "to train on: --until epochs=6 --schedule $schedule:6"
    cp run/model.safetensors before.safetensors
    cp -r run other
    run_for 0 train --resume run --until epochs=6
    said "--resume: the step size is 0 from here on (--schedule $schedule:3)"
    said "--schedule $schedule:6 gives it steps again"
    cmp -s run/model.safetensors before.safetensors || fail "$schedule: expected steps of 0"
    run_for 0 train --resume other --until epochs=6 --schedule $schedule:6
    not_said 'step size'
    if cmp -s other/model.safetensors before.safetensors; then fail "$schedule:6: expected steps"; fi
    rm -rf other
done
begin --until epochs=3 --schedule exponential:0.05
run_for 0 train --resume run --until epochs=4
said '--schedule constant gives it steps again'
begin --until epochs=3 --schedule cosine:3?floor=0.1
run_for 0 train --resume run --until epochs=6
not_said 'step size'

# A pack is a network like others: it goes on to be trained, and what it was made of is the first run's to say.
defaults=auto run_for 0 train table.csv --label y --model auto --threads 1 --max-members 2 --until epochs=5 --quiet --out pack
[ "$(field pack/run.json pack)" != null ] || fail "expected a record of the pack: $(cat pack/run.json)"
defaults=auto run_for 0 train --quiet --resume pack --until epochs=3
[ "$(field pack/run.json pack)" = null ] && [ "$(field pack/summary.json epochs)" = 3.0 ] ||
    fail "expected three epochs of the network: $(cat pack/summary.json)"
defaults=auto run_for 0 train --quiet --resume pack --until epochs=5
[ "$(field pack/summary.json epochs)" = 5.0 ] || fail "expected two more epochs: $(cat pack/summary.json)"
