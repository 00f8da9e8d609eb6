"""Python's parser, asked from many threads."""

from __future__ import annotations

import ast
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from mcts.domain.python_source import constant_of, parse_expression, parse_module

PACKAGES = ("mcts", "codegen", "profilers", "microtools", "cutlass_search", "experiments")


def test_threads_get_the_trees_that_one_alone_gets() -> None:
    source = "\n".join(f"def f{n}(x):\n    return [x + {n} for x in range({n})]" for n in range(80))
    wanted = ast.dump(ast.parse(source))
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: ast.dump(parse_module(source)), range(64)))
    assert set(found) == {wanted}


def test_invalid_python_is_a_syntax_error_and_parsing_goes_on() -> None:
    with pytest.raises(SyntaxError):
        parse_module("def f(:")
    with pytest.raises(SyntaxError):
        parse_expression("1 +")
    assert ast.dump(parse_expression("a + 1")) == ast.dump(ast.parse("a + 1", mode="eval").body)


def test_the_literal_that_a_module_gives_a_name_is_read() -> None:
    tree = parse_module(
        "x = 1\nKNOWN = {'a': [1, 2.5]}\ndef f():\n    INNER = 1\nMADE = dict(a=1)\n"
    )
    assert constant_of(tree, "KNOWN") == {"a": [1, 2.5]}
    assert constant_of(tree, "INNER") is None
    with pytest.raises(ValueError, match="malformed"):
        constant_of(tree, "MADE")


def test_nobody_parses_beside_the_lock() -> None:
    root = Path(__file__).parents[3]
    beside = re.compile(r"\bast\.(?:parse|literal_eval)\((?!parse_expression)")
    found = [
        str(path.relative_to(root))
        for package in PACKAGES
        for path in (root / package).rglob("*.py")
        if "corpus" not in path.parts and beside.search(path.read_text(encoding="utf-8"))
    ]
    assert found == ["mcts/domain/python_source.py"]
