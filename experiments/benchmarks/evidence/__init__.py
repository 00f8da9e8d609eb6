"""What the documents quote, each a command: `python -m experiments.benchmarks.evidence.NAME`."""
