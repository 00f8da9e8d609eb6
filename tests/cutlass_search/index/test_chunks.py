"""How files are split into chunks."""

from __future__ import annotations

from cutlass_search.index.chunks import GENERATED, chunk_file
from tests.cutlass_search.conftest import LIKE, MAINLOOP


def test_a_large_class_is_an_outline_and_its_members() -> None:
    found = chunk_file(MAINLOOP, (LIKE / MAINLOOP).read_text())
    names = [one.name.removeprefix("cutlass::gemm::collective::") for one in found.chunks]
    assert names[-5:] == [
        "TinyMainloop", "TinyMainloop::load", "TinyMainloop::mma", "TinyMainloop::can_implement",
        "TinyMainloop::tail",
    ]  # fmt: skip
    outline = found.chunks[-5]
    assert "stages_" in outline.code.split()
    assert "accumulat" not in outline.code.split()


def test_chunks_cite_the_lines_they_stand_on() -> None:
    text = (LIKE / MAINLOOP).read_text()
    lines = text.splitlines()
    for one in chunk_file(MAINLOOP, text).symbols:
        assert one.name in " ".join(lines[one.line - 1 : one.last])
    load = next(one for one in chunk_file(MAINLOOP, text).chunks if one.name.endswith("::load"))
    assert lines[load.line - 1].strip().startswith("/// The producer warp")
    assert lines[load.last - 1] == "  }"


def test_siblings_in_a_generated_file_are_one_chunk_with_a_symbol_each() -> None:
    one = "struct Mma_{0}x8 {{\n  static void go() {{ /* {1} */ }}\n}};\n"
    text = "".join(one.format(number, "x" * 1_000) for number in range(8, 300))
    assert len(text) > GENERATED
    found = chunk_file("include/cute/arch/many.hpp", text)
    (family,) = [chunk for chunk in found.chunks if chunk.kind == "struct"]
    assert family.title == "struct Mma_8x8 (and 291 like it)"
    assert len([symbol for symbol in found.symbols if symbol.kind == "struct"]) == 292


def test_a_document_is_cut_at_its_headings() -> None:
    found = chunk_file(
        "media/docs/cpp/pipeline.md", (LIKE / "media/docs/cpp/pipeline.md").read_text()
    )
    assert [(one.name, one.line, one.last) for one in found.chunks] == [
        ("Pipelines", 1, 4), ("Phases", 5, 7),
    ]  # fmt: skip
