# Damaged files are refused, the save before a damaged one is used, other data are noticed, and a folder has one owner.
# ctest: slow: starts the program on each of many damaged files
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"
defaults=auto
command -v python3 >/dev/null || { echo "no python3 to damage files with: skipped"; exit 77; }
export PYTHONDONTWRITEBYTECODE=1
cat >edit.py <<'END'
"""edit.py FROM TO CHANGE: a safetensors file with a change.  unsummed: as other programs write it, without checksums."""
import json, os, struct, sys
sys.path.insert(0, os.environ["DROVE_SOURCE_DIR"] + "/tests/cli")
import seal
source, target, change = sys.argv[1:4]
raw = bytearray(open(source, "rb").read())
n = struct.unpack("<Q", raw[:8])[0]
header = json.loads(raw[8:8 + n])
body = bytes(raw[8 + n:])
meta = header["__metadata__"]
if change.startswith("flip:"):
    bit = int(change[5:]) % (8 * len(raw))
    raw[bit // 8] ^= 1 << bit % 8
    open(target, "wb").write(raw)
    sys.exit()
del meta["checksums"], meta["header_checksum"]
tensors = [[name, d] for name, d in header.items() if name != "__metadata__"]
for name in change.split(",")[1:]:
    tensors = [t for t in tensors if t[0] != name]
for t in tensors:
    t[0] = {"factor->x": {"input.factor": "input.x"}}.get(change, {}).get(t[0], t[0])
if change == "unscaled":
    meta["scale"] = "none"
data, out = b"", {"__metadata__": meta}
for name, d in tensors:
    begin, end = d["data_offsets"]
    out[name] = dict(d, data_offsets=[len(data), len(data) + end - begin])
    data += body[begin:end]
text = json.dumps(out).encode()
unsummed = struct.pack("<Q", len(text)) + text + data
open(target, "wb").write(unsummed if change == "unsummed" else seal.whole(out, data))
END
set_of='synth:logistic?n=400&d=30'
run_for 0 train --data "$set_of" --model logistic --threads 1 --until epochs=2 --out run --quiet
run_for 0 train --resume run --until epochs=3 --quiet
[ -s run/state.previous.safetensors ] || fail "expected the state before the last one"
model=run/model.safetensors
run_for 0 eval $model --data "$set_of" && cp out.txt eval.txt

# ---- what a model file must contain ----
python3 edit.py $model same.safetensors same
run_for 0 eval same.safetensors --data "$set_of"
diff <(grep -v '^model' eval.txt) <(grep -v '^model' out.txt) || fail "a file written anew should be the same model"
for change in 'same,input.shift' 'same,input.factor' 'same,input.shift,input.factor' 'factor->x' 'unscaled' 'unsummed' \
    'same,layer0.bias'; do
    python3 edit.py $model bad.safetensors "$change"
    for command in eval predict; do
        run_for 2 $command bad.safetensors --data "$set_of"
        [ "$(wc -l <err.txt)" -le 2 ] && grep -q 'bad.safetensors: .*expected' err.txt || fail "$change: $(cat err.txt)"
        [ ! -s out.txt ] || fail "$change: expected no output, found $(head -n 2 out.txt)"
    done
done
grep -q 'layer0.bias' err.txt || fail "the last one: expected its name, found $(cat err.txt)"

# ---- every part of a file is covered by a checksum ----
size=$(wc -c <$model)
for i in $(seq 0 60); do
    python3 edit.py $model bad.safetensors "flip:$((i * 8 * size / 61 + i % 8))"
    run_for 2 predict bad.safetensors --data "$set_of"
    [ ! -s out.txt ] || fail "bit $i of 61: expected no predictions"
done

# ---- states ----
cp -r run damaged
size=$(wc -c <run/state.safetensors)
python3 edit.py run/state.safetensors damaged/state.safetensors "flip:$((8 * (size - 300)))"
run_for 0 train --resume damaged --until epochs=4
grep -q 'state.safetensors: tensor .* the file is damaged; this goes on from the save before it' err.txt || fail "$(cat err.txt)"
grep -q 'epoch 4.00' err.txt || fail "expected it to train on: $(cat err.txt)"
rm -r damaged && cp -r run damaged
for name in state state.previous; do
    python3 edit.py run/$name.safetensors damaged/$name.safetensors "flip:$((8 * (size - 300)))"
done
run_for 2 train --resume damaged --until epochs=4
grep -q 'damaged/state.safetensors: .*the file is damaged' err.txt || fail "$(cat err.txt)"
rm damaged/state.safetensors && cp run/state.previous.safetensors damaged
run_for 0 train --resume damaged --until epochs=4 --quiet
grep -q '^drove: warning: --resume: .*state.safetensors: .*this goes on from the save before it' err.txt || fail "quiet: $(cat err.txt)"
python3 edit.py run/state.safetensors damaged/state.safetensors unsummed
rm -f damaged/state.previous.safetensors
run_for 2 train --resume damaged --until epochs=5 --quiet
grep -q 'expected its checksums, found none' err.txt || fail "$(cat err.txt)"

# ---- other data under the same name ----
awk 'BEGIN { srand(3); print "a,b,y"; for (i = 0; i < 200; i++) { a = rand(); b = rand(); print a "," b "," (a > b ? "yes" : "no") } }' >t.csv
run_for 0 train --data t.csv --label y --model logistic --test none --threads 1 --until epochs=2 --out table --quiet
cp t.csv same.csv
change_and_try() { # NAME COMMAND...
    local name=$1
    shift
    "$@" same.csv >t.csv
    run_for 2 train --resume table --until epochs=3
    grep -q 'expected the training data of the run to be continued .* found others .*--data-changed' err.txt || fail "$name: $(cat err.txt)"
}
change_and_try labels sed 's/yes/maybe/; s/no$/yes/; s/maybe/no/'
change_and_try half awk 'NR % 2'
change_and_try values sed '2,$s/^0\.\(.\)/0.9\1/'
run_for 0 train --resume table --until epochs=3 --data-changed --quiet
sed '2s/[^,]*$/third/' same.csv >t.csv
run_for 2 train --resume table --until epochs=4 --data-changed
grep -q 'expected the training data .*2 classes.*found others .*3 classes.*, for another model$' err.txt || fail "$(cat err.txt)"
cp same.csv t.csv
run_for 2 train --resume table --until epochs=4 # the flag was for that time alone

# ---- one owner ----
"$DROVE" train --data "$set_of" --model logistic --threads 1 --lr 0.01 --until seconds=60 --save-every seconds=0.1 --out busy --quiet &
owner=$!
trap 'kill -9 $owner 2>/dev/null || true' EXIT
for _ in $(seq 200); do [ -s busy/state.safetensors ] && break || sleep 0.05; done
[ -s busy/state.safetensors ] || fail "expected a state within 10 seconds"
run_for 2 train --resume busy --until epochs=1e6 --quiet
grep -q -e '--resume: expected a folder that no run is using, found busy in use' err.txt || fail "$(cat err.txt)"
run_for 2 train --data "$set_of" --out busy --quiet
if command -v flock >/dev/null; then # another run has not saved its first state yet
    mkdir unsaved
    cp run/run.json unsaved
    status=0
    flock unsaved "$DROVE" train --resume unsaved --quiet >out.txt 2>err.txt || status=$?
    [ "$status" = 2 ] && grep -q -e '--resume: expected a folder that no run is using, found unsaved in use' err.txt || fail "$status: $(cat err.txt)"
fi
kill -9 $owner
wait $owner || true
trap - EXIT
run_for 0 train --resume busy --until updates=1 --quiet # the lock has ended with its owner

# ---- what is best does not depend on where a run was interrupted ----
long='synth:logistic?n=8000&d=100'
train_long() {
    run train --data "$long" --model logistic --threads 1 --lr 0.5 --defaults classic --until epochs=40 --out "$1" --quiet
}
train_long whole
for i in 1 2 3 4; do
    "$DROVE" train --data "$long" --model logistic --threads 1 --lr 0.5 --defaults classic --until epochs=40 --out parts$i --quiet &
    part=$!
    sleep "0.$((2 * i))"
    kill -INT $part 2>/dev/null || true
    wait $part || true
    [ -s parts$i/run.json ] || continue # it had not begun
    run_for 0 train --resume parts$i --defaults classic --until epochs=40 --quiet
    cmp whole/best.safetensors parts$i/best.safetensors || fail "interrupted after 0.$((2 * i)) s: another best model"
done

# ---- what cannot be written into the files of a run is refused before anything is computed ----
run_for 2 train --data "$set_of" --until epochs=1 --out "$(printf 'x\377')" --quiet
grep -q -- '--out: expected text in UTF-8' err.txt || fail "$(cat err.txt)"
run_for 2 train --lr 1e999
grep -q -- '--lr: expected auto or a number of at most 1.798e+308 in size, found "1e999"' err.txt || fail "$(cat err.txt)"

# ---- a run that crashed before its first save: the folder can be used again; a summary alone is kept ----
crashes="--data synth:logistic?n=2000&d=200 --model linear --loss squared --defaults classic --test none --batch 32
    --eval-every 50 --until updates=400 --strategy sequential --threads 1 --quiet"
# shellcheck disable=SC2086
run_for 3 train $crashes --lr 5 --out crashed
[ ! -e crashed/state.safetensors ] || fail "expected a crash before the first save"
run_for 3 train --resume crashed --quiet
# shellcheck disable=SC2086
run_for 0 train $crashes --lr 0.01 --out crashed
[ -s crashed/best.earlier.2.safetensors ] && grep -q '"reached"\|"finished"' crashed/summary.json || fail "$(ls crashed)"
rm crashed/state*.safetensors crashed/model.safetensors
# shellcheck disable=SC2086
run_for 2 train $crashes --lr 0.01 --out crashed
grep -q 'found crashed with summary.json in it' err.txt || fail "$(cat err.txt)"

# ---- a run that was killed before its first save ----
mkdir early && cp run/run.json run/best.safetensors early && : >early/log.jsonl && : >early/state.safetensors.tmp.1.1
run_for 0 train --resume early --until epochs=1
grep -q 'early holds a run without a state: it begins again' err.txt || fail "$(cat err.txt)"
cmp early/best.earlier.safetensors run/best.safetensors || fail "a model should be kept"
[ ! -e early/state.safetensors.tmp.1.1 ] || fail "expected no temporary file"
rm -f early/state*.safetensors early/summary.json early/best.safetensors
run_for 0 train --resume early --out auto --until epochs=1
[ -e early/summary.json ] || fail "--resume early --out auto: expected files in early"
for i in 2 3; do # and again: each model is kept
    rm -f early/state*.safetensors early/summary.json
    printf '%s' "model $i" >early/best.safetensors
    run_for 0 train --resume early --until epochs=1
    cmp early/best.earlier.safetensors run/best.safetensors || fail "the first model should be kept, the ${i}th time"
    [ "$(cat early/best.earlier.$i.safetensors)" = "model $i" ] || fail "model $i should be kept"
done
mkdir again && : >again/log.jsonl && : >again/run.json.tmp.7.0
run_for 0 train --data "$set_of" --model logistic --threads 1 --until epochs=1 --out again --quiet
mkdir other && : >other/notes.txt && : >other/log.jsonl
run_for 2 train --data "$set_of" --model logistic --threads 1 --until epochs=1 --out other --quiet
grep -q 'found other with notes.txt in it' err.txt || fail "$(cat err.txt)"
