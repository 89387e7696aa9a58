#!/usr/bin/env python3
"""Training data larger than memory, beside the same in memory.

Makes rows of synth:logistic (dense floats, 100 features) in two files, one ten times as long as the other, in a folder
with room for both, and measures for each model, one epoch at a given step size, in turns:

  memory   the short file, all in memory
  disk     the short file under --memory that holds a fifth of it
and once
  large    the long file under --memory 1GiB

Printed are examples a second of training, the loss on examples of no file, the largest resident memory of the process,
and how fast the disk reads by itself.  --limit runs `large` with a limit of the address space as well.

usage: bench/run/disk.py --drove build/release/drove --folder DIR [--rows 32000000] [--pairs 3] [--models logistic,mlp:64]
"""
import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time

D = 100
BYTES_OF_ROW = 4 * D + 4
MIB = 1 << 20


def make(drove, path, n):
    if os.path.exists(path):
        return
    print(f"making {path}: {n} rows, {n * BYTES_OF_ROW / (1 << 30):.2f} GiB", flush=True)
    subprocess.run([drove, "data", "convert", f"synth:logistic?n={n}&d={D}&seed=3", f"rows:{path}"], check=True)


def drop_from_cache(path):
    """So that what is read comes from the disk."""
    with open(path, "rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def train(drove, path, test, model, batch, memory=None, limit=None, cached=False):
    command = [drove, "train", "--data", f"rows:{path}", "--test", f"rows:{test}", "--model", model, "--lr", "0.05",
               "--batch", str(batch), "--strategy", "hogwild", "--until", "epochs=1", "--out", "none", "--quiet", "--json"]
    if memory is not None:
        command += ["--memory", f"{memory}MiB"]
    if not cached:
        drop_from_cache(path)

    def restrict():
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

    run = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, preexec_fn=restrict)
    text = run.stdout.read()
    _, status, usage = os.wait4(run.pid, 0)
    if status != 0:
        sys.exit(f"{' '.join(command)}: status {status}")
    summary = json.loads(text)
    disk = summary["disk"] or {}
    return {"rate": summary["examples_per_s"], "loss": summary["test_loss"], "seconds": summary["train_s"],
            "peak": usage.ru_maxrss / 1024, "wait": disk.get("wait_s", 0.0), "read": disk.get("read_s", 0.0),
            "windows": disk.get("windows", 0)}


def read_rate(path, most=4 << 30):
    """GiB/s of plain reading, with reads of 1 MiB."""
    drop_from_cache(path)
    begun, done = time.monotonic(), 0
    with open(path, "rb", buffering=0) as file:
        while done < most:
            block = file.read(MIB)
            if not block:
                break
            done += len(block)
    return done / (1 << 30) / (time.monotonic() - begun)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--drove", required=True)
    parser.add_argument("--folder", required=True)
    parser.add_argument("--rows", type=int, default=32000000)
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--models", default="logistic,mlp:64")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--limit", type=int, help="bytes of address space for one more run of the long file")
    parser.add_argument("--short", action="store_true", help="leave out the long file")
    args = parser.parse_args()
    long, short, test = (os.path.join(args.folder, name) for name in ("long.rows", "short.rows", "test.rows"))
    make(args.drove, long, args.rows)
    make(args.drove, short, args.rows // 10)
    if not os.path.exists(test):
        subprocess.run([args.drove, "data", "convert", f"synth:logistic?n=100000&first={args.rows}&d={D}&seed=3",
                        f"rows:{test}"], check=True)
    print(f"plain reading: {read_rate(long):.2f} GiB/s")
    few = max(64, args.rows // 10 * BYTES_OF_ROW // 5 // MIB)
    for model in args.models.split(","):
        pairs = []
        for _ in range(args.pairs):
            memory = train(args.drove, short, test, model, args.batch)
            pairs.append((memory, train(args.drove, short, test, model, args.batch, memory=few, cached=True),
                          train(args.drove, short, test, model, args.batch, memory=few)))
        ratios = [statistics.median(p[i]["rate"] / p[0]["rate"] for p in pairs) for i in (1, 2)]
        print(f"\n{model}, batch {args.batch}: cached / memory {ratios[0]:.3f}, disk / memory {ratios[1]:.3f} "
              f"(medians of {args.pairs})")
        rows = [(name, p[i]) for i, name in enumerate(("memory", "cached", "disk")) for p in pairs]
        if not args.short:
            rows.append(("large", train(args.drove, long, test, model, args.batch, memory=1024)))
        if args.limit:
            rows.append(("limited", train(args.drove, long, test, model, args.batch, memory=1024, limit=args.limit)))
        for name, r in rows:
            print(f"  {name:8} {r['rate'] / 1e6:7.3f} M examples/s, loss {r['loss']:.4f}, {r['seconds']:6.1f} s, peak "
                  f"{r['peak']:6.0f} MiB, {r['windows']:3} windows, reading {r['read']:5.1f} s, waiting {r['wait']:5.1f} s",
                  flush=True)


if __name__ == "__main__":
    main()
