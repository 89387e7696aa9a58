#!/usr/bin/env python3
"""Tables of examples/studies/heterogeneous-figures-*.yaml: Figures 5 to 8 of Ma and Rusu, virtual time.

    drove sweep examples/studies/heterogeneous-figures-w8a.yaml --out w8a
    bench/run/heterogeneous_figures.py --keep docs/results/heterogeneous-figures.jsonl covtype w8a ...   keeps the runs of these sweeps
    bench/run/heterogeneous_figures.py docs/results/heterogeneous-figures.jsonl                          prints the tables
    bench/run/heterogeneous_figures.py --one w8a/v100                                                    a sweep of one host: w8a-v100

A line of the file is a run: where and what, epochs, updates, its least loss within the time (a run ends with the batches that its
workers have in hand, which take Adaptive a while longer), the virtual seconds until the loss was at most 1.5 and 1.1
times the least of its host (null: never), epochs until it was at most the CPU's
least, the cores' share of the updates and use in %, a GPU's use in %, examples of a batch.  The least of a host is the
smallest of the algorithms' medians over the seeds, and with several step sizes, of that with the smallest; as in the paper, one step
size serves all algorithms of a host.  Use: of the cores the share of the time in which they compute; of GPUs the examples a second over
what they can, which a fixed delay of each batch lowers.

--one writes the runs of one host as a sweep of their own, for drove report.
"""
import argparse
import collections
import json
import math
import os
import statistics

ALGORITHMS = ["CPU", "GPU", "CPU+GPU", "Adaptive"]
KEYS = ("data", "network", "host", "rule", "lr", "algorithm", "seed")
LEVELS = (1.5, 1.1)
RATES = {"K80": 2e5, "V100": 1e6}  # examples/machines/heterogeneous-*.yaml, examples_per_s


def algorithm(settings):
    workers = settings["workers"]
    if workers.startswith("fake"):
        return "GPU"
    if "fake" not in workers:
        return "CPU"
    return "Adaptive" if settings["strategy"].startswith("adaptive") else "CPU+GPU"


def host_of(settings):
    return "K80" if "k80" in settings["machine"] else "V100"


def batches(workers):
    """Examples of a thread, or of a GPU: least and most of the history."""
    sizes = [size / w["threads"] for w in workers for size in [h[2] for h in w["batch_history"]] or [w["batch"]]]
    return [min(sizes), max(sizes)] if sizes else None


def read_run(folder, result):
    """One run of a sweep, with its curve: (virtual seconds, loss, epochs) of each evaluation within the run's time."""
    settings, place = result["settings"], os.path.join(folder, "runs", f"{result['run']:04d}")
    with open(os.path.join(place, "log.jsonl"), encoding="utf-8") as log:
        curve = [(row["train_s"], row["loss"], row["epochs"]) for row in map(json.loads, log)
                 if isinstance(row["loss"], (int, float)) and row["train_s"] <= float(settings["until"].split("=")[1])]
    with open(os.path.join(place, "out.json"), encoding="utf-8") as out:
        summary = json.load(out)
    host, workers = host_of(settings), summary["workers"]
    cores = [w for w in workers if w["name"].startswith("cpu")]
    gpus = [w for w in workers if not w["name"].startswith("cpu")]
    model = result["resolved"]["model"].split(":")[1].split(",")
    return {
        "data": os.path.basename(result["resolved"]["data"]).split("?")[0].split(".")[0].split("-")[0],
        "network": f"{len(model)} x {model[0]}", "host": host,
        "rule": "linear" if "lr=linear" in settings["strategy"] else "root", "lr": float(settings["lr"]),
        "algorithm": algorithm(settings), "seed": result["seed"], "curve": curve,
        "epochs": round(summary["epochs"], 3), "updates": summary["updates"], "least": min(loss for _, loss, _ in curve),
        "cores_updates": round(100 * sum(w["updates"] for w in cores) / sum(w["updates"] for w in workers), 2),
        "cores_use": round(100 * cores[0]["busy"], 1) if cores else None,
        "gpu_use": round(100 * sum(w["examples"] for w in gpus) / len(gpus) / summary["train_s"] / RATES[host], 1) if gpus else None,
        "cores_batch": batches(cores), "gpu_batch": batches(gpus)}


def grouped(runs, keys):
    groups = collections.defaultdict(list)
    for run in runs:
        groups[tuple(run[key] for key in keys)].append(run)
    return groups


def middle(runs, key):
    return statistics.median(math.inf if run[key] is None else run[key] for run in runs)


def base_of(runs):
    """The step size with which one algorithm's median loss is the least, and that loss."""
    return min((middle(some, "least"), lr) for (lr, _), some in grouped(runs, ("lr", "algorithm")).items())


def keep(folders, file):
    runs = []
    for folder in folders:
        with open(os.path.join(folder, "results.jsonl"), encoding="utf-8") as f:
            runs += [read_run(folder, result) for result in map(json.loads, f) if result["outcome"] == "finished"]
    runs = list({tuple(run[key] for key in KEYS): run for run in runs}.values())  # a run of two sweeps counts once
    with open(file, "w", encoding="utf-8") as f:
        for _, some in sorted(grouped(runs, ("data", "network", "host", "rule")).items()):
            base, _ = base_of(some)
            cores = middle([run for run in some if run["algorithm"] == "CPU"], "least")
            for run in sorted(some, key=lambda run: (run["lr"], ALGORITHMS.index(run["algorithm"]), run["seed"])):
                curve = run.pop("curve")
                for level in LEVELS:
                    run[f"s_{level}"] = next((s for s, loss, _ in curve if loss <= level * base), None)
                run["epochs_cpu"] = next((epochs for _, loss, epochs in curve if loss <= cores), None)
                f.write(json.dumps(run) + "\n")


def number(value, form):
    return "-" if value is None else "never" if math.isinf(value) else format(value, form)


def print_tables(runs):
    places = grouped(runs, ("data", "network", "host", "rule"))
    chosen = {place: base_of(some) for place, some in places.items()}
    print("| data | network | host | step size | lr | " + " | ".join(ALGORITHMS) + " | a mixture first |")
    print("|---" * (6 + len(ALGORITHMS)) + "|")
    for place, some in places.items():
        base = chosen[place][0]
        for (lr,), at in sorted(grouped(some, ("lr",)).items()):
            by = grouped(at, ("algorithm",))
            cells = []
            for name in ALGORITHMS:
                losses = sorted(run["least"] / base for run in by[name,]) or [math.nan]
                cells.append(f"{statistics.median(losses):.2f}" + (f" ({losses[0]:.2f} to {losses[-1]:.2f})" if len(losses) > 1 else ""))
            seeds = grouped(at, ("seed",)).values()
            first = sum(min(of, key=lambda run: run["least"])["algorithm"] in ALGORITHMS[2:] for of in seeds)
            print(f"| {' | '.join(place)} | {lr:g} | {' | '.join(cells)} | {first} of {len(seeds)} |")
    print("\n| data | network | host | step size | " + " | ".join(f"{name}: {level}" for level in LEVELS for name in ALGORITHMS) + " |")
    print("|---" * (4 + len(ALGORITHMS) * len(LEVELS)) + "|")
    for place, some in places.items():
        by = grouped([run for run in some if run["lr"] == chosen[place][1]], ("algorithm",))
        print(f"| {' | '.join(place)} | " + " | ".join(number(middle(by[name,], f"s_{level}"), ".2f") for level in LEVELS for name in ALGORITHMS) + " |")
    print("\n| data | network | host | algorithm | epochs | updates | updates of the cores, % | use of cores, % | of a GPU, % | batches, a thread : a GPU |")
    print("|---" * 10 + "|")
    for place, some in places.items():
        if place[3] == "linear":  # the same steps at the same times
            continue
        for name in ALGORITHMS:
            at = [run for run in some if run["lr"] == chosen[place][1] and run["algorithm"] == name]
            sizes = ["-".join(f"{size:g}" for size in sorted(set(at[0][key]))) for key in ("cores_batch", "gpu_batch") if at[0][key]]
            print(f"| {' | '.join(place[:3])} | {name} | {middle(at, 'epochs'):.2f} | {middle(at, 'updates'):,.0f} | {middle(at, 'cores_updates'):.1f} "
                  f"| {number(None if at[0]['cores_use'] is None else middle(at, 'cores_use'), '.0f')} "
                  f"| {number(None if at[0]['gpu_use'] is None else middle(at, 'gpu_use'), '.0f')} | {' : '.join(sizes)} |")


def write_one(folder, host):
    target = f"{folder.rstrip('/')}-{host}"
    os.makedirs(target, exist_ok=True)
    with open(os.path.join(folder, "results.jsonl"), encoding="utf-8") as f, open(os.path.join(target, "results.jsonl"), "w", encoding="utf-8") as out:
        out.writelines(line for line in f if host_of(json.loads(line)["settings"]) == host.upper())
    if not os.path.exists(os.path.join(target, "runs")):
        os.symlink(os.path.abspath(os.path.join(folder, "runs")), os.path.join(target, "runs"))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("from_", nargs="*", metavar="FROM", help="with --keep: folders of sweeps; else the file of runs")
    p.add_argument("--keep", metavar="FILE", help="writes the runs of the sweeps into FILE")
    p.add_argument("--one", metavar="FOLDER/HOST", help="HOST k80 or v100")
    args = p.parse_args()
    if args.one:
        write_one(*args.one.rsplit("/", 1))
    elif args.keep:
        keep(args.from_, args.keep)
    else:
        with open(args.from_[0], encoding="utf-8") as f:
            print_tables([json.loads(line) for line in f])


if __name__ == "__main__":
    main()
