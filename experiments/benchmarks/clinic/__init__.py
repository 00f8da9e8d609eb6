"""The clinic: kernels with one planted bottleneck each, and how well the tools find them."""
