#!/usr/bin/env python3
"""Real runs beside runs on the virtual clock of this machine: seconds, epochs to a loss, staleness.

    bench/run/virtual.py --drove build/release/drove --repeat 5 > table.md

Real and virtual runs of a strategy follow each other, with one seed for each repetition; each number is the
median of the repetitions.  Work: seconds of an epoch times threads; of a real run the processor time of five
epochs without evaluations, less that of one, divided by four: a busy machine matters less.  Overlap: what two staleness
histograms, of all repetitions together, have in common, from 0 (nothing) to 1 (the same).
"""
import argparse
import json
import resource
import statistics
import subprocess
import sys

WORK_EPOCHS = 4
STRATEGIES = ["sequential", "sync", "ssp:2", "softsync:2", "mutex", "rwlock", "hogwild", "hogwild:copy", "leashed:0",
              "leashed:inf", "replicas:core", "hogbatch", "easgd-async", "easgd-hogwild", "easgd-sync3", "psgd-async",
              "allreduce", "local"]


def processor_s():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run(options, strategy, threads, seed, machine, until=None):
    every = "0.25" if until is None else "1000"
    command = [options.drove, "train", "--data", options.data, "--model", options.model, "--strategy", strategy,
               "--threads", str(threads), "--batch", str(options.batch), "--lr", str(options.lr), "--until",
               until or f"loss={options.loss},epochs={options.epochs}", "--eval-every", every, "--eval-examples",
               "1000", "--seed", str(seed), "--out",
               "none", "--metrics", "none", "--loaders", "0", "--json"]
    if machine:
        command += ["--machine", machine]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 3, 4):
        sys.exit(f"{' '.join(command)}: {done.stderr}")
    return json.loads(done.stdout)


def epoch_work(options, strategy, threads, seed):
    spent = []
    for epochs in (1, 1 + WORK_EPOCHS):
        before = processor_s()
        run(options, strategy, threads, seed, None, f"epochs={epochs}")
        spent.append(processor_s() - before)
    return (spent[1] - spent[0]) / WORK_EPOCHS


def overlap(real, virtual):
    def share(runs):
        count = {}
        for r in runs:
            for least, n in r["staleness"]["histogram"]:
                count[least] = count.get(least, 0) + n
        total = sum(count.values())
        return {k: n / total for k, n in count.items()} if total else {}
    a, b = share(real), share(virtual)
    return sum(min(a.get(k, 0), b.get(k, 0)) for k in set(a) | set(b))


def middle(runs, key):
    return statistics.median(key(r) for r in runs)


def row(strategy, threads, real, virtual, work):
    def both(key, form):
        return f"{middle(real, key):{form}} / {middle(virtual, key):{form}}"

    modelled = [v["train_s"] / v["epochs"] * threads for v in virtual]
    ratios = sorted(m / w for m, w in zip(modelled, work))
    print(f"| `{strategy}` | {threads} | {statistics.median(work):.3f} / {statistics.median(modelled):.3f} | "
          f"{statistics.median(ratios):.2f} ({ratios[0]:.2f} - {ratios[-1]:.2f}) | "
          f"{both(lambda r: r['epochs'], '.1f')} | {both(lambda r: r['train_s'], '.2f')} | "
          f"{both(lambda r: r['staleness']['mean'], '.2f')} | {overlap(real, virtual):.2f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--drove", default="build/release/drove")
    parser.add_argument("--data", default="synth:digits?n=6000&n_test=10")
    parser.add_argument("--model", default="mlp:128")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument("--loss", default="20%")
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--threads", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--machine", default="here")
    parser.add_argument("--strategies", nargs="*", default=STRATEGIES)
    options = parser.parse_args()
    print("| strategy | threads | work of an epoch in s, real / virtual | virtual / real | epochs to the loss, real / "
          "virtual | seconds to it, real / virtual | mean staleness, real / virtual | overlap |")
    print("|---|---|---|---|---|---|---|---|")
    for strategy in options.strategies:
        for threads in options.threads:
            if strategy == "sequential" and threads > 1:
                continue
            real, virtual, work = [], [], []
            for seed in range(1, options.repeat + 1):
                real.append(run(options, strategy, threads, seed, None))
                virtual.append(run(options, strategy, threads, seed, options.machine))
                work.append(epoch_work(options, strategy, threads, seed))
            row(strategy, threads, real, virtual, work)


if __name__ == "__main__":
    main()
