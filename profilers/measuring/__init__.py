"""Clocks, energy, and the statistics of what they say."""
