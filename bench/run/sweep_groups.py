"""The results of a sweep, grouped by its settings; for the scripts that make tables of one."""
import collections
import json
import os


def load(folder, seeds, row, column):
    """row(settings) -> column(settings) -> results of drove sweep --out folder, of seeds up to this one"""
    found = collections.defaultdict(lambda: collections.defaultdict(list))
    with open(os.path.join(folder, "results.jsonl")) as f:
        for line in f:
            result = json.loads(line)
            if result["seed"] <= seeds:
                found[row(result["settings"])][column(result["settings"])].append(result)
    return found
