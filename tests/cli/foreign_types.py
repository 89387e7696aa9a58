"""foreign_types.py DROVE: files of other programs in the types that these write.

Parameters of PyTorch as F16, BF16 and F64, with the prefixes of modules that wrap a network; images with given means and
deviations; an archive of zeros.  What DROVE predicts is what NumPy computes here."""
import json
import struct
import subprocess
import sys
import tarfile
import io
import zipfile

import numpy as np

DROVE = sys.argv[1]
rng = np.random.default_rng(0)


def run(*arguments, stdin=None):
    return subprocess.run([DROVE, *arguments], capture_output=True, text=True, check=False, stdin=stdin)


def predicted(data, *options, model="logistic"):
    """Predictions of a model that starts from the options' parameters and is not trained."""
    subprocess.run(["rm", "-rf", "out"], check=True)
    trained = run("train", data, "--test", "none", "--model", model, *options, "--until", "updates=0", "--lr", "0.1", "--out", "out",
                  "--threads", "1", "--quiet")
    assert trained.returncode == 0, trained.stderr
    made = run("predict", "out", "--data", data.split("?")[0], "--format", "npy", "--out", "got.npy")
    assert made.returncode == 0, made.stderr
    return np.load("got.npy")


def softmax(z):
    e = np.exp(z - z.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def save(path, dtype, tensors):
    header, at, bodies = {}, 0, b""
    for name, array, shape in tensors:
        body = array.tobytes()
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [at, at + len(body)]}
        at += len(body)
        bodies += body
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + bodies)


def refused(result, *words):
    assert result.returncode == 2 and result.stderr.count("\n") == 1, result
    for word in words:
        assert word in result.stderr, (word, result.stderr)


x, y = rng.normal(size=(20, 4)).astype(np.float32), np.arange(20) % 3
w, b = rng.normal(size=(3, 4)).astype(np.float32), rng.normal(size=3).astype(np.float32)
np.savez("d.npz", x=x, y=y)
types = {
    "F16": (lambda a: a.astype("<f2"), lambda a: a.astype(np.float32)),
    "BF16": (lambda a: (a.view("<u4") >> 16).astype("<u2"), lambda a: (a.astype("<u4") << 16).view("<f4")),
    "F64": (lambda a: a.astype("<f8"), lambda a: a),
}
for dtype, (write, read) in types.items():
    for prefix in "", "module.", "_orig_mod.", "_orig_mod.module.":
        save("m.safetensors", dtype, [(prefix + "layer0.weight", write(w), w.shape), (prefix + "layer0.bias", write(b), b.shape)])
        got = predicted("npz:d.npz?scale=none", "--init", "pytorch:m.safetensors")
        expected = softmax(x @ read(write(w)).T + read(write(b)))
        assert np.abs(got - expected).max() < 1e-6, (dtype, prefix)
with open("module.yaml", "w") as file:  # a layer that is called like a wrapper, also in one
    file.write("layers:\n  - {name: module.fc, type: dense}\n")
for prefix in "", "module.":
    save("m.safetensors", "F32", [(prefix + "module.fc.weight", w, w.shape), (prefix + "module.fc.bias", b, b.shape)])
    got = predicted("npz:d.npz?scale=none", "--init", "pytorch:m.safetensors", model="module.yaml")
    assert np.abs(got - softmax(x @ w.T + b)).max() < 1e-6, prefix
save("m.safetensors", "I32", [("layer0.weight", w.astype("<i4"), w.shape), ("layer0.bias", b.astype("<i4"), b.shape)])
refused(run("train", "npz:d.npz?scale=none", "--model", "logistic", "--init", "pytorch:m.safetensors", "--lr", "1"),
        "layer0.weight: expected floats of 16, 32 or 64 bits")

pixels = rng.integers(0, 256, size=(12, 3, 2, 2)).astype(np.uint8)
w = rng.normal(size=(3, 12)).astype(np.float32)
np.savez("i.npz", x=pixels, y=np.arange(12) % 3)
save("m.safetensors", "F32", [("layer0.weight", w, w.shape), ("layer0.bias", b, b.shape)])
refused(run("data", "info", "npz:i.npz?mean=1,2"), "mean: expected 1 number or 3, one a channel")
refused(run("data", "info", "npz:i.npz?std=0"), "std: expected a number from 1e-06")
refused(run("data", "info", "npz:d.npz?mean=1"), "?mean= and ?std= are for images")
for spec, mean, std, unit in [
    ("?mean=0.485,0.456,0.406&std=0.229,0.224,0.225", (0.485, 0.456, 0.406), (0.229, 0.224, 0.225), 255),
    ("?scale=none&mean=100&std=50,60,70", (100, 100, 100), (50, 60, 70), 1),
]:
    # the parameters are drove's own, found by predicting what scaled numbers of another file give
    scaled = ((pixels / unit - np.reshape(mean, (1, 3, 1, 1))) / np.reshape(std, (1, 3, 1, 1))).astype(np.float32)
    np.savez("s.npz", x=scaled, y=np.arange(12) % 3)
    a = predicted("npz:i.npz" + spec, "--init", "normal:0.5", "--seed", "3")
    c = predicted("npz:s.npz?scale=none", "--init", "normal:0.5", "--seed", "3")
    assert np.abs(a - c).max() < 1e-5 and np.ptp(a) > 0.1, spec

with zipfile.ZipFile("z.npz", "w", zipfile.ZIP_DEFLATED) as archive:
    for name, head, n in ("x", "'<f4', 'fortran_order': False, 'shape': (131072, 1024), }", 512), ("y", "'|u1', 'fortran_order': False, 'shape': (131072,), }", 0):
        with archive.open(name + ".npy", "w", force_zip64=True) as file:
            file.write(b"\x93NUMPY\x01\x00v\x00" + ("{'descr': " + head).ljust(117).encode() + b"\n")
            for _ in range(n):
                file.write(bytes(1 << 20))
            file.write(bytes(0 if n else 131072))
refused(run("data", "info", "npz:z.npz"), "z.npz:x.npy: expected a member that unpacks to at most 200 times its size")

with open("d.npz", "rb") as file:
    refused(run("data", "info", "npz:-", stdin=file), "npz: expected a file", "standard input")
with open("d.npz", "rb") as file:
    refused(run("data", "info", "webdataset:-", stdin=file), "webdataset: expected a file", "standard input")
with tarfile.open("s.tar", "w") as archive:
    for name in "0.png", "1.png", "0.cls", "1.cls":
        member = tarfile.TarInfo(name)
        member.size = 1
        archive.addfile(member, io.BytesIO(b"1"))
refused(run("data", "info", "webdataset:s.tar"), 'the files called "0.*" next to each other', "tar --sort=name")
with tarfile.open("s.tar", "w") as archive:
    for name in "a.v1.png", "a.v1.cls":
        member = tarfile.TarInfo(name)
        member.size = 1
        archive.addfile(member, io.BytesIO(b"1"))
refused(run("data", "info", "webdataset:s.tar"), "names with one '.'", "a.v1.png")
print("as NumPy computes it")
