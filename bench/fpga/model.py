"""What a design computes, in integers and without a clock: the definition that sgd.v is checked against.

Source: De Sa et al., ISCA 2017, sections 5.2 and 8; `--precision` of drove (docs/methods/fixed.md).

    x[b][j]  data, D bits;  w[j]  model, M bits;  t[b]  targets in units of a product x w
    round(v, e, r) = floor(v / 2^e + (2 r + 1) / 2^17), r: 16 random bits, or 2^15 for the nearest

    z[b] = sum_j x[b][j] w[j]
    block:  e_z = unit(max |z|, D),  error[b] = 2^e_z round(z[b], e_z) - t[b]
            e   = unit(max |error|, G)
    fixed:  error[b] = z[b] - t[b],  e = gshift
    g[b] = clamp(round(error[b], e)) to G bits
    w[j] = clamp(w[j] + round(-sum_b g[b] x[b][j], step - e))

unit(v, bits) is the least e >= 0 with v <= (2^(bits-1) - 1) 2^e.  With data of unit 2^-a, a step size of 2^-k and
2^c examples a batch, step = 2 a + k + c; the model's unit cancels.
"""
import numpy as np

MASK = 2**64 - 1


def unit(largest, bits):
    e = 0
    while largest > ((1 << (bits - 1)) - 1) << e:
        e += 1
    return e


def rounded(v, e, r):
    """round(v, e, r) of arrays; bits below 2^-17 change nothing."""
    v = np.asarray(v, dtype=np.int64)
    if e <= 0:
        return v << -e
    scaled = (v << 17) >> e
    return (scaled + 2 * np.asarray(r, dtype=np.int64) + 1) >> 17


class Bits:
    """One XORSHIFT module: shows its state, then steps."""

    def __init__(self, seed):
        self.state = seed

    def words(self):
        return [self.state >> 16 * i & 0xFFFF for i in range(4)]

    def step(self):
        x = self.state
        x ^= x << 13 & MASK
        x ^= x >> 7
        x ^= x << 17 & MASK
        self.state = x


class Random:
    """The random bits of a design, in the order in which it uses them."""

    def __init__(self, design):
        self.design = design
        *lanes, errors = [Bits(seed) for seed in design.seeds]
        self.lanes, self.errors = lanes, errors

    def of_errors(self, n):
        if self.design.rounding == "nearest":
            return np.full(n, 0x8000)
        drawn = []
        for _ in range(n):
            drawn.append(self.errors.words()[0])
            self.errors.step()
        return np.array(drawn)

    def of_update(self):
        """One word for each of the model's, lane by lane and beat by beat."""
        p = self.design
        if p.rounding == "nearest":
            return np.full(p.features, 0x8000)
        beats = []
        for _ in range(p.beats):
            words = [word for bits in self.lanes for word in bits.words()]
            beats += [words[lane % len(words)] for lane in range(p.processed)]
            if p.rounding == "xorshift":
                self.step()
        if p.rounding == "shared":
            self.step()
        return np.array(beats)

    def step(self):
        for bits in self.lanes:
            bits.step()


def gradients(design, z, t, random):
    """g[b] and their exponent from outputs and targets."""
    p, n = design, len(z)
    most = 2 ** (p.g - 1) - 1
    if p.unit == "fixed":
        error, e = z - t, p.gshift
    else:
        e_z = unit(np.abs(z).max(), p.d)
        error = (rounded(z, e_z, random.of_errors(n)) << e_z) - t
        e = unit(np.abs(error).max(), p.g)
    return np.clip(rounded(error, e, random.of_errors(n)), -most, most), e


def train(design, w, x, t, largest=None):
    """The model after one pass over x[rows][features] with targets t[rows]; rows is a multiple of the batch.
    largest: a dictionary for the largest magnitudes of sums, z and update, and of the model."""
    p, w = design, np.array(w, dtype=np.int64)
    random = Random(p)
    x, t = np.asarray(x, dtype=np.int64), np.asarray(t, dtype=np.int64)
    assert len(x) % p.batch == 0 and x.shape[1] == p.features
    for first in range(0, len(x), p.batch):
        rows = x[first:first + p.batch]
        z = rows @ w
        g, e = gradients(p, z, t[first:first + p.batch], random)
        change = -(g @ rows)
        w = np.clip(w + rounded(change, p.step - e, random.of_update()), p.lowest, 2 ** (p.m - 1) - 1)
        if largest is not None:
            for key, v in ("z", z), ("error", z - t[first:first + p.batch]), ("change", change), ("w", w):
                largest[key] = max(largest.get(key, 0), int(np.abs(v).max()))
    return w
