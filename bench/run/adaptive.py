#!/usr/bin/env python3
"""bench/run/adaptive.py - fake devices of 1, 10 and 250 thousand examples/s: all together against each alone.

Real threads, real messages and a real clock; the devices sleep (compute=no), so what is measured is what the
coordinator, the queues and the sharing of a job cost.  JSON lines:

  together   examples/s of each device alone and of all three in one run, in turn, ROUNDS times; the ratio of the run to
             the sum, fastest and median round
  shares     Adaptive from several initial sizes: share of the updates, last batch size, largest gap at the end

  bench/run/adaptive.py [--drove PROGRAM] [--seconds S] [--rounds N]
"""
import argparse
import json
import subprocess

SPEEDS = (1, 10, 250)
LEAST, MOST = 16, 8192
BALANCED = (32, 256, 8192)
STARTS = ((16, 16, 16), (8192, 8192, 8192), BALANCED)


def worker(speed, batch):
    return f"fake:?speed={speed}&compute=no&batch={batch}&min={LEAST}&max={MOST}"


def train(options, workers, seconds):
    command = [options.drove, "train", "--data", "synth:logistic?n=200000&d=20", "--model", "logistic", "--strategy",
               "adaptive", "--workers", "+".join(workers), "--until", f"seconds={seconds}", "--eval-every", "1000",
               "--eval-examples", "1000", "--json", "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def together(options):
    ratios, alone, all_rates = [], {speed: [] for speed in SPEEDS}, []
    for _ in range(options.rounds):
        total = 0.0
        for speed, batch in zip(SPEEDS, BALANCED):
            rate = train(options, [worker(speed, batch)], options.seconds / 2)["examples_per_s"]
            alone[speed].append(rate)
            total += rate
        rate = train(options, [worker(s, b) for s, b in zip(SPEEDS, BALANCED)], options.seconds)["examples_per_s"]
        all_rates.append(rate)
        ratios.append(rate / total)
    print(json.dumps({"bench": "together", "alone_examples_per_s": {s: max(r) for s, r in alone.items()},
                      "together_examples_per_s": max(all_rates), "ratio_best": max(ratios),
                      "ratio_median": sorted(ratios)[len(ratios) // 2], "rounds": ratios}), flush=True)


def shares(options):
    for start in STARTS:
        result = train(options, [worker(s, b) for s, b in zip(SPEEDS, start)], 3 * options.seconds)
        u = [w["counted_updates"] for w in result["workers"]]
        print(json.dumps({"bench": "shares", "start": start, "share": [w["share"] for w in result["workers"]],
                          "batch": [w["batch"] for w in result["workers"]], "gap": max(u) - min(u),
                          "examples_per_s": result["examples_per_s"]}), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--drove", default="build/release/drove")
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    together(options)
    shares(options)


if __name__ == "__main__":
    main()
