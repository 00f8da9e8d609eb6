"""`cutlass`: the look-ups of `cutlass_search.tools`, printed."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any, TypeVar

from cutlass_search import text, tools
from cutlass_search.index.concepts import concepts
from cutlass_search.index.store import Index
from experiments.runs.options.libraries import open_tree

T = TypeVar("T")


def index(*, root: Path | None, rebuild: bool, as_json: bool) -> None:
    """Index the tree if needed; print what is indexed, and how long that took."""
    start = time.perf_counter()
    with open_tree(root, rebuild=rebuild) as found:
        took_s = time.perf_counter() - start
        corpus = found.corpus
        counts = {table: found.count(table) for table in ("file", "chunk", "symbol")}
        size_mb = found.path.stat().st_size / 1e6
    if as_json:
        about = {
            "version": corpus.version,
            "licence": corpus.licence,
            "root": str(corpus.root),
            "index": str(found.path),
            "built": found.built,
            "seconds": round(took_s, 3),
            "megabytes": round(size_mb, 1),
            **{f"{table}s": count for table, count in counts.items()},
        }
        print(json.dumps(about, ensure_ascii=False))
        return
    print(f"CUTLASS {corpus.version} ({corpus.licence}) in {corpus.root}, from {corpus.origin}")
    print(f"{counts['file']} files, {counts['chunk']} chunks, {counts['symbol']} symbols")
    how = "built" if found.built else "opened, it was fresh,"
    print(f"{found.path} ({size_mb:.1f} MB) {how} in {took_s:.2f} s")


def search(
    query: str, *, kind: str | None, path: str | None, root: Path | None, as_json: bool
) -> None:
    """Print the hits."""
    _answer(root, lambda tree: tools.search(tree, query, kind, path), text.hits, as_json)


def read(path: str, lines: str | None, *, root: Path | None, as_json: bool) -> None:
    """Print lines of a file."""
    _answer(root, lambda tree: tools.read(tree, path, lines), text.passage, as_json)


def define(symbol: str, *, root: Path | None, as_json: bool) -> None:
    """Print definitions."""
    _answer(root, lambda tree: tools.definition(tree, symbol), text.definitions, as_json)


def uses(symbol: str, *, root: Path | None, as_json: bool) -> None:
    """Print uses."""
    _answer(root, lambda tree: tools.uses(tree, symbol), text.uses, as_json)


def example(concept: str, *, root: Path | None, as_json: bool) -> None:
    """Print a concept's places."""
    _answer(root, lambda tree: tools.example_for(tree, concept), text.concept_example, as_json)


def list_concepts(*, as_json: bool) -> None:
    """Print the names of all concepts, and what they are."""
    if as_json:
        rows = [{"name": concept.name, "says": concept.says} for concept in concepts()]
        print(json.dumps({"concepts": rows}))
        return
    widest = max(len(concept.name) for concept in concepts())
    for concept in concepts():
        print(f"{concept.name:<{widest}}  {concept.says}")


def _answer(
    root: Path | None,
    ask: Callable[[Index], T],
    as_text: Callable[[T], str],
    as_json: bool,
) -> None:
    """Ask the tree, and print the answer as text or JSON."""
    with open_tree(root) as tree:
        answer = ask(tree)
        if as_json:
            about = {"version": tree.corpus.version, **_plain(answer)}
            print(json.dumps(about, ensure_ascii=False))
        else:
            print(as_text(answer))


def _plain(value: Any) -> Any:
    """A value whose dataclasses, named tuples and sets are replaced by what JSON has."""
    if is_dataclass(value) and not isinstance(value, type):
        return {key: _plain(getattr(value, key)) for key in value.__dataclass_fields__}
    if hasattr(value, "_asdict"):
        return {key: _plain(item) for key, item in value._asdict().items()}
    if isinstance(value, frozenset):
        return sorted(value)
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value
