#!/usr/bin/env python3
"""What a second (third ...) thread brings: examples per second of T threads over those of one, for each strategy.

    python3 bench/run/threads.py --drove build/release/drove [--batches 16,64,256] [--threads 1,2] [--rounds 5]

One thread and T threads are measured in turn (A B A B ...), on generated images, MLP 784-128-128-128-10; the ratio is
the median over the rounds.  Beside it stands what the cores must send each other at most: a dense step writes the
whole vector, so the step that follows it on another core finds all of it over there.  The time that this needs, from
the rate at which one core takes over lines that another has modified (build/release/bench/bench_handover), bounds the
gain.

Prints JSON lines and a table.
"""
import argparse
import json
import statistics
import subprocess

VECTOR_BYTES = 4 * 134912


def measure(args, strategy, batch, threads):
    epochs = max(4, min(24, batch // 8))
    command = [args.drove, "train", "--defaults", "classic", "--data", "synth:digits?n=60000", "--test", "", "--model", "mlp:128,128,128",
               "--batch", str(batch), "--lr", "0.01", "--threads", str(threads), "--strategy", strategy,
               "--bind", "compact", "--until", f"epochs={epochs}", "--eval-examples", "512",
               "--eval-every", str(epochs), "--json"]
    result = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(result.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--drove", default="build/release/drove")
    parser.add_argument("--strategies", default="hogwild,hogwild:copy,hogwild:live,leashed:inf,mutex,rwlock,sync,ssp:3,softsync:2")
    parser.add_argument("--batches", default="16,64,256")
    parser.add_argument("--threads", default="2", help="numbers of threads to compare with one")
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    table = []
    for batch in map(int, args.batches.split(",")):
        for threads in map(int, args.threads.split(",")):
            for strategy in args.strategies.split(","):
                pairs = []
                for _ in range(args.rounds):
                    one = measure(args, strategy, batch, 1)["examples_per_s"]
                    many = measure(args, strategy, batch, threads)["examples_per_s"]
                    pairs.append((one, many))
                row = {"strategy": strategy, "batch": batch, "threads": threads,
                       "one": round(statistics.median(p[0] for p in pairs)),
                       "many": round(statistics.median(p[1] for p in pairs)),
                       "ratio": round(statistics.median(p[1] / p[0] for p in pairs), 3),
                       "ratios": [round(p[1] / p[0], 3) for p in pairs],
                       "most_bytes_in_per_step": VECTOR_BYTES if threads > 1 else 0}
                print(json.dumps(row), flush=True)
                table.append(row)
    print(f"{'strategy':14s} batch threads  one/s     many/s    ratio")
    for r in table:
        print(f"{r['strategy']:14s} {r['batch']:5d} {r['threads']:7d} {r['one']:8d} {r['many']:10d} {r['ratio']:8.2f}")


if __name__ == "__main__":
    main()
