#!/usr/bin/env python3
"""The thesis's studies in virtual time, and what becomes of its claims when the costs that the modelled machine assumes are halved and doubled.

    bench/run/thesis_runs.py --data mnist:DIR --out docs/results/thesis-runs.jsonl PART...    makes the runs of the parts in this order; goes on where it
                                                                                            was stopped

bench/run/thesis_tables.py makes the tables and pictures of docs/results/thesis.md and sensitivity.md.

Network and data are those of examples/studies/thesis-grid.yaml, batches drawn at random, HOGWILD! with a copy.  Parts, each with a number of a seed
behind a colon or `:1`:

    rates      3 epochs at a step size of 0.001 on every machine: staleness, drops, updates a second; 16 workers, three batches
    staleness  20 epochs at a step size of 0.001, three batches, 8 to 32 workers, HOGWILD! also without a copy
    grid       Table 4.3: the thesis's nine step sizes and six batches to 5 % of the first loss, 2 to 32 workers
    loss       seven of its settings (COMMON) on every machine, 16 workers
    counts     the same of the mutex and HOGWILD! with 2, 8 and 32 workers
    best       to 2 %, every strategy at its best setting of the grid so far and at the thesis's own
    copy       HOGWILD! without a copy at the best setting of the one with
    backoff    locks and Leashed-SGD with back-off at the thesis's own settings, to 2 %
    memory     7 and 8 workers on one socket and on two, to 5 %
    waits      the locks with linear back-off on every machine, 16 workers
    own        to 2 % with the thesis's own network 784-128-128-128-10 and all 60,000 images, at the settings of best, at most 30 epochs

A run that misses its goal ends after so many updates as 60 (5 %), 120 (2 %) or 30 epochs (own) have batches: steps that are dropped do not count.

The machines are examples/machines/thesis-xeon-small.yaml with one group of costs changed (MACHINES).  Each run is a JSON line; keys at their default
(machine base, back-off none, both sockets) are left out.
"""
import argparse
import collections
import concurrent.futures
import json
import math
import os
import re
import subprocess
import tempfile
import threading

BASE, OWN = "examples/machines/thesis-xeon-small.yaml", "examples/machines/thesis-xeon-constant.yaml"
GRADIENT, COPY, LINE = ("batch_us", "example_us"), ("copy_gb_s", "update_gb_s", "memory_gb_s"), ("line_ns", "far_line_ns", "window_ns", "hand_over_us")
# name: what is changed, as key -> factor of the cost (a bandwidth is divided by it) or a value
MACHINES = {
    "base": {},
    "gradient x 0.5": {key: 0.5 for key in GRADIENT}, "gradient x 2": {key: 2 for key in GRADIENT},
    "copy x 0.5": {key: 0.5 for key in COPY}, "copy x 2": {key: 2 for key in COPY},
    "line x 0.5": {key: 0.5 for key in LINE}, "line x 2": {key: 2 for key in LINE},
    "jitter x 0.5": {"jitter": 0.5}, "jitter x 2": {"jitter": 2},
    "lines at 16 GB/s": {"take_gb_s": "3.26"},  # 16 GB/s for a network with 4.9 times the parameters
    "races at 36 GB/s": {"take_gb_s": "3.26", "race_gb_s": "7.35"},  # and at most 36 GB/s for all that race for the same lines
    "200 us an example": {"example_us": "200"},
}
STRATEGIES = ["mutex", "rwlock", "leashed:inf", "leashed:1", "leashed:0", "hogwild:copy"]
PRINTED = STRATEGIES + ["hogwild"]
STEPS, BATCHES = tuple(k / 1000 for k in range(9, 0, -1)), (64, 32, 128, 16, 256, 512)
WORKERS = (2, 4, 8, 16, 32)
# Step sizes and batches by number of workers: those at which some strategy is best on the base machine, and others around them.
COMMON = {16: ((0.004, 64), (0.002, 64), (0.006, 64), (0.009, 64), (0.003, 16), (0.005, 32), (0.004, 128)),
          32: ((0.002, 64), (0.001, 64), (0.004, 64), (0.001, 16)), 8: ((0.006, 64), (0.004, 64), (0.009, 64), (0.005, 16)), 2: ((0.009, 64), (0.006, 64))}
DEFAULTS = {"machine": "base", "backoff": "none", "bind": "spread"}
KEYS = ("machine", "goal", "strategy", "workers", "lr", "batch", "backoff", "bind", "seed")


# The thesis's Table 4.3, both sockets.  (strategy, workers): step size, batch, how many settings, seconds, crashes of 540
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


def thesis_best():
    """(strategy, workers) -> step size and batch of the thesis's Table 4.3"""
    return {key: (float(row[0]), row[1]) for key, row in THESIS.items() if row[0] != "-"}


def spec(goal, strategy, workers, lr, batch, **more):
    return {**DEFAULTS, "goal": goal, "strategy": strategy, "workers": workers, "lr": lr, "batch": batch, **more}


def grid():
    for workers in WORKERS:
        for batch in BATCHES:
            for lr in STEPS:
                for strategy in STRATEGIES:
                    yield spec("5", strategy, workers, lr, batch)


def rates():
    for batch in (64, 16, 256):
        for machine in MACHINES:
            for strategy in STRATEGIES:
                yield spec("rates", strategy, 16, 0.001, batch, machine=machine)


def staleness():
    for workers in (8, 16, 32):
        for batch in (16, 64, 256):
            for strategy in PRINTED:
                yield spec("staleness", strategy, workers, 0.001, batch)


def loss():
    for setting in COMMON[16]:
        for machine in MACHINES:
            for strategy in STRATEGIES:
                yield spec("5", strategy, 16, *setting, machine=machine)


def counts():
    for workers in (8, 32, 2):
        for setting in COMMON[workers]:
            for machine in MACHINES:
                for strategy in ("mutex", "hogwild:copy"):
                    yield spec("5", strategy, workers, *setting, machine=machine)


def own_best(records):
    """(strategy, workers) -> the setting of the least time of the grid, where one reached 5 %"""
    return {key: min(of, key=of.get) for key, of in times(records).items() if key[1] in WORKERS and min(of.values()) < math.inf}


def best(records, goal="2"):
    for workers in WORKERS:
        for strategy in STRATEGIES:
            for found in (own_best(records), thesis_best()):
                if (strategy, workers) in found:
                    yield spec(goal, strategy, workers, *found[strategy, workers])


def copy(records):
    for (strategy, workers), setting in own_best(records).items():
        if strategy == "hogwild:copy":
            yield spec("2", "hogwild", workers, *setting)


def backoff():
    for workers in (16, 8, 32):
        for strategy in ("mutex", "rwlock", "leashed:inf"):
            if (strategy, workers) in thesis_best():
                for kind in ("none", "linear", "exponential", "random"):
                    yield spec("2", strategy, workers, *thesis_best()[strategy, workers], backoff=kind)


def memory():
    for strategy in STRATEGIES:
        for workers in (7, 8):
            for bind in ("compact", "spread"):
                yield spec("sockets", strategy, workers, 0.005, 64, bind=bind)


def waits():
    for machine in MACHINES:
        for strategy in ("mutex", "rwlock"):
            yield spec("5", strategy, 16, 0.004, 64, machine=machine, backoff="linear")


def key_of(record):
    return tuple({**DEFAULTS, **record}[key] for key in KEYS)


def read(path):
    if not os.path.exists(path):
        return []
    with open(path) as file:
        return [{**DEFAULTS, **json.loads(line)} for line in file]


def seconds(record, name="s_to_5"):
    value = record.get(name)
    return math.inf if value is None else value


def grid_runs(records):
    """Those of Table 4.3: to 5 % of the first loss, seed 1, all else at its default."""
    return [r for r in records if r["goal"] == "5" and r["seed"] == 1 and all(r[key] == value for key, value in DEFAULTS.items())]


def times(records):
    """(strategy, workers) -> (step size, batch) -> seconds of the grid to 5 %; infinite where 5 % is missed"""
    found = collections.defaultdict(dict)
    for r in grid_runs(records):
        found[r["strategy"], r["workers"]][r["lr"], r["batch"]] = seconds(r)
    return found


def machine_text(base, changes):
    with open(base) as file:
        text = file.read()
    for key, change in changes.items():
        found = re.search(rf"^{key}: (.+)$", text, re.M)
        if isinstance(change, str):
            value = change
        else:
            value = f"{float(found.group(1)) / change if key.endswith('_gb_s') else float(found.group(1)) * change:g}"
        text = re.sub(rf"^{key}: .+$", f"{key}: {value}", text, flags=re.M) if found else f"{text}{key}: {value}\n"
    return text


# Part of the first loss, epochs of steps that were not dropped, and of gradients.
GOALS = {"5": ("5%", 60, 600), "sockets": ("5%", 60, 600), "2": ("2%", 120, 1200), "own": ("2%", 30, 120)}
EPOCHS = {"rates": 3, "staleness": 20}
FIELDS = {"5": ("s_to_5",), "sockets": ("s_to_5",), "2": ("s_to_10", "s_to_5", "s_to_2"), "own": ("s_to_10", "s_to_5", "s_to_2")}


def until(one):
    if one["goal"] in EPOCHS:
        return f"epochs={EPOCHS[one['goal']]}"
    loss_part, steps, gradients = GOALS[one["goal"]]
    return f"loss={loss_part},updates={steps * (60000 if one['goal'] == 'own' else 10000) // one['batch']},epochs={gradients}"


def run(args, folder, one):
    own = one["goal"] == "own"
    path = os.path.join(folder, f"{threading.get_ident()}.yaml")
    with open(path, "w") as file:
        file.write(machine_text(OWN if own else BASE, MACHINES[one["machine"]]))
    command = [args.drove, "train", "--data", args.data + "?scale=none" + ("" if own else "&part=test"), "--test", "none",
               "--model", "mlp:128,128,128" if own else "mlp:32,32,32",
               "--defaults", "classic", "--init", "normal:0.01", "--order", "random", "--metrics", "none", "--eval-examples", "2000", "--machine", path,
               "--strategy", one["strategy"], "--threads", str(one["workers"]), "--lr", str(one["lr"]), "--batch", str(one["batch"]),
               "--backoff", one["backoff"], "--bind", one["bind"], "--seed", str(one["seed"]), "--out", "none", "--json", "--quiet",
               "--eval-every", "0.25" if own else str(EPOCHS.get(one["goal"], 1)), "--until", until(one)]
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as errors:
        child = subprocess.Popen(command, stdout=out, stderr=errors)
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        errors.seek(0)
        if child.returncode not in (0, 3, 4):
            raise RuntimeError(f"{' '.join(command)}: {errors.read()}")
        summary = json.load(out)
    record = {key: value for key, value in one.items() if DEFAULTS.get(key) != value}
    record["processor_s"] = round(used.ru_utime + used.ru_stime, 2)
    if one["goal"] in GOALS:
        record["outcome"] = summary["outcome"]
        record |= {name: None if s is None else round(s, 4) for name in FIELDS[one["goal"]] for s in [summary["time_to"][name[5:] + "%"]]}
    else:
        record["staleness_p50"] = summary["staleness"]["p50"]
    if one["goal"] == "5":
        return record
    made = summary["updates"] + summary["dropped"]
    if one["goal"] in GOALS:
        record["epochs"] = round(summary["epochs"], 1)
    return record | {"updates_per_s": round(summary["updates_per_s"]),
                     "staleness": round(summary["staleness"]["mean"], 2), "dropped_pct": round(100 * summary["dropped"] / made, 1) if made else 0.0}


def make(args):
    with tempfile.TemporaryDirectory() as folder, open(args.out, "a") as out, concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for part in args.parts:
            name, _, seed = part.partition(":")
            records = read(args.out)
            done = {key_of(r) for r in records}
            plan = {"rates": rates, "staleness": staleness, "grid": grid, "loss": loss, "counts": counts, "best": lambda: best(records),
                    "copy": lambda: copy(records), "backoff": backoff, "memory": memory, "waits": waits, "own": lambda: best(records, "own")}[name]()
            missing = {key_of(one): one for one in ({**run_of, "seed": int(seed or 1)} for run_of in plan)}
            todo = [one for key, one in missing.items() if key not in done]
            for record in pool.map(lambda one: run(args, folder, one), todo):
                out.write(json.dumps(record, separators=(",", ":")) + "\n")
                out.flush()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="+", metavar="PART")
    parser.add_argument("--drove", default="build/release/drove")
    parser.add_argument("--data", default="mnist:DIR")
    parser.add_argument("--out", default="docs/results/thesis-runs.jsonl")
    parser.add_argument("--jobs", type=int, default=2, help="runs at a time: virtual seconds do not depend on it")
    make(parser.parse_args())


if __name__ == "__main__":
    main()
