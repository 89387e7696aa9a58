"""Kinds of columns: what a column held in fit, and holds now.

A column of another kind is no error by itself: the text "7" is the number 7.  Cells that the model cannot read count as
missing, which is said; where it can read none, that is an error.
"""
from __future__ import annotations

import re
import warnings

from drove import _tables

NUMBER, _BOOLEAN, _DATE, _TEXT = "numbers", "truth values", "dates", "texts"
NUMBERS = (NUMBER, _BOOLEAN)  # what an array may hold
_OF_NUMPY = {"i": NUMBER, "u": NUMBER, "f": NUMBER, "b": _BOOLEAN, "M": _DATE, "m": NUMBER}
_REMARK = re.compile(r'column "(?P<name>.*?)": (?:at least )?(?P<n>\d+) cells? (?:(?:is|are) no |with a value that the training '
                     r'data do not have )')


def _of_arrow(kind):
    import pyarrow.types as types
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind) or types.is_time(kind) or \
            types.is_duration(kind):
        return NUMBER
    if types.is_boolean(kind):
        return _BOOLEAN
    if types.is_date(kind) or types.is_timestamp(kind):
        return _DATE
    return None if types.is_null(kind) else _TEXT


def _of_polars(kind):
    import polars
    if kind.is_numeric() or kind in (polars.Time, polars.Duration):
        return NUMBER
    if kind == polars.Boolean:
        return _BOOLEAN
    if kind in (polars.Date, polars.Datetime):
        return _DATE
    return None if kind == polars.Null else _TEXT


_OF_OBJECTS = {"date": _DATE, "datetime": _DATE, "boolean": _BOOLEAN, "integer": NUMBER, "floating": NUMBER,
               "mixed-integer-float": NUMBER, "decimal": NUMBER, "time": NUMBER, "empty": None}


def _of_pandas(column):
    import pandas
    kind = column.dtype
    arrow = getattr(kind, "pyarrow_dtype", None)
    if arrow is not None:
        return _of_arrow(arrow)
    if kind == object:
        return _OF_OBJECTS.get(pandas.api.types.infer_dtype(column, skipna=True), _TEXT)
    name = getattr(kind, "kind", "O")  # nullable types have NumPy's letters
    return _OF_NUMPY.get(name, _TEXT)


def of_table(x):
    """{name: kind}; None: no cell that is not missing says it."""
    names = _tables.column_names(x)
    package = _tables._package(x)
    if package == "pandas":
        kinds = [_of_pandas(x.iloc[:, i]) for i in range(x.shape[1])]
    elif package == "polars":
        kinds = [_of_polars(kind) for kind in x.dtypes]
    else:
        kinds = [_of_arrow(field.type) for field in x.schema]
    return dict(zip(names, kinds))


def unread_by(remarks):
    """For check(): what the model says of x, a table with the columns of fit in their order."""
    n_unread = {}

    def unread(name, n_cells):
        if not n_unread:
            n_unread[None] = 0
            for remark in _REMARK.finditer(remarks()):
                n_unread[remark["name"]] = n_unread.get(remark["name"], 0) + int(remark["n"])
        return n_unread.get(name.encode("utf-8")[:40].decode("utf-8", "ignore"), 0)
    return unread


def check(x, before, unread):
    """before: kinds in fit; unread(name, n_cells): how many of the cells of a column that are not missing cannot be read."""
    now = of_table(x)
    changed = {name for name, kind in now.items() if None not in (kind, before.get(name)) and kind != before[name]}
    for name in sorted(changed):
        n_cells = _tables.n_present(x, name)
        n = unread(name, n_cells)
        if n == 0:
            continue
        if n >= n_cells:
            raise ValueError(f"column {name!r}: expected {before[name]} as in fit, found {now[name]}, none of which the model "
                             "can read")
        warnings.warn(f"column {name!r} had {before[name]} in fit and has {now[name]} now: {n} of {n_cells} cells cannot be "
                      "read as such and count as missing", UserWarning, stacklevel=5)
