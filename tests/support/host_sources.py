"""A small host candidate, whose launcher computes on the host: where there is no GPU, it works."""

from __future__ import annotations

PLAN = """/* rooftree
launcher = "scale"
args = ["x", "w", "y", "n", { value = "eps", type = "float32" }, "scratch", "scratch_bytes",
        "m", "stream"]
init = ["_", "eps"]
failure = "why"
@HEAD@
[[input]]
name = "x"
dtype = "float32"
shape = ["m", "n"]
[[weight]]
name = "w"
of = "inner.w"
shape = ["n"]
[[output]]
name = "y"
shape = ["m", "n"]
[[workspace]]
name = "scratch"
bytes_from = "needed"
args = ["m", "n"]
[tunables]
UNROLL = [1, 2]
SCHEDULE = ["plain", "other"]
*/
"""
BODY = """#include <cstdio>
enum { plain, other };
static char reason[100];
extern "C" const char* why() { return reason; }
extern "C" size_t needed(int m, long long n) { return 4 * m * n; }
__global__ void doubled(float* y) { y[threadIdx.x] *= UNROLL; }
@EXTRA@
extern "C" int scale(const float* x, const float* w, float* y, int n, float eps, void* scratch,
                     size_t bytes, int m, cudaStream_t stream) {
  if (bytes != 4ull * m * n) { snprintf(reason, 100, "got %zu bytes", bytes); return 7; }
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++) {
      float v = x[i * n + j] * w[j];
      y[i * n + j] = (v > 0 ? v : 0) + eps;
    }
  return 0;
}
"""
PROBLEM = '''import torch
from torch import nn


class Model(nn.Module):
    """Scales columns: y = relu(x * w) + eps."""

    def __init__(self, n, eps):
        super().__init__()
        self.inner = nn.Module()
        self.inner.w = nn.Parameter(torch.randn(n))
        self.eps = eps

    def forward(self, x):
        return torch.relu(x * self.inner.w) + self.eps


def get_inputs():
    return [torch.rand(64, 96)]


def get_init_inputs():
    return [96, 0.5]
'''


def source(*, head: str = "", extra: str = "") -> str:
    """The candidate, with `head` at the top of its plan and `extra` before its launcher."""
    return PLAN.replace("@HEAD@\n", f"{head}\n" if head else "") + BODY.replace("@EXTRA@", extra)
