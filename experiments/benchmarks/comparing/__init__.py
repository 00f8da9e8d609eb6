"""Runs beside each other: what each found, after how many evaluations, for how much."""
