"""tests/cli/report_page.py - makes folders of runs by hand, and checks pages of drove report against them.

    report_page.py make          sweep/, many/, one/, hostile/, empty/
    report_page.py page FILE     is it a page: elements closed, ids unique, nothing outside, nothing that runs
    report_page.py numbers FILE  the page of sweep/: medians, quartiles and counts, computed anew
    report_page.py inputs FILE   the page of table/, a logistic model of the columns big, small, none
    report_page.py throughput FILE   the page of low/ against its summary and dmgc.json
    report_page.py compare FILE TABLE FOLDER...   the page of runs of two classes, and their CSV
    report_page.py values FILE FOLDER   the page of a run of values
    report_page.py files DIR     SVG files that stand alone
    report_page.py names FILE    the page of hostile/: names are text
"""
import csv
import html.parser
import json
import math
import os
import random
import re
import struct
import sys
import xml.etree.ElementTree

HOSTILE = "</td><script>alert(1)</script><img src=x onerror=alert(2)>&\"'`id`$(id)\u0085"


def log(path, rows):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f:
        for row in rows:
            f.write(json.dumps(row) + "\n")


def write(path, value):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f:
        json.dump(value, f)


def record(t, n, loss):
    return {"examples": 100 * n, "epochs": n / 2, "updates": 10 * n, "train_s": t, "examples_per_s": 50.0, "loss": loss,
            "accuracy": None if loss is None else 1 / (1 + loss), "test_loss": None, "test_accuracy": None}


def make_sweep(folder, n_lr, n_batch, n_seeds, n_records, seed):
    draw = random.Random(seed)
    results, run = [], 0
    for s in range(n_seeds):
        for i in range(n_lr * n_batch):
            run += 1
            lr, batch = 0.01 * 2 ** (i % n_lr), 8 * 2 ** (i // n_lr)
            killed, crashed, missed = (i == 1 and s < 2), (i == 4 and s == 1), (i == 2 and s < 2)
            t, rows = 0.0, [record(0.0, 0, 2.5)]
            for k in range(1, n_records + draw.randrange(3)):
                t += draw.uniform(0.1, 0.3)
                rows.append(record(t, k, 2.5 * math.exp(-k * draw.uniform(0.1, 0.3))))
            if killed:  # its log ends with a loss that is a number
                rows = rows[:len(rows) // 2]
            if crashed:
                rows[-1]["loss"] = None
            outcome = "crashed" if crashed or killed else "missed" if missed else "reached"
            name = f"{folder}/runs/{run:04d}"
            log(name + "/log.jsonl", rows)
            write(name + "/out.json", {"outcome": outcome, "staleness": {"histogram": [[0, 30 + s], [1, 10], [4, 2]]},
                                       "phases": {"wait": 0.0, "forward": 1e-5 * (i + 1), "backward": 2e-5}})
            results.append({"run": run, "setting": i + 1, "settings": {"lr": "%g" % lr, "batch": str(batch)}, "seed": s,
                            "outcome": outcome, "status": 0, "signal": None, "message": None, "resolved": {},
                            "figures": {"target_s": t if outcome == "reached" else None,
                                        "loss": None if outcome == "crashed" else rows[-1]["loss"],
                                        "examples_per_s": 50.0 + i + s, "process_s": t + 1, "train_s": t}})
    log(folder + "/results.jsonl", results)
    write(folder + "/study.json", {"sweep": {}, "runs": run})


def make():
    make_sweep("sweep", 3, 2, 5, 20, 1)
    make_sweep("many", 10, 4, 10, 100, 2)
    write("one/run.json", {"options": {"lr": 0.1, "model": "mlp:8", "seed": 1}})
    log("one/log.jsonl", [record(0.0, 0, 2.5)])
    name = "hostile/" + HOSTILE.replace("/", "\u2215")
    metrics = {"accuracy": 0.5, "confusion": [[3, 1], [2, 4]], "per_class": [{"class": HOSTILE}, {"class": "b"}]}
    write(name + "/run.json", {"options": {"lr": 0.1, "data": HOSTILE, "model": HOSTILE, "seed": 1}})
    log(name + "/log.jsonl", [record(0.0, 0, 2.5), record(1.0, 1, 1.5), record(2.0, 2, None)])
    write(name + "/summary.json", {"outcome": "crashed", "data": HOSTILE, "model": HOSTILE, "test_metrics": metrics,
                                   "workers": [{"name": HOSTILE, "updates": 3, "busy": 0.5},
                                               {"name": HOSTILE, "updates": 5, "busy": 0.25}],
                                   "staleness": {"histogram": [[0, 3], [2, 5]], "per_worker": [
                                       {"histogram": [[0, 3]]}, {"histogram": [[2, 5]]}]}})
    write("wide/run.json", {"options": {"lr": 0.1, "model": "mlp:8", "seed": 1}})
    log("wide/log.jsonl", [record(0.0, 0, 2.5), record(1.0, 1, 1.5)])
    write("wide/summary.json", {"outcome": "finished", "workers": [{"name": f"w{i}"} for i in range(12)],
                                "staleness": {"histogram": [[v, 10] for v in range(12)],
                                              "per_worker": [{"histogram": [[(5 * i) % 12, 10]]} for i in range(12)]}})
    write("empty/study.json", {"sweep": {}, "runs": 4})
    os.makedirs("empty/runs")


class Page(html.parser.HTMLParser):
    EMPTY = {"meta", "link", "input", "br"}

    def __init__(self):
        super().__init__()
        self.open, self.ids, self.tables, self.text, self.pictures = [], [], [], [], 0
        self.cell = None

    def handle_startendtag(self, tag, attrs):
        self.check(tag, attrs)

    def handle_starttag(self, tag, attrs):
        self.check(tag, attrs)
        if tag == "table":
            self.tables.append([])
        if tag == "tr":
            self.tables[-1].append([])
        if tag in ("td", "th"):
            self.cell = ""
        if tag not in self.EMPTY:
            self.open.append(tag)

    def check(self, tag, attrs):
        assert tag not in ("script", "img", "iframe", "object", "form", "base"), tag
        self.pictures += tag == "desc"
        for key, value in attrs:
            assert not key.startswith("on"), (tag, key)
            if key == "id":
                self.ids.append(value)
            if key in ("href", "src", "xlink:href", "action"):
                assert value.startswith("#") or value == "data:,", (tag, value)
            assert "url(" not in (value or ""), (tag, value)

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, (tag, self.open[-3:], self.getpos())
        self.open.pop()
        if tag in ("td", "th"):
            self.tables[-1][-1].append(self.cell)
            self.cell = None

    def handle_data(self, data):
        self.text.append(data)
        if self.cell is not None:
            self.cell += data


def load(path):
    page = Page()
    with open(path, encoding="utf-8") as f:
        text = f.read()
    page.feed(text)
    page.close()
    assert page.open == [], page.open
    assert len(set(page.ids)) == len(page.ids), "ids twice"
    for name in re.findall(r'(?:href="#|aria-labelledby="|for=")([^"]*)"', text):
        for part in name.split():
            assert part in page.ids, part
    assert "Content-Security-Policy" in text and "default-src 'none'" in text and "prefers-color-scheme:dark" in text
    assert not re.search(r"https?://", text), "a reference to the outside"
    assert "rgb(  1," not in text, "a colour that does not follow the style"
    return page


# ---- the numbers, computed anew ----


def quantile(values, p):
    """Linear between neighbours; infinite where either of them is."""
    v = sorted(values)
    at = p * (len(v) - 1)
    i = int(at)
    if at == i or v[i] == v[i + 1]:
        return v[i]
    return v[i] + (at - i) * (v[i + 1] - v[i])


def value_at(run, x):
    xs, ys = run["x"], run["y"]
    if x > xs[-1]:
        return math.inf if run["crashed"] else ys[-1]
    for (x0, y0), (x1, y1) in zip(zip(xs, ys), zip(xs[1:], ys[1:])):
        if x0 <= x <= x1:
            if x == x0:
                return y0
            return y1 if x == x1 or math.isinf(y1) else y0 + (x - x0) / (x1 - x0) * (y1 - y0)
    return ys[0]


def close(text, value):
    if text == "\u2013":
        return not math.isfinite(value)
    return math.isfinite(value) and abs(float(text) - value) <= 6e-4 * abs(value) + 1e-12


def settings():
    """{name: its runs} in the order of the page"""
    found = {}
    for line in open("sweep/results.jsonl"):
        r = json.loads(line)
        rows = [json.loads(x) for x in open("sweep/runs/%04d/log.jsonl" % r["run"])]
        name = "lr=%s batch=%s" % (r["settings"]["lr"], r["settings"]["batch"])
        found.setdefault(name, []).append(
            {"x": [x["train_s"] for x in rows], "y": [math.inf if x["loss"] is None else x["loss"] for x in rows],
             "crashed": r["outcome"] == "crashed", "target": r["figures"]["target_s"], "outcome": r["outcome"],
             "speed": r["figures"]["examples_per_s"]})
    return found


def table_of(page, *heads):
    """The first with these in its heading: its rows."""
    for table in page.tables:
        if table and all(h in table[0] for h in heads):
            return table
    raise AssertionError(heads)


def check_curves(page, found):
    rows = table_of(page, "training time (s)", "loss", "lower quartile")[1:]
    assert len(rows) == 24 * len(found), len(rows)
    for number, (name, runs) in enumerate(found.items(), 1):
        mine = [r for r in rows if r[0] == f"{number}: {name}"]
        end = max(r["x"][-1] for r in runs)
        for i, row in enumerate(mine):
            x = i * 63 // 23 / 63 * end
            assert close(row[1], x), (row, x)
            values = [value_at(r, x) for r in runs]
            for cell, p in zip(row[2:], (0.5, 0.25, 0.75)):
                assert close(cell, quantile(values, p)), (name, i, p, row, quantile(values, p))


def check_boxes(page, found):
    rows = table_of(page, "setting", "least", "median", "largest")[1:]
    for number, (row, (name, runs)) in enumerate(zip(rows, found.items()), 1):
        times = [r["target"] for r in runs if r["target"] is not None]
        n_crashed = sum(r["outcome"] == "crashed" for r in runs)
        n_missed = sum(r["outcome"] == "missed" for r in runs)
        note = f"{len(times)} of {len(runs)}"
        note += f"; {n_crashed} crashed, {n_missed} missed" if len(times) < len(runs) else ""
        assert row[:2] == [f"{number}: {name}", note], (row, note)
        for cell, p in zip(row[2:], (0, 0.25, 0.5, 0.75, 1)):
            assert close(cell, quantile(times, p)), (row, p)


def check_heat(page, found):
    rows = table_of(page, "step size \\ batch (examples)", "8", "16")
    for row in rows[1:]:
        for batch, cell in zip(rows[0][1:], row[1:]):
            runs = found[f"lr={row[0]} batch={batch}"]
            n_crashed = sum(r["crashed"] for r in runs)
            median = quantile([math.inf if r["target"] is None else r["target"] for r in runs], 0.5)
            note = f"{n_crashed} of {len(runs)} crashed" if n_crashed else ""
            assert cell.endswith(note) and close(cell[:len(cell) - len(note)], median), (row, cell, median)


def check_numbers(page):
    found = settings()
    check_curves(page, found)
    check_boxes(page, found)
    check_heat(page, found)
    staleness = table_of(page, "staleness (updates)", "share of steps")[1:]
    total = sum(42 + s for s in range(5))
    want = {"0": sum(30 + s for s in range(5)) / total, "1": 50 / total, "4": 10 / total}
    assert len(staleness) == 3 * len(found)
    for row in staleness:
        assert close(row[2], want[row[1]]), row
    phases = table_of(page, "setting", "forward", "backward")
    for i, row in enumerate(phases[1:], 1):
        assert close(row[phases[0].index("forward")], 10.0 * i) and close(row[phases[0].index("backward")], 20), row


def check_inputs(page):
    with open("table/model.safetensors", "rb") as f:
        n = int.from_bytes(f.read(8), "little")
        begin, end = json.loads(f.read(n))["layer0.weight"]["data_offsets"]
        body = f.read()
    weights = [abs(w) for w in struct.unpack("<3f", body[begin:end])]
    rows = table_of(page, "column", "weight")[1:]
    want = sorted(zip(weights, ("big", "small", "none")), reverse=True)
    assert want[0][1] == "big" and [r[0] for r in rows] == [name for _, name in want], (rows, want)
    for row, (weight, _) in zip(rows, want):
        assert close(row[1], weight / want[0][0]), (rows, want)


def check_importance(page):
    told = json.load(open("told/summary.json"))["importance"]
    rows = table_of(page, "column", "accuracy (points)")[1:]
    assert told["data"] == "held-out" and [c["column"] for c in told["columns"]] == ["big", "small", "none"], told
    assert told["columns"][0]["loss_increase"] > 4 * told["columns"][1]["loss_increase"] > 0, told
    assert [r[0] for r in rows] == ["big", "small", "none"], rows
    for row, column in zip(rows, told["columns"]):
        assert close(row[1], column["loss_increase"]) and close(row[2], 100 * column["accuracy_decrease"]), (rows, told)


def check_compare(page, table, *folders):
    """Runs of two classes: legends, the table of settings, the curves, the columns of the CSV."""
    summaries = [json.load(open(f"{folder}/summary.json")) for folder in folders]
    names = [f"{i}: {os.path.basename(folder)}" for i, folder in enumerate(folders, 1)]
    rows = table_of(page, "number", "setting", "held-out AUC")
    heads = {"held-out loss": None, "held-out accuracy": "accuracy", "held-out AUC": "auc", "held-out F1 (mean)": "f1_macro",
             "held-out average precision": "average_precision", "held-out balanced accuracy": "balanced_accuracy"}
    assert set(heads) <= set(rows[0]) and "reached" not in rows[0] and "held-out RMSE" not in rows[0], rows[0]
    for row, folder, summary in zip(rows[1:], folders, summaries):
        assert row[1].startswith(os.path.basename(folder) + ": "), row
        for head, key in heads.items():
            want = summary["test_loss"] if key is None else summary["test_metrics"][key]
            assert close(row[rows[0].index(head)], want), (row, head, want)
    for x, y, at in (("false positive rate", "recall", (2, 1)), ("recall", "precision", (1, 3))):
        rows = table_of(page, "line", x, y)[1:]
        for name, summary in zip(names, summaries):
            points = [tuple(point[i] for i in at) for point in summary["test_metrics"]["curve"]]
            mine = [row for row in rows if row[0] == name]
            assert len(mine) > 5, (name, rows[:3])
            for row in mine:
                found = [p for p in points + [(0, 0)] if close(row[1], p[0]) and close(row[2], p[1])]
                assert found, (row, points)
        assert [row[0] for row in rows].count("chance") == 2, rows
    for row in csv.DictReader(open(table)):
        staleness = summaries[folders.index(row["run"])]["staleness"]
        for key in ("mean", "p50", "p99", "max"):
            assert float(row["staleness." + key]) == staleness[key], (row, staleness)


def check_values(page, folder):
    """A run of values: its sample, and what it errs by."""
    sample = json.load(open(f"{folder}/summary.json"))["test_metrics"]["sample"]
    for heads, at in ((("real value", "predicted value"), lambda t, p: (t, p)),
                      (("predicted value", "predicted - real value"), lambda t, p: (p, p - t))):
        rows = [row for row in table_of(page, "line", *heads)[1:] if row[0] == "held-out data"]
        assert len(rows) == 24, rows
        points = [at(*pair) for pair in sample]
        for row in rows:
            assert any(close(row[1], x) and abs(float(row[2]) - y) <= 1e-3 * max(1, abs(y)) for x, y in points), row
    told = json.load(open(f"{folder}/summary.json"))["importance"]
    rows = table_of(page, "column", "RMSE", "RMSE (%)")[1:]
    for row, column in zip(rows, told["columns"]):
        assert close(row[1], column["rmse_increase"]) and close(row[2], 100 * column["rmse_increase"] / told["rmse"]), (row, told)


def check_files(folder):
    """Each SVG stands alone: well formed, nothing outside, names as text, a title and a legend."""
    for name in os.listdir(folder):
        root = xml.etree.ElementTree.parse(os.path.join(folder, name)).getroot()
        tags = {element.tag.rpartition("}")[2] for element in root.iter()}
        assert not tags & {"script", "image", "foreignObject", "style", "a"}, (name, tags)
        for element in root.iter():
            for key, value in element.attrib.items():
                assert "href" not in key or value.startswith("#"), (name, key, value)
                assert "rgb(  1," not in value and "var(" not in value, (name, value)
        title = root.find("{http://www.w3.org/2000/svg}title")
        assert title is not None and title.text and title.text != "Gnuplot", name
        texts = "".join(root.itertext())
        assert "id`" not in name and texts.strip(), name


def check_throughput(page):
    measured = json.load(open("low/summary.json"))["gnps"]
    predicted = json.load(open("dmgc.json"))
    rows = table_of(page, "GNPS", "from")[1:]
    want = predicted["prediction"]["gnps"] if "prediction" in predicted else predicted["gnps"]
    for row, value in zip(rows, (measured, want, measured / want)):
        assert close(row[1], value), (row, value)


def main():
    if sys.argv[1] == "make":
        make()
        return
    if sys.argv[1] == "files":
        check_files(sys.argv[2])
        return
    page = load(sys.argv[2])
    if sys.argv[1] == "numbers":
        check_numbers(page)
    if sys.argv[1] == "importance":
        check_importance(page)
    if sys.argv[1] == "wide":  # 12 workers of staleness 0, 5, 10, 3 ...: all together, and the stalest
        rows = table_of(page, "staleness (updates)", "share of steps")[1:]
        assert [r for r in rows if r[0] == "all workers"][5][1] == "5" and len(rows) == 16, rows
        stalest = {f"w{i}": str((5 * i) % 12) for i in range(12) if (5 * i) % 12 >= 8}
        assert {r[0]: r[1] for r in rows[12:]} == stalest, (rows, stalest)
        assert "8 more are not drawn" in "".join(page.text)
    if sys.argv[1] == "compare":
        check_compare(page, *sys.argv[3:])
    if sys.argv[1] == "values":
        check_values(page, sys.argv[3])
    if sys.argv[1] == "inputs":
        check_inputs(page)
    if sys.argv[1] == "throughput":
        check_throughput(page)
    if sys.argv[1] == "names":
        text = "".join(page.text)
        shown = HOSTILE.replace("\u0085", "")
        assert text.count(shown) >= 5, text.count(shown)
    print(page.pictures)


main()
