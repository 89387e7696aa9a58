#!/usr/bin/env python3
"""Tables of examples/studies/thesis-grid.yaml from the folder of its sweep: Table 4.3 and the staleness of the thesis.

    drove sweep examples/studies/thesis-grid.yaml --out grid
    bench/run/thesis_grid.py grid... [SEEDS]    of several sweeps, such as one for each number of workers; SEEDS: their first so many seeds
    drove sweep examples/studies/thesis-best.yaml --out best
    bench/run/thesis_grid.py --best best

Best: of the settings of which at most a tenth of the runs crashed the one with the least median time to the target; a run that missed it
counts as infinite.  Within 10 %: settings at most so much slower.  Staleness: mean over the published steps, median of all
step sizes, by batch.  Beside each the thesis's (Table 4.3, NUMA or the scheduler of the operating system; 540 runs).
--best: steps S4 and S5, medians of the seeds, of the sweeps of thesis-best.yaml and thesis-backoff.yaml.
"""
import collections
import json
import math
import os
import statistics
import sys

import sweep_groups

# (strategy, threads): step size, batch, how many settings, seconds, crashes of 540
THESIS = {
    ("mutex", 2): ("0.009", 32, 10, "15-17", 0), ("rwlock", 2): ("0.009", 32, 11, "15-17", 0), ("leashed:inf", 2): ("0.009", 64, 7, "16-18", 0),
    ("leashed:1", 2): ("0.008", 64, 7, "16-18", 0), ("leashed:0", 2): ("0.009", 64, 4, "25-27", 0), ("hogwild:copy", 2): ("0.009", 64, 3, "17-19", 0),
    ("mutex", 4): ("0.009", 32, 5, "8-9", 0), ("rwlock", 4): ("0.009", 32, 6, "8-9", 1), ("leashed:inf", 4): ("0.009", 64, 8, "9-10", 0),
    ("leashed:1", 4): ("0.009", 64, 5, "9-10", 4), ("leashed:0", 4): ("0.009", 64, 3, "19-21", 0), ("hogwild:copy", 4): ("0.009", 16, 4, "9-10", 16),
    ("mutex", 8): ("0.009", 32, 8, "7-8", 37), ("rwlock", 8): ("0.008", 32, 7, "8-9", 35), ("leashed:inf", 8): ("0.005", 64, 5, "10-11", 37),
    ("leashed:1", 8): ("0.008", 64, 4, "9-10", 22), ("leashed:0", 8): ("0.009", 64, 7, "16-18", 3), ("hogwild:copy", 8): ("0.009", 16, 6, "7-8", 77),
    ("mutex", 16): ("0.004", 64, 10, "15-17", 31), ("rwlock", 16): ("0.005", 64, 7, "13-14", 28), ("leashed:inf", 16): ("0.009", 128, 2, "16-18", 13),
    ("leashed:1", 16): ("0.009", 64, 5, "20-21", 9), ("leashed:0", 16): ("0.009", 128, 6, "25-28", 0), ("hogwild:copy", 16): ("0.004", 64, 5, "11-12", 82),
    ("mutex", 32): ("0.003", 128, 5, "26-29", 44), ("rwlock", 32): ("0.003", 64, 4, "24-26", 60), ("leashed:inf", 32): ("-", "-", "-", "-", 1),
    ("leashed:1", 32): ("0.008", 128, 5, "53-58", 2), ("leashed:0", 32): ("0.008", 128, 4, "49-54", 1), ("hogwild:copy", 32): ("0.002", 32, 2, "20-22", 118),
}
STRATEGIES = ["mutex", "rwlock", "leashed:inf", "leashed:1", "leashed:0", "hogwild:copy"]


def load(folders, seeds):
    """(strategy, threads) -> (step size, batch) -> results, of seeds up to this one"""
    return sweep_groups.load(folders, seeds, lambda s: (s["strategy"], int(s["threads"])),
                             lambda s: (float(s["lr"]), int(s["batch"])))


def seconds(result):
    value = result["figures"].get("target_s")
    return value if isinstance(value, (int, float)) else math.inf


def crashes(results):
    return sum(r["outcome"] == "crashed" for r in results)


def print_best(found):
    print("| workers | strategy | lr, batch | seconds | within 10 % | crashed | *thesis: lr, batch* | *seconds* | *within 10 %, of 54* | *crashed* |")
    print("|---" * 10 + "|")
    for (strategy, threads), of in sorted(found.items(), key=lambda x: (x[0][1], STRATEGIES.index(x[0][0]))):
        times = {setting: statistics.median(map(seconds, results)) for setting, results in of.items()
                 if crashes(results) <= 0.1 * len(results)}
        best = min(times, key=times.get) if times else None
        cell = "- | none | -"
        if best is not None and math.isfinite(times[best]):
            n = sum(t <= 1.1 * times[best] for t in times.values())
            cell = f"{best[0]:g}, {best[1]} | {times[best]:.3f} | {n} of {len(of)}"
        n_runs, n_crashed = sum(map(len, of.values())), sum(map(crashes, of.values()))
        said = THESIS.get((strategy, threads), ("-",) * 5)
        print(f"| {threads} | `{strategy}` | {cell} | {n_crashed} of {n_runs} | {said[0]}, {said[1]} | {said[3]} | {said[2]} | {said[4]} |")


def print_staleness(found):
    sizes = sorted({batch for of in found.values() for _, batch in of})
    print("\n| workers | strategy | " + " | ".join(f"batch {b}" for b in sizes) + " |\n" + "|---" * (2 + len(sizes)) + "|")
    for (strategy, threads), of in sorted(found.items(), key=lambda x: (x[0][1], STRATEGIES.index(x[0][0]))):
        cells = []
        for size in sizes:
            means = [r["figures"].get("staleness.mean") for (_, batch), results in of.items() if batch == size for r in results]
            means = [m for m in means if isinstance(m, (int, float))]
            cells.append(f"{statistics.median(means):.2f}" if means else "-")
        print(f"| {threads} | `{strategy}` | " + " | ".join(cells) + " |")


def middle(results, name):
    values = [r["figures"].get(name) for r in results]
    return statistics.median(v if isinstance(v, (int, float)) else math.inf for v in values)


def shown(value):
    return f"{value:.2f}" if math.isfinite(value) else "missed"


def print_compared(folder):
    """S4: each at its best setting.  S5: with back-off."""
    found = collections.defaultdict(list)
    with open(os.path.join(folder, "results.jsonl")) as f:
        for line in f:
            result = json.loads(line)
            s = result["settings"]
            found[int(s["threads"]), s["strategy"], s.get("bind", "spread"), s.get("backoff", "none")].append(result)
    order = sorted(found, key=lambda k: (k[0], STRATEGIES.index(k[1]), k[2] != "spread", k[3]))
    print("| workers | strategy | placement | lr, batch | s to 10 % | s to 5 % | s to 2 % | epochs to 2 % | staleness | reached 2 % |")
    print("|---" * 10 + "|")
    for threads, strategy, bind, backoff in order:
        if backoff != "none":
            continue
        results = found[threads, strategy, bind, backoff]
        s = results[0]["settings"]
        reached = [r for r in results if r["outcome"] == "reached"]
        epochs = statistics.median(r["figures"]["epochs"] if r in reached else math.inf for r in results)
        print(f"| {threads} | `{strategy}` | {bind} | {s['lr']}, {s['batch']} | "
              + " | ".join(shown(middle(results, f"time_to.{part}")) for part in ("10%", "5%")) + f" | {shown(middle(results, 'target_s'))} "
              f"| {shown(epochs)} | {middle(results, 'staleness.mean'):.2f} | {len(reached)} of {len(results)} |")
    kinds = ["none", "linear", "exponential", "random"]
    print("\n| workers | strategy | " + " | ".join(kinds) + " |\n" + "|---" * 6 + "|")
    for threads, strategy, bind, backoff in order:
        if backoff == "none" and bind == "spread" and (threads, strategy, bind, "linear") in found:
            all_ = [found[threads, strategy, bind, kind] for kind in kinds]
            print(f"| {threads} | `{strategy}` | "
                  + " | ".join(f"{shown(middle(r, 'time_to.5%'))}, {shown(middle(r, 'target_s'))}" for r in all_) + " |")


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "--best":
        print_compared(sys.argv[2])
        return
    folders = sys.argv[1:]
    seeds = int(folders.pop()) if len(folders) > 1 and folders[-1].isdigit() else math.inf
    if not folders or folders[0].startswith("-"):
        sys.exit(__doc__)
    found = load(folders, seeds)
    print_best(found)
    print_staleness(found)


if __name__ == "__main__":
    main()
