#!/usr/bin/env python3
"""Hogbatch on cores and a device: the experiments of Ma and Rusu's section 7.2, Figures 5 to 8, on this machine.

    python3 bench/run/heterogeneous.py [--drove build/release/drove] [--data DIR] [--networks covtype,w8a,delicious,sector]
                                       [--cpu cpu:all] [--device opencl:0 | cuda:0 | fake:?speed=250] [--seconds 20]
                                       [--quick] [--out DIR] [--pictures svg|png]

Each network (examples/heterogeneous-*.yaml) is trained by every algorithm for the same time from the same parameters:

    cpu       hogbatch:mixed, the cores alone, one example a thread (Hogwild)
    device    hogbatch:mixed, the device alone, batches of its upper threshold
    equal     hogbatch, both, the same batch (--batch)
    mixed     hogbatch:mixed, both: CPU+GPU Hogbatch
    adaptive  adaptive, both

Prints tables; with --out DIR also DIR/heterogeneous.jsonl, one record a run behind one of the machine and the commit, and,
where gnuplot is installed, pictures: loss over time and over epochs, divided by the least of the network (Figures 5 and
6), shares of the updates (7), utilisation over time (8), batches of the adaptive runs over time.  A run is evaluated
about --evaluations times (12); how many examples lie between is found by a short run before it, which is not counted.

    --epochs N      stop after so many epochs in place of --seconds: what a machine that does other things disturbs least
    --most N        caps the upper thresholds of the device, and the lower ones at a quarter of that
    --keys LIST     each algorithm once for each of these keys of its strategy: 'lr=same;lr=sqrt;lr=linear&lr_most=64'
    --lr, --batch, --init, --seed   in place of the run file's
"""
import argparse
import json
import os
import re

import dmgc
import networks

ALGORITHMS = {"cpu": ("hogbatch:mixed", "c"), "device": ("hogbatch:mixed", "d"), "equal": ("hogbatch", "cd"),
              "mixed": ("hogbatch:mixed", "cd"), "adaptive": ("adaptive", "cd")}
BUCKETS = 40  # of a time line in the records


def joined(spec, keys):
    """cpu:0 and min=1&max=64: cpu:0?min=1&max=64"""
    return spec + ("&" if "?" in spec else "?") + keys if keys else spec


def capped(sizes, most):
    """min=128&max=8192 with an upper threshold of at most `most`"""
    least, greatest = (int(re.search(rf"{key}=(\d+)", sizes).group(1)) for key in ("min", "max"))
    greatest = min(greatest, most or greatest)
    return f"min={min(least, max(1, greatest // 4))}&max={greatest}" if most else sizes


def workers(args, network, algorithm):
    cpu, device = network.sizes
    if algorithm == "equal":
        cpu = device = ""
    else:
        device = capped(device, args.most)
    parts = {"c": joined(args.cpu, cpu), "d": joined(args.device, device)}
    return "+".join(parts[kind] for kind in ALGORITHMS[algorithm][1])


def settings(args, network, algorithm, keys):
    strategy = joined(ALGORITHMS[algorithm][0], keys)
    options = {"strategy": strategy, "workers": workers(args, network, algorithm), "seed": args.seed,
               "eval-examples": args.eval_examples}
    return {**options, **{k: v for k in ("lr", "batch", "init") if (v := getattr(args, k)) is not None}}


def measure(args, network, algorithm, keys):
    """One record: the run, and what was asked for."""
    options = settings(args, network, algorithm, keys)
    budget = f"epochs={args.epochs}" if args.epochs else f"seconds={args.seconds}"
    if args.epochs:
        every = args.epochs / args.evaluations
    else:
        short = network.command(args.drove, **options, until=f"seconds={args.seconds / 8}", eval_every=1000)
        pilot = networks.train(short)
        every = pilot["epochs"] / pilot["train_s"] * args.seconds / args.evaluations
    record = networks.train(network.command(args.drove, **options, until=budget, eval_every=f"{max(every, 1e-4):.3g}"))
    for worker in record["workers"]:
        line = worker["timeline"]
        step = max(1, -(-len(line["utilisation"]) // BUCKETS))
        used = [line["utilisation"][i:i + step] for i in range(0, len(line["utilisation"]), step)]
        worker["timeline"] = {"width_s": line["width_s"] * step, "utilisation": [round(sum(u) / len(u), 3) for u in used]}
    name = joined(algorithm, keys) if ";" in args.keys else algorithm
    return {"bench": "heterogeneous", "network": network.name, "algorithm": name, "seed": args.seed, "budget": budget,
            **record}


def good(loss):
    return loss if loss is not None and loss == loss else float("inf")


def least(record):
    return min(good(point[2]) for point in record["curve"])


def first(record, limit, what):
    """Seconds (0) or epochs (1) of the first evaluation with a loss of at most `limit`."""
    return next((point[what] for point in record["curve"] if good(point[2]) <= limit), None)


def per_worker(record, text):
    return " : ".join(text(worker) for worker in record["workers"])


def tables(name, records):
    best = min(map(least, records))
    initial = records[0]["loss_initial"]
    limit = best + 0.1 * (initial - best)  # nine tenths of the way
    dmgc.table(f"{name}: initial loss {initial:.4g}, least {best:.4g}; to 90 %: to a loss of {limit:.4g}",
               ["", "outcome", "examples/s", "epochs", "updates", "loss", "its least", "/ least", "s to 90 %", "epochs to 90 %",
                "shares, %", "batch", "busy"],
               [[r["algorithm"], r["outcome"], r["examples_per_s"], r["epochs"], r["updates"], r["loss"], least(r), least(r) / best,
                 first(r, limit, 0), first(r, limit, 1), per_worker(r, lambda w: f"{100 * w['share']:.1f}"),
                 per_worker(r, lambda w: str(w["batch"])), per_worker(r, lambda w: f"{w['busy']:.2f}")] for r in records])
    return best


def changes(record, worker):
    """Batch size over time as steps, to the end of the run."""
    history = worker["batch_history"]
    points = []
    for (_, seconds, batch, _), following in zip(history, history[1:] + [[0, record["train_s"], 0, 0]]):
        points += [(seconds, batch), (following[1], batch)]
    return points


def over_time(worker):
    width = worker["timeline"]["width_s"]
    return [(i * width, value) for i, value in enumerate(worker["timeline"]["utilisation"])]


def pictures(args, name, records, best):
    def draw(figure, *rest, **more):
        networks.picture(os.path.join(args.out, f"{figure}_{name}.{args.pictures}"), *rest, **more)

    for figure, what, unit in (("fig5", 0, "seconds"), ("fig6", 1, "epochs")):
        lines = {r["algorithm"]: [(p[what], p[2] / best) for p in r["curve"] if good(p[2]) < float("inf")] for r in records}
        draw(figure, f"{name}: loss over the least", lines, unit, "loss / least", settings="set logscale y")
    both = [r for r in records if len(r["workers"]) == 2]
    lines = {w["name"]: [(i + 0.4 * k, r["workers"][k]["share"]) for i, r in enumerate(both)]
             for k, w in enumerate(both[0]["workers"])} if both else {}
    ticks = ", ".join(f'"{r["algorithm"]}" {i + 0.2}' for i, r in enumerate(both))
    draw("fig7", f"{name}: share of the updates", lines, "", "share", style="boxes",
         settings=f"set boxwidth 0.4\nset style fill solid 0.6\nset yrange [0:1]\nset xtics ({ticks}) noenhanced")
    lines = {f"{r['algorithm']} {w['name']}": over_time(w) for r in records for w in r["workers"]}
    draw("fig8", f"{name}: utilisation", lines, "seconds", "utilisation", style="lines", settings="set yrange [0:1.05]")
    draw("batches", f"{name}: examples of a batch",
         {f"{r['algorithm']} {w['name']}": changes(r, w)
          for r in records if r["algorithm"].startswith("adaptive") for w in r["workers"]},
         "seconds", "examples", style="lines", settings="set logscale y 2")


def record(args, row):
    if args.out:
        with open(os.path.join(args.out, "heterogeneous.jsonl"), "a") as f:
            f.write(json.dumps(row) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--drove", default="build/release/drove")
    parser.add_argument("--data", default="../shared/data", help="folder that the run files call data/")
    parser.add_argument("--networks", default=",".join(networks.NAMES))
    parser.add_argument("--only", default=",".join(ALGORITHMS), help="algorithms")
    parser.add_argument("--cpu", default="cpu:all")
    parser.add_argument("--device", default="opencl:0")
    parser.add_argument("--seconds", type=float, default=None, help="of each run [20; quick 3]")
    parser.add_argument("--epochs", type=float, default=None)
    parser.add_argument("--most", type=int, default=None)
    parser.add_argument("--keys", default="")
    parser.add_argument("--lr", default=None)
    parser.add_argument("--batch", default=None)
    parser.add_argument("--init", default=None)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--evaluations", type=int, default=12, help="of a run, about")
    parser.add_argument("--eval-examples", type=int, default=5000)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--out", default=None)
    parser.add_argument("--pictures", choices=["svg", "png"], default="svg")
    args = parser.parse_args()
    args.seconds = args.seconds or (3 if args.quick else 20)
    if args.quick:
        args.eval_examples, args.most = min(args.eval_examples, 2000), args.most or 512
    unknown = [name for name in args.only.split(",") if name not in ALGORITHMS]
    if unknown:
        parser.error(f"--only: expected {', '.join(ALGORITHMS)}, found {unknown[0]}")
    machine = dmgc.origin(args)
    print(f"commit {machine['commit']}; {machine['info'].get('processor')} {machine['info'].get('isa')}; {machine['command']}")
    if args.out:
        os.makedirs(args.out, exist_ok=True)
    record(args, machine)
    for network in networks.networks(args.networks, args.data):
        records = []
        for algorithm in args.only.split(","):
            for keys in args.keys.split(";"):
                records.append(measure(args, network, algorithm, keys))
                record(args, records[-1])
                networks.progress(f"{network.name} {records[-1]['algorithm']}: loss {records[-1]['loss']}")
        best = tables(network.name, records)
        if args.out:
            pictures(args, network.name, records, best)


if __name__ == "__main__":
    main()
