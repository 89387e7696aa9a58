#!/usr/bin/env python3
"""Markdown tables from the JSON lines of bench/run/report: python3 bench/run/table.py results.jsonl

One table a benchmark, in the order of the file; every figure as it was measured.
"""
import json
import sys


def rows_of(path):
    by_bench = {}
    with open(path) as f:
        for line in f:
            record = json.loads(line)
            by_bench.setdefault(record.pop("bench", "pytorch" if "pytorch" in record else "threads"), []).append(record)
    return by_bench


def text(value):
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1000 else f"{value:,.0f}"
    if isinstance(value, int) and abs(value) >= 10000:
        return f"{value:,}"
    if isinstance(value, list):
        return " ".join(text(v) for v in value)
    return str(value)


def main():
    for bench, records in rows_of(sys.argv[1]).items():
        if bench == "machine":
            continue
        keys = [k for k in records[0] if k not in ("cpu", "compiler", "seed", "commit", "flags", "model", "gemm")]
        print(f"\n### {bench}\n")
        print("| " + " | ".join(keys) + " |")
        print("|" + "---|" * len(keys))
        for r in records:
            print("| " + " | ".join(text(r.get(k, "")) for k in keys) + " |")


if __name__ == "__main__":
    main()
