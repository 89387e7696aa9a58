#!/usr/bin/env python3
"""What initialisations do on the deep sigmoid networks of the heterogeneous paper: first loss, gradients, loss reached.

    python3 bench/run/init.py [--drove build/release/drove] [--data DIR] [--networks covtype,w8a,delicious,sector]
                              [--inits normal:512,normal:0.01,...] [--rates 0.001,0.01,...] [--updates N] [--quick] [--out FILE]

Plain sequential SGD in one thread, batches of 64, so that figures repeat to the bit.  Each initialisation is run with each
step size (powers of ten, as the paper grids them) and the one with the least loss at the end is shown, loss of a crashed
run being infinite.  `first` and `last`: root mean square of the elements of the first batch's gradient in the weights of
the first and the last layer, of 512 examples.  `prior`: the loss of one who knows how often each class or label occurs and
nothing else; whoever does not get below it has learned nothing.  JSON lines, one a run, go to --out, appended.
"""
import argparse
import array
import gzip
import json
import math
import os
import struct
import subprocess
import tempfile

import dmgc
import networks

INITS = "normal:512,normal:1,normal:0.01,he:1,xavier:1,xavier:2,xavier:4,xavier:6,xavier:8,xavier:12"
SAMPLED = 1 << 20  # elements of a tensor that are looked at, at most


def weights(path):
    """{layer: array of its weights}, of a safetensors file; large layers sampled."""
    with open(path, "rb") as f:
        header = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
        start = f.tell()
        found = {}
        for name, tensor in header.items():
            if not name.endswith(".weight"):
                continue
            begin, end = tensor["data_offsets"]
            f.seek(start + begin)
            values = array.array("f")
            values.frombytes(f.read(end - begin))
            found[int(name[5:-7])] = values[::1 + len(values) // SAMPLED]
    return found


def gradients(args, network, init):
    """Root mean squares of the gradient in the first and the last layer: how far one step of a large size moves them from
    where one without a size leaves them."""
    rate = 1000.0
    with tempfile.TemporaryDirectory() as scratch:
        models = []
        for lr in (1e-30, rate):
            folder = os.path.join(scratch, str(lr))
            command = network.command(args.drove, init=init, lr=lr, seed=args.seed, strategy="sequential",
                                      workers="threads:1", batch=512, until="updates=1", eval_examples=64, out=folder,
                                      save_every="never")
            subprocess.run(command, capture_output=True)
            path = os.path.join(folder, "model.safetensors")
            if not os.path.exists(path):
                return None, None
            models.append(weights(path))
        first, last = min(models[0]), max(models[0])
        moved = [[a - b for a, b in zip(models[0][k], models[1][k])] for k in (first, last)]
    return [math.sqrt(sum(d * d for d in of) / len(of)) / rate for of in moved]


def entropy(counts, n):
    return -sum(c / n * math.log(c / n) for c in counts if 0 < c < n)


def prior(network, drove):
    """Loss of the class frequencies; read from the file itself, which is LIBSVM's."""
    labels, n, many = {}, 0, "delicious" in network.data
    with gzip.open(network.data.split(":", 1)[1].split("?")[0], "rt") as f:
        for line in f:
            n += 1
            word = line.split(" ", 1)[0]
            for label in word.split(",") if word else []:
                labels[label] = labels.get(label, 0) + 1
    if not many:
        return entropy(labels.values(), n)
    return sum(entropy((c, n - c), n) for c in labels.values())


def good(loss):
    return loss if loss is not None and loss == loss else float("inf")


def record(args, row):
    if args.out:
        with open(args.out, "a") as f:
            f.write(json.dumps(row) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--drove", default="build/release/drove")
    parser.add_argument("--data", default="../shared/data", help="folder that the run files call data/")
    parser.add_argument("--networks", default=",".join(networks.NAMES))
    parser.add_argument("--inits", default=INITS)
    parser.add_argument("--rates", default="0.001,0.01,0.1")
    parser.add_argument("--updates", type=int, default=None, help="[300; quick 30]")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--out", default=None)
    args = parser.parse_args()
    args.updates = args.updates or (30 if args.quick else 300)
    machine = dmgc.origin(args)
    print(f"commit {machine['commit']}; {machine['command']}")
    record(args, machine)
    for network in networks.networks(args.networks, args.data):
        rows = []
        for init in args.inits.split(","):
            first, last = gradients(args, network, init)
            runs = []
            for rate in args.rates.split(","):
                run = networks.train(network.command(
                    args.drove, init=init, lr=rate, seed=args.seed, strategy="sequential", workers="threads:1",
                    batch=64, until=f"updates={args.updates}", eval_every=1000, eval_examples=5000))
                del run["workers"], run["curve"]
                runs.append((good(run["loss"]) if run["outcome"] != "crashed" else float("inf"), rate, run))
                record(args, {"bench": "init", "network": network.name, "init": init, "lr": rate, "first": first,
                              "last": last, **run})
            loss, rate, run = min(runs, key=lambda r: r[0])
            rows.append([init, run["loss_initial"], first, last, loss, rate, run["accuracy"],
                         " ".join(f"{r[0]:.4g}" for r in runs)])
            networks.progress(f"{network.name} {init}: {rows[-1]}")
        dmgc.table(f"{network.name}, {args.updates} updates of 64: prior {prior(network, args.drove):.4g}",
                   ["", "first loss", "first", "last", "loss", "step", "accuracy", f"loss with {args.rates}"], rows)


if __name__ == "__main__":
    main()
