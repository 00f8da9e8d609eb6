"""Proposals without a model: values of tunables, chosen by advice and by the run's own times.

`encoded_space` turns configurations into rows of whole numbers, `candidate_space` knows their
candidates, `row_weights` weighs them by `weights`, `effects` and `step_size`. `proposer` draws one
of them, or takes that of the greatest `expected_improvement`, and `rationale` says why.

`uniform` draws any configuration, and `tpe` asks Optuna's sampler: what others are compared with.
"""
