"""The estimators, as scikit-learn sees them, and on every kind of data."""
# ctest: slow: scikit-learn's own checks of all estimators
import pickle
import signal
import threading
import unittest
import warnings
from unittest import mock

import numpy as np
import scipy.sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_diabetes, load_digits, make_classification, make_multilabel_classification
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, f1_score, precision_recall_curve
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import drove
from drove import DroveClassifier, DroveRegressor
from drove._train import labelled

# Stochastic gradient descent sees a row of weight 2 once, two rows in two steps: scikit-learn says the same of its own.
EXPECTED = {name: "weights are not repetitions for stochastic gradient descent"
            for name in ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data",
                         "check_sample_weights_invariance")}


def failures(estimator):
    """(name, exception) of all checks that fail."""
    try:
        results = check_estimator(estimator, on_fail=None, on_skip=None)
        return [(r["check_name"], r["exception"]) for r in results if r["status"] == "failed"]
    except TypeError:  # before scikit-learn 1.6
        pass
    failed = []
    for one, check in check_estimator(estimator, generate_only=True):
        name = check.func.__name__
        try:
            check(one)
        except unittest.SkipTest:
            pass
        except Exception as error:
            failed.append((name, error))
    return failed


class Checks(unittest.TestCase):
    def check(self, estimator):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = [(name, error) for name, error in failures(estimator) if name not in EXPECTED]
        self.assertEqual(found, [])

    def test_classifier(self):
        self.check(DroveClassifier(random_state=0))

    def test_regressor(self):
        self.check(DroveRegressor(random_state=0))


class Quality(unittest.TestCase):
    def test_digits(self):
        X, y = load_digits(return_X_y=True)
        train, test, y_train, y_test = train_test_split(X, y, random_state=0)
        model = DroveClassifier(random_state=0).fit(train, y_train)
        linear = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500)).fit(train, y_train)
        self.assertGreater(model.score(test, y_test), linear.score(test, y_test) - 0.01)
        np.testing.assert_allclose(model.predict_proba(test).sum(axis=1), 1, rtol=1e-12)
        np.testing.assert_array_equal(model.predict_proba(test).argmax(axis=1), model.predict(test))

    def test_linear_model_is_that_of_scikit_learn(self):
        X, y = make_classification(n_samples=600, n_features=8, random_state=3)
        ours = DroveClassifier("logistic", random_state=0, until="epochs=200", lr=0.05, rule="sgd",
                               schedule="cosine:200").fit(X, y)
        theirs = make_pipeline(StandardScaler(), LogisticRegression(C=1e6)).fit(X, y)
        np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=0.03)

    def test_diabetes(self):
        X, y = load_diabetes(return_X_y=True)
        self.assertGreater(cross_val_score(DroveRegressor("linear", random_state=0), X, y, cv=3).mean(), 0.4)


class Data(unittest.TestCase):
    def setUp(self):
        self.X, self.y = make_classification(n_samples=400, n_features=10, n_informative=6, n_classes=3, random_state=1)

    def model(self, **more):
        return DroveClassifier("mlp:16", random_state=0, until="epochs=10", lr=0.01, **more)

    def test_every_type_gives_the_same(self):
        X = np.clip(np.round(self.X * 20), -100, 100)
        expected = self.model().fit(X.astype(np.float32), self.y).predict_proba(X)
        for kind in (np.float64, np.int8, np.int16, np.int32, np.int64):
            found = self.model().fit(X.astype(kind), self.y).predict_proba(X.astype(kind))
            np.testing.assert_array_equal(found, expected)
        found = self.model().fit(np.asfortranarray(X), self.y).predict_proba(X[::-1])[::-1]
        np.testing.assert_array_equal(found, expected)

    def test_sparse(self):
        X = np.where(self.X > 0.5, self.X, 0)
        rows = scipy.sparse.csr_matrix(X)
        expected = self.model().fit(rows, self.y)
        for kind in (scipy.sparse.csc_matrix, scipy.sparse.coo_matrix):
            found = self.model().fit(kind(X), self.y)
            np.testing.assert_array_equal(found.predict_proba(kind(X)), expected.predict_proba(rows))
        np.testing.assert_array_equal(expected.predict(X), expected.predict(rows))  # dense rows for a sparse model

    def test_sparse_parts_of_any_layout(self):
        rows = scipy.sparse.random(60, 30, 0.2, "csr", np.float64, random_state=0)
        y = (np.asarray(rows.sum(axis=1)).ravel() > 3).astype(int)
        expected = self.model().fit(rows, y).predict_proba(rows)
        parts = [np.repeat(part, 2)[::2] for part in (rows.data, rows.indices, rows.indptr)]
        parts[0] = rows.data[::-1].copy()[::-1]
        for data, index, start in (parts, (rows.data, rows.indices.astype(">i4"), rows.indptr.astype(">i8"))):
            other = rows.copy()
            other.data, other.indices, other.indptr = data, index, start
            found = self.model().fit(rows, y)
            np.testing.assert_array_equal(found.model_.outputs(other), found.model_.outputs(rows))
        np.testing.assert_array_equal(self.model().fit(rows, y).predict_proba(rows), expected)

    def test_nothing_is_copied(self):
        from drove._data import Source
        self.assertEqual(Source(self.X.astype(np.float32)).copied_bytes, 0)
        rows = scipy.sparse.random(100, 50, 0.1, "csr", np.float32)
        rows.indptr = rows.indptr.astype(np.int64)
        self.assertEqual(Source(rows).copied_bytes, 0)
        self.assertEqual(Source(self.X).copied_bytes, self.X.size * 4)

    def test_classes_of_any_kind(self):
        names = np.array(["no", "yes", "ä,\"b"], dtype=object)
        numbers = self.model().fit(self.X, self.y)
        for classes in (names, np.array([10, -3, 7]), np.array([1.5, 2.5, 3.5]).astype(str)):
            y = np.sort(classes)[self.y]
            model = self.model().fit(self.X, y)
            np.testing.assert_array_equal(model.classes_, np.unique(y))
            np.testing.assert_array_equal(model.predict(self.X), np.sort(classes)[numbers.predict(self.X)])

    def test_labels(self):
        X, y = make_multilabel_classification(300, 12, n_classes=4, random_state=0)
        model = DroveClassifier("mlp:16", random_state=0).fit(X, y)
        self.assertEqual(model.predict(X).shape, y.shape)
        self.assertGreater((model.predict(X) == y).mean(), 0.8)
        np.testing.assert_array_equal(model.predict_proba(X) > 0.5, model.predict(X) == 1)

    def test_several_values(self):
        y = np.column_stack([self.X[:, 0] * 100 + 7, self.X[:, 1] - 3])
        model = DroveRegressor("linear", random_state=0).fit(self.X, y)
        self.assertEqual(model.predict(self.X).shape, y.shape)
        self.assertGreater(model.score(self.X, y), 0.99)

    def test_images(self):
        from drove._train import labelled
        from drove import train
        X, y = load_digits(return_X_y=True)
        images = X.reshape(-1, 8, 8)[:300].astype(np.uint8)
        result = train((images, y[:300]), model="mlp:8", until="epochs=2", out="none", test="none")
        self.assertEqual(result.model.n_features, 64)
        self.assertEqual(labelled(images, y[:300]).n_rows, 300)

    def test_weights(self):
        y = (self.y > 0).astype(int)
        plain = self.model().fit(self.X, y)
        light = self.model(class_weight={0: 1, 1: 1e-6}).fit(self.X, y)
        self.assertLess(light.predict(self.X).mean(), 0.2 * plain.predict(self.X).mean())
        same = self.model().fit(self.X, y, sample_weight=np.where(y == 1, 1e-6, 1.0))
        np.testing.assert_array_equal(same.predict_proba(self.X), light.predict_proba(self.X))

    def test_labels_of_texts_and_numbers_are_named(self):
        y = np.array(["0", "1", 3, 4] * 25, dtype=object)
        with self.assertRaisesRegex(ValueError, r"found '?0'? and '?3'? \(y.astype\(str\) makes texts of all\)"):
            DroveClassifier("logistic").fit(np.zeros((100, 2)), y)
        y[7] = None
        with self.assertRaisesRegex(ValueError, "found None in row 7"):
            DroveClassifier("logistic").fit(np.zeros((100, 2)), y)


class Tables(unittest.TestCase):
    def setUp(self):
        import pandas
        rng = np.random.RandomState(0)
        n = 500
        colour = rng.choice(["red", "green", "blue, dark"], n)
        size = rng.randn(n)
        self.y = np.where((colour == "red") ^ (size > 0), "big", "small")
        size[::7] = np.nan
        self.X = pandas.DataFrame({"colour": colour, "size": size, "noise": rng.randn(n)})

    def test_categories_and_missing_values(self):
        model = DroveClassifier("mlp:16", random_state=0, until="epochs=60").fit(self.X, self.y)
        self.assertGreater(model.score(self.X, self.y), 0.85)
        self.assertEqual(list(model.feature_names_in_), ["colour", "size", "noise"])
        p = model.predict_proba(self.X)
        np.testing.assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(self.X))
        turned = self.X[["noise", "colour", "size"]]  # columns go by their names
        np.testing.assert_array_equal(model.predict_proba(turned), p)
        with self.assertRaisesRegex(ValueError, "noise"):
            model.predict(self.X.drop(columns="noise"))
        with self.assertRaisesRegex(ValueError, "table"):
            model.predict(np.zeros((2, 3)))
        again = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(again.predict_proba(self.X), p)

    def test_classes_that_a_table_would_change(self):
        options = dict(random_state=0, until="epochs=60")
        expected = DroveClassifier("mlp:16", **options).fit(self.X, self.y).predict(self.X)
        for pair in ([1.0, 2.0], ["NA", "a"], ["1", "2.0"], ["", "x"], [-1, 1], ["001", "1"], [2.0, 1.5e10]):
            names = np.array(pair, dtype=object if isinstance(pair[0], str) else None)
            model = DroveClassifier("mlp:16", **options).fit(self.X, names[(self.y == "big").astype(int)])
            right = (model.predict(self.X) == names[(self.y == "big").astype(int)]).mean()
            self.assertGreater(right, 0.85, pair)
            self.assertEqual(list(model.classes_), list(np.unique(names)))
        self.assertGreater((expected == self.y).mean(), 0.85)

    def test_names_that_csv_would_change(self):
        import pandas
        for names in (["", " ", "x"], [0, 1, 2], ["a\rb", "a\nb", "c,\""], ["label", "weight", "label_"],
                      pandas.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1)])):
            X = self.X.set_axis(names, axis=1)
            model = DroveClassifier("mlp:16", random_state=0, until="epochs=60")
            model.fit(X, self.y, sample_weight=np.ones(len(X)))
            self.assertEqual(len(model.predict(X)), len(X))
            self.assertGreater(model.score(X, self.y), 0.85, names)
        with self.assertRaisesRegex(ValueError, "different names"):
            DroveClassifier().fit(self.X.set_axis(["a", "a", "b"], axis=1), self.y)

    def test_missing_targets_and_going_on(self):
        y = self.y.astype(object)
        y[3] = None
        with self.assertRaisesRegex(ValueError, "NaN"):
            DroveClassifier().fit(self.X, y)
        warm = DroveClassifier("mlp:4", random_state=0, until="epochs=2", lr=0.01, warm_start=True).fit(self.X, self.y)
        losses = [warm.loss_] + [warm.fit(self.X, self.y).loss_ for _ in range(5)]
        self.assertLess(losses[-1], losses[0])
        p = warm.predict_proba(self.X)
        others = np.where(self.y == "big", "b", "s")
        for X, y, words in ((self.X.iloc[:, :-1], self.y, "now missing"), (self.X, others, "first call")):
            with self.assertRaisesRegex(ValueError, words):
                warm.fit(X, y)
        np.testing.assert_array_equal(warm.predict_proba(self.X), p)  # as it was

    def test_partial_fit_keeps_the_categories_of_the_first_call(self):
        model = DroveClassifier("mlp:16", random_state=0, lr=0.02)
        with self.assertRaisesRegex(ValueError, "every class"):
            model.partial_fit(self.X, self.y, classes=["big", "small", "tall"])
        first = slice(0, len(self.X) // 2)
        model.partial_fit(self.X[first], self.y[first], classes=["big", "small"])
        shapes = {name: values.shape for name, values in model.coefs_.items()}
        for begin in range(0, len(self.X), 10):  # parts that lack categories, and missing values
            part = slice(begin, begin + 10)
            model.partial_fit(self.X.iloc[part, ::-1], self.y[part])
        for _ in range(40):
            model.partial_fit(self.X, self.y)
        self.assertEqual(shapes, {name: values.shape for name, values in model.coefs_.items()})
        self.assertGreater(model.score(self.X, self.y), 0.8)

    def test_names_given_once_are_no_columns_later(self):
        import pandas
        rng = np.random.RandomState(0)
        table = pandas.DataFrame(rng.randn(60, 2), columns=["a", "b"])
        targets = (table.a > 0).astype(int)
        whole = table.assign(label=targets, weight=1.0)
        model = DroveClassifier("mlp:4", random_state=0)
        model.partial_fit(whole, "label", classes=[0, 1], sample_weight="weight")
        model.partial_fit(whole, "label").partial_fit(table, targets)
        np.testing.assert_array_equal(model.predict(whole), model.predict(table))
        model.fit(table.assign(label=1.0), targets)  # now it is one
        self.assertEqual(list(model.feature_names_in_), ["a", "b", "label"])

    def test_weights_and_values(self):
        model = DroveRegressor("mlp:16", random_state=0, until="epochs=60")
        model.fit(self.X, (self.y == "big") * 10.0, sample_weight=np.ones(len(self.X)))
        self.assertGreater(model.score(self.X, (self.y == "big") * 10.0), 0.5)

    def test_a_table_of_numbers_is_an_array(self):
        import pandas
        X = pandas.DataFrame(np.random.RandomState(0).randn(100, 3), columns=list("abc"))
        y = (X.a > 0).astype(int)
        model = DroveClassifier("logistic", random_state=0, until="epochs=20").fit(X, y)
        np.testing.assert_array_equal(model.predict(X), model.predict(X.copy()))
        np.testing.assert_array_equal(model.predict(X), model.predict(X[["b", "a", "c"]]))  # columns go by their names


class Thresholds(unittest.TestCase):
    """A rare class from another probability than one half on."""

    def setUp(self):
        self.X, self.y = make_classification(n_samples=600, n_features=6, weights=[0.9], flip_y=0.05, random_state=3)

    def test_the_second_class_is_predicted_from_it_on(self):
        for model in ("logistic", "mlp:8"):
            for y in (self.y, np.where(self.y == 1, "a", "b"), -self.y):  # the rare class last, first, and by numbers turned
                found = DroveClassifier(model, random_state=0, until="epochs=10").fit(self.X, y)
                p = found.predict_proba(self.X)[:, 1]
                for threshold in (0.1, 0.3, 0.9):
                    expected = found.classes_[(p >= threshold).astype(int)]
                    near = np.abs(p - threshold) < 1e-6
                    np.testing.assert_array_equal(found.predict(self.X, threshold=threshold)[~near], expected[~near])
                self.assertEqual(set(found.predict(self.X, threshold=0)), {found.classes_[1]})

    def test_evaluate_finds_the_best(self):
        model = DroveClassifier("logistic", random_state=0, until="epochs=10").fit(self.X, self.y)
        rows = labelled(self.X.astype(np.float32), self.y)
        usual, best = model.model_.evaluate(rows), model.model_.evaluate(rows, threshold="f1")
        self.assertIsNone(usual["metrics"]["threshold"])
        p = model.predict_proba(self.X)[:, 1]
        precision, recall, _ = precision_recall_curve(self.y, p)
        f1 = (2 * precision * recall / np.maximum(precision + recall, 1e-30)).max()
        found = best["metrics"]["threshold"]
        self.assertAlmostEqual(found["f1"], f1, places=6)
        self.assertAlmostEqual(f1_score(self.y, model.predict(self.X, threshold=found["value"])), f1, places=6)
        self.assertAlmostEqual(best["metrics"]["average_precision"], average_precision_score(self.y, p), places=6)
        self.assertEqual(model.model_.evaluate(rows, threshold=0.25)["metrics"]["threshold"]["value"], 0.25)
        with self.assertRaisesRegex(ValueError, "cost:fp=1,fn=5"):
            model.model_.evaluate(rows, threshold="cost")

    def test_says_what_is_wrong(self):
        model = DroveClassifier("logistic", random_state=0, until="epochs=2").fit(self.X, self.y)
        for wrong in (1.5, -1, np.nan, "f1"):
            with self.assertRaisesRegex(ValueError, "threshold: expected a number from 0 to 1"):
                model.predict(self.X, threshold=wrong)
        three = DroveClassifier("logistic", random_state=0, until="epochs=2").fit(self.X, np.arange(600) % 3)
        with self.assertRaisesRegex(ValueError, "two classes, found 3 classes"):
            three.predict(self.X, threshold=0.5)
        margin = DroveClassifier("svm", random_state=0, until="epochs=2").fit(self.X, self.y)
        with self.assertRaisesRegex(ValueError, "gives probabilities, such as logistic, found hinge"):
            margin.predict(self.X, threshold=0.5)


class Life(unittest.TestCase):
    def setUp(self):
        self.X, self.y = make_classification(n_samples=400, n_features=10, random_state=1)

    def test_the_same_seed_gives_the_same_model(self):
        one, two, other = (DroveClassifier(random_state=seed).fit(self.X, self.y).predict_proba(self.X)
                           for seed in (0, 0, 1))
        np.testing.assert_array_equal(one, two)
        self.assertFalse((one == other).all())

    def test_partial_fit_learns(self):
        model = DroveClassifier("mlp:16", random_state=0, lr=0.05, rule="sgd")
        for _ in range(30):
            for first in range(0, 400, 100):
                part = slice(first, first + 100)
                model.partial_fit(self.X[part], self.y[part], classes=[0, 1])
        self.assertGreater(model.score(self.X, self.y), 0.93)
        with self.assertRaisesRegex(ValueError, "classes"):
            DroveClassifier().partial_fit(self.X, self.y)
        with self.assertRaisesRegex(ValueError, "classes"):
            model.partial_fit(self.X, self.y, classes=[0, 1, 2])
        with self.assertRaisesRegex(ValueError, "first call"):
            model.partial_fit(self.X, self.y + 5)

    def test_partial_fit_keeps_what_the_first_call_chose(self):
        model = DroveClassifier("mlp:16", random_state=0)
        model.partial_fit(self.X, self.y, classes=[0, 1])
        first = model.summary_
        losses = []
        for _ in range(20):
            losses.append(model.partial_fit(self.X, self.y).loss_)
            self.assertEqual((model.summary_["rule"], model.summary_["lr"]), (first["rule"], first["lr"]))
        self.assertLess(losses[-1], 0.7 * first["loss"])

    def test_a_fit_that_fails_changes_nothing(self):
        model = DroveClassifier("mlp:8", random_state=0, until="epochs=5").fit(self.X, self.y)
        p = model.predict_proba(self.X)
        for bad in (dict(model="mpl:8"), dict(options={"strategie": 1}), dict(options={"data": "x"}), dict(n_jobs="x")):
            before = {name: getattr(model, name) for name in bad}
            model.set_params(**bad)
            with self.assertRaises(ValueError):
                model.fit(self.X[:, :4], self.y + 3)
            model.set_params(**before)
            np.testing.assert_array_equal(model.predict_proba(self.X), p)

    def test_parameters_may_be_numbers_of_numpy(self):
        for lr in (np.float64(0.01), np.float32(0.01), 0.01):
            DroveClassifier("mlp:8", lr=lr, batch=np.int64(16), random_state=np.int32(0), until="epochs=1",
                            n_jobs=np.int64(1)).fit(self.X, self.y)
        self.assertEqual(DroveClassifier("mlp:8", n_jobs=-2, until="epochs=1").fit(self.X, self.y).n_iter_, 1)

    def test_warm_start_goes_on(self):
        cold = DroveClassifier("mlp:16", random_state=0, lr=0.01, until="epochs=3")
        warm = DroveClassifier("mlp:16", random_state=0, lr=0.01, until="epochs=3", warm_start=True)
        for _ in range(5):
            cold.fit(self.X, self.y)
            warm.fit(self.X, self.y)
        self.assertLess(warm.summary_["loss"], cold.summary_["loss"])

    def test_searches_and_pipelines(self):
        search = GridSearchCV(DroveClassifier("mlp:8", random_state=0, until="epochs=10"), {"lr": [1e-6, 0.01]},
                              cv=3, n_jobs=2).fit(self.X, self.y)
        self.assertEqual(search.best_params_, {"lr": 0.01})
        pipe = make_pipeline(StandardScaler(), DroveClassifier("logistic", random_state=0, until="epochs=20"))
        self.assertGreater(cross_val_score(pipe, self.X, self.y, cv=3).mean(), 0.8)
        calibrated = CalibratedClassifierCV(DroveClassifier("mlp:8", random_state=0), cv=3)
        self.assertGreater(calibrated.fit(self.X, self.y).score(self.X, self.y), 0.8)

    def test_before_fit(self):
        """Each method says that there is no fit; one that no fit will bring is not there."""
        model = DroveClassifier()
        for name in ("predict", "predict_proba", "predict_log_proba", "decision_function"):
            self.assertTrue(hasattr(model, name))
            with self.assertRaisesRegex(NotFittedError, "not fitted yet"):
                getattr(model, name)(self.X)
        with self.assertRaises(NotFittedError):
            model.score(self.X, self.y)
        for of in (dict(model="svm"), dict(loss="hinge"), dict(model="mlp:8", loss="squared")):
            self.assertFalse(hasattr(DroveClassifier(**of), "predict_proba"))
            self.assertFalse(hasattr(DroveClassifier(**of, until="epochs=1").fit(self.X, self.y), "predict_proba"))

    def test_losses_without_probabilities(self):
        model = DroveClassifier("linear", loss="hinge", random_state=0, until="epochs=20").fit(self.X, self.y)
        self.assertFalse(hasattr(model, "predict_proba"))
        self.assertGreater(model.score(self.X, self.y), 0.8)
        np.testing.assert_array_equal(model.decision_function(self.X) > 0, model.predict(self.X) == 1)

    def test_messages_call_options_by_their_parameters(self):
        for made, words in ((dict(lr=-1), '^lr: expected auto or a number above 0, found "-1"$'),
                            (dict(weight_decay=-2), "^weight_decay: expected a number of at least 0"),
                            (dict(options={"eval-every": "x"}), "^eval_every: expected auto"),
                            (dict(n_jobs=5000), "^n_jobs: expected a whole number from 1 to 4096")):
            with self.assertRaisesRegex(ValueError, words):
                DroveClassifier(**made).fit(self.X, self.y)
        with self.assertRaisesRegex(ValueError, "^threads: expected"):  # elsewhere it is called so
            drove.train((self.X, self.y), threads=5000)
        self.assertFalse([name for name, (default, about) in drove.options().items() if "--" in default + about])

    def test_errors_are_those_of_python(self):
        with self.assertRaisesRegex(ValueError, "model"):
            DroveClassifier("mpl:8").fit(self.X, self.y)
        with self.assertRaisesRegex(ValueError, "did you mean"):
            DroveClassifier(options={"strategie": "sync"}).fit(self.X, self.y)
        with self.assertRaisesRegex(ValueError, "NaN"):
            DroveClassifier().fit(np.full((10, 2), np.nan), [0, 1] * 5)
        with self.assertRaisesRegex(FloatingPointError, "crashed"):
            DroveRegressor("linear", lr=1e8, rule="sgd", until="epochs=5").fit(self.X, self.X[:, 0] * 1e6)


class Passes(unittest.TestCase):
    """partial_fit after the first call."""

    def setUp(self):
        self.X, self.y = make_classification(n_samples=400, n_features=8, random_state=1)
        self.X = self.X.astype(np.float32)

    def start(self, **more):
        options = dict(rule="momentum:0.9", lr=0.1, batch=400, random_state=0)
        return DroveClassifier("logistic", **{**options, **more}).partial_fit(self.X, self.y, classes=[0, 1])

    def test_are_steps_with_momentum(self):
        model = self.start()
        p = {name: values.astype(np.float64) for name, values in model.coefs_.items()}
        x = (self.X - p["input.shift"]) * p["input.factor"]
        w, b = p["layer0.weight"].ravel(), p["layer0.bias"][0]
        v, u = np.zeros_like(w), 0.0
        for _ in range(25):
            wrong = 1 / (1 + np.exp(-(x @ w + b))) - self.y
            loss = np.mean(np.logaddexp(0, x @ w + b) - self.y * (x @ w + b))
            v, u = 0.9 * v + x.T @ wrong / len(x), 0.9 * u + wrong.mean()
            w, b = w - 0.1 * v, b - 0.1 * u
            model.partial_fit(self.X, self.y)
        np.testing.assert_allclose(model.coefs_["layer0.weight"].ravel(), w, rtol=1e-3, atol=1e-4)
        np.testing.assert_allclose(model.coefs_["layer0.bias"], [b], rtol=1e-3, atol=1e-4)
        self.assertAlmostEqual(model.loss_, loss, places=4)

    def test_of_every_kind_of_rows_agree(self):
        def passes(X, y, **more):
            model = self.start()
            for _ in range(5):
                model.partial_fit(X, y, **more)
            return model.coefs_["layer0.weight"]
        expected = passes(self.X, self.y)
        ones = np.ones(400)
        for found in (passes(self.X.astype(np.float64), self.y), passes(np.asfortranarray(self.X), list(self.y)),
                      passes(self.X, self.y.astype(np.uint8)), passes(self.X, self.y, sample_weight=ones),
                      passes(scipy.sparse.csr_matrix(self.X), self.y), passes(self.X, self.y, classes=[1, 0])):
            np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)

    def test_go_on_after_pickling(self):
        one = self.start().partial_fit(self.X, self.y)
        two = pickle.loads(pickle.dumps(one))
        begun_anew = self.start().partial_fit(self.X, self.y)
        begun_anew.lr = 0.1 + 1e-9  # another option: the rule's state begins anew
        for _ in range(5):
            for model in (one, two, begun_anew):
                model.partial_fit(self.X, self.y)
        name = "layer0.weight"
        np.testing.assert_allclose(two.coefs_[name], one.coefs_[name], rtol=1e-5, atol=1e-6)
        self.assertGreater(np.abs(begun_anew.coefs_[name] - one.coefs_[name]).max(), 1e-3)

    def test_heed_parameters_that_were_changed(self):
        model = self.start()
        before = model.coefs_["layer0.weight"]
        model.set_params(lr=1e-20).partial_fit(self.X, self.y)
        np.testing.assert_array_equal(model.coefs_["layer0.weight"], before)

    def test_with_what_needs_a_run(self):
        model = self.start()
        for more in (dict(schedule="cosine:10"), dict(options={"timeline": "none"}), dict(n_jobs=2)):
            loss = model.set_params(schedule="auto", options=None, n_jobs=None).partial_fit(self.X, self.y).loss_
            self.assertLess(model.set_params(**more).partial_fit(self.X, self.y).loss_, loss)

    def test_refuse_other_labels_than_the_first_call_had(self):
        X, y = make_multilabel_classification(60, 5, n_classes=3, random_state=0)
        model = DroveClassifier("mlp:4", random_state=0).partial_fit(X, y)
        before = model.predict_proba(X)
        for other in (y[:, 0], y[:, :2], np.hstack([y, y])):
            with self.assertRaisesRegex(ValueError, "matrix of 3 labels"):
                model.partial_fit(X, other)
        np.testing.assert_array_equal(model.predict_proba(X), before)

    def test_say_what_is_wrong_in_scikit_learns_words(self):
        model = self.start()
        before = model.predict_proba(self.X)
        for X, y, words in ((self.X[:, :4], self.y, "4 features"),
                            (self.X[:10], self.y, "inconsistent numbers"), (self.X, self.y + 1, "first call"),
                            (self.X[:0], self.y[:0], "0 sample")):
            with self.assertRaisesRegex(ValueError, words):
                model.partial_fit(X, y)
        for X, words in ((self.X[:, :4], "4 features"), (self.X[:0], "0 sample")):
            with self.assertRaisesRegex(ValueError, words):
                model.predict_proba(X)
        np.testing.assert_array_equal(model.predict_proba(self.X), before)
        large = self.X.astype(np.float64)
        large[3, 1] *= 1e300  # beyond the range of a float
        for call in (lambda: model.partial_fit(large, self.y), lambda: model.predict(large)):
            with self.assertWarnsRegex(UserWarning, "1 infinite number counts as missing"):
                call()

    def test_that_diverge_leave_a_finite_model(self):
        X, y = load_diabetes(return_X_y=True)
        model = DroveRegressor("mlp:8", rule="sgd", lr=0.01, random_state=0).partial_fit(X, y)
        before = model.predict(X)
        with self.assertRaisesRegex(FloatingPointError, "smaller lr"):
            model.set_params(lr=1e6)
            for _ in range(50):
                model.partial_fit(X, y)
        np.testing.assert_array_equal(model.predict(X), before)
        self.assertGreater(np.abs(model.set_params(lr=0.01).partial_fit(X, y).predict(X) - before).max(), 0)

    def test_of_large_values_learn(self):
        X, y = load_diabetes(return_X_y=True)
        for scale in (1.0, 1e6):
            model = DroveRegressor("mlp:16", rule="sgd", lr=0.05, batch=32, random_state=0)
            for _ in range(60):
                model.partial_fit(X, 3 * scale + scale * y)
            self.assertGreater(model.score(X, 3 * scale + scale * y), 0.5)

    def test_of_a_value_that_never_varies(self):
        X, _ = load_diabetes(return_X_y=True)
        for y in (np.zeros(len(X)), np.full(len(X), 3e6)):
            model = DroveRegressor(random_state=0).fit(X, y)
            self.assertLess(np.abs(model.predict(X) - y).mean(), 0.1)
            self.assertLess(np.abs(model.partial_fit(X, y).predict(X) - y).mean(), 0.1)

    def test_ctrl_c_in_fit(self):
        X = np.random.RandomState(0).randn(200_000, 8).astype(np.float32)
        y = (X[:, 0] > 0).astype(int)
        endless = DroveClassifier("mlp:64,64", rule="sgd", lr=0.01, batch=4, until="seconds=100", random_state=0)
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, before)

        def after(n):
            """Ctrl-C at the n-th evaluation."""
            left = [n]

            def evaluated(p):
                left[0] -= 1
                if left[0] == 0:
                    signal.raise_signal(signal.SIGINT)
            return evaluated
        model = clone(endless)
        with self.assertRaises(KeyboardInterrupt):
            model.fit(X, y, callbacks=after(3))
        self.assertGreater(model.score(X, y), 0.8)
        with self.assertWarnsRegex(RuntimeWarning, "interrupted"):
            kept = clone(endless).set_params(interrupt="keep").fit(X, y, callbacks=after(3))
        self.assertGreater(kept.score(X, y), 0.8)
        with self.assertRaises(KeyboardInterrupt):  # and not a search that goes on with a fit that was cut
            GridSearchCV(endless, {"lr": [0.01, 0.02]}, cv=2).fit(X, y, callbacks=after(2))

    def test_ctrl_c_without_a_model(self):
        X, y = make_classification(n_samples=100, n_features=4, n_informative=2, n_redundant=0, random_state=1)
        model = DroveClassifier(random_state=0).fit(X, y)
        scores = model.predict_proba(X)
        crashed = drove.Interrupted(drove.Result("crashed", {}, None, []))
        with mock.patch("drove._base.train_on", side_effect=crashed), self.assertRaises(drove.Interrupted):
            model.fit(X, y)
        np.testing.assert_array_equal(model.predict_proba(X), scores)

    def test_end_by_a_signal(self):
        X = np.random.RandomState(0).randn(200_000, 8).astype(np.float32)
        y = (X[:, 0] > 0).astype(int)
        model = DroveClassifier("mlp:64,64", rule="sgd", lr=0.01, batch=4, random_state=0)
        model.partial_fit(X[:100], y[:100], classes=[0, 1])
        before = signal.signal(signal.SIGINT, signal.default_int_handler)  # the background of a shell ignores it
        self.addCleanup(signal.signal, signal.SIGINT, before)
        threading.Timer(0.3, signal.raise_signal, [signal.SIGINT]).start()
        with self.assertRaises(KeyboardInterrupt):
            for _ in range(1000):
                model.partial_fit(X, y)
        self.assertGreater(model.score(X, y), 0.8)
        self.assertEqual(model.partial_fit(X[:100], y[:100]).predict(X[:5]).shape, (5,))


if __name__ == "__main__":
    unittest.main()
