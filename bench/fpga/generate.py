#!/usr/bin/env python3
"""Writes the top module of one design: sgd.v with its parameters.

    bench/fpga/generate.py --precision D8M8 [--lanes 16] [--features 1024] [--stages 2|3] [--batch 1]
        [--rounding nearest|xorshift|shared] [--unit block|fixed] [--step 20] [--gshift 6] [--seed 1] [--out top.v]

--precision: as drove's; without G the gradient has as many bits as the data.  --lanes: numbers that a cycle
loads; a two-stage design processes twice as many.  --unit block: outputs and gradients have the unit of their
batch, as with drove; fixed: gradients have the unit 2^gshift.  --step: see model.py.
"""
import argparse
import dataclasses
import re

MASK = 2**64 - 1
SOURCES = ["sgd.v", "memory.v", "dot.v", "update.v", "errors.v", "xorshift.v"]
ROUNDINGS = ["nearest", "xorshift", "shared"]


def splitmix(seed, count):
    """count numbers of SplitMix64: states of XORSHIFT modules, never 0."""
    numbers = []
    for i in range(1, count + 1):
        z = (seed + i * 0x9E3779B97F4A7C15) & MASK
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & MASK
        z = (z ^ z >> 27) * 0x94D049BB133111EB & MASK
        numbers.append((z ^ z >> 31) | 1)
    return numbers


@dataclasses.dataclass
class Design:
    """One design; all that the Verilog, its definition in model.py and the tests need."""
    d: int = 8
    m: int = 8
    g: int = 8
    lanes: int = 4
    features: int = 64
    stages: int = 3
    batch: int = 1
    rounding: str = "nearest"
    unit: str = "block"
    step: int = 20
    gshift: int = 6
    seed: int = 1

    def __post_init__(self):
        for word in ("d", "m", "g"):
            check(2 <= getattr(self, word) <= 16, f"{word}: expected 2 to 16 bits, found {getattr(self, word)}")
        for word in ("lanes", "batch"):
            n = getattr(self, word)
            check(n >= 1 and n & (n - 1) == 0, f"{word}: expected a power of two, found {n}")
        check(self.stages in (2, 3), f"stages: expected 2 or 3, found {self.stages}")
        check(self.rounding in ROUNDINGS, f"rounding: expected one of {', '.join(ROUNDINGS)}, found {self.rounding}")
        check(self.unit in ("block", "fixed"), f"unit: expected block or fixed, found {self.unit}")
        check(self.features % self.processed == 0 and self.beats >= 2,
              f"features: expected a multiple of {self.processed} from {2 * self.processed} on, found {self.features}")
        check(self.beats * self.batch < 2**16 - 8, "features times batch: too many for the counters")
        check(0 <= self.step and self.step + self.left < 64, f"step: expected 0 to {63 - self.left}, found {self.step}")
        check(self.unit == "block" or 0 <= self.gshift <= self.step, "gshift: expected 0 to step")

    @property
    def processed(self):
        """Numbers that a cycle processes."""
        return self.lanes * (2 if self.stages == 2 else 1)

    @property
    def beats(self):
        return self.features // self.processed

    @property
    def sum_bits(self):
        return self.d + self.m + (self.features - 1).bit_length()

    @property
    def left(self):
        """The most by which the exponent of errors, of sum_bits + 1 bits, can exceed the step."""
        return 0 if self.unit == "fixed" else max(0, self.sum_bits + 2 - self.g - self.step)

    @property
    def lowest(self):
        """Words of 8 and 16 bits use all their codes, as in drove; others are symmetric."""
        return -(2 ** (self.m - 1)) if self.m in (8, 16) else 1 - 2 ** (self.m - 1)

    @property
    def generators(self):
        return 0 if self.rounding == "nearest" else 1 if self.rounding == "shared" else (self.processed + 3) // 4

    @property
    def seeds(self):
        """Those of the lanes' generators, then that of the errors'."""
        return splitmix(self.seed, self.generators + 1)

    @property
    def signature(self):
        return f"D{self.d}M{self.m}" + (f"G{self.g}" if self.g != self.d else "")

    @property
    def name(self):
        shape = f"{self.lanes}x{self.features}-{self.stages}stage-b{self.batch}"
        return f"{self.signature}-{shape}-{self.rounding}-{self.unit}"


def check(ok, message):
    if not ok:
        raise ValueError(message)


def widths(precision):
    """D, M and G of a signature such as D8M16 or D8M16G6."""
    found = re.fullmatch(r"D(\d+)M(\d+)(?:G(\d+))?", precision)
    check(found, f"precision: expected D, M and perhaps G, as in D8M16G8, found {precision}")
    d, m, g = found.groups()
    return {"d": int(d), "m": int(m), "g": int(g or d)}


def top(design):
    """The text of the top module."""
    p = design
    seeds = "".join(f"{seed:016x}" for seed in reversed(p.seeds))
    values = {
        "D": p.d, "M": p.m, "G": p.g, "LOWEST": -p.lowest, "LANES": p.processed,
        "LEVELS": p.processed.bit_length() - 1, "BEATS": p.beats, "BATCH": p.batch,
        "INDEX": max(1, p.batch.bit_length() - 1), "BEAT": (p.beats - 1).bit_length(), "SUM": p.sum_bits,
        "STAGES": p.stages, "BLOCK": int(p.unit == "block"), "STEP": p.step, "LEFT": p.left, "GSHIFT": p.gshift,
        "FRESH": int(p.rounding == "xorshift"), "GENERATORS": p.generators,
        "SEEDS": f"{64 * len(p.seeds)}'h{seeds}",
    }
    ports = [("input", 1, "clk"), ("input", 1, "reset"), ("input", 1, "in_valid"), ("output", 1, "in_ready"),
             ("input", p.lanes * p.d, "in_data"), ("input", p.sum_bits, "in_target"), ("input", 1, "host_write"),
             ("input", values["BEAT"], "host_beat"), ("input", 8, "host_lane"), ("input", p.m, "host_word"),
             ("output", p.m, "host_read"), ("output", 1, "idle"), ("output", 1, "updating")]
    lines = [f"// {p.name}; written by bench/fpga/generate.py", "module top ("]
    lines += [",\n".join(f"    {way} [{bits - 1}:0] {port}" for way, bits, port in ports), ");", "    sgd #("]
    lines += [",\n".join(f"        .{key}({value})" for key, value in values.items()), "    ) all ("]
    lines += [",\n".join(f"        .{port}({port})" for _, _, port in ports), "    );", "endmodule", ""]
    return "\n".join(lines)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--precision", default="D8M8")
    p.add_argument("--out", default="top.v")
    for field in dataclasses.fields(Design):
        if field.name not in ("d", "m", "g"):
            p.add_argument(f"--{field.name}", type=type(field.default), default=field.default)
    options = vars(p.parse_args())
    out, precision = options.pop("out"), options.pop("precision")
    try:
        design = Design(**widths(precision), **options)
    except ValueError as error:
        p.error(str(error))
    with open(out, "w") as f:
        f.write(top(design))


if __name__ == "__main__":
    main()
