#!/usr/bin/env python3
"""bench/run/tables_auto.py --drove PROGRAM [--tables DIR] [--sets iris,wine,...] [--splits 10] [--no-peers] [-- FLAG ...]

What drove makes of a table when it is told nothing but the file, the label and the test file.  One JSON line for each result
on standard output, a table on standard error.  FLAGs go to every drove train, to compare choices.

--tables: a folder with NAME.train.csv, NAME.test.csv for each table, and REFERENCE.md, whose rows are
"| NAME | LABEL | accuracy or R2 | rows | columns | missing | constant | linear | MLP | boosted trees |": scores of
scikit-learn on the same test file.
--sets: sets that scikit-learn has (iris, wine, breast_cancer, digits, diabetes), as CSV, by random splits 80:20.
LogisticRegression or Ridge, and an MLP of 100 units (300 iterations, the targets standardised), both with StandardScaler, see
the same rows.
"""
import argparse
import csv
import json
import os
import random
import subprocess
import sys
import tempfile
import time


def drove(args, train, test, label):
    """Score on the test file, the model chosen, seconds."""
    begin = time.monotonic()
    command = [args.drove, "train", train, "--label", label, "--test", test, "--seed", str(args.seed), "--out", "none", "--json", *args.flags]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(f"tables_auto: {' '.join(command)}: {run.stderr}")
    result = json.loads(run.stdout)
    metrics = result["test_metrics"]
    score = metrics["accuracy"] if metrics["accuracy"] is not None else metrics["r2"]
    pack = result["pack"]
    chosen = f"pack of {pack['networks']}" if pack else result["model"]
    return score, chosen, time.monotonic() - begin


def say(record, text):
    print(json.dumps({"bench": "tables_auto", **record}), flush=True)
    print(text, file=sys.stderr, flush=True)


def reference(folder):
    """name, label, (constant, linear, MLP, boosted trees)"""
    with open(os.path.join(folder, "REFERENCE.md")) as f:
        for line in f:
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            if len(cells) == 10 and cells[2] in ("accuracy", "R2"):
                yield cells[0], cells[1], [float(cell) for cell in cells[6:]]


def run_tables(args):
    total = 0.0
    n = 0
    for name, label, peers in reference(args.tables):
        path = os.path.join(args.tables, name)
        score, chosen, seconds = drove(args, path + ".train.csv", path + ".test.csv", label)
        say({"table": name, "drove": score, "chosen": chosen, "wall_s": seconds,
             **dict(zip(("constant", "linear", "mlp", "trees"), peers))},
            f"{name:12} {score:8.4f}  {chosen:24} {seconds:5.1f} s  linear {peers[1]:7.4f}  MLP {peers[2]:7.4f}  trees {peers[3]:7.4f}")
        total += score - peers[3]
        n += 1
    if n > 0:
        print(f"mean of {n} tables: {total / n:+.4f} against the boosted trees", file=sys.stderr)


def write_csv(path, names, rows, labels):
    with open(path, "w", newline="") as f:
        writer = csv.writer(f)
        writer.writerow([*names, "label"])
        for row, label in zip(rows, labels):
            writer.writerow([repr(float(x)) for x in row] + [label])


def peer_scores(is_values, train, test):
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.neural_network import MLPClassifier, MLPRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    linear = Ridge() if is_values else LogisticRegression(max_iter=1000)
    mlp = MLPRegressor(max_iter=300, random_state=0) if is_values else MLPClassifier(max_iter=300, random_state=0)
    if is_values:
        mlp = TransformedTargetRegressor(mlp, transformer=StandardScaler())
    return [make_pipeline(StandardScaler(), model).fit(*train).score(*test) for model in (linear, mlp)]


def run_sets(args):
    import warnings

    import sklearn.datasets
    warnings.filterwarnings("ignore", module="sklearn")
    for name in args.sets.split(","):
        data = getattr(sklearn.datasets, "load_" + name)()
        is_values = name == "diabetes"
        labels = list(data.target) if is_values else [f"c{label}" for label in data.target]
        names = [str(column).replace(" ", "_") for column in data.feature_names]
        scores = []
        peers = []
        with tempfile.TemporaryDirectory() as folder:
            for split in range(args.splits):
                order = list(range(len(labels)))
                random.Random(split).shuffle(order)
                n_test = len(order) // 5
                parts = [([data.data[i] for i in rows], [labels[i] for i in rows]) for rows in (order[n_test:], order[:n_test])]
                paths = [os.path.join(folder, part) for part in ("train.csv", "test.csv")]
                for path, part in zip(paths, parts):
                    write_csv(path, names, *part)
                scores.append(drove(args, *paths, "label")[0])
                if not args.no_peers:
                    peers.append(peer_scores(is_values, *parts))
        mean = sum(scores) / len(scores)
        means = [sum(column) / len(column) for column in zip(*peers)]
        say({"set": name, "splits": args.splits, "drove": mean, "peers": means},
            f"{name:14} {mean:.4f}  linear, MLP: " + ", ".join(f"{x:.4f}" for x in means))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--drove", default="build/release/drove")
    parser.add_argument("--tables")
    parser.add_argument("--sets")
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("flags", nargs="*")
    args = parser.parse_args()
    if args.tables:
        run_tables(args)
    if args.sets:
        run_sets(args)


if __name__ == "__main__":
    main()
