#!/usr/bin/env python3
"""Two hosts and a slow link: all-reduce and training steps of drove beside gloo and PyTorch's DistributedDataParallel.

    bench/run/ddp.py [--build build/release] [--python PYTHON] [--rates 200mbit,1gbit,none] [--repeats 20] [--steps 20] [--json FILE]

Two network namespaces as hosts, joined by a bridge whose links `tc tbf` limits to the rate both ways (none: no limit), a process
pinned to a core in each.  All-reduce of the parameters of a 784-1024^3-10 network (11.65 MB), 20 times each: the median and the worst.
A step: batch 512 in each process; DDP's median, drove's mean.  alone: the same steps without an exchange.  exposed: a step less alone;
hidden: the part of the all-reduce's median that is not exposed; bound: what is left of that median behind backward, and a last bucket
of LAST of it.  The ideal of an all-reduce between two: each sends its bytes once at the line's rate.

The links cost the processes' cores: tbf takes a timer's interrupt for each packet that it holds back.  Its burst is above the longest
packet that the kernel hands to a card (64 KiB), else tbf cuts each one into 45, which a card does by itself.
Needs root, ip, tc, both or one of Open MPI and MPICH, and for gloo a Python with torch (--python).  What is missing is said and left out.
"""
import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parents[2]
LAYERS = [784, 1024, 1024, 1024, 10]
N_PARAMETERS = sum((a + 1) * b for a, b in zip(LAYERS, LAYERS[1:]))
BATCH = 512
LAST = 267_952 / N_PARAMETERS  # of the first layer's three buckets, src/cluster/slices.c
ADDRESS = "10.79.0."
LIMIT_S = 150  # of a job

GLOO = """
import json, os, sys, time
rank, repeats, steps = map(int, sys.argv[1:4])
import torch, torch.distributed as dist
from torch import nn
torch.set_num_threads(1)
dist.init_process_group("gloo", rank=rank, world_size=2, init_method="tcp://%s1:29517")
x = torch.ones(%d)
times = []
for _ in range(repeats + 1):
    dist.barrier()
    begun = time.perf_counter()
    dist.all_reduce(x.fill_(1.0))
    longest = torch.tensor([time.perf_counter() - begun], dtype=torch.float64)
    dist.all_reduce(longest, op=dist.ReduceOp.MAX)
    times.append(longest.item())
layers = %s
parts = []
for a, b in zip(layers, layers[1:]):
    parts += [nn.Linear(a, b), nn.ReLU()]
model = nn.Sequential(*parts[:-1])
trained = nn.parallel.DistributedDataParallel(model)
rule, loss = torch.optim.SGD(model.parameters(), lr=0.01), nn.CrossEntropyLoss()
inputs, labels = torch.randn(%d, layers[0]), torch.randint(0, layers[-1], (%d,))

def step(net):
    rule.zero_grad(set_to_none=True)
    loss(net(inputs), labels).backward()
    rule.step()

def took(net):
    found = []
    for _ in range(steps + 2):
        begun = time.perf_counter()
        step(net)
        found.append(time.perf_counter() - begun)
    return found[2:]

together, alone = took(trained), took(model)
if rank == 0:
    print(json.dumps({"all_reduce_s": times[1:], "step_s": together, "alone_s": alone}))
dist.destroy_process_group()
""" % (ADDRESS, N_PARAMETERS, LAYERS, BATCH, BATCH)


class Hosts:
    """Two namespaces with the addresses ADDRESS1 and ADDRESS2; they go away with it."""

    def __init__(self, rate):
        self.id, self.rate = f"ddp{os.getpid()}", rate
        self.folder = tempfile.TemporaryDirectory()
        self.agent = pathlib.Path(self.folder.name) / "agent"

    def __enter__(self):
        for i in range(3):
            self.ip("netns", "add", f"{self.id}-{i}")
        switch = f"{self.id}-0"
        self.ip("-n", switch, "link", "add", "bridge", "type", "bridge")
        self.ip("-n", switch, "link", "set", "bridge", "up")
        for i in (1, 2):
            host = f"{self.id}-{i}"
            self.ip("-n", host, "link", "set", "lo", "up")
            self.ip("-n", host, "link", "add", "net0", "type", "veth", "peer", "name", f"port{i}", "netns", switch)
            self.ip("-n", host, "addr", "add", f"{ADDRESS}{i}/24", "dev", "net0")
            self.ip("-n", host, "link", "set", "net0", "up")
            self.ip("-n", switch, "link", "set", f"port{i}", "master", "bridge", "up")
            for space, device in ((host, "net0"), (switch, f"port{i}")):
                if self.rate != "none":
                    self.ip("netns", "exec", space, "tc", "qdisc", "add", "dev", device, "root", "tbf", "rate", self.rate,
                            "burst", "128kb", "latency", "100ms")
        # as mpirun calls a remote shell: [-options] HOST COMMAND...
        self.agent.write_text("#!/bin/bash\nwhile [ \"${1#-}\" != \"$1\" ]; do shift; done\ni=${1##*.}\nshift\n"
                              f"exec ip netns exec {self.id}-$i taskset -c $((i - 1)) unshare --uts sh -c \"hostname host$i; $*\"\n")
        self.agent.chmod(0o755)
        return self

    def __exit__(self, *_):
        for i in range(3):
            subprocess.run(["ip", "netns", "del", f"{self.id}-{i}"], check=False)
        self.folder.cleanup()

    def ip(self, *arguments):
        subprocess.run(["ip", *arguments], check=True)

    def on(self, i, command):
        return ["ip", "netns", "exec", f"{self.id}-{i}", "taskset", "-c", str(i - 1), "unshare", "--uts", "sh", "-c",
                f"hostname host{i}; exec \"$@\"", "sh", *command]

    def mpirun(self, library, command):
        hosts = f"{ADDRESS}1,{ADDRESS}2"
        if library == "openmpi":
            launcher = ["mpirun.openmpi", "--host", hosts, "--map-by", "node", "--bind-to", "none", "-n", "2", "--mca", "plm", "rsh",
                        "--mca", "plm_rsh_agent", str(self.agent), "--mca", "plm_rsh_no_tree_spawn", "1", "--mca", "btl", "tcp,self",
                        "--mca", "pml", "ob1", "--mca", "btl_tcp_if_include", "net0", "--mca", "oob_tcp_if_include", "net0"]
        else:
            launcher = ["mpirun.mpich", "-launcher", "rsh", "-launcher-exec", str(self.agent), "-iface", "net0", "-hosts", hosts,
                        "-ppn", "1", "-n", "2"]
        environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", UCX_TLS="tcp,self",
                           UCX_NET_DEVICES="net0")
        # Debian's MPICH may not come back from MPI_Finalize over TCP: what it has printed counts
        run = subprocess.Popen(self.on(1, [*launcher, *command]), env=environment, text=True, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, start_new_session=True)
        try:
            out, err = run.communicate(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            os.killpg(run.pid, 9)
            out, err = run.communicate()
        return out, err


def objects_of(text):
    decoder, at = json.JSONDecoder(), text.find("{")
    while at >= 0:
        found, end = decoder.raw_decode(text[at:])
        yield found
        at = text.find("{", at + end)


def with_drove(hosts, build, library, args):
    row = {"way": f"drove, {library}"}
    bench = build / "bench/bench_mpi_all_reduce"
    out, err = hosts.mpirun(library, [str(bench), "--times", str(args.repeats), f"{4e-6 * N_PARAMETERS}"])
    for found in objects_of(out):
        if found.get("bench") == "mpi_all_reduce":
            row["all_reduce_s"] = [found["ours_ms"] / 1e3]
            row["worst_s"] = found["ours_worst_ms"] / 1e3
            row["library_s"] = found["library_ms"] / 1e3
        if found.get("bench") == "mpi_overlap":
            row[f"hidden_{found['work']}"] = found["hidden"]
    if "all_reduce_s" not in row:
        print(f"ddp.py: {library}: {err.strip()[-400:]}", file=sys.stderr)
        return row
    def train(strategy, launch, n_rows):
        out, err = launch([
            str(build / "drove"), "train", "--data", f"synth:digits?n={n_rows}", "--model", "mlp:1024,1024,1024",
            "--strategy", strategy, "--batch", str(BATCH), "--lr", "0.01", "--until", "epochs=1",
            "--threads", "1", "--eval-every", "1000", "--out", "none", "--json"])
        found = next((f for f in objects_of(out) if f.get("updates")), None)
        if found is None:
            print(f"ddp.py: {library}, {strategy}: {err.strip()[-400:]}", file=sys.stderr)
        return found

    def by_itself(command):
        run = subprocess.run(hosts.on(1, command), capture_output=True, text=True, check=False)
        return run.stdout, run.stderr

    if alone := train("sequential", by_itself, BATCH * args.steps):
        row["alone_s"] = alone["train_s"] / alone["updates"]
        row["backward_s"] = alone["phases"]["backward"]
    for strategy in args.strategies.split(","):
        if found := train(strategy, lambda command: hosts.mpirun(library, command), BATCH * 2 * args.steps):
            row.setdefault("steps", {})[strategy] = found["train_s"] / found["updates"]
    return row


def with_gloo(hosts, python, args):
    script = pathlib.Path(hosts.folder.name) / "gloo.py"
    script.write_text(GLOO)
    environment = dict(os.environ, GLOO_SOCKET_IFNAME="net0", TP_SOCKET_IFNAME="net0", OMP_NUM_THREADS="1")
    runs = [subprocess.Popen(hosts.on(i, [python, str(script), str(i - 1), str(args.repeats), str(args.steps)]), env=environment,
                             stdout=subprocess.PIPE, text=True) for i in (1, 2)]
    out = [run.communicate()[0] for run in runs]
    found = json.loads(out[0])
    return {"way": "PyTorch, gloo", "all_reduce_s": found["all_reduce_s"], "worst_s": max(found["all_reduce_s"]),
            "alone_s": statistics.median(found["alone_s"]), "steps": {"DDP": statistics.median(found["step_s"])}}


def print_table(rows):
    print("| link | way | all-reduce ms, median | worst | of gloo's rate | step ms | alone | exposed | bound | hidden |\n"
          "|---|---|---|---|---|---|---|---|---|---|")
    for row in rows:
        gloo = next((r for r in rows if r["rate"] == row["rate"] and "gloo" in r["way"] and "all_reduce_s" in r), None)
        if "all_reduce_s" not in row:
            continue
        mine = statistics.median(row["all_reduce_s"])
        ratio = "" if gloo is None else f"{statistics.median(gloo['all_reduce_s']) / mine:.2f}"
        way = f"| {row['rate']} | {row['way']} | {1e3 * mine:.0f} | {1e3 * row['worst_s']:.0f} | {ratio}"
        bound = f"{1e3 * (max(0, mine - row['backward_s']) + LAST * mine):.0f}" if "backward_s" in row else ""
        for name, took_s in row.get("steps", {"": float("nan")}).items():
            exposed = took_s - row["alone_s"] if "alone_s" in row else float("nan")
            print(f"{way} | {name} {1e3 * took_s:.0f} | {1e3 * row.get('alone_s', float('nan')):.0f} | {1e3 * exposed:.0f} | {bound} "
                  f"| {1 - exposed / mine:.2f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=HERE / "build/release")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--rates", default="200mbit,1gbit,none")
    parser.add_argument("--strategies", default="allreduce,accumulate")
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--json", type=pathlib.Path)
    args = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("ddp.py: namespaces need root")
    build, rows = args.build.resolve(), []
    has_torch = subprocess.run([args.python, "-c", "import torch"], capture_output=True, check=False).returncode == 0
    if not has_torch:
        print("ddp.py: no torch in this Python: without gloo", file=sys.stderr)
    for rate in args.rates.split(","):
        with Hosts(rate) as hosts:
            if has_torch:
                rows.append({"rate": rate, **with_gloo(hosts, args.python, args)})
            for library in ("openmpi", "mpich"):
                if shutil.which(f"mpirun.{library}"):
                    rows.append({"rate": rate, **with_drove(hosts, build, library, args)})
    print_table(rows)
    if args.json:
        args.json.write_text(json.dumps(rows, indent=1))


main()
