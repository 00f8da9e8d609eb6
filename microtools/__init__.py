"""Small expert tools that turn counters and machine code into advice in plain language."""
