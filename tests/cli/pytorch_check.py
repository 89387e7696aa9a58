"""pytorch_check.py NETWORK STATE.safetensors DATA.npy PREDICTIONS.csv [SHAPE]: does the state give drove's predictions?
pytorch_check.py --write NETWORK STATE.safetensors DATA.npy Y.npy: by PyTorch, trains the network of this state for some
steps, and writes its state there.  Exit status 77: there is no torch.

NETWORK: one of those below, written once with NumPy and, where there is a torch, once with its modules.
"""
import json
import os
import sys

os.environ["OMP_NUM_THREADS"] = "1"  # of torch, before it is loaded

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view


def read_state(path):
    with open(path, "rb") as file:
        n = int.from_bytes(file.read(8), "little")
        header, data = json.loads(file.read(n)), file.read()
    header.pop("__metadata__", None)
    return {name: np.frombuffer(data[t["data_offsets"][0]:t["data_offsets"][1]], {"F32": "<f4", "I64": "<i8"}[t["dtype"]])
            .reshape(t["shape"]) for name, t in header.items()}


def conv(p, name, x, pad=0, groups=1):
    w = p[name + ".weight"].astype(np.float64)
    x = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    parts = []
    for x_part, w_part in zip(np.split(x, groups, axis=1), np.split(w, groups)):
        windows = sliding_window_view(x_part, w.shape[2:], axis=(2, 3))
        parts.append(np.einsum("nchwij,ocij->nohw", windows, w_part, optimize=True))
    y = np.concatenate(parts, axis=1)
    return y + p[name + ".bias"][:, None, None] if name + ".bias" in p else y


def dense(p, name, x):
    return x.reshape(len(x), -1) @ p[name + ".weight"].T.astype(np.float64) + p[name + ".bias"]


def norm(p, name, x):
    mean, variance, w, b = (p[f"{name}.{part}"][:, None, None].astype(np.float64)
                            for part in ("running_mean", "running_var", "weight", "bias"))
    return (x - mean) / np.sqrt(variance + 1e-5) * w + b


def pool(x):
    n, c, h, w = x.shape
    return x[:, :, :h // 2 * 2, :w // 2 * 2].reshape(n, c, h // 2, 2, w // 2, 2).max(axis=(3, 5))


def relu(x):
    return np.maximum(x, 0)


NETWORKS = {
    "lenet": lambda p, x: dense(p, "ip2", relu(dense(p, "ip1", pool(conv(p, "conv2", pool(conv(p, "conv1", x))))))),
    "mlp": lambda p, x: dense(p, "layer1", relu(dense(p, "layer0", x))),
    "mixed": lambda p, x: dense(p, "out", relu(dense(p, "hidden", relu(
        norm(p, "norm", conv(p, "c2", relu(conv(p, "c1", x)), pad=1, groups=2)))))),
}


def torch_network(name, p):
    from torch import nn

    class Network(nn.Module):
        def __init__(self):
            super().__init__()
            for key in p:
                layer, _, what = key.rpartition(".")
                if what != "weight":
                    continue
                shape = p[key].shape
                if len(shape) == 2:
                    made = nn.Linear(shape[1], shape[0])
                elif len(shape) == 1:
                    made = nn.BatchNorm2d(shape[0])
                else:
                    groups = 2 if layer == "c2" else 1
                    made = nn.Conv2d(shape[1] * groups, shape[0], shape[2:], padding=groups - 1, groups=groups,
                                     bias=layer + ".bias" in p)
                self.add_module(layer, made)

        def forward(self, x):
            act, flat, half = nn.functional.relu, lambda x: x.flatten(1), lambda x: nn.functional.max_pool2d(x, 2)
            if name == "lenet":
                return self.ip2(act(self.ip1(flat(half(self.conv2(half(self.conv1(x))))))))
            if name == "mlp":
                return self.layer1(act(self.layer0(flat(x))))
            return self.out(act(self.hidden(flat(act(self.norm(self.c2(act(self.c1(x)))))))))
    return Network().eval()


def softmax(z):
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def save(state, path):
    """By the safetensors package where there is one."""
    try:
        from safetensors.torch import save_file
        return save_file({name: tensor.contiguous() for name, tensor in state.items()}, path)
    except ImportError:
        pass
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, tensor in state.items():
        array = tensor.numpy()
        header[name] = {"dtype": {"float32": "F32", "int64": "I64"}[str(array.dtype)], "shape": list(array.shape),
                        "data_offsets": [len(data), len(data) + array.nbytes]}
        data += array.tobytes()
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text + data)


def write(name, path, data, targets):
    try:
        import torch
    except ImportError:
        print("skip: no torch")
        sys.exit(77)
    p = read_state(path)
    network = torch_network(name, p).train()
    torch.manual_seed(0)
    for layer in network.children():
        layer.reset_parameters()
    x, y = torch.from_numpy(np.load(data).astype(np.float32)), torch.from_numpy(np.load(targets).astype(np.int64))
    optimiser = torch.optim.Adam(network.parameters(), lr=1e-3)
    for _ in range(10):
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(network(x), y).backward()
        optimiser.step()
    save(network.eval().state_dict(), path)


def main():
    if sys.argv[1] == "--write":
        return write(*sys.argv[2:])
    name, state, data, predictions = sys.argv[1:5]
    p, x = {key: value for key, value in read_state(state).items() if not key.endswith(".num_batches_tracked")}, np.load(data).astype(np.float64)
    if len(sys.argv) > 5:
        x = x.reshape([len(x)] + [int(n) for n in sys.argv[5].split("x")])
    with open(predictions, encoding="utf-8") as file:
        expected = np.array([[float(v) for v in line.split(",")] for line in file])
    found = {"numpy": softmax(NETWORKS[name](p, x))}
    try:
        import torch
        network = torch_network(name, p)
        counts = {key: value for key, value in network.state_dict().items() if key.endswith(".num_batches_tracked")}
        network.load_state_dict({**counts, **{key: torch.from_numpy(value.copy()) for key, value in p.items()}})  # strict
        with torch.no_grad():
            found["torch"] = softmax(network(torch.from_numpy(x.astype(np.float32))).numpy().astype(np.float64))
    except ImportError:
        pass
    for by, values in found.items():
        worst = np.abs(values - expected).max()
        print(f"{name}: {by}: largest difference {worst:.2g}")
        if not worst < 1e-4:
            sys.exit(f"{name}: {by} predicts something else")
    if np.abs(expected - expected.mean(axis=0)).max() < 0.01:
        sys.exit(f"{name}: all predictions are alike: nothing was compared")


if __name__ == "__main__":
    main()
