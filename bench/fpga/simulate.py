#!/usr/bin/env python3
"""Simulates designs by Verilator, and compares every word of the model with model.py's.

    bench/fpga/simulate.py [--quick] [--lines FILE] [--work DIR]

Prints a line for each design, and JSON lines to FILE.  --quick: few designs.  Exit status 0: all words equal; 1: not;
77: Verilator or numpy is not installed.
"""
import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

import generate
from generate import Design

try:
    import numpy as np

    import model
except ImportError:
    np = None

HERE = os.path.dirname(os.path.abspath(__file__))
COMMAND = 16  # cycles of memory latency before a request's first beat


def missing():
    """Why nothing can be simulated here, or None."""
    if np is None:
        return "numpy is not installed"
    for tool in ("verilator", "make", "g++"):
        if shutil.which(tool) is None:
            return f"{tool} is not installed"
    return None


def build(design, folder):
    """The simulator of a design, as a path."""
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "top.v"), "w") as f:
        f.write(generate.top(design))
    words = ["verilator", "--cc", "--exe", "--build", "-j", "1", "-Wno-fatal", "-Wno-lint", "-Wno-style"]
    words += ["--top-module", "top", "--Mdir", folder, "-o", "bench", "-CFLAGS", "-O1", os.path.join(folder, "top.v")]
    words += [os.path.join(HERE, name) for name in [*generate.SOURCES, "bench.cpp"]]
    env = dict(os.environ)
    if shutil.which("ccache"):
        env.setdefault("OBJCACHE", "ccache")
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env)
    if done.returncode != 0:
        sys.exit(f"{design.name}: Verilator failed\n{done.stdout}")
    return os.path.join(folder, "bench")


def packed(values, bits):
    """values[n][k] as n rows of 32-bit words, each value `bits` wide, the first one lowest."""
    values = np.asarray(values, dtype=np.int64)
    places = (values[:, :, None] >> np.arange(bits)) & 1
    flat = places.reshape(len(values), -1)
    padded = np.zeros((len(values), -(-flat.shape[1] // 32) * 32), dtype=np.uint8)
    padded[:, :flat.shape[1]] = flat
    return np.packbits(padded, axis=1, bitorder="little").view("<u4")


def write_input(design, w, x, t, path):
    p = design
    parts = packed(x.reshape(-1, p.lanes), p.d).reshape(len(x), -1)
    targets = np.stack([t & 0xFFFFFFFF, t >> 32 & 0xFFFFFFFF], axis=1).astype("<u4")
    head = np.array([p.processed, p.beats, p.processed // p.lanes, p.batch, len(x)], dtype="<u4")
    with open(path, "wb") as f:
        head.tofile(f)
        (w & (2**p.m - 1)).astype("<u4").tofile(f)
        np.concatenate([targets, parts], axis=1).tofile(f)


def run(design, bench, w, x, t, command=COMMAND, pause=0):
    """(the model, cycles in all, updates, cycles between the first and the last update)"""
    folder = os.path.dirname(bench)
    data, out = os.path.join(folder, "input"), os.path.join(folder, "output")
    write_input(design, np.asarray(w), np.asarray(x), np.asarray(t), data)
    done = subprocess.run([bench, data, out, str(command), str(pause)], check=True, stdout=subprocess.PIPE, text=True)
    half = 1 << (design.m - 1)
    words = np.fromfile(out, dtype="<u4").astype(np.int64)
    return ((words ^ half) - half, *map(int, done.stdout.split()))


def problem(design, rows, seed=1):
    """Data over all their range, a model in the middle of its own, targets of another model with noise."""
    p, rng = design, np.random.default_rng(seed)
    most_x, most_w = 2 ** (p.d - 1) - 1, 2 ** (p.m - 1) - 1
    x = rng.integers(-most_x, most_x, (rows, p.features), endpoint=True)
    w = rng.integers(-most_w // 2, most_w // 2, p.features, endpoint=True)
    goal = rng.integers(-most_w, most_w, p.features, endpoint=True)
    t = x @ goal + rng.integers(-most_x, most_x, rows, endpoint=True)
    return w, x, t


def steps_of(d, m, g, features, batch, unit):
    """A step and a unit of gradients with which words change by a few units in an update."""
    error = d + m - 2 + (features.bit_length() >> 1)
    gshift = max(0, error - g + 2)
    return {"step": max(gshift, error + d - 3 + (batch.bit_length() >> 1)), "gshift": gshift, "unit": unit}


def make(d, m, g, lanes, stages, batch, rounding, unit="block", features=64):
    return Design(d=d, m=m, g=g, lanes=lanes, stages=stages, batch=batch, rounding=rounding, features=features,
                  **steps_of(d, m, g, features, batch, unit))


def designs(quick):
    """Every value of each parameter with many of the others."""
    saturating = make(8, 8, 8, 4, 3, 4, "xorshift")
    saturating.step -= 5
    if quick:
        return [saturating, make(6, 4, 5, 4, 2, 1, "shared"),
                make(16, 16, 8, 1, 3, 1, "nearest", features=16), make(4, 8, 4, 16, 2, 4, "xorshift", "fixed")]
    found, pick = [saturating], random.Random(1)
    widths = [(4, 4, 4), (8, 8, 8), (8, 16, 8), (16, 16, 16), (6, 6, 6), (2, 8, 4), (16, 8, 16), (3, 2, 12)]
    for i, (d, m, g) in enumerate(widths):
        for stages in (2, 3):
            for unit in ("block", "fixed"):
                found.append(make(d, m, g, pick.choice([1, 4, 16]), stages, pick.choice([1, 4, 16]),
                                  generate.ROUNDINGS[len(found) % 3], unit, features=pick.choice([64, 96, 128])))
    return found


def compare(design, folder, rows=0):
    """A record: cycles, and the words that differ.  rows 0: a few batches."""
    rows = rows or 4 * max(16, design.batch)
    w, x, t = problem(design, rows)
    largest = {}
    expected = model.train(design, w, x, t, largest)
    bench = build(design, os.path.join(folder, design.name))
    found, total, updates, between = run(design, bench, w, x, t)
    wrong = np.flatnonzero(found != expected)
    return {"design": design.name, "rows": rows, "words": len(w), "different": len(wrong),
            "changed": int((expected != w).sum()), "lowest": int((expected == design.lowest).sum()),
            "highest": int((expected == 2 ** (design.m - 1) - 1).sum()), "cycles": total, "updates": updates, "cycles_per_update": between / (updates - 1)}


def check_all(options, kind, cases, compare_one, describe):
    """Compares each case in a folder; its record goes to the lines, its description to the terminal.  Returns how many differ."""
    work = options.work or tempfile.mkdtemp(prefix="drove-fpga-")
    bad = 0
    with open(options.lines or os.devnull, "a") as lines:
        for case in cases:
            record = compare_one(case, work)
            lines.write(json.dumps({"kind": kind, **record}) + "\n")
            bad += record["different"] > 0
            print(describe(record), flush=True)
    if not options.work:
        shutil.rmtree(work)
    print(f"{bad} designs differ" if bad else "all words equal")
    return bad


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--quick", action="store_true")
    p.add_argument("--lines")
    p.add_argument("--work")
    options = p.parse_args()
    if missing():
        print(f"skip: {missing()}")
        return 77
    bad = check_all(options, "simulation", designs(options.quick), compare,
                    lambda r: f"{r['design']:46} {r['words']:4} words, {r['changed']:4} changed, {r['different']:3} differ; "
                              f"{r['cycles_per_update']:7.1f} cycles an update")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
