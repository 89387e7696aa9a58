"""TensorFlow: an epoch is one graph function over its steps, on --workers threads of one operation."""
import os
import time

START = time.perf_counter()
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
import numpy as np
import tensorflow as tf

from common import LAYERS, Race, arguments, batches, mnist

IMPORT_S = time.perf_counter() - START


def main():
    args = arguments()
    tf.config.threading.set_intra_op_parallelism_threads(args.workers)
    tf.config.threading.set_inter_op_parallelism_threads(args.workers)
    start = time.perf_counter()
    x, y, xt, yt = (tf.constant(a) for a in mnist(args.data))
    load_s = time.perf_counter() - start
    rng = np.random.default_rng(args.seed)
    params = []
    for n_in, n_out in zip(LAYERS, LAYERS[1:]):
        params += [tf.Variable(rng.normal(0, (2 / n_in) ** 0.5, (n_in, n_out)).astype(np.float32)),
                   tf.Variable(np.zeros(n_out, np.float32))]

    def outputs(x):
        for i in range(0, len(params), 2):
            x = x @ params[i] + params[i + 1]
            x = tf.nn.relu(x) if i + 2 < len(params) else x
        return x

    @tf.function
    def epoch(order):
        for rows in order:
            with tf.GradientTape() as tape:
                z = outputs(tf.gather(x, rows))
                loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(tf.gather(y, rows), z))
            for p, g in zip(params, tape.gradient(loss, params)):
                p.assign_sub(args.lr * g)

    accuracy = tf.function(lambda: tf.reduce_mean(tf.cast(tf.argmax(outputs(xt), 1) == yt, tf.float32)))
    Race(args, tf.__version__, IMPORT_S, load_s, len(x)).run(
        lambda k: epoch(tf.constant(batches(rng, len(x), args.batch))), accuracy)


main()
