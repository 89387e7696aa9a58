#!/usr/bin/env python3
"""The thesis's studies in virtual time, and what becomes of its claims when the costs that the modelled machine assumes are halved and doubled.

    bench/run/thesis_runs.py --data mnist:DIR --out docs/results/thesis-runs.jsonl PART...    makes the runs of the parts in this order; goes on where it
                                                                                            was stopped
    bench/run/thesis_runs.py --tables FILE                                                  prints the tables of docs/results/thesis.md
    bench/run/thesis_runs.py --claims FILE [--picture docs/results/sensitivity.svg]    those of docs/results/sensitivity.md

Network and data are those of examples/studies/thesis-grid.yaml, batches drawn at random, HOGWILD! with a copy.  Parts, each with a number of a seed
behind a colon or `:1`:

    rates      3 epochs at a step size of 0.001 on every machine: staleness, drops, updates a second; 16 workers, batches of 64
    places     the same with other batches and numbers of workers
    staleness  20 epochs at a step size of 0.001, three batches, 8 to 32 workers, HOGWILD! also without a copy
    grid       Table 4.3: the thesis's nine step sizes and six batches to 5 % of the first loss, 2 to 32 workers
    loss       four step sizes of it (COMMON) and batches of 64 on every machine, 16 workers
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
import statistics
import subprocess
import sys
import tempfile
import threading

import thesis_grid

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
    "200 us an example": {"example_us": "200"},
}
STRATEGIES = thesis_grid.STRATEGIES
PRINTED = STRATEGIES + ["hogwild"]
STEPS, BATCHES = tuple(k / 1000 for k in range(9, 0, -1)), (64, 32, 128, 16, 256, 512)
WORKERS = (2, 4, 8, 16, 32)
# step sizes by number of workers
COMMON = {16: (0.004, 0.002, 0.006, 0.009), 32: (0.002, 0.001, 0.004), 8: (0.006, 0.004, 0.009), 2: (0.009, 0.006), 4: (0.009, 0.006)}
DEFAULTS = {"machine": "base", "backoff": "none", "bind": "spread"}
KEYS = ("machine", "goal", "strategy", "workers", "lr", "batch", "backoff", "bind", "seed")


def thesis_best():
    """(strategy, workers) -> step size and batch of the thesis's Table 4.3"""
    return {key: (float(row[0]), row[1]) for key, row in thesis_grid.THESIS.items() if row[0] != "-"}


def spec(goal, strategy, workers, lr, batch, **more):
    return {**DEFAULTS, "goal": goal, "strategy": strategy, "workers": workers, "lr": lr, "batch": batch, **more}


def grid():
    for workers in WORKERS:
        for batch in BATCHES:
            for lr in STEPS:
                for strategy in STRATEGIES:
                    yield spec("5", strategy, workers, lr, batch)


def rates(*places):
    for workers, batch in places:
        for machine in MACHINES:
            for strategy in STRATEGIES:
                yield spec("rates", strategy, workers, 0.001, batch, machine=machine)


def staleness():
    for workers in (8, 16, 32):
        for batch in (16, 64, 256):
            for strategy in PRINTED:
                yield spec("staleness", strategy, workers, 0.001, batch)


def loss():
    for lr in COMMON[16]:
        for machine in MACHINES:
            for strategy in STRATEGIES:
                yield spec("5", strategy, 16, lr, 64, machine=machine)


def counts():
    for workers in (8, 32, 2):
        for lr in COMMON[workers]:
            for machine in MACHINES:
                for strategy in ("mutex", "hogwild:copy"):
                    yield spec("5", strategy, workers, lr, 64, machine=machine)


def own_best(records):
    """(strategy, workers) -> the setting of the least time of the grid, where one reached 5 %"""
    return {key: min(of, key=of.get) for key, of in times(records).items() if min(of.values()) < math.inf}


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
                yield spec("5", strategy, workers, 0.005, 64, bind=bind)


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


def times(records):
    """(strategy, workers) -> (step size, batch) -> seconds of the grid (seed 1) to 5 %; infinite where 5 % is missed"""
    found = collections.defaultdict(dict)
    for r in records:
        if r["goal"] == "5" and r["seed"] == 1 and r["machine"] == "base" and r["backoff"] == "none" and r["bind"] == "spread":
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
GOALS = {"5": ("5%", 60, 600), "2": ("2%", 120, 1200), "own": ("2%", 30, 120)}
EPOCHS = {"rates": 3, "staleness": 20}
FIELDS = {"5": ("s_to_5",), "2": ("s_to_10", "s_to_5", "s_to_2"), "own": ("s_to_10", "s_to_5", "s_to_2")}


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
               "--eval-every", {"rates": "3", "staleness": "20", "own": "0.25"}.get(one["goal"], "1"), "--until", until(one)]
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
    if one["goal"] in GOALS:
        record |= {"outcome": summary["outcome"], "epochs": round(summary["epochs"], 1)}
        record |= {name: None if s is None else round(s, 4) for name in FIELDS[one["goal"]] for s in [summary["time_to"][name[5:] + "%"]]}
    else:
        record |= {"staleness_p50": summary["staleness"]["p50"]}
    made = summary["updates"] + summary["dropped"]
    return record | {"updates_per_s": round(summary["updates_per_s"]), "staleness": round(summary["staleness"]["mean"], 2),
                     "dropped_pct": round(100 * summary["dropped"] / made, 1) if made else 0.0,
                     "processor_s": round(used.ru_utime + used.ru_stime, 2)}


def make(args):
    with tempfile.TemporaryDirectory() as folder, open(args.out, "a") as out, concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for part in args.parts:
            name, _, seed = part.partition(":")
            records = read(args.out)
            done = {key_of(r) for r in records}
            plan = {"rates": lambda: rates((16, 64)), "places": lambda: rates((16, 16), (16, 256), (8, 64), (32, 64)), "staleness": staleness,
                    "grid": grid, "loss": loss, "counts": counts, "best": lambda: best(records), "copy": lambda: copy(records),
                    "backoff": backoff, "memory": memory, "waits": waits, "own": lambda: best(records, "own")}[name]()
            missing = {key_of(one): one for one in ({**spec, "seed": int(seed or 1)} for spec in plan)}
            todo = [one for key, one in missing.items() if key not in done]
            for record in pool.map(lambda one: run(args, folder, one), todo):
                out.write(json.dumps(record) + "\n")
                out.flush()


# ---- tables ----


def middle(records, name):
    """Median, a missing value counting as infinite; None without records."""
    return statistics.median(seconds(r, name) for r in records) if records else None


def shown(value, form=".2f"):
    return "-" if value is None else f"{value:{form}}" if math.isfinite(value) else "missed"


def interval(records, name):
    """Median, and least and greatest where there are several seeds."""
    values = sorted(seconds(r, name) for r in records)
    if not values:
        return "-"
    text = shown(statistics.median(values))
    return text if len(values) == 1 else f"{text} ({shown(values[0])} - {shown(values[-1])})"


def print_grid(records):
    settings, runs = times(records), [r for r in records if r["goal"] == "5" and r["seed"] == 1 and r["machine"] == "base" and r["backoff"] == "none" and
                                      r["bind"] == "spread"]
    print("<!-- t:grid modelled 1 -->\n| workers | strategy | lr, batch | seconds | settings | within 10 % | missed | crashed | *thesis: lr, batch* "
          "| *seconds* | *within 10 %, of 54* | *crashed, of 540* |\n" + "|---" * 12 + "|")
    for workers in WORKERS:
        for strategy in STRATEGIES:
            of = settings.get((strategy, workers), {})
            if not of:
                continue
            best_one = min(of, key=of.get)
            reached = math.isfinite(of[best_one])
            of_row = [r for r in runs if (r["strategy"], r["workers"]) == (strategy, workers)]
            said = thesis_grid.THESIS.get((strategy, workers), ("-",) * 5)
            print(f"| {workers} | `{strategy}` | " + (f"{best_one[0]:g}, {best_one[1]} | {of[best_one]:.3f}" if reached else "- | none")
                  + f" | {len(of)} | {sum(t <= 1.1 * of[best_one] for t in of.values()) if reached else '-'} | {sum(map(math.isinf, of.values()))} "
                  f"| {sum(r['outcome'] == 'crashed' for r in of_row)} | {said[0]}, {said[1]} | {said[3]} | {said[2]} | {said[4]} |")


def settings_of(records, goal):
    """(workers, strategy, step size, batch) -> runs of this goal without back-off, in the order of the tables"""
    found = collections.defaultdict(list)
    for r in records:
        if r["goal"] == goal and r["backoff"] == "none":
            found[r["workers"], r["strategy"], r["lr"], r["batch"]].append(r)
    return {key: found[key] for key in sorted(found, key=lambda k: (k[0], PRINTED.index(k[1]), k[2:]))}


def whose(records, workers, strategy, setting):
    names = [name for name, of in (("ours", own_best(records)), ("thesis", thesis_best())) if of.get((strategy, workers)) == setting]
    return " and ".join(names)


def print_best(records):
    print("\n<!-- t:best modelled 5 -->\n| workers | strategy | setting of | lr, batch | s to 10 % | s to 5 % | s to 2 % | updates/s | staleness | dropped, % "
          "| reached 2 % |\n" + "|---" * 11 + "|")
    for (workers, strategy, lr, batch), of in settings_of(records, "2").items():
        if strategy in STRATEGIES:
            print(f"| {workers} | `{strategy}` | {whose(records, workers, strategy, (lr, batch))} | {lr:g}, {batch} | "
                  + " | ".join(interval(of, f"s_to_{part}") for part in ("10", "5", "2"))
                  + f" | {middle(of, 'updates_per_s'):,.0f} | {middle(of, 'staleness'):.2f} | {middle(of, 'dropped_pct'):.1f} "
                  f"| {sum(r['outcome'] == 'reached' for r in of)} of {len(of)} |")


def print_own(records):
    print("\n<!-- t:own modelled 1 -->\n| workers | strategy | setting of | lr, batch | s to 10 % | s to 5 % | s to 2 % | updates/s | outcome |\n"
          + "|---" * 9 + "|")
    for (workers, strategy, lr, batch), of in settings_of(records, "own").items():
        print(f"| {workers} | `{strategy}` | {whose(records, workers, strategy, (lr, batch))} | {lr:g}, {batch} | "
              + " | ".join(interval(of, f"s_to_{part}") for part in ("10", "5", "2")) + f" | {middle(of, 'updates_per_s'):,.0f} | {of[0]['outcome']} |")


def print_copy(records):
    print("\n<!-- t:copy modelled 3 -->\n| workers | lr, batch | strategy | s to 5 % | s to 2 % | updates/s | staleness |\n" + "|---" * 7 + "|")
    found = settings_of(records, "2")
    for (workers, strategy, lr, batch), of in found.items():
        if strategy == "hogwild":
            for name, runs in (("hogwild", of), ("hogwild:copy", found[workers, "hogwild:copy", lr, batch])):
                print(f"| {workers} | {lr:g}, {batch} | `{name}` | " + " | ".join(interval(runs, f"s_to_{part}") for part in ("5", "2"))
                      + f" | {middle(runs, 'updates_per_s'):,.0f} | {middle(runs, 'staleness'):.2f} |")


def print_staleness(records):
    print("\n<!-- t:evals modelled 3 -->\n| strategy | workers | batch | updates/s | staleness | its median | dropped, % |\n" + "|---" * 7 + "|")
    for strategy in PRINTED:
        for workers in (8, 16, 32):
            for batch in (16, 64, 256):
                of = [r for r in records if r["goal"] == "staleness" and (r["strategy"], r["workers"], r["batch"]) == (strategy, workers, batch)]
                if of:
                    print(f"| `{strategy}` | {workers} | {batch} | {middle(of, 'updates_per_s'):,.0f} | {middle(of, 'staleness'):.2f} "
                          f"| {middle(of, 'staleness_p50'):.0f} | {middle(of, 'dropped_pct'):.1f} |")


def print_memory(records):
    print("\n<!-- t:s1 modelled 3 -->\n| workers | strategy | one socket: s to 5 % | epochs | updates/s | staleness | two sockets: s to 5 % | epochs | updates/s "
          "| staleness |\n" + "|---" * 10 + "|")
    found = collections.defaultdict(list)
    for r in records:
        if r["goal"] == "5" and r["workers"] in (7, 8) and (r["lr"], r["batch"], r["machine"], r["backoff"]) == (0.005, 64, "base", "none"):
            found[r["workers"], r["strategy"], r["bind"]].append(r)
    for workers in (7, 8):
        for strategy in STRATEGIES:
            both = [found.get((workers, strategy, bind), []) for bind in ("compact", "spread")]
            if all(both):
                print(f"| {workers} | `{strategy}` | " + " | ".join(
                    f"{shown(middle(of, 's_to_5'))} | {middle(of, 'epochs'):.0f} | {middle(of, 'updates_per_s'):,.0f} | {middle(of, 'staleness'):.2f}"
                    for of in both) + " |")


def print_backoff(records):
    kinds = ("none", "linear", "exponential", "random")
    print("\n<!-- t:s5 modelled 3 -->\n| workers | strategy | lr, batch | back-off | s to 5 % | s to 2 % | reached 2 % |\n" + "|---" * 7 + "|")
    for workers in (8, 16, 32):
        for strategy in ("mutex", "rwlock", "leashed:inf"):
            lr, batch = thesis_best().get((strategy, workers), (None, None))
            for kind in kinds:
                of = [r for r in records if r["goal"] == "2" and (r["strategy"], r["workers"], r["lr"], r["batch"], r["backoff"]) == (strategy, workers, lr, batch, kind)]
                if of:
                    print(f"| {workers} | `{strategy}` | {lr:g}, {batch} | {kind} | {shown(middle(of, 's_to_5'))} | {shown(middle(of, 's_to_2'))} "
                          f"| {sum(r['outcome'] == 'reached' for r in of)} of {len(of)} |")


# ---- claims ----


class On:
    """What one machine's records say; None where they are not there."""

    def __init__(self, records, machine):
        self.records = [r for r in records if r["machine"] == machine]

    def rate(self, name, strategy, workers=16, batch=64):
        return middle([r for r in self.records if r["goal"] == "rates" and (r["strategy"], r["workers"], r["batch"]) == (strategy, workers, batch)], name)

    def steps(self, strategy, workers=16):
        """step size -> median seconds to 5 %, batches of 64"""
        found = collections.defaultdict(dict)
        for r in self.records:
            if (r["goal"] in ("5", "2") and (r["strategy"], r["workers"], r["batch"], r["backoff"], r["bind"]) == (strategy, workers, 64, "none", "spread")
                    and r["lr"] in COMMON[workers]):
                found[r["lr"]][r["seed"]] = seconds(r)
        return {lr: statistics.median(of.values()) for lr, of in found.items()} if set(found) == set(COMMON[workers]) else None

    def fastest(self, strategy, workers=16):
        of = self.steps(strategy, workers)
        return min(of.values()) if of else None

    def best_step(self, strategy, workers=16):
        of = self.steps(strategy, workers)
        return min(of, key=of.get) if of and math.isfinite(min(of.values())) else None

    def largest(self, strategy):
        of = self.steps(strategy)
        return None if of is None else max((lr for lr, s in of.items() if math.isfinite(s)), default=0)

    def with_backoff(self, strategy):
        of = [middle([r for r in self.records if r["goal"] == "5" and (r["strategy"], r["workers"], r["lr"], r["batch"], r["backoff"]) ==
                      (strategy, 16, 0.004, 64, kind)], "s_to_5") for kind in ("linear", "none")]
        return ratio(*of)


def ratio(a, b):
    if a is None or b is None or (math.isinf(a) and math.isinf(b)):
        return None
    return math.inf if math.isinf(a) else 0.0 if math.isinf(b) else a / b


def least(*values):
    return None if None in values else min(values)


def most(*values):
    return None if None in values else max(values)


# (id, what the thesis says, what the number is, number of a machine, whether the number bears the claim)
CLAIMS = [
    ("full", "staleness of locks and Leashed-SGD is m - 1", "least mean of the three over m - 1",
     lambda m: least(*(ratio(m.rate("staleness", s), 15) for s in ("mutex", "rwlock", "leashed:inf"))), lambda x: x > 0.9),
    ("middle", "and concentrated there", "least median of the three over m - 1",
     lambda m: least(*(ratio(m.rate("staleness_p50", s), 15) for s in ("mutex", "rwlock", "leashed:inf"))), lambda x: x > 0.9),
    ("bound", "a persistence bound lowers staleness", "that of a bound of 1 over that without",
     lambda m: ratio(m.rate("staleness", "leashed:1"), m.rate("staleness", "leashed:inf")), lambda x: x < 0.9),
    ("zero", "a bound of 0 lowers it further", "that of a bound of 0 over that of 1",
     lambda m: ratio(m.rate("staleness", "leashed:0"), m.rate("staleness", "leashed:1")), lambda x: x < 0.9),
    ("batch-hogwild", "larger batches raise the staleness of HOGWILD!", "with 256 over with 16",
     lambda m: ratio(m.rate("staleness", "hogwild:copy", 16, 256), m.rate("staleness", "hogwild:copy", 16, 16)), lambda x: x > 1.1),
    ("batch-leashed", "and that of a bound of 1", "with 256 over with 16",
     lambda m: ratio(m.rate("staleness", "leashed:1", 16, 256), m.rate("staleness", "leashed:1", 16, 16)), lambda x: x > 1.1),
    ("drops", "a bound of 0 drops most steps", "part of the steps that it drops",
     lambda m: ratio(m.rate("dropped_pct", "leashed:0"), 100), lambda x: x > 0.5),
    ("updates", "HOGWILD! makes more updates a second than the mutex", "its over the mutex's",
     lambda m: ratio(m.rate("updates_per_s", "hogwild:copy"), m.rate("updates_per_s", "mutex")), lambda x: x > 1.1),
    ("updates-leashed", "and so does Leashed-SGD", "its over the mutex's",
     lambda m: ratio(m.rate("updates_per_s", "leashed:inf"), m.rate("updates_per_s", "mutex")), lambda x: x > 1.1),
    ("hogwild", "HOGWILD! is the fastest", "seconds of the next over its own",
     lambda m: ratio(least(*(m.fastest(s) for s in STRATEGIES[:-1])), m.fastest("hogwild:copy")), lambda x: x > 1.1),
    ("rwlock", "the read-write lock is faster than the mutex", "seconds of the mutex over its own",
     lambda m: ratio(m.fastest("mutex"), m.fastest("rwlock")), lambda x: x > 1.1),
    ("leashed", "locks are faster than Leashed-SGD", "seconds of Leashed-SGD over those of the faster lock",
     lambda m: ratio(m.fastest("leashed:inf"), least(m.fastest("mutex"), m.fastest("rwlock"))), lambda x: x > 1.1),
    ("slow1", "a persistence bound of 1 costs time", "seconds with a bound of 1 over those without",
     lambda m: ratio(m.fastest("leashed:1"), m.fastest("leashed:inf")), lambda x: x > 1.1),
    ("slow0", "one of 0 costs more", "seconds with 0 over those with 1",
     lambda m: ratio(m.fastest("leashed:0"), m.fastest("leashed:1")), lambda x: x > 1.1),
    ("stable", "Leashed-SGD bears larger steps than locks", "largest step size to 5 % over that of the mutex",
     lambda m: ratio(m.largest("leashed:inf"), m.largest("mutex")), lambda x: x > 1.1),
    ("stable1", "with a bound of 1 too", "the same with a bound of 1",
     lambda m: ratio(m.largest("leashed:1"), m.largest("mutex")), lambda x: x > 1.1),
    ("unstable", "HOGWILD! bears the smallest steps", "its largest step size over that of the mutex",
     lambda m: ratio(m.largest("hogwild:copy"), m.largest("mutex")), lambda x: x < 0.9),
    ("steps", "steps of the mutex must shrink with workers", "best step size with 16 over that with 2",
     lambda m: ratio(m.best_step("mutex"), m.best_step("mutex", 2)), lambda x: x < 0.9),
    ("steps-hogwild", "and those of HOGWILD!", "the same",
     lambda m: ratio(m.best_step("hogwild:copy"), m.best_step("hogwild:copy", 2)), lambda x: x < 0.9),
    ("eight", "the mutex is faster with 8 workers than with 16", "seconds with 16 over those with 8",
     lambda m: ratio(m.fastest("mutex", 16), m.fastest("mutex", 8)), lambda x: x > 1.1),
    ("sixteen", "and with 16 than with 32", "seconds with 32 over those with 16",
     lambda m: ratio(m.fastest("mutex", 32), m.fastest("mutex", 16)), lambda x: x > 1.1),
    ("eight-hogwild", "HOGWILD! is faster with 8 than with 16", "seconds with 16 over those with 8",
     lambda m: ratio(m.fastest("hogwild:copy", 16), m.fastest("hogwild:copy", 8)), lambda x: x > 1.1),
    ("backoff", "back-off helps the mutex", "seconds with linear back-off over those without, at 0.004",
     lambda m: m.with_backoff("mutex"), lambda x: x < 0.95),
    ("backoff-rwlock", "and not the read-write lock", "the same",
     lambda m: m.with_backoff("rwlock"), lambda x: x > 0.95),
]


def present(records):
    """The machines with all of rates."""
    had = collections.Counter((r["machine"], r["strategy"]) for r in records if r["goal"] == "rates" and (r["workers"], r["batch"]) == (16, 64))
    return [machine for machine in MACHINES if all(had[machine, strategy] for strategy in STRATEGIES)]


def judged(records):
    """(id, claim, number's meaning, machine -> (number, whether it holds) or None)"""
    for name, claim, meaning, number, holds in CLAIMS:
        row = {}
        for machine in present(records):
            value = number(On(records, machine))
            row[machine] = None if value is None else (value, bool(holds(value)))
        if any(row.values()):
            yield name, claim, meaning, row


def print_claims(records, seeds):
    machines = present(records)
    print(f"<!-- t:claims modelled {seeds} -->\n| | claim | number | " + " | ".join(machines) + " |\n" + "|---" * (3 + len(machines)) + "|")
    for name, claim, meaning, row in judged(records):
        cells = ["-" if v is None else f"{'yes' if v[1] else 'no'}, {v[0]:.2f}" for v in row.values()]
        print(f"| {name} | {claim} | {meaning} | " + " | ".join(cells) + " |")
    print(f"\n<!-- t:rates modelled {seeds} -->\n| | " + " | ".join(machines) + " |\n" + "|---" * (1 + len(machines)) + "|")
    for name, form in (("staleness", ".2f"), ("staleness_p50", ".0f"), ("dropped_pct", ".1f"), ("updates_per_s", ",.0f")):
        for strategy in STRATEGIES:
            if name != "dropped_pct" or strategy in ("leashed:1", "leashed:0"):
                print(f"| {NAMES[name]}, `{strategy}` | " + " | ".join(shown(On(records, m).rate(name, strategy), form) for m in machines) + " |")


NAMES = {"staleness": "staleness", "staleness_p50": "its median", "dropped_pct": "dropped, %", "updates_per_s": "updates/s"}
CELL, ROW, LEFT, TOP = 70, 24, 380, 110


def draw(records, path):
    """Claims by machines: green where one holds, red where not."""
    rows = list(judged(records))
    machines = present(records)
    width, height = LEFT + CELL * len(machines) + 60, TOP + ROW * len(rows) + 10
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">',
           '<rect width="100%" height="100%" fill="#fff"/>']
    for i, machine in enumerate(machines):
        out.append(f'<text transform="translate({LEFT + CELL * i + CELL / 2 + 4} {TOP - 8}) rotate(-40)">{machine}</text>')
    for j, (_, claim, _, row) in enumerate(rows):
        y = TOP + ROW * j
        out.append(f'<text x="{LEFT - 8}" y="{y + 16}" text-anchor="end">{claim}</text>')
        for i, value in enumerate(row.values()):
            colour = "#eeeeee" if value is None else "#b7e1c0" if value[1] else "#f3b8b3"
            out.append(f'<rect x="{LEFT + CELL * i}" y="{y}" width="{CELL - 2}" height="{ROW - 2}" fill="{colour}"/>')
            text = "" if value is None else f"{value[0]:.2f}" if math.isfinite(value[0]) else "&#8734;"
            out.append(f'<text x="{LEFT + CELL * i + CELL / 2 - 1}" y="{y + 16}" text-anchor="middle">{text}</text>')
    with open(path, "w") as file:
        file.write("\n".join(out + ["</svg>"]) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART")
    parser.add_argument("--drove", default="build/release/drove")
    parser.add_argument("--data", default="mnist:DIR")
    parser.add_argument("--out", default="docs/results/thesis-runs.jsonl")
    parser.add_argument("--tables")
    parser.add_argument("--claims")
    parser.add_argument("--picture")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=2, help="runs at a time: virtual seconds do not depend on it")
    args = parser.parse_args()
    if args.tables:
        records = read(args.tables)
        for table in (print_memory, print_grid, print_staleness, print_best, print_backoff, print_copy, print_own):
            table(records)
    elif args.claims:
        print_claims(read(args.claims), args.seeds)
        if args.picture:
            draw(read(args.claims), args.picture)
    else:
        make(args)


if __name__ == "__main__":
    main()
