"""scikit-learn estimators."""
from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_array, check_random_state, compute_class_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from drove import _data
from drove._train import train_on

try:
    from sklearn.utils.validation import validate_data
except ImportError:  # before scikit-learn 1.6
    def validate_data(estimator, *args, **kwargs):
        return estimator._validate_data(*args, **kwargs)

_LABEL, _WEIGHT = "drove_label", "drove_weight"  # columns that are added to a table
_FEWEST_HELD = 50  # with fewer rows none are held out to stop by


class _Drove(BaseEstimator):
    """What both estimators share."""

    def __init__(self, model=None, *, loss=None, strategy="auto", rule="auto", lr="auto", schedule="auto",
                 weight_decay=0.0, batch="auto", until="auto", features=None, precision=None, n_jobs=None,
                 random_state=None, warm_start=False, verbose=False, options=None):
        self.model = model
        self.loss = loss
        self.strategy = strategy
        self.rule = rule
        self.lr = lr
        self.schedule = schedule
        self.weight_decay = weight_decay
        self.batch = batch
        self.until = until
        self.features = features
        self.precision = precision
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose
        self.options = options

    # ---- scikit-learn's facts ----

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _more_tags(self):  # before scikit-learn 1.6
        return {"accept_sparse": True}

    # ---- training ----

    def _values(self, n_rows):
        """The options of a run."""
        values = {"test": "none", "metrics": "none", "strategy": self.strategy, "rule": self.rule, "lr": self.lr,
                  "schedule": self.schedule, "weight_decay": self.weight_decay, "batch": self.batch,
                  "until": self.until, "features": self.features, "precision": self.precision,
                  "loss": "auto" if self.loss is None else self.loss,
                  "model": "default" if self.model is None else self.model}
        threads = 1 if self.n_jobs is None else self.n_jobs
        values["threads"] = "all" if threads == -1 else threads
        values["seed"] = _data.seed_of(self.random_state if self.random_state is None or
                                       isinstance(self.random_state, (int, np.integer))
                                       else check_random_state(self.random_state))
        if self.until == "auto" and n_rows < _FEWEST_HELD:
            values["until"] = "epochs=300"
        if values["model"] == "default" and n_rows < _FEWEST_HELD:
            values["model"] = "mlp:32"
        values.update(self.options or {})
        return values

    _kind_stays = False  # a fit that goes on has dense or sparse rows, as the model was trained on

    def _run(self, source, values):
        outcome, summary, model = train_on(source, {**values, "data": source.spec}, verbose=self.verbose)
        if model is None:
            raise FloatingPointError("training crashed: the loss is not finite; a smaller lr may help")
        self.model_ = model
        self.summary_ = summary
        self.lr_ = summary["lr"]
        self.n_iter_ = max(1, round(summary["epochs"]))
        return self

    def _source(self, x, y, weight, targets):
        """Arrays, or a table, with targets."""
        if self._is_table:
            extra = {_LABEL: targets.column(y)}
            keys = f"?label={_LABEL}&target={targets.kind}"
            if weight is not None:
                extra[_WEIGHT] = weight
                keys += f"&weights={_WEIGHT}"
            source = _data.Bytes(_data.table_bytes(x, extra))
            source.spec = "table:" + source.name + keys
            return source
        if hasattr(self, "model_") and self._kind_stays:
            x = _data.as_kind(x, self.model_.is_sparse)
        source = _data.Source(x)
        targets.put(source, y)
        if weight is not None:
            source.set_weights(weight)
        source.spec = source.name
        return source

    def _take_table(self, x):
        """Facts of a table with categories or missing values, which goes to the library as it is."""
        self.feature_names_in_ = np.asarray(_data.column_names(x), dtype=object)
        self.n_features_in_ = len(self.feature_names_in_)

    def _weight(self, sample_weight, x, y):
        if sample_weight is None:
            return None
        weight = _check_sample_weight(sample_weight, x, dtype=np.float64)
        if (weight < 0).any():
            raise ValueError("Negative values in sample_weight")
        if not weight.any():
            raise ValueError("sample_weight: expected a weight above 0, found zeros alone")
        return weight

    def _goes_on(self, is_asked):
        return is_asked and hasattr(self, "model_")

    # ---- predicting ----

    def _outputs(self, x):
        check_is_fitted(self, "model_")
        if self._is_table:
            names = _data.column_names(x) if _data.is_table(x) else None
            if names is None:
                raise ValueError("expected a table with the columns of the training data, found an array")
            missing = [n for n in self.feature_names_in_ if n not in names]
            if missing:
                raise ValueError("The feature names should match those that were passed during fit.\n"
                                 f"Feature names seen at fit time, yet now missing:\n- {missing[0]}\n")
            if len(x) == 0:
                raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required.")
            return self.model_.outputs(x, self._threads)
        x = validate_data(self, x, accept_sparse=("csr", "csc"), reset=False)
        return self.model_.outputs(x, self._threads)

    @property
    def _threads(self):
        return 0 if self.n_jobs == -1 else (self.n_jobs or 1)

    @property
    def coefs_(self):
        """The parameters, {name: array}: copies."""
        check_is_fitted(self, "model_")
        return self.model_.parameters


class _Classes:
    """y as classes."""

    kind = "class"

    def __init__(self, classes):
        self.classes = classes
        self.names = [str(c) for c in classes]
        if len(set(self.names)) != len(self.names):  # 1 and "1": told apart by number
            self.names = [str(i) for i in range(len(classes))]

    def numbers(self, y):
        numbers = np.searchsorted(self.classes, y)
        numbers[numbers == len(self.classes)] = 0
        if (self.classes[numbers] != y).any():
            unknown = y[self.classes[numbers] != y][0]
            raise ValueError(f"y: expected one of the classes of the first call, found {unknown!r}")
        return numbers

    def put(self, source, y):
        source.set_classes(self.numbers(y), len(self.classes), self.names)

    def column(self, y):
        return np.asarray(self.names, dtype=object)[self.numbers(y)]


class _Labels:
    """y as an indicator matrix."""

    kind = "labels"

    def put(self, source, y):
        source.set_labels(np.asarray(y))

    def column(self, y):
        raise ValueError("labels of a table: expected one class for each row, found an indicator matrix")


class _Values:
    """y as numbers."""

    kind = "value"

    def put(self, source, y):
        source.set_values(y)

    def column(self, y):
        if y.ndim > 1:
            raise ValueError("a table with missing values or categories: expected one value for each row")
        return y


def _gives_probability(self):
    check_is_fitted(self, "model_")
    if not self.model_.gives_probability:
        raise AttributeError(f"the loss {self.model_.loss} gives no probabilities")
    return True


class DroveClassifier(ClassifierMixin, _Drove):
    """A classifier: linear models and networks, trained by parallel stochastic gradient descent.

    X: an array, a SciPy matrix, or a table (pandas, Polars, pyarrow) with numbers, texts and missing values.  y: classes
    of any type, or an indicator matrix of labels.

    Parameters
    ----------
    model : str, default None
        "linear", "logistic", "mlp:128,64", a file that describes a network ...; "auto" compares several; None: a network,
        or for wide sparse X a linear model.
    loss, strategy, rule, lr, schedule, weight_decay, batch, until, features, precision
        As the options of `drove train`.  By default what is right is found out: step size by short trials, the end by the
        loss of examples that are held out.
    class_weight : dict, "balanced" or None
    n_jobs : int, default None
        Threads: None is 1, -1 all processors.  With 1 the same random_state gives the same model.
    random_state : int, RandomState or None
    warm_start : bool, default False
        fit goes on from the last model.
    verbose : bool, default False
        A progress bar on standard error.
    options : dict, default None
        Any other option of `drove train` by name: drove.options() lists them.

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_, n_iter_, coefs_
        As in scikit-learn; coefs_ is a dict of arrays.
    lr_ : float
        The step size.
    model_ : drove.Model
    summary_ : dict
        The summary of the run.
    """

    def __init__(self, model=None, *, loss=None, strategy="auto", rule="auto", lr="auto", schedule="auto",
                 weight_decay=0.0, batch="auto", until="auto", features=None, precision=None, class_weight=None,
                 n_jobs=None, random_state=None, warm_start=False, verbose=False, options=None):
        super().__init__(model, loss=loss, strategy=strategy, rule=rule, lr=lr, schedule=schedule,
                         weight_decay=weight_decay, batch=batch, until=until, features=features, precision=precision,
                         n_jobs=n_jobs, random_state=random_state, warm_start=warm_start, verbose=verbose,
                         options=options)
        self.class_weight = class_weight

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    def fit(self, X, y, sample_weight=None):
        """Trains on all rows.  Returns self."""
        goes_on = self._kind_stays = self._goes_on(self.warm_start)
        X, y = self._check(X, y, True)
        if not goes_on:
            self._learn_classes(y)
        values = self._values(X.shape[0])
        if goes_on:
            values["model"] = self.model_.name
        return self._fit(X, y, sample_weight, values)

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """One pass over these rows, from the parameters as they are.  Returns self.

        The first call needs all classes that will come; it settles how inputs are scaled, and with lr="auto" the step
        size.  Momentum and the like begin anew in each call.
        """
        is_first = not hasattr(self, "model_")
        self._kind_stays = not is_first
        X, y = self._check(X, y, is_first)
        if is_first and classes is None:
            raise ValueError("classes must be passed on the first call to partial_fit.")
        if is_first:
            self._learn_classes(np.asarray(classes))
        elif classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise ValueError(f"`classes={classes!r}` is not the same as on last call to partial_fit, "
                             f"was: {self.classes_!r}")
        values = self._values(X.shape[0])
        values["until"] = "epochs=1"
        if not is_first:
            values["model"] = self.model_.name
            if self.lr == "auto":
                values["lr"] = self.lr_
        return self._fit(X, y, sample_weight, values)

    def _check(self, X, y, reset):
        self._is_table = _data.is_table(X) and not _data.is_plain_table(X) if reset else self._is_table
        if self._is_table:
            if reset:
                self._take_table(X)
            return X, np.asarray(y).ravel()
        X, y = validate_data(self, X, y, accept_sparse=("csr", "csc"), multi_output=True, reset=reset)
        check_classification_targets(y)
        if y.ndim == 2 and y.shape[1] == 1:
            import warnings

            from sklearn.exceptions import DataConversionWarning
            warnings.warn("A column-vector y was passed when a 1d array was expected. Please change the shape of y to "
                          "(n_samples, ), for example using ravel().", DataConversionWarning, stacklevel=3)
            y = y.ravel()
        return X, y

    def _learn_classes(self, y):
        if y.ndim == 2:
            if not type_of_target(y).startswith("multilabel"):
                raise ValueError("y: expected classes, or an indicator matrix of labels")
            self._targets, self.classes_ = _Labels(), np.arange(y.shape[1])
            return
        self.classes_ = np.unique(y)
        if len(self.classes_) < 2:
            raise ValueError(f"y: expected at least 2 classes, found 1 class, {self.classes_[0]!r}")
        self._targets = _Classes(self.classes_)

    def _fit(self, X, y, sample_weight, values):
        weight = self._weight(sample_weight, X, y)
        if self.class_weight is not None:
            each = compute_class_weight(self.class_weight, classes=self.classes_, y=y)
            each = each[self._targets.numbers(y)]
            weight = each if weight is None else weight * each
        return self._run(self._source(X, y, weight, self._targets), values)

    @property
    def _is_multi_label(self):
        return isinstance(self._targets, _Labels)

    def _in_order(self, outputs):
        """Columns in the order of classes_: a table's classes have an order of their own."""
        names = self.model_.class_names
        if self._is_multi_label or names is None or outputs.shape[1] < 2:
            return outputs
        return outputs[:, [names.index(name) for name in self._targets.names]]

    def _pair_sign(self):
        """Of the one output for two classes: 1 if it is that of classes_[1], else -1."""
        names = self.model_.class_names
        return 1 if names is None or names[1] == self._targets.names[1] else -1

    @available_if(_gives_probability)
    def predict_proba(self, X):
        """Probabilities [n_samples, n_classes], columns as in classes_; of labels the probability of each."""
        p = self._outputs(X).astype(np.float64)
        if self._is_multi_label:
            return p
        if p.shape[1] > 1:
            p = self._in_order(p)
            return p / p.sum(axis=1, keepdims=True)
        one = p[:, 0] if self._pair_sign() > 0 else 1 - p[:, 0]
        return np.column_stack([1 - one, one])

    @available_if(_gives_probability)
    def predict_log_proba(self, X):
        """The logarithm of predict_proba."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def decision_function(self, X):
        """Scores: of two classes the log-odds or margin of classes_[1], of more one for each class."""
        out = self._outputs(X).astype(np.float64)
        least = np.finfo(np.float32).tiny
        if self.model_.gives_probability:
            if self._is_multi_label or out.shape[1] == 1:
                out = np.log(np.maximum(out, least)) - np.log(np.maximum(1 - out, least))
            else:
                out = np.log(np.maximum(out, least))
        if self._is_multi_label:
            return out
        if out.shape[1] == 1:
            return self._pair_sign() * out[:, 0]
        out = self._in_order(out)
        return out[:, 1] - out[:, 0] if out.shape[1] == 2 else out

    def predict(self, X):
        """The most probable class of each row; of labels an indicator matrix."""
        scores = self.decision_function(X)
        if self._is_multi_label:
            return (scores > 0).astype(int)
        best = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[best]


class DroveRegressor(RegressorMixin, _Drove):
    """A regressor: linear models and networks, trained by parallel stochastic gradient descent.

    X: an array, a SciPy matrix, or a table (pandas, Polars, pyarrow) with numbers, texts and missing values.  y: a number,
    or several, for each row.  Parameters and attributes: those of DroveClassifier, without classes.
    """

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def fit(self, X, y, sample_weight=None):
        """Trains on all rows.  Returns self."""
        goes_on = self._kind_stays = self._goes_on(self.warm_start)
        X, y = self._check(X, y, True)
        values = self._values(X.shape[0])
        if goes_on:
            values["model"] = self.model_.name
        return self._run(self._source(X, y, self._weight(sample_weight, X, y), _Values()), values)

    def partial_fit(self, X, y, sample_weight=None):
        """One pass over these rows, from the parameters as they are.  Returns self.

        The first call settles how inputs are scaled, and with lr="auto" the step size.
        """
        is_first = not hasattr(self, "model_")
        self._kind_stays = not is_first
        X, y = self._check(X, y, is_first)
        values = self._values(X.shape[0])
        values["until"] = "epochs=1"
        if not is_first:
            values["model"] = self.model_.name
            if self.lr == "auto":
                values["lr"] = self.lr_
        return self._run(self._source(X, y, self._weight(sample_weight, X, y), _Values()), values)

    def _check(self, X, y, reset):
        self._is_table = _data.is_table(X) and not _data.is_plain_table(X) if reset else self._is_table
        if self._is_table:
            if reset:
                self._take_table(X)
            return X, np.asarray(y, dtype=np.float64)
        X, y = validate_data(self, X, y, accept_sparse=("csr", "csc"), multi_output=True, y_numeric=True, reset=reset)
        if y.ndim == 2 and y.shape[1] == 1:
            import warnings

            from sklearn.exceptions import DataConversionWarning
            warnings.warn("A column-vector y was passed when a 1d array was expected. Please change the shape of y to "
                          "(n_samples, ), for example using ravel().", DataConversionWarning, stacklevel=3)
            y = y.ravel()
        return X, y.astype(np.float64, copy=False)

    def predict(self, X):
        """A number for each row, or [n_samples, n_values]."""
        out = self._outputs(X).astype(np.float64)
        return out[:, 0] if out.shape[1] == 1 else out


__all__ = ["DroveClassifier", "DroveRegressor", "NotFittedError", "check_array"]
