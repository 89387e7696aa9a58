"""onnx_check.py MODEL.onnx PREDICTIONS.csv DATA [TOLERANCE]: does ONNX Runtime predict what drove predict has written?

DATA: a table with the columns of the model (.csv), or an array of examples (.npy).  Prints the largest difference;
fails where one is above TOLERANCE (1e-5), of values times the largest of them, or a label differs that leads by more."""
import csv
import datetime
import sys

import numpy as np
import onnxruntime

MISSING = {"", "?", "-", ".", "NA", "N/A", "n/a", "nan", "NaN", "null", "NULL", "None", "#N/A", "<NA>"}


def days(cell):
    for form in ("%Y-%m-%d", "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S", "%d/%m/%Y"):
        try:
            return (datetime.datetime.strptime(cell, form) - datetime.datetime(1970, 1, 1)) / datetime.timedelta(days=1)
        except ValueError:
            pass
    return number(cell)  # of a column of numbers that floats cannot tell apart


def number(cell):
    try:
        return float(cell)
    except ValueError:
        return np.nan


def inputs(session, path):
    wanted = session.get_inputs()
    if path.endswith(".npy"):
        x = np.load(path).astype(np.float32)
        return {wanted[0].name: x.reshape([len(x)] + wanted[0].shape[1:])}
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    convert = {"tensor(float)": (number, np.float32), "tensor(double)": (days, np.float64),
               "tensor(string)": (str.strip, object)}
    feed = {}
    for i in wanted:
        assert i.shape == ["N", 1], (i.name, i.shape)
        function, kind = convert[i.type]
        cells = [row[i.name].strip() for row in rows]
        if i.type != "tensor(string)":
            cells = ["nan" if cell in MISSING else cell for cell in cells]
        feed[i.name] = np.array([[function(cell)] for cell in cells], dtype=kind)
    return feed


def main():
    model, predictions, data = sys.argv[1:4]
    tolerance = float(sys.argv[4]) if len(sys.argv) > 4 else 1e-5
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    found = dict(zip([o.name for o in session.get_outputs()], session.run(None, inputs(session, data))))
    with open(predictions, newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    head, rows = rows[0], [row for row in rows[1:]]
    first = sum(name in ("label", "file") for name in head)
    expected = np.array([[float(cell) for cell in row[first:]] for row in rows])
    numbers = [v for name, v in found.items() if v.dtype.kind == "f"]
    assert len(numbers) == 1 and numbers[0].shape == expected.shape, ([v.shape for v in numbers], expected.shape)
    varied = expected[:, np.argmax(np.ptp(expected, axis=0))]
    assert np.ptp(varied) > 1e-3 and len(np.unique(varied)) >= min(6, len(rows)), "equal predictions prove nothing"
    difference = np.max(np.abs(numbers[0] - expected)) / max(1, np.max(np.abs(expected)))
    print(f"{model}: {len(rows)} examples, {len(session.get_inputs())} inputs, difference {difference:.2g}")
    assert difference <= tolerance, difference
    if "label" not in head:
        return
    label = next(v for v in found.values() if v.dtype == object)
    # where two classes are equal but for rounding either may come out
    lead = np.ptp(np.sort(expected, axis=1)[:, -2:], axis=1) if expected.shape[1] > 1 else np.abs(expected[:, 0])
    for i, row in enumerate(rows):
        assert label[i] == row[head.index("label")] or lead[i] <= 2 * tolerance, (i, label[i], row)


main()
