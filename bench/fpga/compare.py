#!/usr/bin/env python3
"""Compares designs with drove itself: the same data, order and steps, and every word of the two models.

    bench/fpga/compare.py [--drove build/release/drove] [--quick] [--lines FILE] [--work DIR]

drove trains a linear regression without intercept under `--precision SIGNATURE?simulated=yes`, rounding to the
nearest; the design gets the same rows in the same order from a simulated memory.  The data are numbers of D bits.
Equal bits are to be expected while all sums are below 2^24, as drove's are floats; this is checked.  Random rounding
has no such comparison: drove seeds its generators anew for each batch, hardware does not.

Exit status 0: all words equal; 1: not; 77: something is not installed.
"""
import argparse
import json
import os
import shutil
import struct
import subprocess
import sys

import generate
import simulate

try:
    import numpy as np

    import model
except ImportError:
    np = None

MASK = 2**64 - 1
GOLDEN = 0x9E3779B97F4A7C15
ORDER = 2  # the purpose of the stream in src/base/rng.h
EXACT = 2**24
FEATURES, ROWS, EPOCHS, SEED = 64, 96, 2, 3
# a linear model without intercept
LAYER = f'''layers:
  - {{name: out, type: convolution, channels: 1, kernel: [1, {FEATURES}], bias: false, weight_init: "constant:0"}}
'''
STEP_BITS = 4  # the step size is 2^-4
RANGE = 2      # the model's

# precision, most bits that the data use, lanes, stages, batch; the data lie in (-1, 1)
CASES = [("D8M8", 8, 4, 3, 1), ("D8M8", 8, 16, 2, 16), ("D8M8G4", 8, 4, 2, 1), ("D6M6", 6, 4, 2, 4),
         ("D4M4", 4, 16, 3, 1), ("D8M16", 8, 1, 3, 4), ("D16M16", 6, 4, 3, 1), ("D16M16", 6, 4, 2, 4),
         ("D2M8", 2, 16, 2, 1), ("D5M7G3", 5, 4, 3, 16)]
QUICK = [0, 3]


# ---- the order of the examples: src/base/rng.c, src/loop/order.c ----

def splitmix(state):
    state = state + GOLDEN & MASK
    z = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ z >> 27) * 0x94D049BB133111EB & MASK
    return state, z ^ z >> 31


def mix(z):
    return splitmix(z - GOLDEN & MASK)[1]


def stream_name(seed, purpose, index):
    name = mix(seed + GOLDEN & MASK)
    name = mix(name + purpose * GOLDEN & MASK)
    return mix(name ^ index * GOLDEN & MASK)


def permutation(n, seed, epoch):
    """The rows of an epoch in their order, under --order shuffle: a Feistel network with cycle walking."""
    half = ((n - 1).bit_length() + 1) // 2
    mask, state, key = 2**half - 1, stream_name(seed, ORDER, epoch), []
    for _ in range(4):
        state, number = splitmix(state)
        key.append(number)

    def feistel(i):
        shifted = i + (key[0] >> 5) & MASK
        left, right = shifted >> half & mask, shifted & mask
        for k in range(16 if half <= 5 else 8):
            x = (right + key[k & 3] + k & MASK) * GOLDEN & MASK
            x = (x ^ x >> 32) * 0xD6E8FEB86659FD93 & MASK
            left, right = right, left ^ x >> 32 & mask
        return left << half | right

    def walk(i):
        i = feistel(i)
        while i >= n:
            i = feistel(i)
        return i

    return [walk(i) for i in range(n)]


# ---- the two runs ----

def data_of(case):
    """x and t in integers: numbers of so many bits, targets of another model with noise."""
    precision, bits = case[:2]
    rng = np.random.default_rng(len(precision) + 10 * bits + 100 * case[4])
    m = generate.widths(precision)["m"]
    most_x, most_w = 2 ** (bits - 1) - 1, 2 ** (min(m, 10) - 1) - 1
    x = rng.integers(-most_x, most_x, (ROWS, FEATURES), endpoint=True)
    goal = rng.integers(-most_w // 2, most_w // 2, FEATURES, endpoint=True)
    return x, x @ goal + rng.integers(-most_x, most_x, ROWS, endpoint=True)


def read_weights(path, n):
    with open(path, "rb") as f:
        (size,) = struct.unpack("<Q", f.read(8))
        tensors = json.loads(f.read(size))
        first, last = tensors["out.weight"]["data_offsets"]
        f.seek(8 + size + first)
        return np.frombuffer(f.read(last - first), dtype="<f4")[:n]


def run_drove(drove, case, x, t, folder):
    """The words of drove's model."""
    precision, bits, _, _, batch = case
    m = generate.widths(precision)["m"]
    unit_w = RANGE * 2.0 ** (1 - m)
    os.makedirs(folder, exist_ok=True)
    names = {name: os.path.join(folder, name) for name in ("x.npy", "y.npy", "net.yaml", "out")}
    np.save(names["x.npy"], (x * 2.0 ** (1 - bits)).astype("f4").reshape(-1, 1, 1, FEATURES))
    np.save(names["y.npy"], (t * 2.0 ** (1 - bits) * unit_w).astype("f4"))
    with open(names["net.yaml"], "w") as f:
        f.write(LAYER)
    shutil.rmtree(names["out"], ignore_errors=True)
    options = {"data": f"npy:{names['x.npy']},{names['y.npy']}?target=value", "model": names["net.yaml"],
               "loss": "squared", "precision": f"{precision}?simulated=yes", "rounding": "nearest", "rule": "sgd",
               "lr": 2.0**-STEP_BITS, "schedule": "constant", "batch": batch, "order": "shuffle", "strategy": "sequential",
               "threads": 1, "model-range": RANGE, "until": f"epochs={EPOCHS}", "eval-every": EPOCHS,
               "defaults": "classic", "test": "none", "seed": SEED, "out": names["out"]}
    words = [drove, "train", *(f"--{key}={value}" for key, value in options.items()), "--quiet"]
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(words)}\n{done.stdout}")
    weights = read_weights(os.path.join(names["out"], "model.safetensors"), FEATURES) / unit_w
    found = np.rint(weights).astype(np.int64)
    assert (found == weights).all(), "weights are not on the model's grid"
    return found


def check_exact(largest, x, design):
    """Sums of floats are exact below 2^24; so partial sums of any order must be."""
    most_x = int(np.abs(x).max())
    sums = {"outputs": FEATURES * most_x * largest["w"], "errors": largest["error"],
            "updates": design.batch * most_x * 2 ** (design.g - 1)}
    for what, bound in sums.items():
        assert bound < EXACT, f"{design.name}: {what} may be inexact in floats: {bound}"


def compare(drove, case, work):
    precision, bits, lanes, stages, batch = case
    step = 2 * (bits - 1) + STEP_BITS + batch.bit_length() - 1
    design = generate.Design(**generate.widths(precision), lanes=lanes, stages=stages, batch=batch, step=step,
                             features=FEATURES)
    folder = os.path.join(work, "drove-" + design.name)
    x, t = data_of(case)
    order = [row for epoch in range(EPOCHS) for row in permutation(ROWS, SEED, epoch)]
    start, largest = np.zeros(FEATURES, dtype=np.int64), {}
    expected = model.train(design, start, x[order], t[order], largest)
    check_exact(largest, x, design)
    of_drove = run_drove(drove, case, x, t, folder)
    of_verilog = simulate.run(design, simulate.build(design, folder), start, x[order], t[order])[0]
    return {"design": design.name, "words": FEATURES, "updates": len(order) // batch,
            "largest": int(np.abs(of_drove).max()), "distinct": len(set(of_drove.tolist())),
            "different": int((of_drove != of_verilog).sum()), "different_model": int((of_drove != expected).sum())}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--drove", default=os.path.join(simulate.HERE, "..", "..", "build", "release", "drove"))
    p.add_argument("--quick", action="store_true")
    p.add_argument("--lines")
    p.add_argument("--work")
    options = p.parse_args()
    reason = simulate.missing() or (None if shutil.which(options.drove) else f"no program {options.drove}")
    if reason:
        print(f"skip: {reason}")
        return 77
    cases = [CASES[i] for i in QUICK] if options.quick else CASES
    bad = simulate.check_all(options, "drove", cases, lambda case, work: compare(options.drove, case, work),
                             lambda r: f"{r['design']:40} {r['updates']:4} updates, {r['words']} words, {r['distinct']:3} distinct, largest "
                                       f"{r['largest']:5}: {r['different']} differ from drove's")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
