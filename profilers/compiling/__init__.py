"""From source and launch plan to a cubin and numbers, before a GPU is needed."""
