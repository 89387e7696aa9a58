"""Training: what `drove train` does, in this process."""
from __future__ import annotations

import json
import os
import signal
import sys
import threading
import warnings

from drove import _batches, _data, _html, _loss, _tables
from drove._library import Progress, check, in_python, text
from drove._model import Model
from drove._native import ffi, lib


class History(list):
    """The figures of each evaluation, a dict each; a notebook draws the losses."""

    def _repr_html_(self):
        return _html.page("drove.History", [("evaluations", len(self)), *(self[-1] if self else {}).items()], _html.curves(self))


class Result:
    """How a run ended."""

    def __init__(self, outcome, summary, model, history=()):
        self.outcome = outcome  #: "reached", "finished", "missed", "crashed" or "interrupted"
        self.summary = summary  #: the summary of the run, as in summary.json
        self.model = model  #: the trained Model; None if the run crashed
        self.history = History(history)  #: a dict of figures for each evaluation: epochs, loss, validation_loss ...

    def __repr__(self):
        return f"<drove.Result {self.outcome}: {self.model!r}>"

    def _repr_html_(self):
        facts = [("outcome", self.outcome), ("model", self.model.spec if self.model is not None else None)]
        facts += [(name, self.summary.get(name)) for name in ("loss", "accuracy", "test_loss", "test_accuracy", "epochs",
                                                              "train_s", "lr", "rule")]
        return _html.page("drove.Result", facts, _html.curves(self.history))


class Interrupted(KeyboardInterrupt):
    """Ctrl-C has ended a run; `result` has the model of the last step, or the pack of the networks there were."""

    def __init__(self, result):
        super().__init__("training was interrupted")
        self.result = result


_INTERRUPT = ("raise", "keep")


# ---- callbacks ----


class _Watcher:
    """What a run calls back: keeps the first exception and cancels the run for it."""

    def __init__(self, run, on_progress, on_evaluated, on_message):
        self.run, self.error = run, None
        self.on_progress, self.on_evaluated, self.on_message = on_progress, on_evaluated, on_message
        self.was_interrupted = False

    def call(self, function, *arguments):
        if self.error is not None:
            return
        try:
            answer = function(*arguments) if function is not None else None
            if answer is not None and not answer:
                lib.drove_run_cancel(self.run)
        except BaseException as error:  # whatever it is: the caller gets it when the run has ended
            self.error = error
            lib.drove_run_cancel(self.run)


@ffi.def_extern()
def drove_py_progress(context, p):
    watcher = ffi.from_handle(context)
    watcher.call(watcher.on_progress, Progress.of(p))


@ffi.def_extern()
def drove_py_evaluated(context, p):
    watcher = ffi.from_handle(context)
    watcher.call(watcher.on_evaluated, Progress.of(p))


@ffi.def_extern()
def drove_py_message(context, line):
    watcher = ffi.from_handle(context)
    watcher.call(watcher.on_message, in_python(text(line)))


class _Interruptible:
    """While a run goes on, the first Ctrl-C cancels it; if there is a second one, KeyboardInterrupt follows its end."""

    def __init__(self, watcher):
        self.watcher, self.before, self.n_signals = watcher, None, 0

    def __enter__(self):
        if threading.current_thread() is threading.main_thread():
            self.before = signal.getsignal(signal.SIGINT)
            if callable(self.before):
                signal.signal(signal.SIGINT, self.handle)
        return self

    def handle(self, number, frame):
        self.n_signals += 1
        self.watcher.was_interrupted = True
        lib.drove_run_cancel(self.watcher.run)

    def __exit__(self, *_):
        if callable(self.before):
            signal.signal(signal.SIGINT, self.before)


class _Lines:
    """A line of a terminal or a log that is written anew."""

    def __init__(self, stream):
        self.stream, self.n = stream, 0

    def show(self, line):
        self.stream.write("\r" + line.ljust(self.n))
        self.stream.flush()
        self.n = len(line)

    def close(self):
        if self.n:
            self.stream.write("\n")


class _Cell:
    """A line in the output of a notebook's cell, which stands alone and is replaced, whatever else is printed."""

    def __init__(self, display):
        self.display, self.handle = display, None

    def show(self, line):
        data = {"text/plain": line}
        if self.handle is None:
            self.handle = self.display(data, raw=True, display_id=True)
        else:
            self.handle.update(data, raw=True)

    def close(self):
        pass


def _output():
    """Where a bar is drawn: in the notebook whose kernel this process is, or on standard error."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if getattr(shell, "kernel", None) is None:
        return _Lines(sys.stderr)
    from IPython.display import display
    return _Cell(display)


class _Bar:
    """How far a run is.  Any thread says it; the one that waits for the run draws it, as notebooks demand."""

    WIDTH = 30

    def __init__(self):
        self.output, self.now, self.drawn = _output(), None, None

    def __call__(self, p):
        self.now = p

    def draw(self):
        p = self.now
        if p is None or p is self.drawn:
            return
        self.drawn = p
        share = p.fraction if p.fraction == p.fraction else 0.0
        full = int(self.WIDTH * share)
        self.output.show(f"[{'#' * full}{'.' * (self.WIDTH - full)}] {100 * share:3.0f} %  {p}")

    def close(self):
        self.draw()
        self.output.close()


def _wait(run, result, bar=None):
    """Trains in a thread of its own, so that signals are handled by this one meanwhile.

    Whatever a handler of the caller's raises, the run has ended before this returns or raises: it uses the caller's
    arrays and callbacks.
    """
    status, error = [], None

    def work():
        code = lib.drove_run_train(run, result)
        status.append((code, text(lib.drove_error_text())))

    thread = threading.Thread(target=work, name="drove")
    thread.start()
    while thread.is_alive():
        try:
            thread.join(0.05)
            if bar is not None:
                bar.draw()
        except BaseException as raised:
            error = error or raised
            lib.drove_run_cancel(run)
    if error is not None:
        lib.drove_result_destroy(result[0])
        raise error
    return status[0]


def train_on(source, values, on_progress=None, on_evaluated=None, on_message=None, verbose=False, interrupt="raise"):
    """Trains with options {name: value}; `source` is kept alive meanwhile.  Returns a Result."""
    if interrupt not in _INTERRUPT:
        raise ValueError(f"interrupt: expected 'raise' or 'keep', found {interrupt!r}")
    (options, given), out, result = _loss.make_options(values), ffi.new("drove_run **"), ffi.new("drove_result **")
    check(lib.drove_run_create(options, out))
    run = ffi.gc(out[0], lib.drove_run_destroy)
    bar = _Bar() if verbose else None
    history = History()

    def evaluated(p):
        history.append(p._figures())
        function = on_evaluated or bar
        return function(p) if function is not None else None

    watcher = _Watcher(run, on_progress or bar, evaluated, on_message)
    handle, callbacks = ffi.new_handle(watcher), ffi.new("drove_callbacks *")
    callbacks.context = handle
    callbacks.progress, callbacks.evaluated = lib.drove_py_progress, lib.drove_py_evaluated
    callbacks.message = lib.drove_py_message
    lib.drove_run_set_callbacks(run, callbacks)
    lib.drove_run_keep_model(run)
    with _Interruptible(watcher) as interrupts:
        code, why = _wait(run, result, bar)
    if bar is not None:
        bar.close()
    error = watcher.error or (KeyboardInterrupt() if interrupts.n_signals > 1 else None)
    if error is not None:
        lib.drove_result_destroy(result[0])
        raise error
    if code == lib.DROVE_E_ARG and watcher.was_interrupted:  # before a member of a pack was trained
        raise KeyboardInterrupt(why)
    given.check(code, why)
    try:
        outcome = text(lib.drove_outcome_name(lib.drove_result_outcome(result[0])))
        summary = json.loads(text(lib.drove_result_json(result[0])))
        name = text(lib.drove_result_model(result[0]))
        model = Model(name) if name is not None else None
    finally:
        lib.drove_result_destroy(result[0])
    del source
    ended = Result(outcome, summary, model, history)
    if watcher.was_interrupted and interrupt == "raise":
        raise Interrupted(ended)
    if watcher.was_interrupted:
        warnings.warn("training was interrupted; the model is what it had by then", RuntimeWarning, stacklevel=3)
    return ended


def train(data=None, label=None, *, on_progress=None, on_evaluated=None, on_message=None, verbose=False,
          interrupt="raise", **options):
    """Trains a model with everything that `drove train` has.

    data: a spec or path, as on the command line, or a table with a column `label` (pandas, Polars, pyarrow, a Parquet file,
    or another that offers Arrow's PyCapsule interface), or a pair (X, y) of an array or table and an array, or an iterator
    of such pairs of numbers, or of (X, y, sample_weight), which go to a temporary file that training reads.  options: those
    of the command line by their names, with "_" for "-": train("people.csv", label="income", model="mlp:64", out="run");
    test may be a table, too; loss a function or a Loss.  options() lists them.

    on_progress, on_evaluated: called with a Progress; on_message with a line of text.  One that returns False ends the
    run; an exception does, too, and is raised again.  verbose: a progress bar, on standard error or in a notebook's cell.

    Ctrl-C ends the run within a step and raises drove.Interrupted, a KeyboardInterrupt whose `result` has the model of that
    step; interrupt="keep" returns this Result, with a RuntimeWarning.  Returns a Result.
    """
    values, source, test = dict(options), None, _tables.opened(options.get("test"))
    data = _tables.opened(data)
    if isinstance(data, tuple) and len(data) != 2:
        raise ValueError(f"data: expected a pair (X, y), found {len(data)} values")
    if isinstance(data, tuple):
        source = labelled(*data, of_pack=values.get("model") == "auto")
        values["data"] = source.spec
    elif _batches.is_batches(data):
        source = _batches.Spool(data)
        values["data"] = source.spec
    elif data is not None and not isinstance(data, (str, os.PathLike)):
        source = _tables.source_of(data)
        values["data"] = source.spec
    elif data is not None:
        values["data"] = os.fspath(data)
    if isinstance(test, tuple):
        raise ValueError("test: expected a spec, a path or a table with the label's column, found a pair; eval_set= of an "
                         "estimator takes (X, y)")
    if _tables.is_table(test):
        test = _tables.source_of(test)
        values["test"] = test.spec
    source = (source, test)
    if label is not None:
        values["label"] = label
    model = getattr(values.get("model"), "model_", values.get("model"))
    if isinstance(model, Model):
        source = (source, model)
        values["model"] = model.name
    return train_on(source, values, on_progress, on_evaluated, on_message, verbose, interrupt)


def labelled(x, y, of_pack=False):
    """An array or a table with targets: whole numbers, texts and truth values are classes, other numbers values.

    of_pack: they are for a pack of models.
    """
    import numpy as np
    x, y = _tables.opened(x), np.asarray(y)
    if y.dtype == object and _data.has_missing(y):
        raise ValueError("y: expected a value for each row, found missing ones")
    are_classes = y.ndim == 1 and y.dtype.kind not in "f"
    classes, numbers = np.unique(y, return_inverse=True) if are_classes else (None, y)
    names = [str(c) for c in classes] if are_classes else None
    columns = None
    if _tables.is_table(x):
        x = _tables.whole(x)
        columns = _tables.check_names(x)
        if not _tables.is_plain(x):
            return _labelled_table(x, columns, numbers, names)
        x = _tables.to_array(x)
    if not hasattr(x, "nnz"):
        x = _data.known(x)
        if x.ndim == 2 and _data.n_odd(x):
            return _labelled_table(x, columns or [f"x{i}" for i in range(x.shape[1])], numbers, names)
    source = _data.Source(x)
    if are_classes:
        source.set_classes(numbers, len(classes), names)
    else:
        source.set_values(y)
    source.spec = source.name + (_data.scale_of_pack(x) if of_pack else "")
    return source


def _labelled_table(x, columns, numbers, names):
    """A table, or an array of numbers, with one more column: the numbers, or the classes that they stand for."""
    import numpy as np
    numbers = numbers if numbers.ndim > 1 else numbers[:, None]
    labels = [_tables.free_name(name, columns)
              for name in (["label"] if numbers.shape[1] == 1 else [f"label{i}" for i in range(numbers.shape[1])])]
    if isinstance(x, np.ndarray) or _tables.offers_arrow(x):
        source = _tables.source_of(x, columns)
        for i, label in enumerate(labels):
            source.add(label, numbers[:, i], names)
    else:
        texts = None if names is None else np.asarray(names, dtype=object)
        source = _tables.TextTable(x, columns, {label: numbers[:, i] if texts is None else texts[numbers[:, i]]
                                                for i, label in enumerate(labels)})
    source.spec += f"?label={','.join(labels)}&target={'value' if names is None else 'class'}"
    return source


def options():
    """{name: (default, help)} of all options of train()."""
    n = ffi.new("size_t *")
    table = lib.drove_options_table(n)
    return {text(table[i].name): (text(table[i].default_text), in_python(text(table[i].help))) for i in range(n[0])}


def read_log(folder):
    """The evaluations of a run: a list of {name: value}, of log.jsonl in its folder."""
    with open(os.path.join(os.fspath(folder), "log.jsonl"), encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.endswith("\n")]


__all__ = ["Result", "options", "read_log", "train"]
