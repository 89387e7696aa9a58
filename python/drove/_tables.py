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
import os
import re

import numpy as np

from drove._data import Bytes, known, matrix
from drove._library import check, encoded, text
from drove._native import ffi, lib
from drove._parquet import Parquet, has_missing, index_columns, is_file, of_path

_PACKAGES = ("pandas", "polars", "pyarrow")
_INDEX = re.compile(r"__index_level_\d+__")  # what pandas calls an index without a name when it leaves it as a column

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


def opened(x):
    """x as the package takes it: a Parquet file is opened, a lazy frame collected, pandas' index left out, masked numbers
    NaN.  Anything else as it is."""
    if is_file(x):
        return Parquet(x)
    if isinstance(x, np.ma.MaskedArray):  # whose mask NumPy drops without a word
        return x.astype(np.float64).filled(np.nan) if x.dtype.kind in "biuf" else x
    package = _package(x)
    if package == "polars" and hasattr(x, "collect") and hasattr(x, "collect_schema"):
        x = x.collect()
    if package not in _PACKAGES or not hasattr(x, "columns"):
        return x
    index = index_columns(x.schema) if package == "pyarrow" else []
    if package == "pandas" and 0 < sum(isinstance(name, str) for name in x.columns) < x.shape[1]:
        x = x.set_axis(column_names(x), axis=1)
    return without(x, [name for name in column_names(x) if name in index or _INDEX.fullmatch(name)])


def of_estimator(x):
    """The same, where a path of another file than Parquet is an error."""
    return of_path(x) if isinstance(x, (str, os.PathLike)) else opened(x)


def whole(x):
    """A table that can be read more than once, with names and a length: of a package that has such."""
    if not is_table(x) or _has_names(x):
        return x
    if importlib.util.find_spec("pyarrow") is not None:
        import pyarrow
        return opened(pyarrow.table(x))
    if importlib.util.find_spec("polars") is not None:
        import polars
        return polars.DataFrame(x)
    raise ValueError(f"a table of type {type(x).__name__}: expected pyarrow or polars beside it, found neither")


def column_names(x):
    names = x.column_names if hasattr(x, "column_names") else x.columns
    return [str(name) for name in names]


def _sparse_types(x):
    """The types of pandas' sparse columns, by number."""
    import pandas
    return {i: kind for i, kind in enumerate(x.dtypes) if isinstance(kind, pandas.SparseDtype)}


def _is_matrix(x):
    """Whether a pandas frame is a sparse matrix: all its columns are sparse, and most cells are 0."""
    types = _sparse_types(x)
    return 0 < len(types) == x.shape[1] and all(kind.subtype.kind in "biuf" and kind.fill_value == 0 for kind in types.values())


def _dense(x):
    """A pandas frame without sparse columns, which Arrow does not know."""
    import pandas
    types = _sparse_types(x)
    if not types:
        return x
    return pandas.concat([x.iloc[:, i].sparse.to_dense() if i in types else x.iloc[:, i] for i in range(x.shape[1])], axis=1)


def _is_number(kind):
    """Of a type of pandas': NumPy's numbers, its own that know missing values, and Arrow's."""
    if isinstance(kind, np.dtype):
        return kind.kind in "biuf"
    arrow = getattr(kind, "pyarrow_dtype", None)
    if arrow is not None:
        import pyarrow.types as types
        return types.is_integer(arrow) or types.is_floating(arrow) or types.is_boolean(arrow)
    return getattr(kind, "kind", "O") in "biuf" and hasattr(kind, "numpy_dtype")


def check_names(x):
    """The names of the columns; a ValueError if two are the same."""
    names = column_names(x)
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"expected columns with different names, found two called {twice!r}")
    return names


def is_plain(x):
    """Whether all columns are numbers or truth values without missing and infinite ones: then an array says the same."""
    package = _package(x)
    if isinstance(x, Parquet):
        return x.is_plain()
    if package == "pandas":
        if _is_matrix(x):
            return bool(np.isfinite(x.sparse.to_coo().data).all())
        if not all(_is_number(kind) for kind in x.dtypes) or x.isna().any(axis=None):
            return False
        return n_infinite(x) == 0
    if package == "polars":
        import polars
        return (all(t.is_integer() or t.is_float() or t == polars.Boolean for t in x.dtypes) and
                sum(x.null_count().row(0)) == 0 and
                not any(column.is_nan().any() for column in x.get_columns() if column.dtype.is_float()) and
                n_infinite(x) == 0)
    import pyarrow.types as types
    return all((types.is_integer(c.type) or types.is_floating(c.type) or types.is_boolean(c.type)) and not has_missing(c)
               for c in x.columns) and n_infinite(x) == 0


def _floats(x):
    """Columns of floats as arrays, NaN where a cell is missing."""
    if _package(x) == "pandas":
        for i, kind in enumerate(x.dtypes):
            if _is_number(kind) and getattr(kind, "kind", "f") == "f":
                yield x.iloc[:, i].to_numpy(dtype=np.float64, na_value=np.nan)
    elif _package(x) == "polars":
        for column in x.get_columns():
            if column.dtype.is_float():
                yield column.to_numpy()
    else:
        import pyarrow.types as types
        for column in x.columns:
            if types.is_floating(column.type):
                yield column.to_numpy()


def n_infinite(x):
    """Cells with infinite numbers, which count as missing, of a table in memory."""
    return sum(int(np.isinf(column).sum()) for column in _floats(x))


def to_array(x):
    """A plain table as an array, or as a SciPy matrix if it is sparse."""
    if _package(x) == "pandas":
        if _is_matrix(x):
            return x.sparse.to_coo().tocsr()
        if all(isinstance(kind, np.dtype) for kind in x.dtypes):
            return x.to_numpy()
        return x.to_numpy(dtype=np.float64)
    if _package(x) == "polars":
        return np.column_stack([column.to_numpy() for column in x.get_columns()])
    if hasattr(x, "to_numpy"):
        return x.to_numpy()
    return np.column_stack([column.to_numpy() for column in x.columns])


def has_numbers_alone(x):
    """Whether all columns are numbers or truth values, among which there may be missing and infinite ones."""
    if _package(x) == "pandas":
        import pandas
        return all(_is_number(kind.subtype if isinstance(kind, pandas.SparseDtype) else kind) for kind in x.dtypes)
    if _package(x) == "polars":
        import polars
        return all(t.is_integer() or t.is_float() or t == polars.Boolean for t in x.dtypes)
    import pyarrow.types as types
    return all(types.is_integer(field.type) or types.is_floating(field.type) or types.is_boolean(field.type)
               for field in x.schema)


def _as_number(cell):
    try:
        return float(cell)
    except (TypeError, ValueError):
        return np.nan


def _as_numbers(column):
    """A column, of any package's, as numbers; NaN: missing, or no number.  Dates are none."""
    if column.dtype.kind in "biuf":
        return column.astype(np.float64)
    if column.dtype.kind in "mM":
        return np.full(len(column), np.nan)
    return np.array([_as_number(cell) for cell in column.tolist()], dtype=np.float64)


def as_numbers(x):
    """A table in memory as an array of numbers, whatever its columns are: texts are read, missing cells are NaN."""
    if has_numbers_alone(x) and _package(x) == "pandas":
        return _dense(x).to_numpy(dtype=np.float64, na_value=np.nan)
    return np.column_stack([_as_numbers(np.asarray(_column(x, name))) for name in column_names(x)])


def rows(x, keep):
    """The rows of a table in memory, or of a Parquet file, for which keep is true."""
    if _package(x) == "pandas":
        return x[keep]
    if _package(x) == "polars":
        return x.filter(keep)
    import pyarrow
    if not isinstance(x, Parquet):
        return x.filter(pyarrow.array(keep))
    at, parts = 0, []
    for part in x.tables():
        parts.append(part.filter(pyarrow.array(keep[at:at + len(part)])))
        at += len(part)
    return pyarrow.concat_tables(parts)


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
        return repr(float(cell))
    return str(cell) if isinstance(cell, (decimal.Decimal, datetime.date, datetime.time)) else cell


def _as_pandas_exports(x):
    """A frame whose index is no column, with names that are texts, and texts for categories that Arrow has no type of, and
    for columns that mix texts with numbers, which are then read as a file's."""
    import pandas
    x = _dense(x)
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
        self._keep(out[0])

    def _keep(self, table):
        self._table = ffi.gc(table, lib.drove_arrow_table_destroy)
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


class Numbers(Table):
    """The same of an array of numbers, in which NaN and infinite ones are missing; `names` are those of its columns."""

    def __init__(self, x, names):
        columns = np.asfortranarray(x, dtype=np.float64)
        if columns.ndim != 2 or columns.shape[1] != len(names):
            raise ValueError(f"expected rows of {len(names)} numbers, found an array of shape {columns.shape}")
        keep = [ffi.new("char[]", encoded(name)) for name in names]
        out = ffi.new("drove_arrow_table **")
        pointer = ffi.cast("double *", columns.__array_interface__["data"][0])
        check(lib.drove_py_numbers(pointer, *columns.shape, ffi.new("char *[]", keep), out))
        self._keep(out[0])


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
        return _dense(x)
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
        self._file = Bytes(frame.to_csv(index=False, float_format="%.17g").encode("utf-8"))
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
    """A Table or TextTable of x, or of an array of numbers, whose columns are called `names`; None: by their own names."""
    if isinstance(x, np.ndarray):
        return Numbers(x, names)
    if is_table(x) and offers_arrow(x) and (names is None or names == column_names(x)):
        return Table(x)
    return TextTable(x, names)
