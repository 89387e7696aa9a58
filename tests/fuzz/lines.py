#!/usr/bin/env python3
"""tests/fuzz/lines.py FOLDER: which lines of the parsers the corpora of the fuzz targets reach.

Reads tests/fuzz/sources.txt and FOLDER/TARGET.lcov, which llvm-cov exported; prints a line per source, and with
MISSING=1 in the environment the lines that are not reached.  Exit status: 1 if a source is below 95 %.

Not counted: functions that sources.txt excepts, with its reason, and statements that report that memory ran out
or that the system failed (drove__fail_nomem, drove__fail_errno): scripts/faults makes them run.
"""
import os
import re
import sys

LEAST = 95.0
FAULT = re.compile(r"fail_nomem|fail_errno|E_NOMEM|E_SYSTEM")


def functions_of(lines):
    """{name: (first line, last line)}, by the braces in the first column."""
    found = {}
    for i, line in enumerate(lines):
        if line.rstrip("\n") != "{":
            continue
        head = i - 1
        while head > 0 and not re.match(r"[a-z]", lines[head]):
            head -= 1
        name = re.search(r"(\w+)\(", "".join(lines[head:i]))
        end = i
        while lines[end].rstrip("\n") != "}":
            end += 1
        if name:
            found[name.group(1)] = (head + 1, end + 1)
    return found


def faults_of(lines):
    """Numbers of the lines of statements that report a fault."""
    out = set()
    for i, line in enumerate(lines):
        if not FAULT.search(line):
            continue
        first = last = i
        while first > 0 and not re.search(r"[;{}]\s*(/\*.*\*/)?\s*$", lines[first - 1]) and i - first < 4:
            first -= 1
        while last + 1 < len(lines) and not re.search(r"[;{}]\s*(/\*.*\*/)?\s*$", lines[last]):
            last += 1
        while last + 1 < len(lines) and re.match(r"\s+(break;|goto \w+;|return status;|\}$)", lines[last + 1]):
            last += 1
        out.update(range(first + 1, last + 2))
    return out


def counts_of(path, source):
    """{line: count} of one source in an lcov file."""
    counts, inside = {}, False
    with open(path) as stream:
        for line in stream:
            if line.startswith("SF:"):
                inside = line.strip().endswith("/" + source)
            elif inside and line.startswith("DA:"):
                number, count = line[3:].strip().split(",")[:2]
                counts[int(number)] = max(int(count), counts.get(int(number), 0))
    return counts


def check(names, source, excepted, folder):
    with open(source) as stream:
        lines = stream.readlines()
    functions = functions_of(lines)
    out = faults_of(lines)
    for function in excepted:
        if function not in functions:
            sys.exit(f"sources.txt: {source} has no function {function}")
        first, last = functions[function]
        out.update(range(first, last + 1))
    counts = {}
    for name in names:
        for number, count in counts_of(f"{folder}/{name}.lcov", source).items():
            if number not in out:
                counts[number] = max(count, counts.get(number, 0))
    reached = sum(1 for c in counts.values() if c > 0)
    share = 100.0 * reached / len(counts) if counts else 0.0
    state = "" if share >= LEAST else f"  BELOW {LEAST:.0f} %"
    print(f"{source:<34} {reached:5d} of {len(counts):5d} lines  {share:5.1f} %  {' '.join(names)}{state}")
    if os.environ.get("MISSING"):
        for number in sorted(n for n, c in counts.items() if c == 0):
            print(f"    {number:5d} {lines[number - 1].rstrip()[:110]}")
    return share >= LEAST


def main():
    folder = sys.argv[1]
    good = True
    with open("tests/fuzz/sources.txt") as stream:
        for line in stream:
            words = line.split("#")[0].split()
            if len(words) < 2:
                continue
            excepted = words[2].split(",") if len(words) > 2 else []
            good = check(words[1].split("+"), words[0], excepted, folder) and good
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
