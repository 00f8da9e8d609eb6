"""Comparing runs: what each found, after how many evaluations and at what cost."""
