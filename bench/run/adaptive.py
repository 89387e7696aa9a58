#!/usr/bin/env python3
"""bench/run/adaptive.py - workers of a coordinator: all together against each alone.

Real threads, real messages and a real clock.  Fake devices of 1, 10 and 250 thousand examples/s sleep (compute=no), so what
is measured is what the coordinator, the queues and the sharing of a job cost.  JSON lines:

  together   examples/s of each device alone and of all three in one run, in turn, ROUNDS times; the ratio of the run to
             the sum, fastest and median round
  pair       the same of real workers, a core and an OpenCL sub-device of another core (--pair), which compute
  shares     Adaptive from several initial sizes: share of the updates, last batch size, largest gap at the end

  bench/run/adaptive.py [--drove PROGRAM] [--seconds S] [--rounds N] [--only together,shares,pair]
                        [--pair cpu:0+opencl:0.1] [--model SPEC] [--batch N]
"""
import argparse
import json
import statistics
import subprocess

SPEEDS = (1, 10, 250)
LEAST, MOST = 16, 8192
BALANCED = (32, 256, 8192)
STARTS = ((16, 16, 16), (8192, 8192, 8192), BALANCED)


def worker(speed, batch):
    return f"fake:?speed={speed}&compute=no&batch={batch}&min={LEAST}&max={MOST}"


def train(options, workers, seconds):
    command = [options.drove, "train", "--defaults", "classic", "--data", "synth:logistic?n=200000&d=20", "--model", "logistic", "--strategy",
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
                      "ratio_median": statistics.median(ratios), "rounds": ratios}), flush=True)


def pair(options):
    def rate(workers):
        command = [options.drove, "train", "--defaults", "classic", "--data", "synth:logistic?n=20000&d=54", "--test", "none", "--model",
                   options.model, "--activation", "sigmoid", "--init", "xavier:4", "--strategy", "hogbatch", "--batch",
                   str(options.batch), "--workers", workers, "--until", f"seconds={options.seconds}", "--eval-every",
                   "1000", "--eval-examples", "1000", "--json", "--quiet"]
        return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)["examples_per_s"]

    names, rounds = options.pair.split("+"), []
    for _ in range(options.rounds):
        rounds.append([rate(name) for name in names] + [rate(options.pair)])
    ratios = [r[-1] / sum(r[:-1]) for r in rounds]
    print(json.dumps({"bench": "pair", "workers": options.pair, "model": options.model, "batch": options.batch,
                      "rounds": rounds, "ratio_best": max(ratios), "ratio_median": statistics.median(ratios)}), flush=True)


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
    parser.add_argument("--only", default="together,shares,pair")
    parser.add_argument("--pair", default="cpu:0+opencl:0.1")
    parser.add_argument("--model", default="mlp:256,256,256")
    parser.add_argument("--batch", type=int, default=256)
    options = parser.parse_args()
    parts = {"together": together, "shares": shares, "pair": pair}
    for name in options.only.split(","):
        parts[name](options)


if __name__ == "__main__":
    main()
