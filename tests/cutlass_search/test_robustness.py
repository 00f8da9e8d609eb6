"""Odd trees, odd caches and a world that changes meanwhile: clear words, and nothing lost."""

from __future__ import annotations

import os
import resource
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from cutlass_search import tools
from cutlass_search.index import building, chunking_worker
from cutlass_search.index.chunks import ChunkedFile, chunk_file
from cutlass_search.index.corpus import open_corpus
from cutlass_search.index.store import Index, open_index
from mcts.errors import InputError, WorldError
from tests.cutlass_search.conftest import TMA


def _answers(index: Index, symbol: str = "SM90_TMA_LOAD") -> bool:
    hits = tools.search(index, symbol).results
    return tools.definition(index, symbol).total > 0 and bool(hits)


def test_broken_utf8_hides_no_symbol(tree: Path, tmp_path: Path) -> None:
    (tree / "include/cute/broken.hpp").write_bytes(
        b"// caf\xe9 \xff\xfe \xed\xa0\x80\nstruct Br\xf6ken {};\nstruct Whole_Thing {};\n\x00"
    )
    with open_index(open_corpus(tree), folder=tmp_path / "index") as index:
        assert tools.definition(index, "Whole_Thing").results[0].line == 3
        assert tools.search(index, "whole thing").results[0].best.path == "include/cute/broken.hpp"


def test_a_file_of_ten_megabytes_is_left_out_and_the_rest_is_found(
    tree: Path, tmp_path: Path
) -> None:
    (tree / "include/cute/huge.hpp").write_text("struct Huge {};\n" * 700_000)
    with open_index(open_corpus(tree), folder=tmp_path / "index") as index:
        assert _answers(index)
        with pytest.raises(InputError, match=r"defines Huge"):
            tools.definition(index, "Huge")
        with pytest.raises(InputError, match=r"huge\.hpp has 11\.2 MB, more than"):
            tools.read(index, "include/cute/huge.hpp")


def test_links_in_a_circle_end(tree: Path, tmp_path: Path) -> None:
    (tree / "include/circle").symlink_to(tree / "include")
    (tree / "include/one").symlink_to(tree / "include/two")
    (tree / "include/two").symlink_to(tree / "include/one")
    with open_index(open_corpus(tree), folder=tmp_path / "index") as index:
        assert not [one for one in index.corpus.files() if "circle" in one.path]
        with pytest.raises(InputError, match="there is no file include/one"):
            tools.read(index, "include/one")
        assert tools.read(index, f"include/circle/circle/{TMA[8:]}").path == TMA


def test_a_root_that_is_a_circle_of_links_is_no_tree(tmp_path: Path) -> None:
    (tmp_path / "one").symlink_to(tmp_path / "two")
    (tmp_path / "two").symlink_to(tmp_path / "one")
    with pytest.raises(InputError, match="is no CUTLASS tree"):
        open_corpus(tmp_path / "one")


def test_a_file_that_changes_while_it_is_indexed_is_indexed_again(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = open_corpus(tree)

    def change(path: str, text: str) -> ChunkedFile:
        if path == TMA:
            (tree / TMA).write_text(text + "\nstruct Late {};\n")
        return chunk_file(path, text)

    monkeypatch.setattr(chunking_worker, "chunk_file", change)
    with open_index(corpus, folder=tmp_path) as early, pytest.raises(InputError):
        tools.definition(early, "Late")
    monkeypatch.undo()
    with open_index(corpus, folder=tmp_path) as again:
        assert again.built
        assert tools.definition(again, "Late").results[0].path == TMA


def test_two_processes_that_build_at_once_both_answer(tree: Path, tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path\n"
        "from cutlass_search.index.corpus import open_corpus\n"
        "from cutlass_search.index.store import open_index\n"
        "from cutlass_search.search.symbols import find_definitions\n"
        "with open_index(open_corpus(Path(sys.argv[1])), folder=Path(sys.argv[2])) as index:\n"
        "    print(find_definitions(index, 'SM90_TMA_LOAD')[0].path)\n"
    )
    command = [sys.executable, "-c", program, str(tree), str(tmp_path / "kept")]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert [one.communicate()[0].strip() for one in both] == [TMA, TMA]
    assert len(list((tmp_path / "kept").iterdir())) == 1


@contextmanager
def _room_for(size: int) -> Iterator[None]:
    """No file grows above `size` bytes, as on a disk that is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_is_told_and_the_older_index_stays(tree: Path, tmp_path: Path) -> None:
    corpus = open_corpus(tree)
    with open_index(corpus, folder=tmp_path / "kept") as first:
        before = first.path.read_bytes()
    (tree / "include/cute/added.hpp").write_text("struct Added {};\n")
    with _room_for(30_000), pytest.raises(WorldError, match=r"cannot be written: .*room for it"):
        open_index(corpus, folder=tmp_path / "kept")
    assert first.path.read_bytes() == before
    assert list((tmp_path / "kept").iterdir()) == [first.path]
    with open_index(corpus, folder=tmp_path / "kept") as again:
        assert _answers(again, "Added")


def test_an_index_of_a_newer_version_is_made_anew(tree: Path, tmp_path: Path) -> None:
    corpus = open_corpus(tree)
    with open_index(corpus, folder=tmp_path) as first:
        pass
    first.path.unlink()
    with closing(sqlite3.connect(first.path)) as newer:
        newer.executescript(
            "CREATE TABLE fact (key TEXT, value TEXT); INSERT INTO fact VALUES ('format', '99');"
            "CREATE TABLE vector (key TEXT, value BLOB); INSERT INTO vector VALUES ('depth', x'00')"
        )
    with open_index(corpus, folder=tmp_path) as again:
        assert again.built
        assert _answers(again)


def test_only_changed_files_are_chunked_again(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = open_corpus(tree)
    open_index(corpus, folder=tmp_path).connection.close()
    (tree / "include/cute/a_new_one.hpp").write_text("struct Added {};\n")
    (tree / "README.md").unlink(missing_ok=True)
    (tree / "media/docs/cpp/pipeline.md").unlink()
    seen = []

    def watched(path: str, text: str) -> ChunkedFile:
        seen.append(path)
        return chunk_file(path, text)

    monkeypatch.setattr(chunking_worker, "chunk_file", watched)
    with (
        open_index(corpus, folder=tmp_path) as again,
        open_index(corpus, folder=tmp_path / "anew") as anew,
    ):
        assert seen[0] == "include/cute/a_new_one.hpp"
        assert len(seen) == 1 + anew.count("file")
        assert again.fact("taken over") == str(anew.count("file") - 1)
        for table in ("file", "symbol"):
            assert _rows(again, table) == _rows(anew, table)
        for question in ("tma load", "opposite phase of producers", "added", "swizzle", "tiny"):
            hits = tools.search(again, question).results
            assert hits == tools.search(anew, question).results


def _rows(index: Index, table: str) -> list[tuple[object, ...]]:
    return sorted(index.connection.execute(f"SELECT * FROM {table}"))


def test_rows_of_a_damaged_index_are_not_copied(tree: Path, tmp_path: Path) -> None:
    corpus = open_corpus(tree)
    with open_index(corpus, folder=tmp_path) as first:
        (page,) = first.connection.execute(
            "SELECT rootpage FROM sqlite_schema WHERE name = 'chunk'"
        ).fetchone()
        (size,) = first.connection.execute("PRAGMA page_size").fetchone()
    with first.path.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xff" * size)
    (tree / "include/cute/added.hpp").write_text("struct Added {};\n")
    with open_index(corpus, folder=tmp_path) as again:
        assert again.fact("taken over") == "0"
        assert _answers(again)


def test_files_of_killed_builds_are_removed_once_they_are_old(tree: Path, tmp_path: Path) -> None:
    old, young = tmp_path / ".building-old.sqlite", tmp_path / ".building-young.sqlite"
    old.write_bytes(b"half")
    young.write_bytes(b"half")
    os.utime(old, (0, 0))
    open_index(open_corpus(tree), folder=tmp_path).connection.close()
    assert (old.exists(), young.exists()) == (False, True)


def test_a_word_in_many_chunks_is_found_as_one_in_few(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = open_corpus(tree)
    found = []
    for frequent in (1, 10_000):
        monkeypatch.setattr(building, "FREQUENT", frequent)
        with open_index(corpus, folder=tmp_path, rebuild=True) as index:
            assert bool(index.posting_lists) == (frequent == 1)
            rows = index.rows(("tma", "load", "swizzl"), column="code").tolist()
            found.append((rows, tools.search(index, "tma load of a swizzled tile").results))
    assert found[0] == found[1]
