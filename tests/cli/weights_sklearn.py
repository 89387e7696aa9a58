"""What scikit-learn makes of weighted.csv (test_weights.sh): log loss of the best logistic model by the rows' weights,
that of the best one with balanced classes besides, and the AUC of the first."""
import csv
import sys

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.preprocessing import StandardScaler
from sklearn.utils.class_weight import compute_sample_weight

rows = list(csv.DictReader(open(sys.argv[1])))
x = np.array([[float(r[k]) for k in "abcd"] for r in rows])
t = np.array([r["t"] for r in rows])
w = np.array([float(r["w"]) for r in rows])
x = StandardScaler().fit(x, sample_weight=w).transform(x)


def best(weight):
    model = LogisticRegression(C=np.inf, tol=1e-10, max_iter=10000)
    return model.fit(x, t, sample_weight=weight).predict_proba(x)


plain = best(w)
balanced = best(w * compute_sample_weight("balanced", t))
print(log_loss(t, plain, sample_weight=w), log_loss(t, balanced, sample_weight=w),
      roc_auc_score(t, plain[:, 1], sample_weight=w))
