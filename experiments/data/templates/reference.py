"""What is right: numpy arrays in float64 come in by buffer name, the output goes out.

With several outputs, return a dictionary of arrays by buffer name.
"""

import numpy as np


def reference(x, scale, bias):
    z = scale * x + bias
    return 0.5 * z * (1.0 + np.tanh(np.sqrt(2.0 / np.pi) * (z + 0.044715 * z**3)))
