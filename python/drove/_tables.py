"""Tables of other packages: pandas, Polars, pyarrow, Parquet files, and all that offer Arrow's PyCapsule interface.

They come by the Arrow C data interface, in the types that they have.  Where that is not offered (pandas before 2.2, or
without pyarrow) they come as CSV text, by way of pandas.
"""
from __future__ import annotations

import ctypes
import datetime
import decimal
import importlib.util
import numbers
import re

import numpy as np

from drove._data import Bytes, known, matrix
from drove._library import check, encoded, text
from drove._native import ffi, lib
from drove._parquet import Parquet, has_missing

_PACKAGES = ("pandas", "polars", "pyarrow")

_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.restype = ctypes.c_void_p
_capsule_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]

_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_STREAM = b"arrow_array_stream"  # a capsule keeps the pointer


def _package(x):
    return type(x).__module__.partition(".")[0]


def _has_protocol(x):
    return hasattr(x, "__arrow_c_stream__") or hasattr(x, "__arrow_c_array__")


def _has_names(x):
    """Whether it is a table with names and a length that can be read more than once."""
    return isinstance(x, Parquet) or _package(x) in _PACKAGES and hasattr(x, "columns")


def is_table(x):
    """A pandas or Polars DataFrame, a pyarrow Table, a Parquet, or another object of columns that offers Arrow's interface."""
    if _has_names(x):
        return True
    return _has_protocol(x) and not hasattr(x, "dtype") and not hasattr(x, "type")  # those have one column


def whole(x):
    """A table that can be read more than once, with names and a length: of a package that has such."""
    if not is_table(x) or _has_names(x):
        return x
    if importlib.util.find_spec("pyarrow") is not None:
        import pyarrow
        return pyarrow.table(x)
    if importlib.util.find_spec("polars") is not None:
        import polars
        return polars.DataFrame(x)
    raise ValueError(f"a table of type {type(x).__name__}: expected pyarrow or polars beside it, found neither")


def column_names(x):
    names = x.column_names if hasattr(x, "column_names") else x.columns
    return [str(name) for name in names]


def is_plain(x):
    """Whether all columns are numbers without missing values: then an array says the same."""
    package = _package(x)
    if isinstance(x, Parquet):
        return x.is_plain()
    if package == "pandas":
        return all(isinstance(t, np.dtype) and t.kind in "biuf" for t in x.dtypes) and not x.isna().any(axis=None)
    if package == "polars":
        return (all(t.is_numeric() for t in x.dtypes) and sum(x.null_count().row(0)) == 0 and
                not any(column.is_nan().any() for column in x.get_columns() if column.dtype.is_float()))
    import pyarrow.types as types
    return all((types.is_integer(c.type) or types.is_floating(c.type)) and not has_missing(c) for c in x.columns)


def to_array(x):
    """A plain table as an array."""
    if hasattr(x, "to_numpy"):
        return x.to_numpy()
    return np.column_stack([column.to_numpy() for column in x.columns])


# ---- columns ----


def _column(x, name):
    """A column as an array."""
    package = _package(x)
    if package == "pandas":
        return x.iloc[:, column_names(x).index(name)].to_numpy()
    if package == "polars":
        return x.get_column(name).to_numpy()
    column = x.column(name)
    if hasattr(column.type, "value_type") and hasattr(column.type, "index_type"):  # a dictionary
        column = column.cast(column.type.value_type)
    return column.to_pandas().to_numpy() if importlib.util.find_spec("pandas") else np.asarray(column.to_pylist())


def n_present(x, name):
    """Cells of a column that are not missing."""
    if _package(x) == "pandas":
        return int(x.iloc[:, column_names(x).index(name)].notna().sum())
    if _package(x) == "polars":
        return len(x) - x.get_column(name).null_count()
    return len(x) - x.column(name).null_count


def select(x, names):
    """These columns, in this order."""
    found = column_names(x)
    if names == found:
        return x
    if _package(x) == "pandas":
        return x.iloc[:, [found.index(name) for name in names]]
    return x.select(names)


def take(x, names):
    """x without columns, and these as arrays: names are columns' names, or anything else, which stays as it is."""
    wanted = [name for name in names if isinstance(name, str)]
    if not wanted:
        return x, names, []
    if not is_table(x):
        raise ValueError(f"a column called {wanted[0]!r}: expected a table as X, found {type(x).__name__}")
    x = whole(x)
    found = column_names(x)
    for name in wanted:
        if name not in found:
            raise ValueError(f"expected a column of the table, found none called {name!r}")
    arrays = [_column(x, name) if isinstance(name, str) else name for name in names]
    return without(x, wanted), arrays, wanted


def without(x, names):
    """x without those of these columns that it has."""
    if not names or not is_table(x):
        return x
    x = whole(x)
    return select(x, [name for name in column_names(x) if name not in names])


def free_name(wanted, names):
    """A name that no column has."""
    while wanted in names:
        wanted += "_"
    return wanted


# ---- by Arrow ----


def offers_arrow(x):
    if _package(x) == "pandas" and importlib.util.find_spec("pyarrow") is None:
        return False
    return _has_protocol(x)


def _cell_as_text(cell):
    """A cell of a column of mixed types, as CSV has it; what is no single cell stays as it is, and is refused."""
    if isinstance(cell, str):
        return cell
    if cell is None or cell != cell:
        return None
    if isinstance(cell, (bool, np.bool_)):
        return str(cell)
    if isinstance(cell, numbers.Integral):
        return str(int(cell))
    if isinstance(cell, numbers.Real):
        return format(float(cell), ".9g")
    return str(cell) if isinstance(cell, (decimal.Decimal, datetime.date, datetime.time)) else cell


def _as_pandas_exports(x):
    """A frame whose index is no column, with names that are texts, and texts for categories that Arrow has no type of, and
    for columns that mix texts with numbers, which are then read as a file's."""
    import pandas
    out = x.copy(deep=False)
    out.index = pandas.RangeIndex(len(x))
    out.columns = column_names(x)
    for name, kind in zip(out.columns, x.dtypes):
        if isinstance(kind, pandas.CategoricalDtype) and isinstance(kind.categories, pandas.IntervalIndex):
            out[name] = out[name].cat.rename_categories([str(value) for value in kind.categories])
        elif kind == object and pandas.api.types.infer_dtype(out[name], skipna=True).startswith("mixed"):
            out[name] = pandas.Series([_cell_as_text(cell) for cell in out[name]], dtype=object)
    return out


def _export(x, name):
    """The capsules of a method of the interface; packages say in many lines why there are none."""
    try:
        return getattr(x, name)()
    except Exception as error:
        why = " ".join(str(part) for part in error.args) or type(error).__name__
        raise ValueError("expected a table that Arrow can hold, its cells numbers, texts, dates, found: " +
                         " ".join(why.split())) from error


class Table:
    """A table in memory, by Arrow; `spec` names it in an option."""

    def __init__(self, x):
        if _package(x) == "pandas":
            x = _as_pandas_exports(x)
        out = ffi.new("drove_arrow_table **")
        if hasattr(x, "__arrow_c_stream__"):
            capsules = [_export(x, "__arrow_c_stream__")]
            stream = _capsule_pointer(capsules[0], _STREAM)
            status = lib.drove_arrow_table_from_stream(ffi.cast("struct ArrowArrayStream *", stream), out)
            if status != lib.DROVE_OK and isinstance(x, Parquet) and x.failure is not None:
                raise x.failure  # pyarrow's text of it holds a traceback
            check(status)
        else:
            capsules = _export(x, "__arrow_c_array__")
            schema, array = (_capsule_pointer(capsule, name)
                             for capsule, name in zip(capsules, (b"arrow_schema", b"arrow_array")))
            check(lib.drove_arrow_table_create(ffi.cast("struct ArrowSchema *", schema),
                                               ffi.cast("struct ArrowArray *", array), out))
        self._table = ffi.gc(out[0], lib.drove_arrow_table_destroy)
        self.name = text(lib.drove_arrow_table_name(self._table))
        self.spec = "table:" + self.name
        self.n_rows = lib.drove_arrow_table_n_rows(self._table)

    @property
    def n_bytes(self):
        return lib.drove_arrow_table_bytes(self._table)

    def add(self, name, values, texts=None):
        """One more column of numbers, which stand for texts if there are some."""
        values = known(values)
        keep = [ffi.new("char[]", encoded(one)) for one in texts or ()]
        array = ffi.NULL if texts is None else ffi.new("char *[]", keep)
        check(lib.drove_arrow_table_add(self._table, encoded(name), matrix(values), array, len(keep)))


class Stream:
    """Predictions of a model for a table or a stream of rows, computed batch by batch while they are read.

    pyarrow.RecordBatchReader.from_stream(s), polars.DataFrame(s) and all others that know `__arrow_c_stream__` read it; as
    often as the rows can be read.
    """

    def __init__(self, predictor, x, threads):
        self._predictor, self._x, self._threads = predictor, x, threads

    def __arrow_c_stream__(self, requested_schema=None):
        x = _as_pandas_exports(self._x) if _package(self._x) == "pandas" else self._x
        rows = _export(x, "__arrow_c_stream__")
        out = lib.drove_py_new_stream()
        if out == ffi.NULL:
            raise MemoryError("a stream")
        capsule = _new_capsule(int(ffi.cast("uintptr_t", out)), _STREAM,
                               int(ffi.cast("uintptr_t", lib.drove_py_stream_destructor())))
        pointer = ffi.cast("struct ArrowArrayStream *", _capsule_pointer(rows, _STREAM))
        check(lib.drove_predictor_stream(self._predictor, pointer, self._threads, out))
        return capsule


# ---- by CSV ----


def _to_pandas(x):
    import pandas
    if isinstance(x, pandas.DataFrame):
        return x
    if not is_table(x):
        raise ValueError(f"expected a table (pandas, Polars, pyarrow), found {type(x).__name__}")
    return x.to_pandas()


class TextTable:
    """A table as CSV text, its columns called `names`, with further columns {name: values} behind its own."""

    def __init__(self, x, names=None, extra=None):
        frame = _to_pandas(x)
        if names is not None:
            frame = frame.set_axis(names, axis=1)
        if extra:
            frame = frame.assign(**{name: np.asarray(values) for name, values in extra.items()})
        self._file = Bytes(frame.to_csv(index=False, float_format="%.9g").encode("utf-8"))
        self.spec = "table:" + self._file.name
        self.n_rows = len(frame)


_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_ .-]*[A-Za-z0-9_.-]|[A-Za-z_]")


def names_in_library(x):
    """What the library calls the columns: by Arrow their names; else these if each reads back from CSV as it is, or x0,
    x1, ..."""
    names = column_names(x)
    if offers_arrow(x) and all(name and "\0" not in name for name in names):
        return names
    if len(set(names)) == len(names) and all(_PLAIN_NAME.fullmatch(name) for name in names):
        return names
    return [f"x{i}" for i in range(len(names))]


def source_of(x, names=None):
    """A Table or TextTable of x whose columns are called `names`; None: by their own names."""
    if is_table(x) and offers_arrow(x) and (names is None or names == column_names(x)):
        return Table(x)
    return TextTable(x, names)
