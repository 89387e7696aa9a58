"""scikit-learn: MLPClassifier, plain SGD, one call of partial_fit an epoch."""
import os
import time

START = time.perf_counter()
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
import numpy as np
import sklearn
from sklearn.neural_network import MLPClassifier

from common import LAYERS, Race, arguments, mnist

IMPORT_S = time.perf_counter() - START


def main():
    args = arguments()
    start = time.perf_counter()
    x, y, xt, yt = mnist(args.data)
    load_s = time.perf_counter() - start
    model = MLPClassifier(LAYERS[1:-1], solver="sgd", momentum=0, learning_rate_init=args.lr, batch_size=args.batch, alpha=0,
                          random_state=args.seed)
    Race(args, sklearn.__version__, IMPORT_S, load_s, len(x)).run(
        lambda k: model.partial_fit(x, y, classes=np.arange(10)), lambda: model.score(xt, yt))


main()
