#!/usr/bin/env python3
"""What rules, label smoothing and changes of images give on little data: held-out accuracy of two networks on CIFAR-10.

    python3 bench/run/variations.py --train FILE --test FILE [--drove build/release/drove] [--seeds 1,2,3]
                                    [--networks lenet,residual] [--epochs 12,5] [--lr 0.001] [--out FILE] [--table FILE]

FILE: a file of CIFAR-10, `data_batch_1.bin`, or a part of one; compressed ones are read.  Every run has random crops,
of 24 x 24 for LeNet and 16 x 16 for the residual network, batches of 100, a step size falling by a cosine and one thread,
so that figures repeat to the bit.  The first row is the base; each other row changes what its name says and nothing else.  The residual network, slower and after so few epochs
far from its end, has the rules alone.  JSON lines, one a run, go to --out, appended; --table prints the tables of such a
file, runs nothing, and compares each row with the base, seed by seed.
"""
import argparse
import json
import math
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
NETWORKS = {  # model, side of the crops, the first so many variations
    "lenet": ("lenet", 24, 7),
    "residual": (os.path.join(HERE, "..", "..", "examples", "models", "residual-cifar.yaml"), 16, 3),
}
BASE = {"rule": "adam"}
VARIATIONS = [  # name, keys of the data, options
    ("adam, the base", "", {}),
    ("adamw, weight decay 0.1", "", {"rule": "adamw", "weight_decay": 0.1}),
    ("muon, weight decay 0.1", "", {"rule": "muon", "weight_decay": 0.1}),
    ("label smoothing 0.1", "", {"label_smoothing": 0.1}),
    ("mixup 0.2", "&mixup=0.2", {}),
    ("rotate 15", "&rotate=15", {}),
    ("brightness, contrast, saturation 0.3", "&brightness=0.3&contrast=0.3&saturation=0.3", {}),
]


def run(args, network, epochs, seed, variation):
    name, keys, options = variation
    model, side, _ = NETWORKS[network]
    keys = f"crop={side}&scale=unit-mean-channel{keys}"
    options = {**BASE, "lr": args.lr, "schedule": f"cosine:{epochs}", "until": f"epochs={epochs}", "batch": 100,
               "strategy": "sequential", "threads": 1, "loaders": 0, "eval_every": epochs, "eval_examples": 1000,
               "metrics": "none", "seed": seed, "out": "none", **options}
    command = [args.drove, "train", "--json", "--data", f"cifar10:{args.train}?{keys}",
               "--test", f"cifar10:{args.test}", "--model", model]
    for key, value in options.items():
        command += ["--" + key.replace("_", "-"), str(value)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stderr}")
    summary = json.loads(done.stdout[done.stdout.index("{"):])
    return {"network": network, "epochs": epochs, "lr": args.lr, "seed": seed, "variation": name,
            "accuracy": summary["test_accuracy"], "test_loss": summary["test_loss"], "train_s": summary["train_s"]}


def spread(values):
    """Mean, and standard deviation between seeds."""
    mean = sum(values) / len(values)
    if len(values) < 2:
        return mean, math.nan
    return mean, math.sqrt(sum((v - mean) ** 2 for v in values) / (len(values) - 1))


def table(path):
    with open(path) as f:
        lines = [json.loads(line) for line in f]
    for network, lr in dict.fromkeys((line["network"], line["lr"]) for line in lines):
        mine = [line for line in lines if (line["network"], line["lr"]) == (network, lr)]
        base = {line["seed"]: line["accuracy"] for line in mine if line["variation"] == VARIATIONS[0][0]}
        print(f"\n| {network}, {mine[0]['epochs']} epochs, lr {lr} | seeds | accuracy, % | less the base's, by seed, % | test loss |")
        print("|---|---|---|---|---|")
        for name, _, _ in VARIATIONS:
            rows = sorted((line for line in mine if line["variation"] == name), key=lambda line: line["seed"])
            if not rows:
                continue
            mean, deviation = spread([100 * row["accuracy"] for row in rows])
            gain, between = spread([100 * (row["accuracy"] - base[row["seed"]]) for row in rows if row["seed"] in base])
            loss, _ = spread([row["test_loss"] for row in rows])
            against = "" if name == VARIATIONS[0][0] else f"{gain:+.1f} ± {between:.1f}"
            print(f"| {name} | {len(rows)} | {mean:.1f} ± {deviation:.1f} | {against} | {loss:.3f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--drove", default="build/release/drove")
    parser.add_argument("--train")
    parser.add_argument("--test")
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--networks", default="lenet,residual")
    parser.add_argument("--epochs", default="12,5", help="of each network")
    parser.add_argument("--lr", type=float, default=0.001)
    parser.add_argument("--out", default="variations.jsonl")
    parser.add_argument("--table")
    args = parser.parse_args()
    if args.table:
        table(args.table)
        return
    if not args.train or not args.test:
        parser.error("expected --train and --test, a file of CIFAR-10 each")
    epochs = dict(zip(args.networks.split(","), (int(n) for n in args.epochs.split(","))))
    for seed in (int(text) for text in args.seeds.split(",")):
        for network, n in epochs.items():
            for variation in VARIATIONS[:NETWORKS[network][2]]:
                line = run(args, network, n, seed, variation)
                print(line, flush=True)
                with open(args.out, "a") as f:
                    f.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
