"""Tables of pandas, Polars and pyarrow by Arrow's PyCapsule interface: the same models as of files, without CSV on the way."""
import datetime
import decimal
import importlib
import os
import subprocess
import sys
import unittest
import warnings

import numpy as np

import drove
from drove import DroveClassifier, DroveRegressor, _tables
from scratch import setUpModule, tearDownModule

RUN = dict(model="mlp:8", until="epochs=4", lr=0.01, strategy="sequential", threads=1, test="none", seed=1)


def package(name, least=(0, 0)):
    """A package of at least this version; without it the test is skipped, and says why."""
    try:
        found = importlib.import_module(name)
    except ImportError:
        found = None
    version = tuple(int(part) for part in found.__version__.split(".")[:2]) if found is not None else None
    if found is not None and version >= least:
        return found
    why = f"no {name}" if found is None else f"{name} {found.__version__} has no Arrow interface"
    print(f"skipped: {why}", file=sys.stderr)
    raise unittest.SkipTest(why)


def arrow_pandas():
    package("pyarrow", (14, 0))
    return package("pandas", (2, 2))


def columns(n=400):
    """{name: cells}, None where missing; the floats are ones of 32 bits."""
    rng = np.random.RandomState(0)
    size = rng.randn(n).astype(np.float32).astype(float)
    town = rng.choice(["Oslo", "Bonn", "Rome, Italy"], n)
    day = datetime.date(2020, 2, 28)
    return {
        "size": [None if i % 7 == 0 else float(v) for i, v in enumerate(size)],
        "count": [int(v) for v in rng.randint(-5, 90, n)],
        "town": [None if i % 11 == 0 else str(v) for i, v in enumerate(town)],
        "open": [bool(v) for v in rng.rand(n) < 0.3],
        "born": [day + datetime.timedelta(days=int(v)) for v in rng.randint(-30000, 3000, n)],
        "seen": [datetime.datetime(2024, 1, 1) + datetime.timedelta(minutes=int(v)) for v in rng.randint(0, 10**6, n)],
        "kind": ["yes" if t == "Oslo" or s > 0.5 else "no" for t, s in zip(town, size)],
    }


def as_pandas(cells):
    return arrow_pandas().DataFrame(cells)


def as_polars(cells):
    return package("polars", (1, 0)).DataFrame(cells)


def as_pyarrow(cells):
    """In two chunks, the second one sliced, so that its arrays have offsets."""
    pyarrow = package("pyarrow", (14, 0))
    table = pyarrow.table(cells)
    return pyarrow.concat_tables([table.slice(0, 150), table.slice(150)])


MAKERS = {"pandas": as_pandas, "polars": as_polars, "pyarrow": as_pyarrow}


def write_csv(cells, path):
    with open(path, "w", encoding="utf-8") as file:
        print(",".join(cells), file=file)
        for row in zip(*cells.values()):
            print(",".join("" if c is None else f'"{c}"' if isinstance(c, str) else str(c) for c in row), file=file)


class Files(unittest.TestCase):
    """What a file can say, a table says, too."""

    def check(self, make):
        cells = columns()
        table = make(cells)
        write_csv(cells, "same.csv")
        of_file = drove.train("same.csv", label="kind", **RUN).model
        of_table = drove.train(table, label="kind", **RUN).model
        self.assertEqual(of_table.class_names, of_file.class_names)
        for name, values in of_file.parameters.items():
            np.testing.assert_array_equal(of_table.parameters[name], values)
        expected = of_file.outputs("same.csv")
        np.testing.assert_array_equal(of_table.outputs("same.csv"), expected)
        np.testing.assert_array_equal(of_table.outputs(table), expected)
        np.testing.assert_array_equal(of_file.outputs(table), expected)

    def test_pandas(self):
        self.check(as_pandas)

    def test_polars(self):
        self.check(as_polars)

    def test_pyarrow(self):
        self.check(as_pyarrow)

    def test_a_reader_that_is_read_once(self):
        table = as_pyarrow(columns())
        expected = drove.train(table, label="kind", **RUN).model.outputs(table)
        found = drove.train(table.to_reader(), label="kind", **RUN).model
        np.testing.assert_array_equal(found.outputs(table.to_reader(max_chunksize=7)), expected)

    def test_an_object_with_one_batch(self):
        batch = as_pyarrow(columns()).combine_chunks().to_batches()[0]

        class Batch:
            def __arrow_c_array__(self, requested_schema=None):
                return batch.__arrow_c_array__(requested_schema)

        expected = drove.train(batch, label="kind", **RUN).model.outputs(batch)
        np.testing.assert_array_equal(drove.train(Batch(), label="kind", **RUN).model.outputs(Batch()), expected)
        model = DroveClassifier("mlp:8", random_state=0, until="epochs=2").fit(Batch(), "kind")
        self.assertEqual(len(model.predict(Batch())), batch.num_rows)


class Estimators(unittest.TestCase):
    def fit(self, X, y, **more):
        return DroveClassifier("mlp:8", random_state=0, lr=0.02, rule="adam", until="epochs=60").fit(X, y, **more)

    def check(self, make):
        cells = columns()
        y = np.array(cells["kind"])
        whole, X = make(cells), make({name: c for name, c in cells.items() if name != "kind"})
        model = self.fit(X, y)
        self.assertGreater(model.score(X, y), 0.8)
        p = model.predict_proba(X)
        by_name = self.fit(whole, "kind")  # y is a column
        np.testing.assert_array_equal(by_name.predict_proba(X), p)
        np.testing.assert_array_equal(by_name.predict_proba(whole), p)
        self.assertEqual(list(by_name.feature_names_in_), [name for name in cells if name != "kind"])
        weight = np.arange(len(y)) % 3 + 0.5
        weighted = self.fit(X, y, sample_weight=weight).predict_proba(X)
        self.assertTrue((weighted != p).any())
        both = make({**cells, "w": list(weight)})
        found = self.fit(both, "kind", sample_weight="w")
        np.testing.assert_array_equal(found.predict_proba(X), weighted)
        self.assertNotIn("w", found.feature_names_in_)
        return p

    def test_all_agree(self):
        found = {}
        for name, make in MAKERS.items():
            try:
                found[name] = self.check(make)
            except unittest.SkipTest:
                pass
        for p in found.values():
            np.testing.assert_array_equal(p, next(iter(found.values())))

    def test_values(self):
        for make in MAKERS.values():
            try:
                X = make({**columns(), "y": [float(v) for v in range(400)]})
            except unittest.SkipTest:
                continue
            model = DroveRegressor("mlp:8", random_state=0, until="epochs=2").fit(X, "y")
            self.assertEqual(model.predict(X).shape, (400,))
            pair = drove.train((_tables.without(X, ["y"]), np.arange(400.0)), **RUN).model
            np.testing.assert_array_equal(pair.outputs(X), drove.train(X, label="y", **RUN).model.outputs(X))

    def test_several_labels_and_values(self):
        """An indicator matrix, or several values, beside texts and missing cells: those of a file with such columns."""
        cells = {name: c for name, c in columns().items() if name != "kind"}
        cells["label0"] = ["x", "y"] * 200  # a name that is taken
        labels = np.column_stack([np.array([c == "Oslo" for c in cells["town"]]), np.arange(400) % 3 == 0,
                                  [c is not None and c > 0 for c in cells["size"]]]).astype(int)
        values = np.column_stack([np.array(cells["count"], dtype=float), np.arange(400.0)])
        run = dict(model="mlp:8", random_state=1, until="epochs=4", lr=0.01, strategy="sequential")
        for make in MAKERS.values():
            try:
                X = make(cells)
            except unittest.SkipTest:
                continue
            model = DroveClassifier(**run).fit(X, labels)
            self.assertEqual(model.predict(X).shape, (400, 3))
            write_csv({**cells, **{f"l{i}": [bool(v) for v in labels[:, i]] for i in range(3)}}, "labels.csv")
            same = drove.train("labels.csv", label="l0,l1,l2", metrics="none", **RUN).model
            np.testing.assert_array_equal(model.predict_proba(X), same.outputs("labels.csv"))
            longer = DroveClassifier("mlp:8", random_state=0, until="epochs=40", lr=0.02, rule="adam").fit(X, labels)
            self.assertGreater((longer.predict(X)[:, 0] == labels[:, 0]).mean(), 0.95)
            self.assertEqual(longer.partial_fit(X, labels).predict(X).shape, (400, 3))
            with self.assertRaisesRegex(ValueError, "indicator matrix of 3 labels as in the first call"):
                longer.partial_fit(X, labels[:, :2])
            values_of = DroveRegressor(**run).fit(X, values)
            write_csv({**cells, **{f"v{i}": list(values[:, i]) for i in range(2)}}, "values.csv")
            same = drove.train("values.csv", label="v0,v1", metrics="none", **RUN).model
            np.testing.assert_allclose(values_of.predict(X), same.outputs("values.csv"), rtol=1e-6)
            pair = drove.train((X, values), metrics="none", **RUN).model
            np.testing.assert_allclose(pair.outputs(X), values_of.predict(X), rtol=1e-6)

    def test_numbers_alone(self):
        for make in MAKERS.values():
            try:
                X = make({name: [float(v) for v in np.random.RandomState(i).randn(100)] for i, name in enumerate("abc")})
            except unittest.SkipTest:
                continue
            model = DroveRegressor("linear", random_state=0, until="epochs=2").fit(X, "c")
            np.testing.assert_array_equal(model.predict(X), model.predict(_tables.without(X, ["c"])))

    def test_names_of_columns_that_are_not_there(self):
        for make in MAKERS.values():
            try:
                X = make(columns())
            except unittest.SkipTest:
                continue
            with self.assertRaisesRegex(ValueError, "none called 'kid'"):
                DroveClassifier().fit(X, "kid")
        with self.assertRaisesRegex(ValueError, "expected a table as X"):
            DroveClassifier().fit(np.zeros((3, 2)), "y")

    def test_pandas_is_not_needed(self):
        package("polars", (1, 0))
        code = ("import sys; sys.modules['pandas'] = sys.modules['pyarrow'] = None; import polars; from drove import "
                "DroveClassifier as C; X = polars.DataFrame({'x': ['a', 'b', None, 'a'] * 9, 'y': ['n', 'p', 'n', 'p'] * 9}); "
                "print(len(C('mlp:4', until='epochs=2').fit(X, 'y').predict(X)))")
        out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        self.assertEqual(out, "36\n")


class Types(unittest.TestCase):
    def test_pandas(self):
        """The index is no column; a category is one, also of intervals; NA is a text."""
        pandas = arrow_pandas()
        y = ["a", "b", "c", "d"] * 10
        frame = pandas.DataFrame({"code": ["NA", "-", "null", "None"] * 10,
                                  "cut": pandas.cut(np.arange(40.0) % 4, 4),
                                  "number": pandas.Categorical([1, 2, 3, 4] * 10),
                                  "kind": y}, index=[f"row{i}" for i in range(40)])
        model = drove.train(frame, label="kind", **RUN).model
        self.assertEqual(model.n_features, 12)
        learned = DroveClassifier("mlp:8", random_state=0, lr=0.05, until="epochs=60").fit(frame[["code"]], y)
        self.assertEqual(learned.score(frame[["code"]], y), 1)
        self.assertEqual(list(frame.index[:2]), ["row0", "row1"])  # as it was
        self.assertEqual(str(frame["cut"].dtype.categories.dtype), "interval[float64, right]")

    def test_polars(self):
        polars = package("polars", (1, 0))
        frame = polars.DataFrame({"enum": polars.Series(["x", "y", None, "x"] * 10, dtype=polars.Enum(["y", "x", "unused"])),
                                  "category": polars.Series(["1", "2", "3", None] * 10, dtype=polars.Categorical),
                                  "decimal": polars.Series([decimal.Decimal("1.25"), None] * 20, dtype=polars.Decimal(9, 2)),
                                  "time": polars.Series([datetime.time(i % 24) for i in range(40)]),
                                  "span": polars.Series([datetime.timedelta(seconds=i % 7) for i in range(40)]),
                                  "nothing": polars.Series([None] * 40, dtype=polars.Null),
                                  "y": [1, 2, 3, 4] * 10})
        # enum: x, y, missing; category: 1, 2, 3, missing; decimal: number, missing; two numbers
        self.assertEqual(drove.train(frame, label="y", **RUN).model.n_features, 3 + 4 + 2 + 1 + 1)

    def test_refused(self):
        """By one line that names the column and its type."""
        polars = package("polars", (1, 0))
        for values, kind in (([[1], [2]], "list"), ([{"a": 1}, {"a": 2}], "struct"), ([b"a", b"b"], "binary")):
            frame = polars.DataFrame({"good": [1, 2], "bad": values})
            with self.assertRaisesRegex(NotImplementedError, f'^arrow: column "bad": expected .*{kind}[a-z_]*$'):
                drove.train(frame, label="good", **RUN)

    def test_refused_by_pandas(self):
        pandas = arrow_pandas()
        frame = pandas.DataFrame({"good": [1, 2], "mixed": pandas.Series([1, [2]], dtype=object)})
        with self.assertRaisesRegex(ValueError, "^[^\n]*column mixed[^\n]*$"):
            drove.train(frame, label="good", **RUN)

    def test_pandas_columns_of_mixed_types_are_those_of_a_file(self):
        """Numbers and texts in one column: texts, or numbers where all texts are such, or few words among them."""
        pandas = arrow_pandas()
        n = 80
        frame = pandas.DataFrame({
            "mixed": pandas.Series([1, "x", 2.5, None, True, 7.0, "7", "y"] * (n // 8), dtype=object),
            "numbers": pandas.Series([1, "2", 3.5, None] * (n // 4), dtype=object),
            "word": pandas.Series([float(i) for i in range(n - 2)] + ["unknown"] * 2, dtype=object),
            "day": pandas.Series([datetime.date(2020, 1, 1 + i % 28) if i % 2 else "2021-03-04" for i in range(n)], dtype=object),
            "y": ["a", "b"] * (n // 2)})
        before = frame.copy()
        frame.to_csv("mixed.csv", index=False)
        of_file, of_table = (drove.train(data, label="y", **RUN).model for data in ("mixed.csv", frame))
        self.assertEqual(of_table.n_features, of_file.n_features)
        for name, values in of_file.parameters.items():
            np.testing.assert_array_equal(of_table.parameters[name], values)
        pandas.testing.assert_frame_equal(frame, before)
        model = DroveClassifier("mlp:8", random_state=0, until="epochs=2").fit(frame, "y")
        self.assertEqual(len(model.predict(frame)), n)

    def test_dates_beyond_the_range(self):
        polars = package("polars", (1, 0))
        frame = polars.DataFrame({"until": polars.Series([0, 10_000_000]).cast(polars.Date), "y": [1, 2]})
        with self.assertRaisesRegex(ValueError, 'column "until": row 2: expected a date between'):
            drove.train(frame, label="y", **RUN)

    def test_old_ways_stay(self):
        """A table that offers no interface goes by CSV text; pickles of models that did so keep their names."""
        pandas = arrow_pandas()
        frame = pandas.DataFrame({"a,b": ["x", "y", None, "x"] * 20, "y": ["n", "p"] * 40})
        names = ["x0", "x1"]
        text = _tables.TextTable(frame, names)
        model = drove.train(text.spec, label="x1", **RUN).model
        self.assertIsInstance(_tables.source_of(frame, names), _tables.TextTable)
        self.assertIsInstance(_tables.source_of(frame), _tables.Table)
        self.assertEqual(len(model.table_outputs(frame, names)), 80)


class OtherTypes(unittest.TestCase):
    """A column that has another type than in fit: read as far as it can be, and what cannot is said."""

    def tables(self, **changed):
        n = 40
        cells = {"age": [i % 17 + 0.5 for i in range(n)], "town": ["Oslo", "Bonn"] * (n // 2), **changed}
        for make in MAKERS.values():
            try:
                yield make(cells)
            except unittest.SkipTest:
                pass

    def check(self, changed, warned=None, raised=None, is_equal=False):
        models = [DroveClassifier("mlp:4", random_state=0, until="epochs=2").fit(table, ["a", "b"] * 20)
                  for table in self.tables()]
        for model, table, same in zip(models, self.tables(**changed), self.tables()):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                if raised:
                    with self.assertRaisesRegex(ValueError, raised):
                        model.predict(table)
                else:
                    p = model.predict_proba(table)
                    if is_equal:
                        np.testing.assert_array_equal(p, model.predict_proba(same))
            found = [str(w.message) for w in caught if issubclass(w.category, UserWarning)]
            self.assertEqual(len(found), 1 if warned else 0, found)
            if warned:
                self.assertRegex(found[0], warned)

    def test_that_reads_the_same_is_taken(self):
        self.check({"age": [str(i % 17 + 0.5) for i in range(40)]}, is_equal=True)

    def test_some_cells_are_said(self):
        self.check({"age": [str(i % 17 + 0.5) for i in range(36)] + ["old"] * 3 + [None]},
                   warned="^column 'age' had numbers in fit and has texts now: 3 of 39 cells")
        self.check({"town": [None] * 40})

    def test_none_is_an_error(self):
        self.check({"age": ["old", "young"] * 20}, raised="^column 'age': expected numbers as in fit, found texts, none of")
        self.check({"town": [1, 2] * 20}, raised="^column 'town': expected texts as in fit, found numbers, none of")
        self.check({"age": [datetime.date(2020, 1, 1)] * 40}, raised="^column 'age': expected numbers as in fit, found dates")

    def test_rows_of_training_go_the_same_way(self):
        for table, other in zip(self.tables(), self.tables(age=["old"] * 40)):
            model = DroveClassifier("mlp:4", random_state=0, until="epochs=2")
            model.partial_fit(table, ["a", "b"] * 20, classes=["a", "b"])
            with self.assertRaisesRegex(ValueError, "^column 'age': expected numbers"):
                model.partial_fit(other, ["a", "b"] * 20)


class Memory(unittest.TestCase):
    def test_a_table_is_gone_with_its_last_user(self):
        pyarrow = package("pyarrow", (14, 0))
        before = pyarrow.total_allocated_bytes()
        table = _tables.Table(pyarrow.table({"x": np.arange(1e5), "y": ["a", "b"] * 50000}).to_reader())
        self.assertEqual(pyarrow.total_allocated_bytes(), before)  # released with the last batch
        self.assertLess(table.n_bytes, 10**5 * 10)
        self.assertEqual(table.n_rows, 10**5)
        spec = table.spec
        del table
        with self.assertRaises(FileNotFoundError):
            drove.train(spec, label="y", **RUN)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    unittest.main()
