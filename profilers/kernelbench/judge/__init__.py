"""The judge: asks the oracle and the worker, and decides. Trusted; runs no foreign code."""
