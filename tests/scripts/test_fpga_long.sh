# A few FPGA designs, simulated by Verilator: every word of their models is that of bench/fpga/model.py, and of drove.
# ctest: timeout=900
set -eu
if ! python3 -c 'import numpy' 2>/dev/null; then
    echo "skip: numpy is not installed (python3-numpy)"
    exit 77
fi
if ! command -v verilator >/dev/null; then
    echo "skip: Verilator is not installed (verilator)"
    exit 77
fi
export PYTHONDONTWRITEBYTECODE=1
fpga=$DROVE_SOURCE_DIR/bench/fpga
"$fpga/run" --quick --drove "$DROVE" --lines lines.jsonl --work work >out.txt || {
    cat out.txt >&2
    exit 1
}
python3 - <<'END_OF_PYTHON'
import json

rows = [json.loads(line) for line in open("lines.jsonl")]
by = {kind: [r for r in rows if r["kind"] == kind] for kind in ("simulation", "drove")}
assert len(by["simulation"]) == 4 and len(by["drove"]) == 2, rows
for r in by["simulation"] + by["drove"]:
    assert r["different"] == 0, r
for r in by["simulation"]:  # a design that writes nothing would not be noticed otherwise
    assert r["changed"] > r["words"] / 2, r
assert by["simulation"][0]["lowest"] > 0 and by["simulation"][0]["highest"] > 0, by["simulation"][0]
for r in by["drove"]:
    assert r["distinct"] >= 10, r
# Dots of the next example beside the update: a sweep of 16 beats and 4 examples, errors and a lag; two sweeps in two stages.
cycles = {r["design"]: r["cycles_per_update"] for r in by["simulation"]}
three, two = cycles["D8M8-4x64-3stage-b4-xorshift-block"], cycles["D4M8-16x64-2stage-b4-xorshift-fixed"]
assert 64 < three < 64 + 60, three
assert 2 * 8 < two < 2 * 8 + 30, two
END_OF_PYTHON
grep -q 'Words equal to those of drove: 128 of 128' out.txt || { cat out.txt; exit 1; }

# A wrong bit must be seen: the same design with another rounding.
mkdir wrong
cp "$fpga"/*.v "$fpga"/*.py "$fpga"/bench.cpp wrong/
sed -i "s/16'h8000/16'h7fff/" wrong/sgd.v
if python3 wrong/compare.py --quick --drove "$DROVE" --work work-wrong >out.txt; then
    echo "another rounding: expected words that differ"
    cat out.txt
    exit 1
fi
grep -q 'designs differ' out.txt || { cat out.txt; exit 1; }
