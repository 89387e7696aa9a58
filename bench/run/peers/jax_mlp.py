"""JAX: jit, an epoch is one scan over its steps; floats, or products in bf16 (--mode bf16); --workers: threads of its pool.

The flags below do not hold it to one processor: whoever starts it pins it (bench/run/pinned.py).
"""
import os
import time

START = time.perf_counter()
from common import LAYERS, Race, arguments, batches, mnist, serve

args = arguments()
if args.workers == 1:
    os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
import jax
import jax.numpy as jnp
import numpy as np

IMPORT_S = time.perf_counter() - START


def main():
    start = time.perf_counter()
    x, y, xt, yt = (jnp.asarray(a) for a in mnist(args.data))
    load_s = time.perf_counter() - start
    low = args.mode == "bf16"
    if low:
        x = x.astype(jnp.bfloat16)

    def outputs(params, x):
        for i, (w, b) in enumerate(params):
            a, c = (x.astype(jnp.bfloat16), w.astype(jnp.bfloat16)) if low else (x, w)
            x = jnp.matmul(a, c, preferred_element_type=jnp.float32) + b
            x = jax.nn.relu(x) if i + 1 < len(params) else x
        return x

    def loss(params, x, y):
        z = outputs(params, x)
        return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(z), y[:, None], axis=1))

    @jax.jit
    def epoch(params, order):
        def step(params, rows):
            g = jax.grad(loss)(params, x[rows], y[rows])
            return jax.tree.map(lambda p, d: p - args.lr * d, params, g), None
        return jax.lax.scan(step, params, order)[0]

    rng = np.random.default_rng(args.seed)
    params = [(jnp.asarray(rng.normal(0, (2 / n_in) ** 0.5, (n_in, n_out)), jnp.float32), jnp.zeros(n_out))
              for n_in, n_out in zip(LAYERS, LAYERS[1:])]
    accuracy = jax.jit(lambda params: jnp.mean(jnp.argmax(outputs(params, xt), 1) == yt))
    state = [params]

    def train(batch):
        state[0] = jax.block_until_ready(epoch(state[0], jnp.asarray(batches(rng, len(x), batch))))

    if args.serve:
        serve(train, len(x))
    else:
        Race(args, jax.__version__, IMPORT_S, load_s, len(x)).run(lambda _: train(args.batch), lambda: accuracy(state[0]))


main()
