"""How alike two problems are: by the syntax of their models."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from difflib import SequenceMatcher

ALIKE = 0.9
"""From here on two problems count as the same (CUDA Agent, section 3.1)."""


def shape_of(source: str) -> tuple[str, ...]:
    """The syntax of a problem's classes, in order: kinds of nodes, and the names of what they call;
    numbers, docstrings and names of variables do not count.

    Empty for a text that is no Python or has no class.
    """
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return ()
    found: list[str] = []
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            found += _walk(node)
    return tuple(found)


def likeness(one: Sequence[str], other: Sequence[str], *, least: float = 0.0) -> float:
    """Share of what two syntaxes have in common, from 0 to 1 (Ratcliff and Obershelp's); 0 if it is
    below `least`, which is found out sooner.
    """
    matcher = SequenceMatcher(None, one, other, autojunk=False)
    if matcher.real_quick_ratio() < least or matcher.quick_ratio() < least:
        return 0.0
    ratio = matcher.ratio()
    return ratio if ratio >= least else 0.0


def _walk(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return []  # a docstring
    found = [type(node).__name__]
    if isinstance(node, ast.Attribute):
        found.append(node.attr)
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.Load | ast.Store | ast.Constant | ast.arguments):
            found += _walk(child)
    return found
