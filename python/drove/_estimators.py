"""scikit-learn estimators."""
from __future__ import annotations

import functools
import numbers
import warnings

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import DataConversionWarning
from sklearn.utils import check_array, check_random_state, check_X_y, compute_class_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from drove import _batches, _data, _kinds, _parquet, _tables, _targets
from drove._library import names_of_options, shown
from drove._train import train_on
from drove._trainer import Learner

try:
    from sklearn.utils.validation import validate_data
except ImportError:  # before scikit-learn 1.6
    def validate_data(estimator, *args, **kwargs):
        return estimator._validate_data(*args, **kwargs)

# What of `options` a pass of partial_fit heeds; with others it is a run.
_OF_A_PASS = {"clip", "isa"}
_NAMES = {"threads": "n_jobs", "seed": "random_state"}  # of options, where a parameter's is another
_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
_FEWEST_HELD = 50  # with fewer rows none are held out to stop by
# Linear models of so many dense rows make 32 passes of falling steps over all of them: on scikit-learn's sets and on eight
# tables that is better than to hold a tenth of them out and to stop by its loss (docs/results/estimators.md).
_ROWS_OF_LINEAR, _PASSES_OF_LINEAR = (400, 20000), "epochs=32"
# Options that parameters of the estimators, or their data, stand for.
_OWN = {"data", "label", "weights", "class_weight", "model", "loss", "strategy", "rule", "lr", "schedule", "weight_decay",
        "batch", "until", "features", "precision", "threads", "workers", "seed", "resume", "replay"}


def _is_alone(X, y, sample_weight):
    """Whether X is an iterator of batches, which has all."""
    if y is not None or not _batches.is_batches(X):
        return False
    if sample_weight is not None:
        raise ValueError("sample_weight: expected None with an iterator of batches, found another; batches may have weights")
    return True


def _or_as_before(method):
    """A method that fails leaves the estimator as it was, but for the steps of a pass that Ctrl-C ended."""
    @functools.wraps(method)
    def run(self, *args, **kwargs):
        before = dict(self.__dict__)
        try:
            with names_of_options(_NAMES):
                return method(self, *args, **kwargs)
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise
    return run


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

    # ---- options ----

    def _threads(self):
        if self.n_jobs is not None and not isinstance(self.n_jobs, numbers.Integral):
            raise ValueError(f"n_jobs: expected a whole number or None, found {self.n_jobs!r}")
        return 1 if self.n_jobs is None else effective_n_jobs(int(self.n_jobs))

    def _more_options(self):
        found = {}
        for name, value in dict(self.options or {}).items():
            name = str(name).replace("-", "_")
            if name in _OWN:
                raise ValueError(f"options: expected what has no parameter of its own, found {name!r}")
            found[name] = value
        return found

    def _is_linear(self):
        return isinstance(self.model, str) and self.model.partition("?")[0] in ("linear", "logistic")

    def _values(self, n_rows, is_sparse=False):
        """The options of a run."""
        is_seed = self.random_state is None or isinstance(self.random_state, numbers.Integral)
        values = {"test": "none", "metrics": "none", "strategy": self.strategy, "rule": self.rule, "lr": self.lr,
                  "schedule": self.schedule, "weight_decay": self.weight_decay, "batch": self.batch,
                  "until": self.until, "features": self.features, "precision": self.precision,
                  "loss": "auto" if self.loss is None else self.loss,
                  "model": "default" if self.model is None else self.model,
                  "threads": self._threads(),
                  "seed": _data.seed_of(self.random_state if is_seed else check_random_state(self.random_state))}
        if self.until == "auto" and n_rows < _FEWEST_HELD:
            values["until"] = "epochs=300"
        elif (self.until == "auto" and self.lr == "auto" and self._is_linear() and not is_sparse and
              _ROWS_OF_LINEAR[0] <= n_rows <= _ROWS_OF_LINEAR[1]):
            values["until"] = _PASSES_OF_LINEAR
        if values["model"] == "default" and n_rows < _FEWEST_HELD:
            values["model"] = "mlp:32"
        values.update(self._more_options())
        return values

    # ---- training ----

    def _take(self, X, y, sample_weight, goes_on):
        """X may be a path; y and sample_weight names of columns of a table, here or in an earlier call."""
        X, (y, sample_weight), taken = _tables.take(_parquet.of_path(X), (y, sample_weight))
        before = getattr(self, "_taken", []) if goes_on else []
        self._taken = [*before, *(name for name in taken if name not in before)]
        return _tables.without(X, self._taken), y, sample_weight

    def _check(self, X, y, reset):
        """X and y, checked; a table with categories or missing values stays one."""
        X = _tables.whole(X)
        goes_on_with_one = not reset and self._is_table
        is_table = _tables.is_table(X) and (goes_on_with_one or not _tables.is_plain(X))
        if not reset and is_table != self._is_table:
            raise ValueError("expected the kind of data of the first call: " +
                             ("a table with texts or missing values" if self._is_table else "numbers alone"))
        self._is_table = is_table
        if not is_table:
            how = {"accept_sparse": ("csr", "csc"), "multi_output": True, "y_numeric": self._y_is_numeric}
            if isinstance(X, _parquet.Parquet):
                X, y = self._check_file(X, y, how, reset)
            else:
                X, y = validate_data(self, X, y, reset=reset, **how)
        else:
            X, y = self._check_table(X, y, reset)
        if y.ndim == 2 and y.shape[1] == 1:
            warnings.warn("A column-vector y was passed when a 1d array was expected. Please change the shape of y to "
                          "(n_samples, ), for example using ravel().", DataConversionWarning, stacklevel=4)
            y = y.ravel()
        return X, y

    def _check_file(self, X, y, how, reset):
        """A Parquet file of numbers, of which scikit-learn has an array without names."""
        if not reset:
            X, y = check_X_y(self._matched(X).to_numpy(), y, **how)
            return X, y
        names = np.asarray(X.column_names, dtype=object)
        X, y = validate_data(self, X.to_numpy(), y, reset=True, **how)
        self.feature_names_in_ = names
        return X, y

    def _check_table(self, X, y, reset):
        names = _tables.column_names(X)
        y = np.asarray(y)
        if len(set(names)) != len(names):
            raise ValueError("expected columns with different names, found two of the same")
        if len(X) == 0:
            raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required.")
        if len(y) != len(X):
            raise ValueError(f"Found input variables with inconsistent numbers of samples: [{len(X)}, {len(y)}]")
        if _data.has_missing(y):
            raise ValueError("Input y contains NaN.")
        if not reset:
            X = self._matched(X)
            self._heed_kinds(X)
            return X, y
        self.feature_names_in_ = np.asarray(names, dtype=object)
        self._kinds = _kinds.of_table(X)
        self.n_features_in_ = len(names)
        self._columns = _tables.names_in_library(X)
        return X, y

    def _heed_kinds(self, table):
        """Says which columns have another type than in fit and cells that cannot be read; an error where none can."""
        before = getattr(self, "_kinds", {})  # older pickles have none
        _kinds.check(table, before, lambda: self.model_.table_remarks(table, self._columns))

    def _matched(self, table):
        """The columns of the training data, in their order; all, if those had no names."""
        if "feature_names_in_" not in self.__dict__:
            return table
        names = _tables.column_names(table)
        missing = [name for name in self.feature_names_in_ if name not in names]
        if missing:
            raise ValueError("The feature names should match those that were passed during fit.\n"
                             f"Feature names seen at fit time, yet now missing:\n- {missing[0]}\n")
        return _tables.select(table, list(self.feature_names_in_))

    def _source(self, x, y, weight, goes_on):
        """Arrays, or a table, with targets."""
        if not self._is_table:
            source = _data.Source(_data.as_kind(x, self._learner.is_sparse) if goes_on else x)
            self._targets.put(source, y)
            if weight is not None:
                source.set_weights(weight)
            source.spec = source.name
            return source
        of_weight = _tables.free_name("weight", self._columns)
        targets = [(_tables.free_name(name, self._columns), *rest) for name, *rest in self._targets.columns(y)]
        keys = f"?label={','.join(name for name, *_ in targets)}&target={self._targets.kind}"
        if weight is not None:
            keys += f"&weights={of_weight}"
        if _tables.offers_arrow(x) and self._columns == _tables.column_names(x):
            source = _tables.Table(x)
            for target in targets:
                source.add(*target)
            if weight is not None:
                source.add(of_weight, weight)
        else:
            extra = {name: numbers if texts is None else np.asarray(texts, dtype=object)[numbers]
                     for name, numbers, texts in targets}
            if weight is not None:
                extra[of_weight] = weight
            source = _tables.TextTable(x, self._columns, extra)
        source.spec += keys
        return source

    def _run(self, X, y, weight, values, goes_on):
        return self._train(self._source(X, y, weight, goes_on), values, goes_on)

    def _train(self, source, values, goes_on):
        if goes_on:
            values["model"] = self.model_.name
        outcome, summary, model = train_on(source, {**values, "data": source.spec}, verbose=self.verbose)
        if model is None:
            raise FloatingPointError("training crashed: the loss is not finite; a smaller lr may help")
        self._targets.check(model)
        self._learner = Learner(model)
        self.summary_ = summary
        self.loss_ = summary["loss"]
        self.lr_ = summary["lr"]
        self.n_iter_ = max(1, round(summary["epochs"]))
        return self

    def _fit_batches(self, batches, goes_on):
        """fit of an iterator: its rows go to a file, which is trained on."""
        take = _targets.Batch(self, goes_on)
        spool = _batches.Spool(batches, take)
        take.finish()
        return self._train(spool, self._values(spool.n_rows, spool.is_sparse), goes_on)

    def _part_batches(self, batches, **first):
        """partial_fit of an iterator: of one batch after the other.  What fails is one of these calls: those before stay,
        but for numbers that are not finite, which lead back to the last model that was made, and to its loss."""
        loss_of_model = self.loss_ if self._is_fitted and self.model_ else None
        try:
            for batch in batches:
                if self._is_fitted and not self._learner.is_ahead:  # the iterator may have asked for the model
                    loss_of_model = self.loss_
                X, y, weight = _batches.parts(batch)
                self.partial_fit(X, y, sample_weight=weight, **first)
        except FloatingPointError:
            if loss_of_model is not None:
                self.loss_ = loss_of_model
            raise
        if not self._is_fitted:
            raise ValueError("expected at least one batch, found none")
        return self

    @property
    def _is_fitted(self):
        return "_learner" in self.__dict__

    @property
    def model_(self):
        """The trained drove.Model; after partial_fit that of the last step."""
        if not self._is_fitted:
            raise AttributeError(f"{type(self).__name__} is not fitted: it has no model_")
        return self._learner.model

    def _is_plain(self, X):
        """Rows for a fitted model that the library checks as well as scikit-learn does, and sooner."""
        return (type(X) is np.ndarray and X.ndim == 2 and X.dtype in _FLOATS and len(X) > 0 and self._is_fitted and
                X.shape[1] == self.n_features_in_ and "feature_names_in_" not in self.__dict__)

    def _pass(self, X, y, weight, is_plain=False):
        """One pass over further rows in place of a run.  False: these options, or this model, need a run."""
        if (self._is_table or self.n_jobs not in (None, 1) or self.precision is not None or self.features is not None or
                self.strategy not in ("auto", "sequential") or self.schedule not in ("auto", "constant") or
                (self.options and not _OF_A_PASS.issuperset(self.options))):
            return False
        key = (self.rule, self.lr, self.batch, self.weight_decay, self.loss, self.random_state,
               tuple((self.options or {}).items()))
        trainer = self._learner.trainer(key, self._pass_values, self._targets.scale)
        if trainer is None:
            return False
        source = _data.Source(_data.as_kind(X, self._learner.is_sparse))
        if is_plain:
            self._targets.put_plain(source, y)
        else:
            self._targets.put(source, y)
        if weight is not None:
            source.set_weights(weight)
        self.loss_ = self._learner.run(trainer, source)
        return True

    def _plain_pass(self, X, y):
        """The same without scikit-learn's checks, which take longer than a step.  False: nothing is done."""
        if not (self._is_plain(X) and type(y) is np.ndarray and y.ndim == 1 and len(y) == len(X) and
                y.dtype.kind in self._targets.plain_kinds):
            return False
        try:
            return self._pass(X, y, None, is_plain=True)
        except ValueError:
            return False  # what is wrong is said in scikit-learn's words

    def _part(self, X, y, weight, is_first):
        """What partial_fit does, with rows that were checked."""
        if not is_first and self._pass(X, y, weight):
            return self
        return self._run(X, y, weight, self._one_pass(self._values(X.shape[0]), is_first), not is_first)

    def _pass_values(self):
        values = self._one_pass(self._values(_FEWEST_HELD), False)
        return {name: values[name] for name in ("rule", "lr", "batch", "weight_decay", "loss", "seed",
                                                *_OF_A_PASS.intersection(values))}

    def _one_pass(self, values, is_first):
        """The options of partial_fit: what the first call chose stays."""
        values["until"] = "epochs=1"
        if is_first:
            return values
        for name in ("rule", "lr", "batch"):
            if values[name] == "auto":
                values[name] = self.summary_[name]
        if values["schedule"] == "auto":
            values["schedule"] = "constant"
        return values

    def _weight(self, sample_weight, x):
        if sample_weight is None:
            return None
        weight = _check_sample_weight(sample_weight, x, dtype=np.float64)
        if (weight < 0).any():
            raise ValueError("Negative values in sample_weight")
        if not weight.any():
            raise ValueError("sample_weight: expected a weight above 0, found zeros alone")
        return weight

    # ---- predicting ----

    def _outputs(self, x):
        if self._is_plain(x):
            try:
                return self.model_.outputs(x, self._threads())
            except ValueError:
                pass  # what is wrong is said in scikit-learn's words
        check_is_fitted(self, "model_")
        x = _parquet.of_path(x)
        if isinstance(x, _parquet.Parquet):
            return self._outputs_of_file(self._matched(x))
        x = _tables.whole(_tables.without(x, getattr(self, "_taken", [])))
        if not self._is_table:
            x = validate_data(self, x, accept_sparse=("csr", "csc"), reset=False)
            return self.model_.outputs(x, self._threads())
        if not _tables.is_table(x):
            raise ValueError("expected a table with the columns of the training data, found an array")
        x = self._matched(x)
        if len(x) == 0:
            raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required.")
        self._heed_kinds(x)
        return self.model_.table_outputs(x, self._columns, self._threads())

    def _outputs_of_file(self, file):
        """Of one batch after the other, so that the table is never in memory whole."""
        if len(file) == 0:
            raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required.")
        if self._is_table:
            self._heed_kinds(file)
            return np.concatenate([self.model_.table_outputs(part, self._columns, self._threads())
                                   for part in file.tables()])
        return np.concatenate([self.model_.outputs(self._numbers(part), self._threads()) for part in file.tables()])

    def _numbers(self, part):
        """A part of a file as an array, checked."""
        if not _tables.is_plain(part):
            raise ValueError("Input X contains NaN or texts: expected the kind of data of the first call, numbers alone")
        array = _tables.to_array(part)
        if "feature_names_in_" in self.__dict__:  # which the columns were matched with
            return check_array(array)
        return validate_data(self, array, reset=False)

    @property
    def coefs_(self):
        """The parameters, {name: array}: copies."""
        check_is_fitted(self, "model_")
        return self.model_.parameters


class _Scored:
    """score() that takes names of columns; it stands before scikit-learn's own."""

    def score(self, X, y, sample_weight=None):
        """The accuracy of predict(X), or R^2 of values.  y and sample_weight may be names of columns of X."""
        X, (y, sample_weight), _ = _tables.take(_parquet.opened(X), (y, sample_weight))
        return super().score(X, y, sample_weight)


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


class DroveClassifier(_Scored, ClassifierMixin, _Drove):
    """A classifier: linear models and networks, trained by parallel stochastic gradient descent.

    X: an array, a SciPy matrix, or a table (pandas, Polars, pyarrow, the path of a Parquet file, or another that offers
    Arrow's PyCapsule interface) with numbers, texts, dates and missing values.  y: classes of any type, an indicator matrix of labels, or the name of a
    column of the table; so may be sample_weight.

    Parameters
    ----------
    model : str, default None
        "linear", "logistic", "mlp:128,64", a file that describes a network ...; "auto" compares several; None: a network,
        or for wide sparse X a linear model.
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
    """

    def __init__(self, model=None, *, loss=None, strategy="auto", rule="auto", lr="auto", schedule="auto",
                 weight_decay=0.0, batch="auto", until="auto", features=None, precision=None, class_weight=None,
                 n_jobs=None, random_state=None, warm_start=False, verbose=False, options=None):
        super().__init__(model, loss=loss, strategy=strategy, rule=rule, lr=lr, schedule=schedule,
                         weight_decay=weight_decay, batch=batch, until=until, features=features, precision=precision,
                         n_jobs=n_jobs, random_state=random_state, warm_start=warm_start, verbose=verbose,
                         options=options)
        self.class_weight = class_weight

    _y_is_numeric = False

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    @_or_as_before
    def fit(self, X, y=None, sample_weight=None):
        """Trains on all rows.  X alone: an iterator of batches (X, y) or (X, y, sample_weight).  Returns self."""
        goes_on = self.warm_start and self._is_fitted
        if _is_alone(X, y, sample_weight):
            return self._fit_batches(X, goes_on)
        X, y, sample_weight = self._take(X, y, sample_weight, goes_on)
        X, y = self._check_classes(X, y, not goes_on)
        if not goes_on:
            self._learn_classes(y)
        return self._run(X, y, self._weights(X, y, sample_weight), self._values(X.shape[0], hasattr(X, "nnz")), goes_on)

    def partial_fit(self, X, y=None, classes=None, sample_weight=None):
        """One pass over these rows, from the parameters as they are.  Returns self.

        The first call needs all classes that will come; it settles how inputs are scaled, the rule, and with lr="auto"
        the step size.  FloatingPointError: the loss is no longer finite, and the model is again the one that was used
        last, to predict or to be saved.  Of a table with texts or missing values the first call settles the categories and
        fill values, too.  X alone: an iterator of batches, for each of which this is done; if one fails, or the iterator
        does, the batches before it stay learnt, and loss_ is that of the last of them (of FloatingPointError, that of the
        model above).
        """
        if _is_alone(X, y, sample_weight):
            return self._part_batches(X, classes=classes)
        return self._part_rows(X, y, classes, sample_weight)

    @_or_as_before
    def _part_rows(self, X, y, classes, sample_weight):
        if classes is None and sample_weight is None and self.class_weight is None and self._plain_pass(X, y):
            return self
        is_first = not self._is_fitted
        X, y, sample_weight = self._take(X, y, sample_weight, not is_first)
        X, y = self._check_classes(X, y, is_first)
        if is_first and y.ndim == 2:
            self._learn_classes(y)
        elif is_first and classes is None:
            raise ValueError("classes must be passed on the first call to partial_fit.")
        elif is_first:
            self._learn_classes(np.asarray(classes))
        elif classes is not None and y.ndim == 1 and not np.array_equal(np.unique(classes), self.classes_):
            raise ValueError(f"`classes={classes!r}` is not the same as on last call to partial_fit, "
                             f"was: {self.classes_!r}")
        if is_first and self._is_table and len(np.unique(y)) < len(self.classes_):
            raise ValueError("partial_fit: expected rows of every class in the first call with a table")
        return self._part(X, y, self._weights(X, y, sample_weight), is_first)

    def _check_classes(self, X, y, reset):
        X, y = self._check(X, y.toarray() if hasattr(y, "toarray") else y, reset)
        check_classification_targets(y)
        return X, y

    _check_part = _check_classes

    def _seen(self, y):
        if self.class_weight is not None:
            raise ValueError("class_weight: expected None with an iterator of batches, found another; batches may have weights")
        return _batches.Classes() if y.ndim == 1 else _targets.Indicators(y)

    def _take_seen(self, seen):
        if isinstance(seen, _targets.Indicators):
            self._targets, self.classes_ = seen.targets, np.arange(seen.targets.n_labels)
        else:
            self._learn_classes(seen.all)

    def _learn_classes(self, y):
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

    def predict(self, X):
        """The most probable class of each row; of labels an indicator matrix."""
        scores = self.decision_function(X)
        if self._is_multi_label:
            return (scores > 0).astype(int)
        best = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[best]


class DroveRegressor(_Scored, RegressorMixin, _Drove):
    """A regressor: linear models and networks, trained by parallel stochastic gradient descent.

    X: as of DroveClassifier.  y: a number, or several, for each row, or the name of a column of the table.  Parameters and
    attributes: those of DroveClassifier, without classes.
    """

    _y_is_numeric = True

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    @_or_as_before
    def fit(self, X, y=None, sample_weight=None):
        """Trains on all rows.  X alone: an iterator of batches (X, y) or (X, y, sample_weight).  Returns self."""
        goes_on = self.warm_start and self._is_fitted
        if _is_alone(X, y, sample_weight):
            return self._fit_batches(X, goes_on)
        X, y, sample_weight = self._take(X, y, sample_weight, goes_on)
        X, y = self._check_values(X, y, not goes_on)
        return self._run(X, y, self._weight(sample_weight, X), self._values(X.shape[0], hasattr(X, "nnz")), goes_on)

    def partial_fit(self, X, y=None, sample_weight=None):
        """One pass over these rows, from the parameters as they are.  Returns self.

        The first call settles how inputs are scaled, the rule, and with lr="auto" the step size; of a table with
        texts or missing values also the categories and fill values.  X alone: an iterator of batches, for each of which
        this is done; if one fails, or the iterator does, the batches before it stay learnt, and loss_ is that of the last
        of them.  FloatingPointError: as of DroveClassifier.
        """
        if _is_alone(X, y, sample_weight):
            return self._part_batches(X)
        return self._part_rows(X, y, sample_weight)

    @_or_as_before
    def _part_rows(self, X, y, sample_weight):
        if sample_weight is None and self._plain_pass(X, y):
            return self
        is_first = not self._is_fitted
        X, y, sample_weight = self._take(X, y, sample_weight, not is_first)
        X, y = self._check_values(X, y, is_first)
        return self._part(X, y, self._weight(sample_weight, X), is_first)

    def _check_values(self, X, y, reset):
        X, y = self._check(X, y, reset)
        y = y.astype(np.float64, copy=False)
        if reset:
            self._targets = _targets.Values(y.mean(axis=0), y.std(axis=0))
        return X, y

    _check_part = _check_values

    def _seen(self, y):
        return _targets.Moments(y)

    def _take_seen(self, seen):
        self._targets = _targets.Values(seen.mean, np.sqrt(seen.square / seen.n))

    def predict(self, X):
        """A number for each row, or [n_samples, n_values]."""
        out = self._outputs(X).astype(np.float64)
        return out[:, 0] if out.shape[1] == 1 else out


__all__ = ["DroveClassifier", "DroveRegressor"]
