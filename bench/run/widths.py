#!/usr/bin/env python3
"""Figure 7b of the Buckwild! paper: LeNet trained with numbers of few bits.

    python3 bench/run/widths.py --data DIR [--drove build/release/drove] [--sets mnist,cifar10] [--model lenet]
                                [--widths 4,5,6,8,10,12,16] [--roundings shared,nearest,xorshift,mt19937] [--seeds 1,2,3]
                                [--scales layer,channel] [--epochs 1] [--threads 1] [--out DIR] [--lines FILE]

DIR has the folders mnist and cifar10.  Every number of model, data and derivatives has the width (--precision
'D6M6?simulated=yes'; 8 and 16 are the formats that exist); `float` and `bf16` are run as well.  --scales: units of the
weights, each layer's one or one for each channel (`?scales=channel`; in the table `8 channel`).  Prints a table a data set: the
mean error on the held-out examples, in per cent, and the range over the seeds.  --out: a picture a data set, where gnuplot is
installed.  --lines: one JSON record a run, appended; runs that it has are not repeated.
"""
import argparse
import json
import os
import shutil
import subprocess
import tempfile

SETS = {
    "mnist": ("mnist:{0}/mnist", None, 1),
    "cifar10": ("cifar10:{0}/cifar10/cifar10-train4k.bin.gz?scale=unit-mean", "split", 8),  # a fifth is held out; more epochs: few images
}


def processor():
    with open("/proc/cpuinfo") as f:
        return next((line.split(": ")[1].strip() for line in f if line.startswith("model name")), "unknown")


def precision_of(width):
    """width: 6, or "6 channel"; "float", "bf16"."""
    if width in ("float", "bf16"):
        return {"float": "none"}.get(width, width)
    bits, _, scales = str(width).partition(" ")
    keys = ([] if bits in ("8", "16") else ["simulated=yes"]) + ([f"scales={scales}"] if scales else [])
    return f"D{bits}M{bits}" + ("?" + "&".join(keys) if keys else "")


def run(args, name, width, rounding, seed):
    spec, test, epochs = SETS[name]
    command = [args.drove, "train", "--defaults", "classic", "--data", spec.format(args.data), "--model", args.model, "--batch", "64",
               "--rule", "sgd", "--lr", str(args.lr), "--eval-examples", "10000", "--threads", str(args.threads), "--until", f"epochs={epochs * args.epochs}",
               "--eval-every", str(epochs * args.epochs), "--precision", precision_of(width), "--rounding", rounding, "--seed", str(seed),
               "--metrics", "none", "--out", "none", "--quiet", "--json"]
    if args.threads == 1:
        command += ["--strategy", "sequential"]
    if test is not None:
        command += ["--test", test]
    summary = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return {"bench": "widths", "set": name, "model": args.model, "width": width, "rounding": rounding, "seed": seed, "epochs": epochs * args.epochs,
            "threads": args.threads, "test_error": 100 * (1 - summary["test_accuracy"]), "loss": summary["loss"],
            "test_loss": summary["test_loss"], "clamped": summary.get("clamped", 0), "train_s": summary["train_s"], "cpu": processor()}


def key_of(record):
    return tuple(record[k] for k in ("set", "model", "width", "rounding", "seed", "epochs", "threads"))


def all_widths(args):
    return [width if scales == "layer" else f"{width} {scales}" for width in args.widths for scales in args.scales]


def all_runs(args):
    """Each seed of everything before the next seed, so that an interrupted study has whole columns."""
    for seed in args.seeds:
        for name in args.sets:
            for width in ("float", "bf16"):
                yield name, width, "nearest", seed
            for rounding in args.roundings:
                for width in all_widths(args):
                    yield name, width, rounding, seed


def mean_and_range(records):
    errors = sorted(r["test_error"] for r in records)
    if not errors:
        return None
    return sum(errors) / len(errors), errors[0], errors[-1], len(errors)


def cell(found):
    return "" if found is None else f"{found[0]:.2f} ({found[1]:.2f} to {found[2]:.2f})" if found[3] > 1 else f"{found[0]:.2f}"


def picture(path, title, lines, level):
    with tempfile.TemporaryDirectory() as folder:
        parts = [f"{level} with lines dashtype 2 title 'float'"] if level is not None else []
        for i, (name, points) in enumerate(lines.items()):
            with open(os.path.join(folder, str(i)), "w") as f:
                f.writelines(f"{width} {mean} {least} {most}\n" for width, mean, least, most in points)
            parts.append(f"'{folder}/{i}' with yerrorlines title '{name}'")
        script = (f"set terminal svg size 800,500 background 'white'\nset output '{path}'\nset title '{title}'\nset xlabel 'bits of each number'\n"
                  f"set ylabel 'held-out error, %'\nset logscale y\nset grid\nset key outside noenhanced\nplot {', '.join(parts)}\n")
        subprocess.run(["gnuplot"], input=script, text=True, check=True)


def report(args, records):
    for name in args.sets:
        of_set = [r for r in records if r["set"] == name and r["model"] == args.model]
        of = lambda width, rounding: mean_and_range([r for r in of_set if r["width"] == width and r["rounding"] == rounding])
        print(f"\n{name}, {args.model}: held-out error in per cent, mean (range over the seeds)\n")
        print("| bits | " + " | ".join(args.roundings) + " |\n|---|" + "---|" * len(args.roundings))
        for width in all_widths(args):
            print(f"| {width} | " + " | ".join(cell(of(width, rounding)) for rounding in args.roundings) + " |")
        for width in ("bf16", "float"):
            print(f"| {width} | {cell(of(width, 'nearest'))} |" + " |" * (len(args.roundings) - 1))
        if args.out and shutil.which("gnuplot"):
            lines = {rounding: [(width, *of(width, rounding)[:3]) for width in args.widths if of(width, rounding)] for rounding in args.roundings}
            level = of("float", "nearest")
            picture(os.path.join(args.out, f"widths-{name}.svg"), f"{args.model}, {name}", {k: v for k, v in lines.items() if v}, level and level[0])


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--data", required=True)
    p.add_argument("--drove", default="build/release/drove")
    p.add_argument("--sets", type=lambda s: s.split(","), default=list(SETS))
    p.add_argument("--model", default="lenet")
    p.add_argument("--widths", type=lambda s: [int(w) for w in s.split(",")], default=[4, 5, 6, 8, 10, 12, 16])
    p.add_argument("--roundings", type=lambda s: s.split(","), default=["shared", "nearest", "xorshift", "mt19937"])
    p.add_argument("--seeds", type=lambda s: [int(w) for w in s.split(",")], default=[1, 2, 3])
    p.add_argument("--scales", type=lambda s: s.split(","), default=["layer"])
    p.add_argument("--epochs", type=int, default=1, help="times those of the data set (1, 8)")
    p.add_argument("--lr", type=float, default=0.05)
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--out")
    p.add_argument("--lines")
    args = p.parse_args()
    records = []
    if args.lines and os.path.exists(args.lines):
        with open(args.lines) as f:
            records = [json.loads(line) for line in f]
    known = {key_of(r) for r in records}
    for name, width, rounding, seed in all_runs(args):
        if (name, args.model, width, rounding, seed, SETS[name][2] * args.epochs, args.threads) in known:
            continue
        record = run(args, name, width, rounding, seed)
        records.append(record)
        if args.lines:
            with open(args.lines, "a") as f:
                f.write(json.dumps(record) + "\n")
    report(args, records)


if __name__ == "__main__":
    main()
