#!/usr/bin/env python3
"""Examples per second of drove and of PyTorch's CPU build, in one run, interleaved.

The MLP 784-128-128-128-10 (ReLU, softmax cross-entropy, plain SGD) on the same images, the same batch sizes.
PyTorch is given the easier task: its images are floats in memory already (drove widens and scales bytes in every
step), and its loop does nothing but gather, forward, backward and update.  One thread; and two processes that share
the parameters (its Hogwild) against drove's hogwild on two threads.  Each has as many processors as threads, by affinity; used: user
time over wall time, with starting and reading.

Whether PyTorch's BLAS has recognised the processor is checked first, by the rate of a 2048^3 product.  PyPI's build
carries MKL, which takes its AVX-512 code on processors of its own maker only; where a small library that answers
MKL's question for the maker (LD_PRELOAD) makes the product faster, all measurements run with it.  The rates are
printed, and below --gemm-gflops nothing is measured.

    python3 -m venv venv && venv/bin/pip install torch numpy
    venv/bin/python bench/run/pytorch.py --drove build/release/drove [--rounds 5] [--out pytorch.jsonl]

Prints one JSON line a measurement and a table of medians.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_CORETYPE", "SkylakeX")  # only read where the BLAS is OpenBLAS

import numpy as np
import torch
import torch.multiprocessing as mp

import pinned

LAYERS = (784, 128, 128, 128, 10)
ROWS = 60000


def build():
    parts = []
    for n_in, n_out in zip(LAYERS, LAYERS[1:]):
        parts += [torch.nn.Linear(n_in, n_out), torch.nn.ReLU()]
    return torch.nn.Sequential(*parts[:-1])


def train_for(model, x, y, batch, seconds, lr=0.05, fused=False):
    """Examples per second over at least `seconds`, after a short warm-up."""
    loss_of = torch.nn.CrossEntropyLoss()
    rule = torch.optim.SGD(model.parameters(), lr=lr, foreach=not fused, fused=fused)

    def steps(n):
        order = torch.randint(0, x.shape[0], (n, batch))
        for k in range(n):
            rows = order[k]
            rule.zero_grad(set_to_none=True)
            loss_of(model(x.index_select(0, rows)), y.index_select(0, rows)).backward()
            rule.step()

    steps(20)
    done, start = 0, time.perf_counter()
    while time.perf_counter() - start < seconds:
        steps(50)
        done += 50
    return done * batch / (time.perf_counter() - start)


def one_thread(x, y, batch, seconds, fused):
    torch.set_num_threads(1)
    torch.manual_seed(1)
    return train_for(build(), x, y, batch, seconds, fused=fused)


def hogwild_worker(model, x, y, batch, seconds, barrier, results):
    torch.set_num_threads(1)
    barrier.wait()
    results.put(train_for(model, x, y, batch, seconds))


def hogwild(x, y, batch, seconds, processes=2):
    torch.manual_seed(1)
    model = build().share_memory()
    context = mp.get_context("spawn")
    barrier, results = context.Barrier(processes), context.Queue()
    workers = [context.Process(target=hogwild_worker, args=(model, x, y, batch, seconds, barrier, results))
               for _ in range(processes)]
    for w in workers:
        w.start()
    rates = [results.get() for _ in workers]
    for w in workers:
        w.join()
    return sum(rates)


def drove(args, batch, threads, strategy, files):
    epochs = {16: 6, 32: 8, 64: 10, 128: 12, 512: 12}.get(batch, 6)
    command = [args.drove, "train", "--defaults", "classic", "--data", f"idx:{files[0]},{files[1]}", "--test", "", "--model", "mlp:128,128,128",
               "--batch", str(batch), "--lr", "0.01", "--threads", str(threads), "--strategy", strategy,
               "--until", f"epochs={epochs}", "--eval-examples", "512", "--eval-every", str(epochs), "--json"]
    result = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(result.stdout)["examples_per_s"]


def gemm_gflops(n=2048):
    torch.set_num_threads(1)
    a, b = torch.rand(n, n), torch.rand(n, n)
    best = 0.0
    for _ in range(5):
        start = time.perf_counter()
        a @ b
        best = max(best, 2 * n**3 / (time.perf_counter() - start) / 1e9)
    return best


SHIM = "int mkl_serv_intel_cpu_true(void) { return 1; }\n"
SHIM_VARIABLE = "DROVE_BENCH_SHIM"  # set in the process that runs with the shim, or that has found it no better


def with_best_blas(folder):
    """Restarts this script with MKL's AVX-512 code where that is faster; returns in the process that measures."""
    if SHIM_VARIABLE in os.environ:
        return
    source, library = f"{folder}/shim.c", f"{folder}/shim.so"
    with open(source, "w") as f:
        f.write(SHIM)
    environment = dict(os.environ, **{SHIM_VARIABLE: "no"})
    if subprocess.run(["cc", "-shared", "-fPIC", source, "-o", library]).returncode == 0:
        probe = [sys.executable, "-c", "import sys; sys.argv = ['']; import runpy; "
                 f"print(runpy.run_path({__file__!r})['gemm_gflops']())"]

        def rate(extra):
            out = subprocess.run(probe, env=dict(environment, **extra), capture_output=True, text=True, check=True)
            return float(out.stdout)

        plain, shimmed = rate({}), rate({"LD_PRELOAD": library})
        print(f"2048^3 product: {plain:.0f} GFLOP/s as installed, {shimmed:.0f} with the shim", file=sys.stderr)
        if shimmed > plain:
            environment.update({"LD_PRELOAD": library, SHIM_VARIABLE: "yes"})
    result = subprocess.run([sys.executable, *sys.argv], env=environment)
    sys.exit(result.returncode)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--drove", default="build/release/drove")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0, help="length of one PyTorch measurement")
    parser.add_argument("--gemm-gflops", type=float, default=80.0, help="least 2048^3 rate of one thread to go on")
    parser.add_argument("--out", help="file for the JSON lines")
    args = parser.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        with_best_blas(folder)
    rate = gemm_gflops()
    print(f"PyTorch {torch.__version__}, 2048^3 product on one thread: {rate:.0f} GFLOP/s", file=sys.stderr)
    print(torch.__config__.show(), file=sys.stderr)
    if rate < args.gemm_gflops:
        sys.exit(f"PyTorch's BLAS reaches {rate:.0f} GFLOP/s, expected {args.gemm_gflops:.0f}: it has not recognised "
                 "this processor, and the comparison would be worthless")

    lines = open(args.out, "w") if args.out else sys.stdout
    cases = [(32, 1), (64, 1), (512, 1), (64, 2)]
    rates = {}
    with tempfile.TemporaryDirectory() as folder:
        files = (f"{folder}/x.idx", f"{folder}/y.idx")
        subprocess.run([args.drove, "data", "convert", f"synth:digits?n={ROWS}", f"idx:{files[0]},{files[1]}"],
                       check=True, stdout=subprocess.DEVNULL)
        raw = np.fromfile(files[0], dtype=np.uint8)[16:].reshape(ROWS, LAYERS[0])
        x = torch.from_numpy(raw.astype(np.float32) / 255.0)
        y = torch.from_numpy(np.fromfile(files[1], dtype=np.uint8)[8:].astype(np.int64))
        for round_number in range(args.rounds):
            for batch, threads in cases:
                with pinned.held(threads) as seen:
                    if threads == 1:
                        theirs = max(one_thread(x, y, batch, args.seconds, fused) for fused in (False, True))
                    else:
                        theirs = hogwild(x, y, batch, args.seconds)
                with pinned.held(threads) as ours_seen:
                    ours = drove(args, batch, threads, "sequential" if threads == 1 else "hogwild", files)
                rates.setdefault((batch, threads), []).append((ours, theirs))
                print(json.dumps({"round": round_number, "batch": batch, "threads": threads, "drove": round(ours),
                                  "pytorch": round(theirs), "ratio": round(ours / theirs, 3),
                                  "drove_used": round(ours_seen.used, 2), "pytorch_used": round(seen.used, 2)}), file=lines, flush=True)
    print("batch threads   drove/s  PyTorch/s  ratio (medians of", args.rounds, "rounds)")
    for (batch, threads), pairs in rates.items():
        ours, theirs = (statistics.median(p[i] for p in pairs) for i in (0, 1))
        ratio = statistics.median(a / b for a, b in pairs)
        print(f"{batch:5d} {threads:7d} {ours:9.0f} {theirs:10.0f} {ratio:6.2f}")


if __name__ == "__main__":
    main()
