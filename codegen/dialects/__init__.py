"""How candidates of each dialect are written, a folder for each under the dialect's name.

A folder holds the `WRITING` of its dialect, what reads a reply, and the templates in which a model
is told what a candidate is.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module

from codegen.dialects.writing import Read, Writing
from mcts.domain import Dialect

__all__ = ["Read", "Writing", "writing_of"]


@cache
def writing_of(dialect: Dialect) -> Writing:
    """How candidates of a dialect are written."""
    found: Writing = import_module(f"{__name__}.{dialect}").WRITING
    return found
