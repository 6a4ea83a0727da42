"""scikit-learn, SciPy and NumPy with OpenBLAS on OpenMP.

usage: learn.py LIBRARY

Prints what they have found, for a comparison with a run on the compiler's own runtime. LIBRARY is the file that has to
serve all of them as the OpenMP runtime; empty: whatever there is.
"""
import os
import sys

import numpy as np
import scipy.linalg
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
try:
    from sklearn.experimental import enable_hist_gradient_boosting  # before 1.0 (Ubuntu 22.04)
except ImportError:
    pass
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import pairwise_distances_argmin
import threadpoolctl


def mapped(names):
    with open("/proc/self/maps") as maps:
        files = {line.split(None, 5)[5].strip() for line in maps if len(line.split(None, 5)) == 6}
    return sorted(f for f in files if os.path.basename(f).startswith(names))


def check(condition, what):
    if not condition:
        sys.exit(f"learn: {what}")


points, blobs = make_blobs(3000, centers=6, n_features=8, random_state=1)
means = KMeans(6, n_init=3, random_state=1).fit(points)
found = {frozenset(np.flatnonzero(means.labels_ == k)) for k in range(6)}
check(found == {frozenset(np.flatnonzero(blobs == k)) for k in range(6)}, "KMeans has not found the blobs")
print("inertia", f"{means.inertia_:.3f}")

rng = np.random.default_rng(2)
inputs = rng.normal(size=(4000, 10))
outputs = (inputs[:, 0] * inputs[:, 1] + inputs[:, 2] > 0).astype(int)
boosting = HistGradientBoostingClassifier(max_iter=20, random_state=3).fit(inputs[:3000], outputs[:3000])
score = boosting.score(inputs[3000:], outputs[3000:])
check(score > 0.85, f"HistGradientBoosting: {score}")
print("score", score, "probability", f"{boosting.predict_proba(inputs[3000:])[:, 1].sum():.3f}")

matrix = rng.normal(size=(300, 300))
positive = matrix @ matrix.T + 300 * np.eye(300)
factor = scipy.linalg.cholesky(positive, lower=True)
check(np.allclose(factor @ factor.T, positive), "cholesky")
check(np.allclose(positive @ np.linalg.solve(positive, matrix), matrix), "solve")
print("eigenvalues", f"{np.linalg.eigvalsh(positive).sum():.3f}", pairwise_distances_argmin(matrix, positive).sum())

wanted = os.path.realpath(sys.argv[1]) if len(sys.argv) > 1 and sys.argv[1] else None
if wanted:
    runtimes = mapped(("libgomp", "libomp", "libiomp"))
    check(runtimes == [wanted], f"OpenMP runtimes: {runtimes}")
    pools = threadpoolctl.threadpool_info()
    served = [p for p in pools if p["user_api"] == "openmp" and os.path.realpath(p["filepath"]) == wanted]
    check(len(served) == 1, f"threadpoolctl: {pools}")
    blas = [p for p in pools if p["user_api"] == "blas"]
    check(any(p.get("threading_layer") == "openmp" for p in blas), f"BLAS: {blas}")
