#!/usr/bin/env python3
"""The throughput figures of the Buckwild! paper on this machine: Table 2 and Figures 2, 3, 4a, 4b, 4c, 5b, 6a, 6b, 6d.

    python3 bench/run/low_precision.py [--drove build/release/drove] [--only table2,fig2,...] [--quick] [--out DIR]
                                       [--pictures svg|png]

Prints tables; with --out DIR also DIR/low_precision.jsonl, one record a measurement behind one of the machine and the
commit, and, where gnuplot is installed, a picture a figure.  About ten minutes; --quick, with few sizes and short
measurements on little data, less than one.

    table2   nine signatures, dense and sparse, one thread and all, beside the paper's, and those of 4 bits (drove bench
             linear)
    fig2     throughput over model size, by signature and threads, one shared model and replicas
    fig3     measured against predicted, from the records of fig2 (constants: drove bench calibrate, else the paper's)
    fig4     hand-written kernels against those that the compiler makes of plain C (--isa ref) over model size: 4a dense,
             4b sparse, 4c their geometric means
    fig5b    kinds of rounding over model size
    fig6ab   prefetching on and off over model size: 6a dense, 6b sparse.  Without access to the processor's prefetchers
             the kernels' hints are switched instead, and the title says so
    fig6d    examples of an update over model size
"""
import argparse
import json
import math
import os
import subprocess

import dmgc

SIZES = {"quick": [2**10, 2**16], "full": [2**8, 2**10, 2**12, 2**14, 2**16, 2**18, 2**20, 2**22]}
FOUR_BITS = ["D8M4", "D4M8", "D4M4"]
DENSE = ["D8M8", "D16M16", "D32fM32f"]
SPARSE = ["D8i8M8", "D16i16M16", "D32fi32M32f"]


class Run:
    def __init__(self, args):
        self.args, self.records = args, []
        self.sizes = SIZES["quick" if args.quick else "full"]
        self.threads = dmgc.call([args.drove, "bench", "memory", "--seconds", "0.001", "--bytes", "64MiB", "--json"])["n_processors"]

    def measure(self, figure, signature, n, threads=1, sparse=False, **options):
        r = {"bench": figure, **dmgc.measure(self.args, signature, n, threads, sparse, **options)}
        self.records.append(r)
        return r

    def of(self, figure):
        return [r for r in self.records if r["bench"] == figure]

    def picture(self, figure, title, lines, y="GNPS"):
        if self.args.out:
            dmgc.plot(os.path.join(self.args.out, f"{figure}.{self.args.pictures}"), title, lines, y)

    def over_sizes(self, figure, title, variants):
        """variants: {name: arguments of measure}; a table and a picture of GNPS over model size."""
        lines = {name: [(n, self.measure(figure, n=n, **how)["gnps"]) for n in self.sizes] for name, how in variants.items()}
        dmgc.table(f"{title}: GNPS over model size", [""] + [str(n) for n in self.sizes],
                   [[name] + [value for _, value in points] for name, points in lines.items()])
        self.picture(figure, title, lines)
        return lines


def table2(run):
    args = run.args
    command = [args.drove, "bench", "linear", "--json", "--seconds", str(args.seconds), "--bytes", args.bytes if args.quick else "1GiB"]
    rows = dmgc.call(command)["rows"]
    run.records += [{"bench": "table2", **r, "command": " ".join(command[1:])} for r in rows]
    for sparse, problem in enumerate(("dense", "sparse")):
        out = []
        table = [*dmgc.TABLE_2.items(), *((s, (None, None)) for s in FOUR_BITS if not sparse)]
        for signature, paper in table:
            mine = [r for r in rows if r["signature"] == signature and r["problem"] == problem]
            one, shared, replicas = mine if len(mine) > 1 else (mine[0], None, None)
            out.append([signature, paper[sparse], one["gnps"], one["of_paper"], shared and shared["gnps"],
                        shared and shared["gnps"] / one["gnps"], replicas and replicas["gnps"] / one["gnps"],
                        one["gb_per_s"] / one["read_gb_per_s"]])
        dmgc.table(f"Table 2, {problem}: GNPS", ["signature", "paper T1", "T1", "ratio", f"T{run.threads}", f"T{run.threads}/T1",
                                                "replicas/T1", "of reading"], out)


def fig2(run):
    for sparse, signatures in ((False, DENSE), (True, SPARSE)):
        variants = {}
        for s in signatures:
            variants[f"{s} 1 thread"] = {"signature": s, "sparse": sparse}
            if run.threads > 1:
                variants[f"{s} {run.threads} threads"] = {"signature": s, "sparse": sparse, "threads": run.threads}
                variants[f"{s} {run.threads} replicas"] = {"signature": s, "sparse": sparse, "threads": run.threads,
                                                           "strategy": "replicas:core"}
        run.over_sizes(f"fig2_{'sparse' if sparse else 'dense'}", f"Figure 2, {'sparse' if sparse else 'dense'}", variants)


def fig3(run):
    shared = [r for r in run.of("fig2_dense") + run.of("fig2_sparse") if r["strategy"] == "hogwild"]
    if not shared:
        fig2(run)
        return fig3(run)
    near = sum(abs(r["predicted_gnps"] - r["gnps"]) <= 0.5 * r["gnps"] for r in shared)
    dmgc.table(f"Figure 3: measured and predicted GNPS, constants: {shared[0]['constants']}; {near} of {len(shared)} within 50 %",
               ["signature", "features", "threads", "measured", "predicted", "predicted / measured"],
               [[r["signature"], r["features"], r["threads"], r["gnps"], r["predicted_gnps"], r["predicted_gnps"] / r["gnps"]]
                for r in shared])
    lines = {}
    for r in shared:
        name = f"{r['signature']} {r['threads']}"
        lines.setdefault(name, []).append((r["features"], r["gnps"]))
        lines.setdefault(name + " predicted", []).append((r["features"], r["predicted_gnps"]))
    run.picture("fig3", "Figure 3: measured and predicted", lines)


def fig4(run):
    """Plain C through the compiler: the ref tier of the whole step; and, where it was built, the micro-benchmark's plain loops
    with the flags of each tier, kernel by kernel."""
    means, micro = [], os.path.join(os.path.dirname(run.args.drove), "bench", "bench_linear_kernels")
    for figure, sparse, signatures in (("fig4a", False, ["D16M16", "D8M16", "D16M8", "D8M8"]),
                                       ("fig4b", True, ["D16i16M16", "D8i8M16", "D16i16M8", "D8i8M8"])):
        variants = {}
        for s in signatures:
            variants[s] = {"signature": s, "sparse": sparse}
            variants[f"{s} ref"] = {"signature": s, "sparse": sparse, "isa": "ref"}
        lines = run.over_sizes(figure, f"Figure {figure[3:]}: hand-written and compiled from plain C", variants)
        for s in signatures:
            ratios = [hand / ref for (_, hand), (_, ref) in zip(lines[s], lines[f"{s} ref"])]
            means.append([s, math.exp(sum(map(math.log, ratios)) / len(ratios)), max(ratios)])
    dmgc.table("Figure 4c: hand-written over compiled from plain C (ref: the compiler's flags are those of the build)",
               ["signature", "geometric mean", "most"], means)
    if os.path.exists(micro):
        done = subprocess.run([micro, "--what", "compiled", "--json"], capture_output=True, text=True, check=True)
        rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        run.records += [{"bench": "fig4_generic", **r} for r in rows]
        dmgc.table("Figure 4c, kernel by kernel (bench_linear_kernels)", list(rows[0]), [list(r.values()) for r in rows])
    else:
        print(f"no {micro}: plain loops compiled for this very processor are left out")


def fig5b(run):
    kinds = ["nearest", "shared", "xorshift", "mt19937"]
    run.over_sizes("fig5b", "Figure 5b: rounding, dense", {f"{s} {k}": {"signature": s, "rounding": k}
                                                           for s in ("D8M8", "D16M16") for k in kinds})


def fig6ab(run):
    probe = [run.args.drove, "dmgc", "D8M8", "--measure", "--bytes", "1MiB", "--seconds", "0.01", "--prefetch", "hints"]
    done = subprocess.run(probe, capture_output=True, text=True)
    words, what = ("on", "hints"), "hardware prefetchers on and off"
    if done.returncode != 0:
        words, what = ("on", "hardware"), "software hints on and off"
        print(f"\nFigures 6a, 6b: the hardware prefetchers cannot be switched here ({done.stderr.strip()}); measuring {what}")
    for figure, sparse, signatures in (("fig6a", False, ["D8M8", "D16M16"]), ("fig6b", True, ["D8i8M8", "D16i16M16"])):
        variants = {f"{s} {n} {'on' if w == words[0] else 'off'}": {"signature": s, "sparse": sparse, "threads": n, "prefetch": w}
                    for s in signatures for n in sorted({1, run.threads}) for w in words}
        run.over_sizes(figure, f"Figure {figure[3:]}: {what}, {'sparse' if sparse else 'dense'}", variants)


def fig6d(run):
    run.over_sizes("fig6d", f"Figure 6d: examples of an update, D8M8, {run.threads} threads",
                   {f"batch {b}": {"signature": "D8M8", "threads": run.threads, "batch": b} for b in (1, 4, 16, 64, 256)})


FIGURES = {f.__name__: f for f in (table2, fig2, fig3, fig4, fig5b, fig6ab, fig6d)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--drove", default="build/release/drove")
    parser.add_argument("--only", default=",".join(FIGURES))
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--seconds", type=float, default=None, help="of each measurement [0.2; quick 0.02]")
    parser.add_argument("--bytes", default=None, help="of the data of a figure's point [256MiB; quick 8MiB]")
    parser.add_argument("--constants", default=None, help="as of drove dmgc")
    parser.add_argument("--out", default=None)
    parser.add_argument("--pictures", choices=["svg", "png"], default="svg")
    args = parser.parse_args()
    args.seconds = args.seconds or (0.02 if args.quick else 0.2)
    args.bytes = args.bytes or ("8MiB" if args.quick else "256MiB")
    unknown = [name for name in args.only.split(",") if name not in FIGURES]
    if unknown:
        parser.error(f"--only: expected {', '.join(FIGURES)}, found {unknown[0]}")
    run = Run(args)
    machine = dmgc.origin(args)
    print(f"commit {machine['commit']}; {' '.join(map(str, [machine['info'].get(k, '') for k in ('processor', 'isa')]))}; {machine['command']}")
    if args.out:
        os.makedirs(args.out, exist_ok=True)
    try:
        for name in args.only.split(","):
            FIGURES[name](run)
    finally:
        if args.out:
            with open(os.path.join(args.out, "low_precision.jsonl"), "w") as f:
                f.writelines(json.dumps(r) + "\n" for r in [machine] + run.records)


if __name__ == "__main__":
    main()
