#!/usr/bin/env python3
"""Time to the same objective value: drove, scikit-learn's SGDClassifier, liblinear.

    python3 bench/run/peers_linear.py [--build DIR] [--data DIR] [--work DIR] [--rounds N] [--threads N] [--quick]

Needs an interpreter with numpy, scipy and scikit-learn (PyPI), and liblinear's shared library (Debian: liblinear4).
Logistic regression with L2, F(w) = mean log(1 + exp(-y (x w + b))) + lambda / 2 (w w + b b), lambda = 1 / n, on
  dense   100,000 x 1,024 of the logistic model (drove's synth:logistic)
  text    sector.scale of LIBSVM, its first class against the rest
The value to reach is 1 % above the best that liblinear finds at a tight tolerance.  Clocks stand while F is computed and while
data are read.  Each program takes the number of epochs (or the tolerance) that just reaches it:
  drove          --precision as named, one example an update, the best step size of a short list; F of the saved model
  SGDClassifier  log_loss, alpha = lambda, partial_fit epoch by epoch, the best of its own schedule and constant steps
  liblinear      solver 0 (trust region) and 7 (dual), the loosest tolerance of a list that reaches the value
Each has as many processors as threads, by affinity.  One JSON line for each program: `used` is user time over wall time of all its
attempts, with what stands between them; `ratio` is its time over drove's best with as many threads (one: the others have one).
"""
import argparse
import ctypes
import gzip
import json
import os
import struct
import subprocess
import sys
import tempfile
import time

import numpy as np
import scipy.sparse as sp

import pinned

MARGIN = 1.01


def objective(x, y, w, b, decay):
    z = y * (x @ w + b)
    return float(np.mean(np.logaddexp(0, -z)) + decay / 2 * (w @ w + b * b))


# ---- data ----


def run_drove(build, command):
    done = subprocess.run([os.path.join(build, "drove"), *command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit("peers_linear: drove " + " ".join(command) + "\n" + done.stderr)
    return done.stdout


def dense_data(args):
    n, d = (10000, 256) if args.quick else (100000, 1024)
    x, y = (os.path.join(args.work, f"drove-peers-{n}-{d}.{part}.npy") for part in "xy")
    if not os.path.exists(y):
        run_drove(args.build, ["data", "convert", f"synth:logistic?n={n}&d={d}&seed=1", f"npy:{x},{y}"])
    labels = np.load(y).ravel()
    return np.load(x), np.where(labels == labels.max(), 1.0, -1.0), f"npy:{x},{y}?target=class", (x, y)


def text_data(args):
    rows, cols, values, y = [], [], [], []
    path = os.path.join(args.data, "libsvm", "sector.scale.gz")
    with gzip.open(path, "rt") as f:
        for i, line in enumerate(f):
            label, *pairs = line.split()
            y.append(1.0 if float(label) == 1 else -1.0)
            for pair in pairs:
                k, v = pair.split(":")
                rows.append(i)
                cols.append(int(k) - 1)
                values.append(float(v))
    x = sp.csr_matrix((values, (rows, cols)))
    name = os.path.join(args.work, "drove-peers-sector1.libsvm")
    with open(name, "w") as f:
        for i in range(x.shape[0]):
            row = x.indices[x.indptr[i]:x.indptr[i + 1]], x.data[x.indptr[i]:x.indptr[i + 1]]
            f.write("%+d %s\n" % (y[i], " ".join(f"{k + 1}:{v:.9g}" for k, v in zip(*row))))
    return x, np.array(y), f"libsvm:{name}?scale=none", (name,)


# ---- liblinear, through its C interface ----


class Node(ctypes.Structure):
    _fields_ = [("index", ctypes.c_int), ("value", ctypes.c_double)]


class Problem(ctypes.Structure):
    _fields_ = [("l", ctypes.c_int), ("n", ctypes.c_int), ("y", ctypes.POINTER(ctypes.c_double)),
                ("x", ctypes.POINTER(ctypes.c_void_p)), ("bias", ctypes.c_double)]


class Parameter(ctypes.Structure):
    _fields_ = [("solver_type", ctypes.c_int), ("eps", ctypes.c_double), ("C", ctypes.c_double),
                ("nr_weight", ctypes.c_int), ("weight_label", ctypes.c_void_p), ("weight", ctypes.c_void_p),
                ("p", ctypes.c_double), ("init_sol", ctypes.c_void_p), ("spare", ctypes.c_double * 8)]


class Liblinear:
    def __init__(self, x, y):
        self.lib = ctypes.CDLL("liblinear.so.4")
        self.lib.train.restype = ctypes.c_void_p
        self.lib.get_decfun_coef.restype = self.lib.get_decfun_bias.restype = ctypes.c_double
        self.lib.get_decfun_coef.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_int]
        self.lib.get_decfun_bias.argtypes = [ctypes.c_void_p, ctypes.c_int]
        self.lib.free_and_destroy_model.argtypes = [ctypes.POINTER(ctypes.c_void_p)]
        self.quiet = ctypes.CFUNCTYPE(None, ctypes.c_char_p)(lambda text: None)
        self.lib.set_print_string_function(self.quiet)
        rows = sp.csr_matrix(x)
        n, d = rows.shape
        kind = np.dtype([("index", np.int32), ("value", np.float64)], align=True)
        count = np.diff(rows.indptr)
        start = rows.indptr[:-1] + 2 * np.arange(n)
        self.nodes = np.zeros(rows.nnz + 2 * n, dtype=kind)
        place = np.arange(rows.nnz) + 2 * np.repeat(np.arange(n), count)
        self.nodes["index"][place] = rows.indices + 1
        self.nodes["value"][place] = rows.data
        self.nodes["index"][start + count] = d + 1
        self.nodes["value"][start + count] = 1.0
        self.nodes["index"][start + count + 1] = -1
        base = self.nodes.ctypes.data
        self.rows = (ctypes.c_void_p * n)(*(base + start * kind.itemsize).tolist())
        self.y = np.ascontiguousarray(y)
        self.d = d
        self.problem = Problem(n, d + 1, self.y.ctypes.data_as(ctypes.POINTER(ctypes.c_double)),
                               ctypes.cast(self.rows, ctypes.POINTER(ctypes.c_void_p)), 1.0)

    def train(self, solver, eps, c):
        parameter = Parameter(solver, eps, c, 0, None, None, 0.1, None)
        start = time.perf_counter()
        model = ctypes.c_void_p(self.lib.train(ctypes.byref(self.problem), ctypes.byref(parameter)))
        seconds = time.perf_counter() - start
        w = np.array([self.lib.get_decfun_coef(model, i + 1, 0) for i in range(self.d)])
        b = self.lib.get_decfun_bias(model, 0)
        self.lib.free_and_destroy_model(ctypes.byref(model))
        return w, b, seconds


def sign(x, y, w, b, decay):
    """liblinear's decision values may stand for the other class."""
    values = [(objective(x, y, s * w, s * b, decay), s) for s in (1, -1)]
    return min(values)[0]


# ---- drove and scikit-learn ----


def saved_parameters(path):
    with open(path, "rb") as f:
        size = struct.unpack("<Q", f.read(8))[0]
        header = json.loads(f.read(size))
        body = f.read()
    part = {k: np.frombuffer(body[v["data_offsets"][0]:v["data_offsets"][1]], dtype=np.float32).astype(float)
            for k, v in header.items() if k != "__metadata__"}
    return part["layer0.weight"], float(part["layer0.bias"][0])


def drove_time(args, spec, x, y, decay, goal, precision, threads, strategy):
    best = None
    for lr in (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0):
        reached = False
        for epochs in (0.5, 1, 2, 3, 5, 8, 12, 20):
            with tempfile.TemporaryDirectory(dir=args.work) as folder:
                out = os.path.join(folder, "run")
                text = run_drove(args.build, [
                    "train", "--defaults", "classic", "--data", spec, "--test", "none", "--model", "logistic", "--precision", precision,
                    "--batch", "1", "--lr", str(lr), "--weight-decay", str(decay), "--threads", str(threads),
                    "--strategy", strategy, "--schedule", "step:0.5,1", "--until", f"epochs={epochs}", "--eval-every",
                    "1000", "--out", out, "--save-every", "never", "--json", "--quiet"])
                w, b = saved_parameters(os.path.join(out, "model.safetensors"))
            value, seconds = objective(x, y, w, b, decay), json.loads(text)["train_s"]
            if value <= goal:
                reached = True
                if best is None or seconds < best["s"]:
                    best = {"s": seconds, "objective": value, "setting": f"lr {lr}, {epochs} epochs"}
                break
            if best is not None and seconds > best["s"]:
                break
        if best is not None and not reached:
            break  # larger steps do no better
    return best


def sgd_time(x, y, decay, goal):
    from sklearn.linear_model import SGDClassifier
    best = None
    for more in ({"learning_rate": "optimal"}, *({"learning_rate": "constant", "eta0": e}
                                                for e in (0.003, 0.01, 0.1, 1.0, 10.0))):
        model = SGDClassifier(loss="log_loss", alpha=decay, random_state=1, **more)
        seconds, values = 0.0, []
        for epoch in range(1, 41):
            start = time.perf_counter()
            model.partial_fit(x, y, classes=[-1.0, 1.0])
            seconds += time.perf_counter() - start
            value = objective(x, y, model.coef_.ravel(), float(model.intercept_[0]), decay)
            values.append(value)
            if value <= goal or (best is not None and seconds > best["s"]):
                break
        if values[-1] <= goal and (best is None or seconds < best["s"]):
            best = {"s": seconds, "objective": values[-1], "setting": f"{more}, {epoch} epochs"}
    return best


def compare(args, name, x, y, spec):
    n = x.shape[0]
    decay = 1.0 / n
    peer = Liblinear(x, y)
    w, b, _ = peer.train(0, 1e-6, 1.0)
    goal = MARGIN * sign(x, y, w, b, decay)
    index = "" if name == "dense" else "i16"
    found = []

    def show(program, result, used):
        row = {"used": round(used, 2), "data": name, "rows": n, "features": x.shape[1], "goal": goal, "program": program, **(result or {"s": None})}
        found.append(row)
        print(json.dumps(row), flush=True)

    runs = [("D32f" + (index and "i32") + "M32f", 1, "sequential"), ("D16" + index + "M16", 1, "sequential"),
            ("D8" + index + "M8", 1, "sequential"), ("D32f" + (index and "i32") + "M32f", args.threads, "hogwild"),
            ("D8" + index + "M16", args.threads, "hogwild"), ("D8" + index + "M16", args.threads, "replicas")]
    for precision, threads, strategy in runs:
        with pinned.held(threads) as seen:
            rounds = [drove_time(args, spec, x, y, decay, goal, precision, threads, strategy) for _ in range(args.rounds)]
        rounds = [r for r in rounds if r]
        show(f"drove {precision}, {threads} thread{'s' * (threads > 1)}, {strategy}",
             min(rounds, key=lambda r: r["s"]) if rounds else None, seen.used)
    x64 = x.astype(np.float64)
    with pinned.held(1) as seen:
        rounds = [r for r in (sgd_time(x64, y, decay, goal) for _ in range(args.rounds)) if r]
    show("scikit-learn SGDClassifier, 1 thread", min(rounds, key=lambda r: r["s"]) if rounds else None, seen.used)
    for solver in (0, 7):
        best = None
        with pinned.held(1) as seen:
            for eps in (1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001, 1e-4):
                w, b, seconds = peer.train(solver, eps, 1.0)
                value = sign(x, y, w, b, decay)
                if value <= goal:
                    best = {"s": seconds, "objective": value, "setting": f"eps {eps}"}
                    break
        show(f"liblinear, solver {solver}, 1 thread", best, seen.used)

    ours = [r["s"] for r in found if r["program"].startswith("drove") and " 1 thread," in r["program"] and r["s"]]
    print(f"\n### {name}: seconds to F = {goal:.6g}\n\n| program | s | setting | over drove's best on one thread |\n|---|---|---|---|")
    for r in found:
        ratio = f"{r['s'] / min(ours):.2f}" if r["s"] and ours else "not reached"
        print(f"| {r['program']} | {r['s'] or '-'} | {r.get('setting', '')} | {ratio} |")
    print(flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, value in (("build", "build/release"), ("data", "../shared/data"), ("work", "/tmp")):
        parser.add_argument("--" + name, default=value)
    for name, value in (("rounds", 2), ("threads", 2)):
        parser.add_argument("--" + name, type=int, default=value)
    parser.add_argument("--quick", action="store_true", help="small data, for a look")
    parser.add_argument("parts", nargs="*", choices=["dense", "text"], default=["dense", "text"], metavar="PART")
    args = parser.parse_args()
    for name in args.parts:
        x, y, spec, files = dense_data(args) if name == "dense" else text_data(args)
        compare(args, name, x, y, spec)
        for path in files:
            os.remove(path)


if __name__ == "__main__":
    main()
