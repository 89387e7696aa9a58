#!/usr/bin/env python3
"""What linear models of 4 bits lose: the table of losses of docs/results/low-precision.md.

    python3 bench/run/four_bits.py --data DIR [--drove build/release/drove] [--parts synth,mnist,computers] [--batches 1,64]
                                   [--signatures D32fM32f,D8M8,D4M8,D8M4,D4M4] [--quick] [--lines FILE]

DIR has the folders mnist and tables.  Five epochs of each signature and rounding, one thread, the step size halved after each
epoch; the best of a list of step sizes, mean of the seeds:

  synth      synth:logistic of 40,000 examples and 256 features, logistic loss, two seeds of the run
  mnist      logistic regression of ten classes, one seed, with the accuracy on its test set
  computers  tables/Computers.train.csv: nine columns, yes as 1, standardised; price standardised; least squares, two seeds

Batches of 64 (not of mnist) are an update of 64 examples, rounded once, with 2 and 8 times the step size; of `shared` alone.
A cell is the mean loss on the training examples and the step size that it comes from.  --quick: one seed, every second step
size.  --lines: one JSON record a run, appended; runs that it has are not repeated.
"""
import argparse
import csv
import json
import os
import statistics
import subprocess
import sys
import tempfile

STEPS = {  # of single examples
    "synth": [0.00003, 0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3],
    "mnist": [0.003, 0.01],
    "computers": [0.0003, 0.001, 0.003, 0.01, 0.03],
}
SEEDS = {"synth": [1, 2], "mnist": [1], "computers": [1, 2]}


def write_computers(source, path):
    """Numbers alone, each column with mean 0 and variance 1; the price last."""
    with open(source, newline="") as f:
        rows = list(csv.DictReader(f))
    names = [name for name in rows[0] if name != "price"] + ["price"]
    number = {"yes": 1.0, "no": 0.0}
    columns = []
    for name in names:
        x = [number[row[name]] if row[name] in number else float(row[name]) for row in rows]
        mean, deviation = statistics.fmean(x), statistics.pstdev(x)
        columns.append([(v - mean) / deviation for v in x])
    with open(path, "w") as f:
        for row in zip(*columns):
            f.write(",".join(f"{v:.9g}" for v in row) + "\n")


def data_of(args, part):
    if part == "synth":
        return ["--data", "synth:logistic?n=40000&d=256&seed=1", "--model", "logistic", "--test", "none"]
    if part == "mnist":
        return ["--data", f"mnist:{args.data}/mnist", "--model", "logistic"]
    return ["--data", f"csv:{args.scratch}/computers.csv?target=value", "--model", "linear", "--test", "none"]


def run(args, part, signature, rounding, batch, lr, seed):
    command = [args.drove, "train", "--defaults", "classic", *data_of(args, part), "--precision", signature, "--rounding", rounding,
               "--rule", "sgd", "--threads", "1", "--strategy", "sequential", "--batch", str(batch), "--lr", str(lr), "--schedule", "step:0.5,1",
               "--until", "epochs=5", "--eval-every", "5", "--seed", str(seed), "--metrics", "none", "--out", "none", "--quiet", "--json"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in (0, 3):  # 3: it diverged
        sys.exit("four_bits: " + " ".join(command) + "\n" + done.stderr)
    summary = json.loads(done.stdout)
    return {"bench": "four_bits", "part": part, "signature": signature, "rounding": rounding, "batch": batch, "lr": lr, "seed": seed,
            "loss": summary["loss"] if done.returncode == 0 else None, "accuracy": summary.get("test_accuracy")}


KEY = ("part", "signature", "rounding", "batch", "lr", "seed")


def wanted(args):
    for part in args.parts:
        steps, seeds = STEPS[part], SEEDS[part]
        if args.quick:
            steps, seeds = steps[::2], seeds[:1]
        for signature in args.signatures:
            is_float = signature == "D32fM32f"
            for batch in args.batches if part != "mnist" else [1]:
                factors = [1] if batch == 1 else [2, 8]
                for rounding in ["shared"] if is_float or batch > 1 else ["shared", "nearest"]:
                    for lr in sorted({step * factor for step in steps for factor in factors}):
                        for seed in seeds:
                            yield part, signature, rounding, batch, lr, seed


def best(records, part, signature, rounding, batch):
    """The least mean loss over the seeds, as text; empty: nothing was run."""
    of_step = {}
    for r in records:
        if (r["part"], r["signature"], r["rounding"], r["batch"]) == (part, signature, rounding, batch):
            of_step.setdefault(r["lr"], []).append(r)
    means = [(statistics.fmean(r["loss"] for r in runs), lr, runs) for lr, runs in of_step.items() if all(r["loss"] is not None for r in runs)]
    if not means:
        return ""
    loss, lr, runs = min(means, key=lambda m: m[0])
    accuracy = f", {100 * statistics.fmean(r['accuracy'] for r in runs):.1f} %" if part == "mnist" else ""
    return f"{loss:.3f}{accuracy} ({lr:g})"


def report(args, records):
    columns = [(part, 1) for part in args.parts if 1 in args.batches] + [(part, b) for b in args.batches if b > 1 for part in args.parts if part != "mnist"]
    print("\n| signature | rounding | " + " | ".join(part if b == 1 else f"{part}, batch {b}" for part, b in columns) + " |")
    print("|---|---|" + "---|" * len(columns))
    for signature in args.signatures:
        for rounding in ["shared"] if signature == "D32fM32f" else ["shared", "nearest"]:
            cells = [best(records, part, signature, rounding, b) for part, b in columns]
            print(f"| {signature} | {'' if signature == 'D32fM32f' else rounding} | " + " | ".join(cells) + " |")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--data", required=True)
    p.add_argument("--drove", default="build/release/drove")
    p.add_argument("--parts", type=lambda s: s.split(","), default=list(STEPS))
    p.add_argument("--batches", type=lambda s: [int(w) for w in s.split(",")], default=[1, 64])
    p.add_argument("--signatures", type=lambda s: s.split(","), default=["D32fM32f", "D8M8", "D4M8", "D8M4", "D4M4"])
    p.add_argument("--quick", action="store_true")
    p.add_argument("--lines")
    args = p.parse_args()
    records = []
    if args.lines and os.path.exists(args.lines):
        with open(args.lines) as f:
            records = [json.loads(line) for line in f]
    known = {tuple(r[k] for k in KEY) for r in records}
    with tempfile.TemporaryDirectory() as args.scratch:
        if "computers" in args.parts:
            write_computers(os.path.join(args.data, "tables", "Computers.train.csv"), os.path.join(args.scratch, "computers.csv"))
        for key in wanted(args):
            if key in known:
                continue
            records.append(run(args, *key))
            if args.lines:
                with open(args.lines, "a") as f:
                    f.write(json.dumps(records[-1]) + "\n")
    report(args, records)


if __name__ == "__main__":
    main()
