"""Errors that are too large to be rounding errors, whatever tolerance a task allows."""

from __future__ import annotations

COARSEST_ROUNDING = 1 / 8
"""Half a unit in the last place of E5M2, the coarsest floating-point type, near 1: no rounding of
an output errs more (Micikevicius et al., FP8 Formats for Deep Learning, 2022, table 1)."""


def unrelated(
    name: str, *, error_share: float | None, error_ratio: float | None, error_factor: float
) -> str | None:
    """Why an output is wrong although it is within a tolerance that is wider than itself.

    None if a lower precision could explain the error, or if an honest run has it too. `error_share`
    is the error relative to the size of the output, `error_ratio` relative to the error of an
    honest run, of which it may be `error_factor` times.
    """
    if error_share is None or error_share <= COARSEST_ROUNDING:
        return None
    if (error_ratio or 0.0) <= error_factor:
        return None
    return (
        f"{name} is within the tolerance, but its error is {100 * error_share:.3g} % of the output "
        "itself: more than any rounding makes"
    )
