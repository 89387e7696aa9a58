#!/usr/bin/env python3
"""Which part of scikit-learn is a paragraph of its documentation about?  Sparse words, linear classifiers.

    python3 examples/python/texts.py [--rounds 3]

After scikit-learn's example "Classification of text documents using sparse features", on texts that every installation of
scikit-learn has: the docstrings of its functions and classes, by paragraphs, are to be told apart by package.  Times are
those of fit, without the making of features; medians of the rounds, each with another split.
"""
import argparse
import importlib
import inspect
import pkgutil
import statistics
import time
import warnings

import sklearn
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import ComplementNB
from sklearn.svm import LinearSVC

from drove import DroveClassifier

PACKAGES = ["cluster", "covariance", "datasets", "decomposition", "ensemble", "feature_extraction", "feature_selection",
            "gaussian_process", "linear_model", "manifold", "metrics", "model_selection", "neighbors", "preprocessing",
            "svm", "tree"]
CLASSIFIERS = {
    "LogisticRegression": lambda seed: LogisticRegression(C=5, max_iter=1000),
    "RidgeClassifier": lambda seed: RidgeClassifier(solver="sparse_cg"),
    "LinearSVC": lambda seed: LinearSVC(C=0.1),
    "SGDClassifier": lambda seed: SGDClassifier(loss="log_loss", alpha=1e-4, n_iter_no_change=3, random_state=seed),
    "ComplementNB": lambda seed: ComplementNB(alpha=0.1),
    "drove": lambda seed: DroveClassifier(random_state=seed),
    "drove, all threads": lambda seed: DroveClassifier(random_state=seed, n_jobs=-1),
}


def paragraphs(package):
    """The distinct paragraphs of at least eight words."""
    root = importlib.import_module("sklearn." + package)
    modules = [root] + [importlib.import_module(f"sklearn.{package}.{m.name}")
                        for m in pkgutil.iter_modules(root.__path__) if m.name not in ("tests", "setup")]
    found = set()
    for module in modules:
        for _, thing in inspect.getmembers(module, lambda t: inspect.isclass(t) or inspect.isfunction(t)):
            if not (thing.__module__ or "").startswith("sklearn." + package):
                continue
            members = [thing] + [m for _, m in inspect.getmembers(thing, inspect.isfunction)]
            for member in members:
                for text in (inspect.getdoc(member) or "").split("\n\n"):
                    if len(text.split()) >= 8:
                        found.add(" ".join(text.split()))
    return sorted(found)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    warnings.simplefilter("ignore")
    owners = {}
    for package in PACKAGES:
        for text in paragraphs(package):
            owners.setdefault(text, set()).add(package)
    pairs = sorted((text, packages.pop()) for text, packages in owners.items() if len(packages) == 1)
    texts, labels = zip(*pairs)
    print(f"scikit-learn {sklearn.__version__}: {len(texts)} paragraphs of {len(PACKAGES)} packages")
    found = {name: [] for name in CLASSIFIERS}
    for seed in range(rounds):
        train, test, y_train, y_test = train_test_split(texts, labels, test_size=0.3, random_state=seed, stratify=labels)
        words = TfidfVectorizer(sublinear_tf=True, min_df=2)
        X_train, X_test = words.fit_transform(train), words.transform(test)
        for name, make in CLASSIFIERS.items():
            model = make(seed)
            began = time.perf_counter()
            model.fit(X_train, y_train)
            found[name].append((time.perf_counter() - began, model.score(X_test, y_test)))
    print(f"{X_train.shape[0]} x {X_train.shape[1]}, {X_train.nnz / X_train.shape[0]:.0f} words each")
    for name, results in found.items():
        seconds, score = (statistics.median(part) for part in zip(*results))
        print(f"{name:20} accuracy {100 * score:5.1f} %, fit {seconds:6.2f} s")


if __name__ == "__main__":
    main()
