#!/usr/bin/env python3
"""Synthesises designs by Yosys, places and routes them by nextpnr for an ECP5, and computes examples per second.

    bench/fpga/synthesise.py [--bandwidth 1.6] [--bus 16] [--features 1024] [--only TEXT] [--lines FILE] [--work DIR]

--bus: bytes that a cycle loads, so a design has 8 bus / D lanes.  --bandwidth: of the memory, GB/s; the default is that
of 16-bit DDR3-800, which boards with this device have.  --only: designs whose name contains TEXT.  Cycles are those of the
simulation, in which a request waits 16 cycles for its first beat; then

    examples/s = min(clock / cycles of an example, bandwidth / bytes of an example)

Bytes are the data's and 4 of the target.  Exit status 77: a tool is not installed.
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import generate
import simulate
from generate import Design

DEVICE = ["--85k", "--package", "CABGA756", "--speed", "6"]
DEVICE_NAME = "LFE5U-85F, speed grade 6"
FREQUENCY = 100  # MHz, asked of nextpnr
SIGNATURES = ["D16M16", "D16M16G8", "D8M16", "D8M8", "D4M4"]
TARGET_BYTES = 4
PARTS = {"TRELLIS_COMB": "cells", "TRELLIS_FF": "flip_flops", "DP16KD": "block_rams", "MULT18X18D": "multipliers"}


def tool(name):
    """The program or its WebAssembly build of PyPI, as a path; None: neither."""
    beside = os.path.join(os.path.dirname(sys.executable), "yowasp-" + name)
    return shutil.which(name) or shutil.which("yowasp-" + name) or shutil.which(beside)


def missing():
    for name in ("yosys", "nextpnr-ecp5"):
        if tool(name) is None:
            return f"{name} is not installed, nor is yowasp-{name}"
    return simulate.missing()


def versions():
    def first_line(words):
        found = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout
        return next((line for line in found.splitlines() if re.search(r"\d\.\d", line)), "?").strip()
    return {"kind": "versions", "yosys": first_line([tool("yosys"), "-V"]),
            "nextpnr": first_line([tool("nextpnr-ecp5"), "--version"]),
            "verilator": first_line(["verilator", "--version"]), "device": DEVICE_NAME}


def run(words, folder, what):
    with open(os.path.join(folder, what + ".log"), "w") as log:
        done = subprocess.run(words, cwd=folder, stdout=log, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        sys.exit(f"{what} failed: {log.name}")


def place_and_route(design, folder):
    """Resources and the clock in MHz; the files lie in the folder, where the tools may be confined to it."""
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "top.v"), "w") as f:
        f.write(generate.top(design))
    for name in generate.SOURCES:
        shutil.copy(os.path.join(simulate.HERE, name), folder)
    script = f"read_verilog top.v {' '.join(generate.SOURCES)}; synth_ecp5 -top top -json top.json"
    run([tool("yosys"), "-q", "-p", script], folder, "yosys")
    run([tool("nextpnr-ecp5"), *DEVICE, "--json", "top.json", "--lpf-allow-unconstrained", "--timing-allow-fail", "--freq",
         str(FREQUENCY), "--seed", "1", "--report", "report.json"], folder, "nextpnr")
    with open(os.path.join(folder, "report.json")) as f:
        report = json.load(f)
    used = {word: report["utilization"].get(part, {}).get("used", 0) for part, word in PARTS.items()}
    return {**used, "mhz": round(min(clock["achieved"] for clock in report["fmax"].values()), 1)}


def cycles_of(design, folder, batches=12):
    """Cycles of an update, in the steady state, by simulation; the words are checked by the way."""
    record = simulate.compare(design, folder, rows=batches * design.batch)
    if record["different"]:
        sys.exit(f"{design.name}: {record['different']} words differ from model.py's")
    return record["cycles_per_update"]


def throughput(design, cycles_per_update, mhz, bandwidth):
    """examples/s of the design, and by memory alone."""
    computed = mhz * 1e6 * design.batch / cycles_per_update
    loaded = bandwidth * 1e9 / (design.features * design.d / 8 + TARGET_BYTES)
    return {"examples_per_s": round(min(computed, loaded)), "by_cycles": round(computed), "by_memory": round(loaded),
            "gnps": round(min(computed, loaded) * design.features / 1e9, 3)}


def make(signature, stages, batch, bus, features, unit="fixed"):
    w = generate.widths(signature)
    return simulate.make(w["d"], w["m"], w["g"], 8 * bus // w["d"], stages, batch, "xorshift", unit, features)


def designs(bus, features):
    """The table's: signatures, stages, batches; then units of their own batch, other roundings, fewer lanes."""
    found = [make(s, stages, batch, bus, features) for batch in (1, 16) for s in SIGNATURES for stages in (2, 3)
             if batch == 1 or s in ("D16M16", "D8M8", "D4M4")]
    eight = generate.widths("D8M8")
    common = {**eight, "lanes": bus, "features": features, **simulate.steps_of(8, 8, 8, features, 1, "fixed")}
    found += [make("D8M8", 3, 1, bus, features, "block"), Design(**common, rounding="nearest"),
              Design(**common, rounding="shared")]
    found += [make(s, 3, 1, bus * w // 16, features) for s, w in (("D8M8", 8), ("D4M4", 4))]
    return found


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--bandwidth", type=float, default=1.6)
    p.add_argument("--bus", type=int, default=16)
    p.add_argument("--features", type=int, default=1024)
    p.add_argument("--only", default="")
    p.add_argument("--lines")
    p.add_argument("--work")
    o = p.parse_args()
    if missing():
        print(f"skip: {missing()}")
        return 77
    work = o.work or tempfile.mkdtemp(prefix="drove-fpga-")
    with open(o.lines or os.devnull, "a") as lines:
        lines.write(json.dumps({**versions(), "bandwidth": o.bandwidth}) + "\n")
        for design in designs(o.bus, o.features):
            if o.only not in design.name:
                continue
            cycles = cycles_of(design, work)
            placed = place_and_route(design, os.path.join(work, "place-" + design.name))
            record = {"kind": "synthesis", "design": design.name, "signature": design.signature, "lanes": design.lanes,
                      "features": design.features, "stages": design.stages, "batch": design.batch,
                      "rounding": design.rounding, "unit": design.unit, "cycles_per_example": cycles / design.batch,
                      **placed, **throughput(design, cycles, placed["mhz"], o.bandwidth)}
            lines.write(json.dumps(record) + "\n")
            lines.flush()
            print(f"{design.name:42} {placed['cells']:6} cells {placed['flip_flops']:5} flip-flops "
                  f"{placed['block_rams']:3} block RAMs {placed['multipliers']:3} multipliers {placed['mhz']:6.1f} MHz "
                  f"{record['examples_per_s']:8} examples/s", flush=True)
    if not o.work:
        shutil.rmtree(work)
    return 0


if __name__ == "__main__":
    sys.exit(main())
