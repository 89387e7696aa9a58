# The integer definition of the FPGA designs, bench/fpga/model.py, against examples worked by hand; a generated top module.
set -eu
if ! python3 -c 'import numpy' 2>/dev/null; then
    echo "skip: numpy is not installed (python3-numpy)"
    exit 77
fi
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$DROVE_SOURCE_DIR/bench/fpga" python3 - <<'END_OF_PYTHON'
import generate
import model
from generate import Design


def same(found, expected, what):
    assert list(found) == list(expected), f"{what}: expected {expected}, found {list(found)}"


# 5 / 4 + r: down with the least random bits, up with the most; ties go up
same(model.rounded([5, -5, 5, 7, 7, 2, -2], 2, [0, 0, 0xFFFF, 0x3FFF, 0x4000, 0x8000, 0x8000]), [1, -2, 2, 1, 2, 1, 0], "rounded")
same(model.rounded([5, -5], -1, [0xFFFF, 0]), [10, -10], "a step up")
assert [model.unit(v, 4) for v in (0, 7, 8, 14, 15, 28, 29)] == [0, 0, 1, 1, 2, 2, 3]

# z = 8, -5: unit 2, so 8, -4 (-2.5 goes up); errors 28, -14: unit 4, so g = 7, -3; update (-18, 35)
x, t, w = [[3, -2], [1, 7]], [-20, 10], [2, -1]
four = {"d": 4, "m": 4, "g": 4, "lanes": 1, "features": 2, "stages": 3, "batch": 2}
same(model.train(Design(**four, unit="block", step=6), w, x, t), [1, 1], "shift 4: -1.125, 2.1875")
same(model.train(Design(**four, unit="block", step=4), w, x, t), [-2, 7], "shift 2: -4.5 goes up, 8.75 saturates")
# fixed unit 2: errors 28, -15 give 14 and -7.5, so g = 7 (saturated), -7; update (-14, 63)
same(model.train(Design(**four, unit="fixed", step=5, gshift=1), w, x, t), [1, 3], "fixed")
# one example after the other: g = 4, so w = -1, 0; then z = -2, g = -2, update (4, 8)
one = Design(**{**four, "batch": 1}, unit="fixed", step=2, gshift=0)
same(model.train(one, [0, 0], [[1, 0], [2, 4]], [-4, 0]), [0, 2], "one after the other")

# Marsaglia's generator: from 1 by hand
bits = model.Bits(1)
bits.step()
assert bits.state == 0x40822041, hex(bits.state)
assert bits.words() == [0x2041, 0x4082, 0, 0]

# words of 8 and 16 bits use all codes, others are symmetric; a two-stage design processes twice what it loads
assert [Design(m=m).lowest for m in (8, 16, 6)] == [-128, -32768, -31]
assert Design(stages=2, lanes=4).processed == 8
assert generate.widths("D8M16") == {"d": 8, "m": 16, "g": 8} and generate.widths("D6M8G3")["g"] == 3
text = generate.top(Design(d=6, m=8, g=5, lanes=4, stages=2, batch=4, rounding="xorshift"))
for piece in (".D(6)", ".M(8)", ".G(5)", ".LANES(8)", ".BATCH(4)", ".STAGES(2)", ".GENERATORS(2)", "input [23:0] in_data"):
    assert piece in text, f"no {piece} in\n{text}"
for wrong in ({"d": 17}, {"lanes": 3}, {"stages": 4}, {"rounding": "mt19937"}, {"features": 63}, {"unit": "own"}):
    try:
        Design(**wrong)
    except ValueError:
        continue
    raise AssertionError(f"{wrong}: expected an error")
END_OF_PYTHON
