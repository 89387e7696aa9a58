#!/usr/bin/env python3
"""Training convolutional networks: drove and PyTorch, one iteration after the other in turn.

    python3 bench/run/convnets.py --python PYTHON [--build DIR] [--data DIR] [--rounds N] [--net lenet|alexnet]

PYTHON: an interpreter with PyTorch (PyPI: torch, numpy).  Two cases:
  lenet    LeNet as in Caffe on MNIST, batch 64, plain SGD, one thread: images a second
  alexnet  AlexNet as in Caffe (groups, LRN, dropout) on 64 generated images of 3 x 227 x 227 with 1000 classes, batch 32,
           plain SGD, two threads: seconds for one iteration (forward, backward, update), and peak memory
Each has as many processors as threads, by affinity; `used` is user time over wall time, of the whole process.
`cpu_s` is the processor time of an iteration (drove's from two runs of different length), which a busy machine disturbs less
than the clock on the wall.  PyTorch computes in its usual format and in channels_last, images and labels ready as tensors; the faster counts.  drove
is the program as a user calls it: gathering and scaling the images belong to its iteration.  Each round starts each of the
two once, in turn; of each the round with the fastest iterations counts, and within PyTorch's the median iteration.
One JSON line for each program and case; `ratio` is PyTorch's time over drove's, `memory_ratio` drove's peak over PyTorch's.
"""
import argparse
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import time

import pinned

CASES = {
    "lenet": {"batch": 64, "threads": 1, "updates": (30, 230), "torch_iterations": 60},
    "alexnet": {"batch": 32, "threads": 2, "updates": (1, 5), "torch_iterations": 5},
}


# ---- PyTorch, in a process of its own ----


def torch_net(name):
    import torch.nn as nn

    if name == "lenet":
        return nn.Sequential(nn.Conv2d(1, 20, 5), nn.MaxPool2d(2), nn.Conv2d(20, 50, 5), nn.MaxPool2d(2), nn.Flatten(),
                             nn.Linear(800, 500), nn.ReLU(), nn.Linear(500, 10))
    norm = lambda: nn.LocalResponseNorm(5, alpha=1e-4, beta=0.75)
    return nn.Sequential(
        nn.Conv2d(3, 96, 11, stride=4), nn.ReLU(True), norm(), nn.MaxPool2d(3, 2),
        nn.Conv2d(96, 256, 5, padding=2, groups=2), nn.ReLU(True), norm(), nn.MaxPool2d(3, 2),
        nn.Conv2d(256, 384, 3, padding=1), nn.ReLU(True),
        nn.Conv2d(384, 384, 3, padding=1, groups=2), nn.ReLU(True),
        nn.Conv2d(384, 256, 3, padding=1, groups=2), nn.ReLU(True), nn.MaxPool2d(3, 2), nn.Flatten(),
        nn.Linear(9216, 4096), nn.ReLU(True), nn.Dropout(), nn.Linear(4096, 4096), nn.ReLU(True), nn.Dropout(),
        nn.Linear(4096, 1000))


def run_torch(name, is_last):
    import torch

    case = CASES[name]
    torch.set_num_threads(case["threads"])
    torch.manual_seed(1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    net = torch_net(name)
    shape = (1, 28, 28) if name == "lenet" else (3, 227, 227)
    x = torch.randn(case["batch"], *shape)
    if is_last:
        net, x = net.to(memory_format=torch.channels_last), x.contiguous(memory_format=torch.channels_last)
    y = torch.randint(0, 10 if name == "lenet" else 1000, (case["batch"],))
    rule, loss = torch.optim.SGD(net.parameters(), lr=0.01), torch.nn.CrossEntropyLoss()
    times, cpu = [], []
    for _ in range(case["torch_iterations"]):
        start, cpu_start = time.perf_counter(), time.process_time()
        rule.zero_grad()
        loss(net(x), y).backward()
        rule.step()
        times.append(time.perf_counter() - start)
        cpu.append(time.process_time() - cpu_start)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"iteration_s": statistics.median(times[1:]), "cpu_s": statistics.median(cpu[1:]),
                      "peak_rss_bytes": peak, "rss_before_bytes": before, "version": torch.__version__}))


def start_torch(args, name, is_last):
    command = [args.python, os.path.abspath(__file__), "--torch", name] + (["--channels-last"] if is_last else [])
    with pinned.held(CASES[name]["threads"]) as seen:
        done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit("convnets: PyTorch\n" + done.stderr)
    return {**json.loads(done.stdout), "used": seen.used}


# ---- drove ----


def drove_command(args, name, updates):
    case = CASES[name]
    command = [os.path.join(args.build, "drove"), "train", "--defaults", "classic", "--model", name, "--batch", str(case["batch"]), "--rule", "sgd",
               "--until", f"updates={updates}", "--eval-every", "1000", "--test", "none", "--eval-examples", str(case["batch"]),
               "--json", "--quiet"]
    if name == "lenet":
        return command + ["--data", "mnist:" + os.path.join(args.data, "mnist"), "--threads", "1"]
    return command + ["--data", "synth:images?size=227&classes=1000&n=64", *args.two_threads.split()]


def run_drove(command, n_cores):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with pinned.held(n_cores) as seen:
        done = subprocess.run(command, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        sys.exit("convnets: drove\n" + done.stderr)
    return json.loads(done.stdout), seen.used, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def start_drove(args, name):
    few, many = CASES[name]["updates"]
    n_cores = CASES[name]["threads"]
    short, _, short_cpu = run_drove(drove_command(args, name, few), n_cores)
    long, used, long_cpu = run_drove(drove_command(args, name, many), n_cores)
    return {"iteration_s": (long["train_s"] - short["train_s"]) / (many - few), "cpu_s": (long_cpu - short_cpu) / (many - few),
            "peak_rss_bytes": long["peak_rss_bytes"], "isa": long["isa"], "used": used}


# ---- both ----


def compare(args, name):
    runs = {"drove": [], "torch": [], "torch channels_last": []}
    for _ in range(args.rounds):
        runs["drove"].append(start_drove(args, name))
        runs["torch"].append(start_torch(args, name, False))
        runs["torch channels_last"].append(start_torch(args, name, True))
    best = {who: min(all_runs, key=lambda r: r["iteration_s"]) for who, all_runs in runs.items()}
    rival = min((best["torch"], best["torch channels_last"]), key=lambda r: r["iteration_s"])
    rival_memory = min(r["peak_rss_bytes"] for who, all_runs in runs.items() if who != "drove" for r in all_runs)
    batch = CASES[name]["batch"]
    for who, result in best.items():
        line = {"bench": "convnets", "net": name, "program": who, "batch": batch, "threads": CASES[name]["threads"],
                "iteration_s": result["iteration_s"], "images_per_s": batch / result["iteration_s"],
                "cpu_s": min(r["cpu_s"] for r in runs[who]), "all_s": [round(r["iteration_s"], 5) for r in runs[who]],
                "peak_rss_bytes": min(r["peak_rss_bytes"] for r in runs[who])}
        if who == "drove":
            line["ratio"] = rival["iteration_s"] / result["iteration_s"]
            line["cpu_ratio"] = min(r["cpu_s"] for who, each in runs.items() if who != "drove" for r in each) / line["cpu_s"]
            line["memory_ratio"] = line["peak_rss_bytes"] / rival_memory
            line["isa"] = result["isa"]
            line["command"] = " ".join(drove_command(args, name, CASES[name]["updates"][1])[1:])
        else:
            line["version"] = result["version"]
            line["rss_before_bytes"] = result["rss_before_bytes"]
        line["machine"] = platform.processor() or platform.machine()
        line["load"] = os.getloadavg()[0]
        print(json.dumps(line), flush=True)


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", help="an interpreter with PyTorch")
    parser.add_argument("--build", default=os.path.join(here, "..", "..", "build", "release"))
    parser.add_argument("--data", default=os.path.join(here, "..", "..", "..", "shared", "data"), help="the folder with mnist/")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--net", choices=sorted(CASES), action="append")
    parser.add_argument("--two-threads", default="--strategy accumulate --workers host:0", help="drove's options for alexnet")
    parser.add_argument("--torch", help=argparse.SUPPRESS)
    parser.add_argument("--channels-last", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.torch:
        run_torch(args.torch, args.channels_last)
        return
    if not args.python:
        parser.error("--python is needed")
    for name in args.net or ["lenet", "alexnet"]:
        compare(args, name)


if __name__ == "__main__":
    main()
