#!/bin/bash
# --record and --replay as a user meets them: what is said, what is refused, what is written.
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"
command -v python3 >/dev/null || { echo "no python3 to read JSON with: skipped"; exit 77; }
export PYTHONDONTWRITEBYTECODE=1

run=(train --data synth:digits?n=600 --test none --model mlp:16 --batch 4 --lr 0.05 --until updates=200
    --strategy leashed --threads 4)

run_for 0 "${run[@]}" --out recorded --record run.rec
grep -q 'record: run.rec: 2[0-9]* steps of 4 workers, [0-9.]* bytes each' err.txt || fail "no line about the record"

run_for 0 train --replay run.rec --replay-steps steps.jsonl --out replayed
grep -q 'replay: 2[0-9]* steps of 4 workers on one thread: the same bits at all of [0-9]* marks' err.txt ||
    fail "no line about the replay"
cmp recorded/model.safetensors replayed/model.safetensors || fail "another model"
python3 - <<'P' || fail "the steps"
import json
steps = [json.loads(line) for line in open("steps.jsonl")]
assert [s["step"] for s in steps] == list(range(1, len(steps) + 1))
written = [s["written"] for s in steps if s["published"]]
assert written == list(range(1, 201)), written
assert all(s["written"] == s["read"] + s["staleness"] + 1 for s in steps if s["published"])
assert sorted(s["batch"] for s in steps) == list(range(len(steps)))
assert all(s["loss"] > 0 and s["gradient_norm"] > 0 and s["eta"] > 0 for s in steps)
assert {s["worker"] for s in steps} <= {0, 1, 2, 3}
P

# A shorter end, for looking at what was there then.
run_for 0 train --replay run.rec --until updates=17 --json
python3 -c 'import json, sys; assert json.load(open(sys.argv[1]))["updates"] == 17' out.txt || fail "not 17 updates"

# The record of a folder says no more of itself to a run that goes on there.
run_for 0 train --resume recorded --until updates=210
[ "$(find . -name '*.rec' | wc -l)" = 1 ] || fail "another record"

# A run that goes on: the record holds the state, and the folder is not asked for it again.
run_for 0 train --resume recorded --until updates=300 --record o
grep -q 'record: o: 90 steps' err.txt || fail "$(cat err.txt)"
mv recorded moved
run_for 0 train --replay o --out on
cmp moved/model.safetensors on/model.safetensors || fail "another model of the run that went on"
mv moved recorded

# Workers that are processes, and one of them is killed: the record is good up to the mark before.
run_for 0 "${run[@]}" --threads all --workers procs:3 --out procs --record procs.rec
run_for 0 train --replay procs.rec --out procs-replayed
cmp procs/model.safetensors procs-replayed/model.safetensors || fail "another model of processes"
if has_proc; then # where pgrep finds them
    "$DROVE" train --defaults classic --data 'synth:digits?n=600' --test none --model mlp:16 --batch 4 --lr 0.01 \
        --until seconds=60 --save-every updates=200 --eval-every 1 --strategy hogwild --workers procs:3 --out lost \
        --record lost.rec >out.txt 2>err.txt &
    job=$!
    until grep -q '^epoch 2' err.txt || ! kill -0 $job 2>/dev/null; do sleep 0.05; done
    victim=$(pgrep -P $job | tail -1)
    kill -KILL "$victim"
    until grep -q 'is lost, the run goes on' err.txt || ! kill -0 $job 2>/dev/null; do sleep 0.05; done
    sleep 0.3
    kill -INT $job
    status=0
    wait $job || status=$?
    [ "$status" = 130 ] || fail "expected status 130, found $status: $(cat err.txt)"
    grep -q 'record: lost.rec ends at its last mark' err.txt || fail "no line about the lost worker: $(cat err.txt)"
    run_for 0 train --replay lost.rec
    grep -q 'the same bits at all of' err.txt || fail "$(cat err.txt)"
fi

# A disk that is full: the run goes on without its record, says so, and is complete; then it fails.
trap '' XFSZ
status=0
(ulimit -f 45 && exec "$DROVE" train --defaults classic --data 'synth:digits?n=600' --test none --model mlp:4 \
    --batch 1 --lr 0.01 --until epochs=60 --eval-every 10 --strategy mutex --threads 2 --out full --record full.rec) \
    >out.txt 2>err.txt || status=$?
[ "$status" = 1 ] || fail "expected status 1, found $status"
[ "$(grep -c 'the run goes on without its record' err.txt)" = 1 ] || fail "expected it to be said once: $(cat err.txt)"
tail -1 err.txt | grep -q 'full.rec: cannot write: .*; the run itself is complete' || fail "$(cat err.txt)"
python3 -c 'import json; assert json.load(open("full/summary.json"))["updates"] == 36000' || fail "not complete"
run_for 0 train --replay full.rec
grep -q 'the same bits at all of' err.txt || fail "$(cat err.txt)"

# A strategy with races takes turns; one that repeats by itself is run again.
run_for 0 "${run[@]}" --strategy hogwild --out none --record races.rec
run_for 0 train --replay races.rec
run_for 0 "${run[@]}" --strategy sync --out none --record sync.rec
run_for 0 train --replay sync.rec
grep -q 'run again, as sync repeats by itself' err.txt || fail "no line about sync"

# ---- refused ----

wrong 'expected --batch 4, as it was recorded, found 8' train --replay run.rec --batch 8
wrong 'expected a strategy whose steps have an order' \
    "${run[@]}" --strategy 'accumulate?order=first-come' --out none --record other.rec
wrong 'expected a strategy whose steps have an order' \
    "${run[@]}" --strategy local --period auto --out none --record other.rec
[ ! -e other.rec ] || fail "a record of what was refused"
echo 'my notes' >notes
wrong 'found another file: notes' "${run[@]}" --out none --record notes
wrong 'notes: expected a record of a run' train --replay notes
grep -q '^my notes$' notes || fail "notes are gone"
wrong 'none.rec' train --replay none.rec
wrong 'run.rec' "${run[@]}" --out none --replay run.rec --replay-steps run.rec

wrong 'expected --replay with it' "${run[@]}" --out none --replay-steps steps.jsonl
wrong 'expected another file than that of --timeline' "${run[@]}" --out none --timeline x.json --record x.json
wrong 'expected a name that the run does not use itself' "${run[@]}" --out new --record new/model.safetensors
wrong 'which is run again' train --replay sync.rec --replay-steps steps.jsonl
wrong 'expected --threads 4' train --replay run.rec --threads 2
mkfifo pipe
wrong 'found no regular file' train --replay pipe
wrong 'expected a regular file' "${run[@]}" --out none --record pipe
python3 - <<'P' # the header, and a little of the first block
import struct
whole = open("run.rec", "rb").read()
size, = struct.unpack("<Q", whole[24:32])
open("early.rec", "wb").write(whole[:12 + 28 + size + 20])
P
wrong 'expected training up to a mark' train --replay early.rec --quiet
# An end that nobody can read, under the right checksums: no default stands for it.
PYTHONPATH=$DROVE_SOURCE_DIR/tests/cli python3 - <<'P'
import struct
from seal import checksum
whole = open("run.rec", "rb").read()
size, = struct.unpack("<Q", whole[24:32])
header, rest = whole[40:40 + size], whole[40 + size:]
assert header.count(b'"updates=200"') == 1
header = header.replace(b'"updates=200"', b'"updates=many"')
head = whole[12:24] + struct.pack("<Q", len(header))
open("until.rec", "wb").write(whole[:12] + head + struct.pack("<Q", checksum(head + struct.pack("<Q", checksum(header)))) + header + rest)
P
wrong '^drove: until.rec: --until updates: expected .*found "many"$' train --replay until.rec --until updates=17
run_for 0 data convert 'synth:logistic?n=20000&d=50' 'rows:many.rows?block=64KiB'
run_for 0 train --data 'rows:many.rows?window=1MiB' --test none --model linear --lr 0.01 \
    --until epochs=1 --threads 2 --strategy mutex --out none --record disk.rec
run_for 0 train --replay disk.rec
echo "replay: run.rec" >replay.yaml
run_for 0 train replay.yaml

# A record that is cut off is good up to its last mark; a damaged one is refused.
size=$(stat -c %s run.rec)
head -c $((size - 10)) run.rec >cut.rec
run_for 0 train --replay cut.rec
grep -q 'the recorded run was killed' err.txt || fail "no line about the end"
cp run.rec bad.rec
printf '\377' | dd of=bad.rec bs=1 seek=$((size / 2)) conv=notrunc 2>/dev/null
cmp -s run.rec bad.rec && printf '\000' | dd of=bad.rec bs=1 seek=$((size / 2)) conv=notrunc 2>/dev/null
# Behind the damage nothing is read: where that is before the first mark, there is nothing to repeat.
wrong 'damaged\|expected training up to a mark' train --replay bad.rec --quiet

# Other data.
cat >a.csv <<'D'
x,y,label
1,2,a
2,1,b
3,4,a
4,3,b
5,7,a
7,5,b
D
sed 's/5,7,a/5,7,b/' a.csv >b.csv
table=(train --data a.csv --test none --model logistic --lr 0.1 --until updates=20 --strategy mutex --threads 2)
run_for 0 "${table[@]}" --out none --record table.rec
cp b.csv a.csv
wrong 'expected the recorded data' train --replay table.rec --quiet
