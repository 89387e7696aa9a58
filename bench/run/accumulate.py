#!/usr/bin/env python3
"""Accumulation on two host devices, against the tree and against one device alone.

    bench/run/accumulate.py [--drove build/release/drove] [--updates 4] [--rounds 3] [--models alexnet,googlenet,vgg16]

For each network, in turns within a round: `accumulate`, `accumulate:at-end` and `tree` on host:0+host:1, and
`accumulate` on the first half of the cores alone. Batches are small, as what matters is the number of parameters; images
are generated. Reported per method, of the round whose iteration was the shortest: the iteration's time, its phases, the
exchange exposed behind the last device's backward and its share of the iteration (goal: at most 1 %), and the
iteration over that of one device alone (weak scaling: 1 is perfect). JSON on the last lines, one a network.
"""
import argparse
import json
import subprocess

SIDE = {"alexnet": 227, "googlenet": 224, "vgg16": 224}
BATCH = {"alexnet": 8, "googlenet": 4, "vgg16": 1}
METHODS = [("accumulate", "host:0+host:1"), ("accumulate:at-end", "host:0+host:1"), ("tree", "host:0+host:1"),
           ("alone", "host:0?parts=2")]


def options():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--drove", default="build/release/drove")
    p.add_argument("--updates", type=int, default=4)
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--models", default="alexnet,googlenet,vgg16")
    return p.parse_args()


def run(o, model, method, workers):
    name = model.split("?")[0]
    side, batch = SIDE.get(name, 32), BATCH.get(name, 16)
    data = f"synth:images?size={side}&classes=1000&n={max(8 * batch, 64)}"
    strategy = "accumulate" if method == "alone" else method
    # "never" evaluated but at both ends, on one example each, so that the time is that of training
    words = [o.drove, "train", "--defaults", "classic", "--data", data, "--test", "none", "--model", model, "--batch", str(batch), "--strategy",
             strategy, "--workers", workers, "--until", f"updates={o.updates}", "--eval-every", "1000000",
             "--eval-examples", "1", "--lr", "0.0001", "--json", "--quiet"]
    return json.loads(subprocess.run(words, check=True, stdout=subprocess.PIPE).stdout)


def main():
    o = options()
    print("| network | method | iteration ms | forward | backward | exchange exposed | accumulate | update | broadcast |"
          " wait | exposed | over one alone |")
    print("|---|---|---|---|---|---|---|---|---|---|---|---|")
    lines = []
    for model in o.models.split(","):
        best = {}
        for _ in range(o.rounds):
            for method, workers in METHODS:
                s = run(o, model, method, workers)
                iteration = s["train_s"] / s["updates"]
                if method not in best or iteration < best[method][0]:
                    best[method] = (iteration, s["phases"], s.get("layers"), s["device_memory"])
        for method, _ in METHODS:
            iteration, ph, _, _ = best[method]
            ms = {k: v * 1e3 for k, v in ph.items()}
            print(f"| {model} | {method} | {iteration * 1e3:.1f} | {ms['forward']:.1f} | {ms['backward']:.1f} | "
                  f"{ms['exchange']:.3f} | {ms['accumulate']:.1f} | {ms['update']:.1f} | {ms['broadcast']:.1f} | "
                  f"{ms['wait']:.1f} | {100 * ph['exchange'] / iteration:.2f} % | {iteration / best['alone'][0]:.2f} |",
                  flush=True)
        lines.append(json.dumps({"model": model, **{m: {"iteration_s": b[0], "phases": b[1], "layers": b[2],
                                                        "device_memory": b[3]} for m, b in best.items()}}))
    print("\n".join(lines))


if __name__ == "__main__":
    main()
