#!/usr/bin/env python3
"""What low precision costs in loss and accuracy: python3 bench/run/statistical.py [options] PART...

Parts, each a JSON line a run and a printed table at its end:
  dense     the paper's generative model, 100,000 examples of 2^14 features: the best step size, schedule and range of each
            signature (searched on seed 1, a quarter of the rows), then the losses of all seeds beside the float model's
  sparse    the same at 3 % density
  fig5a     loss against epochs for each rounding (Figure 5a): dense D8M8 and D16M16
  fig6e     loss against epochs for each size of mini-batch (Figure 6e), gradients summed as in section 5.4
  mnist     random Fourier features on MNIST, ten one-versus-all SVMs: loss and test error (Figures 7d, 7e)
  libsvm    a9a, w8a, sector with everything left at its default but the signature; a9a and sector, which have test files,
            also by liblinear through scikit-learn (skipped where this interpreter has none)

Options:
  --build DIR    release build                                             [build/release]
  --data DIR     folder with libsvm/ and mnist/                            [../shared/data]
  --work DIR     scratch folder; `dense` needs 7 GB there and in memory    [/tmp]
  --out FILE     the JSON lines go there too, appended                     [none]
  --seeds N      [5]      --epochs N   [5]      --rows N   [100000]      --features N   [16384]
  --search-rows N  rows that the search uses [a quarter]      --mnist-epochs N  [5]
  --given "lr=0.1 schedule=step:0.5,1; lr=..."  no search: settings of dense's or sparse's four signatures, in order
  --threads N    [2]      --quick      one seed, a tenth of the rows, fewer step sizes
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

arguments = None
results = []


def record(row):
    results.append(row)
    line = json.dumps(row)
    print(line, flush=True)
    if arguments.out:
        with open(arguments.out, "a") as f:
            f.write(line + "\n")


def drove(part, options, curve=False):
    """One training run; its summary, and with `curve` the log of its evaluations."""
    command = [os.path.join(arguments.build, "drove"), "train", "--defaults", "classic", "--json", "--quiet"]
    for name, value in options.items():
        command += ["--" + name.replace("_", "-"), str(value)]
    with tempfile.TemporaryDirectory(dir=arguments.work) as folder:
        if curve:
            command += ["--out", os.path.join(folder, "run"), "--save-every", "never"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode not in (0, 3):
            sys.exit("statistical: " + " ".join(command) + "\n" + done.stderr)
        summary = json.loads(done.stdout)
        keys = ("loss", "accuracy", "test_loss", "test_accuracy", "train_s", "gnps", "model_range", "clamped", "outcome",
                "epochs")
        row = {"part": part, "command": " ".join(command), **{k: summary.get(k) for k in keys}}
        if curve:
            with open(os.path.join(folder, "run", "log.jsonl")) as log:
                row["curve"] = [[r["epochs"], r["loss"], r.get("test_accuracy")] for r in map(json.loads, log)]
    return row


def loss_of(row):
    return row["loss"] if row["loss"] is not None and row["outcome"] != "crashed" else float("inf")


def table(title, head, rows):
    print(f"\n### {title}\n")
    print("| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(f"{v:.5g}" if isinstance(v, float) else str(v) for v in row) + " |")
    print(flush=True)


# ---- the generative model ----


def generated(seed, density, rows=None):
    """Spec of the data set; a dense one is written to a file once, since drawing it takes longer than training."""
    rows = rows or arguments.rows
    spec = f"synth:logistic?n={rows}&d={arguments.features}&seed={seed}"
    if density < 1:
        return spec + f"&density={density}"
    name = os.path.join(arguments.work, f"drove-dense-{rows}-{arguments.features}-{seed}")
    if not os.path.exists(name + ".y.npy"):
        subprocess.run([os.path.join(arguments.build, "drove"), "data", "convert", spec, f"npy:{name}.x.npy,{name}.y.npy"],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return f"npy:{name}.x.npy,{name}.y.npy?target=class"


def forget(seed, rows=None):
    for end in ("x", "y"):
        name = os.path.join(arguments.work, f"drove-dense-{rows or arguments.rows}-{arguments.features}-{seed}.{end}.npy")
        if os.path.exists(name):
            os.remove(name)


def base(data, seed):
    return {"data": data, "test": "none", "model": "logistic", "batch": 1, "threads": arguments.threads, "seed": seed,
            "until": f"epochs={arguments.epochs}", "eval-every": arguments.epochs, "eval-examples": 20000}


def search(part, data, signature, rounding, rates):
    """Step size at the range that drove finds, then schedule, then range: each the best given those before."""
    best = None
    tried = []

    def attempt(**more):
        nonlocal best
        options = {**base(data, 1), "precision": signature, "rounding": rounding, **more}
        row = {**drove(part + " search", options), "signature": signature, "rounding": rounding, **more}
        record(row)
        tried.append(row)
        if best is None or loss_of(row) < loss_of(best[0]):
            best = (row, more)

    for rate in rates:
        attempt(lr=rate)
        if len(tried) > 2 and loss_of(tried[-1]) > 1.5 * loss_of(best[0]):
            break
    for schedule, faster in (("step:0.7,1", 1), ("step:0.5,1", 1), ("step:0.5,1", 3)):
        attempt(**{**best[1], "schedule": schedule, "lr": best[1]["lr"] * faster})
    if "M32f" not in signature:
        found = best[0]["model_range"]
        for factor in (0.25, 0.5, 2):
            attempt(**{**best[1], "model_range": float(f"{found * factor:.3g}")})
    return best[1]


def generative(part, density):
    index = ("", "", "") if density == 1 else ("i32", "i16", "i8")
    signatures = [("D32f" + index[0] + "M32f", "shared"), ("D16" + index[1] + "M16", "shared"),
                  ("D8" + index[2] + "M8", "shared"), ("D8" + index[2] + "M8", "nearest")]
    rates = [1e-4, 3e-4, 1e-3, 3e-3, 1e-2] if density == 1 else [1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3]
    if arguments.quick:
        rates = rates[1:4]
    if arguments.given:
        chosen = [dict(word.split("=", 1) for word in text.split()) for text in arguments.given.split(";")]
    else:
        data = generated(1, density, arguments.search_rows)
        chosen = [search(part, data, s, r, rates) for s, r in signatures]
        if density == 1:
            forget(1, arguments.search_rows)
    losses = [[] for _ in signatures]
    for seed in range(1, arguments.seeds + 1):
        data = generated(seed, density)
        for i, (signature, rounding) in enumerate(signatures):
            row = drove(part, {**base(data, seed), "precision": signature, "rounding": rounding, **chosen[i],
                               "eval-examples": 0})
            losses[i].append(row["loss"])
            record({**row, "signature": signature, "rounding": rounding, "seed": seed, **chosen[i]})
        if density == 1:
            forget(seed)
    mean = [sum(v) / len(v) for v in losses]
    table(f"{part}: mean training loss of {arguments.seeds} seeds after {arguments.epochs} epochs",
          ["signature", "rounding", "step size, schedule, range", "loss", "over float", "each seed"],
          [(s, r, " ".join(f"{k}={v}" for k, v in chosen[i].items()), mean[i], mean[i] - mean[0],
            " ".join(f"{v:.4f}" for v in losses[i])) for i, (s, r) in enumerate(signatures)])


# ---- figures ----


def curves(part, title, seeds, runs_of):
    """runs_of(data, seed): the name and the options of each run."""
    found = {}
    for seed in seeds:
        for name, options in runs_of(generated(seed, 1, arguments.search_rows), seed):
            row = drove(part, options, curve=True)
            record({**row, "name": name, "seed": seed})
            found.setdefault(name, []).append([loss for _, loss, _ in row["curve"]])
        forget(seed, arguments.search_rows)
    rows = []
    for name, losses in found.items():
        last = [of[-1] for of in losses]
        rows.append((name, *[f"{statistics.median(at):.4f}" for at in zip(*losses)], f"{min(last):.4f} to {max(last):.4f}"))
    table(title, ["", *[f"epoch {i}" for i in range(len(rows[0]) - 2)], "at the end, least to greatest"], rows)


def fig5a():
    def runs_of(data, seed):
        every = {**base(data, seed), "eval-every": 1, "lr": 1e-3}
        yield "D32fM32f", {**every, "precision": "D32fM32f"}
        for signature in ("D16M16", "D8M8"):
            for rounding in ("nearest", "mt19937", "xorshift", "shared", "shared?period=16"):
                yield f"{signature} {rounding}", {**every, "precision": signature, "rounding": rounding}
    curves("fig5a", "Figure 5a: training loss, dense, by rounding", [1], runs_of)


def fig6e():
    def runs_of(data, seed):
        # drove's gradients are means: a step size in proportion to the batch is the sum of gradients of section 5.4.
        for signature in ("D32fM32f", "D8M8"):
            for batch in (1, 4, 16, 64, 256):
                yield f"{signature} batch {batch}", {**base(data, seed), "eval-every": 1, "precision": signature, "batch": batch,
                                                     "lr": 1e-3 * batch}
    curves("fig6e", "Figure 6e: training loss, dense, by mini-batch (step size 0.001 batch, gradients summed as in section 5.4)",
           range(1, arguments.seeds + 1), runs_of)


def mnist():
    folder = os.path.join(arguments.data, "mnist")
    rows = []
    epochs = arguments.mnist_epochs
    for signature, rounding in (("D32fM32f", "shared"), ("D16M16", "shared"), ("D8M8", "shared"), ("D8M8", "nearest")):
        row = drove("mnist", {"data": f"mnist:{folder}", "test": "split", "features": "rff:4096?gamma=0.014",
                              "model": "svm",
                              "precision": signature, "rounding": rounding, "batch": 1, "lr": 1,
                              "schedule": "step:0.7,1", "threads": arguments.threads, "until": f"epochs={epochs}",
                              "eval-every": 1}, curve=True)
        record({**row, "signature": signature, "rounding": rounding})
        rows.append((signature, rounding, row["loss"], f"{100 - 100 * row['test_accuracy']:.2f} %", row["train_s"],
                     " ".join(f"{100 - 100 * a:.2f}" for _, _, a in row["curve"])))
    table("Figures 7d, 7e: MNIST, 4096 random Fourier features, ten SVMs",
          ["signature", "rounding", "training loss", "test error", "s of training", "test error by epoch, %"], rows)


def liblinear_accuracy(data, test, model):
    """Test accuracy of liblinear (primal logistic regression, or the dual of the hinge loss; one against all) at the best C
    of 0.01, 0.1, 1 and 10: (accuracy, C); None without scikit-learn."""
    try:
        from sklearn.datasets import load_svmlight_files
        from sklearn.linear_model import LogisticRegression
        from sklearn.multiclass import OneVsRestClassifier
        from sklearn.svm import LinearSVC
    except ImportError:
        return None
    x, y, x_test, y_test = load_svmlight_files([data.split(":", 1)[1], test.split(":", 1)[1]])
    for part in (x, x_test):  # scikit-learn takes no others
        part.indices, part.indptr = part.indices.astype("int32"), part.indptr.astype("int32")
    found = []
    for c in (0.01, 0.1, 1, 10):
        if model == "svm":
            peer = LinearSVC(loss="hinge", C=c, random_state=1, max_iter=20000)
        else:
            peer = OneVsRestClassifier(LogisticRegression(solver="liblinear", C=c, max_iter=1000))
        found.append((float(peer.fit(x, y).score(x_test, y_test)), c))
    return max(found)


def libsvm():
    folder = os.path.join(arguments.data, "libsvm")
    sets = [("a9a", f"libsvm:{folder}/a9a.gz", f"libsvm:{folder}/a9a.t.gz", "logistic", 0.3, 64),
            ("w8a", f"libsvm:{folder}/w8a.gz?split=0.2", "split", "logistic", 0.1, 1),
            ("sector", f"libsvm:{folder}/sector.scale.gz", f"libsvm:{folder}/sector.t.scale.gz", "svm", 1.0, 1)]
    rows = []
    for name, data, test, model, lr, batch in sets:
        for signature in ("D32fi32M32f", "D16i16M16", "D8i16M8"):
            row = drove("libsvm", {"data": data, "test": test, "model": model, "precision": signature, "lr": lr,
                                   "batch": batch, "schedule": "step:0.7,1", "threads": arguments.threads,
                                   "until": "epochs=10", "eval-every": 10})
            record({**row, "name": name, "signature": signature})
            rows.append((name, model, signature, row["loss"], f"{100 * row['test_accuracy']:.2f} %", row["model_range"],
                         row["clamped"]))
        peer = liblinear_accuracy(data, test, model) if test != "split" else None
        if peer:
            record({"part": "libsvm", "name": name, "model": model, "liblinear": True, "test_accuracy": peer[0], "C": peer[1]})
            rows.append((name, model, f"liblinear, C = {peer[1]}", "", f"{100 * peer[0]:.2f} %", "", ""))
    table("LIBSVM sets, ranges found from the data",
          ["set", "model", "signature", "training loss", "test accuracy", "range", "saturated writes"], rows)


def main():
    global arguments
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = {"dense": lambda: generative("dense", 1), "sparse": lambda: generative("sparse", 0.03), "fig5a": fig5a,
             "fig6e": fig6e, "mnist": mnist, "libsvm": libsvm}
    parser.add_argument("parts", nargs="+", choices=list(parts), metavar="PART")
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--data", default="../shared/data")
    parser.add_argument("--work", default="/tmp")
    parser.add_argument("--out")
    parser.add_argument("--given")
    parser.add_argument("--quick", action="store_true")
    for name, value in (("seeds", 5), ("epochs", 5), ("rows", 100000), ("features", 16384), ("threads", 2),
                        ("mnist-epochs", 5), ("search-rows", 0)):
        parser.add_argument("--" + name, type=int, default=value)
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.seeds, arguments.rows, arguments.mnist_epochs = 1, arguments.rows // 10, 1
    arguments.search_rows = arguments.search_rows or arguments.rows // 4
    for part in arguments.parts:
        parts[part]()


if __name__ == "__main__":
    main()
