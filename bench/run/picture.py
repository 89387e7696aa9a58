#!/usr/bin/env python3
"""Draws a first run: the loss of each evaluation, and predictions beside the truth.

    bench/run/picture.py --data DIR [--drove build/release/drove] [--out docs/results/first-run.svg]

Trains on DIR/Computers.train.csv (prices of computers), predicts the rows of DIR/Computers.test.csv, and draws both as
one SVG: left the losses from log.jsonl, right the predicted price of each held-out computer above its real one.
"""
import argparse
import csv
import json
import os
import subprocess
import tempfile

WIDE, HIGH, LEFT, TOP, SIZE = 830, 400, 70, 50, 290
MOST_DOTS = 500
COLOURS = {"training": "#1f77b4", "validation": "#ff7f0e", "held-out": "#2ca02c"}


def measure(args, folder):
    """(records of the log, predicted, real)"""
    train, test = (os.path.join(args.data, f"Computers.{part}.csv") for part in ("train", "test"))
    out = os.path.join(folder, "run")
    subprocess.run([args.drove, "train", train, "--label", "price", "--test", test, "--out", out, "--quiet"], check=True)
    text = subprocess.run([args.drove, "predict", out, "--data", test], check=True, capture_output=True).stdout.decode()
    predicted = [float(line) for line in text.splitlines()[1:]]
    with open(test, newline="") as f:
        real = [float(row["price"]) for row in csv.DictReader(f)]
    with open(os.path.join(out, "log.jsonl")) as f:
        return [json.loads(line) for line in f], predicted, real


def ticks(least, most):
    """Round numbers in between, about five."""
    step = 10.0 ** len(str(int((most - least) / 5))) / 10
    while (most - least) / step > 6:
        step *= 2
    first = int(least / step) + (least > 0)
    return [i * step for i in range(first, int(most / step) + 1)]


class Panel:
    def __init__(self, lines, left, title, x, y, names):
        self.lines, self.left, self.x, self.y = lines, left, x, y
        lines.append(f'<rect x="{left}" y="{TOP}" width="{SIZE}" height="{SIZE}" fill="none" stroke="#888"/>')
        self.text(left + SIZE / 2, TOP - 18, title, size=15)
        self.text(left + SIZE / 2, TOP + SIZE + 42, names[0])
        lines.append(f'<text transform="translate({left - 52} {TOP + SIZE / 2}) rotate(-90)" text-anchor="middle">{names[1]}</text>')
        for value in ticks(*x):
            self.text(self.at(value, y[0])[0], TOP + SIZE + 18, f"{value:g}")
        for value in ticks(*y):
            self.text(left - 6, self.at(x[0], value)[1] + 4, f"{value:g}", anchor="end")

    def text(self, x, y, text, anchor="middle", size=12, colour="#222"):
        self.lines.append(f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" fill="{colour}">{text}</text>')

    def at(self, x, y):
        return (self.left + SIZE * (x - self.x[0]) / (self.x[1] - self.x[0]),
                TOP + SIZE * (1 - (y - self.y[0]) / (self.y[1] - self.y[0])))


def rmse_curve(records, key):
    """The squared loss is half the mean squared error."""
    return [(r["epochs"], (2 * r[key]) ** 0.5) for r in records if r.get(key) is not None]


def draw_losses(lines, records):
    curves = {name: rmse_curve(records, key) for name, key in
              (("training", "loss"), ("validation", "validation_loss"), ("held-out", "test_loss"))}
    points = [point for curve in curves.values() for point in curve if point[0] > 0]
    panel = Panel(lines, LEFT, "While it trains", (0, max(p[0] for p in points)), (0, 1.05 * max(p[1] for p in points)),
                  ("epochs", "root of the mean squared error"))
    for i, (name, curve) in enumerate(curves.items()):
        path = " ".join("{:.1f},{:.1f}".format(*panel.at(*p)) for p in curve if p[0] > 0)
        lines.append(f'<polyline points="{path}" fill="none" stroke="{COLOURS[name]}" stroke-width="1.5"/>')
        panel.text(LEFT + SIZE - 10, TOP + 22 + 18 * i, f"{name}: at last {curve[-1][1]:.0f}", "end", colour=COLOURS[name])


def draw_predictions(lines, predicted, real):
    least, most = 0, max(predicted + real)
    panel = Panel(lines, LEFT + SIZE + 150, "Computers that it has not seen", (least, most), (least, most),
                  ("real price", "predicted price"))
    a, b = panel.at(least, least), panel.at(most, most)
    lines.append(f'<line x1="{a[0]:.1f}" y1="{a[1]:.1f}" x2="{b[0]:.1f}" y2="{b[1]:.1f}" stroke="#888" stroke-dasharray="4 3"/>')
    every = max(1, len(real) // MOST_DOTS)
    for p, r in list(zip(predicted, real))[::every]:
        lines.append('<circle cx="{:.1f}" cy="{:.1f}" r="2" fill="#1f77b4" fill-opacity="0.5"/>'.format(*panel.at(r, p)))
    mean = sum(real) / len(real)
    r2 = 1 - sum((p - r) ** 2 for p, r in zip(predicted, real)) / sum((r - mean) ** 2 for r in real)
    panel.text(LEFT + SIZE + 162, TOP + 22, f"R2 {r2:.3f}", "start")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--drove", default="build/release/drove")
    parser.add_argument("--data", required=True)
    parser.add_argument("--out", default="docs/results/first-run.svg")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        records, predicted, real = measure(args, folder)
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDE}" height="{HIGH}" viewBox="0 0 {WIDE} {HIGH}" '
             'font-family="sans-serif" font-size="12">',
             '<rect width="100%" height="100%" fill="white"/>']
    draw_losses(lines, records)
    draw_predictions(lines, predicted, real)
    with open(args.out, "w") as f:
        f.write("\n".join(lines + ["</svg>"]) + "\n")
    print(f"{args.out}: {len(records)} evaluations, {len(real)} predictions")


main()
