"""Compiling: from source and launch plan to a cubin and launch parameters, without a GPU."""
