#!/usr/bin/env python3
"""Linear models from the command to predictions: drove, Vowpal Wabbit, liblinear, scikit-learn's SGD, and LightGBM's trees on the same task.

    venv/bin/pip install scikit-learn lightgbm vowpalwabbit
    venv/bin/python bench/run/peers/linear.py --data shared/data/libsvm --drove build/release/drove [--rounds 3] [--work /tmp]

Logistic regression, each program by its defaults on one thread and one processor (affinity), started anew in every round; the next
program follows the last:

    a9a      a9a and a9a.t of LIBSVM, two classes
    sector   sector.scale and sector.t.scale, 105 classes, sparse text
    covtype  covtype-subset16.binary.scale, two classes, every fifth row held out

    whole, s      from the command to its end: start-up, reading both files, training, predicting
    import, s     until its library could be called
    training, s   without reading and predicting
    memory        largest resident size
    used          user time of all its processes over wall time, whole

Vowpal Wabbit reads files of its own form, which are written beforehand, and makes --passes over them, with a cache; for several
classes it has 24 bits of places instead of 18.  LightGBM is
no linear model; it stands here because who wants predictions may choose it.  Log loss: mean over the test rows; of scikit-learn's
SGD with several classes, which compares each class with the rest, of the normalised probabilities.
"""
import argparse
import gzip
import json
import math
import os
import statistics
import sys
import tempfile
import time

from common import watched

SETS = {"a9a": ("a9a.gz", "a9a.t.gz"), "sector": ("sector.scale.gz", "sector.t.scale.gz"),
        "covtype": ("covtype-subset16.binary.scale.gz", None)}
PROGRAMS = ["drove", "Vowpal Wabbit", "liblinear", "scikit-learn, SGDClassifier", "LightGBM"]


# ---- data ----


def lines_of(path):
    with gzip.open(path, "rt") as f:
        return f.read().splitlines()


def write_vw(path, rows, number):
    """number: {class: VW's label}."""
    with open(path, "w") as f:
        for row in rows:
            label, _, features = row.partition(" ")
            f.write(f"{number[float(label)]} | {features}\n")


def prepare(args, folder, name):
    """Files of one set: train, test, and the same for Vowpal Wabbit; how many classes."""
    train, test = SETS[name]
    rows = lines_of(os.path.join(args.data, train))
    held = lines_of(os.path.join(args.data, test)) if test else rows[::5]
    if not test:
        rows = [row for i, row in enumerate(rows) if i % 5]
    paths = {}
    for part, own in (("train", rows), ("test", held)):
        paths[part] = os.path.join(folder, f"{name}.{part}.libsvm")
        with open(paths[part], "w") as f:
            f.write("\n".join(own) + "\n")
    classes = sorted({float(row.split(" ", 1)[0]) for row in rows + held})
    number = dict(zip(classes, (-1, 1) if len(classes) == 2 else range(1, len(classes) + 1)))
    for part, own in (("train", rows), ("test", held)):
        paths["vw " + part] = os.path.join(folder, f"{name}.{part}.vw")
        write_vw(paths["vw " + part], own, number)
    return paths, len(classes)


# ---- peers: each in a process of its own ----


def matrices(train, test):
    from sklearn.datasets import load_svmlight_file
    x, y = load_svmlight_file(train)
    xt, yt = load_svmlight_file(test, n_features=x.shape[1])
    for part in (x, xt):  # liblinear's and SGD's code in scikit-learn take no wider ones
        part.indices, part.indptr = part.indices.astype("i4"), part.indptr.astype("i4")
    return x, y, xt, yt


def fit_and_score(library, model, train, test, import_s):
    from sklearn.metrics import log_loss
    x, y, xt, yt = matrices(train, test)
    start = time.perf_counter()
    model.fit(x, y)
    train_s = time.perf_counter() - start
    shares = model.predict_proba(xt)
    return {"version": library.__version__, "import_s": import_s, "train_s": train_s,
            "accuracy": float((model.classes_[shares.argmax(1)] == yt).mean()), "log_loss": float(log_loss(yt, shares, labels=model.classes_))}


def sklearn_child(name, train, test):
    start = time.perf_counter()
    import sklearn
    from sklearn.linear_model import LogisticRegression, SGDClassifier
    from sklearn.multiclass import OneVsRestClassifier
    import_s = time.perf_counter() - start
    model = SGDClassifier(loss="log_loss", random_state=1)
    if name == "liblinear":  # scikit-learn has liblinear's source within; several classes: each against the rest
        model = OneVsRestClassifier(LogisticRegression(solver="liblinear"))
    return fit_and_score(sklearn, model, train, test, import_s)


def lightgbm_child(train, test):
    start = time.perf_counter()
    import lightgbm
    import_s = time.perf_counter() - start
    return fit_and_score(lightgbm, lightgbm.LGBMClassifier(verbose=-1, n_jobs=1), train, test, import_s)


def vw_child(train, test, n_classes, passes):
    start = time.perf_counter()
    import vowpalwabbit as vw
    import_s = time.perf_counter() - start
    many = n_classes > 2
    cache = train + ".cache"
    start = time.perf_counter()
    model = vw.Workspace(f"-d {train} --cache_file {cache} -k --passes {passes} --loss_function logistic --quiet "
                         + (f"-b 24 --oaa {n_classes} --probabilities" if many else "--link logistic"))
    train_s = time.perf_counter() - start
    n_right, loss, n = 0, 0.0, 0
    with open(test) as f:
        for row in f:
            label = int(row.split(" ", 1)[0])
            said = model.predict(row.partition("|")[1] + row.partition("|")[2])
            if many:
                best, share = max(range(len(said)), key=said.__getitem__) + 1, said[label - 1]
            else:
                best, share = (1 if said > 0.5 else -1), (said if label > 0 else 1 - said)
            n_right, loss, n = n_right + (best == label), loss - math.log(max(share, 1e-15)), n + 1
    os.remove(cache)
    return {"version": vw.__version__, "import_s": import_s, "train_s": train_s, "accuracy": n_right / n, "log_loss": loss / n}


def child(words):
    name, train, test, n_classes, passes = words
    if name == "Vowpal Wabbit":
        line = vw_child(train, test, int(n_classes), int(passes))
    elif name == "LightGBM":
        line = lightgbm_child(train, test)
    else:
        line = sklearn_child(name, train, test)
    print(json.dumps(line))


# ---- all ----


def measured(args, name, paths, n_classes):
    if name == "drove":
        command = [args.drove, "train", "libsvm:" + paths["train"], "--test", "libsvm:" + paths["test"], "--model", "logistic", "--threads",
                   "1", "--json", "--quiet", "--out", "none"]
    else:
        kind = "vw " if name == "Vowpal Wabbit" else ""
        command = [sys.executable, os.path.abspath(__file__), "child", name, paths[kind + "train"], paths[kind + "test"],
                   str(n_classes), str(args.passes)]
    status, out, err, outside = watched(command, 1)
    if status != 0:
        return {"program": name, "error": (err.strip().splitlines() or [f"status {status}"])[-1][:200]}
    line = json.loads(out if name == "drove" else out.strip().splitlines()[-1])
    if name == "drove":
        line = {"import_s": 0.0, "train_s": line["train_s"], "accuracy": line["test_metrics"]["accuracy"],
                "log_loss": line["test_metrics"]["log_loss"]}
    return {"program": name, **outside, **line}


def table(lines):
    print("| data | program | accuracy, % | log loss | whole, s | used | import, s | training, s | memory, MB |")
    print("|---" * 9 + "|")
    for name, program in dict.fromkeys((line["set"], line["program"]) for line in lines):
        own = [line for line in lines if line["set"] == name and line["program"] == program]
        good = [line for line in own if "error" not in line]
        if not good:
            print(f"| {name} | {program} | {own[0]['error']} | | | | | | |")
            continue
        middle = {key: statistics.median(line[key] for line in good) for key in good[0] if isinstance(good[0][key], float)}
        print(f"| {name} | {program} | {100 * middle['accuracy']:.2f} | {middle['log_loss']:.4f} | {middle['whole_s']:.2f} | {middle['used']:.2f} "
              f"| {middle['import_s']:.2f} | {middle['train_s']:.2f} | {middle['memory_mb']:.0f} |")


def main():
    if sys.argv[1:2] == ["child"]:
        child(sys.argv[2:])
        return
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--data", required=True, help="folder of LIBSVM's files, packed by gzip")
    p.add_argument("--drove", default="build/release/drove")
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--passes", type=int, default=10)
    p.add_argument("--sets", default=",".join(SETS))
    p.add_argument("--work", help="folder for files; default: a temporary one")
    args = p.parse_args()
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    lines = []
    with tempfile.TemporaryDirectory(dir=args.work) as folder:
        prepared = {name: prepare(args, folder, name) for name in args.sets.split(",")}
        for number in range(args.rounds):
            for name, (paths, n_classes) in prepared.items():
                for program in PROGRAMS[:-1] if n_classes > 2 else PROGRAMS:  # trees for 105 classes take many minutes
                    lines.append({"round": number + 1, "set": name, **measured(args, program, paths, n_classes)})
                    print(json.dumps(lines[-1]), flush=True)
    table(lines)


if __name__ == "__main__":
    main()
