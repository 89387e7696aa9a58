# No output replaces an input, by whatever name.
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"
awk 'BEGIN { srand(4); print "x,z,y"
    for (i = 0; i < 60; i++) { x = rand(); print x "," rand() "," (x > 0.5 ? "a" : "b") } }' >rows.csv
run_for 0 train rows.csv --label y --model logistic --lr 0.1 --until epochs=2 --test none --out run --quiet
cp rows.csv before.csv
cp run/model.safetensors before.safetensors
ln -s rows.csv symbolic.csv
ln rows.csv hard.csv

refuses() { # WHAT ARGUMENT...
    local what=$1
    shift
    run_for 2 "$@"
    grep -q "^drove: $what: expected a file that is not read, found " err.txt || fail "$*: $(cat err.txt)"
    [ "$(wc -l <err.txt)" = 1 ] || fail "$*: expected one line: $(cat err.txt)"
    cmp rows.csv before.csv && cmp run/model.safetensors before.safetensors || fail "$*: changed its input"
}
for out in rows.csv ./rows.csv symbolic.csv hard.csv; do
    refuses --out predict run rows.csv --out "$out"
    refuses --out predict run --data table:rows.csv --out "$out"
    refuses --timeline train rows.csv --label y --model logistic --timeline "$out" --out none
    refuses --log train rows.csv --label y --model logistic --log "$out" --out none
done
refuses --out predict run rows.csv --out run/model.safetensors
refuses --timeline train before.csv --test rows.csv --label y --model logistic --timeline rows.csv --out none

# An earlier output is replaced.
run_for 0 predict run rows.csv --out new.csv
run_for 0 predict run rows.csv --out new.csv
cmp rows.csv before.csv || fail "changed its input"
echo "inputs are as they were"
