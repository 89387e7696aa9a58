"""Models of images through exported files: their C, called by ctypes, and their ONNX graph predict what the model does."""
import ctypes
import os
import re
import shutil
import subprocess
import unittest

import numpy as np

from drove import DroveClassifier, load_model, train
from scratch import setUpModule, tearDownModule  # noqa: F401

NETWORK = """layers:
  - {name: conv1, type: convolution, channels: 6, kernel: 3, stride: 2, pad: 1, bias: false}
  - {name: norm1, type: batch_norm, activation: relu}
  - {name: depth, type: convolution, channels: 6, groups: 6, kernel: 3, pad: 1}
  - {name: swish, type: activation, activation: hard_swish}
  - {name: pool, type: max_pool, kernel: 2, stride: 2, rounds_up: true}
  - {name: out, type: dense}
"""


def pictures(channels, n=60):
    """uint8 [n][channels][9][11], or [n][9][11] of one channel, whose brighter side is the class."""
    rng = np.random.RandomState(1)
    images = rng.randint(0, 120, (n, channels, 9, 11)).astype(np.uint8)
    y = np.arange(n) % 3
    for image, side in zip(images, y):
        image[:, :, 4 * side:4 * side + 3] += 100
    return images if channels > 1 else images[:, 0], y


def trained(channels):
    with open("net.yaml", "w", encoding="ascii") as file:
        file.write(NETWORK)
    images, y = pictures(channels)
    result = train((images, y), model="net.yaml", until="epochs=3", lr=0.02, out="none", test="none", seed=1)
    return result.model, images


class Exports(unittest.TestCase):
    def compare(self, found, wanted):
        self.assertEqual(found.shape, wanted.shape)
        self.assertGreater(np.ptp(wanted, axis=0).max(), 0.05)  # else equality would prove little
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-5 * np.abs(wanted).max())

    @unittest.skipUnless(shutil.which("cc"), "no C compiler")
    def test_c(self):
        for channels in (1, 3):
            model, images = trained(channels)
            model.export(f"net{channels}.c")
            with open(f"net{channels}.c", encoding="utf-8") as file:
                n_scratch = int(re.search(r"scratch memory of its own: (\d+) floats", file.read())[1])
            subprocess.run(["cc", "-std=c11", "-O1", "-shared", "-fPIC", f"net{channels}.c", "-o", f"net{channels}.so", "-lm"], check=True)
            predict = getattr(ctypes.CDLL(os.path.abspath(f"net{channels}.so")), f"net{channels}_predict")
            scratch, found = np.full(n_scratch, np.nan, np.float32), np.empty((len(images), model.n_outputs), np.float32)
            for image, y in zip(images, found):
                x = np.ascontiguousarray(image, dtype=np.float32)
                predict(*(ctypes.c_void_p(a.ctypes.data) for a in (x, y, scratch)))
            self.compare(found, model.outputs(images))

    def test_onnx(self):
        try:
            import onnxruntime
        except ImportError:
            self.skipTest("no onnxruntime")
        for channels in (1, 3):
            model, images = trained(channels)
            model.export("net.onnx")
            session = onnxruntime.InferenceSession("net.onnx", providers=["CPUExecutionProvider"])
            image = images.reshape(len(images), channels, *images.shape[-2:]).astype(np.float32)
            self.compare(session.run(["probabilities"], {"image": image})[0], model.outputs(images))

    def test_pytorch(self):
        model, _ = trained(3)
        train(pictures(3), model="mlp:5", until="epochs=1", lr=0.01, out="none", test="none").model.export("mlp.safetensors", "pytorch")
        with open("mlp.safetensors", "rb") as file:
            self.assertIn(b"layer0.weight", file.read())

    def test_the_file_of_the_model_stays(self):
        images, y = pictures(1)
        model = train((images, y), model="mlp:5", until="epochs=1", lr=0.01, out="run", test="none").model
        model.save("alone.safetensors")
        os.symlink("alone.safetensors", "link.safetensors")
        for name, paths in (("run", ["run/model.safetensors"]), ("run/model.safetensors", ["run/../run/model.safetensors"]),
                            ("alone.safetensors", ["alone.safetensors", os.path.abspath("alone.safetensors"), "link.safetensors"])):
            loaded = load_model(name)
            for path in paths:
                with self.subTest(name=name, path=path), self.assertRaisesRegex(FileExistsError, "was not read from"):
                    loaded.export(path, "pytorch")
            np.testing.assert_array_equal(load_model(name).outputs(images), model.outputs(images))
        load_model("alone.safetensors").export("other.safetensors", "pytorch")

    def test_an_estimator_has_its_model(self):
        images, y = pictures(1)
        estimator = DroveClassifier(until="epochs=2", lr=0.01, random_state=0).fit(images.reshape(len(images), -1), y)
        estimator.model_.export("estimator.c")
        self.assertTrue(os.path.getsize("estimator.c") > 1000)

    def test_what_cannot_be(self):
        model, _ = trained(1)
        for arguments in (("net.bin",), ("net.c", "java"), ("net",)):
            with self.assertRaisesRegex(ValueError, "expected form='onnx', 'c' or 'pytorch'"):
                model.export(*arguments)
        with self.assertRaises(FileNotFoundError):
            model.export("no/where.c")
        features = train((np.random.RandomState(0).randn(40, 3), np.arange(40) % 2), model="logistic", features="rff:8",
                         until="epochs=1", out="none", test="none").model
        with self.assertRaisesRegex(NotImplementedError, "no feature maps, found rff"):
            features.export("features.c")
        self.assertFalse(os.path.exists("features.c"))


if __name__ == "__main__":
    unittest.main()
