#!/usr/bin/env python3
"""Examples per second in bf16: drove, PyTorch and JAX, each in its best precision and mode, in one run, interleaved.

The MLP 784-128-128-128-10 (ReLU, softmax cross-entropy, plain SGD) on the same images, one thread on one processor, as bench/run/pytorch.py has it:
the peers' images lie in memory already, as floats or in bf16, and drove widens bytes in every step.

    drove         floats; --precision bf16: factors of products in bf16, the rest floats
    PyTorch       floats; autocast: products in bf16; bf16: parameters and images in bf16 too; each also by torch.compile where
                  that works here; the fused rule
    JAX           jit, a scan over 50 steps; floats; bf16 images and products with parameters in floats; all in bf16

    python3 -m venv venv && venv/bin/pip install torch jax numpy
    venv/bin/python bench/run/bf16.py --drove build/release/drove [--rounds 3] [--seconds 2] [--batches 32,64,512,4096]
                                      [--peers pytorch,jax] [--two yes] [--out bf16.jsonl]

Prints one JSON line a measurement (used: user time over wall time of the whole process), and a table of medians: the best peer of each kind, and drove over it.  --peers none: drove alone.
--two yes: drove on two threads as well, by hogwild, also with parameters in bf16; a second table.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import pinned

LAYERS = (784, 128, 128, 128, 10)
ROWS = 60000
STEPS = 50


def images(folder):
    import numpy as np
    raw = np.fromfile(f"{folder}/x.idx", dtype=np.uint8)[16:].reshape(ROWS, LAYERS[0])
    return raw.astype(np.float32) / 255.0, np.fromfile(f"{folder}/y.idx", dtype=np.uint8)[8:].astype(np.int64)


def rate_of(steps, batch, seconds):
    """steps() makes STEPS of them."""
    steps()
    done, start = 0, time.perf_counter()
    while time.perf_counter() - start < seconds:
        steps()
        done += STEPS
    return done * batch / (time.perf_counter() - start)


# ---- PyTorch ----

def pytorch(mode, folder, batch, seconds):
    import torch
    torch.set_num_threads(1)
    torch.manual_seed(1)
    x, y = (torch.from_numpy(a) for a in images(folder))
    precision, _, how = mode.partition("+")
    parts = []
    for n_in, n_out in zip(LAYERS, LAYERS[1:]):
        parts += [torch.nn.Linear(n_in, n_out), torch.nn.ReLU()]
    model = torch.nn.Sequential(*parts[:-1])
    if precision == "bf16":
        model, x = model.bfloat16(), x.bfloat16()
    loss_of = torch.nn.CrossEntropyLoss()
    rule = torch.optim.SGD(model.parameters(), lr=0.01, fused=True)

    def loss(rows):
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=precision == "autocast"):
            z = model(x.index_select(0, rows))
        return loss_of(z.float(), y.index_select(0, rows))

    if how == "compile":
        loss = torch.compile(loss)

    def steps():
        order = torch.randint(0, ROWS, (STEPS, batch))
        for rows in order:
            rule.zero_grad(set_to_none=True)
            loss(rows).backward()
            rule.step()

    return rate_of(steps, batch, seconds)


# ---- JAX ----

def jax(mode, folder, batch, seconds):
    import jax as j
    import jax.numpy as jnp
    x, y = images(folder)
    narrow = jnp.float32 if mode == "float" else jnp.bfloat16
    kept = jnp.bfloat16 if mode == "bf16" else jnp.float32
    x, y = jnp.asarray(x, dtype=narrow), jnp.asarray(y)
    keys = j.random.split(j.random.key(1), len(LAYERS))
    theta = [(j.random.normal(k, (a, b), dtype=kept) * (2 / a) ** 0.5, jnp.zeros(b, dtype=kept)) for k, a, b in zip(keys, LAYERS, LAYERS[1:])]

    def loss(theta, rows):
        h = x[rows]
        for i, (w, b) in enumerate(theta):
            h = h @ w.astype(narrow) + b.astype(narrow)
            if i + 1 < len(theta):
                h = j.nn.relu(h)
        z = h.astype(jnp.float32)
        return -jnp.mean(jnp.take_along_axis(j.nn.log_softmax(z), y[rows][:, None], 1))

    def step(theta, rows):
        g = j.grad(loss)(theta, rows)
        return j.tree.map(lambda p, d: p - (0.01 * d).astype(p.dtype), theta, g), None

    @j.jit
    def run(theta, key):
        rows = j.random.randint(key, (STEPS, batch), 0, ROWS)
        return j.lax.scan(step, theta, rows)[0]

    state = {"theta": theta, "n": 0}

    def steps():
        state["n"] += 1
        state["theta"] = j.block_until_ready(run(state["theta"], j.random.key(state["n"])))

    return rate_of(steps, batch, seconds)


# ---- drove ----

def drove(args, precision, folder, batch, seconds, threads=1):
    per_s = (150000 if precision == "none" else 400000) * threads
    epochs = max(2, round(seconds * per_s / ROWS))
    command = [args.drove, "train", "--defaults", "classic", "--data", f"idx:{folder}/x.idx,{folder}/y.idx", "--test", "",
               "--model", "mlp:128,128,128", "--batch", str(batch), "--lr", "0.01", "--threads", str(threads), "--strategy",
               "sequential" if threads == 1 else "hogwild", "--rule", "sgd", "--precision", precision, "--until", f"epochs={epochs}",
               "--eval-examples", "512", "--eval-every", str(epochs), "--metrics", "none", "--out", "none", "--quiet", "--json"]
    with pinned.held(threads) as seen:
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)["examples_per_s"], seen.used


OURS = ("none", "bf16", "bf16?masters=bf16")
PEERS = {"pytorch": ["float", "autocast", "bf16", "float+compile", "autocast+compile", "bf16+compile"], "jax": ["float", "mixed", "bf16"]}


def peer(kind, mode, folder, batch, seconds):
    """A process of its own; None: this mode does not work here."""
    environment = dict(os.environ, OMP_NUM_THREADS="1", JAX_PLATFORMS="cpu",
                       XLA_FLAGS="--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")
    with pinned.held(1) as seen:
        result = subprocess.run([sys.executable, __file__, "--peer", f"{kind},{mode},{folder},{batch},{seconds}"],
                                capture_output=True, text=True, env=environment)
    if result.returncode != 0:
        return None, None
    return float(result.stdout.split()[-1]), seen.used


def processor():
    with open("/proc/cpuinfo") as f:
        return next((line.split(": ")[1].strip() for line in f if line.startswith("model name")), "unknown")


def measure(args, folder, lines):
    rates = {}

    def take(batch, name, mode, rate, used):
        if rate is None:
            return
        rates.setdefault((batch, name, mode), []).append(rate)
        print(json.dumps({"bench": "bf16", "batch": batch, "who": name, "mode": mode, "examples_per_s": round(rate),
                          "used": round(used, 2), "cpu": processor()}),
              file=lines, flush=True)

    for _ in range(args.rounds):
        for batch in args.batches:
            for precision in OURS if args.two == "yes" else OURS[:2]:
                take(batch, "drove", precision, *drove(args, precision, folder, batch, args.seconds))
                if args.two == "yes":
                    take(batch, "drove, two threads", precision, *drove(args, precision, folder, batch, args.seconds, 2))
            for kind in args.peers:
                for mode in PEERS[kind]:
                    take(batch, kind, mode, *peer(kind, mode, folder, batch, args.seconds))
    return rates


def table_of_two(rates, batches):
    print("\nthousand examples a second (medians), one thread and two\n\nbatch  " + "  ".join(f"{h:>20}" for h in OURS))
    for batch in batches:
        pairs = [[statistics.median(rates[(batch, who, p)]) for who in ("drove", "drove, two threads")] for p in OURS]
        print(f"{batch:5d}  " + "  ".join(f"{f'{a / 1e3:.0f} {b / 1e3:.0f} ({b / a:.2f})':>20}" for a, b in pairs))


def table(rates, batches):
    print("thousand examples a second (medians)\n\nbatch  " + "  ".join(f"{h:>22}" for h in ("drove float", "drove bf16", "PyTorch, best", "JAX, best")))
    for batch in batches:
        median = {k[1:]: statistics.median(v) for k, v in rates.items() if k[0] == batch}
        ours = median[("drove", "bf16")]
        cells = [f"{median[('drove', 'none')] / 1e3:.0f}", f"{ours / 1e3:.0f} ({ours / median[('drove', 'none')]:.2f})"]
        for kind in PEERS:
            best = max(((r, m) for (k, m), r in median.items() if k == kind), default=None)
            cells.append("" if best is None else f"{best[0] / 1e3:.0f} {best[1]} ({ours / best[0]:.2f})")
        print(f"{batch:5d}  " + "  ".join(f"{c:>22}" for c in cells))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--drove", default="build/release/drove")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--batches", type=lambda s: [int(b) for b in s.split(",")], default=[32, 64, 512, 4096])
    parser.add_argument("--peers", type=lambda s: [] if s == "none" else s.split(","), default=list(PEERS))
    parser.add_argument("--two", default="no")
    parser.add_argument("--out")
    parser.add_argument("--peer", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.peer:
        kind, mode, folder, batch, seconds = args.peer.split(",")
        print({"pytorch": pytorch, "jax": jax}[kind](mode, folder, int(batch), float(seconds)))
        return
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([args.drove, "data", "convert", f"synth:digits?n={ROWS}", f"idx:{folder}/x.idx,{folder}/y.idx"], check=True,
                       stdout=subprocess.DEVNULL)
        rates = measure(args, folder, open(args.out, "w") if args.out else sys.stdout)
    table(rates, args.batches)
    if args.two == "yes":
        table_of_two(rates, args.batches)


if __name__ == "__main__":
    main()
