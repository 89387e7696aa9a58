#!/usr/bin/env python3
"""Training convolutional networks: drove, oneDNN's primitives alone, and PyTorch, in turn on the same core.

    python3 bench/run/convnets.py --python PYTHON [--build DIR] [--data DIR] [--rounds N] [--net NAME] [--isa avx2]

PYTHON: an interpreter with PyTorch (PyPI: torch, torchvision, onnx, numpy).  Cases:
  lenet          LeNet as in Caffe on MNIST, batch 64, one thread
  alexnet-cifar  AlexNet for images of 3 x 32 x 32 (groups, LRN, dropout), batch 32, one thread
  resnet18       torchvision's ResNet-18 of 10 classes on images of 3 x 64 x 64, batch 64, one thread
  mobilenetv3    torchvision's MobileNetV3, small, on the same; mobilenetv3-large: the large one
  alexnet        AlexNet as in Caffe on images of 3 x 227 x 227 with 1000 classes, batch 32, two threads
--batch, --side and --threads replace those of the cases.  An iteration is forward, backward and plain SGD.  drove is the program as a user calls it: gathering and scaling the images belong
to its iteration, which is the difference of a long and a short run.  PyTorch computes in its usual format and in
channels_last, images and labels ready as tensors.  oneDNN is bench_onednn_net (bench/micro/onednn_net.c: neither loss, dropout
nor update), in the formats that its primitives ask for and in nhwc; the faster counts.

Each has as many processors as threads, by affinity; `used` is user time over wall time, of the whole process, and more than
1.05 of a thread is an error.  --isa avx2 keeps all of them to AVX2.  Each round starts each program once, in turn; `iteration_s` is the
median of the rounds, in PyTorch and oneDNN of each round's median iteration.  One JSON line for each program and case;
`ratio` is the program's time over drove's.
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
    "lenet": {"batch": 64, "threads": 1, "updates": (30, 130), "torch_iterations": 40, "input": (1, 28, 28), "classes": 10},
    "alexnet-cifar": {"batch": 32, "threads": 1, "updates": (1, 5), "torch_iterations": 5, "input": (3, 32, 32), "classes": 10},
    "resnet18": {"batch": 64, "threads": 1, "updates": (1, 5), "torch_iterations": 5, "input": (3, 64, 64), "classes": 10},
    "mobilenetv3": {"batch": 64, "threads": 1, "updates": (2, 22), "torch_iterations": 15, "input": (3, 64, 64), "classes": 10},
    "mobilenetv3-large": {"batch": 64, "threads": 1, "updates": (1, 7), "torch_iterations": 8, "input": (3, 64, 64), "classes": 10},
    "alexnet": {"batch": 32, "threads": 2, "updates": (1, 5), "torch_iterations": 5, "input": (3, 227, 227), "classes": 1000},
}
VISION = {"resnet18": "resnet18", "mobilenetv3": "mobilenet_v3_small", "mobilenetv3-large": "mobilenet_v3_large"}
MODELS = {"mobilenetv3-large": "mobilenetv3?size=large"}  # called otherwise in drove
MOST_USED = 1.05  # processors, by each thread
AVX2 = {"ONEDNN_MAX_CPU_ISA": "AVX2", "ATEN_CPU_CAPABILITY": "avx2", "MKL_ENABLE_INSTRUCTIONS": "AVX2"}


def start(args, name, command):
    """Runs a program of this case to its end, held to its processors; its output, processor time, and `used`."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with pinned.held(CASES[name]["threads"]) as seen:
        done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **(AVX2 if args.isa == "avx2" else {})})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        sys.exit(f"convnets: {' '.join(command)}\n{done.stderr}")
    if seen.used > MOST_USED * CASES[name]["threads"]:
        sys.exit(f"convnets: {' '.join(command)}: {seen.used:.2f} processors at work")
    return done.stdout, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, seen.used


# ---- PyTorch, in a process of its own ----


def torch_net(name):
    import torch.nn as nn

    if name == "lenet":
        return nn.Sequential(nn.Conv2d(1, 20, 5), nn.MaxPool2d(2), nn.Conv2d(20, 50, 5), nn.MaxPool2d(2), nn.Flatten(),
                             nn.Linear(800, 500), nn.ReLU(), nn.Linear(500, 10))
    if name in VISION:
        import torchvision

        return getattr(torchvision.models, VISION[name])(num_classes=CASES[name]["classes"])
    is_small = name == "alexnet-cifar"
    norm = lambda: nn.LocalResponseNorm(5, alpha=1e-4, beta=0.75)
    pool = lambda: nn.MaxPool2d(3, 2, ceil_mode=True)  # as Caffe does
    first = nn.Conv2d(3, 96, 5, padding=2) if is_small else nn.Conv2d(3, 96, 11, stride=4)
    return nn.Sequential(
        first, nn.ReLU(True), norm(), pool(),
        nn.Conv2d(96, 256, 5, padding=2, groups=2), nn.ReLU(True), norm(), pool(),
        nn.Conv2d(256, 384, 3, padding=1), nn.ReLU(True),
        nn.Conv2d(384, 384, 3, padding=1, groups=2), nn.ReLU(True),
        nn.Conv2d(384, 256, 3, padding=1, groups=2), nn.ReLU(True), pool(), nn.Flatten(),
        nn.Linear(4096 if is_small else 9216, 4096), nn.ReLU(True), nn.Dropout(), nn.Linear(4096, 4096), nn.ReLU(True), nn.Dropout(),
        nn.Linear(4096, CASES[name]["classes"]))


def run_torch(name, is_last):
    import torch

    case = CASES[name]
    torch.set_num_threads(case["threads"])
    torch.manual_seed(1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    net = torch_net(name)
    x = torch.randn(case["batch"], *case["input"])
    if is_last:
        net, x = net.to(memory_format=torch.channels_last), x.contiguous(memory_format=torch.channels_last)
    y = torch.randint(0, case["classes"], (case["batch"],))
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
    case = CASES[name]
    command = [args.python, os.path.abspath(__file__), "--torch", name, "--batch", str(case["batch"]), "--threads", str(case["threads"]),
               "--side", str(case["input"][2])] + (["--channels-last"] if is_last else [])
    out, _, used = start(args, name, command)
    return {**json.loads(out), "used": used}


# ---- drove ----


def drove_command(args, name, updates):
    case = CASES[name]
    data = f"synth:images?size={case['input'][2]}&classes={case['classes']}&n={max(64, case['batch'])}"
    command = [os.path.join(args.build, "drove"), "train", "--defaults", "classic", "--batch", str(case["batch"]),
               "--model", MODELS.get(name, name), "--rule", "sgd", "--lr", "0.001", "--until", f"updates={updates}",
               "--eval-every", "1000", "--test", "none", "--eval-examples", str(case["batch"]), "--json", "--quiet",
               "--data", "mnist:" + os.path.join(args.data, "mnist") if name == "lenet" else data]
    command += ["--isa", args.isa] if args.isa else []
    return command + (["--threads", "1"] if case["threads"] == 1 else args.two_threads.split())


def start_drove(args, name):
    few, many = CASES[name]["updates"]
    start(args, name, drove_command(args, name, few))  # measures convolutions that are new here
    short, short_cpu, _ = start(args, name, drove_command(args, name, few))
    long, long_cpu, used = start(args, name, drove_command(args, name, many))
    short, long = json.loads(short), json.loads(long)
    return {"iteration_s": (long["train_s"] - short["train_s"]) / (many - few), "cpu_s": (long_cpu - short_cpu) / (many - few),
            "peak_rss_bytes": long["peak_rss_bytes"], "isa": long["isa"], "used": used}


# ---- oneDNN alone ----


def start_onednn(args, name, form):
    case = CASES[name]
    command = [os.path.join(args.build, "bench", "bench_onednn_net"), "--net", name, "--batch", str(case["batch"]),
               "--side", str(case["input"][2]), "--format", form, "--rounds", str(case["torch_iterations"])]
    out, _, used = start(args, name, command)
    result = json.loads(out)
    return {"iteration_s": result["step_s"], "conv_s": result["conv_s"], "used": used}


# ---- all ----


def compare(args, name):
    case = CASES[name]
    programs = {"drove": lambda: start_drove(args, name)}
    if case["threads"] == 1 and not name.startswith("mobilenet"):
        for form in "any", "nhwc":
            programs["onednn " + form] = lambda form=form: start_onednn(args, name, form)
    programs["torch"] = lambda: start_torch(args, name, False)
    programs["torch channels_last"] = lambda: start_torch(args, name, True)
    runs = {who: [] for who in programs if args.only is None or who in args.only.split(",")}
    for _ in range(args.rounds):
        for who in runs:
            runs[who].append(programs[who]())
    median = {who: statistics.median(r["iteration_s"] for r in each) for who, each in runs.items()}
    for who, each in runs.items():
        line = {"bench": "convnets", "net": name, "program": who, "batch": case["batch"], "threads": case["threads"],
                "iteration_s": median[who], "images_per_s": case["batch"] / median[who], "ratio": median[who] / median["drove"],
                "all_s": [round(r["iteration_s"], 5) for r in each], "used": max(r["used"] for r in each)}
        for key in "cpu_s", "conv_s", "peak_rss_bytes":
            if key in each[0]:
                line[key] = min(r[key] for r in each)
        for key in "version", "rss_before_bytes", "isa":
            if key in each[0]:
                line[key] = each[0][key]
        if who == "drove":
            line["command"] = " ".join(drove_command(args, name, case["updates"][1])[1:])
        line["machine"] = platform.processor() or platform.machine()
        line["system_load"] = os.getloadavg()[0]
        print(json.dumps(line), flush=True)


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", help="an interpreter with PyTorch")
    parser.add_argument("--build", default=os.path.join(here, "..", "..", "build", "release"))
    parser.add_argument("--data", default=os.path.join(here, "..", "..", "..", "shared", "data"), help="the folder with mnist/")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--net", choices=sorted(CASES), action="append")
    parser.add_argument("--isa", choices=["avx2"], help="keep all programs to AVX2")
    for word in "batch", "side", "threads":
        parser.add_argument("--" + word, type=int, help="instead of the cases'")
    parser.add_argument("--two-threads", default="--strategy accumulate --workers host:0", help="drove's options for two threads")
    parser.add_argument("--only", help="programs, with commas: drove,torch ... [all]")
    parser.add_argument("--torch", help=argparse.SUPPRESS)
    parser.add_argument("--channels-last", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    for case in CASES.values():
        case.update({word: getattr(args, word) for word in ("batch", "threads") if getattr(args, word)})
        if args.side:
            case["input"] = (case["input"][0], args.side, args.side)
    if args.torch:
        run_torch(args.torch, args.channels_last)
        return
    if not args.python:
        parser.error("--python is needed")
    for name in args.net or ["lenet", "alexnet-cifar", "resnet18", "mobilenetv3"]:
        compare(args, name)


if __name__ == "__main__":
    main()
