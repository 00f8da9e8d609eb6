import numpy as np

BINS = 256


def reference(x):
    bins = np.clip(np.floor(x * 16) + BINS // 2, 0, BINS - 1).astype(np.int64)
    return np.bincount(bins, minlength=BINS)
