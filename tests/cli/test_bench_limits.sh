# drove bench limits: its keys, and figures against an independent count of operations and bytes; no time is judged.
# ctest: slow: one example, two batches, caches and devices, by turns
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"

check() {
    [ ! -s err.txt ] || fail "bench limits: $(cat err.txt)"
    python3 - "$@" <<'END' || fail "$(cat out.txt)"
import json, sys
batches, widths = json.loads(sys.argv[1]), json.loads(sys.argv[2])
out = json.load(open("out.txt"))
near = lambda a, b: abs(a - b) <= 2e-5 * abs(b)
# A mistaken count or unit is out by a thousand; another program that runs during one of two timings, by two or three.
share = lambda x: 0 < x < 20
assert {"bench", "drove", "processor", "n_processors", "isa", "seconds", "model", "inputs", "outputs", "parameters", "library",
        "peak_lanes", "peak_gflops", "one_example", "batches", "reading", "huge_page_bytes", "line_ns", "devices"} == set(out)
assert out["bench"] == "limits" and out["inputs"] == widths[0] and out["outputs"] == widths[-1]
assert out["peak_lanes"] == {"avx2": 8, "avx5": 16}.get(out["isa"][:4], 4), out["isa"]

# A multiply-add is two operations.  Forward and the gradient of the weights take one for each weight, and so does the
# gradient of the inputs, which the first layer does not have.
layers = list(zip(widths, widths[1:]))
weights = sum(a * b for a, b in layers)
inner = weights - widths[0] * widths[1]
flops = 2 * (2 * weights + inner)
assert out["parameters"] == weights + sum(widths[1:])
assert [b["batch"] for b in out["batches"]] == batches
for b in out["batches"]:
    n, best_s = b["batch"], 0
    assert b["flops_per_example"] == flops, (b["flops_per_example"], flops)
    wanted = {(i, part): size for i, (a, o) in enumerate(layers)
              for part, size in (("forward", (n, o, a)), ("weights", (a, o, n)), ("inputs", (n, a, o))) if i > 0 or part != "inputs"}
    assert {(p["layer"], p["part"]): (p["m"], p["n"], p["k"]) for p in b["products"]} == wanted
    kind_s = {"own": 0, "library": 0, "rows": 0}
    for p in b["products"]:
        size = 2e-9 * p["m"] * p["n"] * p["k"]
        rates = {k: p[k + "_gflops"] for k in kind_s}
        assert rates["own"] > 0 and (rates["library"] is None) == (out["library"] is None) and (rates["rows"] is None) == (n > 2)
        for k, r in rates.items():
            kind_s[k] += size / r if r else 0
        best_s += size / max(r for r in rates.values() if r)
    for k, s in kind_s.items():
        assert b[k + "_examples_per_s"] is None if s == 0 else near(b[k + "_examples_per_s"], n / s), (k, b)
    assert near(b["products_examples_per_s"], n / best_s)
    for k in "products", "step":
        assert near(b[k + "_examples_per_s"] * flops, b[k + "_gflops"] * 1e9)
    assert near(b["peak_examples_per_s"] * flops, out["peak_gflops"] * 1e9)
    assert near(b["products_of_peak"], b["products_gflops"] / out["peak_gflops"])
    assert near(b["step_of_products"], b["step_examples_per_s"] / b["products_examples_per_s"])
    assert near(b["step_of_peak"], b["step_of_products"] * b["products_of_peak"])
    for k in "products_of_peak", "step_of_products", "step_of_peak":
        assert share(b[k]), (k, b[k])

# Of one example: forward, the gradient of the inputs, and the update, which reads and writes.
one = out["one_example"]
reading = {r["level"]: r["gb_per_s"] for r in out["reading"]}
assert all(r["kernel"] == "read" and r["threads"] == 1 for r in out["reading"])
assert one["parameter_bytes"] == 4 * out["parameters"]
assert one["moved_bytes"] == 4 * (3 * out["parameters"] + inner)
assert near(one["gb_per_s"], reading[one["level"]]) and near(one["limit_examples_per_s"] * one["moved_bytes"], one["gb_per_s"] * 1e9)
assert near(one["step_examples_per_s"], out["batches"][0]["step_examples_per_s"])
assert near(one["step_of_limit"], one["step_examples_per_s"] / one["limit_examples_per_s"]) and share(one["step_of_limit"])

assert out["line_ns"] is None if out["n_processors"] < 2 else out["line_ns"] > 0
figures = ("launch_us", "round_trip_us", "to_gb_per_s", "from_gb_per_s")
assert {d["device"].split(":")[0] for d in out["devices"]} == {"opencl", "cuda"}
for d in out["devices"]:
    assert set(d) == {"device", "name", "reason", *figures}
    assert all(d[k] > 0 for k in figures) if d["reason"] is None else d["reason"] != ""
END
}

run_for 0 bench limits --batch 2,64 --seconds 0.02 --bytes 4MiB --json
check '[1, 2, 64]' '[784, 128, 128, 128, 10]'
run_for 0 bench limits --isa ref --model mlp:24 --batch 1,9 --seconds 0.01 --bytes 4MiB --json
check '[1, 9]' '[784, 24, 10]'
grep -q '"isa": "ref"' out.txt && grep -q '"library": null' out.txt || fail "plain C has no library: $(cat out.txt)"

run_for 0 bench limits --batch 64 --seconds 0.01 --bytes 4MiB
[ "$(grep -Ec '^ +(1|64)( +[0-9]+| +-){4} +[0-9]+ % +[0-9]+ +[0-9]+ %$' out.txt)" = 2 ] || fail "expected a row of each batch: $(cat out.txt)"
grep -q '^cuda \|^opencl' out.txt || fail "expected what there is of devices: $(cat out.txt)"
LC_ALL=C grep -nE '^.{81,}$' out.txt | grep -v ' none: ' && fail "wider than 80 columns"
run_for 0 bench limits --model logistic --batch 4 --seconds 0.001 --bytes 4MiB
