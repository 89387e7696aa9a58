"""A trained model."""
from __future__ import annotations

import json
import os

import numpy as np

from drove import _data, _html, _loss, _parquet, _tables
from drove._library import check, encoded, text
from drove._native import ffi, lib


class Model:
    """A trained model in memory: predictions, parameters as NumPy arrays, and its file's bytes.

    Any number of threads may predict with one Model at once.
    """

    def __init__(self, name):
        self._path = os.path.abspath(name)  # no file is there if the model is in memory
        out = ffi.new("drove_predictor **")
        check(lib.drove_predictor_open(encoded(name), ffi.NULL, out))
        self._predictor = ffi.gc(out[0], lib.drove_predictor_destroy)
        facts = lib.drove_predictor_describe(self._predictor)
        self.n_features = facts.n_features  #: numbers of an example
        self.n_outputs = facts.n_outputs  #: numbers of a prediction
        self.n_classes = facts.n_classes  #: classes or labels; 0: values
        self._dtype = np.dtype(np.float32 if facts.n_classes else np.float64)  # of predictions
        self.n_parameters = facts.n_parameters
        self.is_multi_label = bool(facts.is_multi_label)
        self.gives_probability = bool(facts.gives_probability)
        self.is_table = bool(facts.is_table)  #: it takes tables by the names of their columns
        self.is_sparse = bool(facts.is_sparse)  #: it was trained on sparse rows
        self.spec = text(facts.model)
        self.loss = text(facts.loss)
        self._n_tensors = facts.n_tensors

    @classmethod
    def from_bytes(cls, data):
        """A model of the bytes of a model file."""
        source = _data.Bytes(data)  # until the model has its own copy
        return cls(source.name + ".safetensors")

    def to_bytes(self):
        """The model file (safetensors)."""
        data, n = ffi.new("void **"), ffi.new("size_t *")
        lib.drove_predictor_bytes(self._predictor, data, n)
        if data[0] == ffi.NULL:
            raise MemoryError(text(lib.drove_error_text()))
        return bytes(ffi.buffer(data[0], n[0]))

    def save(self, path):
        """Writes the model file, which `drove predict` and load_model read.  It appears whole or not at all."""
        check(lib.drove_predictor_save(self._predictor, encoded(os.fspath(path))))

    def export(self, path, form=None):
        """Writes the model for other programs, as `drove export` does, with its scaling and class names.

        form: "onnx", "c" (C99 source) or "pytorch" (parameters as safetensors, for load_state_dict); None: by a path that
        ends in .onnx or .c.  The file appears whole or not at all.  FileExistsError: the model was read from it.
        NotImplementedError: the form cannot express a part of the model, which the text names.
        """
        path = os.fspath(path)
        writers = {"onnx": lib.drove_export_onnx, "c": lib.drove_export_c, "pytorch": lib.drove_export_pytorch}
        ending = os.path.splitext(path)[1]
        if form is None and ending in (".onnx", ".c"):
            form = ending[1:]
        if form not in writers:
            raise ValueError(f"expected form='onnx', 'c' or 'pytorch', or a path that ends in .onnx or .c, "
                             f"found form={form!r} and {path!r}")
        for read in (self._path, *(os.path.join(self._path, file) for file in ("model.safetensors", "best.safetensors"))):
            if os.path.exists(path) and os.path.exists(read) and os.path.samefile(path, read):
                raise FileExistsError(f"expected a file that the model was not read from, found {path}")
        model, out = ffi.new("char[]", encoded(self.name)), ffi.new("char[]", encoded(path))
        check(writers[form](ffi.new("drove_export_options *", {"model": model, "out": out})))

    def __getstate__(self):
        return {"bytes": self.to_bytes()}

    def __setstate__(self, state):
        source = _data.Bytes(state["bytes"])
        self.__init__(source.name + ".safetensors")

    @property
    def name(self):
        """A name in this process, for train(model=...): training goes on from this model."""
        name = text(lib.drove_predictor_name(self._predictor))
        if name is None:
            raise MemoryError(text(lib.drove_error_text()))
        return name

    @property
    def class_names(self):
        """Names of the classes or labels as the data had them; None where they are numbers."""
        n = self.n_classes or self.n_outputs
        names = [text(lib.drove_predictor_class_name(self._predictor, i)) for i in range(n)]
        return None if any(name is None for name in names) else names

    # ---- parameters ----

    def _header(self):
        """What the model file says of itself: {name: text}."""
        return self._file()[0]["__metadata__"]

    def _file(self):
        """(the header of the model file, its tensors' bytes)"""
        data = self.to_bytes()
        end = 8 + int.from_bytes(data[:8], "little")
        return json.loads(data[8:end]), data[end:]

    def _origin(self, name):
        """What was subtracted in double before numbers became floats: of inputs or targets; zeros if nothing was."""
        header, data = self._file()
        if name not in header:
            return 0.0
        begin, end = header[name]["data_offsets"]
        return np.frombuffer(data[begin:end], dtype="<f8")

    def _columns(self):
        """The columns of a table but labels and weights, as the model file describes them."""
        return [column for column in json.loads(self._header()["table"])["columns"]
                if column["type"] not in ("label", "weight", "weights")]

    def _column_names(self):
        return [column["name"] for column in self._columns()]

    def _linear(self):
        """(W, b): of a linear model the outputs of finite rows before the loss's own function are x W' + b, in float64.

        W: [n_outputs, n]; of a table n is the number of its columns but the label's, of which those that are left out have
        0.  AttributeError: the model is a network, has mapped features, or a table's column is several features, such as a
        category's.
        """
        found = self.parameters
        if set(found) - {"input.factor", "input.shift"} != {"layer0.weight", "layer0.bias"} or "features" in self._header():
            raise AttributeError(f"the model {self.spec} is not linear in its inputs")
        weight = found["layer0.weight"].astype(np.float64).reshape(self.n_features, -1)
        if "input.factor" in found:
            weight = weight * found["input.factor"].astype(np.float64)[:, None]
        shift = found.get("input.shift", np.zeros(self.n_features)).astype(np.float64)
        bias = found["layer0.bias"].astype(np.float64) - shift @ weight + self._origin("target.origin")
        if not self.is_table:
            return weight.T, bias - np.broadcast_to(self._origin("input.origin"), self.n_features) @ weight
        columns, at = [], 0
        for column in self._columns():
            if "missing" not in column:  # left out
                columns.append(np.zeros(weight.shape[1]))
                continue
            if column["type"] not in ("number", "boolean") or column.get("edges"):
                raise AttributeError(f"column {column['name']!r} is several features of the model: model_.parameters has all")
            bias = bias - weight[at] * column.get("centre", 0.0)
            columns.append(weight[at])
            at += 2 if column["missing"] else 1
        return np.array(columns).T.reshape(weight.shape[1], len(columns)), bias

    def _tensor(self, i):
        info = ffi.new("drove_tensor_info *")
        check(lib.drove_predictor_tensor(self._predictor, i, info))
        return info

    @property
    def parameters(self):
        """{name: array}: copies of the parameters, in the shapes and by the names of the model file."""
        out = {}
        for i in range(self._n_tensors):
            info = self._tensor(i)
            if info.values == ffi.NULL:
                continue
            values = np.frombuffer(ffi.buffer(info.values, 4 * info.n), dtype=np.float32)
            out[text(info.name)] = values.reshape([info.shape[k] for k in range(info.rank)]).copy()
        return out

    def set_parameters(self, values):
        """Replaces parameters: {name: array} of the same shapes.  Threads that predict meanwhile see the old or the new."""
        changed = Model.from_bytes(self.to_bytes())
        now = changed.parameters
        for name, array in values.items():
            array = np.ascontiguousarray(array, dtype=np.float32)
            if name in now and array.shape != now[name].shape:
                raise ValueError(f"{name}: expected shape {now[name].shape}, found {array.shape}")
            pointer = ffi.cast("float *", array.ctypes.data)
            check(lib.drove_predictor_set_tensor(changed._predictor, encoded(name), pointer, array.size))
        self._predictor = changed._predictor  # who computes with the old one holds it

    # ---- predictions ----

    def outputs(self, x, threads=0):
        """Predictions for the rows of x, [n_rows, n_outputs]: float32, of values float64.

        Of classes a probability or score each; where the loss has one output for two classes, that of the second; of
        labels a probability each; else values.  x: an array, a SciPy matrix, a table, a Parquet file, or the spec of a
        data set.  threads: 0 = as many as processors.
        """
        x = _tables.opened(x)
        if isinstance(x, _parquet.Parquet):
            parts = [self.outputs(part, threads) for part in x.tables()]
            return np.concatenate(parts) if parts else np.empty((0, self.n_outputs), dtype=self._dtype)
        if isinstance(x, (str, os.PathLike)):
            return self._apply(os.fspath(x), threads)
        if self.is_table:
            if not _tables.is_table(x) and not isinstance(x, np.ndarray):
                x = x.toarray() if hasattr(x, "tocsr") else np.asarray(x)
            return self.table_outputs(x, self._column_names() if isinstance(x, np.ndarray) else None, threads)
        if _tables.is_table(x):
            x = _tables.to_array(_tables.whole(x))
        x = _data.as_kind(x if hasattr(x, "tocsr") else _data.known(x), self.is_sparse)
        width = x.shape[1] if x.ndim == 2 else int(np.prod(x.shape[1:])) if x.ndim > 2 else 0
        if width != self.n_features:
            raise ValueError(f"expected rows of {self.n_features} numbers, found an array of shape {x.shape}")
        if _data.n_odd(x) and "input.shift" in self.parameters:  # the mean of the training data, if that was subtracted
            x, n_infinite = _data.filled(x, self.parameters["input.shift"] + self._origin("input.origin"))
            _data.heed_infinite(n_infinite)
        if x.shape[0] == 0:
            return np.empty((0, self.n_outputs), dtype=self._dtype)
        if isinstance(x, np.ndarray) and x.ndim == 2 and x.shape[0] <= 64 and x.shape[1] == self.n_features:
            out = self._rows(x)
            if out is not None:
                return out
        source = _data.Source(x)
        return self._apply(source.name, threads)

    def table_outputs(self, x, names, threads=0):
        """outputs() of a table, or an array of numbers, whose columns count as called `names`; None: by their own names."""
        source = _tables.source_of(x, names)
        out = self._apply(source.spec, threads)
        if len(out) != source.n_rows:
            raise ValueError(f"expected predictions for {source.n_rows} rows, found {len(out)}: the names or cells of the "
                             "table do not read back from CSV")
        return out

    def remarks(self, x):
        """What there is to remark on a table or data set as this model reads it: cells that count as missing, columns of
        no use."""
        return self.table_remarks(_tables.opened(x), None)

    def table_remarks(self, x, names):
        """remarks() of a table whose columns count as called `names`; None: by their own names."""
        source = None if isinstance(x, (str, os.PathLike)) else _tables.source_of(x, names)
        out = ffi.new("char **")
        check(lib.drove_predictor_remarks(self._predictor, encoded(x if source is None else source.spec), out))
        try:
            return text(out[0])
        finally:
            lib.free(out[0])

    def stream(self, x, threads=0):
        """Predictions for the rows of a table or stream, as a stream of record batches in Arrow's PyCapsule interface.

        A batch of x at a time is read and predicted, when the consumer asks for it: of a Parquet file or a reader no more is
        in memory.  x: what offers `__arrow_c_stream__`, or the path of a Parquet file.  Columns: those of outputs(),
        called by their classes or values.  A model of rows of numbers takes x's columns as its features, in their order.
        """
        x = _tables.opened(x)
        if not hasattr(x, "__arrow_c_stream__"):
            raise ValueError(f"expected a table or stream that offers __arrow_c_stream__, found {type(x).__name__}")
        return _tables.Stream(self._predictor, x, threads)

    def _rows(self, x):
        x = _data.known(x)
        out = np.empty((x.shape[0], self.n_outputs), dtype=self._dtype)
        rows, kind = ((lib.drove_predictor_rows_f64, "double *") if self._dtype == np.float64
                      else (lib.drove_predictor_rows, "float *"))
        status = rows(self._predictor, _data.matrix(x), ffi.cast(kind, out.ctypes.data))
        if status == lib.DROVE_E_UNSUPPORTED:  # sparse or mapped: by the way for any data
            return None
        check(status)
        return out

    def _apply(self, spec, threads):
        if threads < 0:
            raise ValueError(f"threads: expected 0 or more, found {threads}")
        apply, kind = ((lib.drove_predictor_apply_f64, "double **") if self._dtype == np.float64
                       else (lib.drove_predictor_apply, "float **"))
        into, n = ffi.new(kind), ffi.new("size_t *")
        check(apply(self._predictor, encoded(spec), threads, into, n))
        try:
            flat = np.frombuffer(ffi.buffer(into[0], self._dtype.itemsize * n[0] * self.n_outputs), dtype=self._dtype)
            return flat.reshape(n[0], self.n_outputs).copy()
        finally:
            lib.free(into[0])

    def probabilities(self, x, threads=0):
        """[n_rows, n_classes]; of labels the probability of each.  Raises where the loss gives none."""
        if not self.gives_probability:
            raise AttributeError(f"the loss {self.loss} gives no probabilities")
        out = self.outputs(x, threads)
        return np.column_stack([1 - out[:, 0], out[:, 0]]) if self._is_pair else out

    @property
    def _is_pair(self):
        return self.n_classes == 2 and self.n_outputs == 1 and not self.is_multi_label

    def evaluate(self, data, threads=0, loss=None, threshold=None):
        """Loss, accuracy and metrics on labelled data: a spec, a table or Parquet file with the label's column, or an object
        of drove that has a spec (docs/use/metrics.md).  loss: the function or Loss that the model was trained with, if it was.
        threshold: of two classes the second is predicted from this probability on; "f1" or "cost:fp=1,fn=5": from the one that
        is best on these data, metrics["threshold"]["value"]."""
        data = _tables.opened(data)
        if _tables.is_table(data):
            data = _tables.source_of(data)
        if not getattr(data, "has_targets", True):
            raise ValueError("expected data with targets, found rows alone")
        use = ffi.new("drove_use_options *")
        names = [ffi.new("char[]", encoded(self.name)), ffi.new("char[]", encoded(getattr(data, "spec", None) or getattr(data, "name", data)))]
        use.model, use.data, use.threads = names[0], names[1], threads
        if threshold is not None:
            names.append(ffi.new("char[]", encoded(str(threshold))))
            use.threshold = names[-1]
        report, metrics, out = ffi.new("drove_score_report *"), ffi.new("drove_metrics **"), ffi.new("char **")
        options, given = _loss.make_options({} if loss is None else {"loss": loss})
        given.check(lib.drove_eval_with(options, use, report, metrics))
        try:
            check(lib.drove_metrics_json(metrics[0], out))
        finally:
            lib.drove_metrics_destroy(metrics[0])
        try:
            found = json.loads(text(out[0]))
        finally:
            lib.free(out[0])
        return {"loss": report.loss, "accuracy": report.accuracy, "n_rows": report.n_rows, "metrics": found}

    def _repr_html_(self):
        kind = "labels" if self.is_multi_label else "classes"
        facts = [("model", self.spec), ("loss", self.loss), ("features", self.n_features),
                 (kind, self.n_classes or None), ("outputs", self.n_outputs), ("parameters", self.n_parameters)]
        names = self.class_names if self.n_classes else None
        if names is not None and len(names) <= 20:
            facts.append(("names", ", ".join(names)))
        facts += [(name, " x ".join(str(n) for n in values.shape)) for name, values in list(self.parameters.items())[:40]]
        return _html.page("drove.Model", facts)

    def __repr__(self):
        return f"<drove.Model {self.spec}, loss {self.loss}, {self.n_parameters} parameters>"


def load_model(path):
    """The Model in a file, or in the folder of a run."""
    return Model(os.fspath(path))
