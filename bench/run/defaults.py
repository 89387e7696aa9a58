#!/usr/bin/env python3
"""bench/run/defaults.py --drove PROGRAM --data DIR [--sets a9a,w8a,...] [--models 'linear svm mlp:128,128,128'] [-- FLAG ...]

What drove makes of a data set when it is told nothing but the data, the test data and the model; beside it scikit-learn's
estimators with their defaults on the same rows, where it can be imported (--no-peers leaves them out).  One JSON line for
each result on standard output, a table on standard error.  FLAGs go to every drove train, to compare choices.

DIR has the folders libsvm/ (a9a.gz, a9a.t.gz, w8a.gz, sector.scale.gz, sector.t.scale.gz, housing_scale.gz,
abalone_scale.gz, covtype-subset16.binary.scale.gz), uci/ (covtype-subset16.data.gz, optdigits.tra.gz, optdigits.tes.gz) and mnist/.  A set without test rows
of its own is split 80:20 by a fixed seed; drove and scikit-learn see the same rows, scikit-learn's standardised where they
are dense (StandardScaler), as its guide asks for.  wall_s and cpu_s (processor time of all threads) are of the whole program
for drove, reading included, and of fit alone for scikit-learn.
"""
import argparse
import gzip
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time

SPLIT_SEED = 1


def open_text(path):
    return gzip.open(path, "rt") if path.endswith(".gz") else open(path)


def split_lines(path, folder, name):
    """Two files of 80 % and 20 % of the lines; returns their paths."""
    with open_text(path) as f:
        lines = [line for line in f if line.strip()]
    random.Random(SPLIT_SEED).shuffle(lines)
    n_test = len(lines) // 5
    paths = []
    for part, chosen in (("train", lines[n_test:]), ("test", lines[:n_test])):
        paths.append(os.path.join(folder, f"{name}.{part}"))
        with open(paths[-1], "w") as f:
            f.writelines(chosen)
    return paths


def sets(data, folder):
    """name -> (drove's --data, --test, kind, paths)"""
    def lib(*names):
        return [os.path.join(data, "libsvm", n) for n in names]

    def uci(*names):
        return [os.path.join(data, "uci", n) for n in names]

    def of_libsvm(paths, is_values=False):
        return [f"libsvm:{p}" + ("?target=value" if is_values else "") for p in paths], "values" if is_values else "libsvm"

    def of_csv(paths):
        return [f"csv:{p}?label=last" for p in paths], "csv"

    all_sets = {}
    for name, paths, make in (
            ("a9a", lambda: lib("a9a.gz", "a9a.t.gz"), of_libsvm),
            ("w8a", lambda: split_lines(*lib("w8a.gz"), folder, "w8a"), of_libsvm),
            ("sector", lambda: lib("sector.scale.gz", "sector.t.scale.gz"), of_libsvm),
            ("covtype", lambda: split_lines(*lib("covtype-subset16.binary.scale.gz"), folder, "covtype"), of_libsvm),
            ("covtype7", lambda: split_lines(*uci("covtype-subset16.data.gz"), folder, "covtype7"), of_csv),
            ("optdigits", lambda: uci("optdigits.tra.gz", "optdigits.tes.gz"), of_csv),
            ("housing", lambda: split_lines(*lib("housing_scale.gz"), folder, "housing"), lambda p: of_libsvm(p, True)),
            ("abalone", lambda: split_lines(*lib("abalone_scale.gz"), folder, "abalone"), lambda p: of_libsvm(p, True))):
        all_sets[name] = (paths, make)
    all_sets["mnist"] = (lambda: [os.path.join(data, "mnist")], lambda p: ([f"mnist:{p[0]}", "split"], "mnist"))
    return all_sets


# ---- drove ----

def run_drove(args, specs, model, test_paths):
    command = [args.drove, "train", "--out", "none", "--quiet", "--json", "--data", specs[0], "--test", specs[1], "--model", model, *args.flags]
    begun, before = time.monotonic(), children_s()
    done = subprocess.run(command, capture_output=True, text=True)
    wall_s, cpu_s = time.monotonic() - begun, children_s() - before
    if done.returncode not in (0, 3):
        raise SystemExit(f"{' '.join(command)}: {done.stderr}")
    result = json.loads(done.stdout)
    tuning = result.get("tuning") or {}
    return {"score": score_of(result), "wall_s": round(wall_s, 1), "cpu_s": round(cpu_s, 1), "rule": result["rule"], "lr": result["lr"],
            "epochs": round(result["epochs"], 2), "updates": result["updates"], "outcome": result["outcome"],
            "validation_loss": tuning.get("validation_loss"), "cuts": tuning.get("cuts"),
            "recoveries": tuning.get("recoveries")}


def children_s():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def score_of(result):
    """Accuracy, or the root of the mean squared error (a loss of squares is half of it)."""
    if result["test_accuracy"] is not None:
        return result["test_accuracy"]
    return None if result["test_loss"] is None else (2.0 * result["test_loss"]) ** 0.5


# ---- scikit-learn ----

def load(kind, paths):
    import numpy
    from sklearn.datasets import load_svmlight_files
    if kind in ("libsvm", "values"):
        x, y, tx, ty = load_svmlight_files(paths)
        for part in (x, tx):  # LinearSVC takes no 64-bit indices
            part.indices, part.indptr = part.indices.astype("int32"), part.indptr.astype("int32")
        return x, y, tx, ty
    if kind == "csv":
        parts = [numpy.loadtxt(open_text(p), delimiter=",") for p in paths]
        return parts[0][:, :-1], parts[0][:, -1], parts[1][:, :-1], parts[1][:, -1]

    def idx(name, offset):
        with gzip.open(os.path.join(paths[0], name), "rb") as f:
            return numpy.frombuffer(f.read(), dtype="uint8", offset=offset)
    x, tx = (idx(f"{p}-images-idx3-ubyte.gz", 16).reshape(-1, 784) / 255.0 for p in ("train", "t10k"))
    return x, idx("train-labels-idx1-ubyte.gz", 8), tx, idx("t10k-labels-idx1-ubyte.gz", 8)


def estimators(model, is_values):
    from sklearn.linear_model import LinearRegression, SGDClassifier, SGDRegressor
    from sklearn.neural_network import MLPClassifier, MLPRegressor
    from sklearn.svm import LinearSVC
    sizes = [int(n) for n in model.split(":")[1].split(",")] if ":" in model else []
    if sizes:
        make = MLPRegressor if is_values else MLPClassifier
        return [make(hidden_layer_sizes=sizes, random_state=1)]
    return [SGDRegressor(random_state=1), LinearRegression()] if is_values else [SGDClassifier(random_state=1), LinearSVC()]


def run_peers(kind, paths, model):
    from sklearn.preprocessing import StandardScaler
    x, y, tx, ty = load(kind, paths)
    if kind == "csv":
        scaler = StandardScaler().fit(x)
        x, tx = scaler.transform(x), scaler.transform(tx)
    for estimator in estimators(model, kind == "values"):
        begun, before = time.monotonic(), time.process_time()
        estimator.fit(x, y)
        wall_s, cpu_s = time.monotonic() - begun, time.process_time() - before
        score = estimator.score(tx, ty)
        if kind == "values":
            score = float(((estimator.predict(tx) - ty) ** 2).mean() ** 0.5)
        yield {"peer": type(estimator).__name__, "score": round(float(score), 6), "wall_s": round(wall_s, 1), "cpu_s": round(cpu_s, 1)}


# ---- all ----

def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--drove", default="build/release/drove")
    parser.add_argument("--data", required=True)
    parser.add_argument("--sets", default="a9a,w8a,sector,covtype,covtype7,mnist,optdigits,housing,abalone")
    parser.add_argument("--models", default="linear svm mlp:128,128,128",
                        help="separated by blanks; linear: logistic where the targets are classes; svm: for classes alone")
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--only-peers", action="store_true")
    parser.add_argument("flags", nargs="*", help="for every drove train")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        known = sets(args.data, folder)
        for name in args.sets.split(","):
            make_paths, make = known[name]
            paths = make_paths()
            specs, kind = make(paths)
            for model in args.models.split():
                if model == "svm" and kind == "values":
                    continue
                if model == "linear" and kind != "values":
                    model = "logistic"
                if not args.only_peers:
                    line(name, model, "drove", run_drove(args, specs, model, paths))
                if not args.no_peers and model != "svm":  # beside the peers of linear
                    try:
                        for peer in run_peers(kind, paths, model):
                            line(name, model, peer.pop("peer"), peer)
                    except ImportError:
                        args.no_peers = True
                        print("defaults: no scikit-learn here: drove alone", file=sys.stderr)


def line(name, model, who, result):
    print(json.dumps({"bench": "defaults", "set": name, "model": model, "who": who, **result}), flush=True)
    print(f"{name:10} {model:16} {who:18} {result['score']:.4f}  {result['wall_s']:7.1f} s  {result['cpu_s']:7.1f} s of processor  "
          + " ".join(f"{k} {v}" for k, v in result.items() if k in ("rule", "lr", "epochs")), file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
