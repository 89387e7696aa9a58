#!/usr/bin/env python3
"""Accuracy of convolutional networks: LeNet on MNIST, and a network for CIFAR-10 with every strategy that can train it.

python3 bench/run/accuracy.py --drove build/release/drove --data FOLDER [--seeds 3] [--epochs 20] [--only mnist|cifar]

FOLDER holds mnist/ and cifar10/ (cifar10-jpeg-train10k.bin.gz, cifar10-jpeg-test10k.bin.gz).  One line of a table for each
strategy: test accuracy of every seed at the last evaluation, seconds of training, images a second.  The same budget for all.
"""
import argparse
import json
import subprocess

MNIST = ["--model", "lenet", "--strategy", "hogwild", "--threads", "2", "--batch", "64", "--lr", "0.02", "--schedule",
         "cosine:10", "--weight-decay", "5e-4", "--until", "epochs=10", "--eval-every", "10"]
CIFAR = ["--model", "cifar-quick", "--init", "he:1", "--batch", "64", "--lr", "0.01", "--weight-decay", "1e-3"]
STRATEGIES = {
    "sequential": ["--threads", "1"],
    "sync": ["--threads", "2"],
    "hogwild": ["--threads", "2"],
    "leashed:inf": ["--threads", "2"],
    "accumulate": ["--workers", "host:0+host:1"],
    "tree": ["--workers", "host:0+host:1"],
}


def train(drove, options):
    command = [drove, "train", "--defaults", "classic", "--quiet", "--json"] + options
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def row(name, drove, options, seeds):
    runs = [train(drove, options + ["--seed", str(seed)]) for seed in range(1, seeds + 1)]
    accuracies = " ".join(f"{100 * r['test_accuracy']:.2f}" for r in runs)
    seconds = sum(r["train_s"] for r in runs) / seeds
    rate = sum(r["examples_per_s"] for r in runs) / seeds
    print(f"| {name} | {accuracies} | {runs[0]['updates']:,} | {seconds:.0f} | {rate:,.0f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--drove", default="build/release/drove")
    parser.add_argument("--data", required=True)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--only", choices=["mnist", "cifar"])
    a = parser.parse_args()
    print("| strategy | test accuracy %, by seed | updates | training s | images/s |\n|---|---|---|---|---|", flush=True)
    if a.only != "cifar":
        row("LeNet, MNIST: hogwild", a.drove, ["--data", f"mnist:{a.data}/mnist", "--test", "split"] + MNIST, a.seeds)
    if a.only == "mnist":
        return
    folder = f"{a.data}/cifar10/cifar10-jpeg"
    data = ["--data", f"cifar10:{folder}-train10k.bin.gz?scale=unit-mean&pad=4&crop=32&mirror=1",
            "--test", f"cifar10:{folder}-test10k.bin.gz"]
    budget = ["--schedule", f"cosine:{a.epochs}", "--until", f"epochs={a.epochs}", "--eval-every", str(a.epochs)]
    for name, workers in STRATEGIES.items():
        row(f"cifar-quick: {name}", a.drove, data + CIFAR + budget + ["--strategy", name] + workers, a.seeds)


if __name__ == "__main__":
    main()
