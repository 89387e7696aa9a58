#!/usr/bin/env python3
"""The thesis's studies in virtual time, and what becomes of its claims when the costs that the modelled machine assumes are halved and doubled.

    bench/run/thesis_runs.py --data mnist:DIR --out docs/results/thesis-runs.jsonl PART...    makes the runs of the parts in this order; goes on where it
                                                                                            was stopped
    bench/run/thesis_runs.py --tables FILE                                                  prints the tables of docs/results/thesis.md
    bench/run/thesis_runs.py --claims FILE [--picture docs/results/sensitivity.svg]    those of docs/results/sensitivity.md

Network and data are those of examples/studies/thesis-grid.yaml, batches drawn at random, HOGWILD! with a copy.  Parts, each with a number of a seed
behind a colon or `:1`:

    rates    3 epochs at a step size of 0.001 on every machine: staleness, drops, updates a second; 16 workers, batches of 64
    places   the same with other batches and numbers of workers
    grid     step sizes around the thesis's best (COMMON) to 5 % of the first loss, batches of 64, 2 to 32 workers
    loss     the same of 16 workers where gradient or copy cost half or twice as much, and with 200 us an example
    counts   there the mutex and HOGWILD! with 2, 8 and 32 workers
    best     to 2 %, every strategy at its best setting of the grid so far and at the thesis's own
    backoff  the same with back-off at the thesis's own settings
    memory   7 and 8 workers on one socket and on two, to 5 %
    waits    the locks with linear back-off on every machine, 16 workers
    own      32 workers at the largest step size with the thesis's own network 784-128-128-128-10, 20 epochs of the same images

The machines are examples/machines/thesis-xeon-small.yaml with one group of costs changed (MACHINES).  Each run is a JSON line; keys at their default
(machine base, back-off none, both sockets) are left out.
"""
import argparse
import collections
import json
import math
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile

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
SOME = ("200 us an example", "gradient x 2", "copy x 2", "gradient x 0.5", "copy x 0.5")  # those for which losses are compared
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
    for workers, steps in COMMON.items():
        for lr in steps:
            for strategy in STRATEGIES:
                yield spec("5", strategy, workers, lr, 64)


def rates(*places):
    for workers, batch in places:
        for machine in ("base", *SOME, *MACHINES):
            for strategy in reversed(STRATEGIES):
                yield spec("rates", strategy, workers, 0.001, batch, machine=machine)


def loss():
    for lr in COMMON[16]:
        for machine in SOME:
            for strategy in STRATEGIES:
                yield spec("5", strategy, 16, lr, 64, machine=machine)


def counts():
    for workers in (8, 32, 2):
        for lr in COMMON[workers]:
            for machine in SOME:
                for strategy in ("mutex", "hogwild:copy"):
                    yield spec("5", strategy, workers, lr, 64, machine=machine)


def best(records):
    ours = {key: min(of, key=of.get) for key, of in times(records).items() if min(of.values()) < math.inf}
    for workers in WORKERS:
        for strategy in STRATEGIES:
            for found in (ours, thesis_best()):
                if (strategy, workers) in found:
                    yield spec("2", strategy, workers, *found[strategy, workers])


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
    for machine in ("base", *SOME):
        for strategy in ("mutex", "rwlock"):
            yield spec("5", strategy, 16, 0.004, 64, machine=machine, backoff="linear")


def own():
    """The thesis's own network, for its crashes."""
    for strategy in STRATEGIES:
        yield spec("own", strategy, 32, 0.009, 64)


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
    """(strategy, workers) -> (step size, batch) -> median seconds to 5 % on the base machine without back-off, of all seeds"""
    found = collections.defaultdict(lambda: collections.defaultdict(dict))
    for r in records:
        if r["goal"] in ("5", "2") and r["machine"] == "base" and r["backoff"] == "none" and r["bind"] == "spread":
            found[r["strategy"], r["workers"]][r["lr"], r["batch"]][r["seed"]] = seconds(r)
    return {key: {setting: statistics.median(of.values()) for setting, of in row.items()} for key, row in found.items()}


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


def processor_s():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run(args, folder, one):
    path = os.path.join(folder, re.sub(r"[ /]", "-", one["machine"]) + ".yaml")
    with open(path, "w") as file:
        file.write(machine_text(OWN if one["goal"] == "own" else BASE, MACHINES[one["machine"]]))
    until = {"rates": "epochs=3", "own": "epochs=20", "5": "loss=5%,epochs=60", "2": "loss=2%,epochs=120"}[one["goal"]]
    command = [args.drove, "train", "--data", args.data + "?scale=none&part=test", "--test", "none", "--model", "mlp:128,128,128" if one["goal"] == "own" else "mlp:32,32,32",
               "--defaults", "classic", "--init", "normal:0.01", "--order", "random", "--metrics", "none", "--eval-examples", "2000", "--machine", path,
               "--strategy", one["strategy"], "--threads", str(one["workers"]), "--lr", str(one["lr"]), "--batch", str(one["batch"]),
               "--backoff", one["backoff"], "--bind", one["bind"], "--seed", str(one["seed"]), "--out", "none", "--json", "--quiet",
               "--eval-every", "3" if one["goal"] == "rates" else "1", "--until", until]
    before = processor_s()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 3, 4):
        sys.exit(f"{' '.join(command)}: {done.stderr}")
    summary = json.loads(done.stdout)
    record = {key: value for key, value in one.items() if DEFAULTS.get(key) != value}
    if one["goal"] != "rates":
        record |= {"outcome": summary["outcome"], "epochs": round(summary["epochs"], 1)}
        record |= {"loss": summary["loss"]} if one["goal"] == "own" else {}
        record |= {f"s_to_{part}": None if s is None else round(s, 4) for part in ("10", "5", "2") for s in [summary["time_to"][part + "%"]]}
    made = summary["updates"] + summary["dropped"]
    return record | {"updates_per_s": round(summary["updates_per_s"]), "staleness": round(summary["staleness"]["mean"], 2),
                     "staleness_p50": summary["staleness"]["p50"], "dropped_pct": round(100 * summary["dropped"] / made, 1) if made else 0.0,
                     "processor_s": round(processor_s() - before, 2)}


def make(args):
    with tempfile.TemporaryDirectory() as folder, open(args.out, "a") as out:
        for part in args.parts:
            name, _, seed = part.partition(":")
            records = read(args.out)
            done = {key_of(r) for r in records}
            plan = {"rates": lambda: rates((16, 64)), "places": lambda: rates((16, 16), (16, 256), (8, 64), (32, 64)), "grid": grid,
                    "loss": loss, "counts": counts, "best": lambda: best(records),
                    "backoff": backoff, "memory": memory, "waits": waits, "own": own}[name]()
            for one in plan:
                one["seed"] = int(seed or 1)
                if key_of(one) not in done:
                    done.add(key_of(one))
                    out.write(json.dumps(run(args, folder, one)) + "\n")
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
    settings, runs = times(records), [r for r in records if r["goal"] in ("5", "2") and r["machine"] == "base" and r["backoff"] == "none" and
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


def print_best(records):
    print("\n<!-- t:best modelled 3 -->\n| workers | strategy | whose | lr, batch | s to 10 % | s to 5 % | s to 2 % | updates/s | staleness | dropped, % "
          "| reached 2 % |\n" + "|---" * 11 + "|")
    found = collections.defaultdict(list)
    for r in records:
        if r["goal"] == "2" and r["backoff"] == "none":
            found[r["workers"], r["strategy"], r["lr"], r["batch"]].append(r)
    theirs = thesis_best()
    for workers in WORKERS:
        for strategy in STRATEGIES:
            for (w, s, lr, batch), of in sorted(found.items(), key=lambda item: item[0][2:]):
                if (w, s) == (workers, strategy):
                    print(f"| {w} | `{s}` | {'thesis' if theirs.get((s, w)) == (lr, batch) else 'ours'} | {lr:g}, {batch} | "
                          + " | ".join(interval(of, f"s_to_{part}") for part in ("10", "5", "2"))
                          + f" | {middle(of, 'updates_per_s'):,.0f} | {middle(of, 'staleness'):.2f} | {middle(of, 'dropped_pct'):.1f} "
                          f"| {sum(r['outcome'] == 'reached' for r in of)} of {len(of)} |")


def print_memory(records):
    print("\n<!-- t:s1 modelled 1 -->\n| workers | strategy | one socket: s to 5 % | epochs | updates/s | staleness | two sockets: s to 5 % | epochs | updates/s "
          "| staleness |\n" + "|---" * 10 + "|")
    found = collections.defaultdict(list)
    for r in records:
        if r["goal"] == "5" and r["workers"] in (7, 8) and r["lr"] == 0.005:
            found[r["workers"], r["strategy"], r["bind"]].append(r)
    for workers in (7, 8):
        for strategy in STRATEGIES:
            both = [found.get((workers, strategy, bind), []) for bind in ("compact", "spread")]
            if all(both):
                print(f"| {workers} | `{strategy}` | " + " | ".join(
                    f"{shown(middle(of, 's_to_5'))} | {middle(of, 'epochs'):.0f} | {middle(of, 'updates_per_s'):,.0f} | {middle(of, 'staleness'):.2f}"
                    for of in both) + " |")


def print_own(records):
    print("\n<!-- t:own modelled 1 -->\n| strategy | loss |\n|---|---|")
    for strategy in STRATEGIES:
        cells = []
        for workers in (32,):
            of = [r for r in records if r["goal"] == "own" and (r["strategy"], r["workers"]) == (strategy, workers)]
            cells.append("-" if not of else "crashed" if of[0]["outcome"] == "crashed" else f"{of[0]['loss']:.2f}")
        print(f"| `{strategy}` | " + " | ".join(cells) + " |")


def print_backoff(records):
    kinds = ("none", "linear", "exponential", "random")
    print("\n<!-- t:s5 modelled 1 -->\n| workers | strategy | lr, batch | " + " | ".join(kinds) + " |\n" + "|---" * 7 + "|")
    found = collections.defaultdict(list)
    for r in records:
        if r["goal"] == "2" and thesis_best().get((r["strategy"], r["workers"])) == (r["lr"], r["batch"]):
            found[r["workers"], r["strategy"], r["backoff"]].append(r)
    for workers in (8, 16, 32):
        for strategy in ("mutex", "rwlock", "leashed:inf"):
            of = [found.get((workers, strategy, kind), []) for kind in kinds]
            if all(of):
                lr, batch = thesis_best()[strategy, workers]
                print(f"| {workers} | `{strategy}` | {lr:g}, {batch} | " + " | ".join(f"{shown(middle(r, 's_to_5'))}, {shown(middle(r, 's_to_2'))}" for r in of)
                      + " |")


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
    args = parser.parse_args()
    if args.tables:
        records = read(args.tables)
        for table in (print_grid, print_best, print_memory, print_own, print_backoff):
            table(records)
    elif args.claims:
        print_claims(read(args.claims), args.seeds)
        if args.picture:
            draw(read(args.claims), args.picture)
    else:
        make(args)


if __name__ == "__main__":
    main()
