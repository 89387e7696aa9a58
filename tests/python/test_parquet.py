"""Parquet files as data, and predictions as streams: the same as of tables, without the whole file in memory."""
import gc
import os
import sys
import unittest

import numpy as np

import drove
from drove import DroveClassifier, DroveRegressor
from scratch import setUpModule, tearDownModule

try:
    import pyarrow
    import pyarrow.parquet
    if tuple(int(part) for part in pyarrow.__version__.split(".")[:2]) < (14, 0):
        pyarrow = None
except ImportError:
    pyarrow = None
if pyarrow is None:
    print("skip: no pyarrow of 14.0 or later", file=sys.stderr)

RUN = dict(model="mlp:8", until="epochs=3", lr=0.01, strategy="sequential", threads=1, test="none", seed=1)
N, GROUP = 2000, 300


def mixed():
    rng = np.random.RandomState(0)
    size, town = rng.randn(N), rng.choice(["Oslo", "Bonn", "Rome"], N)
    return pyarrow.table({
        "size": pyarrow.array([None if i % 7 == 0 else v for i, v in enumerate(size)]),
        "count": rng.randint(0, 50, N),
        "town": pyarrow.array([None if i % 11 == 0 else v for i, v in enumerate(town)]).dictionary_encode(),
        "note": np.where(rng.rand(N) < 0.5, "x", "y"),
        "kind": np.where((town == "Oslo") | (size > 0.5), "yes", "no"),
        "weight": rng.rand(N) + 0.5,
    })


def numbers():
    rng = np.random.RandomState(1)
    X = rng.randn(N, 3)
    return pyarrow.table({"a": X[:, 0], "b": X[:, 1].astype(np.float32), "c": (10 * X[:, 2]).astype(np.int16),
                          "y": X @ [1.0, -2.0, 0.5]})


def write(table, name="data.parquet", **more):
    pyarrow.parquet.write_table(table, name, row_group_size=GROUP, **more)
    return name


@unittest.skipIf(pyarrow is None, "no pyarrow")
class Files(unittest.TestCase):
    def test_are_their_tables(self):
        table = mixed()
        path = write(table)
        made = dict(model="mlp:8", random_state=0, until="epochs=3", lr=0.02)
        of_file = DroveClassifier(**made).fit(path, "kind", sample_weight="weight")
        of_table = DroveClassifier(**made).fit(table, "kind", sample_weight="weight")
        np.testing.assert_array_equal(of_file.predict_proba(path), of_table.predict_proba(table))
        np.testing.assert_array_equal(of_table.predict(path), of_file.predict(table))
        self.assertEqual(list(of_file.feature_names_in_), ["size", "count", "town", "note"])
        right = float((of_table.predict(table) == np.array(table["kind"].to_pylist())).mean())
        self.assertAlmostEqual(of_file.score(path, "kind"), right)
        self.assertAlmostEqual(of_table.score(table, "kind"), right)

    def test_of_numbers(self):
        table = numbers()
        path = write(table)
        model = DroveRegressor("linear", random_state=0, until="epochs=3").fit(path, "y")
        same = DroveRegressor("linear", random_state=0, until="epochs=3").fit(table, "y")
        np.testing.assert_array_equal(model.predict(path), same.predict(table.drop(["y"])))
        self.assertEqual(list(model.feature_names_in_), ["a", "b", "c"])
        other = write(table.select(["c", "y", "b", "a"]), "turned.parquet")  # columns go by their names
        np.testing.assert_array_equal(model.predict(other), model.predict(path))
        before = model.score(path, "y")
        self.assertGreater(model.partial_fit(path, "y").score(path, "y"), 0.9)
        self.assertGreater(before, 0.5)

    def test_numbers_with_nulls_and_no_statistics(self):
        """That cells are missing is found in the rows where the file does not say it."""
        table = numbers()
        holes = table.set_column(0, "a", pyarrow.array([None if i % 5 == 0 else v for i, v in
                                                        enumerate(table["a"].to_pylist())]))
        made = dict(model="linear", random_state=0, until="epochs=3")
        expected = DroveRegressor(**made).fit(holes, "y").predict(holes)
        path = write(holes, write_statistics=False)
        np.testing.assert_array_equal(DroveRegressor(**made).fit(path, "y").predict(path), expected)
        plain = DroveRegressor(**made).fit(write(table, "plain.parquet", write_statistics=False), "y")
        a = table["a"].to_numpy()
        filled = table.set_column(0, "a", pyarrow.array([a.mean() if i % 5 == 0 else v for i, v in enumerate(a.tolist())]))
        np.testing.assert_allclose(plain.predict(path), plain.predict(filled), rtol=1e-5, atol=1e-5)

    def test_of_train(self):
        table = mixed().drop(["weight"])
        path = write(table)
        of_file = drove.train(path, "kind", **{**RUN, "test": path})
        of_table = drove.train(table, "kind", **{**RUN, "test": table})
        self.assertEqual(of_file.summary["test_accuracy"], of_table.summary["test_accuracy"])
        np.testing.assert_array_equal(of_file.model.outputs(path), of_table.model.outputs(table))
        self.assertEqual(of_file.model.evaluate(path)["accuracy"], of_table.model.evaluate(table)["accuracy"])
        self.assertEqual(of_file.model.evaluate(path)["accuracy"], of_file.summary["test_accuracy"])

    def test_that_are_none(self):
        with open("text.csv", "w", encoding="utf-8") as file:
            file.write("x,y\n1,2\n")
        with open("broken.parquet", "wb") as file:
            file.write(b"PAR1 and no more")
        for path, error, words in (("text.csv", ValueError, "text.csv: expected a Parquet file, found another"),
                                   ("nowhere.parquet", FileNotFoundError, "expected a Parquet file, found none"),
                                   ("broken.parquet", ValueError, "^broken.parquet: expected a Parquet file")):
            with self.assertRaisesRegex(error, words):
                DroveClassifier().fit(path, "y")
        with self.assertRaisesRegex(ValueError, "none called 'kid'"):
            DroveClassifier().fit(write(mixed()), "kid")
        twice = pyarrow.Table.from_arrays([pyarrow.array([1.0]), pyarrow.array([2.0])], names=["a", "a"])
        with self.assertRaisesRegex(ValueError, "twice.parquet: expected columns with different names"):
            DroveClassifier().fit(write(twice, "twice.parquet"), "a")

    def test_damaged_bytes_are_one_line_that_names_the_file(self):
        table = mixed().drop(["weight"])
        path = write(table, "damaged.parquet")
        model = drove.train(table, "kind", **RUN).model
        with open(path, "r+b") as file:
            file.seek(pyarrow.parquet.ParquetFile(path).metadata.row_group(1).column(0).data_page_offset)
            file.write(b"\xff" * 16)
        for use in (lambda: drove.train(path, "kind", **RUN), lambda: DroveClassifier().fit(path, "kind"),
                    lambda: model.outputs(path), lambda: model.evaluate(path)):
            with self.assertRaisesRegex(ValueError, r"\Adamaged.parquet: [^\n]*thrift[^\n]*\Z"):
                use()
        with self.assertRaisesRegex((OSError, ValueError), r"\A[^\n]*damaged.parquet: [^\n]*thrift"):
            pyarrow.table(model.stream(path))

    def test_nan_is_missing(self):
        """NaN is no null in Arrow; it counts as one here, of numbers alone as beside texts."""
        table = numbers()
        a = table["a"].to_numpy()
        holes = table.set_column(0, "a", pyarrow.array(np.where(a > 0.5, np.nan, a)))
        nulls = table.set_column(0, "a", pyarrow.array([None if v > 0.5 else v for v in a]))
        made = dict(model="linear", random_state=0, until="epochs=3")
        expected = DroveRegressor(**made).fit(nulls, "y").predict(nulls)
        of_table = DroveRegressor(**made).fit(holes, "y")
        np.testing.assert_array_equal(of_table.predict(holes), expected)
        for statistics in (True, False):
            path = write(holes, write_statistics=statistics)
            np.testing.assert_array_equal(DroveRegressor(**made).fit(path, "y").predict(path), expected)
        half = holes.set_column(0, "a", pyarrow.array(holes["a"].to_numpy().astype(np.float16)))
        self.assertTrue(np.isfinite(DroveRegressor(**made).fit(half, "y").predict(half)).all())

    def test_errors_of_test_data_have_no_name_of_the_library(self):
        table = mixed().drop(["weight"])
        with self.assertRaisesRegex(ValueError, "^test data: expected the columns of the training data; 1 missing"):
            drove.train(write(table), "kind", **{**RUN, "test": write(table.drop(["town"]), "less.parquet")})


@unittest.skipIf(pyarrow is None, "no pyarrow")
class Memory(unittest.TestCase):
    def test_row_groups_come_one_after_the_other(self):
        """pyarrow never holds more than a few row groups: in a process of its own, as the peak is that of its life."""
        rng = np.random.RandomState(0)
        n = 160_000
        table = pyarrow.table({**{f"x{i}": rng.randn(n) for i in range(8)}, "town": rng.choice(["a", "b", "c"], n),
                               "y": rng.choice(["n", "p"], n)})
        pyarrow.parquet.write_table(table, "large.parquet", row_group_size=4_000)
        code = """
import pyarrow, drove
model = drove.DroveClassifier("logistic", random_state=0, until="epochs=1", lr=0.1).fit("large.parquet", "y")
model.predict("large.parquet")
for batch in pyarrow.RecordBatchReader.from_stream(model.model_.stream("large.parquet")):
    pass
print(pyarrow.default_memory_pool().max_memory())
"""
        import subprocess
        out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        self.assertLess(int(out), table.nbytes / 3)


@unittest.skipIf(pyarrow is None, "no pyarrow")
class Streams(unittest.TestCase):
    def test_of_a_table(self):
        table = mixed().drop(["weight"])
        model = drove.train(table, "kind", **RUN).model
        expected, stream = model.outputs(table), model.stream(table)
        for x in (write(table), table.to_reader(max_chunksize=130)):
            reader = pyarrow.RecordBatchReader.from_stream(model.stream(x))
            self.assertEqual(reader.schema.names, ["yes"] if expected.shape[1] == 1 else model.class_names)
            found = np.concatenate([np.column_stack(batch.columns) for batch in reader])
            np.testing.assert_allclose(found, expected, atol=1e-6)
        for _ in range(2):  # as often as the rows can be read
            self.assertEqual(pyarrow.table(stream).num_rows, N)

    def test_outlives_its_model(self):
        table = mixed().drop(["weight"])
        model = drove.train(table, "kind", **RUN).model
        expected = model.outputs(table)[:, 0]
        reader = pyarrow.RecordBatchReader.from_stream(model.stream(table))
        del model
        gc.collect()
        np.testing.assert_allclose(reader.read_all().column(0).to_numpy(), expected, atol=1e-6)

    def test_is_lazy(self):
        table, n_read = mixed().drop(["weight"]), []

        def batches():
            for batch in table.to_batches(max_chunksize=500):
                n_read.append(batch.num_rows)
                yield batch
        model = drove.train(table, "kind", **RUN).model
        reader = pyarrow.RecordBatchReader.from_stream(
            model.stream(pyarrow.RecordBatchReader.from_batches(table.schema, batches())))
        self.assertEqual(n_read, [])
        self.assertEqual(reader.read_next_batch().num_rows, 500)
        self.assertEqual(n_read, [500])

    def test_of_numbers(self):
        X = np.random.RandomState(0).randn(300, 3).astype(np.float32)
        model = drove.train((X, X[:, 0] > 0), **RUN).model
        table = pyarrow.table({name: X[:, i] for i, name in enumerate("abc")})
        found = pyarrow.table(model.stream(table.to_reader(max_chunksize=70)))
        np.testing.assert_allclose(found.column(0).to_numpy(), model.outputs(X)[:, 0], atol=1e-6)

    def test_errors_come_out(self):
        table = mixed().drop(["weight"])
        model = drove.train(table, "kind", **RUN).model
        with self.assertRaisesRegex(pyarrow.ArrowInvalid, '^expected the columns of the training data; 1 missing: "town"'):
            pyarrow.table(model.stream(table.drop(["town"])))

        def batches():
            yield table.slice(0, 10).to_batches()[0]
            raise OSError("the line is dead")
        with self.assertRaisesRegex((OSError, pyarrow.ArrowException), "the line is dead"):
            pyarrow.RecordBatchReader.from_stream(
                model.stream(pyarrow.RecordBatchReader.from_batches(table.schema, batches()))).read_all()
        with self.assertRaisesRegex(ValueError, "offers __arrow_c_stream__, found list"):
            model.stream([1, 2])

    def test_that_nobody_reads_frees_its_rows(self):
        table = mixed().drop(["weight"])
        model = drove.train(table, "kind", **RUN).model
        before = pyarrow.total_allocated_bytes()
        copy = pyarrow.table({name: pyarrow.array(table[name].to_pylist()) for name in table.column_names})
        self.assertGreater(pyarrow.total_allocated_bytes(), before)
        capsule = model.stream(copy).__arrow_c_stream__()
        del copy, capsule
        gc.collect()
        self.assertEqual(pyarrow.total_allocated_bytes(), before)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    unittest.main()
