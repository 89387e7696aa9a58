# drove tune: a search, going on with it, its files, and what it refuses.
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"

# y follows from two of three columns and their product.
awk 'BEGIN {
    srand(5)
    print "a,b,c,y"
    for (i = 0; i < 400; i++) { a = rand() - 0.5; b = rand() - 0.5; print a "," b "," rand() "," (a * b + 0.02 * (rand() - 0.5) > 0 ? "in" : "out") }
}' >points.csv
head -n 1 points.csv >new.csv
tail -n 100 points.csv >>new.csv

lines() { wc -l <"$1"; }
common='points.csv --label y --threads 1 --epochs 9'

run_for 0 tune $common --budget trials=12 --out found --test new.csv
[ "$(lines found/trials.jsonl)" = 12 ] || fail "expected 12 trials: $(cat err.txt)"
[ "$(grep -c '^trial [0-9]*: ' err.txt)" = 12 ] || fail "expected a line a trial: $(cat err.txt)"
[ "$(grep -c '^model: drove train makes a pack of models of a table' err.txt)" = 1 ] || fail "no word of packs: $(cat err.txt)"
grep -q '^Best of 12 trials' out.txt || fail "report: $(cat out.txt)"
grep -q 'test data   loss' out.txt || fail "expected the test data's loss: $(cat out.txt)"
[ -e found/best/model.safetensors ] || fail "no model: $(ls found found/best)"
python3 - <<'PY' || fail "the journal and the report disagree"
import json
trials = [json.loads(line) for line in open("found/trials.jsonl")]
assert [t["trial"] for t in trials] == list(range(1, 13)), trials
assert trials[0]["settings"] == {}
for t in trials:  # every score is that of the trial's own summary
    run = json.load(open("found/trials/%d/out.json" % t["trial"]))
    assert abs(run["test_metrics"]["log_loss"] - t["score"]) < 1e-8 * abs(t["score"]), t
    assert abs(run["epochs"] - t["epochs"]) < 0.5, t
    for name, value in t["settings"].items():
        assert name in ("weight_decay", "batch") or run[name] == value or name == "lr" and abs(run[name] - float(value)) < 1e-6 * run[name], (name, value)
top = [t for t in trials if t["epochs"] == 1]  # 9 of the first bracket, then of the second
assert len(top) >= 9 and sum(t["epochs"] == 3 for t in trials) >= 3
shown = open("out.txt").read().split("log_loss ")[1].split(",")[0]
longest = max(t["epochs"] for t in trials)
best = min((t for t in trials if t["epochs"] == longest), key=lambda t: t["score"])
assert abs(float(shown) - best["score"]) < 1e-5, (shown, best)
PY

# The run file gives the model again, and the model is used as any other.
run_for 0 eval found/best/model.safetensors --data new.csv --json
# The run file trains to the same model.
run_for 0 train found/best.yaml --out again --quiet --defaults auto
cmp again/model.safetensors found/best/model.safetensors || fail "best.yaml: expected the model of found/best"

# Trials make no packs: the search compares models.
grep -q '"model": "mlp:128,128,128"' found/trials/1/out.json || fail "the defaults: $(cat found/trials/1/out.json)"
if grep -l '^drove: model: ' found/trials/*/err.txt; then fail "a trial made a pack"; fi

# The same command runs no trial twice, and a larger budget adds trials.
cp found/trials.jsonl before.jsonl
run_for 0 tune $common --budget trials=12 --out found --json
cmp -s before.jsonl found/trials.jsonl || fail "expected no further trial"
python3 -c 'import json; r = json.load(open("out.txt")); assert r["trials"] == 12 and r["run"] == "found/best-2", r'
run_for 0 tune $common --budget trials=15 --out found --quiet
[ "$(lines found/trials.jsonl)" = 15 ] || fail "expected 15 trials"
head -n 12 found/trials.jsonl | cmp -s - before.jsonl || fail "expected the first 12 as they were"

# Trials that give no score are behind all that give one, however long they were.
mkdir -p scoreless
cp found/study.json scoreless
python3 - <<'PY'
import json
with open("scoreless/trials.jsonl", "w") as out:
    for line in open("before.jsonl"):
        trial = json.loads(line)
        if trial["epochs"] > 1:
            trial["score"], trial["error"] = None, "the loss became infinite"
        print(json.dumps(trial), file=out)
PY
run_for 0 tune $common --budget trials=12 --out scoreless --json
python3 -c 'import json; r = json.load(open("out.txt")); assert r["best"][0]["epochs"] == 1, r["best"]' || fail "a trial without a score: $(cat out.txt)"

# A folder with other files is none for a search, and that of a search is no model.
run_for 2 tune $common --budget trials=4 --out again --quiet
grep -q -- '--out: expected a new or empty folder, or that of a search, found again with' err.txt || fail "$(cat err.txt)"
run_for 2 predict found new.csv
grep -q 'found the folder of a search: its model is found/best$' err.txt || fail "$(cat err.txt)"
run_for 2 tune --budget trials=4
grep -q '^drove: tune: expected DATA, such as people.csv' err.txt || fail "$(cat err.txt)"

# The same seed draws the same settings.
run_for 0 tune $common --budget trials=4 --out drawn --quiet
settings() { sed 's/.*"settings":\({[^}]*}\).*/\1/' "$1" | head -n 4; }
[ "$(settings drawn/trials.jsonl)" = "$(settings found/trials.jsonl)" ] || fail "other settings with the same seed"

# Killed in the middle, it goes on; half a line at the end is made anew.
"$DROVE" tune $common --budget trials=40 --out killed >out.txt 2>err.txt &
pid=$!
for i in $(seq 600); do [ "$(lines killed/trials.jsonl 2>/dev/null || echo 0)" -ge 3 ] && break || sleep 0.05; done
kill -9 $pid
wait $pid 2>/dev/null || true
n=$(lines killed/trials.jsonl)
[ "$n" -ge 3 ] || fail "expected 3 trials: $(cat err.txt)"
printf '{"trial":99,"sett' >>killed/trials.jsonl
run_for 0 tune $common --budget trials=$((n + 2)) --out killed --quiet
[ "$(lines killed/trials.jsonl)" = $((n + 2)) ] || fail "expected $((n + 2)) trials, found $(lines killed/trials.jsonl)"
sed -i '2s/^{/{{/' killed/trials.jsonl
run_for 2 tune $common --budget trials=$((n + 2)) --out killed --quiet
grep -q '^drove: killed/trials.jsonl:2: .*; without this line the same command goes on' err.txt || fail "no way out: $(cat err.txt)"
sed -i 2d killed/trials.jsonl
run_for 0 tune $common --budget trials=$((n + 2)) --out killed --quiet
[ "$(lines killed/trials.jsonl)" = $((n + 2)) ] || fail "expected the lost trial again"

# Ctrl-C ends it in order.
"$DROVE" tune $common --budget trials=400 --out stopped >out.txt 2>err.txt &
pid=$!
for i in $(seq 600); do [ "$(lines stopped/trials.jsonl 2>/dev/null || echo 0)" -ge 2 ] && break || sleep 0.05; done
kill -TERM $pid
status=0
wait $pid || status=$?
[ "$status" = 143 ] || fail "expected status 143, found $status: $(cat err.txt)"
grep -q 'interrupted: the same command with --out stopped goes on' out.txt || fail "report: $(cat out.txt)"

# Ended before any trial has, it shows no result.
"$DROVE" tune $common --epochs 1e6 --out none-done >out.txt 2>err.txt &
pid=$!
for i in $(seq 600); do [ -e none-done/trials.jsonl ] && break || sleep 0.05; done
kill -INT $pid
status=0
wait $pid || status=$?
[ "$status" = 130 ] || fail "expected status 130, found $status: $(cat err.txt)"
grep -q '^No trial has finished\.$' out.txt || fail "no trial: $(cat out.txt)"
if grep -q 'nan\|Best of' out.txt; then fail "no trial: $(cat out.txt)"; fi

# A space of one's own, cross-validation, two trials at a time, and a trial that fails is a result.
cat >space.yaml <<'YAML'
model: [logistic, "mlp:8"]
lr: [0.01, 1e30]
rule: [sgd]
YAML
run_for 0 tune $common --space space.yaml --folds 3 --jobs 2 --budget trials=30 --metric accuracy --out own
python3 - <<'PY' || fail "the search of an own space: $(cat own/trials.jsonl)"
import json
trials = [json.loads(line) for line in open("own/trials.jsonl")]
assert {json.dumps(t["settings"], sort_keys=True) for t in trials} <= {"{}"} | {
    json.dumps({"model": m, "lr": lr, "rule": "sgd"}, sort_keys=True) for m in ("logistic", "mlp:8") for lr in ("0.01", "1e30")}
assert {t["fold"] for t in trials if t["epochs"] == 9} == {1, 2, 3}
assert {t["fold"] for t in trials if t["epochs"] < 9} == {1}
assert all(t["score"] is None and t["error"] for t in trials if t["settings"].get("lr") == "1e30")
assert all(t["score"] > 0.3 for t in trials if t["settings"].get("lr") != "1e30")
PY

# Words of linear models have plain SGD alone; so no trial has another rule, and each has a score.
run_for 0 tune $common --precision D8M8 --model logistic --budget trials=12 --out words --quiet
python3 - <<'PY' || fail "the search with words: $(cat words/trials.jsonl)"
import json
trials = [json.loads(line) for line in open("words/trials.jsonl")]
assert all(t["score"] is not None for t in trials)
rules = {t["settings"].get("rule") for t in trials[1:]}
assert rules == {None, "sgd"}, rules
PY

refuse() { # PART ARGUMENT...
    local part=$1
    shift
    run_for 2 tune "$@"
    grep -qF -- "$part" err.txt && [ "$(lines err.txt)" = 1 ] || fail "drove tune $*: expected \"$part\": $(cat err.txt)"
}
refuse 'expected seconds=N, trials=N' $common --budget 5min
refuse '--budget trials: expected a whole number' $common --budget trials=2.5
refuse '--folds: expected a whole number from 1 to 100' $common --folds 0
refuse '--limit: expected a number' $common --limit nan
refuse 'did you mean "accuracy"' $common --metric acuracy --out none-yet
refuse 'trials have lengths of their own' points.csv --label y --until epochs=3
refuse 'expected a folder' $common --out none
refuse 'standard input' - --label y

# The longest folder: trained on in its hundredth place for the best run, of which nothing is cut off.
long=$(printf '%0200d/%0200d/%0200d/%0200d' 1 2 3 4)
mkdir -p "$long"
long=$long/$(printf "%0$((991 - ${#long}))d" 5)
refuse '--out: expected at most 992 bytes' $common --budget trials=1 --out "${long}55"
[ ! -e "${long}55" ] || fail "a folder is left of a search that was refused"
run_for 0 tune $common --budget trials=1 --out "$long" --quiet
mkdir $(seq -f "$long/best-%g" 2 99)
run_for 0 tune $common --budget trials=1 --out "$long" --json
python3 -c 'import json; r = json.load(open("out.txt")); assert r["run"].endswith("/best-100") and len(r["run"]) > 1000, r' ||
    fail "the longest folder: $(cat out.txt)"

run tune points.csv --label y --threads 1 --epochs 3 --out found
[ "$status" != 0 ] && grep -q 'expected a folder of this study, found [a-z]* of another: ' err.txt || fail "another search: $(cat err.txt)"
run tune $common --metric rmse --budget trials=2 --out nothing --quiet
[ "$status" != 0 ] && grep -q 'no trial gave rmse' err.txt || fail "no score: $(cat err.txt)"
