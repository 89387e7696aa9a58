#!/usr/bin/env python3
"""A GPU beside the cores of its machine: gradients by batch size, the methods for both together, threads.

    python3 bench/run/gpu.py [--drove build/release/drove] [--bench build/release/bench/bench_accel] [--data ../shared/data]
                             [--device cuda:0] [--parts speed,host,torch,threads] [--rounds 3] [--quick] [--out DIR]

    speed    bench_accel on the device, by batch size, in float, TF32 and bf16
    host     the same network and batch on teams of 1, 2, 4 ... cores (the host engine)
    torch    PyTorch on the same GPU (gpu_torch.py): eager, a CUDA graph, examples from pinned host memory
    threads  hogwild, leashed, mutex and sync on 1, 2, 4 ... threads, the MLP on MNIST and a sparse linear model on sector: rates,
             and epochs to a loss; with --here the same in virtual time (--machine here)

CPU+GPU Hogbatch and Adaptive Hogbatch: bench/run/heterogeneous.py --device cuda:0.

Prints a line for each measurement; with --out DIR also DIR/gpu.jsonl.  `bench/run/gpu.py --tables DIR/gpu.jsonl...` prints
the tables of docs/results/gpu.md: medians of all lines of a kind.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time

import networks

HERE = os.path.dirname(os.path.abspath(__file__))
ALL = [2 ** i for i in range(14)]
FEW = [1, 8, 64, 512, 4096, 8192]
MODES = {"float": ("", "float"), "tf32": ("?tf32=yes", "float"), "bf16": ("", "bf16")}
NETWORKS = ("mlp", "covtype", "w8a", "lenet")
STRATEGIES = ("hogwild", "leashed", "mutex", "sync")


class Output:
    def __init__(self, folder):
        self.file = open(os.path.join(folder, "gpu.jsonl"), "a") if folder else None
        self.start = time.perf_counter()

    def put(self, record):
        line = json.dumps(record)
        print(f"[{time.perf_counter() - self.start:.1f} s] {line[:400]}", flush=True)
        if self.file:
            self.file.write(line + "\n")
            self.file.flush()


def lines_of(command, timeout_s):
    """The JSON lines that a program prints, until it ends or its time is over."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        try:
            out, err = child.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            child.kill()
            out, err = child.communicate()
            err = "time is over"
    for line in out.splitlines():
        if line.startswith("{"):
            yield json.loads(line)
    if child.returncode != 0:
        print(f"{' '.join(command)}: {err.strip()[-300:]}", file=sys.stderr, flush=True)


def gradients(args, out, device, network, mode, batches, **facts):
    command = [args.bench, "--device", device, "--networks", network, "--precision", MODES[mode][1], "--batches",
               ",".join(map(str, batches)), "--rounds", str(args.rounds), "--lines", "no", "--json"]
    for record in lines_of(command, args.timeout):
        out.put({"part": "gradients", "mode": mode, **facts, **record})


def speed(args, out):
    for network in args.networks.split(","):
        for mode in MODES:
            batches = FEW if args.quick or (mode != "float" and network != "mlp") else ALL
            gradients(args, out, args.device + MODES[mode][0], network, mode, batches)


def thread_counts(most):
    counts = [2 ** i for i in range(16) if 2 ** i <= most]
    return counts if counts[-1] == most else counts + [most]


def host(args, out):
    for network in args.networks.split(","):
        for threads in thread_counts(args.cores):
            for mode in ("float", "bf16"):
                if mode == "bf16" and threads not in (1, args.cores):
                    continue
                gradients(args, out, f"host:{threads}", network, mode, FEW[:-1])


def torch(args, out):
    command = [args.python, os.path.join(HERE, "gpu_torch.py"), "--rounds", str(args.rounds), "--networks", args.networks]
    command += ["--compile"] if args.compile else []
    for record in lines_of(command, args.timeout):
        out.put({"part": "torch", **record})


def training(args, task, strategy, threads, machine):
    data, model, batch, lr, target, most = {
        "mlp": (f"mnist:{args.data}/mnist", "mlp:128,128,128", 32, 0.05, 0.1, 4),
        "sparse": (f"libsvm:{args.data}/libsvm/w8a.gz", "logistic", 1, 0.05, 0.065, 6)}[task]
    if strategy == "sync":
        batch = max(1, batch // threads)  # one update has the same number of examples
    command = [args.drove, "train", "--defaults", "classic", "--data", data, "--test", "none", "--model", model, "--batch", str(batch),
               "--lr", str(lr), "--strategy", strategy, "--threads", str(threads), "--until",
               f"loss={target},epochs={most},seconds={args.seconds}",
               "--eval-every", "0.25", "--eval-examples", "10000", "--metrics", "none", "--json", "--quiet", "--out", "none"]
    if machine:
        command += ["--machine", machine]
    else:
        command += ["--bind", "compact"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=args.timeout)
    if done.returncode not in (0, 4):
        return {"error": done.stderr.strip()[-300:]}
    summary = json.loads(done.stdout)
    keys = ("outcome", "loss", "epochs", "updates", "train_s", "examples_per_s", "updates_per_s", "staleness")
    return {key: summary.get(key) for key in keys}


def threads(args, out):
    for round_number in range(1 if args.here else args.rounds):
        for task in args.tasks.split(","):
            for n in thread_counts(args.cores):
                for strategy in STRATEGIES:
                    record = training(args, task, strategy, n, "here" if args.here else "")
                    out.put({"part": "threads", "task": task, "strategy": strategy, "threads": n, "round": round_number,
                             "machine": "here" if args.here else "", **record})


# ---- tables ----

def read(paths):
    records = []
    for path in paths:
        with open(path) as f:
            records += [json.loads(line) for line in f if line.startswith("{")]
    return records


def middle(values):
    values = [v for v in values if v is not None]
    return statistics.median(values) if values else None


def number(value):
    if value is None:
        return ""
    if value >= 1e6:
        return f"{value / 1e6:.2f} M"
    return f"{value / 1e3:.0f} k" if value >= 1e4 else f"{value / 1e3:.1f} k"


def print_table(head, rows):
    print("| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |")
    print()


def rates(records, **wanted):
    """Batch -> examples a second."""
    found = {}
    for r in records:
        if all(r.get(key) == value for key, value in wanted.items()):
            found.setdefault(r["batch"], []).append(r["batch"] * 1e6 / r["step_us"])
    return {batch: middle(values) for batch, values in found.items()}


def speed_tables(records):
    for network in NETWORKS:
        columns = {}
        of_device = [r for r in records if r.get("part") == "gradients" and r["threads"] == 0]
        of_cores = [r for r in records if r.get("part") == "gradients" and r["threads"] > 0]
        for mode in MODES:
            columns[f"GPU, {mode}"] = rates(of_device, network=network, mode=mode)
        for n in sorted({r["threads"] for r in of_cores}):
            for mode in ("float", "bf16"):
                columns[f"{n} cores, {mode}" if n > 1 else f"1 core, {mode}"] = rates(of_cores, network=network, mode=mode, threads=n)
        for how in sorted({r["how"] for r in records if r.get("part") == "torch"}):
            for mode in MODES:
                columns[f"PyTorch, {how}, {mode}"] = rates(records, part="torch", network=network, how=how, mode=mode)
        columns = {name: column for name, column in columns.items() if column}
        print(f"{network}\n")
        print_table(["batch"] + list(columns), [[batch] + [number(c.get(batch)) for c in columns.values()] for batch in ALL])


def limit_tables(records):
    """Where a step's time goes on the device."""
    for network in NETWORKS:
        rows = []
        for mode in MODES:
            for r in records:
                if r.get("part") == "gradients" and r["threads"] == 0 and r["network"] == network and r["mode"] == mode:
                    rows.append([mode, r["batch"]] + [f"{r[key]:.0f}" for key in (
                        "step_us", "step_least_us", "alone_us", "bare_us", "compute_us", "copy_us", "hidden_us", "begin_us", "stage_us",
                        "finish_us")] + [f"{r['bare_gflops'] / 1e3:.1f}"])
        print(f"{network}\n")
        print_table(["", "batch", "step, us", "least", "alone", "bare", "compute", "copy", "hidden", "begin", "stage", "finish",
                     "bare, TFLOP/s"], rows)


def picture(records, network, path):
    """Rates by batch size of one network, with gnuplot."""
    cores = max((r["threads"] for r in records if r.get("part") == "gradients"), default=0)
    own = dict(part="gradients", network=network)
    lines = {f"GPU, {mode}": rates(records, threads=0, mode=mode, **own) for mode in MODES}
    lines.update({f"{n} core{'s' if n > 1 else ''}, float": rates(records, threads=n, mode="float", **own) for n in sorted({1, cores})})
    of_torch = dict(part="torch", network=network, how="graph")
    lines.update({f"PyTorch, graph, {mode}": rates(records, mode=mode, **of_torch) for mode in ("float", "tf32")})
    networks.picture(path, f"{network}: gradients by batch size", {name: sorted(line.items()) for name, line in lines.items()},
                     "examples of a batch", "examples a second",
                     settings="set logscale x 2\nset logscale y\nset key outside right\nset format y '%.0s %c'")


def thread_tables(records):
    for task in ("mlp", "sparse"):
        for machine in ("", "here"):
            of_task = [r for r in records if r.get("part") == "threads" and r["task"] == task and r["machine"] == machine and
                       "error" not in r]
            if not of_task:
                continue
            print(f"{task}, {'virtual time' if machine else 'real'}: examples/s (times one thread); epochs; seconds to the loss\n")
            counts = sorted({r["threads"] for r in of_task})
            rows = []
            for strategy in STRATEGIES:
                cells, one = [], None
                for n in counts:
                    runs = [r for r in of_task if r["strategy"] == strategy and r["threads"] == n]
                    rate = middle([r["examples_per_s"] for r in runs])
                    one = one or rate
                    reached = sum(r["outcome"] == "reached" for r in runs)
                    if rate is None:
                        cells.append("")
                        continue
                    cells.append(f"{number(rate)} ({rate / one:.2f}); {middle([r['epochs'] for r in runs]):.2f}; "
                                 f"{middle([r['train_s'] for r in runs]):.2f}" + ("" if reached == len(runs) else " missed"))
                rows.append([strategy] + cells)
            print_table([""] + [str(n) for n in counts], rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--drove", default="build/release/drove")
    parser.add_argument("--bench", default="build/release/bench/bench_accel")
    parser.add_argument("--data", default="../shared/data")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--parts", default="speed,host,torch,threads")
    parser.add_argument("--networks", default=",".join(NETWORKS))
    parser.add_argument("--tasks", default="mlp,sparse")
    parser.add_argument("--cores", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--python", default=sys.executable, help="one that has PyTorch")
    parser.add_argument("--compile", action="store_true", help="PyTorch by torch.compile as well")
    parser.add_argument("--seconds", type=float, default=10, help="threads: of one run at most")
    parser.add_argument("--here", action="store_true", help="threads: in virtual time, --machine here")
    parser.add_argument("--quick", action="store_true", help="fewer batch sizes")
    parser.add_argument("--timeout", type=float, default=600, help="seconds of one program")
    parser.add_argument("--out")
    parser.add_argument("--tables", nargs="+", metavar="FILE")
    parser.add_argument("--picture", metavar="NETWORK:FILE.svg", help="with --tables: rates by batch size")
    args = parser.parse_args()
    if args.tables:
        records = read(args.tables)
        if args.picture:
            picture(records, *args.picture.split(":", 1))
            return
        speed_tables(records)
        limit_tables(records)
        thread_tables(records)
        return
    if args.out:
        os.makedirs(args.out, exist_ok=True)
    out = Output(args.out)
    parts = {"speed": speed, "host": host, "torch": torch, "threads": threads}
    for part in args.parts.split(","):
        if part not in parts:
            parser.error(f"--parts: expected {', '.join(parts)}, found {part}")
        parts[part](args, out)


if __name__ == "__main__":
    main()
