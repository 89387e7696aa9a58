# A folder from somebody else is data: nothing outside it is written, and errors are not damage.
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"
awk 'BEGIN { srand(4); print "x,z,y"
    for (i = 0; i < 60; i++) { x = rand(); print x "," rand() "," (x > 0.5 ? "a" : "b") } }' >rows.csv
new_run() { # FOLDER
    rm -rf "$1"
    run_for 0 train rows.csv --label y --model logistic --lr 0.1 --until epochs=2 --test none --out "$1" \
        --save-every epochs=1 --quiet
}

# Files that its run.json names.
new_run named
mkdir -p elsewhere
echo precious >elsewhere/precious
for option in log timeline record replay_steps; do
    sed "s|\"$option\": \"[^\"]*\"|\"$option\": \"$PWD/elsewhere/precious\"|" named/run.json >changed.json
    cmp -s changed.json named/run.json && fail "run.json has no $option"
    cp -r named with && cp changed.json with/run.json
    run_for 0 train --resume with --until epochs=3 --quiet
    [ "$(cat elsewhere/precious)" = precious ] || fail "$option in run.json was written"
    rm -rf with
done
# The command line may name them.
run_for 0 train rows.csv --label y --model logistic --lr 0.1 --until epochs=1 --test none --out logged --log elsewhere/own
run_for 0 train --resume logged --until epochs=2
grep -q -- '--resume: elsewhere/own is not written on: --log names it again' err.txt || fail "not said: $(cat err.txt)"
run_for 0 train --resume named --until epochs=3 --log elsewhere/log --timeline elsewhere/timeline --quiet
[ -s elsewhere/log ] && [ -s elsewhere/timeline ] || fail "--log and --timeline were not written"

# Its own names, as links.
for name in state.safetensors state.previous.safetensors model.safetensors best.safetensors log.jsonl run.json \
    summary.json timeline.json; do
    new_run linked
    if [ -e linked/$name ]; then mv linked/$name elsewhere/; else echo other >elsewhere/$name; fi
    ln -s ../elsewhere/$name linked/$name
    cp elsewhere/$name before
    run_for 2 train --resume linked --until epochs=3 --quiet
    grep -q "found the symbolic link $name: drove writes to no file outside the folder" err.txt || fail "$name: $(cat err.txt)"
    cmp before elsewhere/$name || fail "$name was written through a link"
done

# A state that cannot be read is not damaged: the run does not go back to the one before.
new_run unread
cp -r unread whole
rm unread/state.safetensors
mkdir unread/state.safetensors
run_for 2 train --resume unread --until epochs=3 --quiet
cmp unread/state.previous.safetensors whole/state.previous.safetensors || fail "the save before was changed"
cmp unread/model.safetensors whole/model.safetensors || fail "the model was changed"
# One that is away or damaged is.
rm -r unread/state.safetensors
run_for 0 train --resume unread --until epochs=3
grep -q "warning: --resume: .*this goes on from the save before it" err.txt || fail "no warning: $(cat err.txt)"

# The folder of a sweep.
cat >study.yaml <<'YAML'
options: {data: "csv:rows.csv?label=y", model: logistic, test: none, defaults: classic, until: epochs=1}
grid: {lr: [0.01]}
repeat: [1, 2]
YAML
run_for 0 sweep study.yaml --out sweep
for name in results.jsonl runs/0002/err.txt runs/0002/out.json runs/0002/log.jsonl runs/0002 runs; do
    rm -rf other && cp -r sweep other
    head -n 1 sweep/results.jsonl >other/results.jsonl # the second run is still to be made
    rm -rf elsewhere/it && cp -r "other/$name" elsewhere/it && rm -r "other/${name:?}"
    ln -s "$PWD/elsewhere/it" "other/$name"
    cp -r elsewhere/it before.it
    run sweep study.yaml --out other
    case $name in
    runs/0002/*) [ "$status" = 0 ] && [ "$(wc -l <other/results.jsonl)" = 2 ] || fail "$name: $status, $(cat err.txt)" ;;
    *) grep -q "found the symbolic link .*: drove writes to no file outside the folder" err.txt || fail "$name: $(cat err.txt)" ;;
    esac
    diff -r before.it elsewhere/it || fail "sweep wrote through $name"
    rm -r before.it
done

# A model keeps its mode and the link that it was named by.
new_run kept
chmod 600 kept/model.safetensors
run_for 0 train --resume kept --until epochs=3 --quiet
[ "$(stat -c %a kept/model.safetensors)" = 600 ] || fail "mode of the model: $(stat -c %a kept/model.safetensors)"
echo old >elsewhere/target.csv
chmod 640 elsewhere/target.csv
ln -s elsewhere/target.csv link.csv
run_for 0 predict kept rows.csv --out link.csv
[ -L link.csv ] && [ "$(stat -c %a elsewhere/target.csv)" = 640 ] || fail "link.csv: $(ls -l link.csv elsewhere)"
[ "$(wc -l <elsewhere/target.csv)" -gt 50 ] || fail "elsewhere/target.csv was not written"
echo "nothing outside was written"
