"""Rows that an iterator delivers: the same models as of the rows at once, in files that go, and what is wrong with them."""
import glob
import os
import tempfile
import unittest
from unittest import mock

import numpy as np
import pandas
import scipy.sparse
from sklearn.datasets import load_diabetes, load_digits, make_multilabel_classification

import drove
from drove import DroveClassifier, DroveRegressor


def batches(X, y, weight=None, n=50):
    for i in range(0, X.shape[0], n):
        part = slice(i, i + n)
        yield (X[part], y[part]) if weight is None else (X[part], y[part], weight[part])


HOW = dict(model="mlp:8", rule="sgd", lr=0.05, batch=16, until="epochs=3", seed=0, test="none", strategy="sequential",
           threads=1)
PARAMETERS = dict(model="mlp:16", lr=0.01, rule="adam", until="epochs=8", random_state=0)


class Same(unittest.TestCase):
    """A file of floats of 32 bits holds what arrays of them hold, so the runs are the same."""

    def setUp(self):
        X, y = load_digits(return_X_y=True)
        self.X, self.y = X[:400].astype(np.float32), y[:400]

    def assert_same(self, a, b):
        for name, array in a.parameters.items():
            np.testing.assert_array_equal(array, b.parameters[name])

    def test_train(self):
        for X in (self.X, scipy.sparse.csr_matrix(self.X)):
            for y in (self.y, np.asarray([f"d{c}" for c in self.y]), self.y.astype(np.float32)):
                whole, parts = drove.train((X, y), **HOW), drove.train(batches(X, y), **HOW)
                self.assert_same(whole.model, parts.model)
                self.assertEqual(whole.model.class_names, parts.model.class_names)

    def test_fit(self):
        for X in (self.X, scipy.sparse.csr_matrix(self.X)):
            for y in (self.y, np.asarray([f"d{c}" for c in self.y]), self.y - 5, self.y > 4):
                whole = DroveClassifier(**PARAMETERS).fit(X, y)
                parts = DroveClassifier(**PARAMETERS).fit(batches(X, y))
                np.testing.assert_array_equal(parts.classes_, whole.classes_)
                np.testing.assert_array_equal(parts.predict_proba(X), whole.predict_proba(X))
                self.assertEqual(parts.n_features_in_, 64)

    def test_classes_that_come_late(self):
        """They are in the order of all, whatever the order of coming; texts that are numbers are in that of texts."""
        order = np.argsort(-self.y, kind="stable")
        X, y = self.X[order], np.asarray([str(c + 5) for c in self.y[order]])  # "14" is met first, "10" sorts first
        parts = DroveClassifier(**PARAMETERS).fit(batches(X, y))
        np.testing.assert_array_equal(parts.classes_, np.unique(y))
        self.assertGreater(parts.score(X, y), 0.9)
        again = parts.set_params(warm_start=True).fit(X, y)
        self.assertGreater(again.score(X, y), 0.95)
        again.partial_fit(X, y)
        self.assertGreater(again.score(X, y), 0.95)

    def test_values_and_labels(self):
        X, y = load_diabetes(return_X_y=True)
        X, y = X.astype(np.float32), y.astype(np.float32)
        whole, parts = DroveRegressor(**PARAMETERS).fit(X, y), DroveRegressor(**PARAMETERS).fit(batches(X, y))
        np.testing.assert_array_equal(parts.predict(X), whole.predict(X))
        for _ in range(2):
            whole.partial_fit(X, y), parts.partial_fit(X, y)  # by the moments of the first fit
        np.testing.assert_allclose(parts.predict(X), whole.predict(X), rtol=1e-4)
        X, y = make_multilabel_classification(n_samples=200, n_classes=4, random_state=0)
        X = X.astype(np.float32)
        whole, parts = DroveClassifier(**PARAMETERS).fit(X, y), DroveClassifier(**PARAMETERS).fit(batches(X, y))
        np.testing.assert_array_equal(parts.predict_proba(X), whole.predict_proba(X))

    def test_weights(self):
        weight = np.where(self.y < 5, 1.0, 3.0)
        whole = DroveClassifier(**PARAMETERS).fit(self.X, self.y, weight)
        parts = DroveClassifier(**PARAMETERS).fit(batches(self.X, self.y, weight))
        np.testing.assert_array_equal(parts.predict_proba(self.X), whole.predict_proba(self.X))

    def test_partial_fit(self):
        one, other = DroveClassifier(**PARAMETERS), DroveClassifier(**PARAMETERS)
        one.partial_fit(batches(self.X, self.y), classes=range(10))
        for X, y in batches(self.X, self.y):
            other.partial_fit(X, y, classes=range(10))
        np.testing.assert_array_equal(one.predict_proba(self.X), other.predict_proba(self.X))
        with self.assertRaisesRegex(ValueError, "classes must be passed"):
            DroveClassifier().partial_fit(batches(self.X, self.y))

    def test_tables_with_columns_in_another_order(self):
        """The first table's order holds: the same run as of arrays in that order."""
        table = pandas.DataFrame(self.X[:, 20:24], columns=list("abcd"))

        def stream():
            yield table[:200], self.y[:200]
            yield table[list("dbca")][200:300], self.y[200:300]
            yield table[300:], self.y[300:]
        self.assert_same(drove.train((self.X[:, 20:24], self.y), **HOW).model, drove.train(stream(), **HOW).model)

    def test_a_folder_with_marks_of_specs(self):
        with tempfile.TemporaryDirectory() as folder:
            odd = os.path.join(folder, "a?b,c&d%41+e:f=g h\u00e9")
            os.mkdir(odd)
            with mock.patch.object(tempfile, "tempdir", odd):
                parts = drove.train(batches(self.X, self.y), **HOW)
                DroveClassifier(**PARAMETERS).fit(batches(self.X, self.y))
        self.assert_same(drove.train((self.X, self.y), **HOW).model, parts.model)

    def test_classes_of_several_number_types(self):
        def stream():
            for i, kind in enumerate((np.int64, np.uint8, object, np.int32)):
                part = slice(100 * i, 100 * i + 100)
                yield self.X[part], self.y[part].astype(kind)
        self.assert_same(drove.train((self.X, self.y), **HOW).model, drove.train(stream(), **HOW).model)

    def test_larger_than_memory(self):
        """The file stays on disk: windows of it are in memory."""
        if not os.path.exists("/proc/self/status"):
            self.skipTest("/proc is not mounted, which tells how much memory is taken")
        rng = np.random.RandomState(0)
        w = rng.randn(64)
        with open("/proc/self/status", encoding="ascii") as file:
            resident = next(int(line.split()[1]) for line in file if line.startswith("VmRSS")) >> 10
        memory = max(240, resident + 100)  # MiB, of which the program itself and what it has imported are part

        def stream():
            for _ in range(int(0.75 * memory * 2**20 / (5000 * 64 * 4))):
                X = rng.randn(5000, 64).astype(np.float32)
                yield X, (X @ w > 0).astype(int)
        lines = []
        result = drove.train(stream(), model="logistic", lr=0.1, until="epochs=1", threads=1, memory=f"{memory}MiB",
                             test="none", strategy="sequential", on_message=lines.append)
        self.assertTrue(any("read from disk" in line for line in lines), lines)
        X = rng.randn(2000, 64).astype(np.float32)
        found = result.model.probabilities(X).argmax(axis=1)
        self.assertGreater((found == (X @ w > 0)).mean(), 0.95)


class Wrong(unittest.TestCase):
    def setUp(self):
        rng = np.random.RandomState(0)
        self.X, self.y = rng.randn(100, 4).astype(np.float32), np.arange(100) % 2

    def test_what_is_delivered(self):
        X, y = self.X, self.y
        table = pandas.DataFrame(X, columns=list("abcd"))
        for parts, error, text in (
                ([X], ValueError, r"batches \(X, y\)"),
                ([(X,)], ValueError, "a tuple of 1"),
                ([(X, y), (X[:, :3], y)], ValueError, "features"),
                ([(X, y), (X, y.astype(float))], ValueError, "classes and values"),
                ([(X, y), (X, y, np.ones(100))], ValueError, "no weights"),
                ([(X, y[:99])], ValueError, "100 x 1"),
                ([(X, y), (X, y.astype(str))], ValueError, "expected classes that are numbers .*, found texts, as '0'"),
                ([(X, y.astype(str).astype(object)), (X, y)], ValueError, "classes that are texts .*, found numbers"),
                ([(table, y), (table[["a", "b", "d"]], y)], ValueError, "a, b, c, d, found a, b, d$"),
                ([(table, y), (table.set_axis(list("abxd"), axis=1), y)], ValueError, "a, b, c, d, found a, b, x, d$"),
                ([(table.set_axis(list("aabc"), axis=1), y), (table.set_axis(list("abac"), axis=1), y)], ValueError,
                 "a, a, b, c, found a, b, a, c$"),
                ([], ValueError, "^expected at least one batch, found none$")):
            with self.subTest(text=text), self.assertRaisesRegex(error, text):
                drove.train(iter(parts), **HOW)

    def test_estimators(self):
        X, y = self.X, self.y
        for parts, text in (([(X, y), (X[:, :3], y)], "3 features"),
                            ([(X, y), (X, y[:50])], "inconsistent numbers"), ([(X, np.zeros(100, int))], "2 classes"),
                            ([(X, y), (X, y.astype(str))], "expected classes that are numbers"),
                            ([], "^expected at least one batch, found none$")):
            model = DroveClassifier(random_state=0)
            with self.subTest(text=text), self.assertRaisesRegex(ValueError, text):
                model.fit(iter(parts))
            self.assertFalse(hasattr(model, "classes_"))
        table = pandas.DataFrame(X, columns=list("abcd"))
        made = dict(model="logistic", random_state=0, until="epochs=3")
        turned = DroveClassifier(**made).fit(iter([(table, y), (table[list("bacd")], y)]))
        np.testing.assert_array_equal(turned.predict(table), DroveClassifier(**made).fit(iter([(table, y)] * 2)).predict(table))
        with self.assertRaisesRegex(ValueError, "missing:\n- d"):
            DroveClassifier().fit(iter([(table, y), (table[list("abc")], y)]))
        with self.assertRaisesRegex(ValueError, "sample_weight"):
            DroveClassifier().fit(batches(X, y), sample_weight=np.ones(100))
        with self.assertRaisesRegex(ValueError, "class_weight"):
            DroveClassifier(class_weight="balanced").fit(batches(X, y))

    def test_what_partial_fit_learnt_before_a_failure_stays(self):
        X, y = self.X, self.y
        for bad in ((X[:, :3], y), (X, y[:50]), (X, y.astype(str)), "no pair", EOFError("the line is dead")):
            def stream():
                for i in range(3):
                    yield X[20 * i:20 * i + 20], y[20 * i:20 * i + 20]
                if isinstance(bad, EOFError):
                    raise bad
                yield bad
            one, other = (DroveClassifier("mlp:8", lr=0.05, random_state=0) for _ in range(2))
            with self.subTest(bad=str(bad)[:9]), self.assertRaises((ValueError, EOFError)):
                one.partial_fit(stream(), classes=[0, 1])
            for part in batches(X[:60], y[:60], n=20):
                other.partial_fit(*part, classes=[0, 1])
            self.assertEqual(one.loss_, other.loss_)
            np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))
            np.testing.assert_array_equal(one.partial_fit(X, y).predict_proba(X), other.partial_fit(X, y).predict_proba(X))

    def test_partial_fit_after_numbers_that_are_not_finite(self):
        """Back to the model that was made last, with its loss."""
        X, y = self.X, self.X @ np.arange(4.0)
        model = DroveRegressor("linear", rule="sgd", lr=0.01, random_state=0).partial_fit(X, y)
        before, loss = model.predict(X), model.partial_fit(X, y).loss_
        now = model.predict(X)
        self.assertFalse(np.array_equal(before, now))
        huge = np.full((100, 4), 1e30, dtype=np.float32)
        with self.assertRaises(FloatingPointError):
            model.partial_fit(iter([(X, y), (huge, y)]))
        np.testing.assert_array_equal(model.predict(X), now)
        self.assertEqual(model.loss_, loss)
        made = []

        def stream():
            yield X, y
            made.extend((model.predict(X), model.loss_))
            yield X, y
            yield huge, y
        with self.assertRaises(FloatingPointError):
            model.partial_fit(stream())
        np.testing.assert_array_equal(model.predict(X), made[0])
        self.assertEqual(model.loss_, made[1])

    def test_partial_fit_of_no_batch(self):
        with self.assertRaisesRegex(ValueError, "^expected at least one batch, found none$"):
            DroveClassifier().partial_fit(iter([]), classes=[0, 1])

    def test_an_exception_of_the_iterator_comes_out(self):
        def stream():
            yield self.X, self.y
            raise EOFError("the line is dead")
        with self.assertRaisesRegex(EOFError, "the line is dead"):
            drove.train(stream(), **HOW)
        with self.assertRaisesRegex(EOFError, "the line is dead"):
            DroveClassifier().fit(stream())

    def test_files_go(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(tempfile, "tempdir", folder):
            def stream():
                yield self.X, self.y
                self.assertEqual(len(os.listdir(folder)), 1)
            drove.train(stream(), **HOW)
            DroveClassifier(random_state=0, until="epochs=1").fit(batches(self.X, self.y))
            with self.assertRaises(ValueError):
                drove.train(iter([(self.X, self.y), (self.X[:, 1:], self.y)]), **HOW)
            self.assertEqual(glob.glob(os.path.join(folder, "*")), [])


if __name__ == "__main__":
    unittest.main()
