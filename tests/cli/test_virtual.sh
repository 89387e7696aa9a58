# --machine: what a run says of its virtual clock, and what is refused, in one line each.
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"
export DROVE

cat >machine.yaml <<'END'
name: four
sockets: 2
cores: 2
batch_us: 100
example_us: 10
copy_gb_s: 4
update_gb_s: 2
line_ns: 60
hand_over_us: 2
jitter: 0.1
END
seen=
small='--data synth:digits?n=600&n_test=100 --model mlp:16 --lr 0.05 --batch 16 --until epochs=1 --metrics none'

# All threads of the machine, twice the same but for the memory used and the folder's name.
for i in one two; do
    # shellcheck disable=SC2086
    run_for 0 train $small --strategy leashed --machine machine.yaml --out $i --json
    grep -q '^drove: clock: virtual, of the machine four (2 x 2 x 1): all seconds of training are modelled$' err.txt ||
        fail "the clock is not said: $(cat err.txt)"
    sed -E 's/"peak_rss_bytes": [0-9]+//; s/"out": "[a-z]+"//g; s/"(data|start)_s": [0-9.e-]+//g' out.txt >$i.json
    grep -o '"train_s": *[0-9.e-]*' $i/log.jsonl >$i.times
done
cmp one.json two.json
cmp one.times two.times
cmp one/model.safetensors two/model.safetensors
grep -q '"clock": "virtual"' one.json || fail "the summary lacks the clock"
grep -q '"clock": *"virtual"' one/run.json || fail "run.json lacks the clock"
[ "$(grep -o '"name": "thread:' one.json | wc -l)" = 4 ] || fail "expected four workers"
grep -q '"repeatable": true' one.json || fail "expected a run that repeats"

# A page says that its seconds are modelled, and of how many runs; the line of a watch too.
# shellcheck disable=SC2086
run_for 0 train $small --strategy leashed --threads 1 --out real
run_for 0 report one real --html page.html
grep -q 'Virtual time in 1 of 2 runs' page.html || fail "the page does not tell virtual from real time"
run_for 0 report real --html page.html
! grep -q 'Virtual time' page.html || fail "the page calls real time virtual"
if has_pseudo_terminal; then
    python3 - <<'PY' || fail "drove watch does not say that time is virtual"
import os, pty, subprocess
os.environ["TERM"] = "xterm"
said = []
def read(fd):
    said.append(os.read(fd, 65536))
    return said[-1]
for name, is_virtual in ("one", True), ("real", False):
    said.clear()
    pty.spawn([os.environ["DROVE"], "watch", name], read)
    assert (b", virtual time" in b"".join(said)) == is_virtual, said
PY
fi

# Evaluations look, and touch nothing: with every strategy the same steps at the same times, and the same parameters, however
# many there are.
for strategy in $("$DROVE" list strategies | awk '{ print $1 }'); do
    for every in 0.2 2; do
        "$DROVE" train --data 'synth:digits?n=300&n_test=50' --model mlp:8 --lr 0.05 --batch 4 --until epochs=2 --metrics none \
            --strategy "$strategy" --machine machine.yaml --eval-every $every --out "$strategy-$every" --json >$every.json \
            2>err.txt || continue 2
        grep -o '"\(train_s\|updates\|dropped\|attempts\|mean\|max\)": *[0-9.e+-]*' $every.json >$every.figures
    done
    cmp 0.2.figures 2.figures || fail "$strategy: evaluations change what the workers do"
    cmp "$strategy-0.2/model.safetensors" "$strategy-2/model.safetensors" || fail "$strategy: evaluations change the parameters"
    [ "$(wc -l <"$strategy-0.2/log.jsonl")" -ge 10 ] || fail "$strategy: expected ten evaluations: $(cat "$strategy-0.2/log.jsonl")"
    seen="$seen $strategy"
done
for strategy in sequential mutex rwlock hogwild replicas leashed ssp softsync sync hogbatch adaptive local easgd-async; do
    case "$seen " in *" $strategy "*) ;; *) fail "$strategy: expected it on a virtual clock: $(cat err.txt)" ;; esac
done

# They see what is there: with workers in step the losses of real threads, which an evaluation parks.
for strategy in sequential sync; do
    for clock in '' '--machine machine.yaml'; do
        # shellcheck disable=SC2086
        run_for 0 train --data 'synth:digits?n=300&n_test=50' --model mlp:8 --lr 0.05 --batch 4 --until epochs=2 --strategy $strategy \
            --threads $([ $strategy = sync ] && echo 3 || echo 1) --eval-every 0.2 $clock --log "$strategy${clock:+-virtual}.jsonl" --quiet
        sed -E 's/.*"epochs":([0-9.]*).*"loss":([0-9.]*),"acc.*"test_loss":([0-9.]*).*/\1 \2 \3/' "$strategy${clock:+-virtual}.jsonl" \
            >"$strategy${clock:+-virtual}.losses"
    done
    cut -d' ' -f2- $strategy.losses >1 && cut -d' ' -f2- $strategy-virtual.losses >2
    cmp 1 2 || fail "$strategy: losses on the virtual clock: $(paste $strategy.losses $strategy-virtual.losses)"
done

# A target that is met while the workers train: the model is the one that met it, not that of their last steps.
for seed in 1 2 3; do
    rm -rf met
    run_for 0 train --data 'synth:digits?n=600' --test none --model mlp:16 --lr 0.05 --batch 4 --strategy leashed --threads 4 --seed $seed \
        --eval-every 0.13 --machine machine.yaml --until loss=40%,epochs=20 --out met --json
    run_for 0 eval met --data 'synth:digits?n=600' --json
    python3 - <<'PY' || fail "seed $seed: the saved model does not meet the target that was reached"
import json
said, found = json.load(open("met/summary.json")), json.load(open("out.txt"))
assert said["outcome"] == "reached" and said["loss"] <= 0.4 * said["loss_initial"], said["loss"]
assert abs(found["loss"] - said["loss"]) < 1e-5 * said["loss"], (found["loss"], said["loss"])
PY
done

# Low precision: one worker makes the steps of real time, to the bit; four are stale, and evaluations touch nothing there either.
low='--data synth:logistic?d=64&n=400 --model logistic --lr 0.1 --batch 4 --until epochs=2 --quiet'
for precision in D8M8 D16M16 D4M4 D32fM32f D8M8/4; do
    strategy=hogwild
    case $precision in */4) strategy=replicas?period=7 ;; esac
    # shellcheck disable=SC2086
    for run in 'a --threads 1' 'b --threads 1 --machine machine.yaml' 'c --threads 4 --machine machine.yaml --eval-every 0.1' \
        'd --threads 4 --machine machine.yaml --eval-every 2'; do
        rm -rf "${run%% *}"
        run_for 0 train $low --precision "${precision%/4}" --strategy $strategy ${run#* } --out "${run%% *}"
    done
    cmp a/model.safetensors b/model.safetensors || fail "$precision: one worker on the virtual clock makes other steps"
    cmp c/model.safetensors d/model.safetensors || fail "$precision, $strategy: evaluations change the parameters"
    python3 -c 'import json; assert json.load(open("c/summary.json"))["staleness"]["mean"] > 1.5' || fail "$precision: expected stale steps"
done

# Every update of such data costs its time, and a line of a small model goes to another worker every 60 ns at most: an update reads it and writes it.
cat >lines.yaml <<'END'
name: lines
sockets: 1
cores: 4
batch_us: 0
example_us: 0.1
copy_gb_s: 1e6
update_gb_s: 1e6
line_ns: 60
hand_over_us: 2
END
for threads in 1 4; do
    run_for 0 train --data 'synth:logistic?d=64&n=400' --test none --model logistic --lr 0.1 --batch 1 --until epochs=1 --quiet \
        --precision D8M8 --strategy hogwild --threads $threads --machine lines.yaml --out lines-$threads
done
python3 - <<'PY' || fail "a small model of few bits: $(grep -o '"train_s": *[0-9.e-]*' lines-1/summary.json lines-4/summary.json)"
import json
one, four = (json.load(open(f"lines-{n}/summary.json"))["train_s"] for n in (1, 4))
assert abs(one - 400 * 100e-9) < 2e-9, one
assert 398 * 120e-9 < four < 402 * 120e-9 + 220e-9, four
PY

# Measured costs: of this machine.
# shellcheck disable=SC2086
run_for 0 train $small --strategy mutex --threads 1 --machine here --out none
grep -q '^  clock       virtual: all seconds are those of the machine here ' out.txt err.txt || fail "no clock in the summary"
grep -q '^  measured ' out.txt err.txt || fail "measured costs are not said"

# shellcheck disable=SC2086
refused() { # refused MESSAGE OPTION...
    message=$1
    shift
    run_for 2 train $small --out none "$@"
    [ "$(cat err.txt)" = "drove: $message" ] || fail "$*: $(cat err.txt)"
}
v='on a virtual clock, found'
# auto is no word of this option, but a name.
refused "--machine: auto: cannot be opened: No such file or directory" --machine auto --strategy hogwild
refused "--machine: expected a --strategy that is named $v auto, which chooses by real speed" --machine machine.yaml
refused "--machine: expected floats or integers $v bf16" --machine machine.yaml --strategy hogwild \
    --precision "bf16?masters=bf16"
refused "--machine: expected low-precision parameters in one vector $v easgd-sync3" --machine machine.yaml \
    --strategy easgd-sync3 --precision D8M8
refused "--machine: expected steps that are published when they are computed $v hogwild:live" --machine machine.yaml \
    --strategy hogwild:live
refused "--machine: --strategy tree: its workers wait for each other's slices in real time" --machine machine.yaml --strategy tree
refused "--machine: expected workers that are threads $v processes" --machine machine.yaml --strategy mutex --workers procs:2
refused "--machine four: expected at most 4 workers (2 x 2 x 1), found 5" --machine machine.yaml --strategy mutex --threads 5
refused "--loaders 2: expected 0 or auto on a virtual clock, which does not model loading" --machine machine.yaml \
    --strategy mutex --loaders 2
refused "--workers fake:gpu: expected a device of the machine four, found none of this name" --machine machine.yaml \
    --strategy hogbatch --workers cpu:0+fake:gpu
refused "--machine: expected no --record, as a run repeats by itself $v one" --machine machine.yaml --strategy mutex --record r

echo 'name: x
sockets: two' >bad.yaml
run_for 2 train --machine bad.yaml --strategy mutex --out none
[ "$(cat err.txt)" = 'drove: --machine: bad.yaml:2:10: sockets: expected a whole number from 1 to 64, found "two"' ] ||
    fail "a bad file: $(cat err.txt)"
run_for 2 train --machine none.yaml --strategy mutex --out none
grep -q '^drove: --machine: .*none.yaml' err.txt || fail "no file: $(cat err.txt)"
