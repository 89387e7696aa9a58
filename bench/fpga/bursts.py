#!/usr/bin/env python3
"""Plain and mini-batch SGD by the length of an example in bursts of memory, in cycles.

    bench/fpga/bursts.py [--batch 16] [--precision D8M8] [--lanes 16] [--quick] [--lines FILE] [--work DIR]

A burst has 64 bytes.  Each request waits 16 cycles for its first beat; plain SGD makes a request for each example.
Prints cycles of an example, and how many times as many examples a second mini-batches give.  Exit status 77:
Verilator or numpy is not installed.
"""
import argparse
import json
import os
import shutil
import sys
import tempfile

import generate
import simulate

BURST_BYTES = 64
BURSTS = [1, 2, 4, 8, 16, 32, 64, 100, 128]


def cycles(widths, lanes, features, stages, batch, work):
    """Cycles of an example in the steady state."""
    design = simulate.make(**widths, lanes=lanes, stages=stages, batch=batch, rounding="xorshift", unit="fixed",
                           features=features)
    record = simulate.compare(design, work, rows=8 * batch)
    if record["different"]:
        sys.exit(f"{design.name}: {record['different']} words differ from model.py's")
    return record["cycles_per_update"] / batch


def measure(o, stages, bursts, work):
    widths = generate.widths(o.precision)
    features = bursts * BURST_BYTES * 8 // widths["d"]
    plain, mini = (cycles(widths, o.lanes, features, stages, batch, work) for batch in (1, o.batch))
    return {"kind": "bursts", "precision": o.precision, "lanes": o.lanes, "stages": stages, "bursts": bursts,
            "features": features, "batch": o.batch, "plain": plain, "mini_batch": mini, "ratio": round(plain / mini, 3)}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--batch", type=int, default=16)
    p.add_argument("--precision", default="D8M8")
    p.add_argument("--lanes", type=int, default=16)
    p.add_argument("--quick", action="store_true")
    p.add_argument("--lines")
    p.add_argument("--work")
    o = p.parse_args()
    if simulate.missing():
        print(f"skip: {simulate.missing()}")
        return 77
    work = o.work or tempfile.mkdtemp(prefix="drove-fpga-")
    with open(o.lines or os.devnull, "a") as lines:
        for stages in (2, 3):
            for bursts in [2, 16] if o.quick else BURSTS:
                r = measure(o, stages, bursts, work)
                lines.write(json.dumps(r) + "\n")
                print(f"{r['precision']}, {stages} stages, {bursts:3} bursts: plain {r['plain']:7.1f}, mini-batch "
                      f"{r['mini_batch']:7.1f} cycles an example: {r['ratio']:.2f}", flush=True)
    if not o.work:
        shutil.rmtree(work)
    return 0


if __name__ == "__main__":
    sys.exit(main())
