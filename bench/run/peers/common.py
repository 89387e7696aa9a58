"""What the programs of this folder share: MNIST as arrays, and the line that each of them prints.

A program is run as `PROGRAM --data DIR --batch N --lr X --target A --epochs N --workers N --seed N [--mode WORD]` and prints one JSON
object: import_s (until its library was there), load_s, train_s (to the target, without evaluations), epochs, accuracy (on the test
set), reached, examples_per_s, best_per_s (of its fastest epoch, without what is compiled in the first), version.  With --serve it
trains when it is told to, as serve() below has it.
"""
import argparse
import gzip
import json
import os
import subprocess
import sys
import time

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import pinned

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
    p.add_argument("--serve", action="store_true")
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
os.write(int(sys.argv[1]), b"%.6f %.6f %d" % (time.perf_counter() - start, used.ru_utime, used.ru_maxrss))
sys.exit(os.waitstatus_to_exitcode(status) & 255)
"""


def watched(command, n_cores):
    """Runs a command on n_cores processors; status, its output, its messages, and what was seen from outside: whole_s, used (user time
    over wall time), and memory_mb, the largest resident size of its processes."""
    seen, told = os.pipe()
    launch = pinned.on(n_cores, [sys.executable, "-S", "-c", LAUNCH, str(told), *command])
    done = subprocess.run(launch, capture_output=True, text=True, pass_fds=[told])
    os.close(told)
    with os.fdopen(seen) as f:
        seconds, user_s, kib = f.read().split()
    outside = {"whole_s": float(seconds), "used": float(user_s) / float(seconds), "memory_mb": int(kib) / 1024}
    return done.returncode, done.stdout, done.stderr, outside


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
        self.args, self.rows = args, rows // args.batch * args.batch  # as batches() has them
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


def serve(train, rows):
    """For each line `BATCH SECONDS` of the standard input: epochs of that batch, train(batch), for so long; prints examples a second."""
    print("ready", flush=True)
    for line in sys.stdin:
        batch, seconds = int(line.split()[0]), float(line.split()[1])
        n, start = 0, time.perf_counter()
        while n == 0 or time.perf_counter() - start < seconds:
            train(batch)
            n += 1
        print(n * (rows // batch * batch) / (time.perf_counter() - start), flush=True)
