"""Python's parser, made safe for threads.

Before 3.11.5 the interpreter counts the depth of all threads' trees together, and parsing in two
threads at once can end in a SystemError (python/cpython#106905).
"""

from __future__ import annotations

import ast
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from mcts.errors import InputError

_ONE_AT_A_TIME = threading.Lock()


def parse_module(source: str) -> ast.Module:
    """The tree of a module. Raises what `ast.parse` raises."""
    with _quietly():
        return ast.parse(source)


def read_module(source: str) -> ast.Module:
    """The tree of a module that somebody gave. InputError says in a line what is wrong with it."""
    try:
        return parse_module(source)
    except SyntaxError as error:
        where = f"line {error.lineno}: " if error.lineno else ""
        raise InputError(f"{where}{error.msg}") from None
    except (RecursionError, MemoryError):  # both stand for the parser's own stack
        raise InputError("it is nested too deeply for Python's parser") from None
    except ValueError as error:  # null bytes, halves of characters
        raise InputError(str(error)) from None


def parse_expression(source: str) -> ast.expr:
    """The tree of one expression. Raises what `ast.parse` raises."""
    with _quietly():
        return ast.parse(source, mode="eval").body


def constant_of(tree: ast.Module, name: str) -> Any | None:
    """The literal that a module assigns to a name at its top; None if it assigns nothing.

    Raises ValueError for what is no literal.
    """
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
            return ast.literal_eval(node.value)
    return None


@contextmanager
def _quietly() -> Iterator[None]:
    """One thread at a time, and warnings about the source not printed into a live view."""
    with _ONE_AT_A_TIME, warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        yield
