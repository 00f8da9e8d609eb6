"""Python's parser, made safe for threads.

Before 3.11.5 the interpreter counts the depth of all threads' trees together, and parsing in two
threads at once can end in a SystemError (python/cpython#106905).
"""

from __future__ import annotations

import ast
import threading

_ONE_AT_A_TIME = threading.Lock()


def parse_module(source: str) -> ast.Module:
    """The tree of a module. Raises what `ast.parse` raises."""
    with _ONE_AT_A_TIME:
        return ast.parse(source)


def parse_expression(source: str) -> ast.expr:
    """The tree of one expression. Raises what `ast.parse` raises."""
    with _ONE_AT_A_TIME:
        return ast.parse(source, mode="eval").body
