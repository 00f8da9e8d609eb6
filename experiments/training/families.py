"""Families of tasks: what is held out together, so that no near twin of a test is trained on."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from mcts.domain import KernelTask, tagged_hash
from mcts.domain.python_source import parse_module

# The first family whose word is in a name that the problem uses decides: what takes the most time
# stands first.
_WORDS = {
    "recurrent": ("lstm", "gru", "rnn"),
    "attention": ("attention",),
    "convolution": ("conv",),
    "product": ("matmul", "gemm", "linear", "bmm", "einsum", "mm", "dot"),
    "normalisation": ("norm",),
    "softmax": ("softmax", "logsumexp"),
    "loss": ("loss", "cross_entropy", "kl_div", "cosine_similarity", "distance"),
    "scan": ("cumsum", "cumprod", "scan", "prefix"),
    "reduction": ("sum", "mean", "argmax", "argmin", "max", "min", "prod", "reduce", "histogram"),
    "pooling": ("pool",),
    "layout": ("transpose", "permute", "gather", "scatter", "embedding", "copy"),
}
OTHER = "elementwise"


def family_of(task: KernelTask) -> str:
    """The family of a task: by what its PyTorch model calls, else by the words of its name.

    One of those that `FAMILIES` lists.
    """
    names = set(_called(task.reference)) if task.reference and task.dialect.in_pytorch else set()
    names = names or set(re.split(r"[^a-z0-9]+", task.name.lower().replace("_", " ")))
    for family, words in _WORDS.items():
        if any(_says(name, word) for name in names for word in words):
            return family
    return OTHER


FAMILIES = (*_WORDS, OTHER)


def held_out(families: dict[str, int], *, share: float, seed: int) -> frozenset[str]:
    """Families that make up the test set: whole ones, in an order drawn by `seed`, as many as hold
    no more than a quarter above `share` of the rows; if every one holds more, the smallest. Never
    all of them, and none for a share of 0.

    `families` has how many rows each has.
    """
    if share <= 0 or len(families) < 2:
        return frozenset()
    most = 1.25 * share * sum(families.values())
    chosen: set[str] = set()
    for family in sorted(families, key=lambda family: tagged_hash("family", [seed, family])):
        total = families[family] + sum(families[name] for name in chosen)
        if total <= most and len(chosen) < len(families) - 1:
            chosen.add(family)
    return frozenset(chosen or {min(families, key=lambda name: (families[name], name))})


def _says(name: str, word: str) -> bool:
    """Short words count whole, as `mm` is in `comment`."""
    return word in name.lower() if len(word) > 3 else word in re.split(r"[_\d]+", name.lower())


def _called(source: str) -> Iterator[str]:
    """The names of what a model's class calls: layers, functions, methods."""
    try:
        tree = parse_module(source)
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            for call in ast.walk(node):
                if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
                    if call.func.attr not in ("__init__", "forward"):
                        yield call.func.attr
                elif isinstance(call, ast.BinOp) and isinstance(call.op, ast.MatMult):
                    yield "matmul"
