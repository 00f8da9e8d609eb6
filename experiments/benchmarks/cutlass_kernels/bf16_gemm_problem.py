# mypy: disable-error-code="misc"
"""C = A B^T for bf16 matrices: a linear layer without its bias."""

import torch
from torch import nn

M, N, K = 8192, 8192, 8192


class Model(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        """a: (M, K); b: (N, K); both bf16. The result is (M, N)."""
        return torch.matmul(a, b.t())


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(M, K).bfloat16(), torch.randn(N, K).bfloat16()]


def get_init_inputs() -> list[object]:
    return []
