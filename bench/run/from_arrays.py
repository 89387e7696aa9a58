#!/usr/bin/env python3
"""Training from Python's arrays beside the command line's from files of the same data, and the memory that a fit takes.

    python3 bench/run/from_arrays.py --package build/release/python --drove build/release/drove --data DIR [--rounds 5]

DIR has mnist/ and libsvm/.  Of each set a file is written that the program reads as it is (npy:, libsvm:), and the arrays
are loaded from it, so both train on the same numbers, with the same options, seed and number of passes: the losses must be
the same.  Rounds are interleaved, each in a process of its own, on one thread; the least of each figure, which other work on
the machine disturbs least.  train: processor seconds of the passes alone: those of a run of all passes less those of a run of a
third of them, so that reading, imports and the like are not counted.  whole: wall seconds of the call of fit, and of the
program from its start to its end, which reads files.  Neither writes any.

Memory: how much the process's peak grows by fit, beside the size of the data.
"""
import argparse
import gzip
import json
import os
import resource
import subprocess
import sys
import tempfile
import time

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

SETS = {  # model, passes, options as of the program
    "mnist": ("mlp:128,64", 3, {"rule": "sgd", "lr": 0.05, "batch": 32}),
    "a9a": ("logistic", 60, {"rule": "sgd", "lr": 0.05, "batch": 1}),
    "covtype": ("mlp:64", 9, {"rule": "sgd", "lr": 0.05, "batch": 32}),
}


def read_idx(path, head):
    import numpy as np
    with gzip.open(path) as file:
        return np.frombuffer(file.read(), dtype=np.uint8)[head:]


def write_data(source, folder):
    """{set: spec of the program}; the arrays are in NPY files."""
    import numpy as np
    from sklearn.datasets import load_svmlight_file
    X = read_idx(f"{source}/mnist/train-images-idx3-ubyte.gz", 16).reshape(-1, 784).astype(np.float32)
    np.save(f"{folder}/mnist-x.npy", X)
    np.save(f"{folder}/mnist-y.npy", read_idx(f"{source}/mnist/train-labels-idx1-ubyte.gz", 8).astype(np.int32))
    X, y = load_svmlight_file(f"{source}/libsvm/covtype-subset16.binary.scale.gz", dtype=np.float32)
    np.save(f"{folder}/covtype-x.npy", X.toarray())
    np.save(f"{folder}/covtype-y.npy", y.astype(np.int32) - int(y.min()))
    with gzip.open(f"{source}/libsvm/a9a.gz") as file, open(f"{folder}/a9a", "wb") as out:
        out.write(file.read())
    return {"mnist": "npy:{0}/mnist-x.npy,{0}/mnist-y.npy", "a9a": "libsvm:{0}/a9a", "covtype":
            "npy:{0}/covtype-x.npy,{0}/covtype-y.npy"}


def load(name, folder):
    import numpy as np
    if name == "a9a":
        import scipy.sparse
        from sklearn.datasets import load_svmlight_file
        X, y = load_svmlight_file(f"{folder}/a9a", dtype=np.float32)
        return scipy.sparse.csr_matrix(X), (y > 0).astype(np.int32)
    return np.load(f"{folder}/{name}-x.npy"), np.load(f"{folder}/{name}-y.npy")


def fit(name, folder):
    """In a process of its own: prints a line of JSON."""
    import numpy as np
    X, y = load(name, folder)
    from drove import DroveClassifier
    few = np.arange(400)
    DroveClassifier("logistic", random_state=0, until="epochs=1", lr=0.1).fit(X[few], few % 2)  # what is imported late
    model, passes, options = SETS[name]
    if hasattr(X, "indptr"):
        size = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
        X.has_canonical_format
    else:
        size = X.nbytes
    spent = []
    for n in (passes // 3, passes):
        estimator = DroveClassifier(model, random_state=1, until=f"epochs={n}", **options)
        before = reset_peak()
        began, used = time.perf_counter(), time.process_time()
        estimator.fit(X, y)
        whole = time.perf_counter() - began
        spent.append(time.process_time() - used)
    print(json.dumps({"whole": whole, "train": spent[1] - spent[0], "loss": estimator.loss_, "data_bytes": size,
                      "more_bytes": peak_bytes() - before}))


def status_of_process(key):
    with open("/proc/self/status", encoding="ascii") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(key))


def peak_bytes():
    return status_of_process("VmHWM")


def reset_peak():
    """Bytes in memory now, from which the peak counts anew."""
    with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
        file.write("5")
    return status_of_process("VmRSS")


def run_program(drove, name, spec):
    model, passes, options = SETS[name]
    spent = []
    for n in (passes // 3, passes):
        command = [drove, "train", "--data", spec, "--model", model, "--test", "none", "--metrics", "none", "--threads", "1",
                   "--seed", "1", "--out", "none", "--quiet", "--json", "--until", f"epochs={n}"]
        for key, value in options.items():
            command += ["--" + key, str(value)]
        began, used = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
        summary = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
        whole, now = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
        spent.append(now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime)
    return {"whole": whole, "train": spent[1] - spent[0], "loss": summary["loss"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--package")
    parser.add_argument("--drove")
    parser.add_argument("--data")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", help="names of sets, with commas")
    parser.add_argument("--fit", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.package:
        sys.path.insert(0, arguments.package)
    if arguments.fit:
        return fit(*arguments.fit)
    wanted = list(filter(None, arguments.only.split(","))) or list(SETS)
    print("| data | train: fit, s | program, s | ratio | whole: fit, s | program, s | data, MiB | peak grows by, MiB |")
    print("|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        specs = write_data(arguments.data, folder)
        for name in wanted:
            ours, theirs = [], []
            for _ in range(arguments.rounds):
                line = subprocess.run([sys.executable, __file__, "--package", arguments.package, "--fit", name, folder],
                                      check=True, stdout=subprocess.PIPE, text=True).stdout
                ours.append(json.loads(line.splitlines()[-1]))
                theirs.append(run_program(arguments.drove, name, specs[name].format(folder)))
                if ours[-1]["loss"] != theirs[-1]["loss"]:
                    print(f"{name}: the losses differ: {ours[-1]['loss']} {theirs[-1]['loss']}", file=sys.stderr)

            def least(found, key):
                return min(f[key] for f in found)
            ratio = least(ours, "train") / least(theirs, "train")
            mib = 1 / 2**20
            print(f"| {name} | {least(ours, 'train'):.3f} | {least(theirs, 'train'):.3f} | {ratio:.3f} | {least(ours, 'whole'):.3f} | "
                  f"{least(theirs, 'whole'):.3f} | {least(ours, 'data_bytes') * mib:.1f} | "
                  f"{least(ours, 'more_bytes') * mib:.1f} |", flush=True)


if __name__ == "__main__":
    main()
