#!/usr/bin/env python3
"""bench/run/reading.py [--drove PROGRAM] [--other PROGRAM] [--rows 2000000] [--columns 30] [--file FILE] [--times 3] [--cores 2]
                          [--kinds]

A table of numbers as a CSV file: reading, two epochs of a linear model, predictions as CSV.  Beside it pyarrow's reader with two
threads, where it can be imported, and another program of drove, an older one, which is given csv:FILE?label=label.  The
programs take turns, each held to --cores processors; of each the fastest time counts, and the least processor time.  One JSON line for each.

--kinds: instead, what other cells cost beside numbers.  `drove data info` reads the same --rows of a label and --columns numbers alone,
with three columns of categories behind them (10, 1,000 and 50,000 different texts), the same in quotes, and ten columns of dates behind
one number; the least user time of each, and for each byte of the file as a multiple of that of the numbers.  The system's part is beside
it: it clears pages, which takes several times as long in one run as in another.

--file: a table that exists (its first column is the label, "label"), instead of a generated one.
"""
import argparse
import contextlib
import json
import os
import random
import resource
import subprocess
import sys
import tempfile

import pinned

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


LEVELS = ([f"level{i}" for i in range(10)], [f"category-{i:04d}" for i in range(1000)], [f"user{i:06d}" for i in range(50000)])


def generate_kinds(folder, n_rows, n_columns):
    """Name of a kind -> its file."""
    draw = random.Random(1)
    names = ["label"] + [f"x{i}" for i in range(n_columns)]
    texts = [f"text{len(levels)}" for levels in LEVELS]
    headers = {"numbers": names, "categories": names + texts, "quoted": names + texts, "dates": names[:2] + [f"day{i}" for i in range(10)]}
    paths = {kind: os.path.join(folder, f"{kind}.csv") for kind in headers}
    with contextlib.ExitStack() as stack:
        files = {kind: stack.enter_context(open(path, "w")) for kind, path in paths.items()}
        for kind, header in headers.items():
            files[kind].write(",".join(header) + "\n")
        for _ in range(n_rows):
            x = [f"{draw.gauss(0, 1):.6f}" for _ in range(n_columns)]
            x.insert(0, "0" if x[0].startswith("-") else "1")
            words = [draw.choice(levels) for levels in LEVELS]
            days = [f"{draw.randrange(2000, 2025)}-{draw.randrange(1, 13):02d}-{draw.randrange(1, 29):02d}" for _ in range(10)]
            files["numbers"].write(",".join(x) + "\n")
            files["categories"].write(",".join(x + words) + "\n")
            files["quoted"].write(",".join(x + [f'"{word}"' for word in words]) + "\n")
            files["dates"].write(",".join(x[:2] + days) + "\n")
    return paths


def measure_kinds(args, paths):
    found = {kind: [] for kind in paths}
    for _ in range(args.times):
        for kind, path in paths.items():
            seconds = timed([args.drove, "data", "info", path, "--label", "label"], args.cores)
            if seconds:
                found[kind].append(seconds[1:3])
    per_byte = {kind: min(s[0] for s in seconds) / os.path.getsize(paths[kind]) * 1e9 for kind, seconds in found.items()}
    for kind, path in paths.items():
        print(json.dumps({"bench": "reading", "what": kind, "bytes": os.path.getsize(path), "user_s": round(min(s[0] for s in found[kind]), 3),
                          "system_s": round(min(s[1] for s in found[kind]), 3), "ns_per_byte": round(per_byte[kind], 2), "of_numbers": round(per_byte[kind] / per_byte["numbers"], 2)}), flush=True)


def used_s():
    """User and system time of all programs that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime, used.ru_stime


def timed(command, n_cores):
    """Wall, user and system seconds, and user time over wall time; None: the command failed."""
    before = used_s()
    with pinned.held(n_cores) as seen:
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        print(f"reading: {' '.join(command[:3])}: {done.stderr.strip()[-200:]}", file=sys.stderr)
        return None
    after = used_s()
    return seen.wall_s, after[0] - before[0], after[1] - before[1], seen.used


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
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--kinds", action="store_true")
    parser.add_argument("--times", type=int, default=3)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if args.kinds:
            measure_kinds(args, generate_kinds(folder, args.rows, args.columns))
            return
        path = args.file or os.path.join(folder, "table.csv")
        if not args.file:
            generate(path, args.rows, args.columns)
        found = {}
        list_of = commands(args, path, folder)
        for _ in range(args.times):
            for name, command in list_of.items():
                seconds = timed(command, args.cores)
                if seconds:
                    found.setdefault(name, []).append(seconds)
        for name, seconds in found.items():
            wall_s, cpu_s, used = min(s[0] for s in seconds), min(s[1] + s[2] for s in seconds), max(s[3] for s in seconds)
            print(json.dumps({"bench": "reading", "what": name, "bytes": os.path.getsize(path),
                              "wall_s": round(wall_s, 2), "cpu_s": round(cpu_s, 2), "used": round(used, 2)}), flush=True)


if __name__ == "__main__":
    main()
