# mypy: disable-error-code="misc"
"""A mixture of experts' products: each expert's rows times its own matrix, in bf16."""

import torch
from torch import nn

EXPERTS, ROWS, N, K = 32, 16384, 4096, 7168


class Model(nn.Module):
    def forward(self, x: torch.Tensor, w: torch.Tensor, ends: torch.Tensor) -> torch.Tensor:
        """x: (rows, K), expert 0's rows first; w: (experts, N, K); both bf16.

        ends: (experts,) int32, the row behind each expert's last. The result is (rows, N).
        """
        y = torch.empty(x.shape[0], w.shape[1], dtype=x.dtype, device=x.device)
        begin = 0
        for expert, end in enumerate(ends.tolist()):
            y[begin:end] = torch.matmul(x[begin:end], w[expert].t())
            begin = end
        return y


def get_inputs() -> list[torch.Tensor]:
    shares = torch.softmax(torch.randn(EXPERTS) * 0.5, 0)
    counts = torch.bincount(torch.multinomial(shares, ROWS, replacement=True), minlength=EXPERTS)
    x = torch.randn(ROWS, K).bfloat16()
    w = torch.randn(EXPERTS, N, K).bfloat16()
    return [x, w, counts.cumsum(0).to(torch.int32)]


def get_init_inputs() -> list[object]:
    return []
