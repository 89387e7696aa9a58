"""A fork after fit, and while another thread fits; an interpreter that ends while a run goes on."""
import multiprocessing
import os
import subprocess
import sys
import threading
import time
import unittest

import numpy as np

from drove import DroveClassifier


def problem(n=400, d=8):
    rng = np.random.RandomState(0)
    X = rng.randn(n, d).astype(np.float32)
    return X, (X[:, 0] > 0).astype(int)


def in_child(model, queue):
    X, y = problem()
    queue.put((model.predict_proba(X), DroveClassifier(until="epochs=3", random_state=0, n_jobs=2, lr=0.01).fit(X, y).score(X, y)))


class Forks(unittest.TestCase):
    def child(self, model):
        """What a child of fork says of this model and of one that it fits itself."""
        context = multiprocessing.get_context("fork")
        queue = context.Queue()
        process = context.Process(target=in_child, args=(model, queue))
        process.start()
        found = queue.get(timeout=100)
        process.join(100)
        self.assertEqual(process.exitcode, 0)
        return found

    def test_fit_in_the_parent_and_again_in_the_child(self):
        X, y = problem()
        model = DroveClassifier(until="epochs=3", random_state=0, n_jobs=2, lr=0.01).fit(X, y)
        before = model.predict_proba(X)
        found, score = self.child(model)
        np.testing.assert_array_equal(found, before)
        self.assertGreater(score, 0.8)
        model.partial_fit(X, y)

    def test_while_another_thread_fits(self):
        X, y = problem()
        model = DroveClassifier(until="epochs=3", random_state=0, n_jobs=1, lr=0.01).fit(X, y)
        stop, fits = threading.Event(), []

        def go_on():
            while not stop.is_set():
                fits.append(DroveClassifier(until="epochs=50", n_jobs=2, random_state=0, lr=0.01).fit(X, y))
        thread = threading.Thread(target=go_on)
        thread.start()
        try:
            for _ in range(3):
                found, _ = self.child(model)
                np.testing.assert_array_equal(found, model.predict_proba(X))
        finally:
            stop.set()
            thread.join()
        self.assertGreater(len(fits), 0)


class Ends(unittest.TestCase):
    def run_code(self, code, ends=True):
        out = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env={**os.environ, "PYTHONFAULTHANDLER": "1"})
        try:
            printed, errors = out.communicate(timeout=100)
        except subprocess.TimeoutExpired:
            out.kill()
            raise
        return out.returncode, printed, errors

    START = """
import threading, time, numpy as np, drove, sys, os
X = np.random.RandomState(0).randn(2000, 16).astype(np.float32)
y = (X[:, 0] > 0).astype(int)
def fit():
    drove.train((X, y), model="mlp:64", lr=0.01, until="seconds={}", test="none", on_progress=lambda p: started.set())
started = threading.Event()
thread = threading.Thread(target=fit, daemon={})
thread.start()
started.wait()
"""

    def test_main_ends_while_a_thread_trains(self):
        """A plain thread is waited for; the run ends by itself."""
        code, _, errors = self.run_code(self.START.format(2, False) + "print('over')")
        self.assertEqual((code, errors), (0, ""))

    def test_main_ends_while_a_daemon_trains(self):
        """It ends with the interpreter, which neither crashes nor hangs."""
        begun = time.monotonic()
        code, printed, errors = self.run_code(self.START.format(600, True) + "print('over')")
        self.assertEqual((code, printed), (0, "over\n"), errors)
        self.assertNotIn("Fatal", errors)
        self.assertLess(time.monotonic() - begun, 90)

    def test_sys_exit_and_an_exception_in_main(self):
        code, _, errors = self.run_code(self.START.format(600, True) + "sys.exit(5)")
        self.assertEqual(code, 5, errors)
        code, _, errors = self.run_code(self.START.format(600, True) + "1 / 0")
        self.assertEqual(code, 1)
        self.assertIn("ZeroDivisionError", errors)
        self.assertNotIn("Fatal", errors)


if __name__ == "__main__":
    unittest.main()
