#!/usr/bin/env python3
"""Is the throughput that `drove dmgc` predicts the one that is measured?  A grid of 60 settings: signature x model size x
threads, dense and sparse.

    python3 bench/run/dmgc_grid.py [--drove build/release/drove] [--constants FILE] [--calibrate] [--seconds 0.1] [--json FILE]

--calibrate measures the constants first (drove bench calibrate, about three minutes) and keeps them in FILE (without
--constants: in the usual place).  The settings lie between the sizes that calibrate measures, so that the model has to
interpolate.  Prints measured beside predicted, and the share within 50 % of the measured; --json appends one JSON line a
setting.
"""
import argparse
import json
import subprocess

import dmgc

# 2^9 to 2^21: calibrate measures 2^8, 2^10 ... 2^22.
SETTINGS = [(s, sparse, 2**bits, threads)
            for s, sparse in [("D8[i8]M8", False), ("D16[i16]M16", False), ("D32f[i32]M32f", False), ("D8[i8]M8", True), ("D32f[i32]M32f", True)]
            for bits in (9, 11, 13, 15, 17, 19) for threads in (1, 0)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--drove", default="build/release/drove")
    parser.add_argument("--constants", default=None)
    parser.add_argument("--calibrate", action="store_true")
    parser.add_argument("--seconds", type=float, default=0.1)
    parser.add_argument("--bytes", default="256MiB")
    parser.add_argument("--json", default=None)
    args = parser.parse_args()
    if args.calibrate:
        command = [args.drove, "bench", "calibrate", "--seconds", str(5 * args.seconds), "--bytes", args.bytes]
        subprocess.run(command + (["--out", args.constants] if args.constants else []), check=True)
    machine = dmgc.origin(args)
    all_threads = dmgc.call([args.drove, "bench", "memory", "--seconds", "0.001", "--bytes", "64MiB", "--json"])["n_processors"]
    records = [machine]
    for signature, sparse, n, threads in SETTINGS:
        # one thread, and all of them; where there is only one, two share it
        r = dmgc.measure(args, signature, n, threads or max(2, all_threads), sparse)
        r = {"bench": "dmgc_grid", **r, "within_50": abs(r["predicted_gnps"] - r["gnps"]) <= 0.5 * r["gnps"]}
        records.append(r)
    found = records[1:]
    dmgc.table(f"constants: {found[0]['constants']}; commit {machine['commit']}",
               ["signature", "", "features", "threads", "measured", "predicted", "predicted / measured"],
               [[r["signature"], "sparse" if r["sparse"] else "dense", r["features"], r["threads"], r["gnps"], r["predicted_gnps"],
                 r["predicted_gnps"] / r["gnps"]] for r in found])
    n_near = sum(r["within_50"] for r in found)
    print(f"\n{n_near} of {len(found)} settings ({100 * n_near / len(found):.0f} %) are predicted within 50 %")
    if args.json:
        with open(args.json, "a") as f:
            f.writelines(json.dumps(r) + "\n" for r in records)


if __name__ == "__main__":
    main()
