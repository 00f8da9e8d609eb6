"""Tools that read a kernel's machine code; no GPU is needed to run them."""
