# --json: one JSON value alone on standard output, whatever else is said.
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"
command -v python3 >/dev/null || { echo "no python3 to read JSON with: skipped"; exit 77; }

# TYPE KEY... : out.txt holds one JSON value of this type, with these keys.
holds() {
    python3 - "$@" <<'END' || fail "not the JSON that was expected: $(head -c 300 out.txt)"
import json, sys
value = json.load(open("out.txt"), parse_constant=lambda word: sys.exit("found " + word))
assert type(value).__name__ == sys.argv[1], type(value)
first = value[0] if isinstance(value, list) else value
missing = [key for key in sys.argv[2:] if key not in first]
assert not missing, missing
END
}
run_for 0 list --json
holds list name help source
for kind in $("$DROVE" list | awk '$1 != "combinations" { print $1 }'); do
    run_for 0 list "$kind" --json
    holds list name help source
    # keys have a help of their own (drove list KIND:NAME), which that of the row does not repeat
    python3 -c '
import json, re
for row in json.load(open("out.txt")):
    told = [key["name"] for key in row.get("keys", []) if re.search(r"[?&, ]%s=" % re.escape(key["name"]), row["help"])]
    assert not told, (row["name"], told)'
done
run_for 0 info --json
holds dict version processor n_cores isa gemm_source engines workers
run_for 0 data info 'synth:digits?n=50' --json
holds dict n_rows n_features n_classes storage target scale notes columns
grep -q '"columns": \[\]' out.txt || fail "no table has columns: $(cat out.txt)"
printf 'a,b,colour,kind\n1,1,red,x\n2,,blue,y\n3,3,red,x\n4,5,blue,y\n' >table.csv
run_for 0 data info table.csv --label kind --json
column() { grep -qF "$1" out.txt || fail "expected $1: $(cat out.txt)"; }
column '{"name":"b","type":"number","as":null,"distinct":3,"missing":1,"features":2,"levels":0}'
column '{"name":"colour","type":"category","as":null,"distinct":2,"missing":0,"features":2,"levels":0}'
column '{"name":"kind","type":"label","as":null,"distinct":null,"missing":0,"features":0,"levels":0}]}'
run_for 0 data info 'table.csv?also=a' --label kind --json
column '{"name":"a","type":"number","as":null,"distinct":4,"missing":0,"features":5,"levels":4}'

run_for 0 dmgc D8M8 --json
holds dict signature terms possibly_sparse synchronous family systems prediction reason
run_for 0 dmgc D3M5 --json
holds dict prediction reason

run_for 0 bench --json
holds list name help source
run_for 0 bench memory --seconds 0.001 --bytes 64KiB --json
holds dict bench drove processor n_processors isa bytes seconds huge_page_bytes rows
[ ! -s err.txt ] || fail "bench: $(cat err.txt)"

small="--data synth:digits?n=500&n_test=100 --model mlp:16 --until updates=20"
for strategy in sequential hogwild; do
    # shellcheck disable=SC2086
    run_for 0 train $small --strategy "$strategy" --threads 2 --json
    holds dict strategy rule model data workers phases batch lr seed outcome examples updates epochs train_s \
        examples_per_s updates_per_s loss_initial loss accuracy test_loss test_accuracy metrics test_metrics importance time_to updates_to staleness \
        parked steps attempts dropped lost_updates isa peak_rss_bytes gnps prefetch prefetch_hardware loader communication cluster
    [ -s err.txt ] || fail "expected the evaluations on standard error"
    # shellcheck disable=SC2086
    run_for 0 train $small --strategy "$strategy" --threads 2 --json --quiet
    holds dict outcome
    [ ! -s err.txt ] || fail "--quiet: $(cat err.txt)"
done
# shellcheck disable=SC2086
run_for 0 train $small --out run --quiet
run_for 0 eval run/model.safetensors --data 'synth:digits?n=100&seed=5' --json
holds dict model data examples loss_name loss accuracy metrics
