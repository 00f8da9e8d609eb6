"""Definitions against uses."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutlass_search import text, tools
from cutlass_search.index.corpus import open_corpus
from cutlass_search.index.store import Index, open_index
from mcts.errors import InputError
from tests.cutlass_search.conftest import MAINLOOP


@pytest.mark.parametrize(
    "symbol",
    ["TinyMainloop", "collective::TinyMainloop", "::cutlass::gemm::collective::TinyMainloop",
     "TinyMainloop<Tile, 3>", "tinymainloop"],
)  # fmt: skip
def test_a_definition_is_found_with_or_without_its_scope(index: Index, symbol: str) -> None:
    found = tools.definition(index, symbol)
    first = found.results[0]
    assert (first.path, first.line, first.last, first.body) == (MAINLOOP, 25, 95, True)
    assert not any(one.body and one.line < 25 for one in found.results)


def test_the_main_definition_comes_before_its_specialisations(index: Index) -> None:
    found = tools.definition(index, "XorSwizzle").results
    assert [(one.line, one.special) for one in found] == [(19, False), (37, True)]


@pytest.mark.parametrize(
    ("symbol", "kind"),
    [("SwizzleMode::B64", "enumerator"), ("Layout_Row_SW128", "alias"),
     ("CUTE_TINY_CHECK", "macro"), ("tiny_gemm_kernel", "kernel"), ("Swizzled", "concept"),
     ("XorSwizzle::operator==", "function"), ("tma_store_wait()", "function")],
)  # fmt: skip
def test_every_kind_of_symbol_is_known(index: Index, symbol: str, kind: str) -> None:
    assert tools.definition(index, symbol).results[0].kind == kind


def test_an_unknown_symbol_is_refused_with_similar_ones(index: Index) -> None:
    with pytest.raises(InputError, match=r"9\.1\.3 defines TinyMainlop; similar: TinyMainloop"):
        tools.definition(index, "TinyMainlop")
    with pytest.raises(InputError, match=r"nothing .* defines other::TinyMainloop"):
        tools.definition(index, "other::TinyMainloop")


@pytest.mark.parametrize("symbol", ["", "a b", "(a+)+$", "x" * 300, "%", "a;b", "../x"])
def test_an_invalid_symbol_is_refused(index: Index, symbol: str) -> None:
    for ask in (tools.definition, tools.uses):
        with pytest.raises(InputError, match="is no C\\+\\+ name"):
            ask(index, symbol)


def test_uses_leave_the_definition_out_and_put_examples_first(index: Index) -> None:
    found = tools.uses(index, "cutlass::gemm::collective::TinyMainloop")
    assert found.results[0].path.startswith("examples/")
    assert "using Mainloop" in found.results[0].text
    assert all("struct TinyMainloop" not in one.text for one in found.results)


def test_a_use_in_a_comment_or_another_word_does_not_count(index: Index) -> None:
    with pytest.raises(InputError, match="nothing uses"):
        tools.uses(index, "SM90_TMA_LOAD_MULTICAST")
    lines = text.uses(tools.uses(index, "SM90_TMA_LOAD")).splitlines()
    assert all(f"{MAINLOOP}:" in line for line in lines)


def test_one_use_of_each_file_comes_before_the_second_of_any(tree: Path, tmp_path: Path) -> None:
    twice = "void {0}() {{ SM90_TMA_LOAD::copy(); }}\n"
    for name in ("a_blackwell.cu", "b_hopper.cu"):
        (tree / "examples" / name).write_text(twice.format("one") + twice.format("two"))
    with open_index(open_corpus(tree), folder=tmp_path / "index") as opened:
        found = [(one.path, one.line) for one in tools.uses(opened, "SM90_TMA_LOAD").results[:5]]
    assert found == [
        ("examples/b_hopper.cu", 1), ("examples/a_blackwell.cu", 1), (MAINLOOP, 49),
        ("examples/b_hopper.cu", 2), ("examples/a_blackwell.cu", 2),
    ]  # fmt: skip
