#!/usr/bin/env python3
"""Sparse linear models on two threads against one: speed, time to an equal loss, and the whole time of the run.

    bench/run/sparse_threads.py [--drove build/release/drove] [--data DIR] [--rounds N] [--only REGEX] [--quiet PART]

Each round has one run of every way, in an order that rotates: one thread; --threads 2 and what auto chooses; and on two
threads hogwild and replicas?merge=sum&period=64.  Then two runs of one thread beside each other, which share nothing:
together they are as fast as two threads of this machine can be just then.  All ratios are of runs in the same round,
above 1: faster than one thread; their median and range.

speed: examples a second of training; of auto also over that of the two runs at once, which a busy machine disturbs
about as much.  to the loss: seconds of training until the loss that one thread has near its end in every round,
between two evaluations.  whole: seconds of the process, with reading, trials and probe.  Default: DIR
is ../shared/data.

--quiet PART: each run waits, up to a minute, until other processes and the host of a virtual machine take less than this
part of the processors.  A run beside which they took more is repeated, up to 5 times; the last one then counts all the
same, and the last column says how often.
"""
import argparse
import collections
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ONE = ["--threads", "1"]
WAYS = {"one": ONE, "auto": ["--threads", "2"], "hogwild": ["--threads", "2", "--strategy", "hogwild"],
        "replicas": ["--threads", "2", "--strategy", "replicas?merge=sum&period=64"]}
SLACK = 0.01  # of one thread's progress


def sets(data):
    libsvm = os.path.join(data, "libsvm")
    synth = ["--data", "synth:logistic?n=50000&d=4096&density=0.03", "--test", "none", "--model", "logistic"]

    def of_file(name, model="logistic"):
        return ["--data", f"libsvm:{os.path.join(libsvm, name)}", "--model", model]
    a9a, w8a, sector = of_file("a9a.gz"), of_file("w8a.gz"), of_file("sector.scale.gz")

    def single(lr, epochs):
        return ["--batch", "1", "--lr", str(lr), "--until", f"epochs={epochs}", "--eval-every", str(epochs / 20)]
    return {
        "a9a": a9a,
        "w8a": w8a,
        "sector": sector,
        "3 %": synth,
        "3 %, D8i16M8": synth + ["--precision", "D8i16M8"],
        "3 %, D16i16M16": synth + ["--precision", "D16i16M16"],
        "a9a, batch 1": a9a + single(0.005, 60),
        "w8a, batch 1": w8a + single(0.02, 60),
        "w8a, svm, batch 1": of_file("w8a.gz", "svm") + single(0.005, 60),
        "w8a, D8i16M8, batch 1": w8a + single(0.02, 60) + ["--precision", "D8i16M8"],
        "sector, batch 1": sector + single(1, 4),
        "3 %, batch 1": synth + ["--batch", "1"],
        "3 %, D8i16M8, batch 1": synth + single(0.01, 10) + ["--precision", "D8i16M8"],
        "3 %, D16i16M16, batch 1": synth + single(0.01, 10) + ["--precision", "D16i16M16"],
    }


def command_of(drove, arguments, log):
    return [drove, "train", *arguments, "--seed", "1", "--out", "none", "--metrics", "none", "--quiet", "--json", "--log", log]


def busy_seconds():
    """Of all processors since the machine started, with what the host took."""
    with open("/proc/stat", encoding="ascii") as lines:
        ticks = [int(n) for n in lines.readline().split()[1:9]]
    return (sum(ticks) - ticks[3] - ticks[4]) / os.sysconf("SC_CLK_TCK")


def own_seconds():
    t = os.times()
    return t.user + t.system + t.children_user + t.children_system


class Quiet:
    """Waits for quiet, and repeats what was disturbed."""
    TRIES, WAIT_S = 5, 60.0

    def __init__(self, part):
        self.part, self.n_disturbed = part, 0

    def is_quiet(self, seconds, busy):
        return busy <= self.part * seconds * os.cpu_count()

    def wait(self):
        for _ in range(int(self.WAIT_S)):
            begun, busy = time.monotonic(), busy_seconds()
            time.sleep(0.5)
            if self.is_quiet(time.monotonic() - begun, busy_seconds() - busy):
                return
            time.sleep(0.5)

    def of(self, function, *arguments):
        for _ in range(self.TRIES):
            if self.part < 1.0:
                self.wait()
            begun, busy, own = time.monotonic(), busy_seconds(), own_seconds()
            result = function(*arguments)
            others = busy_seconds() - busy - (own_seconds() - own)
            if self.is_quiet(time.monotonic() - begun, others):
                return result
        self.n_disturbed += 1
        return result


def run(drove, arguments):
    with tempfile.TemporaryDirectory() as folder:
        log = os.path.join(folder, "log.jsonl")
        begun = time.monotonic()
        done = subprocess.run(command_of(drove, arguments, log), stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        seconds = time.monotonic() - begun
        if done.returncode not in (0, 4):
            sys.exit(f"{' '.join(arguments)}: {done.stderr.decode().strip()}")
        with open(log, encoding="utf-8") as lines:
            curve = [(r["train_s"], r["loss"]) for r in map(json.loads, lines) if "train_s" in r and "loss" in r]
    summary = json.loads(done.stdout)
    return {"speed": summary["examples_per_s"], "whole": seconds, "curve": curve, "choice": summary["strategy_choice"]}


def two_at_once(drove, arguments):
    """Examples a second of two processes of one thread each, together."""
    with tempfile.TemporaryDirectory() as folder:
        both = [subprocess.Popen(command_of(drove, arguments + ONE, os.path.join(folder, f"{i}.jsonl")),
                                 stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) for i in range(2)]
        return sum(json.loads(p.communicate()[0])["examples_per_s"] for p in both)


def seconds_to(curve, loss):
    before = None
    for seconds, value in curve:
        if value <= loss:
            if before is None:
                return seconds
            s0, v0 = before
            return s0 + (seconds - s0) * (v0 - loss) / (v0 - value)
        before = (seconds, value)
    return math.inf


def text(ratios):
    if statistics.median(ratios) == 0.0:
        return "not reached"
    return f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"


def compare(drove, name, arguments, n_rounds, part):
    runs, both, ways, quiet = collections.defaultdict(list), [], list(WAYS), Quiet(part)
    for i in range(n_rounds):
        for way in ways[i % len(ways):] + ways[:i % len(ways)]:
            runs[way].append(quiet.of(run, drove, arguments + WAYS[way]))
        both.append(quiet.of(two_at_once, drove, arguments))
    first = runs["one"][0]["curve"][0][1]
    last = max(min(loss for _, loss in r["curve"]) for r in runs["one"])
    target = last + SLACK * (first - last)
    one = runs["one"]
    row = [name, f"{statistics.median(r['speed'] for r in one) / 1e6:.3g}", text([b / o["speed"] for b, o in zip(both, one)]),
           text([r["speed"] / b for r, b in zip(runs["auto"], both)])]
    for way in ways[1:]:
        row.append(text([r["speed"] / o["speed"] for r, o in zip(runs[way], one)]))
        row.append(text([seconds_to(o["curve"], target) / seconds_to(r["curve"], target) for r, o in zip(runs[way], one)]))
    row.append(f"{statistics.median(r['whole'] for r in one):.2f}")
    row.append(text([o["whole"] / r["whole"] for r, o in zip(runs["auto"], one)]))
    chosen = collections.Counter(f"{r['choice']['chosen']} ({r['choice']['how']})" for r in runs["auto"])
    row.append("; ".join(f"{word}: {n}" for word, n in chosen.most_common()))
    row.append(f"{quiet.n_disturbed} of {n_rounds * (len(ways) + 1)}")
    print("| " + " | ".join(row) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--drove", default=os.path.join(ROOT, "build/release/drove"))
    parser.add_argument("--data", default=os.path.join(ROOT, "../shared/data"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="")
    parser.add_argument("--quiet", type=float, default=1.0)
    options = parser.parse_args()
    print("| set | one thread, M examples/s | two runs at once | auto over these | auto: speed | to the loss | hogwild: speed | to the loss "
          "| replicas: speed | to the loss | one thread, whole s | auto: whole | auto chose | disturbed |")
    print("|---" * 14 + "|")
    for name, arguments in sets(options.data).items():
        if re.search(options.only, name):
            compare(options.drove, name, arguments, options.rounds, options.quiet)


if __name__ == "__main__":
    main()
