# The program's messages under SimGrid: few combinations of bench/simgrid/run, whose times must be near the formulas.
# ctest: timeout=900
set -eu
if [ -n "$DROVE_SANITIZE" ]; then
    echo "skip: SimGrid's own stacks and the sanitizers do not go together"
    exit 77
fi
if ! command -v smpirun >/dev/null || ! command -v smpicc >/dev/null; then
    echo "skip: SimGrid is not installed (libsimgrid-dev)"
    exit 77
fi
"$DROVE_SOURCE_DIR/bench/simgrid/run" --build "$DROVE_BUILD_DIR" --quick --lines lines.jsonl 2>err.txt || {
    cat err.txt >&2
    exit 1
}
python3 - <<'END'
import json
rows = {(r["network"], r["method"], r["nodes"]): r["iteration_s"] for r in map(json.loads, open("lines.jsonl"))}
size, one, beta = 53513120, 1533 / 300, 0.2e-9
waiting, update = 0.0077 * 1.03 * one, 2.2e-9 * size


def near(found, expected, bound, what):
    assert abs(found / expected - 1) <= bound, f"{what}: expected {expected:.4f} s, found {found:.4f} s"


near(rows["fdr", "paper", 1], one, 1e-6, "one node has nothing to exchange")
near(rows["fdr", "library", 4], 1.5 * beta * size, 0.08, "a ring's all-reduce")
near(rows["fdr", "allreduce", 4] - one - waiting - update, 1.5 * beta * size + 0.75 * 0.25e-9 * size, 0.35, "ours")
# The reduction's two levels are exposed; beside compute nothing is.
near(rows["fdr", "paper", 4] - one - waiting - update, 2 * (beta + 0.25e-9) * size, 0.15, "the paper's tree")
near(rows["fdr", "easgd-sync3", 4], one + waiting + update, 0.002, "an exchange beside compute")
near(rows["aries", "easgd-sync3", 4], one + waiting + update, 0.002, "an exchange beside compute, dragonfly")
END
