"""torchvision_check.py write NETWORK SPEC SIDE CLASSES BATCH: writes, by torchvision's own module of random parameters, as
NETWORK.*: state.safetensors, x.npy and y.npy of one batch, expected.npy (its outputs in double), own.txt (how far its floats are
off) and losses.json, those of ten steps of momentum 0.9 from that state on.  Exit status 77: there is no torchvision.
torchvision_check.py compare NETWORK PREDICTIONS.csv: does drove predict the same?
torchvision_check.py losses NETWORK LOG.jsonl: has drove made the same steps?

SPEC: the name of a function of torchvision.models.  The loss after a step is that of the batch with the batch's own statistics,
the variance times m / (m - 1), as drove evaluates it and PyTorch feeds running_var; before the first step, with the file's."""
import json
import os
import sys

os.environ["OMP_NUM_THREADS"] = "1"  # of torch, before it is loaded

try:
    import numpy as np
except ImportError:
    print("skip: no numpy")
    sys.exit(77)
from pytorch_check import save

STEPS, LR, MOMENTUM = 10, 0.002, 0.9
# Of outputs before the softmax, relative to the largest, or twice torchvision's own error in floats, which in deep networks of random
# numbers is more; of losses, relative to the loss or a tenth of the first.
LARGEST_OUTPUT, LARGEST_LOSS = 1e-5, 5e-3


def centred(outputs):
    """Softmax does not know a constant that all outputs of an example have."""
    return outputs - np.mean(outputs, axis=1, keepdims=True)


def difference(found, expected):
    return np.max(np.abs(found - expected)) / np.max(np.abs(expected))


def write(network, spec, side, classes, batch):
    try:
        import torch
        import torchvision
    except ImportError as error:
        print(f"skip: {error}")
        sys.exit(77)
    torch.manual_seed(1)
    model = getattr(torchvision.models, spec)(num_classes=classes)
    norms = [m for m in model.modules() if isinstance(m, torch.nn.BatchNorm2d)]
    for m in model.modules():
        if isinstance(m, torch.nn.Dropout):
            m.p = 0.0
        elif isinstance(m, torch.nn.Linear) and "mobilenet" in spec:  # torchvision's are so small that outputs are alike
            m.weight.data.normal_(0, 2 * m.in_features ** -0.5)
    y = torch.arange(batch) % classes
    x = torch.randn(batch, 3, side, side) + torch.randn(classes, 3, side, side)[y]
    for m in norms:  # neither the first state nor the batch's own
        m.weight.data.uniform_(0.5, 1.5)
        m.bias.data.normal_(0, 0.1)
        m.momentum = None  # the mean of all batches
    model.train()
    for _ in range(5):
        model(torch.randn(batch, 3, side, side) * 1.5)
    model.eval()
    with torch.no_grad():
        found = centred(model(x).double().numpy())
        expected = centred(model.double()(x.double()).numpy())
    model.float()
    save(model.state_dict(), f"{network}.state.safetensors")
    np.save(f"{network}.x.npy", x.numpy())
    np.save(f"{network}.y.npy", y.numpy().astype(np.int32))
    np.save(f"{network}.expected.npy", expected)
    np.savetxt(f"{network}.own.txt", [difference(found, expected)])

    for m in norms:
        m.momentum = 1.0
    loss, rule, losses = torch.nn.CrossEntropyLoss(), torch.optim.SGD(model.parameters(), lr=LR, momentum=MOMENTUM), []
    for step in range(STEPS + 1):
        if step > 0:
            model.train()
            rule.zero_grad()
            loss(model(x), y).backward()
            rule.step()
        with torch.no_grad():
            if step > 0:
                model.train()(x)  # the statistics
            losses.append(loss(model.eval()(x), y).item())
    with open(f"{network}.losses.json", "w") as file:
        json.dump(losses, file)


def compare(network, predictions):
    found, expected = centred(np.log(np.loadtxt(predictions, delimiter=","))), np.load(f"{network}.expected.npy")
    own = float(np.loadtxt(f"{network}.own.txt"))
    assert np.max(np.ptp(expected, axis=0)) > 0.1, "equal predictions prove nothing"
    off = difference(found, expected)
    print(f"{network}: outputs are off by {off:.2g}, torchvision's by {own:.2g}")
    assert off <= max(LARGEST_OUTPUT, 2 * own), off


def losses(network, log):
    with open(log) as file:
        found = [record["loss"] for record in map(json.loads, file) if "loss" in record]
    with open(f"{network}.losses.json") as file:
        expected = json.load(file)
    assert len(found) == len(expected), (found, expected)
    print(f"{network}: step  drove  torchvision")
    for step, pair in enumerate(zip(found, expected)):
        print(f"{network}: {step} {pair[0]:.6f} {pair[1]:.6f}")
    worst = max(abs(a - b) / max(b, 0.1 * expected[0]) for a, b in zip(found, expected))
    assert expected[-1] < 0.5 * expected[0], "no step did anything"
    print(f"{network}: losses differ by {worst:.2g}")
    assert worst <= LARGEST_LOSS, worst


if sys.argv[1] == "write":
    write(*sys.argv[2:4], *map(int, sys.argv[4:]))
else:
    {"compare": compare, "losses": losses}[sys.argv[1]](*sys.argv[2:])
