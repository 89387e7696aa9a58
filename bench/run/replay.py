#!/usr/bin/env python3
"""Runs what a page shows, and compares, or writes the output anew.

    bench/run/replay.py [--drove build/release/drove] [--data DIR] [--fix] PAGE.md ...

A block ```console holds lines "$ COMMAND", each followed by all that it prints.  The commands of a page run one after the
other in one empty folder, in which examples/ is that of this tree and drove the program; --data DIR (or DROVE_TEST_DATA,
or ../shared/data) holds tables/, whose files lie in that folder too.  Without --fix everything must be as it stands, but
for numbers, and lines that tell of speed and chance.  The figures of a constant guess must be the same to a hundredth,
those of a model on held-out data to a tenth: they do not come from the program's last output but from the page.
--fix writes what the commands print now into the page.
Exit status: 0 as it stands, 1 not, 77 a page needs tables that are not there.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# Lines that differ from one machine, or one run, to the next.
CHANCE = re.compile(r"^(epoch |drove: plateau|drove: chosen|drove: model: (\d+ of \d+ networks|a pack of|loss) |  (chosen|strategy|steps back|repeatable|speed|parked|beside|a step|staleness|to +\d+ %) )")
NUMBER = re.compile(r"-?\d[\d,]*\.?\d*(e[-+]\d+)?")


def blocks(lines):
    """[(first, last)]: the lines inside of each console block."""
    found, first = [], None
    for i, line in enumerate(lines):
        if line.strip() == "```console":
            first = i + 1
        elif line.strip() == "```" and first is not None:
            found.append((first, i))
            first = None
    return found


def commands(lines):
    """[(command, output lines)] of a block."""
    found = []
    for line in lines:
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif found:
            found[-1][1].append(line)
    return found


def run(command, folder, environment):
    done = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.stdout.decode().splitlines()


def comparable(lines):
    """Lines without chance and numbers; spaces count once, columns by any order.  Messages come last: behind a pipe
    their place is open."""
    kept = [re.sub(" +", " ", NUMBER.sub("#", line)) for line in lines if not CHANCE.match(line)]
    kept = [" ".join(sorted(line.split(" "))) if line.startswith(" columns ") else line for line in kept]
    return sorted(kept, key=lambda line: line.startswith("drove: "))


def figures(lines, word):
    return [float(m.group().replace(",", "")) for line in lines if line.startswith("  " + word + " ")
            for m in NUMBER.finditer(line.replace("R2", "").replace("F1", ""))]


def differences(command, shown, printed):
    if comparable(shown) != comparable(printed):
        yield f"$ {command}: printed\n" + "\n".join(printed) + "\ninstead of\n" + "\n".join(shown)
        return
    for word, part in (("constant", 0.01), ("held-out", 0.1)):
        for a, b in zip(figures(shown, word), figures(printed, word)):
            if abs(a - b) > part * max(abs(a), abs(b)) + 0.01:
                yield f"$ {command}: {word}: {b} instead of {a}"


def lacks_tables(lines, tables):
    words = set(re.findall(r"\b([A-Za-z]+\.(?:train|test)\.csv)\b", "\n".join(lines)))
    return [w for w in words if not os.path.exists(os.path.join(tables, w))]


def replay(page, args, tables):
    with open(page, encoding="utf-8") as f:
        lines = f.read().splitlines()
    places = blocks(lines)
    lacking = lacks_tables([line for a, b in places for line in lines[a:b]], tables)
    if lacking:
        print(f"{page}: skipped: no {', '.join(sorted(lacking))} in {tables}")
        return 77
    n_commands, problems, new, done = 0, [], [], 0
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(os.path.join(ROOT, "examples"), os.path.join(folder, "examples"))
        for name in os.listdir(tables) if os.path.isdir(tables) else []:
            if name.endswith(".csv"):
                shutil.copy(os.path.join(tables, name), folder)
        program = os.path.dirname(os.path.abspath(args.drove))
        environment = dict(os.environ, PATH=program + ":" + os.environ["PATH"], LC_ALL="C.UTF-8")
        for first, last in places:
            new += lines[done:first]
            for command, shown in commands(lines[first:last]):
                printed = run(command, folder, environment)
                problems += differences(command, shown, printed)
                new += ["$ " + command] + printed
                n_commands += 1
            done = last
    if args.fix:
        with open(page, "w", encoding="utf-8") as f:
            f.write("\n".join(new + lines[done:]) + "\n")
        print(f"{page}: {n_commands} commands run, their output written")
        return 0
    for problem in problems:
        print(f"{page}: {problem}")
    print(f"{page}: {n_commands} commands, {len(problems)} of them not as shown")
    return 1 if problems else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--drove", default=os.path.join(ROOT, "build/release/drove"))
    parser.add_argument("--data", default=os.environ.get("DROVE_TEST_DATA", os.path.join(ROOT, "../shared/data")))
    parser.add_argument("--fix", action="store_true")
    parser.add_argument("page", nargs="+")
    args = parser.parse_args()
    results = [replay(page, args, os.path.join(args.data, "tables")) for page in args.page]
    sys.exit(1 if 1 in results else 77 if 77 in results else 0)


main()
