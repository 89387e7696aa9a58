"""onnx_graphs.py write FOLDER, then onnx_graphs.py run FOLDER DROVE: networks of PyTorch (by both exporters) and scikit-learn,
exported as ONNX in several sets of operators, give through DROVE what they give through ONNX Runtime.

`write` makes the networks of the packages that are there, torch or skl2onnx, which may be those of another interpreter than
that of `run`, which needs onnxruntime.  `run` prints the largest difference of each graph; exit status 1: one is above 1e-5."""
import contextlib
import os
import subprocess
import sys
import tempfile
import warnings

import numpy as np

warnings.filterwarnings("ignore")
TOLERANCE = 1e-5


def write_torch(folder):
    import torch
    from torch import nn

    torch.manual_seed(3)

    class Residual(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 8, 3, padding=1)
            self.norm, self.fc = nn.BatchNorm2d(8), nn.Linear(8, 5)

        def forward(self, x):
            x = torch.relu(self.norm(self.a(x)))
            x = torch.relu(x + self.b(x))
            return self.fc(nn.functional.adaptive_avg_pool2d(x, 1).flatten(1))

    class Viewed(nn.Module):  # computed sides, pixels brought to [-1, 1] inside
        def __init__(self):
            super().__init__()
            self.conv, self.fc = nn.Conv2d(3, 4, 3, stride=2), nn.Linear(4 * 25, 5)

        def forward(self, x):
            x = torch.relu(self.conv((x - 0.5) / 0.5))
            x = x.view(x.size(0), -1)
            return self.fc(torch.softmax(x, 1) * 10)

    class Branches(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Conv2d(3, 4, 1), nn.Conv2d(3, 4, 5, padding=2)
            self.fc = nn.Linear(8 * 6 * 6, 5)

        def forward(self, x):
            x = torch.cat([torch.tanh(self.a(x)), torch.sigmoid(self.b(x))], 1)
            return self.fc(torch.flatten(nn.functional.max_pool2d(x, 2), 1))

    class Excited(nn.Module):  # an inverted bottleneck of MobileNetV3
        def __init__(self):
            super().__init__()
            self.expand, self.depth = nn.Conv2d(3, 12, 1, bias=False), nn.Conv2d(12, 12, 5, 2, 2, groups=12, bias=False)
            self.norm, self.reduce, self.excite = nn.BatchNorm2d(12), nn.Conv2d(12, 4, 1), nn.Conv2d(4, 12, 1)
            self.project, self.fc = nn.Conv2d(12, 3, 1), nn.Linear(3, 5)

        def forward(self, x):
            x = nn.functional.hardswish(self.norm(self.depth(nn.functional.hardswish(self.expand(x)))))
            s = nn.functional.adaptive_avg_pool2d(x, 1)
            x = x * nn.functional.hardsigmoid(self.excite(torch.relu(self.reduce(s))))
            return self.fc(self.project(x).mean((2, 3)))

    class Next(nn.Module):  # a block of ConvNeXt
        def __init__(self):
            super().__init__()
            self.stem, self.first, self.depth = nn.Conv2d(3, 8, 2, 2), nn.LayerNorm(8), nn.Conv2d(8, 8, 7, padding=3, groups=8)
            self.norm, self.up, self.down = nn.LayerNorm(8), nn.Linear(8, 32), nn.Linear(32, 8)
            self.scale = torch.linspace(0.1, 1, 8).reshape(8, 1, 1)
            self.last, self.fc = nn.LayerNorm(8), nn.Linear(8, 5)

        def forward(self, x):
            x = self.first(self.stem(x).permute(0, 2, 3, 1)).permute(0, 3, 1, 2)
            y = self.norm(self.depth(x).permute(0, 2, 3, 1))
            y = self.down(nn.functional.gelu(self.up(y))).permute(0, 3, 1, 2)
            return self.fc(self.last((x + self.scale * y).mean((2, 3))))

    nets = {
        "same": nn.Sequential(nn.Conv2d(3, 4, 4, padding="same"), nn.ReLU(), nn.ZeroPad2d((1, 0, 2, 1)), nn.MaxPool2d(3, 2),
                              nn.ConstantPad2d((0, 1, 0, 1), 0), nn.Conv2d(4, 5, 2, 2), nn.Flatten(), nn.LazyLinear(5)),
        "average": nn.Sequential(nn.AvgPool2d(3, 2, 1, count_include_pad=False), nn.Conv2d(3, 4, 1), nn.AvgPool2d(3, 1, 1),
                                 nn.Flatten(), nn.LazyLinear(5)),
        "prelu": nn.Sequential(nn.Conv2d(3, 6, 3), nn.PReLU(6), nn.Conv2d(6, 4, 3), nn.PReLU(), nn.Flatten(), nn.LazyLinear(7),
                               nn.PReLU(7, 0.1), nn.Linear(7, 5)),
        "layernorm": nn.Sequential(nn.Conv2d(3, 4, 3), nn.LayerNorm([4, 10, 10]), nn.ReLU(), nn.LayerNorm([10, 10]),
                                   nn.Flatten(), nn.LazyLinear(9), nn.LayerNorm(9, 1e-3), nn.Linear(9, 5)),
        "sequence": nn.Sequential(nn.Flatten(2), nn.Conv1d(3, 6, 5, 2, 2), nn.BatchNorm1d(6), nn.ReLU(), nn.MaxPool1d(3, 2, 1),
                                  nn.Conv1d(6, 8, 3, dilation=2, groups=2), nn.AvgPool1d(2), nn.AdaptiveAvgPool1d(1),
                                  nn.Flatten(), nn.Linear(8, 5)),
        "excited": Excited(),
        "next": Next(),
        "mlp": nn.Sequential(nn.Flatten(), nn.Linear(432, 20), nn.ReLU(), nn.Linear(20, 5)),
        "leaky": nn.Sequential(nn.Flatten(), nn.Linear(432, 20), nn.LeakyReLU(0.2), nn.BatchNorm1d(20), nn.Linear(20, 5)),
        "relu6": nn.Sequential(nn.Conv2d(3, 6, 3, groups=3), nn.ReLU6(), nn.AvgPool2d(2), nn.Flatten(), nn.Dropout(),
                               nn.Linear(150, 5)),
        "residual": Residual(),
        "viewed": Viewed(),
        "branches": Branches(),
        "softmax": nn.Sequential(nn.Conv2d(3, 5, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Softmax(1)),
        "logsoftmax": nn.Sequential(nn.Conv2d(3, 5, 3, dilation=2), nn.MaxPool2d(3, 2, 1, ceil_mode=True), nn.Flatten(),
                                    nn.Linear(5 * 25, 5), nn.LogSoftmax(1)),
    }
    x = torch.rand(10, 3, 12, 12)
    for name, net in nets.items():
        net.train()
        net(x)
        net.eval()
        for exporter, opset in ("script", 11), ("script", 17), ("script", 18), ("dynamo", 18):
            path = f"{folder}/torch-{name}-{exporter}-{opset}"
            if exporter == "dynamo":
                options = {"dynamo": True, "dynamic_shapes": ({0: torch.export.Dim("n")},)}
            else:
                options = {"dynamo": False, "dynamic_axes": {"x": {0: "n"}}}
            try:
                with contextlib.redirect_stdout(sys.stderr):
                    torch.onnx.export(net, (x,), f"{path}.onnx", opset_version=opset, input_names=["x"], **options)
            except Exception as error:  # an exporter or a set that this release does not have
                print(f"{path}: not written: {str(error).splitlines()[0]}", file=sys.stderr)
                continue
            np.save(f"{path}.x.npy", x.tolist())


def write_sklearn(folder):
    from skl2onnx import to_onnx
    from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, SGDClassifier
    from sklearn.neural_network import MLPClassifier, MLPRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, Normalizer, RobustScaler, StandardScaler

    rng = np.random.default_rng(0)
    x = (rng.normal(size=(60, 6)) * [1, 10, 100, 1, 1, 1] + 3).astype(np.float32)
    three = (x[:, 0] > 3).astype(int) + (x[:, 3] > 3)
    value = x[:, 0] * 2 - x[:, 4]
    mlp = {"max_iter": 30, "hidden_layer_sizes": (8,)}
    for name, model, target in [
        ("mlp", MLPClassifier(**mlp), three),
        ("tanh", MLPClassifier(activation="tanh", **mlp), three),
        ("logistic", LogisticRegression(), three),
        ("value", MLPRegressor(activation="logistic", **mlp), value),
        ("linear", LinearRegression(), value),
        ("ridge", make_pipeline(StandardScaler(), Ridge()), value),
        ("standard", make_pipeline(StandardScaler(), MLPClassifier(**mlp)), three),
        ("minmax", make_pipeline(MinMaxScaler(), MLPClassifier(**mlp)), three),
        ("maxabs", make_pipeline(MaxAbsScaler(), LogisticRegression()), three),
        ("robust", make_pipeline(RobustScaler(), MLPRegressor(**mlp)), value),
        ("l1", make_pipeline(Normalizer("l1"), MLPClassifier(**mlp)), three),
        ("l2", make_pipeline(StandardScaler(), Normalizer("l2"), LogisticRegression()), three),
    ]:
        model.fit(x, target)
        for opset in 12, 17:
            path = f"{folder}/sklearn-{name}-{opset}"
            options = {id(model): {"zipmap": False}} if target is three else None
            with open(f"{path}.onnx", "wb") as file:
                file.write(to_onnx(model, x[:1], target_opset={"": opset, "ai.onnx.ml": 3}, options=options).SerializeToString())
            np.save(f"{path}.x.npy", x.tolist())


def softmax(z):
    e = np.exp(z - z.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def judge(path, drove):
    """The largest difference of a graph, or the line that refuses it."""
    import onnxruntime

    x = np.load(f"{path}.x.npy").astype(np.float32)
    session = onnxruntime.InferenceSession(f"{path}.onnx")
    said = session.run(None, {session.get_inputs()[0].name: x})[-1].astype(np.float64)
    said = said.reshape(len(x), -1)
    is_class = said.shape[1] > 1
    loss = []
    if is_class and np.allclose(np.exp(said).sum(1), 1, atol=1e-5):
        said = softmax(said)  # logarithms, whose exponential drove's loss takes
    elif is_class and not (np.all(said >= 0) and np.allclose(said.sum(1), 1, atol=1e-5)):
        loss = ["--loss", "squared"]  # scores, which this loss leaves as they are
    y = np.arange(len(x)) % said.shape[1] if is_class else np.arange(len(x)) * 0.5 + 1
    with tempfile.TemporaryDirectory() as folder:
        np.savez(f"{folder}/d.npz", x=x, y=y.astype(np.int64 if is_class else np.float32))

        def run(*arguments):
            return subprocess.run([drove, *arguments], cwd=folder, capture_output=True, text=True, check=False)

        data = "npz:d.npz?scale=none" + ("&target=class" if is_class else "")
        result = run("train", data, "--test", "none", "--model", os.path.abspath(f"{path}.onnx"), "--until", "updates=0",
                     "--lr", "0.01", "--threads", "1", "--out", "out", "--quiet", *loss)
        if result.returncode == 0:
            result = run("predict", "out", "--data", data, "--format", "npy", "--out", "got.npy")
        if result.returncode != 0:
            return None, result.stderr.strip()
        got = np.load(f"{folder}/got.npy").reshape(said.shape)
        return np.max(np.abs(got - said) / np.maximum(1, np.abs(said))), ""


def run(folder, drove):
    wrong = refused = n = 0
    for name in sorted(f[:-5] for f in os.listdir(folder) if f.endswith(".onnx")):
        difference, why = judge(f"{folder}/{name}", os.path.abspath(drove))
        n += 1
        refused += difference is None
        wrong += difference is not None and not difference <= TOLERANCE
        print(f"{name}: {'refused: ' + why if difference is None else f'{difference:.2g}'}")
    print(f"{n} graphs: {n - wrong - refused} equal, {refused} refused, {wrong} different")
    return 1 if wrong else 0


if sys.argv[1] == "write":
    for write in write_torch, write_sklearn:
        try:
            write(sys.argv[2])
        except ImportError as missing:
            print(f"{write.__name__}: {missing}", file=sys.stderr)
else:
    sys.exit(run(sys.argv[2], sys.argv[3]))
