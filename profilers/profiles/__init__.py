"""Profiles of kernels, from the tools that collect them."""
