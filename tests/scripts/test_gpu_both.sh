# bench/run/gpu_both.py on a simulated device: every case runs or is left out for time, and the tables come from the lines.
# ctest: slow: 22 short runs
set -eu
python=$(command -v python3) || { echo "skip: no python3"; exit 77; }
both="$python $DROVE_SOURCE_DIR/bench/run/gpu_both.py"
run="$both --drove $DROVE --device fake:?speed=10000 --cpu cpu:0 --model mlp:8 --batch 64 --data nowhere --digits 3000 --seconds 0.05 --target 80%"

$run --margin 60 --out made >lines.txt
"$python" - made/gpu_both.jsonl <<'END'
import json, sys
records = [json.loads(line) for line in open(sys.argv[1])]
assert len(records) == 6 * 3 + 4, len(records)
assert not [r for r in records if "error" in r or "left_out" in r], records
both = [r for r in records if r["where"] == "both"]
assert all(len(r["busy"]) == 2 and r["examples_per_s"] > 0 for r in both), both
assert [r["strategy"] for r in records if r["part"] == "margins"] == ["hogbatch"] * 3 + ["adaptive"]
END
$both --tables made/gpu_both.jsonl >tables.txt
[ "$(grep -c '^| ' tables.txt)" = 12 ] || { echo "expected 12 rows:"; cat tables.txt; exit 1; }

# A margin by hand: 8 s alone, 2 s together; what missed the loss has none.
cat >hand.jsonl <<'END'
{"part": "margins", "strategy": "hogbatch", "where": "device", "round": 0, "outcome": "reached", "train_s": 8}
{"part": "margins", "strategy": "hogbatch", "where": "cores", "round": 0, "outcome": "missed", "train_s": 1}
{"part": "margins", "strategy": "adaptive", "where": "both", "round": 0, "outcome": "reached", "train_s": 2}
{"part": "together", "strategy": "tree", "where": "device", "round": 0, "outcome": "finished", "examples_per_s": 100}
{"part": "together", "strategy": "tree", "where": "both", "round": 0, "outcome": "finished", "examples_per_s": 150}
END
$both --tables hand.jsonl >tables.txt
for row in '| adaptive, both | 2.00 | 4.00 |' '| cores alone | missed |  |' '| tree | 100 |  | 150 | 1.50 |  |  |'; do
    grep -qxF "$row" tables.txt || { echo "no row \"$row\":"; cat tables.txt; exit 1; }
done

# No time is left for any.
$run --minutes 0 >lines.txt
[ "$(grep -c left_out lines.txt)" = 22 ] || { echo "expected 22 runs left out:"; cat lines.txt; exit 1; }
