"""Losses that are functions of NumPy arrays."""
from __future__ import annotations

import re

import numpy as np

from drove import _library
from drove._library import check, encoded
from drove._native import ffi, lib

_OUTPUTS = {"plain": lib.DROVE_OUTPUTS_PLAIN, "sigmoid": lib.DROVE_OUTPUTS_SIGMOID, "softmax": lib.DROVE_OUTPUTS_SOFTMAX}


class Loss:
    """A loss of the program's own, for `loss=` of train() and the estimators.

    function(outputs, targets) gets the network's outputs for some rows, float32 [n, k], and their targets: numbers of
    classes, int32 [n]; values, float32 [n, k]; or labels, bool [n, k].  It returns (loss, derivative): the loss of each row,
    [n], without its weight, and its derivative by the row's outputs, [n, k].  A row's loss depends on its own outputs and
    target alone.  The arrays are the library's, read-only, and valid during the call.

    name: in summaries and saved models; letters, digits and _.  By default the function's.
    outputs: what the outputs mean.  "plain": values, or scores of classes or labels; "sigmoid": the sigmoid of each is a
    probability, of labels or two classes; "softmax": their softmax has the probabilities of classes.
    has_one_output: two classes have one output, above 0 for the second.

    Threads call it at the same time, each with rows of its own, but one after the other while it is in Python.  An exception
    ends the run, and is raised again by train() or fit().
    """

    def __init__(self, function, name=None, outputs="plain", has_one_output=False):
        if not callable(function):
            raise ValueError(f"loss: expected a function, found {type(function).__name__}")
        if outputs not in _OUTPUTS:
            raise ValueError(f"outputs: expected one of {', '.join(_OUTPUTS)}, found {outputs!r}")
        self.function, self.outputs, self.has_one_output = function, outputs, bool(has_one_output)
        self.name = name if name is not None else _name_of(function)

    def check(self, outputs, targets, bound=0.0):
        """Compares the derivative with differences of the loss, for arrays such as the function gets.

        Returns the largest |difference - derivative| / max(1, |derivative|, |loss| / 100); ValueError says where it is above
        `bound` (0: 0.005), or that a row's loss depends on other rows.  Outputs: where the loss is smooth.
        """
        outputs = np.ascontiguousarray(outputs, dtype=np.float32)
        if outputs.ndim != 2:
            raise ValueError(f"outputs: expected an array [n, k], found shape {outputs.shape}")
        batch, keep = _batch_of(outputs, np.asarray(targets))
        given, worst = Given(self), ffi.new("double *")
        given.check(lib.drove_loss_check(given.loss, batch, bound, worst))
        del keep
        return worst[0]

    def __repr__(self):
        return f"<drove.Loss {self.name}, outputs {self.outputs}>"


def _name_of(function):
    name = getattr(function, "__name__", type(function).__name__)
    return re.sub(r"\W", "_", name, flags=re.ASCII).strip("_") or "loss"


def is_own(loss):
    """Whether an option `loss` is no name of one."""
    return isinstance(loss, Loss) or callable(loss)


class Given:
    """A loss as the library has it; to be kept as long as what was made with it."""

    def __init__(self, loss):
        self.of = None if loss is None else loss if isinstance(loss, Loss) else Loss(loss)
        self.error = self.raised = None  # waiting for check; the last that it raised
        if self.of is None:
            return
        self._handle, self._name = ffi.new_handle(self), ffi.new("char[]", encoded(self.of.name))
        self.loss = ffi.new("drove_custom_loss *")
        self.loss.name, self.loss.context, self.loss.eval = self._name, self._handle, lib.drove_py_loss
        self.loss.outputs, self.loss.has_one_output = _OUTPUTS[self.of.outputs], self.of.has_one_output

    def check(self, status, why=None):
        """Raises what the function raised, else what the status stands for."""
        self.raised, self.error = self.error, None
        if self.raised is not None:
            raise self.raised
        check(status, why)

    def fail(self, error):
        self.error = self.error or error


def make_options(values):
    """(drove_options *, Given) of {name: value}, among which loss may be a function."""
    loss = values.get("loss")
    given = Given(loss if is_own(loss) else None)
    if given.of is None:
        return _library.make_options(values), given
    options = _library.make_options({name: value for name, value in values.items() if name != "loss"})
    check(lib.drove_options_set_loss(options, given.loss))
    workers = ffi.new("char[]", 256)
    check(lib.drove_options_get(options, b"workers", workers, len(workers)))
    if ffi.string(workers).startswith(b"procs"):
        raise ValueError("loss: expected the name of a loss with workers=\"procs:N\", found a function of Python, which "
                         "processes cannot share")
    return options, given


# ---- what the library calls ----


def _array(pointer, dtype, *shape):
    """A view of the library's memory."""
    n = int(np.prod(shape)) * np.dtype(dtype).itemsize
    return np.frombuffer(ffi.buffer(pointer, n), dtype=dtype).reshape(shape)


def _labels_of(batch, n, k):
    first, last = _array(batch.label_first, np.uint64, n), _array(batch.label_last, np.uint64, n)
    out = np.zeros((n, k), dtype=bool)
    for i, (begin, end) in enumerate(zip(first.tolist(), last.tolist())):
        if end > begin:
            out[i, _array(batch.label + begin, np.uint32, end - begin)] = True
    return out


def _targets_of(batch, n, k):
    if batch.class_of != ffi.NULL:
        return _array(batch.class_of, np.int32, n)
    if batch.values != ffi.NULL:
        return _array(batch.values, np.float32, n, k)
    return _labels_of(batch, n, k)


def _put(what, found, into, *shape):
    """Copies what the function returned into the library's memory."""
    found = np.asarray(found)
    if found.shape != shape:
        raise ValueError(f"expected a {what} of shape {shape}, found {found.shape}")
    if found.dtype.kind not in "fiub":
        raise ValueError(f"expected a {what} of numbers, found dtype {found.dtype}")
    _array(into, np.float32, *shape)[...] = found


def _eval(given, batch):
    n, k = batch.n_rows, batch.n_outputs
    outputs, targets = _array(batch.outputs, np.float32, n, k), _targets_of(batch, n, k)
    outputs.flags.writeable = targets.flags.writeable = False
    found = given.of.function(outputs, targets)
    if not isinstance(found, tuple) or len(found) != 2:
        raise TypeError(f"expected a pair (loss, derivative), found {type(found).__name__}")
    _put("loss", found[0], batch.loss, n)
    if batch.derivative != ffi.NULL:
        _put("derivative", found[1], batch.derivative, n, k)


def _line_of(error):
    return " ".join(f"{type(error).__name__}: {error}".split())


@ffi.def_extern(error=lib.DROVE_E_SYSTEM)
def drove_py_loss(context, batch):
    given = ffi.from_handle(context)
    if given.error is not None:
        return lib.DROVE_E_DATA
    try:
        _eval(given, batch)
        return lib.DROVE_OK
    except BaseException as error:  # whatever it is: who waits for the run gets it
        given.fail(error)
        line = _line_of(error).encode("utf-8", "replace")[:max(0, batch.why_size - 1)] + b"\0"
        if batch.why_size > 0:
            ffi.memmove(batch.why, line, len(line))
        return lib.DROVE_E_DATA


# ---- for Loss.check ----


def _batch_of(outputs, targets):
    """A drove_loss_batch * of arrays, and what it borrows."""
    n, k = outputs.shape
    batch, keep = ffi.new("drove_loss_batch *"), [outputs]

    def put(field, type_, array):
        keep.append(array)
        setattr(batch, field, ffi.cast(type_, array.ctypes.data))
    batch.n_rows, batch.n_outputs = n, k
    put("outputs", "float *", outputs)
    if targets.dtype.kind == "b" and targets.shape == (n, k):
        last = targets.sum(axis=1, dtype=np.uint64).cumsum(dtype=np.uint64)
        put("label_first", "uint64_t *", np.concatenate([np.zeros(1, np.uint64), last[:-1]]))
        put("label_last", "uint64_t *", last)
        put("label", "uint32_t *", np.nonzero(targets)[1].astype(np.uint32))
    elif targets.dtype.kind in "iu" and targets.shape == (n,):
        put("class_of", "int32_t *", targets.astype(np.int32))
    elif targets.dtype.kind == "f" and targets.shape == (n, k):
        put("values", "float *", np.ascontiguousarray(targets, dtype=np.float32))
    else:
        raise ValueError(f"targets: expected whole numbers [{n}], or truth values or floats {(n, k)}, found {targets.dtype} "
                         f"of shape {targets.shape}")
    return batch, keep


__all__ = ["Loss"]
