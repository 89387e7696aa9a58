"""NumPy arrays, SciPy matrices and files in memory as data of the library.

A Source has the name that stands for the data in an option, and keeps alive what the library borrows.
"""
from __future__ import annotations

import functools
import numbers
import warnings

import numpy as np

from drove._library import check, encoded, text
from drove._native import ffi, lib

_TYPES = {
    np.dtype(np.float32): lib.DROVE_TYPE_F32,
    np.dtype(np.float64): lib.DROVE_TYPE_F64,
    np.dtype(np.uint8): lib.DROVE_TYPE_U8,
    np.dtype(np.int8): lib.DROVE_TYPE_I8,
    np.dtype(np.uint16): lib.DROVE_TYPE_U16,
    np.dtype(np.int16): lib.DROVE_TYPE_I16,
    np.dtype(np.uint32): lib.DROVE_TYPE_U32,
    np.dtype(np.int32): lib.DROVE_TYPE_I32,
    np.dtype(np.uint64): lib.DROVE_TYPE_U64,
    np.dtype(np.int64): lib.DROVE_TYPE_I64,
    np.dtype(np.bool_): lib.DROVE_TYPE_BOOL,
}


def known(array):
    """The array itself, or a copy of a type that the library reads."""
    array = np.asarray(array)
    if array.ndim == 0:
        raise ValueError("expected an array of rows, found a single number")
    if array.dtype in _TYPES:
        return array
    if array.dtype.kind in "biuf" and array.dtype.itemsize <= 16:
        return array.astype(np.float64)
    raise ValueError(f"expected an array of numbers, found dtype {array.dtype}")


def matrix(array):
    """A drove_matrix * over an array of one or two dimensions, which must outlive it."""
    if array.ndim == 1:
        array = array.reshape(-1, 1)
    out = ffi.new("drove_matrix *")
    out.values = ffi.cast("void *", array.__array_interface__["data"][0])  # quicker than array.ctypes
    out.type = _TYPES[array.dtype]
    out.n_rows, out.n_columns = array.shape
    out.row_bytes, out.column_bytes = array.strides
    return out


def _is_sparse(x):
    return hasattr(x, "tocsr") and hasattr(x, "nnz")


def as_kind(x, is_sparse):
    """x as sparse rows, or as an array."""
    if _is_sparse(x) == is_sparse:
        return x
    if not is_sparse:
        return x.toarray()
    import scipy.sparse
    return scipy.sparse.csr_matrix(x)


@functools.lru_cache(maxsize=16)
def _texts(names):
    keep = [ffi.new("char[]", encoded(name)) for name in names]
    return ffi.new("char *[]", keep), keep


def _names(names):
    """An array of C texts, and what keeps them."""
    return (ffi.NULL, ()) if names is None else _texts(tuple(names))


class Source:
    """Data of arrays: `name` is a spec for --data."""

    def __init__(self, x, arrays=None):
        """arrays: those of the library to fill, which are not this object's; None: new ones."""
        x = x if _is_sparse(x) else known(x)
        if arrays is None:
            out = ffi.new("drove_arrays **")
            check(lib.drove_arrays_create(out))
            arrays = ffi.gc(out[0], lib.drove_arrays_destroy)
        self.arrays = arrays
        self._keep = []
        self.name = text(lib.drove_arrays_name(self.arrays))
        self.has_targets = False
        self.n_rows = x.shape[0]
        if _is_sparse(x):
            self._set_sparse(x)
        else:
            self._set_dense(x)

    def _set_dense(self, x):
        shape = x.shape
        if x.ndim > 2:
            x = np.ascontiguousarray(x).reshape(shape[0], -1)
        self._keep.append(x)
        check(lib.drove_arrays_set_dense(self.arrays, matrix(x)))
        if len(shape) == 4:
            check(lib.drove_arrays_set_images(self.arrays, *shape[1:]))
        elif len(shape) == 3:
            check(lib.drove_arrays_set_images(self.arrays, 1, *shape[1:]))

    def _set_sparse(self, x):
        if x.format not in ("csr", "csc"):
            x = x.tocsr()
        if not x.has_canonical_format:
            x = x.copy()
            x.sum_duplicates()
        start, index = (np.require(part, np.int64 if part.dtype.itemsize == 8 else np.int32, ["C", "A"])
                        for part in (x.indptr, x.indices))
        value = np.require(known(x.data), requirements=["C", "A"])
        if len(start) and (len(index) < start[-1] or len(value) < start[-1]):
            raise ValueError(f"expected {start[-1]} indices and values, as indptr says, found {len(index)} and "
                             f"{len(value)}")
        self._keep += [start, index, value]
        out = ffi.new("drove_sparse *")
        out.n_rows, out.n_columns = x.shape
        out.start, out.start_type = ffi.cast("void *", start.ctypes.data), _TYPES[start.dtype]
        out.index, out.index_type = ffi.cast("void *", index.ctypes.data), _TYPES[index.dtype]
        out.value, out.value_type = ffi.cast("void *", value.ctypes.data), _TYPES[value.dtype]
        out.is_by_columns = x.format == "csc"
        check(lib.drove_arrays_set_sparse(self.arrays, out))

    def set_classes(self, numbers, n_classes, names=None):
        self.has_targets = True
        array, keep = _names(names)
        numbers = known(numbers)
        check(lib.drove_arrays_set_classes(self.arrays, matrix(numbers), n_classes, array))
        del keep

    def set_values(self, values):
        self.has_targets = True
        values = known(values)
        check(lib.drove_arrays_set_values(self.arrays, matrix(values)))

    def set_labels(self, labels, names=None):
        self.has_targets = True
        array, keep = _names(names)
        labels = known(labels)
        check(lib.drove_arrays_set_labels(self.arrays, matrix(labels), array))
        del keep

    def set_weights(self, weights):
        weights = known(weights)
        check(lib.drove_arrays_set_weights(self.arrays, matrix(weights)))

    @property
    def copied_bytes(self):
        return lib.drove_arrays_copied_bytes(self.arrays)


class Bytes:
    """A file in memory; `name` stands where a file's name may."""

    def __init__(self, data):
        out = ffi.new("drove_memory_file **")
        self._keep = ffi.from_buffer(data)
        check(lib.drove_memory_file_create(self._keep, len(self._keep), 0, out))
        self._file = ffi.gc(out[0], lib.drove_memory_file_destroy)
        self.name = text(lib.drove_memory_file_name(self._file))


_LARGEST = float(np.finfo(np.float32).max)  # of a number that a model takes


def _numbers_of(x):
    return x.data if _is_sparse(x) else x


def n_odd(x):
    """Numbers of an array or SciPy matrix that are missing, infinite or beyond the range of a float."""
    values = _numbers_of(x)
    if values.dtype.kind != "f" or values.size == 0:
        return 0
    with np.errstate(over="ignore", invalid="ignore"):
        if abs(float(values.min())) <= _LARGEST and abs(float(values.max())) <= _LARGEST:  # NaN is not
            return 0
        return int(values.size - np.count_nonzero(np.abs(values) <= _LARGEST))


def means(x):
    """Of each column the mean of the numbers that count."""
    if not n_odd(x):
        return np.asarray(x.mean(axis=0, dtype=np.float64)).ravel()
    if _is_sparse(x):
        x = x.copy()
        x.data = np.where(np.abs(x.data) <= _LARGEST, x.data, 0)
        return np.asarray(x.mean(axis=0, dtype=np.float64)).ravel()
    counts = np.abs(x) <= _LARGEST
    return np.where(counts, x, 0).sum(axis=0, dtype=np.float64) / np.maximum(counts.sum(axis=0), 1)


def filled(x, fill):
    """(a copy with fill[column] where a number does not count, how many of them are not missing)."""
    out = x.copy()
    values = _numbers_of(out)
    with np.errstate(invalid="ignore"):
        odd = ~(np.abs(values) <= _LARGEST)
    if not _is_sparse(x):
        column = np.broadcast_to(fill, x.shape)[odd]
    elif x.format == "csr":
        column = fill[x.indices[odd]]
    else:
        column = fill[np.repeat(np.arange(x.shape[1]), np.diff(x.indptr))[odd]]
    n_infinite = int(odd.sum() - np.isnan(values[odd]).sum())
    values[odd] = column
    return out, n_infinite


def heed_infinite(n):
    if n > 0:
        warnings.warn(f"X: {n} infinite number{'s count' if n > 1 else ' counts'} as missing", UserWarning, stacklevel=6)


def scale_of_pack(x):
    """What a spec of these rows says of their scaling for a pack: by medians and quartiles, as of a table."""
    return "?scale=robust" if not _is_sparse(x) and x.ndim == 2 and x.dtype != np.uint8 else ""


def has_missing(y):
    """Whether an array has cells that are None or NaN."""
    if y.dtype.kind == "f":
        return bool(np.isnan(y).any())
    return y.dtype.kind not in "biu" and any(value is None or value != value for value in y.flat)


def seed_of(random_state):
    """A seed for the library: None is a new one each time."""
    if random_state is None:
        return int(np.random.randint(0, 2**31 - 1))
    if isinstance(random_state, numbers.Integral):
        return int(random_state)
    return int(random_state.randint(0, 2**31 - 1))
