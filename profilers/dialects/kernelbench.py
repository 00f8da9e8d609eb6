"""PyTorch modules in answer to a KernelBench problem, judged beside those of the dialect `host`."""

from __future__ import annotations

from profilers.dialects.host import evaluator

__all__ = ["evaluator"]
