#!/usr/bin/env python3
"""Tables, in Markdown, of what bench/fpga/run has written: the figures, and the paper's claims beside them.

    bench/fpga/tables.py FILE
"""
import json
import sys


def rows_of(path):
    kinds = {}
    with open(path) as f:
        for line in f:
            row = json.loads(line)
            kinds.setdefault(row["kind"], []).append(row)
    return kinds


def table(head, rows):
    print("| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |")
    print()


def bits(kinds):
    for kind, other in ("simulation", "model.py"), ("drove", "drove"):
        rows = kinds.get(kind, [])
        if rows:
            print(f"Words equal to those of {other}: {sum(r['words'] - r['different'] for r in rows)} of "
                  f"{sum(r['words'] for r in rows)}, in {len(rows)} designs.\n")


def synthesis(rows):
    table(["design", "stages", "batch", "random bits", "lanes", "logic cells", "flip-flops", "block RAMs", "multipliers",
           "MHz", "cycles an example", "examples/s", "limited by", "GNPS"],
          [[r["signature"] + (", own units" if r["unit"] == "block" else ""), r["stages"], r["batch"], r["rounding"],
            r["lanes"], r["cells"], r["flip_flops"], r["block_rams"], r["multipliers"], r["mhz"],
            f"{r['cycles_per_example']:.1f}", f"{r['examples_per_s']:,}",
            "cycles" if r["by_cycles"] <= r["by_memory"] else "memory", f"{r['gnps']:.2f}"] for r in rows])


def bursts(rows):
    print(f"Cycles of an example, {rows[0]['precision']}, {rows[0]['lanes']} lanes; a mini-batch has {rows[0]['batch']}.\n")
    by = {(r["stages"], r["bursts"]): r for r in rows}
    lengths = sorted({r["bursts"] for r in rows})
    table(["bursts an example", *(f"{s} stages: {w}" for s in (2, 3) for w in ("plain", "mini-batch", "ratio"))],
          [[n, *(f"{by[s, n][key]:{form}}" for s in (2, 3)
                 for key, form in (("plain", ".1f"), ("mini_batch", ".1f"), ("ratio", ".2f")))] for n in lengths])


def pick(rows, signature, stages, batch, widest=max):
    """A design with XORSHIFT bits and fixed units: of the widest bus; widest=min: of the narrowest."""
    same = [r for r in rows if (r["signature"], r["stages"], r["batch"], r["rounding"], r["unit"]) ==
            (signature, stages, batch, "xorshift", "fixed")]
    return widest(same, key=lambda r: r["lanes"], default=None)


def compared(rows, few, many, stages, batch, widest=max):
    """Throughput and resources of a design in few bits over one in many."""
    a, b = pick(rows, few, stages, batch, widest), pick(rows, many, stages, batch, widest)
    if a is None or b is None:
        return "not measured"
    parts = [f"{a[key] / b[key]:.2f}" for key in ("examples_per_s", "cells", "flip_flops", "block_rams")]
    multipliers = f"{b['multipliers']} to {a['multipliers']}"
    return f"{parts[0]} times the examples/s; cells {parts[1]}, flip-flops {parts[2]}, block RAMs {parts[3]} times; multipliers {multipliers}"


def claims(kinds):
    rows = kinds.get("synthesis", [])
    found = []
    for few, many, claim in (("D8M8", "D16M16", "fewer bits: up to 2.5 times the throughput, fewer resources"),
                             ("D4M4", "D16M16", "the same"), ("D8M16", "D16M16", "half the data's bits: more throughput, less area")):
        for stages in (2, 3):
            for batch in (1, 16) if few != "D8M16" else (1,):
                found.append([claim, f"{few} over {many}, {stages} stages, batch {batch}", compared(rows, few, many, stages, batch)])
    for few in ("D8M8", "D4M4"):
        found.append(["the same", f"{few} over D16M16, with as many lanes, 3 stages, batch 1",
                      compared(rows, few, "D16M16", 3, 1, min)])
    for signature in ("D16M16", "D8M8", "D4M4"):
        for batch in (1, 16):
            two, three = pick(rows, signature, 2, batch), pick(rows, signature, 3, batch)
            if two and three:
                found.append(["three stages: less logic, more block RAM", f"{signature}, batch {batch}",
                              ", ".join(f"{word} {two[key]} to {three[key]}" for key, word in (
                                  ("cells", "cells"), ("flip_flops", "flip-flops"), ("block_rams", "block RAMs"),
                                  ("multipliers", "multipliers")))])
    for r in kinds.get("bursts", []):
        if r["bursts"] == 100:
            found.append(["mini-batches are faster below 100 bursts", f"{r['precision']}, {r['stages']} stages, 100 bursts",
                          f"{100 * (r['ratio'] - 1):.1f} % more examples/s by mini-batches of {r['batch']}"])
    table(["the paper", "here", "measured"], found)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    kinds = rows_of(sys.argv[1])
    bits(kinds)
    for row in kinds.get("versions", []):
        print(f"{row['yosys']}; {row['nextpnr']}; {row['verilator']}; {row['device']}; memory {row['bandwidth']} GB/s\n")
    if "synthesis" in kinds:
        synthesis(kinds["synthesis"])
    if "bursts" in kinds:
        bursts(kinds["bursts"])
    if "synthesis" in kinds:
        claims(kinds)


if __name__ == "__main__":
    main()
