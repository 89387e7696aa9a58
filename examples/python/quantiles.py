"""Rows that a generator makes, and a loss of one's own: between which two values lie 80 % of what may come?

python3 quantiles.py
"""
import numpy as np

from drove import DroveRegressor, Loss


def batches(n_batches=40, n_rows=500, seed=0):
    """Rows of a process whose noise grows with x, as they come."""
    rng = np.random.default_rng(seed)
    for _ in range(n_batches):
        x = rng.uniform(-1, 1, (n_rows, 1)).astype(np.float32)
        y = np.sin(3 * x[:, 0]) + (0.1 + 0.4 * (x[:, 0] + 1)) * rng.standard_normal(n_rows)
        yield x, y.astype(np.float32)


def pinball(q):
    """The loss whose least mean is at the quantile q: of each row, and its derivative by the output."""
    def loss(outputs, targets):
        error = targets - outputs
        return np.where(error > 0, q * error, (q - 1) * error)[:, 0], np.where(error > 0, -q, 1 - q)
    return Loss(loss, name=f"pinball_{round(100 * q)}")


def fit(q):
    rng = np.random.default_rng(1)
    outputs = rng.standard_normal((50, 1))
    pinball(q).check(outputs, outputs + rng.choice([-1, 1], (50, 1)))  # where it is smooth
    return DroveRegressor("mlp:32,32", loss=pinball(q), rule="adam", lr=0.003, until="epochs=10", random_state=0).fit(batches())


def main():
    x, y = (np.concatenate(part) for part in zip(*batches(10, seed=2)))
    low, high = fit(0.1).predict(x), fit(0.9).predict(x)
    below, above = (y < low).mean(), (y > high).mean()
    print(f"below {100 * below:.1f} %, above {100 * above:.1f} %")
    for at in (-0.9, 0.0, 0.9):
        near = np.abs(x[:, 0] - at) < 0.05
        print(f"x near {at:4.1f}: from {low[near].mean():5.2f} to {high[near].mean():5.2f}")
    return below, above


if __name__ == "__main__":
    main()
