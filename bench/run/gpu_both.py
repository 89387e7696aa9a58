#!/usr/bin/env python3
"""A device and the cores beside it, in ten minutes: methods that add or exchange together, and the margins of the mixtures.

    python3 bench/run/gpu_both.py [--drove build/release/drove] [--device cuda:0] [--cpu cpu:0-14] [--data ../shared/data]
                                  [--minutes 10] [--seconds 5] [--rounds 1] [--parts together,margins] [--out DIR]

    together  accumulate, tree, the synchronous elastic methods and allreduce on the device alone, a team of cores alone and both:
              examples a second, and how much of what they copy and exchange is hidden behind computing.  accumulate copies
              slice by slice during backward, tree behind it; easgd-sync3 exchanges during the gradient, sync1 and sync2 do not.
    margins   time to a loss by the device alone, the cores alone, Hogbatch and Adaptive on both: the better one alone over the mixture

Data: MNIST from DATA/mnist, else synth:digits.  A run that would not end within --minutes is left out, and said.  A line of JSON
for each run, with --out DIR also in DIR/gpu_both.jsonl; `bench/run/gpu_both.py --tables FILE...` prints tables of medians.
Without a GPU, on the tests' stand-in or a simulated device: --device 'fake:?speed=10000' --cpu cpu:0.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time

TOGETHER = ("accumulate", "tree", "easgd-sync1", "easgd-sync2", "easgd-sync3", "allreduce")
# A start-up and the longest evaluation and step behind the last second of a run.
MARGIN_S = 15


class Runs:
    def __init__(self, args):
        self.args = args
        self.begin = time.monotonic()
        self.file = open(os.path.join(args.out, "gpu_both.jsonl"), "a") if args.out else None

    def put(self, record):
        line = json.dumps(record)
        print(line, flush=True)
        if self.file:
            self.file.write(line + "\n")
            self.file.flush()

    def run(self, facts, options, seconds):
        """One run of drove; puts what summary_of says of it, or why there is none."""
        args = self.args
        left = 60 * args.minutes - (time.monotonic() - self.begin)
        if left < seconds + args.margin:
            self.put({**facts, "left_out": f"{left:.0f} s are left"})
            return
        mnist = os.path.join(args.data, "mnist")
        data = f"mnist:{mnist}" if os.path.isdir(mnist) else f"synth:digits?n={args.digits}"
        command = [args.drove, "train", "--defaults", "classic", "--data", data, "--test", "none", "--metrics", "none", "--out", "none",
                   "--json", "--quiet", "--model", args.model, "--lr", str(args.lr)] + options
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=seconds + args.margin)
        except subprocess.TimeoutExpired:
            self.put({**facts, "error": "no end in time"})
            return
        if done.returncode not in (0, 4):
            self.put({**facts, "error": done.stderr.strip()[-300:]})
            return
        self.put({**facts, **summary_of(json.loads(done.stdout))})


def summary_of(s):
    """Rates, and the parts of copies and exchanges that no worker waited for."""
    layers = [layer["hidden"] for layer in s.get("layers") or [] if layer["hidden"] is not None]
    return {"outcome": s["outcome"], "loss": s["loss"], "train_s": s["train_s"], "examples_per_s": s["examples_per_s"],
            "updates_per_s": s["updates_per_s"], "layers_hidden": statistics.fmean(layers) if layers else None,
            "exchange_hidden": s["communication"]["hidden"] if s["communication"] else None,
            "exposed_s": s["phases"]["exchange"] + s["phases"]["broadcast"], "busy": [w["busy"] for w in s["workers"]],
            "share": [w.get("share") for w in s["workers"]]}


def places(args):
    return {"device": args.device, "cores": args.cpu, "both": f"{args.cpu}+{args.device}"}


def together(runs, args, round_number):
    for strategy in TOGETHER:
        for where, workers in places(args).items():
            runs.run({"part": "together", "strategy": strategy, "where": where, "round": round_number},
                     ["--strategy", strategy, "--workers", workers, "--batch", str(args.batch), "--until", f"seconds={args.seconds}",
                      "--eval-every", "1000", "--eval-examples", "1000"], args.seconds)


def margins(runs, args, round_number):
    cases = [("device", "hogbatch"), ("cores", "hogbatch"), ("both", "hogbatch"), ("both", "adaptive")]
    for where, strategy in cases:
        runs.run({"part": "margins", "strategy": strategy, "where": where, "round": round_number},
                 ["--strategy", strategy, "--workers", places(args)[where], "--batch", str(args.batch), "--until",
                  f"loss={args.target},seconds={4 * args.seconds}", "--eval-every", "0.25", "--eval-examples", "5000"],
                 4 * args.seconds)


# ---- tables ----

def middle(records, key):
    values = [r[key] for r in records if r.get(key) is not None]
    return statistics.median(values) if values else None


def text(value, form):
    return "" if value is None else form.format(value)


def tables(paths):
    records = []
    for path in paths:
        with open(path) as f:
            records += [json.loads(line) for line in f if line.startswith("{")]

    def of(**wanted):
        return [r for r in records if "outcome" in r and all(r[k] == v for k, v in wanted.items())]

    print("| strategy | device, examples/s | cores | both | both over the better alone | hidden: slices | exchange |\n" + "|---" * 7 + "|")
    for strategy in TOGETHER:
        rate = {w: middle(of(part="together", strategy=strategy, where=w), "examples_per_s") for w in ("device", "cores", "both")}
        both = of(part="together", strategy=strategy, where="both")
        alone = max((rate[w] for w in ("device", "cores") if rate[w]), default=None)
        ratio = rate["both"] / alone if rate["both"] and alone else None
        print(f"| {strategy} | " + " | ".join(text(rate[w], "{:.0f}") for w in ("device", "cores", "both")) + f" | {text(ratio, '{:.2f}')}"
              f" | {text(middle(both, 'layers_hidden'), '{:.2f}')} | {text(middle(both, 'exchange_hidden'), '{:.2f}')} |")
    print("\n| method | s to the loss | the better alone over it |\n|---|---|---|")
    time_of = {(w, s): middle([r for r in of(part="margins", where=w, strategy=s) if r["outcome"] == "reached"], "train_s")
               for w, s in (("device", "hogbatch"), ("cores", "hogbatch"), ("both", "hogbatch"), ("both", "adaptive"))}
    alone = min((time_of[w, "hogbatch"] for w in ("device", "cores") if time_of[w, "hogbatch"]), default=None)
    for (where, strategy), seconds in time_of.items():
        name = f"{strategy}, both" if where == "both" else f"{where} alone"
        ratio = alone / seconds if alone and seconds and where == "both" else None
        print(f"| {name} | {text(seconds, '{:.2f}') or 'missed'} | {text(ratio, '{:.2f}')} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--drove", default="build/release/drove")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--cpu", default=f"cpu:0-{max(len(os.sched_getaffinity(0)) - 2, 0)}", help="all cores but one, which the device's worker has")
    parser.add_argument("--data", default="../shared/data")
    parser.add_argument("--digits", type=int, default=60000, help="where there is no MNIST: digits drawn")
    parser.add_argument("--model", default="mlp:512,512,512")
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument("--target", default="5%")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seconds", type=float, default=5, help="of a run; a margin takes four times that at most")
    parser.add_argument("--margin", type=float, default=MARGIN_S, help="seconds that a run may take beside its training")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--parts", default="together,margins")
    parser.add_argument("--out")
    parser.add_argument("--tables", nargs="+", metavar="FILE")
    args = parser.parse_args()
    if args.tables:
        tables(args.tables)
        return
    parts = {"together": together, "margins": margins}
    for part in args.parts.split(","):
        if part not in parts:
            parser.error(f"--parts: expected {', '.join(parts)}, found {part}")
    if args.out:
        os.makedirs(args.out, exist_ok=True)
    runs = Runs(args)
    for round_number in range(args.rounds):
        for part in args.parts.split(","):
            parts[part](runs, args, round_number)


if __name__ == "__main__":
    sys.exit(main())
