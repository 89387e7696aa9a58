#!/usr/bin/env python3
"""Each elastic method at its own best step size and pull, from the folder of a sweep of examples/studies/elastic-small.yaml.

    drove sweep examples/studies/elastic-small.yaml --out elastic
    bench/run/elastic_best.py elastic [--lr 0.1]

Best: the least median of the epochs to the target; a run that missed it or crashed counts as infinite.  Seconds are virtual, at the same
setting, and at the setting with the least seconds.  --lr: the epochs at this step size with the default pull, for comparison.
"""
import argparse
import collections
import json
import math
import os
import statistics


def load(folder):
    """strategy -> (step size, rho) -> results"""
    found = collections.defaultdict(lambda: collections.defaultdict(list))
    with open(os.path.join(folder, "results.jsonl")) as f:
        for line in f:
            result = json.loads(line)
            s = result["settings"]
            found[s["strategy"]][s["lr"], s.get("rho", "default")].append(result)
    return found


def median(results, name):
    return statistics.median(r["figures"][name] if r["outcome"] == "reached" else math.inf for r in results)


def cell(value, form):
    return format(value, form) if math.isfinite(value) else "missed"


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("folder")
    p.add_argument("--lr", default="0.1")
    args = p.parse_args()
    rows = []
    for strategy, of in load(args.folder).items():
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
