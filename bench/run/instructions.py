#!/usr/bin/env python3
"""Instructions that the dense kernels execute for 64 bytes of data: python3 bench/run/instructions.py [--build DIR] [--loops]

Counted from the disassembly (binutils' objdump) of a build's object files; nothing is run.  A kernel's time goes into
one innermost loop: of the backward jumps that enclose no other one, those count whose body moves at least two whole vectors
and whose pointers advance by as much, and of these the one with the fewest instructions for its data (rounding by a fixed
block of random bits, a positive factor).

Bytes of data a turn: what the loop stores to the model (formats of equal width only); in a dot, which stores nothing, half of
what it loads.  What a rare branch jumps out to is not counted.  --loops prints the loops themselves.
"""
import argparse
import os
import re
import subprocess

TIERS = ("avx2", "avx512", "avx512vnni")
PAIRS = (("D8M8", "i8_i8", 1), ("D16M16", "i16_i16", 2), ("D32fM32f", "f32_f32", 4))  # bytes of a number
KERNELS = ("dot", "axpy", "axpy_dot")
WIDTH = {"z": 64, "y": 32}
MEMORY = r"-?(?:0x[0-9a-f]+)?\([^)]*\)"


def instructions(path, function):
    text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", "--disassemble=" + function, path], capture_output=True,
                          text=True, check=True).stdout
    lines = re.findall(r"^\s*([0-9a-f]+):\s+(\S.*?)\s*$", text, re.M)
    return [(int(address, 16), words) for address, words in lines]


def innermost_loops(code):
    place = {address: i for i, (address, _) in enumerate(code)}
    spans = set()
    for i, (address, words) in enumerate(code):
        jump = re.match(r"j\w+\s+([0-9a-f]+)\b", words)
        target = int(jump[1], 16) if jump else None
        if target in place and target <= address:
            spans.add((place[target], i))
    inner = [s for s in spans if not any(o != s and s[0] <= o[0] and o[1] <= s[1] for o in spans)]
    bodies = [[words for _, words in code[first:last + 1]] for first, last in sorted(inner)]
    # what comes back from a block far away, for a rare case, is no loop
    return [body for body in bodies if not any(re.match(r"jmp|ret", words) for words in body[:-1])]


def width(words):
    register = re.search(r"%([zy])mm", words)
    return WIDTH[register[1]] if register else 0


def data_bytes(loop, is_dot):
    vectors = [w for w in loop if width(w) and re.search(MEMORY, w) and "{" not in w and "broadcast" not in w]
    stores = [w for w in vectors if re.search(MEMORY + r"$", w)]
    if not is_dot:
        return sum(width(w) for w in stores)
    return 0 if stores else sum({re.search(MEMORY, w)[0]: width(w) for w in vectors}.values()) // 2


def advances(loop):
    """By how much the loop's pointers and counters move a turn."""
    steps = {int(m[1], 16) for w in loop if (m := re.match(r"add +\$(0x[0-9a-f]+),%r", w))}
    steps |= {-int(m[1], 16) % 2**64 for w in loop if (m := re.match(r"sub +\$(0x[0-9a-f]+),%r", w))}
    return steps | {int(m[1], 16) for w in loop if (m := re.match(r"lea +(0x[0-9a-f]+)\(%r\w+\),%r", w))}


def kind(words):
    """What an instruction is for, as far as its name tells."""
    name = words.split()[0]
    if name.startswith("prefetch"):
        return "prefetch"
    if not width(words):
        return "mask" if name.startswith(("kor", "kmov", "kand")) else "scalar"
    if name.startswith(("vmov", "vlddqu")) and re.search(MEMORY, words):
        return "load, store"
    if re.match(r"vmov\S+ +%[zy]mm\d+,%[zy]mm\d+$", words):
        return "copy"
    return "arithmetic"


def hot_loop(loops, size, is_dot):
    found = []
    for loop in loops:
        n_bytes = data_bytes(loop, is_dot)
        moves = advances(loop) & {n_bytes, n_bytes // size}
        if n_bytes >= 2 * max(map(width, loop)) > 0 and moves:
            found.append((64 * len(loop) / n_bytes, n_bytes, loop))
    return min(found, default=None, key=lambda f: f[0])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--loops", action="store_true")
    args = parser.parse_args()
    kinds = ("load, store", "arithmetic", "copy", "mask", "scalar", "prefetch")
    print("| tier | kernel | in 64 bytes | bytes a turn | " + " | ".join(kinds) + " |\n" + "|---" * (4 + len(kinds)) + "|")
    for tier in TIERS:
        path = os.path.join(args.build, f"src/CMakeFiles/drove_kernel.dir/kernel/x86/linear_dense_{tier}.c.o")
        for signature, pair, size in PAIRS:
            for kernel in KERNELS:
                loops = innermost_loops(instructions(path, f"{kernel}_{pair}"))
                hot = hot_loop(loops, size, kernel == "dot")
                if hot is None:
                    print(f"| {tier} | {signature} {kernel} | not found |")
                    continue
                each, n_bytes, loop = hot
                part = [sum(kind(w) == k for w in loop) * 64 / n_bytes for k in kinds]
                print(f"| {tier} | {signature} {kernel} | {each:.3g} | {n_bytes} | " + " | ".join(f"{p:.3g}" for p in part) + " |")
                if args.loops:
                    print("\n" + "\n".join("    " + w for w in loop) + "\n")


if __name__ == "__main__":
    main()
