#!/usr/bin/env python3
"""Tables of examples/studies/heterogeneous-figures-*.yaml, from the folders of their sweeps: Figures 5 to 8 of Ma and Rusu.

    drove sweep examples/studies/heterogeneous-figures-w8a.yaml --out w8a
    bench/run/heterogeneous_figures.py w8a ... [--one w8a/v100]

As in the paper one step size serves all algorithms of a host: that with which one of them reaches the least loss.  Normalised: a loss over
that least one.  Own best: the least normalised loss of the algorithm over all step sizes.  Seconds are virtual: until the loss was at
most so many times the least.  Use: of the cores the share of the time in which they compute; of GPUs the examples a second over what
they can, which a fixed delay of each batch lowers.

--one writes the runs of one host at its step size as a sweep of their own, for drove report: NAME-HOST beside the folder.
"""
import argparse
import collections
import json
import math
import os
import statistics

ALGORITHMS = ["CPU", "GPU", "CPU+GPU", "Adaptive"]
LEVELS = (2.0, 1.5, 1.2, 1.1)
RATES = {"k80": 2e5, "v100": 1e6}  # examples/machines/heterogeneous-*.yaml, examples_per_s


def algorithm(settings):
    workers = settings["workers"]
    if workers.startswith("fake"):
        return "GPU"
    if "fake" not in workers:
        return "CPU"
    return "Adaptive" if settings["strategy"].startswith("adaptive") else "CPU+GPU"


def load(folder):
    """(host, rule of the step size) -> step size -> algorithm -> runs"""
    found = collections.defaultdict(lambda: collections.defaultdict(lambda: collections.defaultdict(list)))
    with open(os.path.join(folder, "results.jsonl")) as f:
        for line in f:
            result = json.loads(line)
            settings = result["settings"]
            run = os.path.join(folder, "runs", f"{result['run']:04d}")
            with open(os.path.join(run, "log.jsonl")) as log:
                curve = [json.loads(row) for row in log]
            with open(os.path.join(run, "out.json")) as out:
                text = out.read()
            host = "k80" if "k80" in settings["machine"] else "v100"
            rule = "linear" if "lr=linear" in settings["strategy"] else "root"
            curve = [(row["train_s"], row["epochs"], row["loss"]) for row in curve if isinstance(row["loss"], (int, float))]
            found[host, rule][settings["lr"]][algorithm(settings)].append(
                {"result": result, "curve": curve, "summary": json.loads(text) if text.strip() else None})
    return found


def least(run):
    return min((loss for _, _, loss in run["curve"]), default=math.inf)


def middle(runs, key):
    return statistics.median(key(run) for run in runs)


def time_to(run, level):
    return next((s for s, _, loss in run["curve"] if loss <= level), math.inf)


def chosen(rates):
    """The step size with which one of the algorithms has the least loss, and that loss."""
    best = {lr: min(middle(runs, least) for runs in of.values()) for lr, of in rates.items()}
    lr = min(best, key=best.get)
    return lr, best[lr]


def batches(workers):
    """Examples of a thread, or of a GPU: least and most of the history."""
    sizes = [size / w["threads"] for w in workers for size in [h[2] for h in w["batch_history"]] or [w["batch"]]]
    return f"{min(sizes):g}" if min(sizes) == max(sizes) else f"{min(sizes):g} - {max(sizes):g}"


def shares(run, host):
    """Updates of the cores in %, use of cores and of a GPU in %, batches of both."""
    workers = run["summary"]["workers"]
    cores = [w for w in workers if w["name"].startswith("cpu")]
    gpus = [w for w in workers if not w["name"].startswith("cpu")]
    seconds = run["summary"]["train_s"]
    updates = sum(w["updates"] for w in workers)
    return {"cores": 100 * sum(w["updates"] for w in cores) / updates,
            "cpu": 100 * cores[0]["busy"] if cores else None,
            "gpu": 100 * sum(w["examples"] for w in gpus) / len(gpus) / seconds / RATES[host] if gpus else None,
            "batches": " : ".join(batches(some) for some in (cores, gpus) if some)}


def number(value, form):
    return "-" if value is None else "never" if math.isinf(value) else format(value, form)


def print_host(name, host, rule, rates):
    lr, base = chosen(rates)
    for algo in ALGORITHMS:
        runs = rates[lr].get(algo, [])
        if not runs:
            continue
        own = min((middle(of[algo], least), rate) for rate, of in rates.items() if algo in of)
        s = shares(runs[0], host)
        times = " | ".join(number(middle(runs, lambda run: time_to(run, level * base)), ".2f") for level in LEVELS)
        print(f"| {name} | {host} | {rule} | {lr} | {algo} | {middle(runs, lambda r: r['curve'][-1][1]):.2f} "
              f"| {middle(runs, lambda r: r['summary']['updates']):,.0f} | {middle(runs, least) / base:.2f} | {own[0] / base:.2f} ({own[1]}) "
              f"| {times} | {s['cores']:.1f} | {number(s['cpu'], '.0f')} | {number(s['gpu'], '.0f')} | {s['batches']} |")


def write_one(folder, host, rates):
    lr, _ = chosen(rates)
    target = f"{folder.rstrip('/')}-{host}"
    os.makedirs(target, exist_ok=True)
    with open(os.path.join(target, "results.jsonl"), "w") as f:
        for runs in rates[lr].values():
            for run in runs:
                f.write(json.dumps(run["result"]) + "\n")
    if not os.path.exists(os.path.join(target, "runs")):
        os.symlink(os.path.abspath(os.path.join(folder, "runs")), os.path.join(target, "runs"))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("folder", nargs="+", help="--out of a sweep")
    p.add_argument("--one", help="FOLDER/HOST, HOST k80 or v100")
    args = p.parse_args()
    print("| data | host | step size | lr | algorithm | epochs | updates | least, normalised | own best (lr) | "
          + " | ".join(f"s to {level}" for level in LEVELS) + " | updates of the cores, % | use of cores, % | of a GPU, % | batches, a thread : a GPU |")
    print("|---" * (13 + len(LEVELS)) + "|")
    for folder in args.folder:
        for (host, rule), rates in sorted(load(folder).items()):
            print_host(os.path.basename(folder.rstrip("/")), host, rule, rates)
            if args.one == f"{folder}/{host}" and rule == "root":
                write_one(folder, host, rates)


if __name__ == "__main__":
    main()
