"""c_compare.py EXPECTED.npy FOUND.bin: are the floats of both equal within 1e-5 of the largest?  Prints the largest
difference; fails also where numbers that hardly differ from each other would prove nothing."""
import array
import ast
import struct
import sys

TOLERANCE = 1e-5


def main():
    expected, found = array.array("f"), array.array("f")
    with open(sys.argv[1], "rb") as file:
        assert file.read(6) == b"\x93NUMPY"
        size = struct.unpack("<H", file.read(4)[2:])[0]
        head = ast.literal_eval(file.read(size).decode())
        assert head["descr"] == "<f4", head
        expected.frombytes(file.read())
    with open(sys.argv[2], "rb") as file:
        found.frombytes(file.read())
    assert len(expected) == len(found) > 0, (len(expected), len(found))
    largest = max(abs(v) for v in expected)
    worst = max(abs(a - b) if a == a and b == b else float("inf") for a, b in zip(expected, found)) / largest
    columns = head["shape"][1]
    spread = max(max(expected[k::columns]) - min(expected[k::columns]) for k in range(columns)) / largest
    print(f"largest difference {worst:.1e}, spread {spread:.1e}")
    assert worst <= TOLERANCE, worst
    assert spread >= 1e-3, spread


main()
