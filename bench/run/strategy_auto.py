#!/usr/bin/env python3
"""Two threads allowed against one: the whole time of a run to a target loss, with --strategy auto.

    bench/run/strategy_auto.py [--drove build/release/drove] [--data DIR] [--pairs N] [--only REGEX] [--tables]

Each round has three runs of every set, in turn and in an order that rotates: --threads 2 with what auto chooses,
--threads 1, and --threads 2 --strategy hogwild, which was the choice whatever the data.  A set's figures are the median
seconds of the whole process; the median of the ratios of one thread's seconds to the others' in the same round (above
1: more threads are faster), its range, and the ratio of the fastest runs, which a busy machine disturbs least; what was
chosen how often; the seconds of the probe; and the median of auto's seconds over those of the faster of the other two.  Default: DIR is ../shared/data.

--tables: instead, the tables in DIR/tables with nothing but file, label and test file, to their own end.
"""
import argparse
import collections
import json
import os
import re
import statistics
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
GOAL = 1.3
WAYS = {"auto": ["--threads", "2"], "one": ["--threads", "1"], "hogwild": ["--threads", "2", "--strategy", "hogwild"]}


def sets(data):
    libsvm = os.path.join(data, "libsvm")
    logistic = ["--model", "logistic"]

    def of_file(name):
        return ["--data", f"libsvm:{os.path.join(libsvm, name)}", *logistic]
    return {
        "a9a": of_file("a9a.gz") + ["--until", "loss=0.3242,epochs=200"],
        "w8a": of_file("w8a.gz") + ["--until", "loss=0.0450,epochs=200"],
        "sector": of_file("sector.scale.gz") + ["--until", "loss=2.6,epochs=40"],
        "covtype": of_file("covtype-subset16.binary.scale.gz") + ["--until", "loss=0.5136,epochs=200"],
        "a9a, batch 1, 150 epochs": of_file("a9a.gz") + ["--batch", "1", "--lr", "0.005", "--until", "epochs=150"],
        "w8a, batch 1, 120 epochs": of_file("w8a.gz") + ["--batch", "1", "--lr", "0.02", "--until", "epochs=120"],
        "D8M8, 3 %": ["--data", "synth:logistic?n=50000&d=4096&density=0.03", *logistic, "--precision", "D8i16M8",
                      "--test", "none", "--until", "loss=0.6103,epochs=200"],
        "D8M8, dense": ["--data", "synth:logistic?n=20000&d=4096", *logistic, "--precision", "D8M8", "--test", "none",
                        "--until", "loss=0.2290,epochs=200"],
        "MNIST, mlp:128,128,128, 3 epochs": ["--data", f"mnist:{os.path.join(data, 'mnist')}", "--until", "epochs=3"],
    }


LABELS = {"titanic": "survived", "Computers": "price", "MedExp": "med", "Males": "wage", "BudgetFood": "wfood",
          "biopsy": "class", "colon": "status", "Treatment": "treat"}


def tables(data):
    def of_table(name):
        train, test = (os.path.join(data, "tables", f"{name}.{part}.csv") for part in ("train", "test"))
        return ["--data", train, "--label", LABELS[name], "--test", test]
    return {name: of_table(name) for name in LABELS}


def run(drove, arguments):
    command = [drove, "train", *arguments, "--seed", "1", "--out", "none", "--metrics", "none", "--quiet", "--json"]
    begun = time.monotonic()
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    seconds = time.monotonic() - begun
    if done.returncode not in (0, 4):
        sys.exit(f"{' '.join(command)}: {done.stderr.decode().strip()}")
    return seconds, json.loads(done.stdout)


def choice(summary):
    made = summary["strategy_choice"]
    return f"{made['chosen']}, {made['threads']} ({made['how']})", made["seconds"]


def compare(drove, name, arguments, n_pairs):
    seconds, chosen, probe, missed = collections.defaultdict(list), collections.Counter(), [], collections.Counter()
    ways = list(WAYS)
    for i in range(n_pairs):
        for way in ways[i % len(ways):] + ways[:i % len(ways)]:
            took, summary = run(drove, arguments + WAYS[way])
            seconds[way].append(took)
            missed[way] += summary["outcome"] == "missed"
            if way == "auto":
                word, probe_s = choice(summary)
                chosen[word] += 1
                probe.append(probe_s)
    row = [name, f"{statistics.median(seconds['one']):.2f}"]
    for way in ("auto", "hogwild"):
        ratios = [one / other for one, other in zip(seconds["one"], seconds[way])]
        best = min(seconds["one"]) / min(seconds[way])
        row.append(f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f}), {best:.2f}")
    row.append("; ".join(f"{word}: {n}" for word, n in chosen.most_common()))
    row.append(f"{statistics.median(probe):.2f}")
    row.append(", ".join(f"{way}: {n}" for way, n in missed.items() if n) or "-")
    behind = statistics.median(auto / min(one, other) for auto, one, other in zip(seconds["auto"], seconds["one"], seconds["hogwild"]))
    print("| " + " | ".join(row) + f" | {behind:.2f} |", flush=True)
    return behind


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--drove", default=os.path.join(ROOT, "build/release/drove"))
    parser.add_argument("--data", default=os.path.join(ROOT, "../shared/data"))
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--only", default="")
    parser.add_argument("--tables", action="store_true")
    options = parser.parse_args()
    print("| set | one thread, s | one / auto on 2: median (range), fastest | one / hogwild on 2 | auto chose | probe, s "
          "| target missed | auto / the best fixed |")
    print("|---|---|---|---|---|---|---|---|")
    behind = []
    for name, arguments in (tables if options.tables else sets)(options.data).items():
        if re.search(options.only, name):
            behind.append(compare(options.drove, name, arguments, options.pairs))
    print(f"\nauto within {GOAL} times the best fixed choice: {sum(b <= GOAL for b in behind)} of {len(behind)}")


if __name__ == "__main__":
    main()
