# --eval-beside: evaluations of a copy of the parameters, while the workers go on.  What it says of a model is what
# drove eval says of the saved one, to the bit; nobody is parked; what cannot be copied is refused.
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"
command -v python3 >/dev/null || { echo "skip: no python3"; exit 77; }
data="synth:digits?n=3000"

for strategy in leashed mutex rwlock ssp:4 softsync:2; do
    # The target is met by a copy, which is the result however far the workers went meanwhile.
    run_for 0 train --data "$data" --test none --model mlp:32 --strategy "$strategy" --threads 2 --lr 0.05 \
        --until loss=40%,epochs=200 --eval-every 0.25 --eval-beside --metrics none --out run --json --quiet
    mv out.txt "run.json.$$"
    run_for 0 eval run --data "$data" --json
    python3 - "run.json.$$" out.txt run/log.jsonl <<'END'
import json, sys
run, again = (json.load(open(f)) for f in sys.argv[1:3])
log = [json.loads(line) for line in open(sys.argv[3])]
assert run["outcome"] == "reached", run["outcome"]
assert run["loss"] == again["loss"], (run["loss"], again["loss"])
assert run["parked"]["times"] == 0 and run["parked"]["s"] == 0, run["parked"]
assert run["parked"]["beside"] >= 1, run["parked"]
# The last record is of the copy: no later than the run's end, and its loss is the one that met the target.
assert log[-1]["loss"] == run["loss"] <= 0.4 * run["loss_initial"], (log[-1], run["loss"])
assert log[-1]["updates"] <= run["updates"] and log[-1]["train_s"] <= run["train_s"], (log[-1], run["updates"])
for a, b in zip(log, log[1:]):
    assert a["examples"] < b["examples"] and a["updates"] <= b["updates"] and a["train_s"] <= b["train_s"], (a, b)
END
    rm -r run
done

# Parked evaluations are counted, with their time.
run_for 0 train --data "$data" --test none --model mlp:32 --strategy leashed --threads 2 --lr 0.05 --until epochs=2 \
    --eval-every 0.5 --metrics none --out none --json --quiet
python3 -c 'import json; p = json.load(open("out.txt"))["parked"]; assert p["times"] == 3 and p["s"] > 0 and p["beside"] == 0, p'

# The limits still hold while a copy is evaluated: the workers are not let go on for the whole of it.
run_for 0 train --data "synth:digits?n=60000" --test none --model mlp:256 --strategy leashed --threads 2 --lr 0.05 \
    --until seconds=0.3 --eval-every 0.01 --eval-beside --metrics none --out none --json --quiet
python3 -c 'import json; r = json.load(open("out.txt")); assert 0.25 < r["train_s"] < 3, r["train_s"]'

# Batch normalisation's statistics are computed at the copy.
cat >bn.yaml <<'END'
layers:
  - {name: hidden, type: dense, units: 16}
  - {name: norm, type: batch_norm}
  - {name: bend, type: activation, activation: relu}
  - {name: classes, type: dense}
END
run_for 0 train --data "$data" --test none --model bn.yaml --strategy mutex --threads 2 --lr 0.05 \
    --until loss=60%,epochs=200 --eval-every 0.25 --eval-beside --metrics none --out run --json --quiet
mv out.txt bn.json
run_for 0 eval run --data "$data" --json
python3 -c '
import json
a, b = (json.load(open(f))["loss"] for f in ("bn.json", "out.txt"))
assert a == b, (a, b)'

refused() { # TEXT ARGUMENT...
    local text=$1
    shift
    run_for 2 train --data "$data" --model mlp:8 --threads 2 --until epochs=1 --eval-beside --out none --quiet "$@"
    [ "$(wc -l <err.txt)" = 1 ] && grep -qF -- "$text" err.txt || fail "$*: expected \"$text\", found: $(cat err.txt)"
}
refused "--strategy hogwild: its parameters change while they are copied" --strategy hogwild
refused "expected one of ssp, softsync, mutex, rwlock, leashed" --strategy sync
refused "its worker steps in place and without a lock" --strategy sequential
refused "parameters of their own" --strategy easgd
refused "expected no --record" --strategy leashed --record steps.rec
refused "expected no --machine" --strategy leashed --machine here
refused "expected a --strategy whose parameters can be copied" --defaults auto
