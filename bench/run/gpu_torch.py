#!/usr/bin/env python3
"""PyTorch on a GPU: a training step of the networks of bench/run/gpu.py, by batch size.

    python3 bench/run/gpu_torch.py [--networks mlp,covtype,w8a,lenet] [--rounds 3] [--compile]

A step is forward, loss, backward and plain SGD.  The data are random and lie on the GPU as floats, as PyTorch programs keep small
data, and a batch is gathered there; `host` gathers it on the processor into pinned memory and copies it over in each step.

    eager    one call after the other
    graph    the whole step as one CUDA graph
    compile  torch.compile of forward and loss, mode reduce-overhead
    host     eager, with examples from the host

Prints a JSON line for each: step_us, the median of the rounds.
"""
import argparse
import json
import statistics
import time

import torch
from torch import nn

ROWS, ROUND_S = 60000, 0.02
SHAPES = {"mlp": (784, [128] * 3, 10), "covtype": (54, [512] * 6, 2), "w8a": (300, [512] * 7, 2)}
BATCHES = {"graph": [2 ** i for i in range(14)], "eager": [1, 8, 64, 512, 4096, 8192], "host": [64, 512, 8192], "compile": [64, 8192]}
# Caffe's LeNet, as drove's
LENET = lambda: nn.Sequential(nn.Unflatten(1, (1, 28, 28)), nn.Conv2d(1, 20, 5), nn.MaxPool2d(2), nn.Conv2d(20, 50, 5), nn.MaxPool2d(2),
                              nn.Flatten(), nn.Linear(800, 500), nn.ReLU(), nn.Linear(500, 10))


def network(name):
    if name == "lenet":
        return LENET(), 784, 10
    n_in, hidden, n_out = SHAPES[name]
    parts, sizes = [], [n_in, *hidden, n_out]
    for a, b in zip(sizes, sizes[1:]):
        parts += [nn.Linear(a, b), nn.ReLU() if name == "mlp" else nn.Sigmoid()]
    return nn.Sequential(*parts[:-1]), n_in, n_out


DATA = {}  # (network, on the GPU?) -> examples, classes, an order of the rows


def data(name, n_in, n_out, is_on_gpu):
    if (name, is_on_gpu) not in DATA:
        DATA.clear()
        parts = torch.rand(ROWS, n_in), torch.randint(n_out, (ROWS,)), torch.randperm(ROWS)
        DATA[name, is_on_gpu] = [part.cuda() for part in parts] if is_on_gpu else parts
    return DATA[name, is_on_gpu]


class Step:
    def __init__(self, name, mode, how, batch):
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = mode == "tf32"
        self.how, self.batch, self.mode = how, batch, mode
        model, n_in, n_out = network(name)
        self.model = model.cuda()
        self.rule = torch.optim.SGD(self.model.parameters(), lr=0.01, foreach=True)
        self.loss_of = nn.CrossEntropyLoss()
        self.x, self.y, self.order = data(name, n_in, n_out, how != "host")
        self.at = 0
        if how == "host":
            self.pinned = [torch.empty(batch, n_in).pin_memory(), torch.empty(batch, dtype=torch.int64).pin_memory()]
        self.rows = torch.zeros(batch, dtype=torch.int64, device="cuda")
        self.forward = torch.compile(self.loss, mode="reduce-overhead") if how == "compile" else self.loss
        self.graph = self.capture() if how == "graph" else None

    def loss(self, x, y):
        with torch.autocast("cuda", dtype=torch.bfloat16, enabled=self.mode == "bf16", cache_enabled=False):
            z = self.model(x)
        return self.loss_of(z.float(), y)

    def compute(self, x, y):
        self.rule.zero_grad(set_to_none=True)
        self.forward(x, y).backward()
        self.rule.step()

    def capture(self):
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            for _ in range(3):
                self.compute(self.x[self.rows], self.y[self.rows])
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self.compute(self.x[self.rows], self.y[self.rows])
        return graph

    def __call__(self):
        self.at = self.at + self.batch if self.at + 2 * self.batch <= ROWS else 0
        rows = self.order[self.at:self.at + self.batch]
        if self.graph:
            self.rows.copy_(rows)
            self.graph.replay()
        elif self.how == "host":
            torch.cuda.synchronize()  # the last step has read the pinned memory
            torch.index_select(self.x, 0, rows, out=self.pinned[0])
            torch.index_select(self.y, 0, rows, out=self.pinned[1])
            self.compute(self.pinned[0].cuda(non_blocking=True), self.pinned[1].cuda(non_blocking=True))
        else:
            self.compute(self.x[rows], self.y[rows])


def measure(step, rounds):
    def steps(n):
        start = time.perf_counter()
        for _ in range(n):
            step()
        torch.cuda.synchronize()
        return (time.perf_counter() - start) / n

    steps(3)
    n = max(3, int(ROUND_S / steps(3)))
    return statistics.median(steps(n) for _ in range(rounds))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", default="mlp,covtype,w8a,lenet")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--compile", action="store_true")
    args = parser.parse_args()
    device = torch.cuda.get_device_name(0)
    for how in ["graph", "eager", "host"] + (["compile"] if args.compile else []):
        for name in args.networks.split(","):
            for mode in ("float", "tf32", "bf16"):
                if how in ("host", "compile") and mode != "tf32":
                    continue
                batches = BATCHES[how] if mode == "float" or how != "graph" or name == "mlp" else BATCHES["eager"]
                for batch in batches:
                    step_us = measure(Step(name, mode, how, batch), args.rounds) * 1e6
                    print(json.dumps({"network": name, "mode": mode, "how": how, "batch": batch, "step_us": round(step_us, 1),
                                      "device": device, "version": torch.__version__}), flush=True)


if __name__ == "__main__":
    main()
