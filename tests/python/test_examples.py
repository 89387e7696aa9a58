"""The examples in Python, on little of what they compare."""
import importlib.util
import json
import os
import unittest

from sklearn.feature_extraction.text import TfidfVectorizer


def example(name):
    path = os.path.join(os.environ["DROVE_SOURCE_DIR"], "examples/python", name + ".py")
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Examples(unittest.TestCase):
    def test_classifiers(self):
        classifiers = example("classifiers")
        X, y = classifiers.SETS["wine"](0)
        for name in ("drove", "drove, logistic"):
            seconds, score = classifiers.measure(classifiers.CLASSIFIERS[name], X, y, 0)
            self.assertGreater(score, 0.9, name)
            self.assertGreater(seconds, 0)

    def test_texts(self):
        texts = example("texts")
        tree, svm = texts.paragraphs("tree"), texts.paragraphs("svm")
        only = [(t, "tree") for t in set(tree) - set(svm)] + [(t, "svm") for t in set(svm) - set(tree)]
        words, labels = zip(*sorted(only))
        X = TfidfVectorizer().fit_transform(words)
        model = texts.CLASSIFIERS["drove"](0).fit(X, labels)
        self.assertGreater(model.score(X, labels), 0.8)

    def test_history(self):
        """The cells of the notebook run, and what it shows of the fit is drawn."""
        with open(os.path.join(os.environ["DROVE_SOURCE_DIR"], "examples/python/history.ipynb"), encoding="utf-8") as file:
            cells = [cell for cell in json.load(file)["cells"] if cell["cell_type"] == "code"]
        names = {}
        for cell in cells:
            exec("".join(cell["source"]), names)
        page = names["model"].history_._repr_html_()
        for word in ("loss", "validation_loss", "test_loss"):
            self.assertIn(f">{word}</text>", page)
        self.assertEqual(page.count("<polyline"), 3)
        self.assertEqual(names["linear"].coef_.shape, (1, 4))

    def test_quantiles(self):
        below, above = example("quantiles").main()
        self.assertAlmostEqual(below, 0.1, delta=0.03)
        self.assertAlmostEqual(above, 0.1, delta=0.03)


if __name__ == "__main__":
    unittest.main()
