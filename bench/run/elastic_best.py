#!/usr/bin/env python3
"""Each elastic method at its own best step size and pull, from the folder of a sweep of examples/studies/elastic-small.yaml.

    drove sweep examples/studies/elastic-small.yaml --out elastic
    bench/run/elastic_best.py elastic [--lr 0.1] [--seeds N]
    drove sweep examples/studies/elastic-figure13.yaml --out figure13
    bench/run/elastic_best.py figure13 --figure13

Best: the least median of the epochs to the target; a run that missed it or crashed counts as infinite.  Seconds are virtual, at the same
setting, and at the setting with the least seconds.  --lr: the epochs at this step size with the default pull, for comparison.  --seeds: of a
sweep that goes on its first so many seeds.  --figure13: error after the whole time, and seconds to three accuracies, by workers.
"""
import argparse
import collections
import json
import math
import os
import statistics

import sweep_groups


def load(folder, seeds):
    """strategy -> (step size, rho) -> results, of seeds up to this one"""
    return sweep_groups.load([folder], seeds, lambda s: s["strategy"],
                             lambda s: (s["lr"], s.get("rho", "default")))


def median(results, name):
    return statistics.median(r["figures"][name] if r["outcome"] == "reached" else math.inf for r in results)


def cell(value, form):
    return format(value, form) if math.isfinite(value) else "missed"


def figure13(folder):
    found = collections.defaultdict(list)
    with open(os.path.join(folder, "results.jsonl")) as f:
        for line in f:
            result = json.loads(line)
            with open(os.path.join(folder, "runs", f"{result['run']:04d}", "log.jsonl")) as log:
                result["curve"] = [json.loads(row) for row in log]
            found[int(result["settings"]["workers"].split(":")[1]), result["settings"]["lr"]].append(result)
    goals = (0.94, 0.95, 0.96)
    print("| workers | lr | epochs | test error, % | " + " | ".join(f"s to {100 * g:g} %" for g in goals) + " | seeds |")
    print("|---" * (5 + len(goals)) + "|")
    for (workers, lr), results in sorted(found.items()):
        times = [statistics.median(next((row["train_s"] for row in r["curve"] if row["test_accuracy"] >= goal), math.inf) for r in results)
                 for goal in goals]
        middle = lambda name: statistics.median(r["figures"][name] for r in results)
        print(f"| {workers} | {lr} | {middle('epochs'):.1f} | {100 * (1 - middle('test_accuracy')):.2f} | "
              + " | ".join(cell(t, ".2f") for t in times) + f" | {len(results)} |")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("folder")
    p.add_argument("--lr", default="0.1")
    p.add_argument("--seeds", type=float, default=math.inf)
    p.add_argument("--figure13", action="store_true")
    args = p.parse_args()
    if args.figure13:
        figure13(args.folder)
        return
    rows = []
    for strategy, of in load(args.folder, args.seeds).items():
        epochs = {setting: median(results, "epochs") for setting, results in of.items()}
        seconds = {setting: median(results, "target_s") for setting, results in of.items() if math.isfinite(epochs[setting])}
        best = min(epochs, key=epochs.get)
        fastest = min(seconds, key=seconds.get) if seconds else best
        n_crashed = sum(r["outcome"] == "crashed" for results in of.values() for r in results)
        rows.append((epochs[best], f"| `{strategy}` | {best[0]}, {best[1]} | {cell(epochs[best], '.2f')} | {cell(seconds.get(best, math.inf), '.2f')} "
                     f"| {fastest[0]}, {fastest[1]} | {cell(seconds.get(fastest, math.inf), '.2f')} "
                     f"| {cell(epochs.get((args.lr, 'default'), math.inf), '.2f')} | {sum(map(math.isfinite, epochs.values()))} of {len(epochs)} "
                     f"| {n_crashed} | {min(map(len, of.values()))} |"))
    print(f"| method | best: lr, rho | epochs | seconds | fastest: lr, rho | seconds | epochs at {args.lr} | settings that reach it | crashed runs | seeds |")
    print("|---" * 10 + "|")
    for _, row in sorted(rows):
        print(row)


if __name__ == "__main__":
    main()
