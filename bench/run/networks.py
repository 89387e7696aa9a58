"""What the scripts on cores with a device share: the networks of the heterogeneous paper's Table 2, as the run files
of examples/ describe them; a run with its curve of losses; pictures."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

NAMES = ("covtype", "w8a", "delicious", "sector")
EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples")
KEPT = ("outcome", "loss_initial", "loss", "accuracy", "examples", "updates", "epochs", "train_s", "examples_per_s", "workers")


class Network:
    """The run file of one network: its options as texts, and its data beneath another folder than data/."""

    def __init__(self, name, folder):
        self.name, self.file = name, os.path.relpath(os.path.join(EXAMPLES, f"heterogeneous-{name}.yaml"))
        with open(self.file) as f:
            lines = [re.sub(r"\s+#.*|^#.*", "", line).strip() for line in f]
        self.options = dict(line.split(": ", 1) for line in lines if line)
        self.data = re.sub(r":data/", f":{folder}/", self.options["data"], count=1)
        self.sizes = [re.search(r"\?(.*)", worker).group(1) for worker in self.options["workers"].split("+")]

    def has_data(self):
        return os.path.exists(re.sub(r"^[^:]*:|\?.*", "", self.data))

    def command(self, drove, **options):
        command = [drove, "train", "--defaults", "classic", self.file, "--data", self.data, "--test", "none", "--json", "--quiet"]
        for name, value in options.items():
            command += ["--" + name.replace("_", "-"), str(value)]
        return command


def networks(names, folder):
    """Those whose data are there; for the others a line that says what was looked for."""
    found = []
    for name in names.split(","):
        if name not in NAMES:
            raise SystemExit(f"--networks: expected {', '.join(NAMES)}, found {name}")
        network = Network(name, folder)
        if network.has_data():
            found.append(network)
        else:
            print(f"{name}: left out, there is no {network.data}")
    return found


def train(command, out=None):
    """A record: the summary's numbers and `curve`, [seconds, epochs, loss] of each evaluation.  out: the run's folder,
    which must not exist; else a scratch one."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = out or os.path.join(scratch, "run")
        done = subprocess.run(command + ["--out", folder, "--save-every", "never"], capture_output=True, text=True)
        if done.returncode not in (0, 3):
            raise SystemExit(f"{' '.join(command)}: {done.stderr.strip()}")
        summary = json.loads(done.stdout)
        with open(os.path.join(folder, "log.jsonl")) as log:
            curve = [[r["train_s"], r["epochs"], r["loss"]] for r in map(json.loads, log)]
    return {**{key: summary[key] for key in KEPT}, "curve": curve, "command": " ".join(command[1:])}


def progress(text):
    print(text, file=sys.stderr, flush=True)


def picture(path, title, lines, x, y, style="linespoints", settings=""):
    """lines: {name: [(x, y), ...]} as SVG, or PNG by the name; without gnuplot nothing."""
    lines = {name: points for name, points in lines.items() if points}
    if shutil.which("gnuplot") is None or not lines:
        return
    terminal = "pngcairo size 800,500" if path.endswith(".png") else "svg size 800,500 background 'white'"
    with tempfile.TemporaryDirectory() as folder:
        parts = []
        for i, (name, points) in enumerate(lines.items()):
            data = os.path.join(folder, str(i))
            with open(data, "w") as f:
                f.writelines(f"{a} {b}\n" for a, b in points if b is not None)
            parts.append(f"'{data}' with {style} title '{name}'")
        script = (f"set terminal {terminal}\nset output '{path}'\nset title '{title}' noenhanced\nset xlabel '{x}'\n"
                  f"set ylabel '{y}'\nset key outside noenhanced\nset grid\n{settings}\nplot {', '.join(parts)}\n")
        subprocess.run(["gnuplot"], input=script, text=True, check=True)
