"""A candidate that uses `codegen.torch_cuda` as one file that needs PyTorch alone."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mcts.domain.python_source import read_module
from mcts.errors import InputError

_OURS = frozenset({"mcts", "codegen", "profilers", "microtools", "cutlass_search", "experiments"})
_HELPER = "codegen.torch_cuda"
_NAME = "_rooftree_torch_cuda"
_BLOCK = """\
# {helper} of Rooftree, inlined so that this file needs PyTorch alone.
{name} = __import__("types").ModuleType("{name}")
exec(  # the helper's own text, in a namespace of its own
    r'''
{text}''',
    {name}.__dict__,
)
# End of {helper}.

"""


def self_contained(source: str) -> str:
    """`source` with the text of `codegen.torch_cuda` in place of its import.

    All else stays as it is, byte for byte; a source that does not import the helper is returned
    unchanged. InputError for source that is no Python, or that imports anything else of ours.
    """
    tree = _parse(source)
    imports = list(_imports(tree))
    if not imports:
        return source
    lines = _Lines(source)
    first = next(node for node in tree.body if any(found in ast.walk(node) for found in imports))
    edits = [_Edit(*lines.span(node), _assignments(node)) for node in imports]
    start = lines.start(first)
    edits.append(_Edit(start, start, lines.ending.join(_block(lines.alone(start)).split("\n"))))
    content = source.encode()
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end), reverse=True):
        content = content[: edit.start] + edit.text.encode() + content[edit.end :]
    return content.decode()


@dataclass(frozen=True, slots=True)
class _Edit:
    """Bytes `start` to `end` are replaced with `text`."""

    start: int
    end: int
    text: str


class _Lines:
    """Where the lines of a source begin, in bytes, as Python counts lines and columns."""

    def __init__(self, source: str) -> None:
        self._content = source.encode()
        ends = [found.end() for found in re.finditer(rb"\r\n|\r|\n", self._content)]
        self._starts = [0, *ends]
        self.ending = "\r\n" if b"\r\n" in self._content else "\n"

    def span(self, node: ast.stmt) -> tuple[int, int]:
        last, column = node.end_lineno or node.lineno, node.end_col_offset or node.col_offset
        return self._at(node.lineno, node.col_offset), self._at(last, column)

    def start(self, node: ast.stmt) -> int:
        """Where the statement begins, with its decorators and the @ before them."""
        decorators: list[ast.expr] = getattr(node, "decorator_list", [])
        if decorators:
            return self._starts[decorators[0].lineno - 1]
        return self._at(node.lineno, node.col_offset)

    def alone(self, start: int) -> bool:
        """Whether a line begins at `start`, rather than that a semicolon stands before it."""
        return start in self._starts

    def _at(self, line: int, column: int) -> int:
        return self._starts[line - 1] + column


def _parse(source: str) -> ast.Module:
    try:
        source.encode()
        return read_module(source)
    except (InputError, UnicodeEncodeError) as error:
        raise InputError(f"the candidate is no Python: {error}") from None


def _imports(tree: ast.Module) -> Iterator[ast.Import | ast.ImportFrom]:
    """The imports of the helper, in order. InputError for one of other modules of ours."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            modules = _modules_from(node)
        else:
            continue
        ours = [name for name in modules if name.partition(".")[0] in _OURS]
        for name in ours:
            if name != _HELPER:
                raise InputError(
                    f"line {node.lineno} imports {name}: a candidate that stands alone can use "
                    f"nothing of Rooftree's but {_HELPER}"
                )
        if ours:
            yield node


def _modules_from(node: ast.ImportFrom) -> list[str]:
    module = node.module or ""
    if module == _HELPER and node.names[0].name == "*":
        raise InputError(f"line {node.lineno}: name what is imported from {_HELPER}, not *")
    if module == _HELPER.partition(".")[0]:
        return [f"{module}.{alias.name}" for alias in node.names]
    return [module]


def _assignments(node: ast.Import | ast.ImportFrom) -> str:
    """One line that binds the same names as the import."""
    if isinstance(node, ast.ImportFrom):
        whole = node.module != _HELPER  # from codegen import torch_cuda
        return "; ".join(
            f"{alias.asname or alias.name} = {_NAME}" + ("" if whole else f".{alias.name}")
            for alias in node.names
        )
    return "; ".join(map(_rebound, node.names))


def _rebound(alias: ast.alias) -> str:
    if alias.name != _HELPER:
        return f"import {alias.name}" + (f" as {alias.asname}" if alias.asname else "")
    if alias.asname:
        return f"{alias.asname} = {_NAME}"
    package, _, module = _HELPER.partition(".")
    return f'{package} = __import__("types").SimpleNamespace({module}={_NAME})'


def _block(at_line_start: bool) -> str:
    text = (Path(__file__).parent / "torch_cuda.py").read_text(encoding="utf-8")
    block = _BLOCK.format(helper=_HELPER, name=_NAME, text=text)
    return block if at_line_start else f"\n{block}"
