# The run files of examples/ are valid, and each option that docs/formats.md shows in one is.
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"
n_files=0
for file in "$DROVE_SOURCE_DIR"/examples/*.yaml; do
    run_for 0 info "$file"
    n_files=$((n_files + 1))
done
[ "$n_files" -ge 3 ] || fail "too few run files in examples/"
awk '/^```yaml/ { inside = 1; next } /^```/ { inside = 0 } inside' "$DROVE_SOURCE_DIR/docs/formats.md" >shown.yaml
[ -s shown.yaml ] || fail "docs/formats.md shows no run file"
run_for 0 info shown.yaml

# The thesis's settings, with less data: they train unscaled pixels.
run_for 0 train "$DROVE_SOURCE_DIR/examples/thesis.yaml" --data 'synth:digits?scale=none&n=4000&n_test=500' \
    --until loss=50%,epochs=60 --quiet
