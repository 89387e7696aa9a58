"""onnx_import.py WHAT: writes networks of WHAT, torch or sklearn, as ONNX with examples x.csv and what the network says of
them.

A line for each on standard output: FILE DATA EXPECTED MODEL-OPTIONS.  DATA: a spec of drove; EXPECTED: a .npy of
probabilities, scores or values."""
import sys
import warnings

import numpy as np

warnings.filterwarnings("ignore")


def write_table(path, x, *targets):
    names = [f"x{i}" for i in range(x.shape[1])] + ["yz"[i] for i in range(len(targets))]
    with open(path, "w") as file:
        print(",".join(names), file=file)
        for row in zip(x, *targets):
            print(",".join([repr(float(v)) for v in row[0]] + [str(v) for v in row[1:]]), file=file)


def sklearn():
    from skl2onnx import to_onnx
    from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
    from sklearn.neural_network import MLPClassifier, MLPRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import LinearSVC

    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 6)).astype(np.float32)
    three = (x[:, 0] > 0).astype(int) + (x[:, 1] > 0)
    two = (x[:, 0] > x[:, 2]).astype(int)
    value = x @ np.arange(6) + 1
    both = np.stack([value, x[:, 0]], axis=1)
    write_table("three.csv", x, np.array(["a", "b", "c"])[three])
    write_table("two.csv", x, np.array(["a", "b"])[two])
    write_table("value.csv", x, value)
    write_table("both.csv", x, *both.T)
    # no MLPRegressor of two targets: skl2onnx writes a Reshape to [-1, 1] behind it, two rows of each example
    for name, model, table, target, options in [
        ("mlp3", MLPClassifier((5, 4), max_iter=20), "three", three, ""),
        ("mlp2", MLPClassifier((5,), activation="tanh", max_iter=20), "two", two, "--loss logistic"),
        ("mlp", MLPRegressor(hidden_layer_sizes=(5,), activation="logistic", max_iter=20), "value", value, ""),
        ("logistic2", LogisticRegression(), "two", two, "--loss logistic"),
        ("logistic3", LogisticRegression(), "three", three, ""),
        ("linear", LinearRegression(), "value", value, ""),
        ("ridge", Ridge(), "both", both, "--label y+z"),
        ("svc3", LinearSVC(), "three", three, "--loss hinge"),
        ("svc2", LinearSVC(), "two", two, "--loss hinge"),
        ("scaled", make_pipeline(StandardScaler(), MLPClassifier((5,), max_iter=20)), "three", three, ""),
    ]:
        model.fit(x, target)
        with open(f"{name}.onnx", "wb") as file:
            file.write(to_onnx(model, x[:1]).SerializeToString())
        said = (model.predict_proba(x) if hasattr(model, "predict_proba")
                else model.decision_function(x) if hasattr(model, "decision_function") else model.predict(x))
        np.save(f"{name}.npy", said.reshape(len(x), -1))
        print(f"{name}.onnx table:{table}.csv?scale=none {name}.npy {options}")


def torch():
    import logging

    import torch
    from torch import nn

    logging.disable(logging.WARNING)
    torch.manual_seed(1)

    class Net(nn.Module):  # as most tutorials have it
        def __init__(self):
            super().__init__()
            self.conv1 = nn.Conv2d(3, 6, 5, padding=2)
            self.norm = nn.BatchNorm2d(6)
            self.conv2 = nn.Conv2d(6, 16, (3, 5), stride=2, groups=2)
            self.fc1 = nn.Linear(16 * 3 * 2, 20)
            self.fc2 = nn.Linear(20, 5)
            self.drop = nn.Dropout(0.25)

        def forward(self, x):
            x = torch.max_pool2d(torch.relu(self.norm(self.conv1(x))), 2)
            x = torch.tanh(self.conv2(x))
            x = x.view(x.size(0), -1)
            return torch.log_softmax(self.fc2(self.drop(torch.sigmoid(self.fc1(x)))), 1)

    class Residual(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Conv2d(3, 8, 3, padding=1, bias=False)
            self.b = nn.Conv2d(8, 8, 3, padding=2, dilation=2)
            self.c = nn.Conv2d(8, 4, 1)
            self.fc = nn.Linear(12, 5)
            self.pool = nn.MaxPool2d(3, 2, 1, ceil_mode=True)
            self.mean = nn.AdaptiveAvgPool2d(1)

        def forward(self, x):
            x = self.pool(torch.relu(self.a(x)))
            x = torch.cat([x + torch.relu(self.b(x)), torch.relu(self.c(x))], 1)
            return self.fc(torch.flatten(self.mean(nn.functional.avg_pool2d(x, 2)), 1))

    class Normed(nn.Module):  # by moving statistics that no convolution takes in
        def __init__(self):
            super().__init__()
            self.norm, self.fc = nn.BatchNorm2d(3), nn.Linear(3 * 16 * 16, 5)

        def forward(self, x):
            return self.fc(torch.flatten(torch.relu(self.norm(x)), 1))

    class Mlp(nn.Sequential):
        def __init__(self):
            super().__init__(nn.Flatten(), nn.Linear(3 * 16 * 16, 12), nn.ReLU(), nn.Linear(12, 5), nn.Softmax(1))

    n = 40
    x = torch.randint(0, 256, (n, 3, 16, 16)).to(torch.float32)
    np.save("x.npy", x.numpy().astype(np.uint8))
    np.save("y.npy", np.arange(n) % 5)
    for make in Net, Residual, Normed, Mlp:
        model = make()
        model.train()
        model(x / 255)  # statistics of batch normalisation
        model.eval()
        said = model(x / 255)
        said = said if make is Mlp else torch.softmax(said, 1)
        np.save(f"{make.__name__}.npy", said.detach().numpy())
        for kind in "script", "dynamo":
            name = f"{make.__name__}-{kind}.onnx"
            try:
                torch.onnx.export(model, (x[:2],), name, dynamo=kind == "dynamo",
                                  **({"dynamic_shapes": ({0: torch.export.Dim("n")},), "verbose": False}
                                     if kind == "dynamo" else {"input_names": ["x"], "dynamic_axes": {"x": {0: "n"}}}))
            except (ImportError, TypeError) as error:  # an older release, or without onnxscript
                print(f"{name}: not written: {error}", file=sys.stderr)
                continue
            print(f"{name} npy:x.npy,y.npy {make.__name__}.npy")


def compare():
    """onnx_import.py compare PREDICTIONS.csv EXPECTED.npy"""
    with open(sys.argv[2]) as file:
        lines = file.read().splitlines()
    first = 1 if lines[0].startswith("label") else 0
    found = np.array([[float(cell) for cell in line.split(",")[first:]] for line in lines[1:]])
    expected = np.load(sys.argv[3])
    assert found.shape == expected.shape, (found.shape, expected.shape)
    assert np.max(np.ptp(expected, axis=0)) > 1e-3, "equal predictions prove nothing"
    difference = np.max(np.abs(found - expected)) / max(1, np.max(np.abs(expected)))
    print(f"{sys.argv[3]}: difference {difference:.2g}")
    assert difference <= 1e-5, difference


{"torch": torch, "sklearn": sklearn, "compare": compare}[sys.argv[1]]()
