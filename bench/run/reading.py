#!/usr/bin/env python3
"""bench/run/reading.py [--drove PROGRAM] [--other PROGRAM] [--rows 2000000] [--columns 30] [--file FILE] [--times 3]

A table of numbers as a CSV file: reading, two epochs of a linear model, predictions as CSV.  Beside it pyarrow's reader with two
threads, where it can be imported, and another program of drove, an older one, which is given csv:FILE?label=label.  The
programs take turns; of each the fastest time counts, and the least processor time.  One JSON line for each.

--file: a table that exists (its first column is the label, "label"), instead of a generated one.
"""
import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time

PYARROW = """
import sys, pyarrow, pyarrow.csv
pyarrow.set_cpu_count(2)
pyarrow.set_io_thread_count(2)
pyarrow.csv.read_csv(sys.argv[1])
"""


def generate(path, n_rows, n_columns):
    """Normal numbers with six digits after the point; the label is the sign of a linear function of them."""
    draw = random.Random(1)
    weights = [draw.gauss(0, 1) for _ in range(n_columns)]
    with open(path, "w") as f:
        f.write(",".join(["label"] + [f"x{i}" for i in range(n_columns)]) + "\n")
        for _ in range(n_rows):
            x = [draw.gauss(0, 1) for _ in range(n_columns)]
            label = int(sum(w * v for w, v in zip(weights, x)) + draw.gauss(0, 2) > 0)
            f.write(f"{label}," + ",".join(f"{v:.6f}" for v in x) + "\n")


def used_s():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def timed(command):
    """Wall seconds and processor seconds; None: the command failed."""
    begun, before = time.monotonic(), used_s()
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        print(f"reading: {' '.join(command[:3])}: {done.stderr.strip()[-200:]}", file=sys.stderr)
        return None
    return time.monotonic() - begun, used_s() - before


def commands(args, path, folder):
    """What is measured -> command; a model for predictions is trained first."""
    train = ["train", "--model", "logistic", "--lr", "0.01", "--test", "none", "--quiet", "--out"]
    model = os.path.join(folder, "model")
    subprocess.run([args.drove, *train, model, "--data", path, "--label", "label", "--until", "updates=1000"], check=True)
    new = ["--data", path, "--label", "label"]
    list_of = {"read": [args.drove, "data", "info", path, "--label", "label"],
               "read, pyarrow": [sys.executable, "-c", PYARROW, path],
               "import pyarrow": [sys.executable, "-c", "import pyarrow.csv"],
               "read and train": [args.drove, *train, "none", *new, "--until", "epochs=2"],
               "predict": [args.drove, "predict", model, "--data", path, "--out", os.path.join(folder, "p.csv")]}
    if args.other:
        old = f"csv:{path}?label=label"
        list_of["read, other"] = [args.other, "data", "info", old]
        list_of["read and train, other"] = [args.other, *train, "none", "--data", old, "--until", "epochs=2"]
    return list_of


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--drove", default="build/release/drove")
    parser.add_argument("--other")
    parser.add_argument("--rows", type=int, default=2000000)
    parser.add_argument("--columns", type=int, default=30)
    parser.add_argument("--file")
    parser.add_argument("--times", type=int, default=3)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = args.file or os.path.join(folder, "table.csv")
        if not args.file:
            generate(path, args.rows, args.columns)
        found = {}
        list_of = commands(args, path, folder)
        for _ in range(args.times):
            for name, command in list_of.items():
                seconds = timed(command)
                if seconds:
                    found.setdefault(name, []).append(seconds)
        for name, seconds in found.items():
            wall_s, cpu_s = (min(s[i] for s in seconds) for i in range(2))
            print(json.dumps({"bench": "reading", "what": name, "bytes": os.path.getsize(path),
                              "wall_s": round(wall_s, 2), "cpu_s": round(cpu_s, 2)}), flush=True)


if __name__ == "__main__":
    main()
