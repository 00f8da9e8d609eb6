"""Recorded expansions: what was proposed from each variant of a kernel, measured, for replay."""
