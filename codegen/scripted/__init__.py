"""Proposals without a model: values of tunables, chosen by advice and by the run's own times.

`encoded_space` turns configurations into rows of numbers, `row_weights` weighs these, by `weights`,
`effects` and `strides`, `drawing` and `expected_improvement` choose one, and `rationale` says why.
"""
