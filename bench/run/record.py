#!/usr/bin/env python3
"""What --record costs: training time with it against without, by method.

    bench/run/record.py [--drove build/release/drove] [--rounds N] [--seconds S] [--threads N] [METHOD]...

Each round trains for S seconds both ways, in turn, and takes examples per second of processor time of the whole process
less that of the same run without training (so that what other programs do to the machine matters little), and per second
of training.  Methods with races are recorded in a serialised variant: their row compares that with the method
itself, and is no cost of writing.  Figures are medians of the ratio of neighbours (above 1: recording is slower), with
the range, and the bytes of a step.
"""
import argparse
import json
import os
import re
import resource
import statistics
import subprocess
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MLP = ["--data", "synth:digits", "--model", "mlp:128,128,128", "--lr", "0.05"]
WIDE = ["--data", "synth:logistic?n=200000&d=5000&density=0.01", "--model", "logistic", "--lr", "0.1"]
LOW = ["--data", "synth:logistic?n=200000&d=200", "--model", "logistic", "--lr", "0.01", "--precision", "D8M8"]
METHODS = {
    "mutex, batch 32": MLP + ["--batch", "32", "--strategy", "mutex"],
    "leashed, batch 32": MLP + ["--batch", "32", "--strategy", "leashed"],
    "leashed, batch 1": MLP + ["--batch", "1", "--strategy", "leashed"],
    "softsync, batch 8": MLP + ["--batch", "8", "--strategy", "softsync"],
    "easgd-async, batch 8": MLP + ["--batch", "8", "--strategy", "easgd-async"],
    "replicas, sparse, batch 1": WIDE + ["--batch", "1", "--strategy", "replicas"],
    "replicas, D8M8": LOW + ["--strategy", "replicas"],
    "sync, batch 32": MLP + ["--batch", "32", "--strategy", "sync"],
    "hogwild, batch 32 (serialised)": MLP + ["--batch", "32", "--strategy", "hogwild"],
}


def run(drove, arguments, until, record):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [drove, "train", *arguments, "--defaults", "classic", "--out", "none", "--test", "none", "--eval-every", "1e6",
               "--eval-examples", "64", "--metrics", "none", "--json", "--until", until]
    done = subprocess.run(command + (["--record", record] if record else []), capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    bytes_each = re.search(r"steps of .*, ([0-9.]+) bytes each", done.stderr)
    summary = json.loads(done.stdout)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return summary["examples"], cpu, summary["train_s"], float(bytes_each.group(1)) if bytes_each else 0.0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--drove", default=os.path.join(ROOT, "build/release/drove"))
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("method", nargs="*")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        record = os.path.join(folder, "run.rec")
        for name, arguments in METHODS.items():
            if options.method and not any(name.startswith(m) for m in options.method):
                continue
            arguments = arguments + ["--threads", str(options.threads)]
            start = min(run(options.drove, arguments, "updates=1", "")[1] for _ in range(3))
            until = f"seconds={options.seconds:g}"
            processor, wall, size = [], [], 0.0
            for i in range(options.rounds):
                both = {}
                for with_record in ((False, True) if i % 2 == 0 else (True, False)):
                    both[with_record] = run(options.drove, arguments, until, record if with_record else "")
                (n0, cpu0, s0, _), (n1, cpu1, s1, size) = both[False], both[True]
                processor.append((cpu1 - start) / n1 / ((cpu0 - start) / n0))
                wall.append(s1 / n1 / (s0 / n0))
            print(f"{name}: processor {statistics.median(processor):.3f} ({min(processor):.3f} to {max(processor):.3f}), "
                  f"wall {statistics.median(wall):.3f} ({min(wall):.3f} to {max(wall):.3f}), {size:.1f} bytes a step", flush=True)


if __name__ == "__main__":
    main()
