"""Batches of rows that an iterator delivers, one after the other."""
from __future__ import annotations

import os
import shutil
import tempfile
import weakref

import numpy as np

from drove import _data, _parquet, _tables, _targets
from drove._library import check, encoded
from drove._native import ffi, lib


def is_batches(x):
    """Whether x is an iterator of batches: no array, table or file."""
    return hasattr(x, "__next__") and not _tables.is_table(x) and not hasattr(x, "__array__")


def parts(batch):
    """(X, y, sample_weight or None) of what an iterator delivers."""
    if not isinstance(batch, tuple) or len(batch) not in (2, 3):
        found = f"a tuple of {len(batch)}" if isinstance(batch, tuple) else type(batch).__name__
        raise ValueError(f"expected batches (X, y) or (X, y, sample_weight), found {found}")
    return batch if len(batch) == 3 else (*batch, None)


class Classes:
    """Classes as they are met, in parts of what np.unique would say of all."""

    def __init__(self):
        self.number, self.all = {}, None  # {class: in the order of meeting}, all of them sorted
        self.sort = None  # what the first classes are that it is known of

    def put(self, source, y):
        self.sort = _targets.check_sort(y, self.sort)
        values, inverse = np.unique(y, return_inverse=True)
        self.all = values if self.all is None else np.union1d(self.all, values)
        for value in values.tolist():
            self.number.setdefault(value, len(self.number))
        numbers = np.asarray([self.number[value] for value in values.tolist()], dtype=np.int32)
        source.set_classes(numbers[inverse.reshape(-1)], len(self.number), [str(value) for value in self.number])

    @property
    def order(self):
        """The place among `all` of each class, in the order of meeting."""
        return np.searchsorted(self.all, np.asarray(list(self.number), dtype=self.all.dtype)).astype(np.uint32)


class _Plain:
    """Batches for train(): whole numbers, texts and truth values are classes, other numbers values."""

    def __init__(self):
        self.classes, self.is_first = Classes(), True
        self.names = None  # columns of the first table

    def __call__(self, x, y):
        x, y = _tables.opened(x), np.asarray(y)
        if _tables.is_table(x):
            x = self.in_order(_tables.whole(x))
            if not _tables.is_plain(x):
                raise ValueError("expected batches of numbers, found a table with texts or missing values")
            x = _tables.to_array(x)
        if y.dtype == object and _data.has_missing(y):
            raise ValueError("y: expected a value for each row, found missing ones")
        are_classes = y.ndim == 1 and y.dtype.kind not in "f"
        if self.is_first:
            self.are_classes, self.is_first = are_classes, False
        elif self.are_classes != are_classes:
            raise ValueError("y: expected the same kind of targets in all batches, found classes and values")
        return x, (lambda source: self.classes.put(source, y)) if are_classes else (lambda source: source.set_values(y))

    def in_order(self, table):
        """The columns of the first table, in their order; a ValueError if there are others."""
        found = _tables.column_names(table)
        if self.names is None:
            self.names = found
        if found == self.names:
            return table
        if len(set(found)) != len(found) or sorted(found) != sorted(self.names):
            raise ValueError(f"expected the columns of the first batch, {', '.join(self.names)}, found {', '.join(found)}")
        return _tables.select(table, self.names)

    @property
    def order(self):
        return self.classes.order if self.are_classes else None


class _Feed:
    """What the library asks for batches."""

    def __init__(self, batches, take):
        self.batches, self.take = batches, take
        self.error, self.source, self.order, self.is_empty, self.is_sparse = None, None, None, True, False

    def deliver(self, request):
        self.source = None
        for batch in self.batches:
            x, y, weight = parts(batch)
            x, put = self.take(x, y)
            self.is_empty, self.is_sparse = False, hasattr(x, "nnz")
            self.source = _data.Source(x, request.rows)
            put(self.source)
            if weight is not None:
                self.source.set_weights(weight)
            return
        request.is_over = 1
        self.order = None if self.is_empty else self.take.order
        if self.order is not None:
            request.class_number = ffi.cast("uint32_t *", self.order.ctypes.data)


@ffi.def_extern(error=lib.DROVE_E_SYSTEM)
def drove_py_next(context, request):
    feed = ffi.from_handle(context)
    try:
        feed.deliver(request)
        return lib.DROVE_OK
    except BaseException as error:  # whatever it is: spool() raises it again
        feed.error = error
        return lib.DROVE_E_DATA


def _spec_of(path):
    """The spec of a file of rows: %XX for the bytes that a path may not have there (docs/use/data.md)."""
    return "rows:" + "".join(f"%{ord(c):02X}" if c in "?,&%+" else c for c in path)


class Spool:
    """Batches in a file of rows, which goes with this object; `spec` names it."""

    def __init__(self, batches, take=None):
        """take(X, y): the rows to write, and a function that gives a Source their targets; take.order: at the end the number
        of each class, by the order of meeting, or None."""
        folder = tempfile.mkdtemp(prefix="drove-")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        path = os.path.join(folder, "batches.rows")
        feed = _Feed(batches, take or _Plain())
        handle, source, n = ffi.new_handle(feed), ffi.new("drove_batch_source *"), ffi.new("uint64_t *")
        source.context, source.next = handle, lib.drove_py_next
        status = lib.drove_batches_write(source, encoded(path), n)
        if feed.error is not None:
            raise feed.error
        if feed.is_empty:
            raise ValueError("expected at least one batch, found none")
        check(status)
        self.spec, self.n_rows, self.is_sparse = _spec_of(path), n[0], feed.is_sparse
