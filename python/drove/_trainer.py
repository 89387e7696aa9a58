"""Training in pieces: the parameters and the rule's state that stay between calls of partial_fit."""
from __future__ import annotations

import contextlib

import numpy as np

from drove import _loss
from drove._library import check, text
from drove._model import Model
from drove._native import ffi, lib

_SLICE_S = 0.05  # after which Python looks for signals


class Trainer:
    """Passes over rows, from a model on."""

    def __init__(self, values):
        """values: options of the library, among them the model, rule, lr and batch."""
        out = ffi.new("drove_trainer **")
        self._batch = values["batch"]
        options, self._given = _loss.make_options(values)
        check(lib.drove_trainer_open(options, out))
        self._trainer = ffi.gc(out[0], lib.drove_trainer_destroy)
        self._is_over, self._loss = ffi.new("int *"), ffi.new("double *")

    def scale_targets(self, shift, scale):
        """Steps are computed for (y - shift) / scale.  Not called: for y as it is."""
        shift, scale = (np.ascontiguousarray(a, dtype=np.float64) for a in (shift, scale))
        check(lib.drove_trainer_scale_targets(self._trainer, ffi.cast("double *", shift.ctypes.data),
                                              ffi.cast("double *", scale.ctypes.data), scale.size))

    def may_fail_midway(self, source):
        """Whether a loss of the program's own may fail after steps of this pass were made."""
        return self._given.of is not None and source.n_rows > int(self._batch)

    def has_raised(self, error):
        """Whether it came from a loss of the program's own, not from numbers that are not finite."""
        return error is self._given.raised

    def run(self, source):
        """One pass over a Source with targets.  Its mean loss, each row's before its own step."""
        trainer, is_over, loss = self._trainer, self._is_over, self._loss
        check(lib.drove_trainer_begin(trainer, source.arrays))
        while True:
            self._given.check(lib.drove_trainer_advance(trainer, _SLICE_S, is_over, loss))
            if is_over[0]:
                return loss[0]

    def model(self):
        out = ffi.new("drove_memory_file **")
        check(lib.drove_trainer_model(self._trainer, out))
        try:
            return Model(text(lib.drove_memory_file_name(out[0])) + ".safetensors")
        finally:
            lib.drove_memory_file_destroy(out[0])

    @property
    def state(self):
        """(numbers of the rule as an array, steps made)"""
        n, n_updates = ffi.new("size_t *"), ffi.new("uint64_t *")
        numbers = lib.drove_trainer_state(self._trainer, n, n_updates)
        values = np.empty(n[0], dtype=np.float32)
        if n[0] > 0:
            values[:] = np.frombuffer(ffi.buffer(numbers, 4 * n[0]), dtype=np.float32)
        return values, n_updates[0]

    @state.setter
    def state(self, value):
        numbers, n_updates = value
        numbers = np.ascontiguousarray(numbers, dtype=np.float32)
        check(lib.drove_trainer_set_state(self._trainer, ffi.cast("float *", numbers.ctypes.data), numbers.size,
                                          n_updates))


class Learner:
    """The model of an estimator, and the trainer that is ahead of it since partial_fit."""

    def __init__(self, model):
        self._model, self.is_sparse = model, model.is_sparse
        self.is_ahead = False  # whether steps were made since _model was
        self._trainer, self._key, self._state = None, None, None

    @property
    def model(self):
        """As it is now: made when it is asked for."""
        if self.is_ahead:
            with self._or_back():
                self._model = self._trainer.model()
            self.is_ahead = False
        return self._model

    @contextlib.contextmanager
    def _or_back(self):
        """Steps that led to numbers that are not finite are undone, back to the last model that was asked for."""
        try:
            yield
        except FloatingPointError as error:
            if not self._trainer.has_raised(error):
                self._trainer, self._key, self.is_ahead = None, None, False
            raise

    def trainer(self, key, values, scale):
        """The trainer for options of this key, values(); None where the library has none for such a model.

        scale: (shift, scale) of the targets, or None.
        """
        if self._key == key:
            if self._trainer is not None or self._state is None:
                return self._trainer
        model, state = self.model, self._state if self._key == key else None
        self._key, self._trainer, self._state = key, None, None
        try:
            trainer = Trainer({**values(), "model": model.name})
        except NotImplementedError:
            return None
        if scale is not None and model.loss == "squared":
            try:
                trainer.scale_targets(*scale)
            except NotImplementedError:
                pass  # its last layer cannot take the scale
        if state is not None:
            trainer.state = state
        self._trainer = trainer
        return trainer

    def run(self, trainer, source):
        """One pass.  If the program's own loss fails it is undone, but for Ctrl-C, which leaves the steps that were made."""
        before = None
        try:
            with self._or_back():
                if trainer.may_fail_midway(source):
                    before = (trainer.model() if self.is_ahead else self._model, trainer.state)
                self.is_ahead = True
                return trainer.run(source)
        except BaseException as error:
            is_undone = isinstance(error, FloatingPointError) and not trainer.has_raised(error)
            if before is not None and not is_undone and not isinstance(error, KeyboardInterrupt):
                self._model, self._state = before
                self._trainer, self.is_ahead = None, False
            raise

    def __getstate__(self):
        model = self.model
        state = self._trainer.state if self._trainer is not None else self._state
        return {"model": model, "key": self._key, "state": state}

    def __setstate__(self, saved):
        self.__init__(saved["model"])
        self._key, self._state = saved["key"], saved["state"]
