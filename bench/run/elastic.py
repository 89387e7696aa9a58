#!/usr/bin/env python3
"""Elastic averaging: accuracy of every method with 4 workers, and the time to an accuracy that 4 hosts would need.

    bench/run/elastic.py train --mnist DIR --lines FILE [--drove build/release/drove] [--model mlp|lenet] [--seeds 3]
                         [--methods easgd,easgd-sync3,...] [--epochs 10] [--threads 4] [--lr 0.1] [--option "--flag value"]
    bench/run/elastic.py report --lines FILE [--drove build/release/drove] [--svg FILE] [--target 0.975]

`train` runs every method for the same number of epochs, one seed after the other, and appends one JSON line a run: the
test accuracy at each evaluation with the examples used until then.  All methods have the same step size and batch, the
default pull; those with momentum 0.9 a tenth of the step.  `--option` adds flags and labels the rows with them.
`report` combines this with the iteration times of `drove bench elastic` (4 hosts, the networks of the paper's Table 2):
examples to the accuracy, simulated time to it, ratio to Original EASGD; and draws accuracy over simulated time
(the paper's Figures 6 and 8) where gnuplot is installed.
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import tempfile

METHODS = ["easgd?overlap=0", "easgd", "easgd-async", "easgd-async?overlap=1", "measgd-async", "easgd-hogwild",
           "easgd-sync1", "easgd-sync2", "easgd-sync3", "psgd-async", "pmsgd-async", "psgd-hogwild", "allreduce",
           "local?h=8", "diloco?h=8"]
MODELS = {"mlp": ("mlp:128,128,128", 32), "lenet": ("lenet", 64)}
# whose time another's is: the rule does not change what travels
TIMED_AS = {"measgd-async": "easgd-async", "pmsgd-async": "psgd-async"}


def options():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("what", choices=["train", "report"])
    p.add_argument("--drove", default="build/release/drove")
    p.add_argument("--mnist")
    p.add_argument("--lines", required=True)
    p.add_argument("--model", default="mlp", choices=sorted(MODELS))
    p.add_argument("--methods", default=",".join(METHODS))
    p.add_argument("--seeds", type=int, default=3)
    p.add_argument("--first", type=int, default=1, help="first seed")
    p.add_argument("--epochs", type=float, default=10)
    p.add_argument("--threads", type=int, default=4)
    p.add_argument("--lr", type=float, default=0.1)
    p.add_argument("--option", default="")
    p.add_argument("--svg")
    p.add_argument("--hosts", help="report: whose times, a model of drove bench elastic [the one that was trained]")
    p.add_argument("--target", type=float, default=0.975)
    p.add_argument("--stop", action="store_true", help="train: end a run that has reached --target")
    p.add_argument("--eval-every", default="0.125")
    return p.parse_args()


# ---- training ----

def run(o, method, seed):
    model, batch = MODELS[o.model]
    strategy, _, period = method.partition("?h=")
    has_momentum = strategy in ("measgd-async", "pmsgd-async")
    until = f"epochs={o.epochs}" + (f",accuracy={o.target}" if o.stop else "")
    with tempfile.TemporaryDirectory() as folder:
        words = [o.drove, "train", "--defaults", "classic", "--data", f"mnist:{o.mnist}", "--test", "split", "--model", model, "--batch", str(batch),
                 "--threads", str(o.threads), "--strategy", strategy, "--lr", str(o.lr * (0.1 if has_momentum else 1)),
                 "--seed", str(seed), "--until", until, "--eval-every", o.eval_every, "--eval-examples", "1000",
                 "--out", folder, "--json", "--quiet"]
        if period:
            words += ["--period", period]
        if has_momentum:
            words += ["--rule", "momentum:0.9"]
        words += o.option.split()
        done = subprocess.run(words, check=False, stdout=subprocess.PIPE)
        if done.returncode not in (0, 3, 4):
            raise SystemExit(f"{' '.join(words)}: exit status {done.returncode}")
        summary = json.loads(done.stdout)
        with open(os.path.join(folder, "log.jsonl")) as f:
            curve = [(r["examples"], r["test_accuracy"]) for r in map(json.loads, f) if "test_accuracy" in r]
    return {"bench": "elastic", "model": o.model, "batch": batch, "method": method, "option": o.option, "seed": seed,
            "lr": o.lr, "threads": o.threads, "updates": summary["updates"], "epochs": summary["epochs"],
            "train_s": summary["train_s"], "outcome": summary["outcome"], "isa": summary["isa"],
            "staleness": summary["staleness"]["mean"] if summary.get("staleness") else None,
            "communication": summary.get("communication"), "curve": curve}


def train(o):
    for seed in range(o.first, o.first + o.seeds):
        for method in o.methods.split(","):
            line = run(o, method, seed)
            with open(o.lines, "a") as f:
                f.write(json.dumps(line) + "\n")
            best = max(a for _, a in line["curve"])
            print(f"{line['model']} {method} {o.option} seed {seed}: best {best:.4f} in {line['train_s']:.1f} s", flush=True)


# ---- report ----

def examples_to(curve, target):
    return next((n for n, a in curve if a >= target), None)


def mean_curve(runs):
    """Mean accuracy over seeds, where all have an evaluation; to the multiple of a thousand examples."""
    by_n = {}
    for r in runs:
        for n, a in r["curve"]:
            by_n.setdefault(round(n / 1000) * 1000, []).append(a)
    return sorted((n, statistics.mean(a)) for n, a in by_n.items() if len(a) == len(runs))


def update_times(drove):
    """{(model, network, method): (s of one worker's batch, all workers together; exposed communication)}"""
    rows = json.loads(subprocess.run([drove, "bench", "elastic", "--json"], check=True, stdout=subprocess.PIPE).stdout)["links"]
    return {(r["model"], r["network"], r["method"]): (r["update_s"], r["ratio"]) for r in rows}


def text_of(value, form):
    return "-" if value is None else format(value, form)


def method_rows(model, groups, times, networks, target):
    rows = {}
    for label, runs in groups.items():
        needed = [examples_to(r["curve"], target) for r in runs]
        method = TIMED_AS.get(label, label)
        row = {"runs": runs, "batches": None, "missed": sum(n is None for n in needed)}
        if row["missed"] == 0:
            row["batches"] = statistics.mean(needed) / runs[0]["batch"]
        row["s"] = {n: row["batches"] and row["batches"] * times[model, n, method][0] for n in networks}
        row["target"], row["update_s"] = target, {n: times[model, n, method][0] for n in networks}
        row["ratio"] = {n: times[model, n, method][1] for n in networks}
        rows[label] = row
    return rows


def ratio_to(base, row, network):
    """Time of base over that of row, seeds that both have."""
    seeds = {r["seed"] for r in base["runs"]} & {r["seed"] for r in row["runs"]}
    times = []
    for of in (base, row):
        needed = [examples_to(r["curve"], of["target"]) for r in of["runs"] if r["seed"] in seeds]
        if None in needed or not needed:
            return None
        times.append(statistics.mean(needed) / of["runs"][0]["batch"] * of["update_s"][network])
    return times[0] / times[1]


def print_table(model, rows, networks, target):
    base = rows.get("easgd")
    print(f"\n### {model}: test accuracy {target}\n")
    print("| method | seeds | best accuracy | epochs to it | batches of a worker | " +
          " | ".join(f"{n}: s | easgd / this | communication" for n in networks) + " |")
    print("|---" * (5 + 3 * len(networks)) + "|")
    for label, row in rows.items():
        best = statistics.mean(max(a for _, a in r["curve"]) for r in row["runs"])
        epochs = row["batches"] and row["batches"] * row["runs"][0]["batch"] / 60000
        cells = []
        for n in networks:
            ratio = base and ratio_to(base, row, n)
            cells += [text_of(row["s"][n], ".2f"), text_of(ratio, ".2f"), f"{100 * row['ratio'][n]:.0f} %"]
        missed = f" ({row['missed']} of {len(row['runs'])} missed)" if row["missed"] else ""
        print(f"| {label} | {len(row['runs'])} | {best:.4f} | {text_of(epochs, '.2f')}{missed} | {text_of(row['batches'], '.0f')} | " +
              " | ".join(cells) + " |")


def draw(path, title, curves):
    """curves: {name: [(s, error rate)]} as SVG; without gnuplot nothing."""
    if path is None or shutil.which("gnuplot") is None:
        return
    with tempfile.TemporaryDirectory() as folder:
        parts = []
        for i, (name, points) in enumerate(curves.items()):
            file = os.path.join(folder, f"{i}.txt")
            with open(file, "w") as f:
                f.writelines(f"{x} {y}\n" for x, y in points if x > 0)
            quoted = name.replace("'", "")
            parts.append(f"'{file}' with lines lw 2 dt {i // 8 + 1} title '{quoted}' noenhanced")
        script = (f"set terminal svg size 900,560 font ',13'\nset output '{path}'\nset title '{title}' noenhanced\n"
                  "set logscale xy\nset autoscale fix\nset grid\nset xlabel 'simulated time, s'\nset ylabel 'test error'\n"
                  "set key outside right Left reverse samplen 2\nplot " + ", ".join(parts) + "\n")
        subprocess.run(["gnuplot"], input=script, text=True, check=True)


def report(o):
    with open(o.lines) as f:
        lines = [json.loads(line) for line in f]
    times = update_times(o.drove)
    networks = sorted({n for _, n, _ in times}, key=lambda n: times["lenet", n, "easgd-sync1"])
    lines = [r for r in lines if r["model"] == o.model]
    groups = {}
    for r in sorted(lines, key=lambda r: METHODS.index(r["method"])):
        groups.setdefault((r["method"] + " " + r["option"]).strip(), []).append(r)
    if "easgd" in groups:  # messages do not change what is learnt
        groups["easgd --messages layers"] = groups["easgd"]
    hosts = o.hosts or o.model
    rows = method_rows(hosts, groups, times, networks, o.target)
    print_table(hosts, rows, networks, o.target)
    network = networks[0]
    curves = {}
    for label, row in rows.items():
        if " " in label:
            continue
        one_s = times[hosts, network, TIMED_AS.get(label, label)][0] / row["runs"][0]["batch"]
        curves[label] = [(n * one_s, 1 - a) for n, a in mean_curve(row["runs"])]
    draw(o.svg, f"{hosts}, 4 hosts, {network}: test error, mean of seeds", curves)


def main():
    o = options()
    train(o) if o.what == "train" else report(o)


if __name__ == "__main__":
    main()
