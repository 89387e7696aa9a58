"""drove: parallel stochastic gradient descent on many cores.

    from drove import DroveClassifier
    model = DroveClassifier().fit(X, y)
    model.predict_proba(X[:5])

DroveClassifier and DroveRegressor are scikit-learn estimators.  train() has everything that the program `drove train`
has, for data in files as well as in memory; load_model() reads what either has saved.
"""
import importlib as _importlib

_WHERE = {
    "DroveClassifier": "_estimators",
    "DroveRegressor": "_estimators",
    "DroveError": "_library",
    "Interrupted": "_train",
    "Loss": "_loss",
    "Progress": "_library",
    "Model": "_model",
    "load_model": "_model",
    "Result": "_train",
    "options": "_train",
    "read_log": "_train",
    "train": "_train",
}
__all__ = sorted(_WHERE)


def __getattr__(name):
    # Estimators need scikit-learn, which takes a second to import: only who asks for them waits.
    if name == "__version__":
        from drove._library import version
        return version()
    if name not in _WHERE:
        raise AttributeError(f"module 'drove' has no attribute {name!r}")
    return getattr(_importlib.import_module("drove." + _WHERE[name]), name)


def __dir__():
    return __all__ + ["__version__"]
