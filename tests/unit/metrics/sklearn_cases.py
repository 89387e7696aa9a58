#!/usr/bin/env python3
"""Prints sklearn_cases.h: metrics of generated cases by scikit-learn, for test_sklearn.c.

    python3 tests/unit/metrics/sklearn_cases.py >tests/unit/metrics/sklearn_cases.h

The rows follow from the numbers of a case alone, by integers that the C test draws in the same way.
Needs numpy and scikit-learn; the tests themselves need neither.
"""
import math
import warnings

import numpy as np
import sklearn
from sklearn import metrics
from sklearn.calibration import calibration_curve

warnings.filterwarnings("ignore")
EPSILON = np.finfo(np.float32).eps


class Draw:
    """The linear congruential generator of Numerical Recipes; draw(m): 0 .. m - 1."""

    def __init__(self, seed):
        self.x = seed

    def __call__(self, m):
        self.x = (self.x * 1664525 + 1013904223) % 2**32
        return (self.x >> 16) % m


def class_rows(case):
    name, n, k, columns, levels, kind, weighted, seed = case
    draw = Draw(seed)
    truth, score, weight = [], [], []
    for _ in range(n):
        t = draw(k)
        if kind == "one":
            t = 0
        if kind == "absent" and t == k - 1:
            t = 0
        a = [1 + draw(levels) for _ in range(k)]
        a[t] += levels // 2
        if kind == "never":
            a[k - 1] = 0
        if kind == "perfect":
            a = [int(j == t) for j in range(k)]
        if kind == "worst":
            a = [int(j == (t + 1) % k) for j in range(k)]
        total = np.float32(sum(a))
        p = [np.float32(v) / total for v in a]
        truth.append(t)
        score.append(p if columns > 1 else [p[1]])
        weight.append(np.float32(1 + draw(4)) / np.float32(2) if weighted else np.float32(1))
    return np.array(truth), np.array(score, np.float32), np.array(weight, np.float64)


def area(truth, score, weight, k):
    """Macro mean of one against the rest, over the classes for which it is defined."""
    if k == 2:
        columns = [(truth == 1, score[:, -1])]
    else:
        columns = [(truth == c, score[:, c]) for c in range(k)]
    areas = [metrics.roc_auc_score(t, s, sample_weight=weight) for t, s in columns if 0 < t.sum() < len(t)]
    if k > 2 and len(areas) == k:  # where scikit-learn's own mean is defined
        own = metrics.roc_auc_score(truth, score, multi_class="ovr", average="macro", sample_weight=weight)
        assert abs(own - np.mean(areas)) < 1e-12, (own, areas)
    return float(np.mean(areas)) if areas else math.nan


def precision_area(truth, score, weight, k):
    """The same of the average precision; beside it that of equal scores, the share of the class."""
    if k == 2:
        columns = [(truth == 1, score[:, -1])]
    else:
        columns = [(truth == c, score[:, c]) for c in range(k)]
    found = [[metrics.average_precision_score(t, s, sample_weight=weight) for s in (score, np.zeros(len(t)))]
             for t, score in columns if 0 < t.sum() < len(t)]
    return [float(mean) for mean in np.mean(found, axis=0)] if found else [math.nan] * 2


def calibration(truth, p, guess, weight, k):
    """Expected calibration error with the bins of calibration_curve."""
    hit, said = (truth == 1, p[:, 1]) if k == 2 else (truth == guess, p.max(axis=1))
    said = said.astype(np.float64)
    bins = np.searchsorted(np.linspace(0.0, 1.0, 11)[1:-1], said)
    error, means = 0.0, []
    for b in range(10):
        of = bins == b
        if not of.any():
            continue
        w = weight[of]
        mean, observed = np.average(said[of], weights=w), np.average(hit[of], weights=w)
        means.append((observed, mean))
        error += w.sum() * abs(mean - observed)
    if (weight == 1).all() and 0 < hit.sum() < len(hit):
        true, predicted = calibration_curve(hit, said, n_bins=10)
        assert np.allclose(np.array(means), np.column_stack([true, predicted]))
    return error / weight.sum()


def clipped(p):
    return np.clip(np.asarray(p, np.float64), EPSILON, 1 - EPSILON)


def class_figures(case):
    _, _, k, columns = case[:4]
    truth, score, weight = class_rows(case)
    p = score if columns > 1 else np.column_stack([np.float32(1) - score[:, 0], score[:, 0]])
    guess = p.argmax(axis=1) if columns > 1 else (score[:, 0] > np.float32(0.5)).astype(int)
    labels = list(range(k))
    precision, recall, f1, support = metrics.precision_recall_fscore_support(
        truth, guess, labels=labels, sample_weight=weight, zero_division=0)
    rank = np.arange(1, k + 1)
    share = np.array([(weight * (truth == c)).sum() for c in labels]) / weight.sum()
    best = int(share.argmax())
    constant = np.full_like(truth, best)
    prior = np.tile(clipped(share), (len(truth), 1))
    loss = -np.average(np.log(clipped(p))[np.arange(len(truth)), truth], weights=weight)
    full = metrics.log_loss(truth, p.astype(np.float32), labels=labels, sample_weight=weight)
    assert abs(loss - full) < 1e-5 * max(1, abs(full)), (loss, full)  # there in single precision
    return [metrics.accuracy_score(truth, guess, sample_weight=weight),
            metrics.balanced_accuracy_score(truth, guess, sample_weight=weight), loss,
            area(truth, score, weight, k),
            metrics.f1_score(truth, guess, average="macro", sample_weight=weight, zero_division=0),
            (rank * precision).sum(), (rank * recall).sum(), (rank * f1).sum(), (rank * support).sum(),
            (np.outer(rank, rank**2) * metrics.confusion_matrix(truth, guess, labels=labels, sample_weight=weight)).sum(),
            calibration(truth, p, guess, weight, k),
            metrics.accuracy_score(truth, constant, sample_weight=weight),
            metrics.balanced_accuracy_score(truth, constant, sample_weight=weight),
            -np.average(np.log(prior)[np.arange(len(truth)), truth], weights=weight),
            metrics.f1_score(truth, constant, average="macro", sample_weight=weight, zero_division=0),
            *precision_area(truth, score, weight, k)]


def value_figures(case):
    _, n, kind, weighted, seed = case
    draw = Draw(seed)
    y, value, weight = [], [], []
    for _ in range(n):
        t = np.float32(draw(2001)) / np.float32(16) - np.float32(60)
        if kind == "equal":
            t = np.float32(3)
        error = np.float32(draw(401) - 200) / np.float32(32)
        y.append(t)
        value.append(t if kind == "perfect" else t + error)
        weight.append((1 + draw(4)) / 2 if weighted else 1)
    y, value, weight = (np.array(a, np.float64) for a in (y, value, weight))
    mean = np.full_like(y, np.average(y, weights=weight))
    figures = []
    for guess in (value, mean):
        figures += [metrics.root_mean_squared_error(y, guess, sample_weight=weight),
                    metrics.mean_absolute_error(y, guess, sample_weight=weight),
                    metrics.r2_score(y, guess, sample_weight=weight) if n > 1 else math.nan]
    if kind == "equal":
        figures[5] = 1.0  # its mean has no rounding error here
    return figures


def label_figures(case):
    _, n, k, kind, weighted, seed = case
    draw = Draw(seed)
    truth, p, weight = np.zeros((n, k), int), np.zeros((n, k), np.float32), []
    for i in range(n):
        for j in range(k):
            truth[i, j] = int(draw(4) == 0) if kind != "none" else 0 * draw(4)
            p[i, j] = np.float32(draw(1001)) / np.float32(1000)
            if kind == "often" and j == 0:
                truth[i, j] = 1
            if kind == "none":
                p[i, j] = 0
        weight.append((1 + draw(4)) / 2 if weighted else 1)
    guess = (p > np.float32(0.5)).astype(int)
    share = np.average(truth, axis=0, weights=weight)
    constant = np.tile((share > 0.5).astype(int), (n, 1))
    return [metrics.f1_score(truth, g, average=average, sample_weight=weight, zero_division=0)
            for g in (guess, constant) for average in ("micro", "macro")]


#        name, rows, classes, columns, levels, kind, weighted, seed
CLASSES = [
    ("binary, one output", 500, 2, 1, 1000, "usual", 0, 1),
    ("binary, two outputs", 500, 2, 2, 1000, "usual", 0, 2),
    ("binary, ties", 400, 2, 1, 3, "usual", 0, 3),
    ("binary, weights", 400, 2, 1, 20, "usual", 1, 4),
    ("binary, perfect", 60, 2, 2, 10, "perfect", 0, 5),
    ("binary, worst", 60, 2, 2, 10, "worst", 0, 6),
    ("binary, one class in the rows", 50, 2, 1, 10, "one", 0, 7),
    ("three classes", 700, 3, 3, 1000, "usual", 0, 8),
    ("three classes, ties", 300, 3, 3, 4, "usual", 0, 9),
    ("three classes, weights", 300, 3, 3, 30, "usual", 1, 10),
    ("three classes, one never predicted", 300, 3, 3, 30, "never", 0, 11),
    ("three classes, one absent", 300, 3, 3, 30, "absent", 0, 12),
    ("three classes, worst", 90, 3, 3, 10, "worst", 0, 13),
    ("twenty classes", 2000, 20, 20, 100, "usual", 0, 14),
    ("twenty classes, few rows, weights", 25, 20, 20, 100, "usual", 1, 15),
    ("twenty classes, perfect", 400, 20, 20, 10, "perfect", 1, 16),
]
#        name, rows, kind, weighted, seed
VALUES = [
    ("values", 500, "usual", 0, 21),
    ("values, weights", 500, "usual", 1, 22),
    ("values, perfect", 100, "perfect", 0, 23),
    ("values, all equal", 40, "equal", 0, 24),
    ("one value", 1, "usual", 0, 25),
]
#        name, rows, labels, kind, weighted, seed
LABELS = [
    ("labels", 300, 5, "usual", 0, 31),
    ("labels, weights", 300, 5, "usual", 1, 32),
    ("labels, one always there", 200, 4, "often", 0, 33),
    ("labels, none at all", 50, 3, "none", 0, 34),
]


def number(value):
    return "NAN" if math.isnan(value) else repr(float(value))


def wrapped(prefix, figures, width=100):
    lines, line = [], prefix + "{"
    for i, figure in enumerate(figures):
        text = number(figure) + ("}}," if i + 1 == len(figures) else ",")
        if len(line) + 1 + len(text) > width:
            lines.append(line)
            line = "     " + text
        else:
            line += ("" if line.endswith("{") else " ") + text
    return "\n".join(lines + [line])


def rows_of(cases, figures):
    for case in cases:
        fields = ", ".join(f'"{f}"' if isinstance(f, str) else str(f) for f in case)
        print(f"    {{{fields},")
        print(wrapped("     ", figures(case)))
    print("};\n")


print(f"/* Made by sklearn_cases.py with scikit-learn {sklearn.__version__}: do not edit. */")
print("/* clang-format off */")
print("static const class_case class_cases[] = {")
rows_of(CLASSES, class_figures)
print("static const value_case value_cases[] = {")
rows_of(VALUES, value_figures)
print("static const label_case label_cases[] = {")
rows_of(LABELS, label_figures)
print("/* clang-format on */")
