#!/usr/bin/env python3
"""drove beside LightGBM and scikit-learn's boosted trees on tables of which nothing is told but file, label and test file.

    venv/bin/pip install lightgbm scikit-learn pandas
    venv/bin/python bench/run/peers/tables.py --tables shared/data/tables --drove build/release/drove [--rounds 3]

--tables: NAME.train.csv and NAME.test.csv for each table, and REFERENCE.md with a row "| NAME | LABEL | accuracy or R2 | ..."
for each.  Every program runs whole, interleaved, on --cores processors (affinity): start-up, reading, training, scoring.  The peers have their defaults; texts are
categories of pandas for both, which need no encoding by the user.  Prints a JSON line for each, with what it used
(user time of all its processes over wall time), and a table of medians.
"""
import argparse
import json
import os
import statistics
import sys

from common import watched

PEER = r"""
import json, os, sys
import pandas as pd
name, train, test, label, score = sys.argv[1:]
a, b = pd.read_csv(train), pd.read_csv(test)
x, xt = a.drop(columns=label), b.drop(columns=label)
for c in x.columns:
    if not pd.api.types.is_numeric_dtype(x[c]):
        kind = pd.CategoricalDtype(sorted(x[c].dropna().astype(str).unique()))
        x[c], xt[c] = x[c].astype(str).astype(kind), xt[c].astype(str).astype(kind)
is_class = score == "accuracy"
if name == "lightgbm":
    import lightgbm as library
    model = (library.LGBMClassifier if is_class else library.LGBMRegressor)(verbose=-1, n_jobs=len(os.sched_getaffinity(0)))
else:
    import sklearn as library
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
    model = (HistGradientBoostingClassifier if is_class else HistGradientBoostingRegressor)(
        categorical_features="from_dtype", random_state=1)
model.fit(x, a[label])
print(json.dumps({"score": float(model.score(xt, b[label])), "version": library.__version__}))
"""


def reference(folder):
    """name, label, kind of score"""
    with open(os.path.join(folder, "REFERENCE.md")) as f:
        for line in f:
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            if len(cells) == 10 and cells[2] in ("accuracy", "R2"):
                yield cells[0], cells[1], cells[2]


def drove(args, train, test, label, _):
    command = [args.drove, "train", train, "--label", label, "--test", test, "--out", "none", "--json", "--quiet"]
    status, out, err, outside = watched(command, args.cores)
    if status != 0:
        sys.exit("tables: " + err)
    metrics = json.loads(out)["test_metrics"]
    return {**outside, "score": metrics["accuracy"] if metrics["accuracy"] is not None else metrics["r2"]}


def peer(name):
    def run(args, train, test, label, score):
        status, out, err, outside = watched([sys.executable, "-c", PEER, name, train, test, label, score], args.cores)
        if status != 0:
            sys.exit(f"tables: {name}: {err}")
        return {**outside, **json.loads(out.strip().splitlines()[-1])}
    return run


PROGRAMS = {"drove": drove, "LightGBM": peer("lightgbm"), "HistGradientBoosting": peer("sklearn")}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--tables", required=True)
    p.add_argument("--drove", default="build/release/drove")
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--cores", type=int, default=2)
    args = p.parse_args()
    lines = []
    for number in range(args.rounds):
        for name, label, score in reference(args.tables):
            path = os.path.join(args.tables, name)
            for program, run in PROGRAMS.items():
                line = run(args, path + ".train.csv", path + ".test.csv", label, score)
                lines.append({"round": number + 1, "table": name, "program": program, "kind": score,
                              **line})
                print(json.dumps(lines[-1]), flush=True)
    print("| table | score | " + " | ".join(f"{program} | s | used" for program in PROGRAMS) + " |")
    print("|---" * (2 + 3 * len(PROGRAMS)) + "|")
    for name, _, score in reference(args.tables):
        cells = []
        for program in PROGRAMS:
            own = [line for line in lines if line["table"] == name and line["program"] == program]
            cells += [f"{statistics.median(line[key] for line in own):{form}}" for key, form in (("score", ".4f"), ("whole_s", ".1f"), ("used", ".2f"))]
        print(f"| {name} | {score} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
