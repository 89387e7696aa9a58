"""What scikit-learn estimators of drove share: checks of rows, runs, passes of partial_fit, outputs."""
from __future__ import annotations

import functools
import numbers
import warnings

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator
from sklearn.exceptions import DataConversionWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from drove import _batches, _data, _kinds, _parquet, _tables, _targets
from drove._library import names_of_options
from drove._train import Interrupted, train_on
from drove._trainer import Learner

try:
    from sklearn.utils.validation import validate_data
    _ANY_NUMBER = {"ensure_all_finite": False}  # missing and infinite ones are dealt with here
except ImportError:  # before scikit-learn 1.6
    _ANY_NUMBER = {"force_all_finite": False}

    def validate_data(estimator, *args, **kwargs):
        return estimator._validate_data(*args, **kwargs)

# What of `options` a pass of partial_fit heeds; with others it is a run.
_OF_A_PASS = {"clip", "isa"}
_NAMES = {"threads": "n_jobs", "seed": "random_state"}  # of options, where a parameter's is another
_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
_FEWEST_HELD = 50  # with fewer rows none are held out to stop by
# By default arrays and tables make a pack of small models (docs/use/models.md), of fewer members where rows are few, which
# takes a fraction of the time.  Wider rows have no room for the members' embeddings of numbers.
_FEWEST_OF_PACK, _MOST_COLUMNS_OF_PACK = 20, 512
_ROWS_OF_SMALL_PACK, _MEMBERS_OF_SMALL_PACK = 500, 5
_NETWORK = "mlp:128,128,128"  # which drove trains where no pack is made
_LOSSES_OF_PACK = (None, "softmax", "sigmoid", "logistic")
_AGAINST_PACK = {"global_batch", "clip", "label_smoothing", "init", "activation", "rule_state", "partition", "machine",
                 "record"}  # of options
# Linear models of so many dense rows make 32 passes of falling steps over all of them: on scikit-learn's sets and on eight
# tables that is better than to hold a tenth of them out and to stop by its loss (docs/results/estimators.md).
_ROWS_OF_LINEAR, _PASSES_OF_LINEAR = (400, 20000), "epochs=32"
# Options that parameters of the estimators, or their data, stand for.
_OWN = {"data", "label", "weights", "class_weight", "model", "loss", "strategy", "rule", "lr", "schedule", "weight_decay",
        "batch", "until", "features", "precision", "threads", "workers", "seed", "resume", "replay"}


def is_alone(X, y, sample_weight):
    """Whether X is an iterator of batches, which has all."""
    if y is not None or not _batches.is_batches(X):
        return False
    if sample_weight is not None:
        raise ValueError("sample_weight: expected None with an iterator of batches, found another; batches may have weights")
    return True


def or_as_before(method):
    """A method that fails leaves the estimator as it was, but for the steps before Ctrl-C."""
    @functools.wraps(method)
    def run(self, *args, **kwargs):
        before = dict(self.__dict__)
        try:
            with names_of_options(_NAMES):
                return method(self, *args, **kwargs)
        except BaseException as error:
            if not isinstance(error, Interrupted) or error.result.model is None:  # else it has the model of the last step
                self.__dict__.clear()
                self.__dict__.update(before)
            raise
    return run


class Drove(BaseEstimator):
    """What both estimators share."""

    def __init__(self, model=None, *, loss=None, strategy="auto", rule="auto", lr="auto", schedule="auto",
                 weight_decay=0.0, batch="auto", until="auto", features=None, precision=None, n_jobs=None,
                 random_state=None, warm_start=False, verbose=False, interrupt="raise", options=None):
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
        self.interrupt = interrupt
        self.options = options

    # ---- scikit-learn's facts ----

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags

    def _more_tags(self):  # before scikit-learn 1.6
        return {"accept_sparse": True, "allow_nan": True}

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
        has_columns = getattr(self, "_is_table", False)  # whose importance comes with the metrics
        values = {"test": "none", "metrics": "auto" if has_columns else "none", "strategy": self.strategy, "rule": self.rule, "lr": self.lr,
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

    def _is_pack(self, X, values):
        """Whether fit makes a pack of models: it is asked for, or nothing says otherwise.  Of sparse rows there is none."""
        if hasattr(X, "nnz") or self.model not in (None, "auto"):
            return False
        if self.model == "auto":
            return True
        settings = (self.strategy, self.rule, self.lr, self.schedule, self.batch)
        ends = {each.partition("=")[0].strip() for each in str(values["until"]).split(",")}
        losses = (*_LOSSES_OF_PACK, "squared") if self._y_is_numeric else _LOSSES_OF_PACK
        return (all(isinstance(each, str) and each == "auto" for each in settings) and self.weight_decay == 0 and
                self.features is None and self.precision is None and ends <= {"auto", "epochs", "seconds"} and
                (self.loss is None or (isinstance(self.loss, str) and self.loss in losses)) and
                not _AGAINST_PACK.intersection(values) and
                X.shape[0] >= _FEWEST_OF_PACK and (self._is_table or X.shape[1] <= _MOST_COLUMNS_OF_PACK))

    def _values_of_fit(self, X):
        """The options of a run that makes a new model of these rows."""
        values = self._values(X.shape[0], hasattr(X, "nnz"))
        if not self._is_pack(X, values):
            values["model"] = "default" if values["model"] == "auto" else values["model"]
            return values
        values.update(model="auto", until=self.until)
        if self.model is None and X.shape[0] <= _ROWS_OF_SMALL_PACK and not str(self.until).startswith("seconds"):
            values.setdefault("max_members", _MEMBERS_OF_SMALL_PACK)
        return values

    # ---- training ----

    def _take(self, X, y, sample_weight, goes_on):
        """X may be a path; y and sample_weight names of columns of a table, here or in an earlier call."""
        X, (y, sample_weight), taken = _tables.take(_tables.of_estimator(X), (y, sample_weight))
        before = getattr(self, "_taken", []) if goes_on else []
        self._taken = [*before, *(name for name in taken if name not in before)]
        return _tables.without(X, self._taken), y, sample_weight

    def _check(self, X, y, reset, fills=False):
        """X and y, checked; of a table with categories a table, and so of numbers that are missing, unless they are filled.

        fills: missing numbers of the first rows, too, get the mean of their column, and X is an array.
        """
        X = _tables.whole(X)
        if reset:
            self._learn_names(X)
        else:
            X = self._matched(X)
        is_table = _tables.is_table(X)
        if reset:
            has_numbers = not is_table or _tables.is_plain(X) or (fills and _tables.has_numbers_alone(X))
            self._is_table = not has_numbers
        if self._is_table and is_table:
            X, y = self._check_table(X, y, reset)
        else:
            X, y = self._check_numbers(X, y, reset, fills)
        if y.ndim == 2 and y.shape[1] == 1:
            warnings.warn("A column-vector y was passed when a 1d array was expected. Please change the shape of y to "
                          "(n_samples, ), for example using ravel().", DataConversionWarning, stacklevel=4)
            y = y.ravel()
        return X, y

    def _learn_names(self, X):
        """Of a table its columns, which later ones are matched with; pandas has also names that are no texts."""
        self._names, self._has_text_names = None, False
        if _tables.is_table(X):
            self._names = _tables.check_names(X)
            self._has_text_names = all(isinstance(name, str) for name in getattr(X, "columns", ())) or not hasattr(X, "iloc")

    def _check_numbers(self, X, y, reset, fills):
        """Rows of numbers, as an array or a SciPy matrix without missing ones; or, for a model of a table, as an array."""
        how = {"accept_sparse": ("csr", "csc"), "multi_output": True, "y_numeric": self._y_is_numeric, **_ANY_NUMBER}
        is_table, names = _tables.is_table(X), self._names if reset else None
        if is_table:
            X = self._as_numbers(X, reset)
        with warnings.catch_warnings():
            if is_table:  # whose columns were matched
                warnings.filterwarnings("ignore", message="X does not have valid feature names")
            X, y = validate_data(self, X, y, reset=reset, **how)
        if reset and names is not None and self._has_text_names:  # an array of a file, or of a table with missing cells
            self.feature_names_in_ = np.asarray(names, dtype=object)
        if self._is_table:
            return self._dense_numbers(X), y
        odd = _data.n_odd(X)
        if reset and odd == np.prod(X.shape):
            raise ValueError("Input X contains NaN or infinite numbers alone: expected some that are finite")
        if reset and odd and not fills and not hasattr(X, "nnz"):
            self._is_table = True
            self._columns = names if names is not None else [f"x{i}" for i in range(X.shape[1])]
            self._kinds = dict.fromkeys(self._columns, _kinds.NUMBER)
            return self._dense_numbers(X), y
        if reset:
            self._fill = _data.means(X)
        return self._filled(X, odd), y

    def _as_numbers(self, table, reset):
        """A table for a model of numbers: as it is where scikit-learn takes it, else an array."""
        if isinstance(table, _parquet.Parquet):
            if table.has_numbers_alone():
                return table.to_numpy()
            table = table.read()
        if _tables.is_plain(table):
            return table if reset or hasattr(table, "iloc") else _tables.to_array(table)
        if _tables.has_numbers_alone(table):
            return _tables.as_numbers(table)
        names, array = _tables.column_names(table), _tables.as_numbers(table)
        n_nan = dict(zip(names, np.isnan(array).sum(axis=0).tolist()))
        _kinds.check(table, dict.fromkeys(names, _kinds.NUMBER), lambda name, n_cells: n_nan[name] - (len(table) - n_cells))
        return array

    def _dense_numbers(self, X):
        """Numbers for a model of a table."""
        if any(kind not in (None, *_kinds.NUMBERS) for kind in self._kinds.values()):
            raise ValueError("expected a table with the columns of the training data, found an array")
        X = X.toarray() if hasattr(X, "nnz") else X
        _data.heed_infinite(int(np.isinf(X).sum()) if X.dtype.kind == "f" else 0)
        return X

    def _filled(self, X, odd=True):
        """X with the means of fit where a number is missing."""
        if not odd and _data.n_odd(X) == 0:
            return X
        fill = getattr(self, "_fill", None)  # models of batches have none
        if fill is None:
            raise ValueError("Input X contains NaN or infinity: expected finite numbers, as the means of the training data are "
                             "not known here")
        X, n_infinite = _data.filled(X, fill)
        _data.heed_infinite(n_infinite)
        return X

    def _check_table(self, X, y, reset):
        y = np.asarray(y)
        if len(X) == 0:
            raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required.")
        if len(y) != len(X):
            raise ValueError(f"Found input variables with inconsistent numbers of samples: [{len(X)}, {len(y)}]")
        if _data.has_missing(y):
            raise ValueError("Input y contains NaN.")
        if not isinstance(X, _parquet.Parquet):
            _data.heed_infinite(_tables.n_infinite(X))
        if not reset:
            self._heed_kinds(X)
            return X, y
        self.feature_names_in_ = np.asarray(self._names, dtype=object)
        self._kinds = _kinds.of_table(X)
        self.n_features_in_ = len(self._names)
        self._columns = _tables.names_in_library(X)
        return X, y

    def _heed_kinds(self, table):
        """Says which columns have another type than in fit and cells that cannot be read; an error where none can."""
        if not self._is_fitted:
            return
        before = getattr(self, "_kinds", {})  # models of batches have none
        _kinds.check(table, before, _kinds.unread_by(lambda: self.model_.table_remarks(table, self._columns)))

    def _matched(self, table):
        """The columns of the training data, in their order; all, if those had no names."""
        before = getattr(self, "_names", self.__dict__.get("feature_names_in_"))
        if before is None or not _tables.is_table(table):
            return table
        found = set(_tables.check_names(table))
        missing = [name for name in before if name not in found]
        if missing and not getattr(self, "_has_text_names", True):
            return table  # numbers of columns that were called by their place
        if missing:
            raise ValueError("The feature names should match those that were passed during fit.\n"
                             f"Feature names seen at fit time, yet now missing:\n- {missing[0]}\n")
        return _tables.select(table, list(before))

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
        if isinstance(x, np.ndarray) or (_tables.offers_arrow(x) and self._columns == _tables.column_names(x)):
            source = _tables.source_of(x, self._columns)
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

    @or_as_before
    def fit(self, X, y=None, sample_weight=None, *, eval_set=None, callbacks=None):
        """Trains on all rows.  X alone: an iterator of batches (X, y) or (X, y, sample_weight).  Returns self.

        eval_set: (X, y) of other rows, on which each evaluation measures, too: test_loss and test_accuracy of history_.
        They choose nothing; until="validation=10%,patience=5" ends by training rows that are held out.
        callbacks: functions of a drove.Progress, called after each evaluation.  One that returns False ends the run; an
        exception does, too, and is raised again.
        """
        goes_on = self.warm_start and self._is_fitted
        callbacks = [callbacks] if callable(callbacks) else callbacks
        if is_alone(X, y, sample_weight):
            return self._fit_batches(X, goes_on, eval_set, callbacks)
        X, y, sample_weight = self._take(X, y, sample_weight, goes_on)
        X, y = self._checked(X, y, not goes_on)
        if not goes_on:
            self._learn(y)
        values = self._values(X.shape[0], hasattr(X, "nnz")) if goes_on else self._values_of_fit(X)
        return self._run(X, y, self._weights(X, y, sample_weight), values, goes_on, eval_set, callbacks)

    def _check_part(self, X, y, reset):
        return self._checked(X, y, reset, fills=True)

    def _weights(self, X, y, sample_weight):
        return self._weight(sample_weight, X)

    def _run(self, X, y, weight, values, goes_on, eval_set=None, callbacks=None):
        """Rows of weight 0 are none: they have no part in types, means or the rows that are held out."""
        if weight is not None and not weight.all():
            keep = weight > 0
            X = _tables.rows(X, keep) if _tables.is_table(X) else X[keep]
            y, weight = y[keep], weight[keep]
            if self._is_table:  # which has the classes of its rows
                self._targets.check_rows(y)
        test = self._test(eval_set, weight is not None)
        source = self._source(X, y, weight, goes_on)
        if values["model"] == "auto" and not goes_on and not self._is_table:
            source.spec += _data.scale_of_pack(X)
        return self._train(source, values, goes_on, test, callbacks)

    def _test(self, eval_set, has_weights):
        """A source of other rows, on which each evaluation measures, too; None: none were given."""
        if eval_set is None:
            return None
        if isinstance(eval_set, list) and len(eval_set) == 1:
            eval_set = eval_set[0]
        if not isinstance(eval_set, tuple) or len(eval_set) not in (2, 3):
            raise ValueError(f"eval_set: expected a pair (X, y), found {type(eval_set).__name__} of "
                             f"{len(eval_set) if hasattr(eval_set, '__len__') else 'no'} parts")
        X, y, weight = eval_set if len(eval_set) == 3 else (*eval_set, None)
        X, (y, weight), _ = _tables.take(_tables.of_estimator(X), (y, weight))
        X, y = self._check(_tables.without(X, self._taken), y.toarray() if hasattr(y, "toarray") else y, False)
        weight = self._weight(weight, X)
        if has_weights and weight is None and self._is_table:
            weight = np.ones(len(y))  # the model's data have a column of weights
        source = self._source(X, y, weight, False)
        source.spec = source.spec.partition("?")[0]
        return source

    def _train(self, source, values, goes_on, test=None, callbacks=None):
        if goes_on:
            values["model"] = self.model_.name
        values["data"] = source.spec
        if test is not None:
            values["test"] = test.spec

        def evaluated(p):
            answers = [function(p) for function in callbacks]
            return not any(answer is not None and not answer for answer in answers)

        interrupted = None
        try:
            result = train_on((source, test), values, on_evaluated=evaluated if callbacks else None, verbose=self.verbose,
                              interrupt=self.interrupt)
        except Interrupted as error:
            interrupted, result = error, error.result
        model, summary = result.model, result.summary
        if model is None:
            if interrupted is not None:
                raise interrupted
            raise FloatingPointError("training crashed: the loss is not finite; a smaller lr may help")
        self._targets.check(model)
        self._learner = Learner(model)
        self.summary_ = summary
        self.history_ = result.history
        self.loss_ = summary["loss"]
        self.lr_ = summary["lr"]
        self.n_iter_ = max(1, round(summary["epochs"]))
        if interrupted is not None:
            raise interrupted
        return self

    def _fit_batches(self, batches, goes_on, eval_set, callbacks):
        """fit of an iterator: its rows go to a file, which is trained on."""
        take = _targets.Batch(self, goes_on)
        spool = _batches.Spool(batches, take)
        take.finish()
        return self._train(spool, self._values(spool.n_rows, spool.is_sparse), goes_on, self._test(eval_set, False), callbacks)

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
            if self.model is None and self._is_table and values["model"] == "default":
                values["model"] = _NETWORK
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
        if self._is_plain(x) and not _data.n_odd(x):
            try:
                return self.model_.outputs(x, self._threads())
            except ValueError:
                pass  # what is wrong is said in scikit-learn's words
        check_is_fitted(self, "model_")
        x = _tables.of_estimator(x)
        if isinstance(x, _parquet.Parquet):
            return self._outputs_of_file(self._matched(x))
        x = self._matched(_tables.whole(_tables.without(x, getattr(self, "_taken", []))))
        return self._outputs_of_rows(x)

    def _outputs_of_rows(self, x):
        """Of rows whose columns are those of fit, in their order."""
        if self._is_table and _tables.is_table(x):
            if len(x) == 0:
                raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required.")
            _data.heed_infinite(_tables.n_infinite(x))
            self._heed_kinds(x)
            return self.model_.table_outputs(x, self._columns, self._threads())
        is_table = _tables.is_table(x)
        if is_table:
            x = self._as_numbers(x, False)
        with warnings.catch_warnings():
            if is_table:  # whose columns were matched
                warnings.filterwarnings("ignore", message="X does not have valid feature names")
            x = validate_data(self, x, accept_sparse=("csr", "csc"), reset=False, **_ANY_NUMBER)
        if self._is_table:
            return self.model_.table_outputs(self._dense_numbers(x), self._columns, self._threads())
        return self.model_.outputs(self._filled(x, False), self._threads())

    def _outputs_of_file(self, file):
        """Of one batch after the other, so that the table is never in memory whole."""
        if len(file) == 0:
            raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required.")
        if self._is_table:
            self._heed_kinds(file)
            return np.concatenate([self.model_.table_outputs(part, self._columns, self._threads())
                                   for part in file.tables()])
        return np.concatenate([self._outputs_of_rows(part) for part in file.tables()])

    @property
    def coefs_(self):
        """The parameters, {name: array}: copies."""
        check_is_fitted(self, "model_")
        return self.model_.parameters

    @property
    def pack_(self):
        """Of a pack of models: its members with their losses and shares, and its own loss with its standard error, on rows
        that its networks had not seen."""
        found = (self.summary_ or {}).get("pack") if self._is_fitted else None
        if not found:
            raise AttributeError("the model is no pack: expected one that model=None or 'auto' has made")
        return found

    def _linear(self):
        """(W, b) of a linear model, a row of W and an element of b for each class or value, in the order of classes_."""
        if not self._is_fitted:
            raise AttributeError(f"{type(self).__name__} is not fitted: it has no coef_")
        return self._targets.in_order(*self.model_._linear(), self.model_)

    @property
    def coef_(self):
        """Of a linear model, in the units of X: [n_features_in_] of one value, else a row for each class, value or label,
        and one of two classes.  Of a table each column must be one feature, a number."""
        weight, _ = self._linear()
        return weight[0] if self._y_is_numeric and len(weight) == 1 else weight

    @property
    def intercept_(self):
        """Of a linear model, beside coef_: a number of one value, else one for each row of coef_."""
        bias = self._linear()[1]
        return bias[0] if self._y_is_numeric and len(bias) == 1 else bias

    @property
    def feature_importances_(self):
        """Of a table: by how much the mean loss grows where a column's values change places among the rows, the mean of
        three permutations.  Below 0 is chance; columns that are left out have 0."""
        found = (self.summary_ or {}).get("importance") if self._is_fitted else None
        if not found:
            raise AttributeError("no importance of columns was measured: expected a model of a table, as "
                                 "sklearn.inspection.permutation_importance takes any")
        grown = {each["column"]: each["loss_increase"] for each in found["columns"]}
        return np.array([grown.get(name, 0.0) for name in self._columns])


class Scored:
    """score() that takes names of columns; it stands before scikit-learn's own."""

    def score(self, X, y, sample_weight=None):
        """The accuracy of predict(X), or R^2 of values.  y and sample_weight may be names of columns of X."""
        X, (y, sample_weight), _ = _tables.take(_tables.opened(X), (y, sample_weight))
        return super().score(X, y, sample_weight)
