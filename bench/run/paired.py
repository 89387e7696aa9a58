#!/usr/bin/env python3
"""Compares two builds of drove case by case: the same runs in turn, old, new, old, new ...

    bench/run/paired.py OLD NEW [--pairs N] [--only REGEX] [--markdown]

OLD and NEW are programs (build/release/drove).  Each case prints the median of the ratios new / old of its pairs, the
95 % interval of that median, their quartiles, and the ratio of the best runs of each, which a busy machine disturbs
least.  A ratio of 1 means equally fast; above 1 the new one is faster.  What is compared is the rate
that the run itself reports (examples/s of training time; GNPS; seconds per step of a phase), so loading and evaluation
do not count.  Runs of a pair follow each other at once, so a busy machine slows both.

The interval goes from one of the ordered ratios to another, as many places from either end as the binomial distribution
allows: it supposes nothing about how they are distributed but that pairs are independent.  It needs 6 pairs; with fewer there is no verdict.  At the end
stand the cases whose interval lies wholly below 0.98, which are slower, and those that were not compared.
OLD and NEW may be the same program: how far its ratios are from 1 is noise.
Exit status: 0, 1 if a run failed, 2 for a wrong argument.
"""
import argparse
import json
import math
import os
import re
import shutil
import statistics
import subprocess
import sys

SLOWER = 0.98  # a case is slower if the whole interval of its ratio is below

MLP = ["--data", "synth:digits?n=20000", "--model", "mlp:128,128,128", "--eval-every", "1000"]
DENSE = ["--data", "synth:logistic?n=20000&d=4096", "--model", "logistic", "--eval-every", "1000"]
SPARSE = ["--data", "synth:logistic?n=40000&d=65536&density=0.001", "--model", "logistic", "--eval-every", "1000"]
IMAGES = ["--data", "synth:images?size=28&n=2000", "--eval-every", "1000"]


def rate(summary):
    return summary["examples_per_s"]


def phase(name):
    return lambda summary: 1.0 / max(summary["phases"][name], 1e-9)


def mlp(batch, threads, strategy, epochs, *more):
    return MLP + ["--batch", str(batch), "--threads", str(threads), "--strategy", strategy,
                  "--until", f"epochs={epochs}", *more]


def cases():
    for batch, epochs in ((1, 3), (16, 10), (64, 12), (512, 12)):
        yield f"step, batch {batch}, one thread", None, mlp(batch, 1, "sequential", epochs), rate
    for strategy in ("hogwild", "leashed:inf", "sync"):
        for batch, epochs in ((1, 4), (16, 12), (64, 16)):
            yield f"{strategy}, batch {batch}, two threads", None, mlp(batch, 2, strategy, epochs), rate
    for strategy in ("mutex", "leashed:inf", "replicas"):
        small = ["--data", "synth:digits?n=20000", "--model", "mlp:8", "--eval-every", "1000", "--batch", "1",
                 "--threads", "2", "--strategy", strategy, "--until", "epochs=40"]
        yield f"publish, {strategy}, 6,370 parameters", None, small, rate
    for signature in ("D8M8", "D16M16", "D32fM32f"):
        yield f"{signature} dense", None, DENSE + ["--precision", signature, "--threads", "1", "--until", "epochs=20"], rate
        sparse = signature.replace("M", "i32M")
        yield f"{signature} sparse", None, SPARSE + ["--precision", sparse, "--threads", "1", "--until", "epochs=40"], rate
    yield ("coordinator, one example a message", None,
           MLP + ["--strategy", "hogbatch?update=coordinator", "--workers", "cpu:0?batch=1", "--until", "updates=20000"],
           rate)
    yield "hogbatch, cpu:0-1", None, MLP + ["--strategy", "hogbatch", "--batch", "64", "--workers", "cpu:0-1",
                                            "--until", "epochs=16"], rate
    yield "adaptive, cpu:0-1", None, MLP + ["--strategy", "adaptive", "--workers", "cpu:0-1", "--until", "epochs=8"], rate
    yield "accumulate, two workers", None, mlp(64, 2, "accumulate", 12), rate
    yield "tree, two workers", None, mlp(64, 2, "tree", 12), rate
    yield "all-reduce in memory", None, mlp(64, 2, "allreduce", 12), rate
    yield "easgd-sync3 in memory", None, mlp(64, 2, "easgd-sync3", 12), rate
    for library in ("openmpi", "mpich"):
        yield f"all-reduce over {library}", library, mlp(64, 1, "allreduce", 8), rate
    yield "LeNet, one thread", None, IMAGES + ["--model", "lenet", "--batch", "64", "--threads", "1",
                                               "--until", "epochs=3"], rate
    yield "AlexNet, one thread", None, ["--data", "synth:images?size=67&n=128", "--model", "alexnet", "--batch", "32",
                                        "--threads", "1", "--until", "epochs=1", "--eval-every", "1000"], rate


def launcher(library):
    program = shutil.which(f"mpirun.{library}")
    if program is None:
        return None
    command = [program, "-n", "2"]
    if library == "openmpi":
        command += ["--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1"]
        if os.geteuid() == 0:
            command.append("--allow-run-as-root")
    return command


def run(program, start, arguments):
    command = (start or []) + [program, "train", "--defaults", "classic", *arguments, "--quiet", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    text = done.stdout
    if done.returncode != 0 or "{" not in text:
        raise RuntimeError(f"{' '.join(command)}: status {done.returncode}: {done.stderr.strip()[:300]}")
    return json.loads(text[text.index("{"):])


def compare(old, new, start, arguments, figure, n_pairs):
    ratios, olds, news = [], [], []
    run(new, start, arguments)  # caches of convolutions and data
    for i in range(n_pairs):
        turns = ((old, olds), (new, news))
        for program, figures in turns if i % 2 == 0 else turns[::-1]:
            figures.append(figure(run(program, start, arguments)))
        ratios.append(news[-1] / olds[-1])
    return ratios, olds, news


def interval_of_median(values, level=0.95):
    """Ends of the narrowest symmetric interval of order statistics that holds the median with at least this probability;
    None: there are too few values."""
    n, skipped, outside = len(values), -1, 0.0
    while skipped + 1 < n / 2:
        outside += 2 * math.comb(n, skipped + 1) / 2**n
        if outside > 1 - level:
            break
        skipped += 1
    ordered = sorted(values)
    return (ordered[skipped], ordered[n - 1 - skipped]) if skipped >= 0 else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--pairs", type=int, default=9)
    parser.add_argument("--only", metavar="REGEX", default="")
    parser.add_argument("--markdown", action="store_true")
    options = parser.parse_args()
    if options.pairs < 1:
        parser.error(f"argument --pairs: expected 1 or more, found {options.pairs}")
    chosen = [case for case in cases() if re.search(options.only, case[0])]
    if not chosen:
        parser.error(f"argument --only: expected a part of a case's name, found {options.only}")
    line = "| {} | {} | {} | {} | {} | {} | {} |" if options.markdown else "{:42} {:>8} {:>16} {:>16} {:>10} {:>12} {:>12}"
    print(line.format("case", "new/old", "95 % interval", "quartiles", "best/best", "best old", "best new"))
    if options.markdown:
        print("|---|---|---|---|---|---|---|")
    slower, failed, missing = [], [], []
    for name, library, arguments, figure in chosen:
        start = launcher(library) if library else None
        if library and start is None:
            print(line.format(name, "-", "not installed", "-", "-", "-", "-"))
            missing.append(name)
            continue
        try:
            ratios, olds, news = compare(options.old, options.new, start, arguments, figure, options.pairs)
        except RuntimeError as error:
            print(f"{name}: {error}", file=sys.stderr)
            failed.append(name)
            continue
        quartiles = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else None
        between = f"{quartiles[0]:.3f} to {quartiles[2]:.3f}" if quartiles else "-"
        interval = interval_of_median(ratios)
        ends = f"{interval[0]:.3f} to {interval[1]:.3f}" if interval else "-"
        if interval and interval[1] < SLOWER:
            slower.append(f"{name}: {ends}")
        print(line.format(name, f"{statistics.median(ratios):.3f}", ends, between,
                          f"{max(news) / max(olds):.3f}", f"{max(olds):,.0f}", f"{max(news):,.0f}"), flush=True)
    n_compared = len(chosen) - len(failed) - len(missing)
    if n_compared > 0 and interval_of_median([1.0] * options.pairs):
        print(f"\nslower, interval below {SLOWER}: " + ("; ".join(slower) if slower else f"none of {n_compared}"))
    else:
        print("\nno verdict: " + ("no case was compared" if n_compared == 0 else "an interval needs 6 pairs"))
    if failed or missing:
        print("not compared: " + "; ".join([f"{name} (failed)" for name in failed] +
                                           [f"{name} (not installed)" for name in missing]))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
