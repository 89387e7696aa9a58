"""train(), callbacks, signals, models and logs."""
import ast
import copy
import inspect
import io
import os
import pickle
import re
import signal
import subprocess
import sys
import threading
import time
import types
import unittest
import warnings
from unittest import mock

import numpy as np

import drove
from scratch import setUpModule, tearDownModule


def problem(n=400, d=8):
    rng = np.random.RandomState(0)
    X = rng.randn(n, d).astype(np.float32)
    return X, (X[:, 0] + 0.3 * rng.randn(n) > 0).astype(int)


class Train(unittest.TestCase):
    def test_arrays_files_and_tables_agree(self):
        import pandas
        X, y = problem()
        options = dict(model="mlp:8", until="epochs=5", lr=0.01, strategy="sequential", threads=1, test="none")
        arrays = drove.train((X, y), **options)
        self.assertEqual(arrays.outcome, "finished")
        np.save("x.npy", X)
        np.save("y.npy", y.astype(np.int32))
        files = drove.train("npy:x.npy,y.npy", out="run", **options)
        for name, values in arrays.model.parameters.items():
            np.testing.assert_array_equal(values, files.model.parameters[name])
        frame = pandas.DataFrame(X).assign(kind=np.where(y, "yes", "no"))
        table = drove.train(frame, label="kind", **options)
        self.assertTrue(table.model.is_table)
        self.assertEqual(sorted(table.model.class_names), ["no", "yes"])
        saved = drove.load_model("run")
        np.testing.assert_array_equal(saved.outputs(X), files.model.outputs(X))
        log = drove.read_log("run")
        self.assertEqual(log[-1]["epochs"], 5)
        self.assertTrue(all(np.isfinite(line["loss"]) for line in log))

    def test_a_global_batch_makes_the_same_updates_on_any_number(self):
        X, y = problem()
        options = dict(model="mlp:8", until="epochs=4", lr=0.1, strategy="sync", test="none", global_batch=48)
        two, four = (drove.train((X, y), threads=n, **options) for n in (2, 4))
        self.assertEqual(two.summary["batch"], 24)
        self.assertEqual(four.summary["batch"], 12)
        self.assertEqual(two.summary["updates"], 4 * (400 // 48))
        for name, values in two.model.parameters.items():
            np.testing.assert_allclose(four.model.parameters[name], values, rtol=1e-4, atol=1e-6)
        with self.assertRaisesRegex(ValueError, "global_batch: expected a multiple of the 3 workers, such as 51, found 49"):
            drove.train((X, y), threads=3, **{**options, "global_batch": 49})

    def test_a_command_of_the_program_stays_one(self):
        from drove._library import in_python
        line = "rank 1 on host a has died (process 7); the last state is in run: mpirun -n 3 drove train --resume run goes on"
        self.assertEqual(in_python(line), line)
        self.assertEqual(in_python("--until epochs: found --global-batch 3"), "until epochs: found global_batch 3")

    def test_the_program_reads_what_python_saved(self):
        X, y = problem()
        model = drove.train((X, y), model="mlp:8", until="epochs=3", test="none").model
        model.save("saved.safetensors")
        np.save("rows.npy", X)
        np.save("none.npy", y.astype(np.int32))
        out = subprocess.run([os.environ["DROVE"], "predict", "saved.safetensors", "--data", "npy:rows.npy,none.npy",
                              "--proba"], capture_output=True, text=True, check=True).stdout
        printed = np.array([[float(v) for v in line.split(",")] for line in out.splitlines()])
        np.testing.assert_allclose(printed.reshape(len(X), -1), model.outputs(X), atol=1e-6)

    def test_training_goes_on(self):
        X, y = problem()
        first = drove.train((X, y), model="mlp:8", until="epochs=3", lr=0.01, test="none")
        second = drove.train((X, y), model=first.model, until="epochs=3", lr=0.01, test="none")
        self.assertLess(second.summary["loss"], first.summary["loss"])

    def test_a_run_is_resumed(self):
        """With the options that it was saved with; it began with a model in memory, which is gone."""
        np.savetxt("rows.csv", np.column_stack([*problem()[0].T[:4], problem()[1]]), delimiter=",", fmt="%g",
                   header="a,b,c,d,y", comments="")
        run = dict(label="y", test="none", strategy="sequential", threads=1, lr=0.05)
        start = drove.train("rows.csv", model="mlp:4", until="epochs=1", seed=1, **run).model
        whole = drove.train("rows.csv", model=start, until="epochs=3", seed=2, **run).model
        drove.train("rows.csv", model=start, until="epochs=1", seed=2, out="stopped", **run)
        del start
        result = drove.train(resume="stopped", until="epochs=3")
        for name, values in whole.parameters.items():
            np.testing.assert_array_equal(result.model.parameters[name], values)
        with self.assertRaisesRegex(FileNotFoundError, "^resume: nowhere/run.json"):
            drove.train(resume="nowhere")

    def test_options(self):
        table = drove.options()
        self.assertEqual(table["data"][0], "synth:digits")
        self.assertIn("step size", table["lr"][1])
        with self.assertRaisesRegex(ValueError, "did you mean"):
            drove.train(problem(), modle="linear")
        with self.assertRaises(FileNotFoundError):
            drove.load_model("nothing.safetensors")
        with self.assertRaisesRegex(ValueError, "NUL"):
            drove.train("a\0b")


class Callbacks(unittest.TestCase):
    def train(self, **more):
        return drove.train(problem(), model="mlp:8", lr=0.01, test="none", strategy="sequential",
                           **{"until": "seconds=600", "eval_every": 1, **more})

    def test_progress(self):
        seen, lines = [], []
        self.train(until="epochs=4", on_evaluated=seen.append, on_message=lines.append)
        self.assertEqual([round(p.epochs) for p in seen][:5], [0, 1, 2, 3, 4])
        self.assertTrue(all(p.evaluated for p in seen))
        self.assertIn("loss", str(seen[-1]))

    def test_false_ends_the_run(self):
        seen = []
        result = self.train(on_evaluated=lambda p: seen.append(p) or len(seen) < 3)
        self.assertEqual(result.outcome, "interrupted")
        self.assertEqual(result.model.outputs(problem()[0]).shape[0], 400)

    def test_an_exception_ends_the_run_and_comes_out(self):
        def fail(p):
            raise KeyError("mine")
        with self.assertRaisesRegex(KeyError, "mine"):
            self.train(on_evaluated=fail)
        with self.assertRaises(SystemExit):
            self.train(on_message=lambda line: sys.exit(3), on_evaluated=lambda p: sys.exit(3))

    def test_the_bar(self):
        """Of a terminal one line, written anew; of a notebook's kernel one display, replaced, by the waiting thread."""
        def train(stream):
            with mock.patch.object(sys, "stderr", stream):
                self.train(until="epochs=5", verbose=True)
        stream = io.StringIO()
        train(stream)
        lines = stream.getvalue().split("\r")
        self.assertRegex(lines[-1], r"^\[#{30}\] 100 %  5.00 epochs, loss [0-9.]+.*\n$")
        self.assertNotIn("\n", "".join(lines[:-1]))

        shown, here = [], threading.get_ident()

        class Handle:
            def update(self, data, raw):
                shown.append((self, data["text/plain"], raw, threading.get_ident()))

        def display(data, raw, display_id):
            self.assertTrue(display_id)
            handle = Handle()
            handle.update(data, raw)
            return handle
        shell = types.SimpleNamespace(kernel=object())
        modules = {"IPython": types.SimpleNamespace(get_ipython=lambda: shell),
                   "IPython.display": types.SimpleNamespace(display=display)}
        stream = io.StringIO()
        with mock.patch.dict(sys.modules, modules):
            train(stream)
        self.assertEqual(stream.getvalue(), "")
        self.assertRegex(shown[-1][1], r"^\[#{30}\] 100 %  5.00 epochs")
        self.assertEqual({(handle, raw, ident) for handle, _, raw, ident in shown}, {(shown[0][0], True, here)})
        shell.kernel = None  # IPython in a terminal
        with mock.patch.dict(sys.modules, modules):
            train(stream)
        self.assertIn("100 %", stream.getvalue())

    def test_ctrl_c_is_an_exception_with_the_model(self):
        began = time.monotonic()
        threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
        with self.assertRaises(KeyboardInterrupt) as caught:
            self.train()
        self.assertLess(time.monotonic() - began, 60)
        self.assertIsInstance(caught.exception, drove.Interrupted)
        result = caught.exception.result
        self.assertEqual(result.outcome, "interrupted")
        self.assertEqual(result.model.outputs(problem()[0]).shape[0], 400)
        with self.assertRaisesRegex(ValueError, "interrupt: expected 'raise' or 'keep', found 'never'"):
            self.train(interrupt="never")

    def test_ctrl_c_may_keep_the_model(self):
        began = time.monotonic()
        threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = self.train(interrupt="keep")
        self.assertLess(time.monotonic() - began, 60)
        self.assertEqual(result.outcome, "interrupted")
        self.assertTrue(any("interrupted" in str(w.message) for w in caught))
        self.assertIsNotNone(result.model)
        self.assertIs(signal.getsignal(signal.SIGINT), signal.default_int_handler)

    def test_a_second_ctrl_c_is_an_exception(self):
        code = """
import os, signal, threading, drove, numpy as np
has_begun = threading.Event()
def begin(p):
    if not has_begun.is_set():
        has_begun.set()
        for delay in (0.1, 0.4):  # signals that come before Python looks count once
            threading.Timer(delay, os.kill, (os.getpid(), signal.SIGINT)).start()
X = np.random.rand(20000, 200).astype(np.float32)
try:
    drove.train((X, (X[:, 0] > 0.5).astype(int)), model="mlp:512,512", lr=0.01, until="seconds=60", test="none",
                on_progress=begin)
    threading.Event().wait(5)  # for the second, if the run was quicker than it
except KeyboardInterrupt:
    print("interrupted")
"""
        done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.strip(), "interrupted")

    def test_the_lock_is_released(self):
        n, ends = [0], threading.Event()

        def count():
            while not ends.is_set():
                n[0] += 1
                time.sleep(0.001)
        thread = threading.Thread(target=count)
        thread.start()
        self.train(until="seconds=0.3")
        ends.set()
        thread.join()
        self.assertGreater(n[0], 20)

    def test_two_runs_at_once(self):
        X, y = problem()
        alone = drove.train((X, y), model="mlp:8", until="epochs=5", lr=0.01, threads=1, strategy="sequential")
        results = [None] * 4

        def work(i):
            results[i] = drove.train((X, y), model="mlp:8", until="epochs=5", lr=0.01, threads=1,
                                     strategy="sequential")
        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for result in results:
            np.testing.assert_array_equal(result.model.outputs(X), alone.model.outputs(X))


class Models(unittest.TestCase):
    def setUp(self):
        self.X, self.y = problem()
        self.model = drove.train((self.X, self.y), model="mlp:8", until="epochs=3", test="none").model

    def test_parameters_are_the_model(self):
        p = self.model.parameters
        weights = [p[name] for name in sorted(p) if name.endswith(".weight")]
        biases = [p[name] for name in sorted(p) if name.endswith(".bias")]
        x = (self.X - p["input.shift"]) * p["input.factor"]
        h = np.maximum(x @ weights[0] + biases[0], 0)
        z = h @ weights[1] + biases[1]
        if z.shape[1] == 1:
            expected = 1 / (1 + np.exp(-z))
        else:
            expected = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
        np.testing.assert_allclose(self.model.outputs(self.X), expected, atol=1e-5)
        self.assertEqual(self.model.n_parameters, sum(a.size for a in weights + biases))

    def test_parameters_are_written(self):
        other = copy.deepcopy(self.model)
        name = [n for n in other.parameters if n.endswith("1.bias")][0]
        other.set_parameters({name: other.parameters[name] + 1e3 * np.arange(1, 1 + len(other.parameters[name]))})
        self.assertTrue((other.outputs(self.X)[:, -1] > 0.99).all())
        self.assertFalse((self.model.outputs(self.X)[:, -1] > 0.99).all())
        with self.assertRaisesRegex(ValueError, "shape"):
            other.set_parameters({name: np.zeros(77)})
        with self.assertRaisesRegex(ValueError, "name of a tensor"):
            other.set_parameters({"none": np.zeros(1)})
        with self.assertRaises(FloatingPointError):
            other.set_parameters({name: other.parameters[name] * np.nan})

    def test_pickles_and_bytes(self):
        for again in (pickle.loads(pickle.dumps(self.model)), drove.Model.from_bytes(self.model.to_bytes())):
            np.testing.assert_array_equal(again.outputs(self.X), self.model.outputs(self.X))
        with self.assertRaises(ValueError):
            drove.Model.from_bytes(b"nonsense")
        with self.assertRaises(ValueError):
            drove.Model.from_bytes(self.model.to_bytes()[:-1])

    def test_rows_alone_and_together(self):
        alone = np.vstack([self.model.outputs(row[None]) for row in self.X])
        by_tens = np.vstack([self.model.outputs(self.X[i:i + 10]) for i in range(0, 400, 10)])
        np.testing.assert_array_equal(alone, by_tens)
        np.testing.assert_allclose(self.model.outputs(self.X), alone, atol=1e-6)
        with self.assertRaisesRegex(ValueError, "8"):
            self.model.outputs(self.X[:, :5])

    def test_parameters_change_while_threads_predict(self):
        model, ends, wrong = copy.deepcopy(self.model), threading.Event(), []
        name = [n for n in model.parameters if n.endswith("1.bias")][0]

        def work():
            while not ends.is_set():
                if not np.isfinite(model.outputs(self.X[:20])).all():
                    wrong.append(1)
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for i in range(50):
            model.set_parameters({name: self.model.parameters[name] + i})
        ends.set()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_bad_rows(self):
        mean = self.model.parameters["input.shift"][None]  # stands for what is missing
        expected = self.model.outputs(mean)
        np.testing.assert_array_equal(self.model.outputs(mean * np.nan), expected)
        for rows in (np.full((1, 8), np.inf), np.full((1, 8), 1e39)):
            with self.assertWarnsRegex(UserWarning, "8 infinite numbers count as missing"):
                np.testing.assert_array_equal(self.model.outputs(rows), expected)
        for rows in (3.0, [1, 2], np.zeros((2, 9)), np.array([["a"] * 8])):
            with self.assertRaises(ValueError):
                self.model.outputs(rows)
        self.assertEqual(self.model.outputs(np.zeros((0, 8))).shape, (0, self.model.n_outputs))
        with self.assertRaisesRegex(ValueError, "targets"):
            from drove._data import Source
            self.model.evaluate(Source(self.X))

    def test_threads_share_a_model(self):
        expected, wrong = self.model.outputs(self.X), []

        def work():
            for first in range(0, 400, 10):
                if abs(self.model.outputs(self.X[first:first + 10]) - expected[first:first + 10]).max() > 1e-6:
                    wrong.append(first)
        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_evaluate(self):
        from drove._train import labelled
        found = self.model.evaluate(labelled(self.X, self.y))
        predicted = self.model.probabilities(self.X).argmax(axis=1)
        self.assertAlmostEqual(found["accuracy"], (predicted == self.y).mean(), places=6)
        self.assertEqual(found["n_rows"], 400)


class Package(unittest.TestCase):
    def test_the_import_is_quick_and_light(self):
        code = "import sys, drove; print('sklearn' in sys.modules, 'numpy' in sys.modules, drove.__version__)"
        out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
        self.assertEqual(out[:2], ["False", "False"])
        with open(os.path.join(os.environ["DROVE_SOURCE_DIR"], "include/drove/version.h"), encoding="utf-8") as file:
            numbers = re.findall(r"define DROVE_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", file.read())
        self.assertEqual(out[2], ".".join(numbers))

    def test_names(self):
        without = []
        for name in drove.__all__:
            found = getattr(drove, name)
            public = [(name, found)] + [(f"{name}.{part}", value) for part, value in inspect.getmembers(found)
                                        if inspect.isclass(found) and not part.startswith("_")]
            without += [name for name, value in public
                        if (callable(value) or isinstance(value, property)) and not inspect.getdoc(value)]
        self.assertEqual(without, [])
        with self.assertRaises(AttributeError):
            drove.nothing

    def test_stubs_are_of_what_is_there(self):
        """Names of the module, of classes, and of all parameters."""
        path = os.path.join(os.environ["DROVE_SOURCE_DIR"], "python/drove/__init__.pyi")
        with open(path, encoding="utf-8") as file:
            nodes = [node for node in ast.parse(file.read()).body if isinstance(node, (ast.ClassDef, ast.FunctionDef))]

        def compare(name, node, found):
            a = node.args
            parameters = [one.arg for one in a.posonlyargs + a.args + a.kwonlyargs + [a.vararg, a.kwarg] if one is not None]
            self.assertEqual([p for p in parameters if p not in ("self", "cls")],
                             [p for p in inspect.signature(found).parameters if p != "self"], name)
        self.assertEqual({node.name for node in nodes if not node.name.startswith("_")}, set(drove.__all__))
        for node in nodes:
            if node.name.startswith("_"):
                continue
            found = getattr(drove, node.name)
            if isinstance(node, ast.FunctionDef):
                compare(node.name, node, found)
                continue
            methods = [part for part in node.body if isinstance(part, ast.FunctionDef)]
            for part in methods:
                if not part.decorator_list or part.decorator_list[0].id == "classmethod":
                    compare(f"{node.name}.{part.name}", part, getattr(found, part.name))
            own = {name for name, value in vars(found).items() if callable(value) and not name.startswith("_") and not name.endswith("_request")}
            self.assertLessEqual(own - {part.name for part in methods}, set(), node.name)


if __name__ == "__main__":
    unittest.main()
