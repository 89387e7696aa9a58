"""onnx_nodes.py DROVE [WORD...]: runs ONNX's own tests of operators, as the onnx package makes them, through DROVE.

Each model is read twice: as it is, and, where it has several inputs, with all but the first as constants.  A model must give
the test's outputs to 1e-5, or to 1e-4 where they have four decimals, or be refused in one line that names a node, an input, an output, a tensor or the set of operators.
Prints a line for each model that does neither, how many tests of each operator are equal and refused (by the first node,
where it is the operator of an equal test), and the sums.  With words: only tests
whose names have one of them, and what happens to each.

Exit status: 0; 1: a model that computes something else; 77: no onnx package."""
import collections
import os
import re
import subprocess
import sys
import tempfile
import warnings
from concurrent.futures import ThreadPoolExecutor

warnings.filterwarnings("ignore")
try:
    import numpy as np
    import onnx
    from onnx import numpy_helper
    from onnx.backend.test.loader import load_model_tests
except ImportError as error:
    print(f"skip: {error}")
    sys.exit(77)

DROVE = os.path.abspath(sys.argv[1])
WORDS = sys.argv[2:]
NAMED = re.compile(r'(node|input|output) "|"[^"]*": expected|set of operators|expected (layers|an input), found none')
TOLERANCE = 1e-5


def with_constants(model, inputs):
    """The model with all inputs but the first as constants; None: it has one input, or others that are no tensors."""
    graph = model.graph
    if len(graph.input) < 2 or len(inputs) != len(graph.input) or not all(isinstance(i, (np.ndarray, np.generic)) for i in inputs):
        return None
    made = onnx.ModelProto()
    made.CopyFrom(model)
    del made.graph.input[1:]
    for value, array in zip(graph.input[1:], inputs[1:]):
        made.graph.initializer.append(numpy_helper.from_array(np.asarray(array), value.name))
    return made


def run(arguments, folder):
    return subprocess.run([DROVE, *arguments], cwd=folder, capture_output=True, text=True, check=False, timeout=120)


def judge(model, inputs, outputs):
    """"equal", "refused", "data", "unnamed" or "different", and why."""
    x = inputs[0] if inputs else np.zeros((1, 1), np.float32)
    if not isinstance(x, np.ndarray):  # a sequence or none: the file says so itself
        x = np.zeros((1, 1), np.float32)
    try:
        x = np.atleast_1d(x).astype(np.float32)
    except (TypeError, ValueError):  # strings
        x = np.zeros((1, 1), np.float32)
    rows = x.shape[0]
    y = outputs[0] if outputs and isinstance(outputs[0], np.ndarray) else np.zeros((rows, 1))
    width = max(1, y.size // rows) if rows else 1
    # The loss squared takes an output for each class, or one value, and leaves them as they are.  The examples stand there
    # twice: data have two classes at least, and a batch of any size gives the same.
    x = np.concatenate([x, x])
    target = np.arange(2 * rows) * 0.5 + 1 if width == 1 else np.repeat([width - 1, 0], rows)
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/net.onnx", "wb") as file:
            file.write(model.SerializeToString())
        np.savez(f"{folder}/d.npz", x=x if x.ndim == 4 else x.reshape(2 * rows, x.size // (2 * rows) if rows else 1),
                 y=target.astype(np.float32 if width == 1 else np.int64))
        data = "npz:d.npz?scale=none" + (f"&classes={width}" if width > 1 else "")
        trained = run(["train", data, "--test", "none", "--model", "net.onnx", "--until", "updates=0", "--lr", "0.01", "--loss", "squared",
                       "--threads", "1", "--out", "out", "--quiet"], folder)
        if trained.returncode == 0:
            said = run(["predict", "out", "--data", data, "--format", "npy", "--out", "got.npy"], folder)
            if said.returncode != 0:
                return "different", f"predict: {said.stderr}"
            got = np.load(f"{folder}/got.npy")[:rows]
            if len(outputs) != 1:
                return "different", f"expected {len(outputs)} outputs"
            if got.size != y.size:
                return "different", f"expected {y.shape}, found {got.shape}"
            expected = y.astype(np.float64).reshape(got.shape)
            difference = np.max(np.abs(got - expected) / np.maximum(1, np.abs(expected)), initial=0)
            # some tests have outputs that were written by hand, with four decimals
            is_by_hand = np.allclose(expected * 1e4, np.round(expected * 1e4), rtol=0, atol=1e-2)
            tolerance = 1e-4 if is_by_hand else TOLERANCE
            return ("equal", "") if difference <= tolerance else ("different", f"by {difference:.3g}")
        line = trained.stderr.strip()
        if trained.returncode == 2 and line.count("\n") == 0:
            if "d.npz" in line:
                return "data", line
            if NAMED.search(line) and "as the data and the loss require" not in line:
                return "refused", line
        return "unnamed", f"status {trained.returncode}: {line}"


def main():
    tests = [t for t in load_model_tests(kind="node") if not WORDS or any(word in t.name for word in WORDS)]
    jobs = []
    for test in tests:
        inputs, outputs = test.data_sets[0]
        jobs.append((test.name, "as it is", test.model, inputs, outputs))
        made = with_constants(test.model, inputs)
        if made is not None:
            jobs.append((test.name, "constants", made, inputs[:1], outputs))
    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda job: judge(*job[2:]), jobs))
    sums = collections.Counter()
    equal, tried = {}, {}
    for (name, form, model, _, _), (verdict, why) in zip(jobs, results):
        sums[form, verdict] += 1
        op = model.graph.node[0].op_type if model.graph.node else ""
        tried.setdefault(op, set()).add(name)
        if verdict == "equal":
            equal.setdefault(op, set()).add(name)
        if WORDS or verdict in ("different", "unnamed"):
            print(f"{name} ({form}): {verdict} {why}")
    for op in sorted(equal):
        print(f"{op}: {len(equal[op])} equal, {len(tried[op]) - len(equal[op])} refused")
    print(f"{len(tests)} tests, {sum(len(names) for names in equal.values())} of them equal in one form or both")
    for form in "as it is", "constants":
        print(form + ":", ", ".join(f"{sums[form, v]} {v}" for v in ("equal", "refused", "data", "unnamed", "different")))
    return 1 if any(v in ("different", "unnamed") for _, v in sums) else 0


sys.exit(main())
