#!/usr/bin/env python3
"""What checksums cost: seconds to load and to save a model file of 100 MB, with checksums and without.

    bench/run/modelfile.py [--drove build/release/drove] [--before PROGRAM] [--rounds N] [--megabytes N]

Loading: drove eval of 10 examples, the whole process, on a file with checksums and on the same tensors without them
(format drove-model-1), in turn; the processor's and the wall's time.  Saving: one update of training, --save-every never,
so that the model and the state are written once, by this program and by one of an earlier version (--before).
Figures are medians of the ratio of neighbours, its range, and the ratio of the least times, which other work on the machine disturbs less.
"""
import argparse
import json
import os
import resource
import statistics
import struct
import subprocess
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def strip(source, target):
    with open(source, "rb") as f:
        n = struct.unpack("<Q", f.read(8))[0]
        header, body = json.loads(f.read(n)), f.read()
    meta = header["__metadata__"]
    del meta["checksums"], meta["header_checksum"]
    meta["format"] = "drove-model-1"
    text = json.dumps(header).encode()
    text += b" " * (-(8 + len(text)) % 64)
    with open(target, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + body)


def run(command):
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    wall, after = time.monotonic() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def compare(name, first, second, rounds):
    both = [[], []]
    for i in range(rounds):
        for k in ((0, 1) if i % 2 == 0 else (1, 0)):
            both[k].append(run((first, second)[k]()))
    for what, at in (("wall", 0), ("processor", 1)):
        ratios = [a[at] / b[at] for a, b in zip(*both)]
        least = min(x[at] for x in both[0]) / min(x[at] for x in both[1])
        print(f"{name}, {what}: {statistics.median(x[at] for x in both[0]):.3f} s against "
              f"{statistics.median(x[at] for x in both[1]):.3f} s, ratio {statistics.median(ratios):.3f} "
              f"({min(ratios):.3f} to {max(ratios):.3f}); of the least times {least:.3f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--drove", default=os.path.join(ROOT, "build/release/drove"))
    parser.add_argument("--before", default="")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--megabytes", type=float, default=100.0)
    options = parser.parse_args()
    width = int(options.megabytes * 1e6 / 4 / 4096)
    with tempfile.TemporaryDirectory() as folder:
        data = "synth:digits?n=10&n_test=2"

        def train(program):
            def command():
                command.n = getattr(command, "n", 0) + 1
                out = os.path.join(folder, f"{os.path.basename(os.path.dirname(program))}-{id(command)}-{command.n}")
                return [program, "train", "--data", data, "--model", f"mlp:4096,{width}", "--until", "updates=1", "--threads", "1",
                        "--defaults", "classic", "--save-every", "never", "--test", "none", "--out", out]
            return command
        first = train(options.drove)()
        run(first)
        summed, plain = os.path.join(first[-1], "model.safetensors"), os.path.join(folder, "plain.safetensors")
        strip(summed, plain)
        print(f"{os.path.getsize(summed) / 1e6:.0f} MB")
        compare("load, checksums against none", *(lambda path=path: [options.drove, "eval", path, "--data", data, "--threads", "1"]
                                                  for path in (summed, plain)), options.rounds)
        if options.before:
            compare("save, this version against the earlier one", train(options.drove), train(options.before), options.rounds)


if __name__ == "__main__":
    main()
