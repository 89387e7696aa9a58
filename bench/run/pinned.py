"""Processors for programs that are compared: each is held to as many as it is said to have, and its processor time is seen from outside.

A library's flags for one thread bound only the threads that they name: JAX compiles, copies and runs on others beside them. Affinity
binds whatever a program starts. User time over wall time, printed beside every figure, shows what it then made of its cores.
"""
import contextlib
import os
import shutil
import sys
import time
import types


def cores(n):
    """The last n of the processors that this process was started with: the first one has most of the system's own work."""
    if len(OWN) < n:
        sys.exit(f"pinned: expected {n} processors, found {len(OWN)}")
    return OWN[-n:]


OWN = sorted(os.sched_getaffinity(0))


def on(n, command):
    """The command, on n processors."""
    if shutil.which("taskset") is None:
        sys.exit("pinned: expected taskset (util-linux), found none")
    return ["taskset", "-c", ",".join(map(str, cores(n))), *command]


def hold(n_cores):
    for thread in os.listdir("/proc/self/task"):
        with contextlib.suppress(ProcessLookupError):  # it has ended
            os.sched_setaffinity(int(thread), n_cores)


@contextlib.contextmanager
def held(n):
    """Holds every thread of this process, and what it starts meanwhile, to n processors.  What it gives has .wall_s and .used
    afterwards: seconds, and user time over them, of this process and of children that have ended."""
    seen = types.SimpleNamespace()
    before, start = os.times(), time.perf_counter()
    hold(cores(n))
    try:
        yield seen
    finally:
        hold(OWN)
        after, seen.wall_s = os.times(), time.perf_counter() - start
        seen.used = (after.user + after.children_user - before.user - before.children_user) / seen.wall_s


def user_s(pid):
    """User time until now of a process and of all that descend from it, in seconds."""
    children, seconds = {}, {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/stat") as f:
                fields = f.read().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        children.setdefault(int(fields[1]), []).append(int(entry))
        seconds[int(entry)] = (int(fields[11]) + int(fields[13])) / os.sysconf("SC_CLK_TCK")
    todo, total = [pid], 0.0
    while todo:
        here = todo.pop()
        total += seconds.get(here, 0.0)
        todo += children.get(here, [])
    return total
