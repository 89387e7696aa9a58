"""c_inputs.py MODEL.c DATA: the numbers that the function of MODEL.c takes, of its type, on standard output, for each row
of a table (.csv; by the comment at the head of MODEL.c) or for each example of an array of floats (.npy)."""
import array
import ast
import csv
import datetime
import math
import re
import struct
import sys

MISSING = {"", "?", "-", ".", "NA", "N/A", "n/a", "nan", "NaN", "null", "NULL", "None", "#N/A", "<NA>"}


def of_array(path):
    with open(path, "rb") as file:
        assert file.read(6) == b"\x93NUMPY"
        size = struct.unpack("<H", file.read(4)[2:])[0]
        head = ast.literal_eval(file.read(size).decode())
        kind = {"<f4": "f", "|u1": "B"}[head["descr"]]
        return array.array("f", array.array(kind, file.read()))


def columns(path):
    """[name, words, values] of each column, as the comment has them."""
    found = []
    for line in open(path, encoding="utf-8"):
        if line.startswith(" * y["):
            return found
        column = re.match(r" \*   \d+  (.*): (category|number|0 or 1|days since[^;]*)", line)
        value = re.match(r" \*          (\d+)  (.*)", line)
        if value:
            found[-1][2][value[2].replace("* /", "*/")] = float(value[1])  # a comment cannot have it
        elif column:
            found.append([column[1], column[2], {}])
    raise ValueError(path)


def cells(words, values, cell):
    if words == "category":
        return [values.get(cell, values.get(cell.removesuffix(".0"), -1.0))]
    if words.startswith("days"):
        n = 2 if "minutes" in words else 1
        if cell in MISSING:
            return [math.nan] * n
        time = datetime.datetime.fromisoformat(cell)
        return [float((time - datetime.datetime(1970, 1, 1)).days), time.hour * 60 + time.minute + time.second / 60][:n]
    if cell in MISSING:
        return [math.nan]
    if words == "number":
        return [float(cell)]
    return [float(cell.lower() in ("yes", "true", "y", "t", "1", "1.0"))]


def of_table(source, path):
    wanted = columns(source)
    is_double = "_predict(const double *x" in open(source, encoding="utf-8").read()
    out = array.array("d" if is_double else "f")
    for row in csv.DictReader(open(path, newline="", encoding="utf-8")):
        for name, words, values in wanted:
            out.extend(cells(words, values, row[name].strip()))
    return out


source, data = sys.argv[1:]
numbers = of_array(data) if data.endswith(".npy") else of_table(source, data)
sys.stdout.buffer.write(numbers.tobytes())
