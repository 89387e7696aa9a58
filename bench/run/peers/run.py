#!/usr/bin/env python3
"""drove beside other programs that train the same network on the same data to the same accuracy, in one run, interleaved.

    python3 -m venv venv
    venv/bin/pip install torch jax tensorflow-cpu scikit-learn
    venv/bin/python bench/run/peers/run.py --data shared/data/mnist --drove build/release/drove [--rounds 3] [--batch 64]
                                           [--workers 2] [--only drove,jax] [--out peers.jsonl]

The MLP 784-128-128-128-10 (ReLU, softmax cross-entropy) on MNIST by plain SGD with a constant step size, until an evaluation at
the end of an epoch finds the accuracy on the test set at --target.  Every program is started anew in every round, with the
round's number as its seed, and held to one processor by affinity, or to as many as its name says:

    whole, s        from the command to its end: start-up, reading MNIST, training, evaluating
    start-up, s     the whole of the same command with nothing to do: process, libraries, reading MNIST (drove: and one step); once
    import, s       until its library could be called (drove: 0)
    training, s     without evaluations, to the target
    examples/s      while training, with what is compiled in the first epoch; and of the fastest epoch (drove: of the whole)
    used            user time of all its processes over wall time, whole
    memory          largest resident size of one of its processes, with the data

Prints a JSON line for each program and round, then a table of medians.  Random numbers differ between programs, and so may the
number of epochs; examples/s do not depend on it.
"""
import argparse
import json
import os
import statistics
import sys

from common import watched

HERE = os.path.dirname(os.path.abspath(__file__))


def programs(args):
    """Name -> command, processors."""
    drove = [args.drove, "train", "--data", f"mnist:{args.data}", "--model", "mlp:128,128,128", "--batch", str(args.batch),
             "--lr", str(args.lr), "--schedule", "constant", "--until", f"accuracy={args.target},epochs={args.epochs}",
             "--eval-every", "1", "--eval-examples", "1000", "--metrics", "none", "--json", "--quiet", "--out", "none"]
    own = ["--data", args.data, "--batch", str(args.batch), "--lr", str(args.lr), "--target", str(args.target), "--epochs",
           str(args.epochs)]

    def peer(name, mode="", workers=1):
        return workers, [sys.executable, f"{HERE}/{name}.py", *own, "--mode", mode, "--workers", str(workers)]

    n = args.workers
    return {
        "drove": (1, drove + ["--threads", "1"]),
        "drove, bf16": (1, drove + ["--threads", "1", "--precision", "bf16"]),
        f"drove, hogwild, {n} threads": (n, drove + ["--threads", str(n), "--strategy", "hogwild"]),
        f"drove, sync, {n} threads": (n, drove + ["--threads", str(n), "--strategy", "sync", "--batch", str(args.batch // n)]),
        "PyTorch, eager": peer("pytorch_mlp", "eager"),
        "PyTorch, compile": peer("pytorch_mlp", "compile"),
        "PyTorch, autocast to bf16": peer("pytorch_mlp", "bf16"),
        f"PyTorch, hogwild, {n} processes": peer("pytorch_mlp", "hogwild", n),
        f"PyTorch, DDP by gloo, {n} processes": peer("pytorch_mlp", "ddp", n),
        "JAX, scan": peer("jax_mlp"),
        "JAX, scan, bf16": peer("jax_mlp", "bf16"),
        "TensorFlow, function": peer("tensorflow_mlp"),
        "scikit-learn, MLPClassifier": peer("sklearn_mlp"),
    }


def measured(name, n_cores, command):
    """Runs it; its line, with what was seen from outside."""
    status, out, err, outside = watched(command, n_cores)
    if status not in (0, 4):  # 4: drove missed the target
        return {"program": name, "error": (err.strip().splitlines() or ["status %d" % status])[-1][:200]}
    text = out if name.startswith("drove") else out.strip().splitlines()[-1]
    return {"program": name, "cores": n_cores, **outside, **line_of(name, json.loads(text))}


def line_of(name, line):
    if not name.startswith("drove"):
        return line
    return {"version": line.get("version", ""), "import_s": 0.0, "train_s": line["train_s"], "epochs": line["epochs"],
            "accuracy": line["test_accuracy"], "reached": line["outcome"] == "reached",
            "examples_per_s": line["examples_per_s"], "best_per_s": line["examples_per_s"]}


def start_up(name, n_cores, command):
    """Seconds of the command with nothing to do; NaN: it failed."""
    idle = list(command)
    if name.startswith("drove"):
        idle[idle.index("--until") + 1] = "updates=1"
    else:
        idle[idle.index("--epochs") + 1] = "0"
    status, _, _, outside = watched(idle, n_cores)
    return outside["whole_s"] if status == 0 else float("nan")


def table(lines, start_ups):
    names = list(dict.fromkeys(line["program"] for line in lines))
    middle = lambda key, rows: statistics.median(row[key] for row in rows)
    first = [line for line in lines if line["program"] == "drove" and "error" not in line]
    print("| program | whole, s | used | start-up, s | import, s | training, s | epochs | examples/s | fastest epoch | of drove's | memory, MB |")
    print("|---" * 11 + "|")
    for name in names:
        rows = [line for line in lines if line["program"] == name]
        good = [row for row in rows if "error" not in row]
        if not good:
            print(f"| {name} | {rows[0]['error']} | | | | | | | | | |")
            continue
        ratio = middle("best_per_s", good) / middle("best_per_s", first) if first else float("nan")
        missed = "" if all(row["reached"] for row in good) else " (missed)"
        print(f"| {name} | {middle('whole_s', good):.2f} | {middle('used', good):.2f} | {start_ups.get(name, float('nan')):.2f} | {middle('import_s', good):.2f} | {middle('train_s', good):.2f} "
              f"| {middle('epochs', good):g}{missed} | {middle('examples_per_s', good):,.0f} "
              f"| {middle('best_per_s', good):,.0f} | {ratio:.2f} "
              f"| {middle('memory_mb', good):.0f} |")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--data", required=True, help="folder of MNIST")
    p.add_argument("--drove", default="build/release/drove")
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--batch", type=int, default=64)
    p.add_argument("--lr", type=float, default=0.1)
    p.add_argument("--target", type=float, default=0.97)
    p.add_argument("--epochs", type=int, default=15)
    p.add_argument("--workers", type=int, default=2)
    p.add_argument("--only", default="", help="programs whose names begin with one of these")
    p.add_argument("--out")
    args = p.parse_args()
    wanted = [w for w in args.only.split(",") if w]
    chosen = {name: c for name, c in programs(args).items() if not wanted or any(name.startswith(w) for w in wanted)}
    lines = []
    for number in range(args.rounds):
        for name, (n_cores, command) in chosen.items():
            lines.append({"round": number + 1, "batch": args.batch, **measured(name, n_cores, command + ["--seed", str(number + 1)])})
            print(json.dumps(lines[-1]), flush=True)
            if args.out:
                with open(args.out, "a") as f:
                    f.write(json.dumps(lines[-1]) + "\n")
    table(lines, {name: start_up(name, *how) for name, how in chosen.items()})


if __name__ == "__main__":
    main()
