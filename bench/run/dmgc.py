"""What the scripts of low-precision throughput share: running `drove dmgc --measure`, records with their origin,
tables, and gnuplot."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

# Table 2 of the paper: GNPS with one thread, dense and sparse, Xeon E7-8890.
TABLE_2 = {
    "D32f[i32]M8": (0.203, 0.103), "D32f[i32]M16": (0.208, 0.080), "D32f[i32]M32f": (0.936, 0.101),
    "D8[i8]M32f": (0.999, 0.089), "D16[i16]M32f": (1.183, 0.089), "D16[i16]M16": (1.739, 0.106),
    "D8[i8]M16": (2.238, 0.105), "D16[i16]M8": (2.526, 0.172), "D8[i8]M8": (3.339, 0.166),
}
SPARSE = "3%"


def call(command):
    """The JSON object that a command prints, or a SystemExit with its error."""
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def measure(args, signature, features, threads=1, sparse=False, **options):
    """One record: prediction and measurement of a setting.  options: those of drove dmgc --measure."""
    options = {"seconds": args.seconds, "bytes": args.bytes, **options}
    command = [args.drove, "dmgc", signature, "--features", str(features), "--threads", str(threads), "--measure", "--json"]
    if getattr(args, "constants", None):
        command += ["--constants", args.constants]
    if sparse:
        command += ["--sparse", SPARSE]
    for name, value in options.items():
        command += [f"--{name}", str(value)]
    answer = call(command)
    record = {"signature": signature, "sparse": sparse, **answer["measurement"], "command": " ".join(command[1:])}
    if answer["prediction"]:
        record["predicted_gnps"] = answer["prediction"]["gnps"]
        record["constants"] = answer["prediction"]["constants"]
    return record


def origin(args):
    """Commit, processor and build: what a figure needs to be made again."""
    here = os.path.dirname(os.path.abspath(__file__))
    git = subprocess.run(["git", "-C", here, "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
    info = call([args.drove, "info", "--json"])
    return {"bench": "machine", "commit": git.stdout.strip() or "unknown", "command": " ".join(sys.argv), "info": info}


def table(title, head, rows, out=sys.stdout):
    """Prints rows of texts and numbers, numbers with four digits, the first column left."""
    cells = [[f"{c:.4g}" if isinstance(c, float) else "-" if c is None else str(c) for c in row] for row in rows]
    widths = [max(len(r[i]) for r in [head] + cells) for i in range(len(head))]
    print(f"\n{title}", file=out)
    for row in [head] + cells:
        line = [c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths))]
        print("  ".join(line).rstrip(), file=out)


def plot(path, title, lines, y="GNPS"):
    """lines: {name: [(n, value), ...]} as SVG (or PNG, by the name) over model size; without gnuplot nothing."""
    if path is None or shutil.which("gnuplot") is None:
        return
    terminal = "pngcairo size 800,500" if path.endswith(".png") else "svg size 800,500 background 'white'"
    with tempfile.TemporaryDirectory() as folder:
        parts = []
        for i, (name, points) in enumerate(lines.items()):
            data = os.path.join(folder, str(i))
            with open(data, "w") as f:
                f.writelines(f"{n} {value}\n" for n, value in points)
            parts.append(f"'{data}' with linespoints title '{name}'")
        script = (f"set terminal {terminal}\nset output '{path}'\nset title '{title}'\nset logscale x 2\nset format x '2^{{%L}}'\n"
                  f"set xlabel 'model size'\nset ylabel '{y}'\nset yrange [0:*]\nset key outside noenhanced\nset grid\nplot {', '.join(parts)}\n")
        subprocess.run(["gnuplot"], input=script, text=True, check=True)
