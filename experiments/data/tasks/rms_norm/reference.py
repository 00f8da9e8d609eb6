import numpy as np

EPSILON = 1e-5


def reference(x, weight):
    mean_square = np.einsum("ij,ij->i", x, x) / x.shape[1]
    return x / np.sqrt(mean_square + EPSILON)[:, None] * weight
