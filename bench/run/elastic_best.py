#!/usr/bin/env python3
"""Each elastic method at its own best step size, from the folders of sweeps of examples/studies/elastic-small.yaml or elastic-large.yaml.

    drove sweep examples/studies/elastic-small.yaml --out small
    bench/run/elastic_best.py small --goal 0.96 [--lines FILE --network 32-32-32]
    drove sweep examples/studies/elastic-figure13.yaml --out figure13
    bench/run/elastic_best.py figure13 --figure13

Best: the step size with the least median of the seconds to the goal, of those that have most seeds; a run that missed it or crashed counts as infinite.
Virtual time.  Epochs and seconds are to the evaluation that met the test accuracy --goal, without it to the sweep's own target.  --lines: appends a line for each run.
--figure13: error after the whole time, and seconds to three accuracies, by workers.
"""
import argparse
import collections
import json
import math
import os
import statistics


def runs_of(folders, goal, seeds):
    """A line for each run: its settings, and epochs and seconds to the goal.  A run that several folders have counts once."""
    seen = set()
    for folder in folders:
        with open(os.path.join(folder, "results.jsonl")) as f:
            for result in map(json.loads, f):
                settings, figures = result["settings"], result["figures"]
                key = (settings["strategy"], float(settings["lr"]), settings.get("rho"), result["seed"])
                if key in seen or result["seed"] > seeds:
                    continue
                seen.add(key)
                if goal is None:
                    met = {"epochs": figures["epochs"], "train_s": figures["target_s"]} if result["outcome"] == "reached" else None
                else:
                    with open(os.path.join(folder, "runs", f"{result['run']:04d}", "log.jsonl")) as log:
                        met = next((row for row in map(json.loads, log) if (row["test_accuracy"] or 0) >= goal), None)
                yield {"strategy": key[0], "lr": key[1], **({"rho": key[2]} if key[2] else {}), "seed": key[3], "goal": goal,
                       "outcome": "reached" if met else "crashed" if result["outcome"] == "crashed" else "missed",
                       "epochs": met and round(met["epochs"], 4), "s": met and round(met["train_s"], 5)}


def median(runs, name):
    return statistics.median(math.inf if r[name] is None else r[name] for r in runs)


def cell(value, form):
    return format(value, form) if math.isfinite(value) else "missed"


def best_table(runs):
    def spread(found, name):
        values = [math.inf if r[name] is None else r[name] for r in found]
        return f"{cell(statistics.median(values), '.2f')} ({cell(min(values), '.2f')} to {cell(max(values), '.2f')})"

    of = collections.defaultdict(lambda: collections.defaultdict(list))
    for run in runs:
        of[run["strategy"]][run["lr"], run.get("rho", "")].append(run)
    rows = []
    for strategy, settings in of.items():
        most = max(map(len, settings.values()))
        seconds = {setting: median(found, "s") for setting, found in settings.items() if len(found) == most}
        best, tried = min(seconds, key=seconds.get), [lr for lr, _ in settings]
        rows.append((seconds[best], f"| `{strategy}` | {best[0]:g}{best[1] and f', rho {best[1]}'} | {spread(settings[best], 'epochs')} "
                     f"| {spread(settings[best], 's')} | {min(tried):g} to {max(tried):g} | {len(settings)} | {most} |"))
    print("| method | lr | epochs | seconds | tried | settings | seeds |")
    print("|---" * 7 + "|")
    for _, row in sorted(rows):
        print(row)


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
    p.add_argument("folder", nargs="+")
    p.add_argument("--goal", type=float)
    p.add_argument("--seeds", type=float, default=math.inf, help="seeds up to this one")
    p.add_argument("--lines")
    p.add_argument("--network")
    p.add_argument("--figure13", action="store_true")
    args = p.parse_args()
    if args.figure13:
        figure13(args.folder[0])
        return
    runs = list(runs_of(args.folder, args.goal, args.seeds))
    if args.lines:
        with open(args.lines, "a") as f:
            f.writelines(json.dumps({"network": args.network, **run}) + "\n" for run in runs)
    best_table(runs)


if __name__ == "__main__":
    main()
