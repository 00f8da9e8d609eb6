"""Commands that print the figures of the documentation.

Run them as `python -m experiments.benchmarks.evidence.NAME`.
"""
