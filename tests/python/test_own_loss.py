"""Losses that are functions of NumPy arrays: the same steps as the library's own, what they get, how they fail."""
import pickle
import threading
import unittest

import numpy as np
from sklearn.base import clone
from sklearn.datasets import make_multilabel_classification
from sklearn.model_selection import cross_val_score

import drove
from drove import DroveClassifier, DroveRegressor, Loss
from scratch import setUpModule, tearDownModule


def half_square(outputs, targets):
    error = outputs - targets
    return (0.5 * error ** 2).sum(axis=1), error


def cross_entropy(outputs, targets):
    z = outputs - outputs.max(axis=1, keepdims=True)
    p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    rows = np.arange(len(z))
    derivative = p.copy()
    derivative[rows, targets] -= 1
    return -np.log(p[rows, targets]), derivative


def of_labels(outputs, targets):
    z, t = outputs.astype(np.float64), targets.astype(np.float64)
    return (np.logaddexp(0, z) - t * z).sum(axis=1), 1 / (1 + np.exp(-z)) - t


def pinball(outputs, targets, q=0.9):
    error = targets - outputs
    return np.where(error > 0, q * error, (q - 1) * error)[:, 0], np.where(error > 0, -q, 1 - q)


def values(n=300, d=6):
    rng = np.random.RandomState(1)
    X = rng.randn(n, d).astype(np.float32)
    return X, (X @ rng.randn(d) + 0.5 * rng.randn(n)).astype(np.float32)


def classes(n=300, d=6):
    X, y = values(n, d)
    return X, np.digitize(y, [-1, 1])


HOW = dict(model="mlp:8", rule="sgd", lr=0.05, schedule="constant", batch=16, until="epochs=5", seed=0, test="none",
           strategy="sequential", threads=1)


class Steps(unittest.TestCase):
    def same(self, data, own, name, atol=1e-5):
        a, b = drove.train(data, **HOW, loss=own), drove.train(data, **HOW, loss=name)
        for key, array in a.model.parameters.items():
            np.testing.assert_allclose(array, b.model.parameters[key], atol=atol)
        self.assertAlmostEqual(a.summary["loss"], b.summary["loss"], places=5)
        return a

    def test_the_steps_are_those_of_the_librarys_own(self):
        X, y = values()
        y = (y - y.mean()) / y.std()  # the library scales the targets of its own loss
        found = self.same((X, y), half_square, "squared", atol=2e-4)
        self.assertEqual(found.model.loss, "half_square")
        found = self.same(classes(), Loss(cross_entropy, outputs="softmax"), "softmax")
        np.testing.assert_allclose(found.model.probabilities(classes()[0]).sum(axis=1), 1, atol=1e-5)

    def test_labels(self):
        X, y = make_multilabel_classification(n_samples=200, n_features=8, n_classes=4, random_state=0)
        model, known = (DroveClassifier("mlp:16", loss=loss, until="epochs=20", lr=0.01, random_state=0).fit(X, y)
                        for loss in (Loss(of_labels, outputs="sigmoid"), None))
        np.testing.assert_allclose(model.predict_proba(X), known.predict_proba(X), atol=1e-4)
        self.assertLess(model.loss_, 0.9 * 4 * np.log(2))

    def test_a_quantile(self):
        X, y = values(2000)
        model = DroveRegressor("linear", loss=pinball, until="epochs=40", random_state=0).fit(X, y)
        self.assertAlmostEqual((y < model.predict(X)).mean(), 0.9, delta=0.03)

    def test_what_the_function_gets(self):
        seen = []

        def look(outputs, targets):
            seen.append((outputs.dtype, outputs.ndim, targets.dtype, targets.shape == outputs.shape, len(outputs) <= 1024,
                         outputs.flags.writeable or targets.flags.writeable))
            return half_square(outputs, targets)
        drove.train(values(), **HOW, loss=look)
        self.assertEqual(set(seen), {(np.dtype("f4"), 2, np.dtype("f4"), True, True, False)})

    def test_several_threads(self):
        idents = set()

        def look(outputs, targets):
            idents.add(threading.get_ident())
            return half_square(outputs, targets)
        how = {**HOW, "strategy": "hogwild", "threads": 3, "until": "epochs=20"}
        result = drove.train(values(), **how, loss=look)
        self.assertEqual(result.outcome, "finished")
        self.assertGreater(len(idents), 1)
        self.assertLess(result.summary["loss"], 1)


class Checks(unittest.TestCase):
    def test_derivatives_are_those_of_differences(self):
        rng = np.random.RandomState(0)
        z = rng.randn(20, 3).astype(np.float32)
        self.assertLess(Loss(half_square).check(z, rng.randn(20, 3)), 1e-3)
        self.assertLess(Loss(cross_entropy, outputs="softmax").check(z, rng.randint(0, 3, 20)), 1e-3)
        self.assertLess(Loss(of_labels, outputs="sigmoid").check(z, rng.rand(20, 3) < 0.5), 1e-3)

    def test_a_wrong_one_is_found(self):
        def wrong(outputs, targets):
            loss, derivative = half_square(outputs, targets)
            return loss, 1.1 * derivative
        z = np.random.RandomState(0).randn(5, 2)
        with self.assertRaisesRegex(ValueError, "^loss wrong: output 0: expected -?[0-9.]+ by differences, found"):
            Loss(wrong).check(z, z + 1)

        def of_all(outputs, targets):
            loss, derivative = half_square(outputs, targets)
            return loss + loss.mean(), derivative
        with self.assertRaises(ValueError):
            Loss(of_all).check(z, z + 1)


class Failures(unittest.TestCase):
    def test_an_exception_ends_the_run_and_is_raised(self):
        calls = []

        def fail(outputs, targets):
            calls.append(1)
            if len(calls) > 30:
                raise KeyError("mine")
            return half_square(outputs, targets)
        with self.assertRaisesRegex(KeyError, "mine"):
            drove.train(values(), **{**HOW, "until": "seconds=600"}, loss=fail)
        self.assertLess(len(calls), 40)
        model = DroveRegressor(loss=lambda *_: 1 / 0, random_state=0)
        with self.assertRaises(ZeroDivisionError):
            model.fit(*values())
        self.assertFalse(hasattr(model, "model_"))
        with self.assertRaises(SystemExit):
            drove.train(values(), **HOW, loss=lambda *_: exit(3))

    def test_partial_fit_and_evaluate_raise_it_too(self):
        X, y = values()
        is_well = [True]

        def moody(outputs, targets):
            if not is_well[0]:
                raise LookupError("today not")
            return half_square(outputs, targets)
        model = DroveRegressor("linear", loss=moody, rule="sgd", lr=0.01, random_state=0).partial_fit(X, y).partial_fit(X, y)
        before = model.predict(X)
        is_well[0] = False
        with self.assertRaisesRegex(LookupError, "today not"):
            model.partial_fit(X, y)
        np.testing.assert_array_equal(model.predict(X), before)

    def test_a_pass_that_fails_midway_is_undone(self):
        """Parameters and momentum are those of before the call, which an estimator that never failed shows."""
        X, y = values()
        left = [10 ** 9]

        def moody(outputs, targets):
            left[0] -= 1
            if left[0] == 0:
                raise raises[0]
            return half_square(outputs, targets)

        def start():
            left[0] = 10 ** 9
            model = DroveRegressor("mlp:8", loss=moody, rule="momentum:0.9", lr=0.01, batch=20, random_state=0)
            return model.partial_fit(X, y).partial_fit(X, y)
        well, model = start(), start()
        before, loss = model.predict(X), model.loss_
        for raises in ([LookupError("today not")], [FloatingPointError("mine")], [SystemExit(3)]):
            left[0] = 8
            with self.assertRaises(type(raises[0])):
                model.partial_fit(X, y)
            np.testing.assert_array_equal(model.predict(X), before)
            self.assertEqual(model.loss_, loss)
        left[0] = 10 ** 9
        np.testing.assert_array_equal(model.partial_fit(X, y).predict(X), well.partial_fit(X, y).predict(X))
        self.assertEqual(model.loss_, well.loss_)
        raises, left[0] = [KeyboardInterrupt()], 8  # the steps that were made count
        before = model.predict(X)
        with self.assertRaises(KeyboardInterrupt):
            model.partial_fit(X, y)
        self.assertGreater(np.abs(model.predict(X) - before).max(), 0)

        def parts():
            for n in range(0, 300, 100):
                left[0] = 3 if n == 200 else 10 ** 9
                yield X[n:n + 100], y[n:n + 100]
        raises = [LookupError("today not")]
        well, model = start(), start()
        with self.assertRaises(LookupError):
            model.partial_fit(parts())
        left[0] = 10 ** 9
        for n in 0, 100:  # the batches before the one that failed
            well.partial_fit(X[n:n + 100], y[n:n + 100])
        np.testing.assert_array_equal(model.predict(X), well.predict(X))

    def test_what_it_returns(self):
        for function, error, text in (
                (lambda z, t: 1, TypeError, "a pair"),
                (lambda z, t: (np.zeros(len(z) + 1), z), ValueError, "loss of shape"),
                (lambda z, t: (np.zeros(len(z)), z[:, 0]), ValueError, "derivative of shape"),
                (lambda z, t: (np.array(["a"] * len(z)), z), ValueError, "numbers"),
                (lambda z, t: (np.full(len(z), np.nan), z), FloatingPointError, "not finite|finite")):
            with self.subTest(text=text), self.assertRaisesRegex(error, text):
                DroveRegressor("linear", loss=function, lr=0.01, random_state=0).fit(*values())

    def test_names(self):
        self.assertEqual(Loss(lambda z, t: None).name, "lambda")
        with self.assertRaisesRegex(ValueError, "^loss squared"):
            drove.train(values(), **HOW, loss=Loss(half_square, name="squared"))
        with self.assertRaisesRegex(ValueError, "outputs"):
            Loss(half_square, outputs="logits")
        with self.assertRaisesRegex(ValueError, "function"):
            Loss(3)
        with self.assertRaisesRegex(ValueError, "processes cannot share"):
            how = {key: value for key, value in HOW.items() if key not in ("threads", "strategy")}
            drove.train(values(), **how, strategy="hogwild", workers="procs:2", loss=half_square)


class Models(unittest.TestCase):
    def test_a_model_predicts_without_it(self):
        X, y = values()
        model = drove.train((X, y), **HOW, loss=half_square).model
        again = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(again.outputs(X), model.outputs(X))
        np.save("x.npy", X)
        np.save("y.npy", y)
        with self.assertRaises(NotImplementedError):
            model.evaluate("npy:x.npy,y.npy")
        found = model.evaluate("npy:x.npy,y.npy", loss=half_square)
        self.assertAlmostEqual(found["loss"], half_square(model.outputs(X), y[:, None])[0].mean(), places=4)
        more = drove.train((X, y), **{**HOW, "model": model}, loss=half_square)
        self.assertLess(more.summary["loss"], found["loss"])

    def test_estimators(self):
        X, y = classes()
        loss = Loss(cross_entropy, outputs="softmax")
        model = DroveClassifier("mlp:8", loss=loss, until="epochs=30", lr=0.05, random_state=0)
        self.assertIs(clone(model.set_params(loss=loss)).loss.function, cross_entropy)
        self.assertGreater(cross_val_score(model, X, y, cv=3, n_jobs=2).min(), 0.6)
        again = pickle.loads(pickle.dumps(model.fit(X, y)))
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
        again.partial_fit(X, y)


if __name__ == "__main__":
    unittest.main()
