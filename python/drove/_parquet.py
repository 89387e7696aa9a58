"""Parquet files as tables: read by pyarrow, one row group after the other, whenever they are asked for."""
from __future__ import annotations

import contextlib
import json
import os

import numpy as np

_BATCH_ROWS = 65536  # at most, of one batch


def is_file(x):
    """Whether x is the path of a Parquet file: its first bytes say so."""
    if not isinstance(x, (str, os.PathLike)):
        return False
    try:
        with open(x, "rb") as file:
            return file.read(4) == b"PAR1"
    except (OSError, ValueError):
        return False


def of_path(x):
    """The table in a file, where an estimator is given a path: text is for drove.train."""
    if is_file(x):
        return Parquet(x)
    if not os.path.exists(x):
        raise FileNotFoundError(f"{os.fspath(x)}: expected a Parquet file, found none")
    raise ValueError(f"{os.fspath(x)}: expected a Parquet file, found another (drove.train reads text)")


def has_missing(column):
    """Whether a column of numbers of pyarrow's has a null or NaN."""
    import pyarrow.compute
    import pyarrow.types as types
    if column.null_count > 0:
        return True
    if types.is_float16(column.type):
        return bool(np.isnan(column.to_numpy()).any()) if len(column) > 0 else False
    return types.is_floating(column.type) and bool(pyarrow.compute.any(pyarrow.compute.is_nan(column)).as_py())


def index_columns(schema):
    """Names of the columns of a pyarrow schema that were pandas' index, as pandas' own metadata say."""
    found = (schema.metadata or {}).get(b"pandas")
    try:
        index = json.loads(found)["index_columns"] if found else []
    except (ValueError, KeyError, TypeError):
        return []
    return [name for name in index if isinstance(name, str)]  # a range has no column


class Parquet:
    """Columns of a Parquet file, in the order of `names`; None: all but pandas' index.  It is read anew by each use, and is never in memory whole.

    failure: the error of a reading that broke off, for those who read it through Arrow's stream; None: none did.
    """

    def __init__(self, path, names=None):
        try:
            import pyarrow.parquet
        except ImportError:
            raise ImportError(f"{os.fspath(path)}: expected pyarrow, which reads Parquet files, found none") from None
        self.path, self.failure = os.fspath(path), None
        try:
            self._file = pyarrow.parquet.ParquetFile(self.path, pre_buffer=False)
        except pyarrow.ArrowInvalid as error:
            raise ValueError(f"{self.path}: expected a Parquet file, found: {' '.join(str(error).split())}") from error
        whole = self._file.schema_arrow
        if len(set(whole.names)) != len(whole.names):
            raise ValueError(f"{self.path}: expected columns with different names, found two of the same")
        index = index_columns(whole)
        self.column_names = [name for name in whole.names if name not in index] if names is None else list(names)
        self.schema = pyarrow.schema([whole.field(name) for name in self.column_names])
        self.shape = (self._file.metadata.num_rows, len(self.column_names))

    def __len__(self):
        return self.shape[0]

    def select(self, names):
        return Parquet(self.path, names)

    @contextlib.contextmanager
    def _reading(self):
        """Inside, damaged bytes are a ValueError of one line that names the file."""
        import pyarrow
        try:
            yield
        except (pyarrow.ArrowException, OSError) as error:
            if getattr(error, "errno", None):  # the system's, not of what the file holds
                raise
            self.failure = ValueError(f"{self.path}: {' '.join(str(error).split())}")
            raise self.failure from error

    def batches(self):
        """Record batches, of a row group each or of a part of one."""
        self.failure = None
        with self._reading():
            for group in range(self._file.num_row_groups):
                for batch in self._file.iter_batches(_BATCH_ROWS, row_groups=[group], columns=self.column_names):
                    yield batch.select(self.column_names)

    def tables(self):
        """The same as pyarrow tables."""
        import pyarrow
        for batch in self.batches():
            yield pyarrow.Table.from_batches([batch])

    def __arrow_c_stream__(self, requested_schema=None):
        import pyarrow
        return pyarrow.RecordBatchReader.from_batches(self.schema, self.batches()).__arrow_c_stream__(requested_schema)

    def column(self, name):
        """One column, whole, as a pyarrow array in chunks."""
        with self._reading():
            return self._file.read([name]).column(name)

    def to_pandas(self):
        with self._reading():
            return self._file.read(self.column_names).to_pandas()

    def is_plain(self):
        """Whether all columns are numbers without missing values."""
        import pyarrow.types as types
        if not all(types.is_integer(field.type) or types.is_floating(field.type) for field in self.schema):
            return False
        floats = [field.name for field in self.schema if types.is_floating(field.type)]
        if not self._has_no_null_by_its_statistics():
            return not any(has_missing(column) for batch in self.batches() for column in batch.columns)
        return not floats or not any(has_missing(column) for batch in self.select(floats).batches()
                                     for column in batch.columns)  # statistics leave out NaN

    def has_numbers_alone(self):
        """Whether all columns are numbers, among which there may be missing ones."""
        import pyarrow.types as types
        return all(types.is_integer(field.type) or types.is_floating(field.type) for field in self.schema)

    def read(self):
        """All of it, as a pyarrow table."""
        with self._reading():
            return self._file.read(self.column_names).select(self.column_names)

    def _has_no_null_by_its_statistics(self):
        facts = self._file.metadata
        place = {facts.schema.column(i).path: i for i in range(len(facts.schema))}
        for group in range(facts.num_row_groups):
            for name in self.column_names:
                chunk = facts.row_group(group).column(place[name]) if name in place else None
                found = chunk.statistics if chunk is not None else None
                if found is None or not found.has_null_count or found.null_count > 0:
                    return False
        return True

    def to_numpy(self):
        """Columns of numbers as an array: floats of 32 bits, or of 64 if a column has digits that those cannot hold."""
        import pyarrow.types as types
        is_wide = any(types.is_float64(field.type) or (types.is_integer(field.type) and field.type.bit_width > 16)
                      for field in self.schema)
        out, at = np.empty(self.shape, dtype=np.float64 if is_wide else np.float32), 0
        with np.errstate(over="ignore"):  # infinite numbers are refused by whoever takes the array
            for batch in self.batches():
                for i, column in enumerate(batch.columns):
                    out[at:at + batch.num_rows, i] = column.to_numpy(zero_copy_only=False)
                at += batch.num_rows
        return out
