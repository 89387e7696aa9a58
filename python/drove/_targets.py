"""Targets of the estimators: what y is, and how the library gets it."""
from __future__ import annotations

import numbers

import numpy as np

from drove import _data
from drove._library import shown


def _sort(y):
    """ "numbers" or "texts", which cannot be compared with each other; None: neither, or not known."""
    if y.dtype.kind in "biuf":
        return "numbers"
    if y.dtype.kind == "U":
        return "texts"
    if y.dtype.kind == "O":
        for kind, name in ((str, "texts"), ((numbers.Number, np.bool_), "numbers")):
            if len(y) > 0 and all(isinstance(value, kind) for value in y.tolist()):
                return name
    return None


def check_sort(y, expected):
    """What the classes are from now on, if they are of the kind that earlier ones were (None: any); else a ValueError."""
    found = _sort(y)
    if None not in (found, expected) and found != expected:
        raise ValueError(f"y: expected classes that are {expected} as those before, found {found}, as {shown(y[0])}")
    return found or expected


class Batch:
    """What fit takes of the batches of an iterator: rows that are checked, and their targets."""

    def __init__(self, estimator, goes_on):
        self.estimator, self.goes_on, self.is_first = estimator, goes_on, not goes_on
        self.seen, self.order = None, None

    def __call__(self, X, y):
        estimator = self.estimator
        X, y = estimator._check_part(X, y, self.is_first)
        self.is_first = False
        if estimator._is_table:
            raise ValueError("expected batches of numbers, found a table with texts or missing values")
        if self.goes_on:
            return _data.as_kind(X, estimator._learner.is_sparse), lambda source: estimator._targets.put(source, y)
        if self.seen is None:
            self.seen = estimator._seen(y)
        return X, lambda source: self.put(source, y)

    def put(self, source, y):
        self.seen.put(source, y)
        self.order = self.seen.order

    def finish(self):
        if self.seen is not None:
            self.estimator._take_seen(self.seen)


class Indicators:
    """Labels of batches: an indicator matrix each."""

    order = None

    def __init__(self, y):
        self.targets = Labels(y.shape[1])

    def put(self, source, y):
        self.targets.put(source, y)


class Moments:
    """Values of batches: their mean and deviation."""

    order = None

    def __init__(self, y):
        self.shape, self.n, self.mean, self.square = y.shape[1:], 0, 0.0, 0.0

    def put(self, source, y):
        if y.shape[1:] != self.shape:
            raise ValueError(f"y: expected values of shape {self.shape} for each row as in the first batch, found "
                             f"{y.shape[1:]}")
        n, mean = len(y), y.mean(axis=0)
        self.square = self.square + ((y - mean) ** 2).sum(axis=0) + (mean - self.mean) ** 2 * self.n * n / (self.n + n)
        self.mean = self.mean + (mean - self.mean) * n / (self.n + n)
        self.n += n
        source.set_values(y)


class Classes:
    """y as classes: words of ours stand for them, as a table would change some names (1.0, NA)."""

    kind = "class"
    plain_kinds = "iub"  # kinds of a NumPy array whose numbers need no other check than the library's
    scale = None  # shift and scale for a trainer; None: none

    def __init__(self, classes):
        self.classes = classes
        self.words = [f"c{i}" for i in range(len(classes))]
        self.are_numbers = classes.dtype.kind in "iu" and np.array_equal(classes, np.arange(len(classes)))
        self.names = [str(c) for c in classes]
        if len(set(self.names)) < len(classes):
            self.names = self.words

    def numbers(self, y):
        check_sort(y, _sort(self.classes))
        found = np.searchsorted(self.classes, y)
        found[found == len(self.classes)] = 0
        is_other = self.classes[found] != y
        if is_other.any():
            raise ValueError(f"y: expected one of the classes of the first call, found {shown(y[is_other][0])}")
        return found

    def put(self, source, y):
        source.set_classes(self.numbers(y), len(self.names), self.names)

    def put_plain(self, source, y):
        """put(), where numbers that are no classes may be refused in the library's words."""
        source.set_classes(y if self.are_numbers else self.numbers(y), len(self.names), self.names)

    def columns(self, y):
        """Of a table: names, numbers, and the texts that they stand for, or None."""
        return [("label", self.numbers(y), self.words)]

    def check_rows(self, y):
        missing = [c for c in self.classes.tolist() if c not in set(y.tolist())]
        if missing:
            raise ValueError(f"sample_weight: expected rows of every class with a weight above 0, found none of {missing[0]!r}")

    def check(self, model):
        if model.n_classes != len(self.classes):
            raise ValueError(f"expected a model of {len(self.classes)} classes, found one of {model.n_classes}")

    def order(self, model):
        """Where the model has each class; a table's are in an order of its own."""
        names = model.class_names
        if names is None or set(names) != set(self.words):
            return list(range(len(self.classes)))
        return [names.index(word) for word in self.words]


    def in_order(self, weight, bias, model):
        """A linear model's rows, by the order of the classes; of two classes the one row of the second."""
        order = self.order(model)
        if len(weight) == 1:
            return (weight, bias) if order == [0, 1] else (-weight, -bias)
        weight, bias = weight[order], bias[order]
        return (weight[1:] - weight[:1], bias[1:] - bias[:1]) if len(weight) == 2 else (weight, bias)


class Labels:
    """y as an indicator matrix."""

    kind = "labels"
    plain_kinds = ""
    scale = None

    def __init__(self, n_labels):
        self.n_labels = n_labels

    def _check(self, y):
        if y.shape[1:] != (self.n_labels,):
            raise ValueError(f"y: expected an indicator matrix of {self.n_labels} labels as in the first call, found shape "
                             f"{y.shape}")

    def put(self, source, y):
        self._check(y)
        source.set_labels(y)

    @staticmethod
    def in_order(weight, bias, model):
        return weight, bias

    def columns(self, y):
        self._check(y)
        return [(f"label{i}", y[:, i], None) for i in range(self.n_labels)]

    def check_rows(self, y):
        pass

    def check(self, model):
        pass


class Values:
    """y as numbers."""

    kind = "value"
    plain_kinds = "fiu"

    def __init__(self, mean, deviation):
        mean, deviation = np.atleast_1d(mean), np.atleast_1d(deviation)
        varies = deviation > 0
        self.scale = (mean, np.where(varies, deviation, 1.0)) if varies.any() else None

    def put(self, source, y):
        source.set_values(y)

    put_plain = put

    @staticmethod
    def in_order(weight, bias, model):
        return weight, bias

    def columns(self, y):
        if y.ndim == 1:
            return [("label", y, None)]
        return [(f"label{i}", y[:, i], None) for i in range(y.shape[1])]

    def check_rows(self, y):
        pass

    def check(self, model):
        pass
