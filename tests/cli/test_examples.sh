# The run files and the networks of examples/ are valid, and each option that docs/use/files.md shows in one is.
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"
n_files=0
for file in "$DROVE_SOURCE_DIR"/examples/*.yaml; do
    run_for 0 info "$file"
    n_files=$((n_files + 1))
done
for file in "$DROVE_SOURCE_DIR"/examples/studies/*.yaml; do
    run_for 0 sweep "$file" --list
    grep -q ', in this order:$' out.txt || fail "$file: $(cat out.txt)"
done
[ "$n_files" -ge 3 ] || fail "too few run files in examples/"
for file in "$DROVE_SOURCE_DIR"/examples/models/*.yaml; do
    run_for 0 model "$file" --input 3x32x32
done
n_devices=0
for file in "$DROVE_SOURCE_DIR"/examples/machines/*.yaml; do # each machine, and each of its devices beside a core
    workers=cpu:0
    for device in $(sed -n 's/^  - {name: \([^,]*\),.*/\1/p' "$file"); do
        workers="$workers+fake:$device?min=16&max=64"
        n_devices=$((n_devices + 1))
    done
    run_for 0 train --data 'synth:digits?n=300' --test none --model mlp:8 --strategy adaptive --workers "$workers" \
        --machine "$file" --until updates=6 --eval-examples 100 --quiet --json --out none
    grep -q '"clock": *"virtual"' out.txt || fail "$file: $(cat out.txt)"
done
[ "$n_devices" -ge 5 ] || fail "too few devices in examples/machines/: $n_devices"
awk '/^```yaml/ { inside = 1; next } /^```/ { inside = 0 } inside' "$DROVE_SOURCE_DIR/docs/use/files.md" >shown.yaml
[ -s shown.yaml ] || fail "docs/use/files.md shows no run file"
run_for 0 info shown.yaml

# The thesis's settings, with less data: they train unscaled pixels.
run_for 0 train "$DROVE_SOURCE_DIR/examples/thesis.yaml" --data 'synth:digits?scale=none&n=4000&n_test=500' \
    --until loss=50%,epochs=60 --quiet

# The networks that cores and a device train: each begins to train on the cores alone with other data, and on its own
# data where these are there (DROVE_TEST_DATA, or ../shared/data); their batches are those that the file names.
folder=${DROVE_TEST_DATA:-$DROVE_SOURCE_DIR/../shared/data}
small="--workers cpu:0?min=1&max=8+fake:?speed=10&min=16&max=64 --until updates=6 --eval-examples 100 --quiet --json"
n_networks=0
for file in "$DROVE_SOURCE_DIR"/examples/heterogeneous-*.yaml; do
    # shellcheck disable=SC2086
    run_for 0 train "$file" --data 'synth:digits?n=300' $small
    grep -q '"strategy": *"adaptive"' out.txt || fail "$file: $(cat out.txt)"
    data=$(sed -n 's/^data: libsvm:data\/\([^? ]*\).*/\1/p' "$file")
    [ -n "$data" ] || fail "$file: expected data beneath data/"
    n_networks=$((n_networks + 1))
    if [ ! -e "$folder/$data" ]; then
        echo "$(basename "$file"): no $folder/$data: skipped"
        continue
    fi
    # shellcheck disable=SC2086
    run_for 0 train "$file" --data "libsvm:$folder/$data" $small
done
[ "$n_networks" = 4 ] || fail "expected four networks, found $n_networks"
