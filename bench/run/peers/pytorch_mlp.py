"""PyTorch: eager, compiled or bf16 (--mode eager, compile, bf16), on one thread; hogwild and ddp on --workers processes.

hogwild: processes share the parameters and step without locks (PyTorch's own example); ddp: DistributedDataParallel over gloo, whose
gradients are averaged at every step, each process with --batch / --workers examples.
"""
import copy
import os
import socket
import time

START = time.perf_counter()
os.environ.setdefault("OMP_NUM_THREADS", "1")
import torch
import torch.multiprocessing as mp
from torch import nn

from common import LAYERS, Race, arguments, batches, mnist, serve

IMPORT_S = time.perf_counter() - START


def network():
    parts = []
    for n_in, n_out in zip(LAYERS, LAYERS[1:]):
        parts += [nn.Linear(n_in, n_out), nn.ReLU()]
        nn.init.kaiming_normal_(parts[-2].weight)  # as the other programs begin
        nn.init.zeros_(parts[-2].bias)
    return nn.Sequential(*parts[:-1])


def train_epoch(model, rule, step_loss, x, y, order):
    for rows in torch.from_numpy(order):
        rule.zero_grad(set_to_none=True)
        step_loss(model, x[rows], y[rows]).backward()
        rule.step()


def loss_of(mode):
    plain = nn.CrossEntropyLoss()

    def loss(model, x, y):
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=mode == "bf16"):
            z = model(x)
        return plain(z.float(), y)

    return torch.compile(loss, dynamic=False) if mode == "compile" else loss


def accuracy_of(model, x, y):
    with torch.no_grad():
        return (model(x).argmax(1) == y).float().mean().item()


def one_process(args, data, load_s):
    import numpy as np
    x, y, xt, yt = (torch.from_numpy(a) for a in data)
    model, rng = network(), np.random.default_rng(args.seed)
    rule = torch.optim.SGD(model.parameters(), lr=args.lr, fused=True)
    loss = loss_of(args.mode)

    def train(batch):
        train_epoch(model, rule, loss, x, y, batches(rng, len(x), batch))

    if args.serve:
        serve(train, len(x))
    else:
        Race(args, torch.__version__, IMPORT_S, load_s, len(x)).run(lambda _: train(args.batch), lambda: accuracy_of(model, xt, yt))


def share(rank, args, model, x, y, go, done, stop):
    """One process of several; an epoch begins and ends at a barrier, so that the first one can evaluate."""
    import numpy as np
    torch.set_num_threads(1)
    batch, trained, seed = args.batch, model, 1000 * args.seed + rank
    if args.mode == "ddp":
        if rank > 0:
            model = copy.deepcopy(model)  # parameters of its own; the first one's are those that are evaluated
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(args.port))
        torch.distributed.init_process_group("gloo", rank=rank, world_size=args.workers)
        trained, batch, seed = nn.parallel.DistributedDataParallel(model), args.batch // args.workers, args.seed
    rule = torch.optim.SGD(trained.parameters(), lr=args.lr, fused=args.mode == "ddp")
    rng, loss = np.random.default_rng(seed), loss_of("")
    while True:
        go.wait()
        if stop.value:
            break
        order = batches(rng, len(x), batch)
        n_own = len(order) // args.workers
        own = order[rank::args.workers] if args.mode == "ddp" else order
        train_epoch(trained, rule, loss, x, y, own[:n_own])
        done.wait()
    if args.mode == "ddp":
        torch.distributed.destroy_process_group()


def several(args, data, load_s):
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        args.port = s.getsockname()[1]
    x, y, xt, yt = (torch.from_numpy(a).share_memory_() for a in data)
    model = network()
    model.share_memory()
    context = mp.get_context("fork")
    go, done, stop = context.Barrier(args.workers + 1), context.Barrier(args.workers + 1), context.Value("i", 0)
    processes = [context.Process(target=share, args=(r, args, model, x, y, go, done, stop)) for r in range(args.workers)]
    for p in processes:
        p.start()

    def epoch(_):
        go.wait()
        done.wait()

    if args.serve:  # of --batch alone, which the processes know
        serve(epoch, len(x))
    else:
        Race(args, torch.__version__, IMPORT_S, load_s, len(x)).run(epoch, lambda: accuracy_of(model, xt, yt))
    stop.value = 1
    go.wait()
    for p in processes:
        p.join()


def main():
    args = arguments()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    start = time.perf_counter()
    data = mnist(args.data)
    load_s = time.perf_counter() - start
    (several if args.workers > 1 else one_process)(args, data, load_s)


if __name__ == "__main__":
    main()
