# drove sweep: runs, their results, going on after a kill, comparisons, and what is refused.  What ends it or its runs:
# test_sweep_ends.sh.
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"

lines() { wc -l <"$1"; }
cat >study.yaml <<'YAML'
options: {data: "synth:digits?n=300", model: "mlp:16", test: none, defaults: classic, until: "loss=50%,epochs=200"}
list:
  - {strategy: sequential, threads: 1}
  - {strategy: hogwild, threads: 2}
grid: {lr: [0.02, 0.05]}
repeat: [1, 2, 5, 9]
limit: 60
seed: 3
YAML

# What would be run, and nothing is.
run_for 0 sweep study.yaml --list --json
python3 - <<'PY' || fail "the list: $(cat out.txt)"
import json
r = json.load(open("out.txt"))
assert r["settings"] == [{"strategy": s, "threads": t, "lr": lr} for s, t in (("sequential", "1"), ("hogwild", "2")) for lr in ("0.02", "0.05")]
assert [x["seed"] for x in r["runs"]] == [1] * 4 + [2] * 4 + [5] * 4 + [9] * 4  # repetitions outermost
orders = [[x["setting"] for x in r["runs"][i:i + 4]] for i in range(0, 16, 4)]
assert all(sorted(o) == [1, 2, 3, 4] for o in orders) and len({tuple(o) for o in orders}) > 1, orders
PY
run_for 0 sweep study.yaml --list
[ "$(grep -c '^run [0-9]*: setting' out.txt)" = 16 ] || fail "the list: $(cat out.txt)"

# All runs, in that order, each with its options.
run_for 0 sweep study.yaml --out done
[ "$(lines done/results.jsonl)" = 16 ] || fail "expected 16 results: $(cat err.txt)"
[ "$(grep -c '^run [0-9]*/16: ' err.txt)" = 16 ] || fail "expected a line a run: $(cat err.txt)"
grep -q '^16 of 16 runs are done: ' out.txt || fail "report: $(cat out.txt)"
"$DROVE" sweep study.yaml --list --json >list.json
python3 - <<'PY' || fail "the results"
import json
listed = json.load(open("list.json"))
runs = [json.loads(line) for line in open("done/results.jsonl")]
assert [r["run"] for r in runs] == list(range(1, 17))
for r, x in zip(runs, listed["runs"]):
    assert (r["setting"], r["seed"]) == (x["setting"], x["seed"])
    assert r["settings"] == listed["settings"][r["setting"] - 1]
    s = json.load(open("done/runs/%04d/out.json" % r["run"]))
    assert s["seed"] == r["seed"] and s["strategy"] == r["settings"]["strategy"], r
    assert abs(s["lr"] - float(r["settings"]["lr"])) < 1e-6 and r["resolved"]["n_workers"] == int(r["settings"]["threads"])
    own = {"strategy", "isa", "model", "n_workers"}
    assert {k: v for k, v in r["resolved"].items() if k not in own} == {k: v for k, v in s["options"].items() if k not in own | {"log"}}
    log = [json.loads(line) for line in open(s["options"]["log"])]
    assert s["options"]["log"] == "done/runs/%04d/log.jsonl" % r["run"]
    assert log[0]["examples"] == 0 and log[-1]["examples"] == s["examples"] and log[-1]["loss"] == s["loss"], log
    assert r["resolved"]["rule"] == "sgd" and r["resolved"]["isa"] == s["isa"] != ""
    assert s["outcome"] == r["outcome"] and r["status"] == (0 if r["outcome"] == "reached" else 4)
    f = r["figures"]
    assert f["target_s"] == (s["train_s"] if r["outcome"] == "reached" else None)
    assert f["loss"] == s["loss"] and f["epochs"] == s["epochs"] and f["metrics.auc"] == s["metrics"]["auc"]
    assert f["staleness.mean"] == s["staleness"]["mean"] and f["examples_per_s"] > 0
    assert r["version"] and r["processor"] and r["cores"] >= 1
PY

# Nothing is run twice.
cp done/results.jsonl before.jsonl
run_for 0 sweep study.yaml --out done --json
cmp -s before.jsonl done/results.jsonl || fail "expected no further run"
python3 -c 'import json; r = json.load(open("out.txt")); assert r["done"] == 16 == sum(r["outcomes"].values()), r'

# The best of each group and a pair, computed anew.
run_for 0 sweep study.yaml --out done --best --json
cp out.txt best.json
run_for 0 sweep study.yaml --out done --pair '2,strategy=hogwild lr=0.05' --figure epochs --json
python3 - <<'PY' || fail "the comparisons: $(cat best.json out.txt)"
import collections, itertools, json, statistics
runs = [json.loads(line) for line in open("done/results.jsonl")]
median = {}
for k in range(1, 5):
    mine = [r for r in runs if r["setting"] == k]
    if not any(r["outcome"] == "crashed" for r in mine):
        median[k] = statistics.median(r["figures"]["target_s"] if r["figures"]["target_s"] is not None else float("inf") for r in mine)
best = json.load(open("best.json"))["best"]
assert [b["group"] for b in best] == [{"strategy": "sequential", "threads": "1"}, {"strategy": "hogwild", "threads": "2"}]
for b, mine in zip(best, ((1, 2), (3, 4))):
    fastest = min(mine, key=median.get)
    assert b["setting"] == fastest and abs(b["median"] - median[fastest]) < 1e-6 * median[fastest], (b, median)
    assert b["n_near"] == sum(median[k] <= 1.1 * median[fastest] for k in mine)
epochs = {(r["setting"], r["seed"]): r["figures"]["epochs"] for r in runs}
ratios = [epochs[2, seed] / epochs[4, seed] for seed in (1, 2, 5, 9)]
r = json.load(open("out.txt"))
assert all(abs(a["ratio"] - b) < 1e-8 for a, b in zip(r["ratios"], ratios)) and [a["seed"] for a in r["ratios"]] == [1, 2, 5, 9]
assert abs(r["median"] - statistics.median(ratios)) < 1e-8
counts = collections.Counter(statistics.median(x) for x in itertools.product(ratios, repeat=4))  # every resample
below = lambda x: sum(n for m, n in counts.items() if m <= x * (1 + 1e-9)) / 256
for end, p in ((r["low"], 0.025), (r["high"], 0.975)):
    at = min(counts, key=lambda m: abs(m - end))
    assert abs(at - end) < 1e-6, (end, counts)
    assert below(at) > p - 0.01 and below(at) - counts[at] / 256 < p + 0.01, (end, counts)
PY

# By their numbers, the last one too.
run_for 0 sweep study.yaml --out done --pair 4,1 --figure epochs --json
python3 - <<'PY' || fail "the pair of the last and the first: $(cat out.txt)"
import json
runs = [json.loads(line) for line in open("done/results.jsonl")]
epochs = {(r["setting"], r["seed"]): r["figures"]["epochs"] for r in runs}
ratios = [a["ratio"] for a in json.load(open("out.txt"))["ratios"]]
assert all(abs(a - epochs[4, seed] / epochs[1, seed]) < 1e-8 for a, seed in zip(ratios, (1, 2, 5, 9), strict=True)), ratios
PY
wrong 'found 0 and 1 in "5,1"' sweep study.yaml --out done --pair 5,1

run_for 0 sweep study.yaml --out done --best
python3 - <<'PY' || fail "the table: $(cat out.txt)"
import json, re
best = json.load(open("best.json"))["best"]
table = [re.split("  +", line.rstrip()) for line in open("out.txt")]
assert table[2] == ["strategy", "threads", "fastest setting", "median", "runs", "within 10 %", "crashed"], table
for row, b in zip(table[3:], best):
    assert row == [b["group"]["strategy"], b["group"]["threads"], "%d: lr=%s" % (b["setting"], b["settings"]["lr"]), "%.4g" % b["median"],
                   str(b["n_runs"]), "%d of 2 (to %.4g)" % (b["n_near"], b["slowest_near"]), str(b["n_crashed"])], (row, b)
assert len(table) == 5
PY

# Killed in the middle, it goes on to the same results; half a line at the end is dropped, and said.
sed 's/^repeat: .*/repeat: 8/' study.yaml >more.yaml
"$DROVE" sweep more.yaml --out killed >out.txt 2>err.txt &
pid=$!
for i in $(seq 3000); do [ "$(lines killed/results.jsonl 2>/dev/null || echo 0)" -ge 3 ] && break || sleep 0.02; done
kill -9 $pid
wait $pid 2>/dev/null || true
n=$(lines killed/results.jsonl)
{ [ "$n" -ge 3 ] && [ "$n" -lt 32 ]; } || fail "expected to kill it in the middle, found $n results"
cp killed/results.jsonl before.jsonl
printf '{"run":16,"sett' >>killed/results.jsonl
run_for 0 sweep more.yaml --out killed
grep -q '^killed/results.jsonl: half a line at its end is dropped$' err.txt || fail "not said: $(cat err.txt)"
[ "$(grep -c '^run ' err.txt)" = $((32 - n)) ] || fail "expected $((32 - n)) further runs: $(cat err.txt)"
head -n "$n" killed/results.jsonl | cmp -s - before.jsonl || fail "results of before have changed"
python3 - <<'PY' || fail "expected the results of a sweep that nobody stopped"
import json
killed = [json.loads(line) for line in open("killed/results.jsonl")]
assert sorted((r["setting"], r["seed"]) for r in killed) == [(k, seed) for k in range(1, 5) for seed in range(1, 9)]
assert sorted(r["run"] for r in killed) == list(range(1, 33))
found = {(r["setting"], r["seed"]): r for r in killed}
same = 0
for r in map(json.loads, open("done/results.jsonl")):
    k = (r["setting"], r["seed"])
    if r["settings"]["strategy"] == "sequential" and k in found:  # whose bits repeat
        assert all(found[k]["figures"][f] == r["figures"][f] for f in ("loss", "epochs", "accuracy")), k
        assert found[k]["outcome"] == r["outcome"]
        same += 1
assert same == 6, same
PY

# Results of another machine are named.
sed -i '1s/"cores":[0-9]*/"cores":9999/' killed/results.jsonl
run_for 0 sweep more.yaml --out killed
grep -q '^killed/results.jsonl: 1 runs are of another machine or version' err.txt || fail "not said: $(cat err.txt)"

# A loss that is not finite, a time limit, and options that the data refuse are results.
cat >odd.yaml <<'YAML'
options: {test: none, defaults: classic, threads: 1}
list:
  - {data: "synth:digits?n=500", model: linear, lr: 1e9, until: epochs=200}
  - {data: "synth:digits?n=300", model: "mlp:16", until: epochs=1e7}
  - {data: "libsvm:not-there", until: epochs=1}
limit: 4
YAML
run_for 0 sweep odd.yaml --out odd --results-only
python3 - <<'PY' || fail "results of odd runs: $(cat odd/results.jsonl)"
import json
runs = {r["setting"]: r for r in map(json.loads, open("odd/results.jsonl"))}
assert runs[1]["outcome"] == "crashed" and runs[1]["status"] == 3 and "infinite" in runs[1]["message"], runs[1]
assert runs[2]["outcome"] == "timed_out" and runs[2]["figures"]["epochs"] > 0 and 3.9 < runs[2]["figures"]["process_s"] < 60, runs[2]
assert runs[3]["outcome"] == "refused" and runs[3]["status"] == 2 and "not-there" in runs[3]["message"], runs[3]
PY
[ -z "$(ls odd/runs)" ] || fail "--results-only: found $(ls odd/runs)"
run_for 0 sweep odd.yaml --out odd --best --group strategy
grep -q '^- *none  *-  *-  *-  *1$' out.txt || fail "no best: $(cat out.txt)"

# On a terminal a bar over the whole.
if has_pseudo_terminal; then
    LC_ALL=C TERM=xterm script -qec "stty cols 100; '$DROVE' sweep study.yaml --out shown" typescript >screen.txt 2>&1 || fail "$(cat screen.txt)"
    tr '\r' '\n' <screen.txt | grep -q '^ *[0-9]* % \[[#-]*\]  run [0-9]*/16  .* left' || fail "no bar: $(cat screen.txt)"
    tr '\r' '\n' <screen.txt | grep -q 'best [0-9.e-]* s\b' || fail "no best so far: $(cat screen.txt)"
fi

# Options by either spelling.
cat >decay.yaml <<'YAML'
options: {data: "synth:digits?n=300", model: "mlp:16", test: none, defaults: classic, threads: 1, until: epochs=1}
grid: {weight-decay: [0, 0.01], lr: [0.01, 0.02]}
YAML
run_for 0 sweep decay.yaml --out decay --json
for name in weight-decay weight_decay; do
    run_for 0 sweep decay.yaml --out decay --best --figure loss --group $name --json
    python3 -c 'import json; b = json.load(open("out.txt"))["best"]; assert [x["group"] for x in b] == [{"weight_decay": "0"}, {"weight_decay": "0.01"}] and [x["n_settings"] for x in b] == [2, 2], b' ||
        fail "--group $name: $(cat out.txt)"
    run_for 0 sweep decay.yaml --out decay --pair "$name=0 lr=0.02,$name=0.01 lr=0.01" --figure loss --json
    python3 -c 'import json; r = json.load(open("out.txt")); assert (r["a"]["setting"], r["b"]["setting"]) == (2, 3), r'
done

# What is refused, in one line.
sed 's/0.05\]/0.06]/' study.yaml >other.yaml
wrong 'expected a folder of this study, found done of another: grid.lr: expected \["0.02","0.06"\], found \["0.02","0.05"\]$' sweep other.yaml --out done
mkdir strange && : >strange/file
wrong 'expected a new or empty folder, or that of a sweep, found strange with file in it' sweep study.yaml --out strange
wrong 'expected --out DIR' sweep study.yaml
wrong 'expected STUDY.yaml' sweep --out x
wrong '--jobs: expected a whole number from 1' sweep study.yaml --out x --jobs 0
wrong 'one of --list, --best and --pair' sweep study.yaml --out x --best --list
wrong 'did you mean "epochs"' sweep study.yaml --out done --pair 1,2 --figure epoch
wrong 'found 0 and 1 in "7,2"' sweep study.yaml --out done --pair 7,2
wrong 'found 2 and 1 in "lr=0.02,2"' sweep study.yaml --out done --pair lr=0.02,2
wrong 'expected two settings, A,B' sweep study.yaml --out done --pair 2
wrong 'did you mean "strategy"' sweep study.yaml --out done --best --group strategi
wrong 'expected the folder of a sweep, found nowhere without study.json' sweep study.yaml --out nowhere --best
printf 'grid: {}\n' >empty.yaml
wrong '^drove: empty.yaml:1:7: expected at least one option in grid, found none$' sweep empty.yaml --out x
printf 'grid:\n  lrr: [1]\n' >unknown.yaml
wrong '^drove: unknown.yaml:2:3: unknown option "lrr"; did you mean "lr"' sweep unknown.yaml --out x
printf 'options: {precision: D8M8, threads: 1}\ngrid: {strategy: [hogwild, leashed]}\n' >never.yaml
wrong '^drove: never.yaml: setting 2 (strategy=leashed): --precision D8M8' sweep never.yaml --out x
[ ! -e x ] || fail "a refused study has made a folder"
printf 'no line\n' >>done/results.jsonl
wrong 'done/results.jsonl:17: .*; without this line the same command goes on, and runs again what it told of$' sweep study.yaml --out done

# A broken line in the middle: its way out leads on.
sed -i -e '17d' -e '3s/^{/{{/' done/results.jsonl
wrong 'done/results.jsonl:3: .*; without this line the same command goes on' sweep study.yaml --out done
sed -i 3d done/results.jsonl
run_for 0 sweep study.yaml --out done --quiet
[ "$(lines done/results.jsonl)" = 16 ] || fail "expected the lost run again: $(cat err.txt)"
