"""Only files of the tree are read, and never too much of them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cutlass_search import text
from cutlass_search.index.corpus import MOST_BYTES
from cutlass_search.reading import MOST_CHARACTERS, MOST_LINES, read_passage
from mcts.errors import InputError
from tests.cutlass_search.conftest import TMA


def test_lines_are_read_as_they_were_asked_for(tree: Path) -> None:
    found = read_passage(tree, TMA, "22-24")
    assert (found.first, found.last, found.cut) == (22, 24, False)
    assert found.text.startswith("struct SM90_TMA_LOAD\n{")
    assert text.passage(found).splitlines()[1] == "   22  struct SM90_TMA_LOAD"
    assert read_passage(tree, TMA, "50").first == 50
    assert read_passage(tree, TMA).first == 1
    assert read_passage(tree, TMA, "40-4000").last == read_passage(tree, TMA).total


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("../outside.h", "outside of the CUTLASS tree"),
        ("include/../../outside.h", "outside of the CUTLASS tree"),
        ("/etc/passwd", "outside of the CUTLASS tree"),
        ("include/link.h", "outside of the CUTLASS tree"),
        ("include/folder_link/outside.h", "outside of the CUTLASS tree"),
        ("include/loop", "no file|cannot read"),
        (".git/config", "hidden"),
        ("include", "is a folder"),
        ("include/pipe", "is no file"),
        ("include/binary.h", "is no text"),
        ("include/huge.h", "10.5 MB"),
        ("include/nothing.h", "there is no file"),
        ("", "name a file"),
        ("a\0b", "name a file"),
        ("x/" * 600, "name a file"),
    ],
)
def test_a_path_that_is_no_text_of_the_tree_is_refused(tree: Path, path: str, why: str) -> None:
    (tree.parent / "outside.h").write_text("int secret;")
    (tree / "include/link.h").symlink_to(tree.parent / "outside.h")
    (tree / "include/folder_link").symlink_to(tree.parent)
    (tree / "include/loop").symlink_to(tree / "include/loop")
    (tree / ".git").mkdir()
    (tree / ".git/config").write_text("url = https://name:password@host/")
    os.mkfifo(tree / "include/pipe")
    (tree / "include/binary.h").write_bytes(b"\x7fELF\0\0")
    (tree / "include/huge.h").write_bytes(b"x" * (10 * 1024 * 1024))
    with pytest.raises(InputError, match=why) as refusal:
        read_passage(tree.resolve(), path)
    assert "\n" not in str(refusal.value)
    assert "secret" not in str(refusal.value)


@pytest.mark.parametrize("lines", ["x", "0", "9-3", "-5", "1-2-3", "1;2", "9" * 30])
def test_bad_lines_are_refused(tree: Path, lines: str) -> None:
    with pytest.raises(InputError, match="lines"):
        read_passage(tree, TMA, lines)


def test_a_line_behind_the_end_is_refused_with_the_length(tree: Path) -> None:
    with pytest.raises(InputError, match="has 55 lines"):
        read_passage(tree, TMA, "900")


def test_much_is_cut_and_says_where_to_go_on(tree: Path) -> None:
    (tree / "include/long.h").write_text("int x;\n" * 5_000)
    found = read_passage(tree, "include/long.h")
    assert (found.last, found.cut) == (MOST_LINES, True)
    assert text.passage(found).endswith(f"go on with lines {MOST_LINES + 1}-")
    (tree / "include/wide.h").write_text(("y" * 5_000 + "\n") * 300)
    assert len(read_passage(tree, "include/wide.h").text) <= MOST_CHARACTERS
    assert MOST_BYTES < 10 * 1024 * 1024


def test_an_empty_file_has_no_lines(tree: Path) -> None:
    (tree / "include/empty.h").write_text("")
    found = read_passage(tree, "include/empty.h")
    assert (found.total, found.text, found.cut) == (0, "", False)
    assert text.passage(found) == "include/empty.h:1-0 of 0 lines"
