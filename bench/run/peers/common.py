"""What the programs of this folder share: MNIST as arrays, and the line that each of them prints.

A program is run as `PROGRAM --data DIR --batch N --lr X --target A --epochs N --workers N --seed N [--mode WORD]` and prints one JSON
object: import_s (until its library was there), load_s, train_s (to the target, without evaluations), epochs, accuracy (on the test
set), reached, examples_per_s, best_per_s (of its fastest epoch, without what is compiled in the first), version.
"""
import argparse
import gzip
import json
import os
import subprocess
import sys
import time

import numpy as np

LAYERS = (784, 128, 128, 128, 10)


def arguments():
    p = argparse.ArgumentParser()
    p.add_argument("--data", required=True)
    p.add_argument("--batch", type=int, default=64)
    p.add_argument("--lr", type=float, default=0.1)
    p.add_argument("--target", type=float, default=0.97)
    p.add_argument("--epochs", type=int, default=10)
    p.add_argument("--workers", type=int, default=1)
    p.add_argument("--mode", default="")
    p.add_argument("--seed", type=int, default=1)
    return p.parse_args()


def idx(path, header):
    with gzip.open(path) as f:
        return np.frombuffer(f.read(), dtype=np.uint8, offset=header)


# A process begins with the resident size of the one that started it: this one is small.
LAUNCH = """
import os, sys, time
start = time.perf_counter()
pid = os.spawnvp(os.P_NOWAIT, sys.argv[2], sys.argv[2:])
_, status, used = os.wait4(pid, 0)
os.write(int(sys.argv[1]), b"%.6f %d" % (time.perf_counter() - start, used.ru_maxrss))
sys.exit(os.waitstatus_to_exitcode(status) & 255)
"""


def watched(command):
    """Runs a command; status, its output, its messages, seconds, and the largest resident size of its processes in MB."""
    seen, told = os.pipe()
    done = subprocess.run([sys.executable, "-S", "-c", LAUNCH, str(told), *command], capture_output=True, text=True, pass_fds=[told])
    os.close(told)
    with os.fdopen(seen) as f:
        seconds, kib = f.read().split()
    return done.returncode, done.stdout, done.stderr, float(seconds), int(kib) / 1024


def mnist(folder):
    """Training and test images [n][784], float in [0, 1], and labels [n]."""
    out = []
    for part in ("train", "t10k"):
        x = idx(f"{folder}/{part}-images-idx3-ubyte.gz", 16).reshape(-1, LAYERS[0])
        out += [x.astype(np.float32) / 255, idx(f"{folder}/{part}-labels-idx1-ubyte.gz", 8).astype(np.int64)]
    return out


class Race:
    """Counts what a training run takes to the target; the clock stands while it is evaluated."""

    def __init__(self, args, version, import_s, load_s, rows):
        self.args, self.rows = args, rows
        self.line = {"version": version, "import_s": import_s, "load_s": load_s}
        self.train_s, self.n_epochs = 0.0, 0

    def run(self, epoch, accuracy):
        """epoch(k) trains on all rows once; accuracy() is on the test set."""
        reached, score, best_s = False, 0.0, float("inf")
        while not reached and self.n_epochs < self.args.epochs:
            start = time.perf_counter()
            epoch(self.n_epochs)
            epoch_s = time.perf_counter() - start
            self.train_s, best_s = self.train_s + epoch_s, min(best_s, epoch_s)
            self.n_epochs += 1
            score = float(accuracy())
            reached = score >= self.args.target
        self.line.update(train_s=self.train_s, epochs=self.n_epochs, accuracy=score, reached=reached,
                         examples_per_s=self.n_epochs * self.rows / max(self.train_s, 1e-9), best_per_s=self.rows / best_s)
        print(json.dumps(self.line), flush=True)


def batches(rng, rows, batch):
    """The order of one epoch: [n_batches][batch] row numbers; what does not fill a batch is left out."""
    n = rows // batch
    return rng.permutation(rows)[:n * batch].reshape(n, batch)
