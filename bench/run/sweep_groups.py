"""The results of sweeps, grouped by their settings; for the scripts that make tables of them."""
import collections
import json
import os


def load(folders, seeds, row, column):
    """row(settings) -> column(settings) -> results of drove sweep --out folder, of seeds up to this one.  A run that several
    folders have counts once."""
    found = collections.defaultdict(lambda: collections.defaultdict(dict))
    for folder in folders:
        with open(os.path.join(folder, "results.jsonl")) as f:
            for line in f:
                result = json.loads(line)
                if result["seed"] <= seeds:
                    of = found[row(result["settings"])][column(result["settings"])]
                    of.setdefault(json.dumps([result["settings"], result["seed"]], sort_keys=True), result)
    return {r: {c: list(results.values()) for c, results in of.items()} for r, of in found.items()}
