# What a build by any compiler, with or without libraries, must do: train a linear model on a table, a network of dense
# layers, one of convolutions, one of 8-bit numbers; then predict what the run reported.
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"

# 400 rows whose label is the sign of x + 2 y, but for a gap around 0.
awk 'BEGIN { srand(7); print "x,y,label"
    while (n < 400) { x = rand() - 0.5; y = rand() - 0.5; s = x + 2 * y
        if (s * s > 0.01) { printf "%.6f,%.6f,%s\n", x, y, (s > 0 ? "above" : "below"); n++ } } }' >points.csv

# NAME ACCURACY DATA ARGUMENT...: trains, at least this accurate, and the saved model's predictions are as accurate as the
# run said.
trains() {
    local name=$1 least=$2 data=$3 said
    shift 3
    run_for 0 train "$data" "$@" --threads 2 --seed 3 --out "$name" --quiet --json
    said=$(tr ',{' '\n\n' <out.txt | sed -n 's/^ *"accuracy": *//p' | head -n 1)
    awk -v said="$said" -v least="$least" 'BEGIN { exit !(said >= least) }' || fail "$name: expected $least, found $said"
    run_for 0 eval "$name" --data "$data" --json
    found=$(tr ',{' '\n\n' <out.txt | sed -n 's/^ *"accuracy": *//p' | head -n 1)
    awk -v said="$said" -v found="$found" 'BEGIN { d = said - found; exit !(d < 1e-6 && d > -1e-6) }' ||
        fail "$name: trained to $said, evaluated as $found"
}
trains table 0.97 points.csv --label label --model logistic --strategy hogwild --until epochs=30 --lr 1
trains dense 0.95 'synth:digits?n=1000' --model mlp:32 --strategy sequential --until epochs=10 --lr 0.1 --rule momentum
trains images 0.8 'synth:digits?n=120' --model lenet --strategy leashed --batch 8 --eval-every 5 --until epochs=5 --lr 0.002 --rule adam
trains bytes 0.85 'synth:digits?n=1000' --model mlp:32 --precision D8M8 --strategy sequential --until epochs=10 --lr 0.1

# Class by class, from the saved model: as many rows as the table has, and the right label for the clear ones.
run_for 0 predict table --data points.csv
[ "$(wc -l <out.txt)" = 401 ] || fail "expected 401 lines of predictions"
paste -d, points.csv out.txt | awk -F, 'NR > 1 { n += $3 == $4 } END { exit !(n >= 388) }' || fail "predicted labels"
