"""Numbers are the same whatever holds them: arrays, frames of numbers, frames with texts, sparse frames, lazy frames."""
import importlib.util
import unittest
import warnings

import numpy as np
import scipy.sparse
from sklearn.feature_selection import RFE

import drove
from drove import DroveClassifier, DroveRegressor

from scratch import setUpModule, tearDownModule  # noqa: F401

has = {name: importlib.util.find_spec(name) is not None for name in ("pandas", "polars", "pyarrow")}
if has["pandas"]:
    import pandas
if has["polars"]:
    try:
        import polars
    except ImportError:
        has["polars"] = False


def rows(n=240, seed=0):
    """Four columns of other means and deviations; y follows from the first."""
    X = np.random.default_rng(seed).standard_normal((n, 4)) * [1, 10, 0.1, 1] + [0, 5, 1, 100]
    return X, (X[:, 0] > 0).astype(int)


def frame(X, with_text=False):
    table = pandas.DataFrame(X, columns=list("abcd"))
    if with_text:
        table["t"] = ["u", "v"] * (len(X) // 2)
    return table


def classifier(**more):
    return DroveClassifier("logistic", random_state=0, until="epochs=40", lr=0.3, **more)


class Holders(unittest.TestCase):
    """(name, X as this holds it, a function that takes some columns of it)."""

    def holders(self):
        X, y = rows()
        if has["pandas"]:
            for name, table in (("pandas", frame(X)), ("pandas with a text", frame(X, True)),
                                ("pandas sparse", frame(X).astype(pandas.SparseDtype(float, 0.0)))):
                yield name, table, y, lambda t, names: t[names]
        if has["polars"]:
            for name, table in (("Polars", polars.DataFrame(X, schema=list("abcd"))),):
                yield name, table, y, lambda t, names: t.select(names)
                yield name + " lazy", table.lazy(), y, lambda t, names: t.select(names)
        if has["pyarrow"]:
            import pyarrow
            yield "pyarrow", pyarrow.table({name: X[:, i] for i, name in enumerate("abcd")}), y, lambda t, names: t.select(names)

    def names(self, table):
        if hasattr(table, "collect_schema"):
            return table.collect_schema().names()
        return list(table.column_names if hasattr(table, "column_names") else table.columns)

    def test_columns_in_another_order_are_matched(self):
        for name, table, y, select in self.holders():
            with self.subTest(name):
                model, names = classifier().fit(table, y), self.names(table)
                self.assertGreater(model.score(table, y), 0.9)
                np.testing.assert_array_equal(model.predict(select(table, names[::-1])), model.predict(table))

    def test_further_columns_are_left_out(self):
        for name, table, y, select in self.holders():
            with self.subTest(name):
                names = self.names(table)
                model = classifier().fit(select(table, names[:2] + names[4:]), y)
                np.testing.assert_array_equal(model.predict(table), model.predict(select(table, names[:2] + names[4:])))

    def test_a_missing_column_is_named(self):
        for name, table, y, select in self.holders():
            with self.subTest(name):
                model = classifier().fit(table, y)
                with self.assertRaisesRegex(ValueError, "missing:\n- a"):
                    model.predict(select(table, self.names(table)[1:]))

    @unittest.skipUnless(has["pandas"], "pandas")
    def test_two_columns_of_one_name_are_refused(self):
        for with_text in (False, True):
            X, y = rows()
            table = frame(X, with_text)
            table.columns = ["a", "a", *table.columns[2:]]
            with self.assertRaisesRegex(ValueError, "two called 'a'"):
                classifier().fit(table, y)

    def test_columns_called_by_numbers_are_by_place(self):
        if not has["pandas"]:
            self.skipTest("pandas")
        X, y = rows()
        model = classifier().fit(pandas.DataFrame(X), y)
        expected = model.predict(X)
        np.testing.assert_array_equal(model.predict(pandas.DataFrame(X)[[3, 2, 1, 0]]), expected)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            np.testing.assert_array_equal(model.predict(frame(X)), expected)


class Missing(unittest.TestCase):
    def test_numbers_that_are_missing_only_when_predicting_are_means(self):
        X, y = rows()
        few = X[:5].copy()
        few[1, 0], few[2, 1] = np.nan, np.nan
        filled = few.copy()
        filled[1, 0], filled[2, 1] = X[:, 0].mean(), X[:, 1].mean()
        model = classifier().fit(X, y)
        expected = model.predict_proba(filled)
        np.testing.assert_allclose(model.predict_proba(few), expected, atol=1e-6)
        if has["pandas"]:
            model = classifier().fit(frame(X), y)
            np.testing.assert_allclose(model.predict_proba(frame(few)), expected, atol=1e-6)
            sparse = frame(few).astype(pandas.SparseDtype(float, np.nan))
            np.testing.assert_allclose(model.predict_proba(sparse), expected, atol=1e-6)
            texts = frame(few).astype(str)  # "nan" is no number
            np.testing.assert_allclose(model.predict_proba(texts), expected, atol=1e-6)

    def test_arrays_are_as_frames(self):
        X, y = rows()
        X[::7, 1] = np.nan
        model = classifier().fit(X, y)
        self.assertGreater(model.score(X, y), 0.95)
        self.assertEqual(model.n_features_in_, 4)
        np.testing.assert_array_equal(model.predict(X[:, :]), model.predict(np.asfortranarray(X)))
        np.testing.assert_array_equal(model.model_.outputs(X).shape[0], len(X))
        if has["pandas"]:
            np.testing.assert_allclose(classifier().fit(frame(X), y).predict_proba(frame(X)), model.predict_proba(X), atol=1e-6)

    def test_infinite_numbers_are_missing_and_said(self):
        X, y = rows()
        model = classifier().fit(X, y)
        odd, missing = X[:4].copy(), X[:4].copy()
        odd[0, 2], odd[1, 3], missing[0, 2], missing[1, 3] = np.inf, -np.inf, np.nan, np.nan
        with self.assertWarnsRegex(UserWarning, "2 infinite numbers count as missing"):
            found = model.predict_proba(odd)
        np.testing.assert_array_equal(found, model.predict_proba(missing))
        X[3, 1] = np.inf
        with self.assertWarnsRegex(UserWarning, "1 infinite number counts as missing"):
            self.assertGreater(classifier().fit(X, y).score(X[4:], y[4:]), 0.95)
        if has["pandas"]:
            for with_text in (False, True):
                with self.assertWarnsRegex(UserWarning, "1 infinite number counts as missing"):
                    classifier().fit(frame(X, with_text), y)

    def test_sparse_matrices(self):
        rows_ = scipy.sparse.random(200, 20, 0.3, "csr", random_state=0)
        y = (np.asarray(rows_.sum(axis=1)).ravel() > 3).astype(int)
        model = classifier().fit(rows_, y)
        missing, filled = rows_.copy(), rows_.copy()
        column = rows_.indices[7]
        missing.data[7], filled.data[7] = np.nan, rows_[:, column].mean()
        np.testing.assert_allclose(model.predict_proba(missing), model.predict_proba(filled), atol=1e-6)
        np.testing.assert_allclose(model.predict_proba(missing.tocsc()), model.predict_proba(filled), atol=1e-6)
        self.assertGreater(classifier().fit(missing, y).score(rows_, y), 0.8)

    def test_passes_fill_with_the_means_of_the_first(self):
        X, y = rows()
        X[::7, 1] = np.nan
        model = DroveClassifier("logistic", random_state=0).partial_fit(X, y, classes=[0, 1])
        for _ in range(20):
            model.partial_fit(X, y)
        self.assertFalse(model.model_.is_table)
        self.assertGreater(model.score(X, y), 0.9)

    def test_masked_numbers_are_missing(self):
        X, y = rows()
        masked = np.ma.masked_array(X, np.zeros(X.shape, bool))
        masked.mask[:5, 0] = True
        few = X[:5].copy()
        few[:, 0] = np.nan
        model = classifier().fit(X, y)
        np.testing.assert_array_equal(model.predict_proba(masked[:5]), model.predict_proba(few))
        few = X.copy()
        few[masked.mask] = np.nan
        np.testing.assert_array_equal(classifier().fit(masked, y).predict_proba(X), classifier().fit(few, y).predict_proba(X))

    def test_pairs_for_train(self):
        X, y = rows()
        X[::7, 1] = np.nan
        made = dict(model="logistic", until="epochs=40", lr=0.3)
        for x in [X] + ([frame(X), frame(X, True)] if has["pandas"] else []):
            model = drove.train((x, y), **made).model
            p = model.probabilities(x)
            self.assertGreater(((p[:, 1] > 0.5) == y).mean(), 0.95)
        full = rows()[0]
        model = drove.train((full, y), **made).model
        few = full[:3].copy()
        few[1, 3] = np.nan
        filled = few.copy()
        filled[1, 3] = full[:, 3].mean()  # the run held rows out, whose mean differs a little
        np.testing.assert_allclose(model.outputs(few), model.outputs(filled), atol=0.02)

    def test_texts_that_are_no_numbers_are_refused(self):
        if not has["pandas"]:
            self.skipTest("pandas")
        X, y = rows()
        model = classifier().fit(frame(X), y)
        wrong = frame(X)
        wrong["b"] = "u"
        with self.assertRaisesRegex(ValueError, "column 'b': expected numbers as in fit, found texts"):
            model.predict(wrong)


@unittest.skipUnless(has["pandas"], "pandas")
class Types(unittest.TestCase):
    def test_sparse_frames(self):
        town = pandas.Series(np.random.default_rng(0).choice(list("abc"), 300))
        X, y = pandas.get_dummies(town, sparse=True, dtype=float), (town == "b").astype(int)
        model = classifier().fit(X, y)
        self.assertTrue(model.model_.is_sparse)
        self.assertEqual(model.score(X, y), 1.0)
        self.assertEqual(list(model.feature_names_in_), ["a", "b", "c"])
        np.testing.assert_allclose(model.predict_proba(X.sparse.to_dense()), model.predict_proba(X))
        X["d"] = np.arange(300.0)  # some dense, some sparse
        self.assertEqual(classifier().fit(X, y).score(X, y), 1.0)

    def test_types_that_know_missing_values(self):
        X, y = rows()
        table = pandas.DataFrame({"a": pandas.array(X[:, 0], dtype="Float64"),
                                  "b": pandas.array(np.arange(len(X)), dtype="Int64"),
                                  "c": pandas.array(y == 1, dtype="boolean")})
        model = classifier().fit(table, y)
        self.assertFalse(model.model_.is_table)  # no cell is missing: the same as an array
        np.testing.assert_allclose(model.predict_proba(table), classifier().fit(table.to_numpy(float), y).predict_proba(
            table.to_numpy(float)), atol=1e-6)
        table.loc[0, "b"] = pandas.NA
        self.assertEqual(len(model.predict(table)), len(X))

    @unittest.skipUnless(has["pyarrow"], "pyarrow")
    def test_an_index_in_a_file_is_no_column(self):
        X, y = rows()
        table = frame(X).assign(y=y).sample(frac=1, random_state=0)
        for name in (None, "number"):
            table.index.name = name
            table.to_parquet("rows.parquet")
            self.assertEqual(list(classifier().fit("rows.parquet", "y").feature_names_in_), list("abcd"))
            import pyarrow.parquet
            self.assertEqual(list(classifier().fit(pyarrow.parquet.read_table("rows.parquet"), "y").feature_names_in_),
                             list("abcd"))


class Models(unittest.TestCase):
    def test_a_target_that_never_varies_is_learned(self):
        X, y = rows()
        for table in [X] + ([frame(X), frame(X, True)] if has["pandas"] else []):
            model = DroveRegressor("linear", random_state=0).fit(table, np.full(len(y), 3.25))
            np.testing.assert_allclose(model.predict(table), 3.25, rtol=1e-6)

    def test_auto_makes_the_same_pack_of_arrays_and_frames(self):
        X = np.random.default_rng(0).uniform(-3, 3, (200, 2))
        y = np.sign(np.sin(2 * X[:, 0])) + 0.1 * X[:, 1]  # for bins, not for a line
        names = []
        for x in [X] + ([pandas.DataFrame(X, columns=["a", "b"])] if has["pandas"] else []):
            model = DroveRegressor("auto", random_state=0).fit(x, y)
            names.append([each["member"] for each in model.pack_["members"]])
            self.assertGreater(model.score(x, y), 0.7)
        self.assertTrue(any("bins" in name for name in names[0]), names[0])
        self.assertEqual(names, names[:1] * len(names))


class Weights(unittest.TestCase):
    def test_rows_of_weight_zero_are_none(self):
        X, y = rows()
        weight = np.ones(len(X))
        weight[:60] = 0
        far = X.copy()
        far[:60] = 1e6
        kinds = [lambda x: x, scipy.sparse.csr_matrix]
        if has["pandas"]:
            kinds += [frame, lambda x: frame(x, True)]
        for kind in kinds:
            found = classifier().fit(kind(far), y, weight)
            expected = classifier().fit(kind(far)[60:], y[60:], weight[60:])
            np.testing.assert_array_equal(found.predict_proba(kind(X)), expected.predict_proba(kind(X)))


class Attributes(unittest.TestCase):
    def test_coefficients_give_the_scores(self):
        X, y = rows()
        for classes in (y, np.where(y, "a", "b"), np.digitize(X[:, 0], [-0.5, 0.5])):
            model = DroveClassifier("svm", random_state=0).fit(X, classes)
            scores = X @ model.coef_.T + model.intercept_
            self.assertEqual(model.coef_.shape[0], 1 if len(model.classes_) == 2 else 3)
            np.testing.assert_allclose(scores[:, 0] if scores.shape[1] == 1 else scores, model.decision_function(X), atol=1e-4)
            model = classifier().fit(X, classes)
            scores = X @ model.coef_.T + model.intercept_
            if scores.shape[1] == 1:
                p = 1 / (1 + np.exp(-scores[:, 0]))
                np.testing.assert_allclose(p, model.predict_proba(X)[:, 1], atol=1e-5)
            else:
                e = np.exp(scores - scores.max(axis=1, keepdims=True))
                np.testing.assert_allclose(e / e.sum(axis=1, keepdims=True), model.predict_proba(X), atol=1e-5)

    def test_coefficients_of_values(self):
        X, _ = rows()
        for missing in (False, True):
            x = X.copy()
            if missing:
                x[::9, 3] = np.nan
            model = DroveRegressor("linear", random_state=0).fit(x, 3 * X[:, 0] - 2 * X[:, 2] + 7)
            np.testing.assert_allclose(model.coef_, [3, 0, -2, 0], atol=1e-3)
            self.assertAlmostEqual(model.intercept_, 7, delta=1e-2)
        model = DroveRegressor("linear", random_state=0).fit(X, np.column_stack([X[:, 0], 5 - X[:, 2]]))
        np.testing.assert_allclose(model.coef_, [[1, 0, 0, 0], [0, 0, -1, 0]], atol=1e-3)
        np.testing.assert_allclose(model.intercept_, [0, 5], atol=1e-2)

    def test_coefficients_of_numbers_far_from_zero(self):
        X, y = rows()
        for x in [X + 1e4] + ([frame(X + 1e4)] if has["pandas"] else []):
            model = DroveRegressor("linear", random_state=0).fit(x, 3 * X[:, 0] + 100)
            np.testing.assert_allclose(np.asarray(x) @ model.coef_ + model.intercept_, model.predict(x), rtol=0, atol=0.1)

    def test_only_linear_models_have_coefficients(self):
        X, y = rows()
        self.assertFalse(hasattr(DroveClassifier("logistic"), "coef_"))
        self.assertFalse(hasattr(DroveClassifier("mlp:4", random_state=0, until="epochs=1").fit(X, y), "coef_"))
        if has["pandas"]:
            self.assertFalse(hasattr(classifier().fit(frame(X, True), y), "coef_"))

    def test_selection_of_features(self):
        X, y = rows()
        found = RFE(classifier(), n_features_to_select=1).fit(X / X.std(axis=0), y).support_
        np.testing.assert_array_equal(found, [True, False, False, False])

    @unittest.skipUnless(has["pandas"], "pandas")
    def test_importances_of_a_table(self):
        X, y = rows()
        found = classifier().fit(frame(X, True), y).feature_importances_
        self.assertEqual(found.shape, (5,))
        self.assertEqual(found.argmax(), 0)

    def test_history(self):
        X, y = rows()
        model = classifier(options={"eval_every": 10}).fit(X, y, eval_set=(X[:50], y[:50]))
        self.assertEqual([round(each["epochs"]) for each in model.history_], [0, 10, 20, 30, 40])
        self.assertAlmostEqual(model.history_[0]["loss"], np.log(2), places=6)
        p = model.predict_proba(X[:50])[np.arange(50), y[:50]]
        self.assertAlmostEqual(model.history_[-1]["test_loss"], -np.log(p).mean(), places=5)
        self.assertAlmostEqual(model.history_[-1]["test_accuracy"], model.score(X[:50], y[:50]), places=6)
        self.assertNotIn("validation_loss", model.history_[-1])
        held = DroveClassifier("logistic", random_state=0, until="validation=20%,epochs=5").fit(X, y)
        self.assertIn("validation_loss", held.history_[-1])

    def test_eval_set_measures_and_chooses_nothing(self):
        X, y = rows()
        holders = [(X, X[:50])]
        if has["pandas"]:
            holders += [(frame(X), frame(X)[:50]), (frame(X, True), frame(X, True)[:50])]
        for whole, some in holders:
            plain = classifier().fit(whole, y)
            measured = classifier().fit(whole, y, eval_set=[(some, 1 - y[:50])])
            np.testing.assert_array_equal(measured.predict_proba(whole), plain.predict_proba(whole))
            self.assertLess(measured.history_[-1]["test_accuracy"], 0.2)
        with self.assertRaisesRegex(ValueError, "eval_set: expected a pair"):
            classifier().fit(X, y, eval_set=X)

    def test_callbacks(self):
        X, y = rows()
        seen = []
        model = classifier(options={"eval_every": 1}).fit(X, y, callbacks=[seen.append, lambda p: len(seen) < 4])
        self.assertEqual(len(seen), 4)
        self.assertLess(seen[-1].epochs, 6)
        self.assertEqual(model.summary_["outcome"], "interrupted")

        def fail(p):
            raise KeyError("mine")
        with self.assertRaises(KeyError):
            classifier().fit(X, y, callbacks=fail)

    def test_pages(self):
        X, y = rows()
        result = drove.train((X, y), model="logistic", until="epochs=3", lr=0.1, eval_every=1)
        self.assertEqual(len(result.history), 4)
        page = result._repr_html_()
        self.assertIn("<polyline", page)
        self.assertIn("logistic", page)
        self.assertIn("layer0.weight", result.model._repr_html_())
        self.assertNotIn("<script", drove.Result("<script>", {}, None)._repr_html_())


class Words(unittest.TestCase):
    def test_other_words_are_answered_as_python_writes_them(self):
        X, y = rows()
        for name, value, answer in (("epochs", 3, 'write until="epochs=3"'), ("num_workers", 4, 'write loaders="4"'),
                                    ("n_estimators", 10, "no trees"), ("early_stopping_rounds", 5, 'write until="patience=5"')):
            with self.assertRaisesRegex(ValueError, answer):
                drove.train((X, y), **{name: value})
            with self.assertRaisesRegex(ValueError, answer):
                classifier(options={name: value}).fit(X, y)


if __name__ == "__main__":
    unittest.main()
