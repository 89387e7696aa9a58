"""scikit-learn estimators."""
from __future__ import annotations

import numbers

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import compute_class_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from drove import _batches, _targets
from drove._base import Drove, Scored, is_alone, or_as_before
from drove._library import shown


def _gives_probability(self):
    """Of the model; before there is one, unless its loss is known to give none, so that NotFittedError comes of the call."""
    if not self._is_fitted:
        loss, name = self.loss, self.model if isinstance(self.model, str) else ""
        if loss in ("hinge", "squared") or (loss is None and name.partition("?")[0] == "svm"):
            raise AttributeError(f"the loss {loss or 'hinge'} gives no probabilities")
        return True
    if not self.model_.gives_probability:
        raise AttributeError(f"the loss {self.model_.loss} gives no probabilities")
    return True


class DroveClassifier(Scored, ClassifierMixin, Drove):
    """A classifier: linear models and networks, trained by parallel stochastic gradient descent.

    X: an array, a SciPy matrix, or a table (pandas, Polars, pyarrow, the path of a Parquet file, or another that offers
    Arrow's PyCapsule interface) with numbers, texts, dates and missing values.  y: classes of any type, an indicator matrix of labels, or the name of a
    column of the table; so may be sample_weight.

    Parameters
    ----------
    model : str, default None
        "linear", "logistic", "mlp:128,64", a file that describes a network ...; "auto" makes a pack: many small models, of
        which the best together become one network.  None: a pack of dense rows; one network of sparse ones, or where a
        rule, a step size or the like is given; for wide sparse X a linear model.
    loss : str, function or drove.Loss, default None
        As the option of `drove train`, or a function of NumPy arrays: drove.Loss says of which.
    strategy, rule, lr, schedule, weight_decay, batch, until, features, precision
        As the options of `drove train`.  By default what is right is found out: step size by short trials, the end by the
        loss of examples that are held out.
    class_weight : dict, "balanced" or None
    n_jobs : int, default None
        Threads: None is 1, -1 all processors.  With 1 the same random_state gives the same model.
    random_state : int, RandomState or None
    warm_start : bool, default False
        fit goes on from the last model.
    verbose : bool, default False
        A progress bar, on standard error or in a notebook's cell.
    interrupt : "raise" or "keep", default "raise"
        After Ctrl-C in fit: raise drove.Interrupted, a KeyboardInterrupt, or warn and return.  The estimator has the model
        of the last step in either case.
    options : dict, default None
        Any other option of `drove train` by name: drove.options() lists them.

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_, n_iter_, coefs_
        As in scikit-learn; coefs_ is a dict of arrays.
    lr_ : float
        The step size.
    loss_ : float
        The training loss: at the end of fit; of partial_fit's rows, each before its own step.
    model_ : drove.Model
    summary_ : dict
        The summary of the last run: of fit, or of the first partial_fit.
    history_ : list of dict
        The figures of each evaluation of that run: epochs, examples, updates, train_s, loss, accuracy, and where there are
        such rows validation_loss, validation_accuracy, test_loss and test_accuracy.
    pack_ : dict
        Of a pack: its members with their losses and shares, and its loss with its standard error, on rows that its networks
        had not seen.
    coef_, intercept_
        Of linear models, in the units of X.
    feature_importances_
        Of tables with texts, dates or missing values: by permutation (docs/use/metrics.md).
    """

    def __init__(self, model=None, *, loss=None, strategy="auto", rule="auto", lr="auto", schedule="auto",
                 weight_decay=0.0, batch="auto", until="auto", features=None, precision=None, class_weight=None,
                 n_jobs=None, random_state=None, warm_start=False, verbose=False, interrupt="raise", options=None):
        super().__init__(model, loss=loss, strategy=strategy, rule=rule, lr=lr, schedule=schedule,
                         weight_decay=weight_decay, batch=batch, until=until, features=features, precision=precision,
                         n_jobs=n_jobs, random_state=random_state, warm_start=warm_start, verbose=verbose, interrupt=interrupt,
                         options=options)
        self.class_weight = class_weight

    _y_is_numeric = False

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    def partial_fit(self, X, y=None, classes=None, sample_weight=None):
        """One pass over these rows, from the parameters as they are.  Returns self.

        The first call needs all classes that will come; it settles how inputs are scaled, the rule, and with lr="auto"
        the step size.  FloatingPointError: the loss is no longer finite, and the model is again the one that was used
        last, to predict or to be saved.  Of a table with texts or missing values the first call settles the categories and
        fill values, too.  X alone: an iterator of batches, for each of which this is done; if one fails, or the iterator
        does, the batches before it stay learnt, and loss_ is that of the last of them (of FloatingPointError, that of the
        model above).
        """
        if is_alone(X, y, sample_weight):
            return self._part_batches(X, classes=classes)
        return self._part_rows(X, y, classes, sample_weight)

    @or_as_before
    def _part_rows(self, X, y, classes, sample_weight):
        if classes is None and sample_weight is None and self.class_weight is None and self._plain_pass(X, y):
            return self
        is_first = not self._is_fitted
        X, y, sample_weight = self._take(X, y, sample_weight, not is_first)
        X, y = self._check_part(X, y, is_first)
        if is_first and y.ndim == 2:
            self._learn(y)
        elif is_first and classes is None:
            raise ValueError("classes must be passed on the first call to partial_fit.")
        elif is_first:
            self._learn(np.asarray(classes))
        elif classes is not None and y.ndim == 1 and not np.array_equal(np.unique(classes), self.classes_):
            raise ValueError(f"`classes={classes!r}` is not the same as on last call to partial_fit, "
                             f"was: {self.classes_!r}")
        if is_first and self._is_table and len(np.unique(y)) < len(self.classes_):
            raise ValueError("partial_fit: expected rows of every class in the first call with a table")
        return self._part(X, y, self._weights(X, y, sample_weight), is_first)

    def _checked(self, X, y, reset, fills=False):
        X, y = self._check(X, y.toarray() if hasattr(y, "toarray") else y, reset, fills)
        if y.dtype == object and y.ndim == 1:
            texts = [isinstance(label, str) for label in y]
            gone = [label is None or label != label for label in y]
            if any(gone):
                raise ValueError(f"y: expected a class for each row, found {y[gone.index(True)]} in row {gone.index(True)} (rows without "
                                 "one are to be left out)")
            if any(texts) and not all(texts):
                raise ValueError(f"y: expected classes that are all texts or all numbers, found {shown(y[texts.index(True)])} and "
                                 f"{shown(y[texts.index(False)])} (y.astype(str) makes texts of all)")
        check_classification_targets(y)
        return X, y

    def _seen(self, y):
        if self.class_weight is not None:
            raise ValueError("class_weight: expected None with an iterator of batches, found another; batches may have weights")
        return _batches.Classes() if y.ndim == 1 else _targets.Indicators(y)

    def _take_seen(self, seen):
        if isinstance(seen, _targets.Indicators):
            self._targets, self.classes_ = seen.targets, np.arange(seen.targets.n_labels)
        else:
            self._learn(seen.all)

    def _learn(self, y):
        if y.ndim == 2:
            if not type_of_target(y).startswith("multilabel"):
                raise ValueError("y: expected classes, or an indicator matrix of labels")
            self._targets, self.classes_ = _targets.Labels(y.shape[1]), np.arange(y.shape[1])
            return
        self.classes_ = np.unique(y)
        if len(self.classes_) < 2:
            raise ValueError(f"y: expected at least 2 classes, found 1 class, {shown(self.classes_[0])}")
        self._targets = _targets.Classes(self.classes_)

    def _weights(self, X, y, sample_weight):
        weight = self._weight(sample_weight, X)
        if self.class_weight is None:
            return weight
        if self._is_multi_label:
            raise ValueError("class_weight: expected classes, found an indicator matrix of labels")
        each = compute_class_weight(self.class_weight, classes=self.classes_, y=y)
        each = each[self._targets.numbers(y)]
        return each if weight is None else weight * each

    @property
    def _is_multi_label(self):
        return isinstance(self._targets, _targets.Labels)

    @available_if(_gives_probability)
    def predict_proba(self, X):
        """Probabilities [n_samples, n_classes], columns as in classes_; of labels the probability of each."""
        p = self._outputs(X).astype(np.float64)
        if self._is_multi_label:
            return p
        if p.shape[1] == 1:
            p = np.column_stack([1 - p[:, 0], p[:, 0]])
        p = p[:, self._targets.order(self.model_)]
        return p / p.sum(axis=1, keepdims=True)

    def _from(self, threshold, X):
        """Of each row whether the second class has at least this probability, as 0 or 1."""
        if not isinstance(threshold, numbers.Real) or not 0 <= threshold <= 1:
            raise ValueError(f"threshold: expected a number from 0 to 1, found {threshold!r}")
        p = self._outputs(X)
        if self._is_multi_label or len(self.classes_) != 2:
            found = "label sets" if self._is_multi_label else f"{len(self.classes_)} classes"
            raise ValueError(f"threshold: expected a model of two classes, found {found}")
        if not self.model_.gives_probability:
            raise ValueError(f"threshold: expected a loss that gives probabilities, such as logistic, found {self.model_.loss}")
        if p.shape[1] == 2:
            p = p[:, self._targets.order(self.model_)][:, 1]
        else:
            p = p[:, 0] if self._targets.order(self.model_) == [0, 1] else np.float32(1) - p[:, 0]
        return (p >= np.float32(threshold)).astype(int)

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
        order = self._targets.order(self.model_)
        if out.shape[1] == 1:
            return out[:, 0] if order == [0, 1] else -out[:, 0]
        out = out[:, order]
        return out[:, 1] - out[:, 0] if out.shape[1] == 2 else out

    def predict(self, X, threshold=None):
        """The most probable class of each row; of labels an indicator matrix.

        threshold: of two classes, classes_[1] where its probability is at least this, from 0 to 1.
        """
        if threshold is not None:
            return self.classes_[self._from(threshold, X)]
        scores = self.decision_function(X)
        if self._is_multi_label:
            return (scores > 0).astype(int)
        best = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[best]


class DroveRegressor(Scored, RegressorMixin, Drove):
    """A regressor: linear models and networks, trained by parallel stochastic gradient descent.

    X: as of DroveClassifier.  y: a number, or several, for each row, or the name of a column of the table.  Parameters and
    attributes: those of DroveClassifier, without classes.
    """

    _y_is_numeric = True

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def partial_fit(self, X, y=None, sample_weight=None):
        """One pass over these rows, from the parameters as they are.  Returns self.

        The first call settles how inputs are scaled, the rule, and with lr="auto" the step size; of a table with
        texts or missing values also the categories and fill values.  X alone: an iterator of batches, for each of which
        this is done; if one fails, or the iterator does, the batches before it stay learnt, and loss_ is that of the last
        of them.  FloatingPointError: as of DroveClassifier.
        """
        if is_alone(X, y, sample_weight):
            return self._part_batches(X)
        return self._part_rows(X, y, sample_weight)

    @or_as_before
    def _part_rows(self, X, y, sample_weight):
        if sample_weight is None and self._plain_pass(X, y):
            return self
        is_first = not self._is_fitted
        X, y, sample_weight = self._take(X, y, sample_weight, not is_first)
        X, y = self._check_part(X, y, is_first)
        if is_first:
            self._learn(y)
        return self._part(X, y, self._weights(X, y, sample_weight), is_first)

    def _checked(self, X, y, reset, fills=False):
        X, y = self._check(X, y, reset, fills)
        return X, y.astype(np.float64, copy=False)

    def _learn(self, y):
        self._targets = _targets.Values(y.mean(axis=0), y.std(axis=0))

    def _seen(self, y):
        return _targets.Moments(y)

    def _take_seen(self, seen):
        self._targets = _targets.Values(seen.mean, np.sqrt(seen.square / seen.n))

    def predict(self, X):
        """A number for each row, or [n_samples, n_values]."""
        out = self._outputs(X).astype(np.float64)
        return out[:, 0] if out.shape[1] == 1 else out


__all__ = ["DroveClassifier", "DroveRegressor"]
