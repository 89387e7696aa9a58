"""The C library: errors, texts, options."""
from __future__ import annotations

import contextlib
import dataclasses
import math
import numbers
import os
import re
import threading

from drove._native import ffi, lib


class DroveError(RuntimeError):
    """What the library says of a failure that no built-in exception stands for."""


# What each status of the library is in Python.
_ERRORS = {
    lib.DROVE_E_ARG: ValueError,
    lib.DROVE_E_SHAPE: ValueError,
    lib.DROVE_E_DATA: ValueError,
    lib.DROVE_E_FILE: FileNotFoundError,
    lib.DROVE_E_IO: OSError,
    lib.DROVE_E_NOMEM: MemoryError,
    lib.DROVE_E_NONFINITE: FloatingPointError,
    lib.DROVE_E_EXISTS: FileExistsError,
    lib.DROVE_E_UNSUPPORTED: NotImplementedError,
}


# The library's name of data and models in memory, which says nothing to those who handed them over.
_OWN_NAME = re.compile(r"^(test data: )?(?:(?:table:)?memory:)?\d+(?:\.safetensors)?(?:\?\S*)?: ")


# What to write instead of another program's word, and an option, both as on the command line.
_ADVICE = re.compile(r"write --([a-z][a-z0-9-]*) (\S+)")
_FLAG = re.compile(r"(?<![\w-])(?<!drove train )--([a-z][a-z0-9-]*)")  # a command of the program stays one
_spoken = threading.local()


@contextlib.contextmanager
def names_of_options(names):
    """Inside, messages of this thread call options so: {name in train(): name}."""
    before = getattr(_spoken, "names", {})
    _spoken.names = names
    try:
        yield
    finally:
        _spoken.names = before


def in_python(line):
    """A text of the library, with options called as they are here: lr, not --lr."""
    def name(match):
        found = match[1].replace("-", "_")
        return getattr(_spoken, "names", {}).get(found, found)
    line = _ADVICE.sub(lambda match: f"write {name(match)}=\"{match[2]}\"", line)
    return _FLAG.sub(name, line)


def check(status, why=None):
    """Raises what a status stands for; why: its text, if it is that of another thread."""
    if status != lib.DROVE_OK:
        why = text(lib.drove_error_text()) if why is None else why
        raise _ERRORS.get(status, DroveError)(in_python(_OWN_NAME.sub(r"\1", why)))


def text(pointer):
    return None if pointer == ffi.NULL else ffi.string(pointer).decode("utf-8", "replace")


def encoded(value):
    """A text for the library; no NUL can be inside."""
    data = str(value).encode("utf-8", "surrogateescape")
    if b"\0" in data:
        raise ValueError(f"expected a text without NUL, found {value!r}")
    return data


def version():
    return text(lib.drove_version())


def shown(value):
    """repr(), of NumPy's scalars that of the value: 'a', not np.str_('a')."""
    return repr(value.item() if hasattr(value, "item") else value)


def word(value):
    """An option's value as on the command line; NumPy's numbers count as numbers."""
    if value is None:
        return "none"
    if isinstance(value, (str, bytes)):
        return value
    if isinstance(value, bool) or type(value).__name__ in ("bool_", "bool"):
        return "yes" if value else "no"
    if isinstance(value, numbers.Integral):
        return str(int(value))
    if isinstance(value, numbers.Real):
        number = float(value)
        return str(int(number)) if number.is_integer() and abs(number) < 2**53 else repr(number)
    return str(value)


def make_options(values):
    """A drove_options * with these values; its memory is that of the result."""
    out = ffi.new("drove_options **")
    check(lib.drove_options_create(out))
    options = ffi.gc(out[0], lib.drove_options_destroy)
    if values.get("resume") is not None and word(values["resume"]) != "none":
        check(lib.drove_options_resume(options, encoded(os.fspath(values["resume"]))))
        values = {name: value for name, value in values.items() if name != "resume"}
    for name, value in values.items():
        check(lib.drove_options_set(options, encoded(name), encoded(word(value))))
    return options


@dataclasses.dataclass(frozen=True)
class Progress:
    """The state of a run at an evaluation, or between two.  Numbers that are not known are NaN."""

    epochs: float  #: done; NaN: networks of a pack are being trained
    epochs_total: float  #: of the budget; of a pack: networks planned, 0: not known yet
    fraction: float  #: of the budget that is used, 0 to 1
    examples: int
    updates: int  #: of a pack: networks trained
    train_s: float  #: seconds of training alone
    examples_per_s: float
    eta_s: float  #: seconds that are left
    loss: float
    loss_initial: float
    accuracy: float
    test_loss: float
    test_accuracy: float
    target_loss: float
    n_workers: int
    evaluated: bool  #: the losses are current; else those of the last evaluation
    validation_loss: float  #: of training rows that are held out
    validation_accuracy: float

    @classmethod
    def of(cls, p):
        """Of the library's drove_progress *."""
        values = {field.name: getattr(p, field.name) for field in dataclasses.fields(cls)}
        values["evaluated"] = bool(values["evaluated"])
        return cls(**values)

    def _figures(self):
        """{name: value} of an evaluation, those that are known: an entry of a history."""
        names = ("epochs", "examples", "updates", "train_s", "loss", "accuracy", "validation_loss", "validation_accuracy",
                 "test_loss", "test_accuracy")
        return {name: getattr(self, name) for name in names if not math.isnan(getattr(self, name))}

    def __str__(self):
        is_pack = math.isnan(self.epochs)
        parts = [f"{self.updates} of {self.epochs_total:.0f} networks" if is_pack else f"{self.epochs:.2f} epochs"]
        for name, value in (("loss", self.loss), ("test loss", self.test_loss)):
            if not math.isnan(value):
                parts.append(f"{name} {value:.4g}")
        if not math.isnan(self.test_accuracy):
            parts.append(f"test accuracy {100 * self.test_accuracy:.2f} %")
        if self.examples_per_s > 0:
            parts.append(f"{self.examples_per_s:.3g} examples/s")
        return ", ".join(parts)
