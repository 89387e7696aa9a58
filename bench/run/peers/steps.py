#!/usr/bin/env python3
"""Steps of training by drove, JAX and PyTorch at several batch sizes, on pinned processors, by turns.

    python3 -m venv venv
    venv/bin/pip install torch jax
    venv/bin/python bench/run/peers/steps.py --data shared/data/mnist [--drove build/release/drove] [--batches 32,64,512,4096]
                                             [--rounds 5] [--seconds 1] [--only drove,JAX] [--lock FILE] [--out steps.jsonl]

The MLP 784-128-128-128-10 (ReLU, softmax cross-entropy) on MNIST by plain SGD in floats.  Every program has one processor by
affinity; below that, two, at --two-batch examples a step.  Peers start once, read the images as floats, and train when they are told to:
the first epochs of a batch size, in which they compile, are not counted, and while one trains the others wait for input.
drove is started anew for every figure, its own clock excludes reading and evaluation, and it widens bytes to floats in every step.

    drove            as installed; "AVX2": --isa avx2, and oneDNN kept to it
    products         the network's bare matrix products, the fastest kernel of each (drove bench limits): what a step cannot pass
    JAX, scan        an epoch is one compiled loop;  "AVX2": XLA_FLAGS=--xla_cpu_max_isa=AVX2
    PyTorch          eager, and torch.compile of forward, loss and backward;  "AVX2": ATEN_CPU_CAPABILITY, ONEDNN_MAX_CPU_ISA
                     and MKL_ENABLE_INSTRUCTIONS
    two processors   drove by hogwild and sync, PyTorch's Hogwild on two processes, JAX with two threads

used: user time over wall time, of the program's processes while it trained (drove: of the whole command).  Prints a JSON line for each
figure, then tables of medians.  --lock: held during every measurement and start, for machines on which others measure too.
"""
import argparse
import contextlib
import fcntl
import json
import os
import statistics
import subprocess
import sys
import time

from common import pinned

HERE = os.path.dirname(os.path.abspath(__file__))
AVX2 = {"ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2", "MKL_ENABLE_INSTRUCTIONS": "AVX2",
        "XLA_FLAGS": "--xla_cpu_max_isa=AVX2"}


def environment(isa):
    return {**os.environ, **(AVX2 if isa == "avx2" else {})}


class Drove:
    def __init__(self, args, isa, n_cores=1, strategy="sequential"):
        self.args, self.isa, self.n_cores, self.strategy = args, isa, n_cores, strategy

    def rate(self, batch):
        command = [self.args.drove, "train", "--data", f"mnist:{self.args.data}", "--model", "mlp:128,128,128", "--batch",
                   str(batch // self.n_cores if self.strategy == "sync" else batch), "--lr", "0.1", "--schedule", "constant", "--rule",
                   "sgd", "--threads", str(self.n_cores), "--strategy", self.strategy, "--until", f"seconds={self.args.seconds}",
                   "--eval-every", "1000", "--eval-examples", "512", "--metrics", "none", "--out", "none", "--json", "--quiet",
                   "--isa", self.isa]
        with pinned.held(self.n_cores) as seen:
            done = subprocess.run(command, env=environment(self.isa), capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"steps: {' '.join(command)}\n{done.stderr}")
        return json.loads(done.stdout)["examples_per_s"], seen.used


class Products:
    """All batch sizes at once: what the first asks for, the others get."""

    def __init__(self, args, isa):
        self.args, self.isa, self.known = args, isa, {}

    def rate(self, batch):
        if batch not in self.known:
            command = [self.args.drove, "bench", "limits", "--json", "--seconds", "0.05", "--isa", self.isa, "--batch",
                       ",".join(map(str, self.args.batches))]
            with pinned.held(1):
                done = subprocess.run(command, env=environment(self.isa), capture_output=True, text=True, check=True)
            self.known = {row["batch"]: row["products_examples_per_s"] for row in json.loads(done.stdout)["batches"]}
        return self.known.pop(batch), None


class Peer:
    """A process that trains when it is told to."""

    def __init__(self, args, name, mode="", isa="auto", n_cores=1, batch=64):
        command = [sys.executable, f"{HERE}/{name}.py", "--serve", "--data", args.data, "--mode", mode, "--workers", str(n_cores),
                   "--batch", str(batch)]
        self.seconds = args.seconds
        self.process = subprocess.Popen(pinned.on(n_cores, command), env=environment(isa), text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        if self.process.stdout.readline() != "ready\n":
            sys.exit(f"steps: {name} {mode} did not start")

    def train(self, batch, seconds):
        print(batch, seconds, file=self.process.stdin, flush=True)
        return float(self.process.stdout.readline())

    def warm_up(self, batch):
        """Compiles what this batch size takes."""
        self.train(batch, 0)
        self.train(batch, 0)

    def rate(self, batch):
        used_s, start = pinned.user_s(self.process.pid), time.perf_counter()
        rate = self.train(batch, self.seconds)
        return rate, (pinned.user_s(self.process.pid) - used_s) / (time.perf_counter() - start)


def programs(args):
    """(processors, name) -> what starts it."""
    found, two = {}, args.two_batch
    for isa, word in (("auto", ""), ("avx2", ", AVX2")):
        found[1, "drove" + word] = lambda isa=isa: Drove(args, isa)
        found[1, "products" + word] = lambda isa=isa: Products(args, isa)
        found[1, "JAX, scan" + word] = lambda isa=isa: Peer(args, "jax_mlp", "", isa)
        found[1, "PyTorch, eager" + word] = lambda isa=isa: Peer(args, "pytorch_mlp", "eager", isa)
        found[1, "PyTorch, compile" + word] = lambda isa=isa: Peer(args, "pytorch_mlp", "compile", isa)
    for isa, word in (("auto", ""), ("avx2", ", AVX2")):
        found[2, "drove, hogwild" + word] = lambda isa=isa: Drove(args, isa, 2, "hogwild")
        found[2, "drove, sync" + word] = lambda isa=isa: Drove(args, isa, 2, "sync")
        found[2, "JAX, scan, 2 threads" + word] = lambda isa=isa: Peer(args, "jax_mlp", "", isa, 2)
        found[2, "PyTorch, hogwild, 2 processes" + word] = lambda isa=isa: Peer(args, "pytorch_mlp", "hogwild", isa, 2, two)
    wanted = [w for w in args.only.split(",") if w]
    return {key: make for key, make in found.items() if not wanted or any(key[1].startswith(w) for w in wanted)}


def table(lines, batches, n_cores):
    """Medians in thousands of examples a second, what they used, and drove's best of the same instruction set over it."""
    of = {}
    for line in lines:
        if line["cores"] == n_cores:
            of.setdefault((line["program"], line["batch"]), []).append(line)
    middle = lambda rows, key: statistics.median(row[key] for row in rows) if rows and rows[0][key] is not None else float("nan")
    rate = {key: middle(rows, "examples_per_s") for key, rows in of.items()}
    print(f"\n| {n_cores} processor{'s' * (n_cores > 1)} | " + " | ".join(f"batch {b} | used | drove over it" for b in batches) + " |")
    print("|---" * (1 + 3 * len(batches)) + "|")
    for name in dict.fromkeys(program for program, _ in of):
        cells = []
        for b in batches:
            own = [r for (who, batch), r in rate.items()
                   if who.startswith("drove") and batch == b and who.endswith("AVX2") == name.endswith("AVX2")]
            over = "" if name.startswith("drove") or not own else f"{max(own) / rate[name, b]:.2f}"
            cells.append(f"{rate[name, b] / 1000:.1f} | {middle(of[name, b], 'used'):.2f} | {over}")
        print(f"| {name} | " + " | ".join(cells) + " |")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--data", required=True, help="folder of MNIST")
    p.add_argument("--drove", default="build/release/drove")
    p.add_argument("--batches", type=lambda s: [int(b) for b in s.split(",")], default=[32, 64, 512, 4096])
    p.add_argument("--two-batch", type=int, default=64)
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--seconds", type=float, default=1)
    p.add_argument("--only", default="", help="programs whose names begin with one of these")
    p.add_argument("--lock")
    p.add_argument("--out")
    args = p.parse_args()

    @contextlib.contextmanager
    def alone():
        with open(args.lock or os.devnull, "a") as f:
            if args.lock:
                fcntl.flock(f, fcntl.LOCK_EX)
            yield

    running, lines = {}, []
    for key, make in programs(args).items():
        with alone():
            running[key] = make()
        for batch in args.batches if key[0] == 1 else [args.two_batch]:
            if isinstance(running[key], Peer):
                with alone():
                    running[key].warm_up(batch)

    def measure(number, batch, chosen):
        """The chosen programs, one after the other, in one holding of the lock."""
        with alone():
            for (n_cores, name), program in chosen.items():
                rate, used = program.rate(batch)
                lines.append({"round": number + 1, "program": name, "cores": n_cores, "batch": batch, "examples_per_s": round(rate),
                              "used": used})
                print(json.dumps(lines[-1]), flush=True)
                if args.out:
                    with open(args.out, "a") as f:
                        f.write(json.dumps(lines[-1]) + "\n")

    bare = {key: program for key, program in running.items() if isinstance(program, Products)}
    for number in range(args.rounds):
        for batch in args.batches:
            measure(number, batch, bare)
            measure(number, batch, {key: p for key, p in running.items() if key[0] == 1 and key not in bare})
        measure(number, args.two_batch, {key: p for key, p in running.items() if key[0] == 2})
    table(lines, args.batches, 1)
    table(lines, [args.two_batch], 2)
    for program in running.values():
        if isinstance(program, Peer):
            program.process.stdin.close()
            program.process.wait()


if __name__ == "__main__":
    main()
