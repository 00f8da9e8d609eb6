from scipy.special import ndtr


def reference(x, bias):
    v = x + bias
    return v * ndtr(v)
