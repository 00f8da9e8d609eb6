"""`rooftree inspect`: profile a file live, replayed or from its machine code, and show it."""
