#!/usr/bin/env python3
"""drove's classifier among those of scikit-learn, on small sets that scikit-learn makes or brings along.

    python3 examples/python/classifiers.py [--rounds 3]

After scikit-learn's example "Classifier comparison": the same three sets of points in the plane, and three real ones.
Each classifier has its defaults behind a scaler; a score is the accuracy on held-out rows, a time that of fit, both
medians of the rounds, each of which has another split.
"""
import argparse
import statistics
import time
import warnings

from sklearn.datasets import (load_breast_cancer, load_digits, load_wine, make_circles, make_classification,
                              make_moons)
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from drove import DroveClassifier

SETS = {
    "moons": lambda seed: make_moons(600, noise=0.3, random_state=seed),
    "circles": lambda seed: make_circles(600, noise=0.2, factor=0.5, random_state=seed),
    "lines": lambda seed: make_classification(600, n_features=2, n_redundant=0, n_clusters_per_class=1, random_state=seed),
    "cancer": lambda seed: load_breast_cancer(return_X_y=True),
    "wine": lambda seed: load_wine(return_X_y=True),
    "digits": lambda seed: load_digits(return_X_y=True),
}
CLASSIFIERS = {
    "nearest neighbours": lambda seed: KNeighborsClassifier(),
    "SVC": lambda seed: SVC(random_state=seed),
    "random forest": lambda seed: RandomForestClassifier(random_state=seed),
    "gradient boosting": lambda seed: HistGradientBoostingClassifier(random_state=seed),
    "logistic regression": lambda seed: LogisticRegression(max_iter=1000),
    "SGDClassifier": lambda seed: SGDClassifier(loss="log_loss", random_state=seed),
    "MLPClassifier": lambda seed: MLPClassifier(random_state=seed, max_iter=1000),
    "drove": lambda seed: DroveClassifier(random_state=seed),
    "drove, logistic": lambda seed: DroveClassifier("logistic", random_state=seed),
}


def measure(make, X, y, seed):
    train, test, y_train, y_test = train_test_split(X, y, test_size=0.4, random_state=seed, stratify=y)
    model = make_pipeline(StandardScaler(), make(seed))
    began = time.perf_counter()
    model.fit(train, y_train)
    return time.perf_counter() - began, model.score(test, y_test)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    warnings.simplefilter("ignore")  # of solvers that did not converge
    found = {(name, data): [] for name in CLASSIFIERS for data in SETS}
    for seed in range(rounds):
        for data, load in SETS.items():
            X, y = load(seed)
            for name, make in CLASSIFIERS.items():
                found[name, data].append(measure(make, X, y, seed))
    print(f"{'':20}" + "".join(f"{data:>17}" for data in SETS))
    for name in CLASSIFIERS:
        cells = [[statistics.median(part) for part in zip(*found[name, data])] for data in SETS]
        print(f"{name:20}" + "".join(f"{100 * score:8.1f} % {seconds:5.2f} s" for seconds, score in cells))


if __name__ == "__main__":
    main()
