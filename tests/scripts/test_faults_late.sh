# scripts/faults tells a process that hangs from one that the machine leaves waiting.
# ctest: slow: waits for processes that hang
set -eu
[ -e /proc/self/stat ] || { echo "skip: /proc is not mounted, which has the processor time of others"; exit 77; }
python3 - "$DROVE_SOURCE_DIR/scripts/faults" <<'PYTHON'
import importlib.machinery, importlib.util, subprocess, sys

sys.dont_write_bytecode = True
loader = importlib.machinery.SourceFileLoader("faults", sys.argv[1])
faults = importlib.util.module_from_spec(importlib.util.spec_from_loader("faults", loader))
loader.exec_module(faults)


def outcome(command, limit_s):
    process = subprocess.Popen(["bash", "-c", command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, start_new_session=True)
    said, does = faults.wait_for(process, limit_s)
    if said is None:
        faults.end_hanging(process, False)
    return said and said[0], does


said, does = outcome("echo a", 30)
assert said == b"a\n", said
said, does = outcome("sleep 100", 1)  # asleep: hangs, and where is said
assert said is None and "sleep S" in does, (said, does)
said, does = outcome("sleep 100 & exit 3", 1)  # what it started hangs
assert said is None and does == "has ended, but not what it started", (said, does)
faults.PATIENCE = 4
said, does = outcome("while :; do :; done", 1)  # had its time, or had four times the limit
assert said is None and "bash R" in does, (said, does)

# As if it waited for the processor: it has more time, but not for ever.
faults.PATIENCE = 10
faults.threads_of = lambda session: [("drove", "R", 0, "")]
said, does = outcome("sleep 4; echo b", 1)
assert said == b"b\n", (said, does)
faults.PATIENCE = 3
said, does = outcome("sleep 100", 1)
assert said is None, said
PYTHON
