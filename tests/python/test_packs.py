"""Packs: what the estimators make where nothing else is asked for."""
# ctest: slow: it makes some forty packs
import pickle
import unittest
import warnings

import numpy as np
import scipy.sparse
from scipy.special import xlogy
from sklearn.base import clone
from sklearn.datasets import make_classification, make_multilabel_classification
from sklearn.metrics import log_loss, roc_auc_score

import drove
from drove import DroveClassifier, DroveRegressor

try:
    import pandas
except ImportError:
    pandas = None

NETWORK = "mlp:128,128,128"


def is_pack(model):
    return model.model_.spec == "pack"


class Default(unittest.TestCase):
    def setUp(self):
        self.X, self.y = make_classification(n_samples=200, n_features=6, n_informative=4, random_state=3)

    def test_arrays_and_frames_make_the_same_pack(self):
        model = DroveClassifier(random_state=0).fit(self.X, self.y)
        self.assertTrue(is_pack(model))
        self.assertIn("mlp:64 bins", [each["member"] for each in model.pack_["members"]])
        asked = DroveClassifier("auto", random_state=0, options={"max_members": 5}).fit(self.X, self.y)
        np.testing.assert_array_equal(asked.predict_proba(self.X), model.predict_proba(self.X))
        if pandas is not None:
            frame = pandas.DataFrame(self.X, columns=list("abcdef"))
            named = DroveClassifier(random_state=0).fit(frame, self.y)
            np.testing.assert_array_equal(named.predict_proba(frame), model.predict_proba(self.X))
            texts = frame.assign(town=np.where(self.y, "Oslo", "Rome").astype(object))
            model = DroveClassifier(random_state=0).fit(texts, self.y)
            self.assertTrue(is_pack(model))
            self.assertEqual(model.score(texts, self.y), 1)

    def test_its_loss_is_that_of_rows_that_it_has_not_seen(self):
        X, y = make_classification(n_samples=4400, n_features=6, n_informative=4, random_state=3)
        model = DroveClassifier(random_state=0).fit(X[:400], y[:400])
        pack, found = model.pack_, log_loss(y[400:], model.predict_proba(X[400:]))
        error = np.hypot(pack["standard_error"], 0.7 / np.sqrt(4000))
        self.assertLess(abs(found - pack["loss"]), 4 * error)
        share = np.bincount(y[:400]) / 400
        self.assertAlmostEqual(pack["constant_loss"], -xlogy(share, share).sum(), 4)
        shares = [each["share"] for each in pack["members"]]
        self.assertTrue(min(shares) >= 0 and 0 < sum(shares) <= 1 + 1e-6, shares)
        self.assertEqual(pack["networks"], pack["divisions"] * sum(share > 0 for share in shares))

    def test_rare_classes(self):
        X, y = make_classification(4000, 20, n_informative=5, weights=[.99], flip_y=.002, random_state=0)
        model = DroveClassifier(random_state=0, options={"max_members": 5}).fit(X[:2000], y[:2000])
        self.assertGreater(roc_auc_score(y[2000:], model.predict_proba(X[2000:])[:, 1]), 0.8)

    def test_a_far_number_moves_no_other_row(self):
        X = self.X.copy()
        X[0] = 1e9
        far = DroveClassifier(random_state=0).fit(X, self.y)
        near = DroveClassifier(random_state=0).fit(self.X, self.y)
        self.assertGreater((far.predict(self.X[1:]) == near.predict(self.X[1:])).mean(), 0.93)
        result = drove.train((X, self.y), model="auto", max_members=2, test="none", seed=0)
        self.assertGreater((result.model.outputs(self.X).argmax(axis=1) == self.y).mean(), 0.75)

    def test_what_is_given_means_one_network(self):
        for given in (dict(model="mlp:8"), dict(rule="sgd"), dict(lr=0.01), dict(schedule="constant"), dict(batch=16),
                      dict(weight_decay=1e-3), dict(loss="hinge"), dict(loss="squared"), dict(options={"clip": 1}),
                      dict(until="validation=20%,patience=2,epochs=5")):
            given = {"until": "epochs=2", **given}
            model = DroveClassifier(random_state=0, **given).fit(self.X, self.y)
            self.assertEqual(model.model_.spec, given.get("model", NETWORK), given)
            with self.assertRaisesRegex(AttributeError, "no pack"):
                model.pack_
        self.assertTrue(is_pack(DroveClassifier(random_state=0, until="epochs=2").fit(self.X, self.y)))
        self.assertTrue(is_pack(DroveRegressor(loss="squared", until="epochs=2").fit(self.X, self.X[:, 0])))

    def test_wide_and_sparse_rows_mean_one_network(self):
        wide = np.random.default_rng(0).standard_normal((60, 513))
        for X in (wide, scipy.sparse.csr_matrix(np.where(self.X[:60] > 0.5, self.X[:60], 0))):
            self.assertEqual(DroveClassifier(random_state=0).fit(X, np.arange(60) % 2).model_.spec, NETWORK)
        self.assertEqual(DroveClassifier("auto", random_state=0).fit(X, np.arange(60) % 2).model_.spec, NETWORK)

    def test_few_rows(self):
        self.assertEqual(DroveClassifier(random_state=0).fit(self.X[:19], np.arange(19) % 2).model_.spec, "mlp:32")
        self.assertTrue(is_pack(DroveClassifier(random_state=0).fit(self.X[:20], np.arange(20) % 2)))
        for n in (2, 3, 4, 7):
            model = DroveClassifier("auto", random_state=0, until="epochs=3").fit(self.X[:n], np.arange(n) % 2)
            self.assertEqual(model.pack_["divisions"], min(n, 5))
        with self.assertRaisesRegex(ValueError, "at least two training rows"):
            DroveRegressor("auto").fit(self.X[:1], self.y[:1])

    def test_a_class_of_one_row(self):
        y = self.y.copy()
        y[7] = 2
        model = DroveClassifier(random_state=0).fit(self.X, y)
        p = model.predict_proba(self.X)
        self.assertTrue(is_pack(model) and np.isfinite(p).all() and (p > 0).all())


class Data(unittest.TestCase):
    def setUp(self):
        self.X = np.random.default_rng(0).standard_normal((300, 5))

    def test_types_of_numbers(self):
        y = (self.X[:, 0] * self.X[:, 1] > 0).astype(int)
        X = np.clip(np.round(self.X * 40 + 128), 0, 255)
        for kind in (np.float32, np.uint8, np.int64):
            model = DroveClassifier(random_state=0).fit(X.astype(kind), y)
            self.assertTrue(is_pack(model))
            self.assertGreater(model.score(X.astype(kind), y), 0.85)

    def test_columns_that_say_nothing_and_cells_that_are_missing(self):
        y = (self.X[:, 0] > 0).astype(int)
        X = self.X.copy()
        X[:, 1], X[:, 2], X[10:40, 3] = 7, np.nan, np.nan
        X[50] = np.nan
        model = DroveClassifier(random_state=0).fit(X, y)
        self.assertTrue(is_pack(model))
        self.assertGreater(model.score(X, y), 0.9)

    def test_values(self):
        y = 1e6 + np.column_stack([self.X[:, 0] ** 2, 100 * self.X[:, 1]])
        model = DroveRegressor(random_state=0).fit(self.X, y)
        self.assertTrue(is_pack(model))
        self.assertGreater(model.score(self.X, y), 0.9)
        one = DroveRegressor(random_state=0).fit(self.X, y[:, 1])
        self.assertEqual(one.predict(self.X).shape, (300,))
        self.assertGreater(one.score(self.X, y[:, 1]), 0.99)
        np.testing.assert_allclose(DroveRegressor(random_state=0).fit(self.X, np.full(300, 3.25)).predict(self.X), 3.25)

    def test_labels(self):
        X, y = make_multilabel_classification(300, 12, n_classes=4, random_state=0)
        model = DroveClassifier(random_state=0).fit(X, y)
        self.assertTrue(is_pack(model))
        self.assertGreater((model.predict(X) == y).mean(), 0.8)

    def test_weights(self):
        y = (self.X[:, 0] + 0.5 * np.random.default_rng(1).standard_normal(300) > 1.2).astype(int)
        plain, even = (DroveClassifier(random_state=0, class_weight=each).fit(self.X, y) for each in (None, "balanced"))
        self.assertTrue(is_pack(even))
        self.assertGreater(even.predict(self.X)[y == 1].mean(), plain.predict(self.X)[y == 1].mean())
        weight = np.where(y == 1, (y == 0).sum(), (y == 1).sum())
        same = DroveClassifier(random_state=0).fit(self.X, y, weight * 300 / (2 * (y == 0).sum() * (y == 1).sum()))
        np.testing.assert_allclose(same.predict_proba(self.X), even.predict_proba(self.X), atol=1e-5)


class Afterwards(unittest.TestCase):
    def setUp(self):
        self.X, self.y = make_classification(n_samples=200, n_features=6, n_informative=4, random_state=3)
        self.model = DroveClassifier(random_state=0).fit(self.X, self.y)

    def test_one_that_is_interrupted_is_of_what_is_finished(self):
        seen = []
        # So many that a fast machine does not train all networks of a division between two calls.
        X, y = make_classification(n_samples=3000, n_features=6, n_informative=4, random_state=3)

        def progress(p):
            seen.append(p)
            return p.updates < 3

        result = drove.train((X, y), model="auto", until="epochs=100", test="none", seed=0, threads=1,
                             on_progress=progress)
        self.assertEqual(result.outcome, "interrupted")
        pack = result.summary["pack"]
        trained = [each for each in pack["members"] if each["divisions"] > 0]
        self.assertTrue(pack["divisions"] == 1 and 3 <= len(trained) < len(pack["members"]), pack)
        self.assertTrue(all(each["loss"] is None for each in pack["members"] if each["divisions"] == 0), pack)
        self.assertTrue(np.isnan(seen[0].epochs) and seen[0].epochs_total == 0 and seen[-1].epochs_total > 10)
        self.assertRegex(str(seen[-1]), r"^\d+ of \d+ networks$")
        with self.assertRaisesRegex(ValueError, "interrupted before a member of the pack was trained"):
            drove.train((self.X, self.y), model="auto", on_progress=lambda p: False)

    def test_pickles_and_clones(self):
        other = pickle.loads(pickle.dumps(self.model))
        np.testing.assert_array_equal(other.predict_proba(self.X), self.model.predict_proba(self.X))
        self.assertEqual(other.pack_, self.model.pack_)
        again = clone(self.model).fit(self.X, self.y)
        np.testing.assert_array_equal(again.predict_proba(self.X), self.model.predict_proba(self.X))
        threads = clone(self.model).set_params(n_jobs=2).fit(self.X, self.y)
        np.testing.assert_array_equal(threads.predict_proba(self.X), self.model.predict_proba(self.X))

    def test_further_passes_start_from_it(self):
        before = log_loss(self.y, self.model.predict_proba(self.X))
        for _ in range(5):
            self.model.partial_fit(self.X, self.y)
        self.assertTrue(is_pack(self.model))
        after = log_loss(self.y, self.model.predict_proba(self.X))
        self.assertTrue(0.5 * before < after < before, (before, after))

    def test_a_warm_start_goes_on(self):
        before = log_loss(self.y, self.model.predict_proba(self.X))
        self.model.set_params(warm_start=True).fit(self.X, self.y)
        self.assertTrue(is_pack(self.model))
        self.assertLess(log_loss(self.y, self.model.predict_proba(self.X)), 1.2 * before)

    def test_a_first_pass_is_of_one_network(self):
        self.assertEqual(DroveClassifier(random_state=0).partial_fit(self.X, self.y, [0, 1]).model_.spec, NETWORK)
        if pandas is not None:
            frame = pandas.DataFrame({"a": self.X[:, 0], "town": np.where(self.y, "Oslo", "Rome").astype(object)})
            self.assertEqual(DroveClassifier(random_state=0).partial_fit(frame, self.y, [0, 1]).model_.spec, NETWORK)

    def test_other_rows_are_measured(self):
        model = DroveClassifier(random_state=0).fit(self.X, self.y, eval_set=(self.X, self.y))
        self.assertAlmostEqual(model.history_[-1]["test_loss"], log_loss(self.y, model.predict_proba(self.X)), 5)


if __name__ == "__main__":
    warnings.simplefilter("error")
    unittest.main()
