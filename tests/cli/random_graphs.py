"""random_graphs.py SEED|activations: a network as graph.yaml, and random images for it as images.npy and y.npy.

By a seed a random one: layers of every kind that is no program's own read random outputs, the data among them; what
nobody has read in the end is joined into vectors for the last layer.  Else every activation, behind each kind of layer
that has one and by itself."""
import array
import random
import struct
import sys

CURVES = ["relu", "sigmoid", "tanh", "leaky_relu", "elu", "selu", "gelu", "gelu_tanh", "silu", "mish", "softplus", "relu6",
          "hard_swish", "hard_sigmoid", "erf", "smooth_clip", "sin"]
N_IMAGES, N_CLASSES = 24, 5


def write_npy(path, kind, code, shape, values):
    head = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}"
    head += " " * (-(len(head) + 11) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + array.array(code, values).tobytes())


class Graph:
    def __init__(self, draw, shape):
        self.draw, self.lines = draw, []
        self.shape = {"data": shape}  # of each output, (c, h, w)
        self.unread = []

    def add(self, kind, inputs, shape, **words):
        name = f"l{len(self.lines)}"
        said = "".join(f", {word}: {str(value).lower() if isinstance(value, bool) else value}" for word, value in words.items())
        self.lines.append(f"  - {{name: {name}, type: {kind}, inputs: [{', '.join(inputs)}]{said}}}")
        self.unread = [u for u in self.unread if u not in inputs] + [name]
        self.shape[name] = shape
        return name

    def activation(self, likely):
        return {"activation": self.draw.choice(CURVES)} if self.draw.random() < likely else {}

    def window(self, h, w, dilates):
        """Words of a window that fits, and the function from a side to the number of its places."""
        d = self.draw
        for _ in range(100):
            k, s, p = [d.randint(1, 5), d.randint(1, 5)], [d.randint(1, 3), d.randint(1, 3)], [d.randint(0, 2), d.randint(0, 2)]
            q = [d.randint(0, 2), d.randint(0, 2)] if d.random() < 0.4 else p  # zeros below and right
            far = [d.randint(1, 2), d.randint(1, 2)] if dilates else [1, 1]
            if not dilates and any(max(p[i], q[i]) >= k[i] for i in (0, 1)):
                continue
            span = [(k[i] - 1) * far[i] + 1 for i in (0, 1)]
            rest = [(h, w)[i] + p[i] + q[i] - span[i] for i in (0, 1)]
            if min(rest) < 0:
                continue
            up = not dilates and d.random() < 0.5
            out = []
            for i in (0, 1):
                n = rest[i] // s[i] + 1
                out.append(n + (up and rest[i] % s[i] != 0 and n * s[i] < (h, w)[i] + p[i]))
            words = {"kernel": k, "stride": s, "pad": p if p is q else p + q}
            words.update({"dilation": far} if dilates else {"rounds_up": up})
            return words, out
        return {"kernel": 1}, [h, w]

    def step(self):
        d, shape = self.draw, self.shape
        x = d.choice(self.unread) if self.unread and d.random() < 0.7 else d.choice(list(shape))
        c, h, w = shape[x]
        same = [o for o in shape if shape[o] == (c, h, w)]
        kind = d.choice(["convolution"] * 5 + ["depthwise"] * 2 + ["max_pool", "average_pool"] * 2 + ["global"] + ["batch_norm"] * 3 +
                        ["layer_norm", "layer_norm", "prelu", "lrn", "dropout", "concat", "concat", "sum", "sum", "product", "gate", "flatten", "reshape", "softmax", "scale",
                         "normalize", "clip", "gather", "activation", "activation", "dense"])
        if kind in ("convolution", "depthwise"):
            words, (oh, ow) = self.window(h, w, True)
            o = c if kind == "depthwise" else d.randint(1, 20)
            groups = c if kind == "depthwise" else d.choice([g for g in range(1, c + 1) if c % g == 0 and o % g == 0])
            self.add("convolution", [x], (o, oh, ow), channels=o, groups=groups, bias=d.random() < 0.7, **words, **self.activation(0.5))
        elif kind.endswith("_pool"):
            words, (oh, ow) = self.window(h, w, False)
            counts = {"counts_pad": d.random() < 0.5} if kind == "average_pool" else {}
            self.add(kind, [x], (c, oh, ow), **words, **counts)
        elif kind == "global":
            self.add(d.choice(["max_pool", "average_pool"]), [x], (c, 1, 1), **{"global": True})
        elif kind == "batch_norm":
            self.add(kind, [x], shape[x], epsilon=0.1, **self.activation(0.5))
        elif kind == "layer_norm":
            over = d.sample(["channels", "height", "width"], d.randint(1, 3))
            self.add(kind, [x], shape[x], epsilon=0.1, **{f"over_{side}": side in over for side in ("channels", "height", "width")},
                     **self.activation(0.3))
        elif kind == "prelu":
            self.add(kind, [x], shape[x], **({"slopes": d.choice([1, c * h * w])} if d.random() < 0.6 else {}))
        elif kind == "lrn":
            self.add(kind, [x], shape[x], size=d.choice([1, 3, 5, 7]), alpha=round(d.uniform(0, 2), 3), beta=d.choice([0.75, 0.6]),
                     kappa=round(d.uniform(0.5, 2), 3))
        elif kind == "concat":
            others = [x] + [o for o in shape if shape[o][1:] == (h, w)]
            inputs = d.sample(others, min(len(others), d.randint(1, 3)))
            self.add(kind, inputs, (sum(shape[i][0] for i in inputs), h, w))
        elif kind == "sum":
            inputs = [d.choice(same) for _ in range(d.randint(1, 3))]
            self.add(kind, inputs, shape[x], coefficients=[round(d.uniform(-1, 1.5), 2) or 1 for _ in inputs], **self.activation(0.3))
        elif kind == "product":
            self.add(kind, [x, d.choice(same)], shape[x])
        elif kind == "gate":
            mean = self.add("average_pool", [x], (c, 1, 1), **{"global": True})
            gate = self.add("convolution", [mean], (c, 1, 1), channels=c, kernel=1, activation=d.choice(["hard_sigmoid", "sigmoid"]))
            self.add("product", [x, gate], shape[x])
        elif kind == "flatten":
            self.add(kind, [x], (c * h * w, 1, 1))
        elif kind == "reshape":
            sides = d.sample([c, h, w], 3)
            words = {} if d.random() < 0.3 else {"channels": sides[0], "height": sides[1], "width": sides[2],
                                                 "channels_last": d.random() < 0.4}
            self.add(kind, [x], tuple(sides) if words else (c * h * w, 1, 1), **words)
        elif kind == "scale":
            numbers = lambda n: [round(d.uniform(0.2, 1.5), 3) for _ in range(n)]
            words = {word: numbers(d.choice([1, c] + [c * h * w] * (c * h * w < 400)))
                     for word in ("offsets", "factors") if d.random() < 0.8}
            self.add(kind, [x], shape[x], **words)
        elif kind == "normalize":
            self.add("scale", [self.add(kind, [x], shape[x], power=d.choice([1, 2]))], shape[x], factors=[4])
        elif kind == "clip":
            self.add(kind, [x], shape[x], **{word: value for word, value in (("low", -0.75), ("high", 1)) if d.random() < 0.8})
        elif kind == "gather":
            places = [d.randrange(c * h * w) for _ in range(d.randint(1, 9))] + [f"0-{c * h * w - 1}", f"0-{min(c, 3) - 1}x{d.randint(1, 3)}"]
            places = d.sample(places, d.randint(1, len(places)))
            n = sum(1 if isinstance(p, int) else c * h * w if "x" not in p else min(c, 3) * int(p[-1]) for p in places)
            self.add(kind, [x], (n, 1, 1), index="[" + ", ".join(map(str, places)) + "]")
        elif kind == "activation":
            name = d.choice(CURVES)
            slope = {"slope": round(d.uniform(0.1, 2), 3)} if name in ("leaky_relu", "elu", "selu", "silu", "softplus", "hard_sigmoid") else {}
            self.add(kind, [x], shape[x], activation=name, **(slope if d.random() < 0.5 else {}))
        elif kind == "dense":
            units = d.randint(1, 30)
            self.add(kind, [x], (units, 1, 1), units=units, bias=d.random() < 0.7, **self.activation(0.5))
        else:
            self.add(kind, [x], shape[x])

    def end(self):
        self.add("scale", ["data"], self.shape["data"], factors=[0.1])  # so that examples differ
        vectors = [self.add("flatten", [x], (0, 1, 1)) for x in list(self.unread)][:32]
        self.add("dense", [self.add("concat", vectors, (0, 1, 1))], (N_CLASSES, 1, 1))


    def all_activations(self):
        for name in CURVES:
            act = {"activation": name}
            x = self.add("convolution", ["data"], (3, 4, 5), channels=3, kernel=3, stride=2, **act)
            x = self.add("sum", [self.add("batch_norm", [x], (3, 4, 5), epsilon=0.1, **act), x], (3, 4, 5), **act)
            self.add("activation", [self.add("dense", [x], (6, 1, 1), units=6, **act)], (6, 1, 1), **act)


def main():
    is_random = sys.argv[1] != "activations"
    draw = random.Random(int(sys.argv[1]) if is_random else 1)
    shape = (draw.choice([1, 1, 3, 3, 4]), draw.randint(5, 17), draw.randint(5, 17)) if is_random else (3, 9, 11)
    graph = Graph(draw, shape)
    if is_random:
        for _ in range(draw.randint(3, 14)):
            graph.step()
    else:
        graph.all_activations()
    graph.end()
    with open("graph.yaml", "w", encoding="ascii") as file:
        file.write("layers:\n" + "\n".join(graph.lines) + "\n")
    n = shape[0] * shape[1] * shape[2]
    write_npy("images.npy", "<f4", "f", (N_IMAGES, *shape), [draw.uniform(-1, 3) for _ in range(N_IMAGES * n)])
    write_npy("y.npy", "<i4", "i", (N_IMAGES,), [i % N_CLASSES for i in range(N_IMAGES)])


if __name__ == "__main__":
    main()
