"""KernelBench over many problems: one search for each, and the field's metrics over all.

Ouyang et al., "KernelBench: Can LLMs Write Efficient GPU Kernels?", 2025, arXiv:2502.10517.
"""
