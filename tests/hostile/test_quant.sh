# drove data convert to quant:FILE, training on it, and what is said of files that do not fit.
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"
number() { sed -n "s/.*\"$1\": \([0-9.e-]*\).*/\1/p" "$2" | head -n 1; }
near() { awk -v a="$1" -v b="$2" -v most="$3" 'BEGIN { d = a - b; exit !(d <= most * b && -d <= most * b) }'; }

# FROM PRECISION TOLERANCE: the loss after training on the file, against training on the data.
compare() {
    rm -rf q plain cached
    run_for 0 data convert "$1" "quant:q?precision=$2"
    run_for 0 data info "quant:q?from=$(printf %s "$1" | sed 's/&/%26/g')"
    grep -q "^storage   $2," out.txt || fail "$2: $(cat out.txt)"
    grep -q '^quantum .* 0 values clamped' out.txt || fail "$2: $(cat out.txt)"
    run_for 0 train --data "$1" --test none --model logistic --lr 0.2 --batch 4 --threads 1 --until epochs=4 --quiet --out plain
    run_for 0 train --data quant:q --test none --model logistic --lr 0.2 --batch 4 --threads 1 --until epochs=4 --quiet --out cached
    near "$(number loss cached/summary.json)" "$(number loss plain/summary.json)" "$3" ||
        fail "$1 as $2: loss $(number loss cached/summary.json), without $(number loss plain/summary.json)"
}
dense='synth:logistic?n=2000&d=40&seed=3' sparse='synth:logistic?n=2000&d=400&density=0.05&seed=3'
compare "$dense" D8 0.02
compare "$dense" D16 0.0005
compare "$dense" D32f 0.0000001
compare "$sparse" D8i8 0.02
compare "$sparse" D16i16 0.0005
compare "$sparse" D32fi32 0.0000001

# The same with two workers and a mini-batch on shared parameters, and a held-out part.
run_for 0 train --data quant:q --test split --model svm --threads 2 --strategy hogwild --until epochs=1 --quiet --json
grep -q '^  "examples": 1800,$' out.txt || fail "expected 1800 examples: $(cat out.txt)"

# Scaling: done once before quantisation, and for test data in their own format as well.
awk 'BEGIN { srand(4); for (i = 0; i < 300; i++) { x = rand(); y = 1000 * rand(); print x "," y "," (x + y / 1000 > 1 ? "yes" : "no") } }' >all.csv
rm -rf q plain cached
run_for 0 data convert 'csv:all.csv?scale=standard' 'quant:q?precision=D16'
train_on() { # SPEC NAME
    run_for 0 train --data "$1" --test csv:all.csv --model logistic --lr 0.5 --threads 1 --until epochs=5 --quiet --json --out "$2"
    near "$(number test_loss out.txt)" "$(number loss out.txt)" 0.001 || fail "$1: test data are scaled otherwise: $(cat out.txt)"
}
train_on 'csv:all.csv?scale=standard' plain
train_on quant:q cached
loss=$(number loss cached/summary.json)
near "$loss" "$(number loss plain/summary.json)" 0.001 || fail "the scaled cache trains otherwise"
for data in csv:all.csv quant:q; do
    run_for 0 eval cached/model.safetensors --data "$data" --json
    near "$(number loss out.txt)" "$loss" 0.001 || fail "$data: eval gives $(cat out.txt)"
done
run_for 0 predict cached/model.safetensors --data csv:all.csv --format lines
[ "$(sort -u out.txt | tr '\n' ' ')" = "no yes " ] || fail "expected class names: $(sort -u out.txt)"

# One line and status 2 for what does not fit.
sed '17s/^[^,]*/0.125/' all.csv >other.csv
wrong 'does not match its data: .*values or labels' train --data 'quant:q?from=csv:other.csv?scale=standard'
sed '300d' all.csv >other.csv
wrong 'expected 300 rows, found 299' data info 'quant:q?from=csv:other.csv?scale=standard'
wrong 'another scaling' data info 'quant:q?from=csv:all.csv'
wrong 'precision' data convert csv:all.csv 'quant:new?precision=D7'
wrong 'exists already' data convert csv:all.csv quant:q
wrong 'scaled before' data info 'quant:q?scale=unit'
wrong 'expected D8 (?precision), found D16' train --data 'quant:q?precision=D8'
head -c 1000 q >damaged
wrong 'damaged' data info quant:damaged
{ head -c 9000 q && printf x && tail -c +9002 q; } >damaged
wrong 'damaged: .*expected checksum' train --data quant:damaged
[ ! -e new ] || fail "a failed conversion left a file"
