#!/usr/bin/env python3
"""Figures 2, 3, 5b and 6d of the Buckwild! paper with its 18 workers, on the virtual clock (docs/methods/virtual-time.md).

    python3 bench/run/low_precision_virtual.py [--drove build/release/drove] [--only fig2,fig6d,fig5b] [--out FILE]

    fig2     dense throughput over model size with 1 and 18 workers, beside equations 2 and 3, which is Figure 3
    fig6d    the same over model size and examples of an update, D8M8
    fig5b    throughput and training loss with 1 and 18 workers by rounding, D8M8, three seeds, beside the floats'; an example costs what one thread
             was measured to take (docs/results/low-precision.md, 2^12 features of Figures 5b and 2)

The machine is examples/machines/buckwild-18-cores.yaml.  Of figures 2 and 6d an example costs what the paper's base throughput (Table 2) says for
all sizes, with an update for each; so one worker's figures are inputs, those of 18 what lines that pass between cores make of them: once by
line_ns alone, as in the file, once also with take_gb_s, which the paper does not give (--take, of another machine: docs/results/virtual.md).
Prints tables in Markdown; --out appends a JSON line for each run.
"""
import argparse
import json
import math
import os
import statistics
import subprocess
import tempfile

import dmgc

HERE = os.path.dirname(os.path.abspath(__file__))
MACHINE = os.path.join(HERE, "../../examples/machines/buckwild-18-cores.yaml")
SIGNATURES = {"D8M8": "D8[i8]M8", "D16M16": "D16[i16]M16", "D32fM32f": "D32f[i32]M32f"}
SIZES = [2**8, 2**10, 2**12, 2**14, 2**16, 2**18]
MODEL_BYTES = {"D8M8": 1, "D16M16": 2, "D32fM32f": 4}
MEMORY_GB_S = 60  # of the file; an update of the model is charged at this rate
ONE_THREAD = {("D32fM32f", "shared"): 3.19, ("D8M8", "nearest"): 11.8, ("D8M8", "mt19937"): 0.855, ("D8M8", "xorshift"): 9.83,
              ("D8M8", "shared"): 11.1}  # GNPS, measured
WORKERS, UPDATES, ROWS = 18, 1800, 144


def amdahl(n, workers=WORKERS):
    """Equations 2 and 3: throughput of so many workers over that of one."""
    p = min(0.98, 0.15 * math.log(n / 256))
    return 1 / ((1 - p) + p / workers)


def example_us(signature, n, gnps):
    """What is left for the example, of the time of a step of one worker that makes so many GNPS."""
    return n * (1 / gnps - MODEL_BYTES[signature] / MEMORY_GB_S) * 1e-3


class Runs:
    def __init__(self, args):
        self.args = args

    def machine(self, folder, example_us, take_gb_s):
        with open(MACHINE) as f:
            lines = f.read()
        for key, value in (("batch_us", 0), ("example_us", example_us), ("copy_gb_s", 1e6), ("update_gb_s", 1e6)):
            assert f"{key}: measured" in lines
            lines = lines.replace(f"{key}: measured", f"{key}: {value:.9g}")
        path = os.path.join(folder, "machine.yaml")
        with open(path, "w") as f:
            f.write(lines + (f"take_gb_s: {take_gb_s}\n" if take_gb_s else ""))
        return path

    def run(self, figure, data, features, signature, workers, batch, example_us, take_gb_s, **options):
        """The line of one run."""
        with tempfile.TemporaryDirectory() as folder:
            command = [self.args.drove, "train", "--defaults", "classic", "--data", data, "--test", "none", "--model", "logistic",
                       "--precision", signature, "--strategy", "hogwild", "--threads", str(workers), "--batch", str(batch),
                       "--machine", self.machine(folder, example_us, take_gb_s), "--json", "--quiet"]
            for name, value in options.items():
                command += ["--" + name.replace("_", "-"), str(value)]
            summary = dmgc.call(command)
        line = {"figure": figure, "signature": signature, "features": features, "workers": workers, "batch": batch, "take_gb_s": take_gb_s}
        if "rounding" in options:
            line.update(rounding=options["rounding"], seed=options["seed"], loss=summary["loss"])
        line["gnps"] = float(f"{summary['gnps']:.4g}")
        if self.args.out:
            with open(self.args.out, "a") as f:
                f.write(json.dumps(line) + "\n")
        return line

    def gnps(self, figure, signature, n, workers, batch=1, take_gb_s=0):
        return self.run(figure, f"synth:logistic?n={ROWS}&d={n}", n, signature, workers, batch,
                        example_us(signature, n, dmgc.TABLE_2[SIGNATURES[signature]][0]), take_gb_s, lr=0.001,
                        until=f"updates={UPDATES if workers > 1 else 100}", eval_every=1e6, seed=1)["gnps"]


def table(head, rows):
    print("| " + " | ".join(head) + " |\n" + "|---" * len(head) + "|")
    for row in rows:
        print("| " + " | ".join(f"{v:.3g}" if isinstance(v, float) else str(v) for v in row) + " |")
    print(flush=True)


def fig2(runs):
    rows = []
    for signature in SIGNATURES:
        for n in SIZES:
            one = runs.gnps("fig2", signature, n, 1)
            lines, taken = (runs.gnps("fig2", signature, n, WORKERS, take_gb_s=take) for take in (0, runs.args.take))
            rows.append([signature, f"2^{n.bit_length() - 1}", one, one * amdahl(n), lines, taken, amdahl(n), lines / one, taken / one])
    near = [sum(abs(row[3] - row[c]) <= 0.5 * row[c] for row in rows) for c in (4, 5)]
    print(f"eq. 2 and 3 within 50 %: {near[0]} by lines, {near[1]} with bytes, of {len(rows)}")
    table(["signature", "features", "1 worker", "18, eq. 2 and 3", "18, lines", "18, lines and bytes", "over one, eq. 2 and 3", "lines",
           "lines and bytes"], rows)


def fig6d(runs):
    rows = []
    for batch in (1, 4, 16, 64, 256):
        rows.append([batch] + [runs.gnps("fig6d", "D8M8", n, WORKERS, batch, runs.args.take) for n in SIZES[:-1]])
    table(["batch"] + [f"2^{n.bit_length() - 1}" for n in SIZES[:-1]], rows)


def fig5b(runs):
    args = runs.args
    n, found = 4096, {}
    with tempfile.TemporaryDirectory(dir=args.work) as folder:
        for seed in range(1, args.seeds + 1):
            names = [os.path.join(folder, f"{seed}.{end}.npy") for end in "xy"]
            spec = f"synth:logistic?n={args.rows}&d={n}&seed={seed}"
            subprocess.run([args.drove, "data", "convert", spec, f"npy:{','.join(names)}"], check=True, capture_output=True)
            for case, gnps in ONE_THREAD.items():
                for workers in (1, WORKERS):
                    line = runs.run("fig5b", f"npy:{','.join(names)}?target=class", n, case[0], workers, 1, example_us(case[0], n, gnps), args.take,
                                    rounding=case[1], lr=0.001, until="epochs=5", eval_every=5, seed=seed)
                    found.setdefault((case, workers), []).append(line)
            for name in names:
                os.remove(name)
    rows = []
    for case, gnps in ONE_THREAD.items():
        lines = [found[case, workers] for workers in (1, WORKERS)]
        rows.append([case[0], case[1] if case[0] != "D32fM32f" else "", gnps, statistics.median(r["gnps"] for r in lines[1])])
        for losses in ([r["loss"] for r in of] for of in lines):
            rows[-1].append(f"{statistics.median(losses):.4f} ({min(losses):.4f} to {max(losses):.4f})")
    table(["signature", "rounding", "GNPS, 1 thread, measured", f"GNPS, {WORKERS} workers", "loss, 1 worker", f"loss, {WORKERS} workers"], rows)


FIGURES = {f.__name__: f for f in (fig2, fig6d, fig5b)}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--drove", default="build/release/drove")
    p.add_argument("--only", default=",".join(FIGURES))
    p.add_argument("--out")
    p.add_argument("--take", type=float, default=16, help="bytes that a core takes from another's cache, GB/s [16]")
    p.add_argument("--work", default="/tmp", help="folder for the data of fig5b")
    p.add_argument("--seeds", type=int, default=3)
    p.add_argument("--rows", type=int, default=8000, help="examples of fig5b [8000]")
    args = p.parse_args()
    runs = Runs(args)
    for name in args.only.split(","):
        FIGURES[name](runs)


if __name__ == "__main__":
    main()
