# drove report: the table against the files it is made of, runs that are not whole, what is refused.
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"

common="synth:digits?n=200 --model mlp:8 --until epochs=2 --threads 1 --test split --quiet"
run_for 0 train $common --seed 1 --out 'a,"1"'
run_for 0 train $common --seed 2 --lr 0.03 --out b
run_for 0 report 'a,"1"' b --csv runs.csv
python3 - <<'PY' || fail "the table: $(cat runs.csv)"
import csv, json
rows = list(csv.DictReader(open("runs.csv")))
options = {d: json.load(open(d + "/run.json"))["options"] for d in ('a,"1"', "b")}
differ = [k for k in options["b"] if k != "out" and options["b"][k] != options['a,"1"'][k]]
assert "seed" in differ and "lr" in differ, differ
assert sorted(k[7:] for k in rows[0] if k.startswith("option.")) == sorted(differ), rows[0].keys()
logs = [(d, i, json.loads(line)) for d in options for i, line in enumerate(open(d + "/log.jsonl"), 1)]
assert len(rows) == len(logs) >= 4, len(rows)
for row, (folder, i, record) in zip(rows, logs):
    summary = json.load(open(folder + "/summary.json"))
    assert row["run"] == folder and row["evaluation"] == str(i) and row["outcome"] == "finished", row
    for k in differ: assert row["option." + k] == str(options[folder][k]) or float(row["option." + k]) == options[folder][k], k
    for k, v in record.items(): assert v is None and row[k] == "" or float(row[k]) == v, (k, v, row[k])
    for part in "metrics", "test_metrics":
        scalars = {k: v for k, v in summary[part].items() if type(v) in (int, float)}
        assert scalars, part
        for k, v in scalars.items(): assert float(row[part + "." + k]) == v, k
PY

# A run that goes on: half a line, a damaged line, no summary.
cp -r b c && rm c/summary.json
{ head -n 1 b/log.jsonl; echo '{"epochs":'; sed -n 2p b/log.jsonl; printf '{"epochs":9'; } >c/log.jsonl
run_for 0 report c --csv part.csv
[ "$(wc -l <part.csv)" = 3 ] || fail "expected two evaluations: $(cat part.csv)"
[ "$(wc -l <err.txt)" = 2 ] && grep -q '^c/log.jsonl:2: left out: ' err.txt && grep -q '^c/log.jsonl:4: left out: ' err.txt || fail "$(cat err.txt)"
rm c/log.jsonl
run_for 0 report c --csv part.csv
[ "$(wc -l <part.csv)" = 2 ] || fail "expected a row without an evaluation: $(cat part.csv)"

# A long log: the table has each line, the page needs few of them; a damaged line is named once.
cp -r b long
python3 -c '
import json
record = json.loads(open("b/log.jsonl").readline())
with open("long/log.jsonl", "w") as f:
    for i in range(20000):
        record.update(epochs=float(i), updates=i, loss=1.0 / (i + 1.0))
        f.write(("{\n" if i == 12345 else json.dumps(record) + "\n"))'
run_for 0 report long --csv long.csv --html long.html
grep -q '^long/log.jsonl:12346: left out: ' err.txt && [ "$(grep -c 'left out' err.txt)" = 1 ] || fail "$(cat err.txt)"
python3 - <<'PY' || fail "the long log"
import csv
rows = list(csv.DictReader(open("long.csv")))
lines = [i for i in range(20000) if i != 12345]
assert [(int(r["evaluation"]), int(r["updates"]), float(r["loss"])) for r in rows] == [
    (n, i, 1.0 / (i + 1.0)) for n, i in enumerate(lines, 1)]
page = open("long.html").read()
assert "19999" in page and len(page) < 1000000, len(page)
PY

# A sweep: the log of each run; with --results-only the end of each.
cat >study.yaml <<'YAML'
options: {data: "synth:digits?n=200", model: "mlp:8", test: none, until: "epochs=1", threads: 1}
grid: {lr: [0.02, 0.05]}
repeat: 2
YAML
run_for 0 sweep study.yaml --out swept --quiet
run_for 0 report swept --csv swept.csv
run_for 0 sweep study.yaml --out less --quiet --results-only
[ "$(ls -A less)" = "$(printf 'results.jsonl\nruns\nstudy.json')" ] && [ -z "$(ls less/runs)" ] || fail "--results-only kept files: $(find less)"
run_for 0 report less --csv bare.csv
python3 - <<'PY' || fail "the sweep: $(cat swept.csv)"
import csv, json
results = [json.loads(line) for line in open("swept/results.jsonl")]
assert len(results) == 4
for table, logged in ("swept.csv", True), ("bare.csv", False):
    rows = iter(csv.DictReader(open(table)))
    for r in results:
        name = "runs/%04d" % r["run"]
        log = [json.loads(line) for line in open("swept/%s/log.jsonl" % name)]
        assert len(log) >= 3 and log[-1]["loss"] == r["figures"]["loss"], log
        for record in log if logged else [r["figures"]]:
            row = next(rows)
            assert row["run"] == table[:-4].replace("bare", "less") + "/" + name and row["outcome"] == r["outcome"], row
            assert float(row["option.lr"]) == float(r["settings"]["lr"]) and row["option.seed"] == str(r["seed"]), row
            assert "option.log" not in row and float(row["loss"]) == record["loss"] and float(row["epochs"]) == record["epochs"], row
    assert next(rows, None) is None, table
PY

# What is refused leaves the file of before as it is, and one line.
refused() {
    run_for "$1" report $2
    grep -qF -- "$3" err.txt && [ "$(wc -l <err.txt)" = 1 ] || fail "drove report $2: expected \"$3\": $(cat err.txt)"
}
mkdir empty broken && echo '[]' >broken/run.json
cp runs.csv before.csv
refused 2 "b empty --csv runs.csv" "empty: expected the folder of a run"
refused 2 "b nowhere --csv runs.csv" "nowhere: expected the folder of a run"
refused 2 "broken --csv runs.csv" "broken/run.json: "
refused 2 "b" "report: expected --html FILE, --csv FILE, --svg DIR or --pdf DIR"
refused 2 "--csv runs.csv" "DIR, the folder of a run"
refused 2 "b --csv nowhere/runs.csv" "nowhere/runs.csv"
cp -r b pipes && rm pipes/log.jsonl && mkfifo pipes/log.jsonl
refused 2 "b pipes --csv runs.csv" "pipes/log.jsonl: expected a regular file, found a pipe"
rm pipes/log.jsonl && mkdir pipes/log.jsonl
refused 2 "pipes --csv runs.csv" "pipes/log.jsonl: expected a regular file, found a folder"
rm pipes/run.json && mkfifo pipes/run.json
refused 2 "pipes --csv runs.csv" "pipes/run.json: expected a regular file, found a pipe"
cmp runs.csv before.csv || fail "a refused report changed the file"
