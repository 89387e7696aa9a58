#!/usr/bin/env python3
"""bench/run/tables_league.py --run SYSTEM,... --records FILE [--half seen|held-back|both] [--tables NAME,...] [--splits 0,1,2]
bench/run/tables_league.py --report FILE ... [--half seen|held-back|both] [--splits ...] [--picture FILE.svg]
bench/run/tables_league.py --report FILE ... --compare LABEL      one line a table: LABEL's score, the best other, seconds
bench/run/tables_league.py --report FILE ... --pack FILE.jsonl    the same records with the splits of a table and system in one line

A league of models of tables: 60 tables (bench/run/tables_league_list.jsonl; the rule is in tables_league_list.py), three splits
80:20 each, every program with its defaults.  One JSON line in FILE for each table, split and system; a line that is there is
not run again.

    python3 bench/run/tables_league.py --run lightgbm,catboost,xgboost,histgb,forest,mlp,linear --records peers.jsonl
    python3 bench/run/tables_league.py --run drove --drove build/release/drove --as "drove 1.1" --half seen --records new.jsonl
    python3 bench/run/tables_league.py --report docs/results/league.jsonl new.jsonl

Half.  The seen half may be looked at while drove is made better; the held-back half is run with a finished drove only.
--as: the name of the system in the records, so that two builds of drove stand beside one another; with --report the drove that is compared.
--cold: each fit in a process of its own, for the seconds; records say so, are not scores, and never replace others.
--flags "...": further words for drove train, to try things out.

Scores.  Two classes: the area under the ROC curve (AUC).  More classes: accuracy.  Values: R2.  All are in the records.
drove is called as a program: `drove train train.csv?target=class|value --label target --test none`, then `drove predict` on the test
rows; ?target= says what choosing a classifier or a regressor says to the others.  The peers get what their manuals ask for:
columns of words as pandas categories (LightGBM, XGBoost, HistGradientBoosting, CatBoost as cat_features, RealMLP, TabM), else
one-hot columns, medians for empty cells (RealMLP and TabM, too), and standardised columns (logistic regression and ridge, MLP; the forest without
standardising).  Two threads; LEAGUE_THREADS=1 for the scores on a machine that others use, where OpenMP's threads wait for one
another; the records say how many.  drove has its default, all processors.

Report.  Rank: 1 is best, ties share, means over the splits first.  Normalised score of a table: (score - lowest) / (best - lowest) among
the systems in the report, where the lowest is the second-lowest, and the one below it counts as it, so that one failure does not
hide all other differences.  Intervals: 95 % of 4,000 bootstraps over tables.  Wins and losses: difference of the means over the splits larger
than one standard error of the splits' differences."""
import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
LIST = os.path.join(HERE, "tables_league_list.jsonl")
PEERS = ("lightgbm", "catboost", "xgboost", "histgb", "forest", "mlp", "linear")
SLOW = ("realmlp", "tabm", "autogluon")
THREADS = int(os.environ.get("LEAGUE_THREADS", "2"))


def entries(args):
    with open(LIST) as f:
        for line in f:
            entry = json.loads(line)
            if args.half != "both" and entry["half"] != args.half.replace("-", " "):
                continue
            if args.tables and entry["name"] not in args.tables.split(","):
                continue
            yield entry


# Tables and splits

def table_file(args, entry):
    """The table as CSV, made once."""
    path = os.path.join(args.folder, entry["name"] + ".csv")
    if not os.path.exists(path):
        sys.path.insert(0, HERE)
        import tables_league_list
        os.makedirs(args.folder, exist_ok=True)
        tables_league_list.load(entry).to_csv(path + ".part", index=False, float_format="%.9g")
        os.replace(path + ".part", path)
    return path


def parts(args, entry, split):
    """Paths of the training rows and the test rows.  Of classes a fifth of each."""
    import numpy as np
    import pandas as pd
    paths = [os.path.join(args.folder, f"{entry['name']}.{split}.{part}.csv") for part in ("train", "test")]
    if not all(map(os.path.exists, paths)):
        table = pd.read_csv(table_file(args, entry), dtype=str, keep_default_na=False)
        rng = np.random.default_rng([split, entry["rows"]])
        is_test = np.zeros(len(table), bool)
        groups = table["target"] if entry["kind"] == "class" else np.zeros(len(table))
        for rows in pd.Series(range(len(table))).groupby(np.asarray(groups)).groups.values():
            rows = rng.permutation(np.asarray(rows))
            is_test[rows[:max(1, round(len(rows) / 5))]] = True
        order = rng.permutation(len(table))
        for path, rows in zip(paths, (order[~is_test[order]], order[is_test[order]])):
            table.iloc[rows].to_csv(path + ".part", index=False)
            os.replace(path + ".part", path)
    return paths


def read(paths, kind):
    """(features, labels) of the training and the test rows; words as categories of the training rows."""
    import pandas as pd
    tables = [pd.read_csv(path, keep_default_na=False, na_values=[""], low_memory=False) for path in paths]
    labels = [table.pop("target") for table in tables]
    if kind == "class":
        labels = [label.astype(str) for label in labels]
    for name in tables[0]:
        if any(not pd.api.types.is_numeric_dtype(table[name].dtype) for table in tables):
            words = sorted(tables[0][name].dropna().astype(str).unique())
            for table in tables:
                table[name] = pd.Categorical(table[name].map(str, na_action="ignore"), categories=words)
        else:
            for table in tables:
                table[name] = table[name].astype(float)
    return tuple(zip(tables, labels))


# Peers: each takes kind and features, and gives an object with fit(x, y) and predict or predict_proba

def words_of(x):
    import pandas as pd
    return [name for name in x if isinstance(x[name].dtype, pd.CategoricalDtype)]


def one_hot(x, scaled):
    from sklearn.compose import make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler
    words = words_of(x)
    numbers = [name for name in x if name not in words]
    steps = [SimpleImputer(strategy="median"), *([StandardScaler()] if scaled else [])]
    return make_column_transformer((make_pipeline(*steps), numbers), (OneHotEncoder(handle_unknown="ignore"), words))


def lightgbm(kind, x):
    import lightgbm
    return (lightgbm.LGBMClassifier if kind == "class" else lightgbm.LGBMRegressor)(n_jobs=THREADS, verbose=-1)


class Xgboost:
    def __init__(self, kind):
        import xgboost
        self.classes = kind == "class"
        self.model = (xgboost.XGBClassifier if self.classes else xgboost.XGBRegressor)(n_jobs=THREADS, enable_categorical=True)

    def fit(self, x, y):
        import numpy as np
        if self.classes:
            self.classes_, y = np.unique(y, return_inverse=True)
        self.model.fit(x, y)

    def predict(self, x):
        return self.model.predict(x)

    def predict_proba(self, x):
        return self.model.predict_proba(x)


def xgboost(kind, x):
    return Xgboost(kind)


class Catboost:
    def __init__(self, kind):
        import catboost
        self.model = (catboost.CatBoostClassifier if kind == "class" else catboost.CatBoostRegressor)(
            thread_count=THREADS, verbose=0, allow_writing_files=False)

    def plain(self, x):
        x = x.copy()
        for name in words_of(x):
            x[name] = x[name].astype(object).where(x[name].notna(), "missing").astype(str)
        return x

    def fit(self, x, y):
        self.model.fit(self.plain(x), y, cat_features=words_of(x))
        self.classes_ = getattr(self.model, "classes_", None)

    def predict(self, x):
        return self.model.predict(self.plain(x))

    def predict_proba(self, x):
        return self.model.predict_proba(self.plain(x))


def catboost(kind, x):
    return Catboost(kind)


def histgb(kind, x):
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
    return HistGradientBoostingClassifier() if kind == "class" else HistGradientBoostingRegressor()


def forest(kind, x):
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
    from sklearn.pipeline import make_pipeline
    return make_pipeline(one_hot(x, False), (RandomForestClassifier if kind == "class" else RandomForestRegressor)(n_jobs=THREADS))


def mlp(kind, x):
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.neural_network import MLPClassifier, MLPRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    model = MLPClassifier() if kind == "class" else TransformedTargetRegressor(MLPRegressor(), transformer=StandardScaler())
    return make_pipeline(one_hot(x, True), model)


def linear(kind, x):
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.pipeline import make_pipeline
    return make_pipeline(one_hot(x, True), LogisticRegression(max_iter=1000) if kind == "class" else Ridge())


class Pytabkit:
    """A network of pytabkit, which takes no empty numbers: medians stand for them."""

    def __init__(self, model):
        self.model = model(device="cpu", n_threads=THREADS, random_state=0)

    def fit(self, x, y):
        self.medians = x.median(numeric_only=True)
        self.model.fit(x.fillna(self.medians), y)
        self.classes_ = getattr(self.model, "classes_", None)

    def predict(self, x):
        return self.model.predict(x.fillna(self.medians))

    def predict_proba(self, x):
        return self.model.predict_proba(x.fillna(self.medians))


def realmlp(kind, x):
    from pytabkit import RealMLP_TD_Classifier, RealMLP_TD_Regressor
    return Pytabkit(RealMLP_TD_Classifier if kind == "class" else RealMLP_TD_Regressor)


def tabm(kind, x):
    from pytabkit import TabM_D_Classifier, TabM_D_Regressor
    return Pytabkit(TabM_D_Classifier if kind == "class" else TabM_D_Regressor)


class Autogluon:
    """The preset "medium", 60 seconds."""

    def __init__(self, kind):
        self.kind = kind

    def fit(self, x, y):
        from autogluon.tabular import TabularPredictor
        self.folder = tempfile.TemporaryDirectory()
        kinds = "regression" if self.kind == "value" else "binary" if y.nunique() == 2 else "multiclass"
        self.model = TabularPredictor("target", problem_type=kinds, path=self.folder.name, verbosity=0)
        self.model.fit(x.assign(target=y), presets="medium_quality", time_limit=60, num_cpus=THREADS)
        self.classes_ = None if self.kind == "value" else self.model.class_labels

    def predict(self, x):
        return self.model.predict(x, as_pandas=False)

    def predict_proba(self, x):
        return self.model.predict_proba(x, as_multiclass=True)[self.classes_].to_numpy()


def autogluon(kind, x):
    return Autogluon(kind)


MODULES = {"forest": "sklearn.ensemble", "histgb": "sklearn.ensemble", "mlp": "sklearn.neural_network", "linear": "sklearn.linear_model",
           "realmlp": "pytabkit", "tabm": "pytabkit", "autogluon": "autogluon.tabular"}


def version(module):
    import importlib.metadata
    name = {"sklearn": "scikit-learn"}.get(module.split(".")[0], module)
    return f"{name} {importlib.metadata.version(name)}"


# Scores

def scores(kind, labels, names, p):
    """p: [row][class of names], or values."""
    import numpy as np
    from sklearn.metrics import accuracy_score, log_loss, r2_score, roc_auc_score
    if kind == "value":
        y, p = np.asarray(labels, float), np.asarray(p, float).ravel()
        r2 = float(r2_score(y, p))
        return {"score": r2, "r2": r2, "rmse": float(np.sqrt(np.mean((y - p) ** 2)))}
    y, names = np.asarray(labels, str), np.asarray(names, str)
    order = np.argsort(names)
    names, p = names[order], np.asarray(p, float)[:, order]
    p = p / p.sum(1, keepdims=True)
    accuracy = float(accuracy_score(y, names[p.argmax(1)]))
    two = len(names) == 2
    auc = float(roc_auc_score(y == names[1], p[:, 1]) if two else roc_auc_score(y, p, multi_class="ovr", labels=names))
    return {"score": auc if two else accuracy, "auc": auc, "accuracy": accuracy, "log_loss": float(log_loss(y, p, labels=names))}


# Runs

def cpu_s():
    t = os.times()
    return t.user + t.system + t.children_user + t.children_system


def since_start():
    """Wall seconds since this process was started."""
    with open("/proc/self/stat") as f:
        ticks = int(f.read().rsplit(")", 1)[1].split()[19])
    with open("/proc/uptime") as f:
        return float(f.read().split()[0]) - ticks / os.sysconf("SC_CLK_TCK")


def processor():
    with open("/proc/cpuinfo") as f:
        return next((line.split(":", 1)[1].strip() for line in f if line.startswith("model name")), "unknown")


def run_drove(args, entry, split, paths):
    """drove's record; the test rows' labels are not in the file that predicts."""
    import pandas as pd
    labels = pd.read_csv(paths[1], usecols=["target"], dtype=str if entry["kind"] == "class" else float)["target"]
    with tempfile.TemporaryDirectory() as folder:
        bare, out, run = (os.path.join(folder, name) for name in ("test.csv", "predictions.csv", "run"))
        pd.read_csv(paths[1], dtype=str, keep_default_na=False).drop(columns="target").to_csv(bare, index=False)
        train = [args.drove, "train", f"{paths[0]}?target={entry['kind']}", "--label", "target", "--test", "none",
                 "--out", run, "--json", *args.flags.split()]
        predict = [args.drove, "predict", run, bare, "--out", out]
        took = []
        for command in (train, predict):
            wall, cpu = time.monotonic(), cpu_s()
            done = subprocess.run(command, capture_output=True, text=True)
            took.append((time.monotonic() - wall, cpu_s() - cpu))
            if done.returncode != 0:
                raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()}")
            if command is train:
                summary = json.loads(done.stdout)
        found = pd.read_csv(out)
    if entry["kind"] == "value":
        result = scores("value", labels, None, found.iloc[:, 0])
    else:
        columns = [name for name in found if name.startswith("p_")]
        result = scores("class", labels, [name[2:] for name in columns], found[columns])
    pack = summary.get("pack")
    return {**result, "fit_wall_s": took[0][0], "fit_cpu_s": took[0][1], "predict_wall_s": took[1][0], "predict_cpu_s": took[1][1],
            "start_wall_s": 0.0, "start_cpu_s": 0.0, "read_wall_s": 0.0, "chosen": f"pack of {pack['networks']}" if pack else summary["model"]}


def run_peer(system, entry, paths, started):
    """A peer's record; started: (wall, processor) seconds until this process had the peer's module."""
    import numpy as np
    begin = time.monotonic()
    (x, y), (x_test, y_test) = read(paths, entry["kind"])
    read_s = time.monotonic() - begin
    np.random.seed(0)
    marks = [(time.monotonic(), cpu_s())]
    model = globals()[system](entry["kind"], x)
    model.fit(x, y)
    marks.append((time.monotonic(), cpu_s()))
    p = model.predict(x_test) if entry["kind"] == "value" else model.predict_proba(x_test)
    marks.append((time.monotonic(), cpu_s()))
    took = {f"{name}_{clock}_s": after[i] - before[i] for name, before, after in zip(("fit", "predict"), marks, marks[1:])
            for i, clock in enumerate(("wall", "cpu"))}
    return {**scores(entry["kind"], y_test, getattr(model, "classes_", None), p), **took, "start_wall_s": started[0], "start_cpu_s": started[1],
            "read_wall_s": read_s}


def records(paths):
    found = []
    for path in paths:
        if os.path.exists(path):
            with open(path) as f:
                for line in f:
                    r = json.loads(line)
                    own = [r] if not isinstance(r["split"], list) else [{k: v[i] if isinstance(v, list) else v for k, v in r.items()}
                                                                       for i in range(len(r["split"]))]
                    found += own
    kinds = {}
    with open(LIST) as f:
        for line in f:
            entry = json.loads(line)
            kinds[entry["name"]] = {k: entry[k] for k in ("kind", "rows", "half")}
    found = [{**kinds[r["table"]], "cold": False, **r} for r in found]
    return list({(r["table"], r["split"], r["system"], r["cold"]): r for r in found}.values())


def pack(args):
    """One line for a table and a system: what the splits share once, else a list with one cell a split."""
    groups = {}
    for r in sorted(records(args.report), key=lambda r: (r["table"], r["system"], r["cold"], r["split"])):
        groups.setdefault((r["table"], r["system"], r["cold"]), []).append(r)
    digits = {"score": 5, "accuracy": 4, "auc": 4, "log_loss": 4}
    with open(args.pack, "w") as f:
        for group in groups.values():
            line = {}
            for key in dict.fromkeys(key for r in group for key in r):
                if key not in ("bench", "kind", "rows", "half", "r2", "rmse"):
                    cells = [r.get(key) for r in group]
                    cells = [round(c, digits.get(key, 2)) if isinstance(c, float) else c for c in cells]
                    is_shared = key != "split" and all(c == cells[0] for c in cells)
                    line[key] = cells[0] if is_shared else cells
            f.write(json.dumps(line, separators=(",", ":")) + "\n")


def run(args):
    import importlib
    import warnings
    warnings.filterwarnings("ignore")
    systems = args.run.split(",")
    if len(systems) > 1 or (args.cold and systems != ["drove"] and not args.in_child):
        return run_children(args, systems)
    system = systems[0]
    name = args.label or system
    what = {"drove": ""}.get(system)
    started = (0.0, 0.0)
    if system != "drove":
        module = MODULES.get(system, system)
        importlib.import_module("pandas")
        importlib.import_module(module)
        started = since_start(), cpu_s()
        what = version(module)
    else:
        what = subprocess.run([args.drove, "--version"], capture_output=True, text=True).stdout.split("\n")[0]
    done = {(r["table"], r["split"], r["system"], r["cold"]) for r in records([args.records])}
    for split in map(int, args.splits.split(",")):
        for entry in entries(args):
            if (entry["name"], split, name, args.cold) in done or (system in SLOW and not entry["slow_peers"]):
                continue
            paths = parts(args, entry, split)
            base = {"bench": "tables_league", "table": entry["name"], "split": split, "system": name, "version": what, "half": entry["half"],
                    "kind": entry["kind"], "rows": entry["rows"], "cold": args.cold, "threads": os.cpu_count() if system == "drove" else THREADS}
            try:
                record = run_drove(args, entry, split, paths) if system == "drove" else run_peer(system, entry, paths, started)
            except Exception as error:  # A peer may refuse a table; the record says so.
                record = {"error": f"{type(error).__name__}: {error}"[:300], "score": None}
            record = {k: round(v, 5) if isinstance(v, float) else v for k, v in record.items()}
            with open(args.records, "a") as f:
                f.write(json.dumps({**base, **record, "processor": processor()}) + "\n")
            said = record["error"] if record["score"] is None else f"{record['score']:.4f}  {record['fit_wall_s']:.2f} s"
            print(f"{name:12} {entry['name']:20} split {split}  {said}", file=sys.stderr, flush=True)
            if args.cold and system != "drove":
                return None
    return None


def run_children(args, systems):
    """One process for each system, so that start-up and threads of one do not weigh on another; --cold: for each fit."""
    for system in systems:
        jobs = [(",".join(e["name"] for e in entries(args)), args.splits)]
        if args.cold:
            jobs = [(e["name"], split) for split in args.splits.split(",") for e in entries(args)]
        for tables, splits in jobs:
            command = [args.python, os.path.abspath(__file__), "--run", system, "--records", args.records, "--half", args.half,
                       "--splits", splits, "--folder", args.folder, "--tables", tables, "--drove", args.drove, "--flags=" + args.flags,
                       *(["--cold", "--in-child"] if args.cold else []), *(["--as", args.label] if args.label and system == "drove" else [])]
            subprocess.run(command, check=True)


# Report

def by_table(found, splits, systems=None):
    """{table: {system: [score of each split]}} of the splits that all systems have; without systems, of those that every system of the
    table has."""
    tables = {}
    for r in found:
        if r["split"] in splits and not r["cold"] and r["score"] is not None:
            tables.setdefault(r["table"], {}).setdefault(r["system"], {})[r["split"]] = r["score"]
    out = {}
    for t, rows in tables.items():
        some = systems or list(rows)
        common = [i for i in splits if all(i in rows.get(s, {}) for s in some)]
        if common:
            out[t] = {s: [rows[s][i] for i in common] for s in some}
    return out


def mean(x):
    return sum(x) / len(x)


def error_of(a, b):
    """Mean and standard error of the splits' differences."""
    d = [p - q for p, q in zip(a, b)]
    m = mean(d)
    return m, math.sqrt(sum((x - m) ** 2 for x in d) / (len(d) - 1) / len(d)) if len(d) > 1 else 0.0


def ranks(row):
    """{system: rank} of {system: score}, ties share."""
    return {s: sum(v > own for v in row.values()) + 1 + (sum(v == own for v in row.values()) - 1) / 2 for s, own in row.items()}


def normalised(row):
    lowest = sorted(row.values())[min(1, len(row) - 2)]
    best = max(row.values())
    return {s: 1.0 if best == lowest else max(0.0, (v - lowest) / (best - lowest)) for s, v in row.items()}


def standings(tables, systems, n_draws=4000):
    """For each system mean rank and mean normalised score with 95 % intervals, and the intervals of the differences to the first system."""
    import random
    rows = [{s: mean(tables[t][s]) for s in systems} for t in sorted(tables)]
    values = {"rank": [ranks(row) for row in rows], "norm": [normalised(row) for row in rows]}
    rng = random.Random(1)
    draws = [[rng.randrange(len(rows)) for _ in rows] for _ in range(n_draws)]
    out = {}
    for s in systems:
        out[s] = {}
        for what, of_rows in values.items():
            own = [row[s] for row in of_rows]
            gap = [row[s] - row[systems[0]] for row in of_rows]
            for name, x in ((what, own), (what + "_gap", gap)):
                drawn = sorted(sum(x[i] for i in draw) / len(x) for draw in draws)
                out[s][name] = mean(x), drawn[int(0.025 * n_draws)], drawn[int(0.975 * n_draws)]
    return out


def median(x):
    x = sorted(x)
    return (x[(len(x) - 1) // 2] + x[len(x) // 2]) / 2 if x else float("nan")


def seconds(r, start):
    if r["system"].startswith("drove") or start:
        return r["fit_wall_s"] + r["predict_wall_s"] + r["start_wall_s"] + r["read_wall_s"]
    return r["fit_wall_s"] + r["predict_wall_s"]


def league_table(title, splits, systems, found, ours):
    """Prints one table of the league: the tables and splits that all systems have."""
    tables = by_table(found, splits, systems)
    if not tables:
        return []
    gaps = []
    table = standings(tables, systems)
    print(f"\n{title}: {len(tables)} tables\n\n<!-- t:{title.split()[-1]} real 1 -->")
    print("| system | mean rank | 95 % | normalised score | 95 % | drove wins | drove loses | processor s |")
    print("|---|---|---|---|---|---|---|---|")
    for s in sorted(systems, key=lambda s: table[s]["rank"][0]):
        wins = losses = 0
        for rows in tables.values():
            m, error = error_of(rows[ours], rows[s])
            wins += m > error and m > 0
            losses += -m > error and m < 0
        own = [r for r in found if r["system"] == s and r["table"] in tables and not r["cold"] and r["score"] is not None]
        cpu = median([r["fit_cpu_s"] + r["predict_cpu_s"] for r in own])
        rank, norm = table[s]["rank"], table[s]["norm"]
        beside = "| | |" if s == ours else f"| {wins} | {losses} |"
        print(f"| {s} | {rank[0]:.2f} | {rank[1]:.2f} to {rank[2]:.2f} | {norm[0]:.3f} | {norm[1]:.3f} to {norm[2]:.3f} {beside} "
              f"{cpu:.2f} |")
    others = [s for s in systems if s != ours]
    for what, word in (("rank_gap", "rank"), ("norm_gap", "normalised score")):
        nearest = (min if what == "rank_gap" else max)(others, key=lambda s: table[s][what][0])
        m, low, high = table[nearest][what]
        gaps.append(f"| {title} | {len(tables)} | {word} | {nearest} | {m:+.3f} | {low:+.3f} | {high:+.3f} |")
    return gaps


def cold_table(found, systems, ours):
    """The seconds of fits in processes of their own."""
    cold = [r for r in found if r["cold"] and r["score"] is not None]
    if not cold:
        return
    print("\n<!-- t:cold real 1 -->\n| system | tables | wall s from start to predictions, median | the same under 5,000 rows | largest | of it fit and predict | processor s of fit and predict | wall s beside drove |")
    print("|---|---|---|---|---|---|---|---|")
    drove = {(r["table"], r["split"]): seconds(r, True) for r in cold if r["system"] == ours}
    for s in systems:
        own = [r for r in cold if r["system"] == s]
        if own:
            print(f"| {s} | {len({r['table'] for r in own})} | {median([seconds(r, True) for r in own]):.2f} | "
                  f"{median([seconds(r, True) for r in own if r['rows'] < 5000]):.2f} | {max(seconds(r, True) for r in own):.1f} | "
                  f"{median([seconds(r, False) for r in own]):.2f} | {median([r['fit_cpu_s'] + r['predict_cpu_s'] for r in own]):.2f} | "
                  + ratio_to(own, drove) + " |")


def ratio_to(own, drove):
    both = [seconds(r, True) / drove[r["table"], r["split"]] for r in own if (r["table"], r["split"]) in drove]
    return f"{median(both):.2f}" if both else "-"


def picture(path, tables, systems, found, ours):
    """Normalised score above processor seconds, as an SVG."""
    table = standings(tables, systems)
    dots = {}
    for s in systems:
        cpu = median([r["fit_cpu_s"] + r["predict_cpu_s"] for r in found if r["system"] == s and r["table"] in tables and not r["cold"]])
        dots[s] = max(cpu, 0.01), table[s]["norm"]
    low, high = math.floor(math.log10(min(x for x, _ in dots.values()))), math.ceil(math.log10(max(x for x, _ in dots.values())))
    wide, tall, left, top = 640, 400, 60, 20
    def at_x(x): return left + (math.log10(x) - low) / (high - low) * (wide - left - 110)
    def at_y(y): return top + (1 - y) * (tall - top - 50)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {tall}" font-family="sans-serif" font-size="12">',
           f'<rect width="{wide}" height="{tall}" fill="#fff"/>']
    for y in (0, 0.25, 0.5, 0.75, 1):
        out.append(f'<path d="M{left} {at_y(y):.1f}H{wide - 110}" stroke="#ddd"/><text x="{left - 8}" y="{at_y(y) + 4:.1f}" text-anchor="end">{y:g}</text>')
    for x in range(low, high + 1):
        out.append(f'<path d="M{at_x(10 ** x):.1f} {top}V{tall - 50}" stroke="#ddd"/><text x="{at_x(10 ** x):.1f}" y="{tall - 34}" text-anchor="middle">{10 ** x:g}</text>')
    for s, (x, (y, y_low, y_high)) in dots.items():
        colour = "#d62728" if s == ours else "#1f77b4"
        out.append(f'<path d="M{at_x(x):.1f} {at_y(y_low):.1f}V{at_y(y_high):.1f}" stroke="{colour}" stroke-opacity="0.5"/>'
                   f'<circle cx="{at_x(x):.1f}" cy="{at_y(y):.1f}" r="4" fill="{colour}"/><text x="{at_x(x) + 7:.1f}" y="{at_y(y) + 4:.1f}">{s}</text>')
    out.append(f'<text x="{left}" y="{tall - 12}">processor seconds to fit and predict, median of the tables; up: mean normalised score, 95 % interval</text></svg>')
    with open(path, "w") as f:
        f.write("\n".join(out) + "\n")


def behind(tables, systems, ours):
    """[(table, best system, difference, standard errors)] where drove is behind the best by more than two standard errors."""
    out = []
    for t, rows in sorted(tables.items()):
        best = max((s for s in systems if s != ours and s in rows), key=lambda s: mean(rows[s]))
        m, error = error_of(rows[ours], rows[best])
        if m < 0 and -m > 2 * error:
            out.append((t, best, m, error))
    return out


def report(args):
    found = records(args.report)
    names = {e["name"] for e in entries(args)}
    found = [r for r in found if r["table"] in names]
    splits = [int(i) for i in args.splits.split(",")]
    ours = args.label or next(r["system"] for r in found if r["system"].startswith("drove"))
    systems = [ours, *[s for s in PEERS if any(r["system"] == s for r in found)]]
    tables = by_table(found, splits, systems)
    gaps = []
    for half in ("seen", "held back"):
        gaps += league_table("on the half " + half, splits, systems, [r for r in found if r["half"] == half], ours)
    gaps += league_table("the league", splits, systems, found, ours)
    for slow in SLOW:
        if any(r["system"] == slow for r in found):
            gaps += league_table(f"with {slow}", splits, [*systems, slow], found, ours)
    print("\n<!-- t:gaps real 1 -->\n| tables | number | of | nearest other | it less drove | 95 % from | to |\n|---|---|---|---|---|---|---|")
    print("\n".join(gaps))
    repeated = {t: rows for t, rows in tables.items() if len(rows[ours]) > 1}
    late = behind(repeated, systems, ours)
    print(f"\nBehind the best of all by more than two standard errors: {len(late)} of {len(repeated)} tables with two splits or more")
    print("\n<!-- t:behind real 1 -->\n| table | best other | difference to it | standard error |\n|---|---|---|---|")
    for t, best, m, error in sorted(late, key=lambda row: row[2]):
        print(f"| {t} | {best} | {m:.4f} | {error:.4f} |")
    cold_table(found, [*systems, *SLOW], ours)
    if args.picture:
        picture(args.picture, tables, systems, found, ours)
    holes = [r for r in found if r["score"] is None]
    for r in holes:
        print(f"error: {r['system']} {r['table']} {r['split']}: {r['error']}")
    print("\n<!-- t:each real 1 -->\n| table | half | rows | score | " + " | ".join(systems) + " |")
    print("|---" * (4 + len(systems)) + "|")
    for e in entries(args):
        rows = tables.get(e["name"])
        if rows is None:
            continue
        of_e = [r for r in found if r["table"] == e["name"] and r["score"] is not None]
        best = max(mean(rows[s]) for s in systems)
        cell = [f"**{mean(rows[s]):.4f}**" if mean(rows[s]) == best else f"{mean(rows[s]):.4f}" for s in systems]
        what = "R2" if e["kind"] == "value" else "AUC" if of_e[0].get("auc", of_e[0]["score"]) == of_e[0]["score"] else "accuracy"
        print(f"| {e['name']} | {e['half']} | {e['rows']} | {what} | " + " | ".join(cell) + " |")


def compare(args):
    """One line a table, sorted by what is missing to the best other."""
    found = records(args.report)
    names = {e["name"]: e for e in entries(args)}
    splits = [int(i) for i in args.splits.split(",")]
    lines = []
    found = [r for r in found if r["table"] in names and r["system"] in (*PEERS, args.compare)]
    for t, rows in by_table(found, splits).items():
        others = [s for s in rows if s in PEERS]
        if args.compare not in rows or not others:
            continue
        best = max(others, key=lambda s: mean(rows[s]))
        own = [r for r in found if r["table"] == t and r["system"] == args.compare and r["score"] is not None]
        m, error = error_of(rows[args.compare], rows[best])
        lines.append((m, f"{t:22} {names[t]['kind']:6} {names[t]['rows']:6} rows  {args.compare} {mean(rows[args.compare]):8.4f}  best {best:9} "
                      f"{mean(rows[best]):8.4f}  diff {m:+.4f} ± {error:.4f}  {median([seconds(r, True) for r in own]):6.2f} s wall "
                      f"{median([r['fit_cpu_s'] for r in own]):6.2f} s cpu  rank {ranks({s: mean(v) for s, v in rows.items() if s in PEERS or s == args.compare})[args.compare]:.0f}"
                      f"  {own[0].get('chosen', '')}"))
    for _, line in sorted(lines):
        print(line)


def main():
    parser = argparse.ArgumentParser(description="a league of models of tables; the head of this file says how")
    parser.add_argument("--run", help="drove," + ",".join((*PEERS, *SLOW)))
    parser.add_argument("--report", nargs="*", default=[])
    parser.add_argument("--compare", metavar="LABEL", help="with --report FILES: one line a table")
    parser.add_argument("--pack", metavar="FILE")
    parser.add_argument("--picture", metavar="FILE.svg")
    parser.add_argument("--records")
    parser.add_argument("--half", choices=("seen", "held-back", "both"), default="seen")
    parser.add_argument("--tables", help="only these")
    parser.add_argument("--splits", default="0,1,2")
    parser.add_argument("--folder", default=os.path.join(tempfile.gettempdir(), "drove-tables-league"), help="where the tables are written as CSV")
    parser.add_argument("--drove", default="build/release/drove")
    parser.add_argument("--python", default=sys.executable, help="of the peers")
    parser.add_argument("--as", dest="label")
    parser.add_argument("--flags", default="")
    parser.add_argument("--cold", action="store_true")
    parser.add_argument("--in-child", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.run:
        if not args.records:
            parser.error("--run needs --records FILE")
        run(args)
    elif args.pack:
        pack(args)
    elif args.compare:
        compare(args)
    elif args.report:
        report(args)
    else:
        parser.error("--run or --report")


if __name__ == "__main__":
    main()
