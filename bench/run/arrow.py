#!/usr/bin/env python3
"""A pandas table by Arrow beside the same table as CSV text: wall time and memory of fit and predict.

    python3 bench/run/arrow.py --package build/release/python [--rows 1000000] [--rounds 3] [--out FILE]

Ten columns: four of floats, one of them with missing cells, two of integers, a truth value, a date, a text and a category.
fit: one pass of a linear model over all rows, one thread, settings given, so that most of the time is the table's.  Each
fit is a process of its own, the two ways in turn.  Memory: the peak of the process above what it had before.  Needs
pandas 2.2 and pyarrow 14 or later.

Prints a line of JSON for each fit, and a table of medians.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time

WAYS = ("arrow", "csv")


def make(n):
    import numpy as np
    import pandas
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame({f"x{i}": rng.standard_normal(n) for i in range(4)})
    frame.loc[rng.random(n) < 0.1, "x0"] = np.nan
    frame["count"] = rng.integers(0, 1000, n)
    frame["size"] = rng.integers(-10**6, 10**6, n)
    frame["open"] = rng.random(n) < 0.3
    frame["day"] = np.datetime64("2000-01-01") + rng.integers(0, 9000, n).astype("timedelta64[D]")
    frame["town"] = rng.choice([f"town{i}" for i in range(20)], n)
    frame["kind"] = pandas.Categorical(rng.choice(list("abcdefgh"), n))
    return frame, (frame["x1"] + frame["open"] > 0).to_numpy()


def memory(key):
    """MiB of this process."""
    with open("/proc/self/status", encoding="ascii") as file:
        return next(int(line.split()[1]) / 1024 for line in file if line.startswith(key + ":"))


def forget_peak():
    with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
        file.write("5")


def measured(function):
    """(result, seconds, MiB above what there was before)."""
    forget_peak()
    before, start = memory("VmRSS"), time.perf_counter()
    result = function()
    return result, time.perf_counter() - start, memory("VmHWM") - before


def child(way, n_rows):
    from drove import DroveClassifier, _tables
    if way == "csv":
        _tables.offers_arrow = lambda x: False
    frame, y = make(n_rows)
    DroveClassifier("logistic", lr=0.01, rule="sgd", until="epochs=1").fit(frame.head(1000), y[:1000])  # imports
    _, table_s, table_mib = measured(lambda: _tables.source_of(frame))
    model = DroveClassifier("logistic", lr=0.01, rule="sgd", until="epochs=1", random_state=0)
    _, fit_s, fit_mib = measured(lambda: model.fit(frame, y))
    p, predict_s, predict_mib = measured(lambda: model.predict_proba(frame))
    print(json.dumps({"way": way, "rows": n_rows, "table_s": table_s, "table_mib": table_mib, "fit_s": fit_s,
                      "fit_mib": fit_mib, "predict_s": predict_s, "predict_mib": predict_mib,
                      "right": float(((p[:, 1] > 0.5) == y).mean())}))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--package", required=True)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out")
    parser.add_argument("--child", choices=WAYS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options.child, options.rows)
        return
    environment = {**os.environ, "PYTHONPATH": os.path.abspath(options.package), "OMP_NUM_THREADS": "1"}
    lines = []
    for _ in range(options.rounds):
        for way in WAYS:
            command = [sys.executable, os.path.abspath(__file__), "--package", options.package, "--rows", str(options.rows),
                       "--child", way]
            out = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout
            lines.append(json.loads(out.splitlines()[-1]))
            print(json.dumps(lines[-1]), flush=True)
    if options.out:
        with open(options.out, "a", encoding="utf-8") as file:
            file.writelines(json.dumps(line) + "\n" for line in lines)
    print("\n| | table, s | MiB | fit, s | MiB | predict, s | MiB |\n|---|---|---|---|---|---|---|")
    for way in WAYS:
        def middle(key):
            return statistics.median(line[key] for line in lines if line["way"] == way)
        print(f"| {way} |" + "".join(f" {middle(key + '_s'):.2f} | {middle(key + '_mib'):.0f} |"
                                     for key in ("table", "fit", "predict")))


if __name__ == "__main__":
    main()
