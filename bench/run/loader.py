#!/usr/bin/env python3
"""What loading images costs a training run, and what threads that load ahead give back.

    python3 bench/run/loader.py --drove build/release/drove [--cifar10 FILE] [--rounds 5] [--cases cifar10,crop227]

Four runs of each case in turn (A B C D A B C D ...), one worker:

    0      crop and mirror, the worker loads its batches itself (--loaders 0)
    1      the same, one thread loads ahead (--loaders 1)
    auto   what the program chooses
    none   images of the size that the model sees, taken as they are: no crop, no mirror

The table has images per second (the best of the rounds), their ratios to `none`, the share of the loading time that was
hidden, and the time to load one image.  With one worker on a machine with a free core, 1 should come near `none`.

Prints JSON lines and a table.
"""
import argparse
import json
import os
import subprocess

CASES = {  # name: model, batch, updates, data with crop and mirror, data without
    "cifar10": ("cifar-quick", 64, 200, "cifar10:{cifar10}?pad=4&crop=32&mirror=1&scale=unit-mean",
                "cifar10:{cifar10}?scale=unit-mean"),
    "crop28": ("mlp:128,128,128", 64, 400, "synth:images?size=32&n=4000&crop=28&mirror=1&scale=unit-mean",
               "synth:images?size=28&n=4000&scale=unit-mean"),
    "crop227": ("alexnet", 32, 6, "synth:images?size=256&n=256&classes=1000&crop=227&mirror=1&scale=mean",
                "synth:images?size=227&n=256&classes=1000&scale=mean"),
    "crop227-mlp": ("mlp:64", 32, 60, "synth:images?size=256&n=256&classes=10&crop=227&mirror=1&scale=unit-mean",
                    "synth:images?size=227&n=256&classes=10&scale=unit-mean"),
}


def train(args, case, how):
    model, batch, updates, cut, whole = CASES[case]
    data = (whole if how == "none" else cut).format(cifar10=args.cifar10)
    command = [args.drove, "train", "--defaults", "classic", "--data", data, "--test", "none", "--model", model, "--batch", str(batch), "--lr",
               "1e-6", "--threads", "1", "--strategy", "sequential", "--until", f"updates={updates}", "--eval-every",
               "1000000", "--eval-examples", "1", "--loaders", "0" if how == "none" else how, "--quiet", "--json"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def best(runs):
    return max(runs, key=lambda run: run["examples_per_s"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--drove", default="build/release/drove")
    parser.add_argument("--cifar10", default="../shared/data/cifar10/cifar10-train4k.bin.gz")
    parser.add_argument("--cases", default="cifar10,crop28,crop227,crop227-mlp")
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    table = []
    for case in args.cases.split(","):
        if case == "cifar10" and not os.path.exists(args.cifar10):
            print(f"{case}: left out, there is no {args.cifar10}")
            continue
        runs = {how: [] for how in ("0", "1", "auto", "none")}
        for _ in range(args.rounds):
            for how in runs:
                runs[how].append(train(args, case, how))
        row = {"case": case, "model": CASES[case][0], "batch": CASES[case][1]}
        for how, list_ in runs.items():
            run = best(list_)
            row[how] = round(run["examples_per_s"], 1)
            loader = run["loader"]
            if loader:
                row[f"load_us_{how}"] = round(loader["busy_s"] / run["examples"] * 1e6, 1)
                row[f"hidden_{how}"] = round(loader["hidden"], 3)
                row[f"threads_{how}"] = loader["threads"]
        print(json.dumps(row), flush=True)
        table.append(row)
    print("\n| case | model, batch | 0 | 1 | auto | none | 0 / none | 1 / none | load an image | hidden with 1 |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for r in table:
        print(f"| {r['case']} | {r['model']}, {r['batch']} | {r['0']:.0f} | {r['1']:.0f} | {r['auto']:.0f} | {r['none']:.0f} | "
              f"{r['0'] / r['none']:.3f} | {r['1'] / r['none']:.3f} | {r['load_us_0']:.1f} us | {100 * r['hidden_1']:.0f} % |")


if __name__ == "__main__":
    main()
