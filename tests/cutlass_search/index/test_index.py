"""When an index is built, kept and rebuilt."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from cutlass_search.index import building, chunking_pool, chunking_worker
from cutlass_search.index import store as indexing
from cutlass_search.index.corpus import open_corpus
from cutlass_search.index.store import open_index
from cutlass_search.search.symbols import find_definitions
from mcts.errors import InputError, WorldError


def test_it_is_built_once(tree: Path, tmp_path: Path) -> None:
    corpus = open_corpus(tree)
    with open_index(corpus, folder=tmp_path / "kept") as first:
        assert first.built
        assert first.fact("version") == "9.1.3"
        assert first.fact("licence") == "Apache-2.0"
    with open_index(corpus, folder=tmp_path / "kept") as second:
        assert not second.built
        assert second.path == first.path


def test_it_is_rebuilt_when_a_file_changes(tree: Path, tmp_path: Path) -> None:
    corpus = open_corpus(tree)
    open_index(corpus, folder=tmp_path).connection.close()
    (tree / "include/cute/added.hpp").write_text("struct Added {};\n")
    with open_index(corpus, folder=tmp_path) as again:
        assert again.built
        assert [one.path for one in find_definitions(again, "Added")] == ["include/cute/added.hpp"]


def test_it_is_rebuilt_when_its_format_is_another(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = open_corpus(tree)
    open_index(corpus, folder=tmp_path).connection.close()
    for module in (building, indexing):
        monkeypatch.setattr(module, "index_format", lambda: "another")
    with open_index(corpus, folder=tmp_path) as again:
        assert again.built


def test_versions_and_places_are_kept_apart(tree: Path, tmp_path: Path) -> None:
    first = open_index(open_corpus(tree), folder=tmp_path / "kept")
    (tree / "include/cutlass/version.h").write_text(
        "#define CUTLASS_MAJOR 9\n#define CUTLASS_MINOR 2\n#define CUTLASS_PATCH 0\n"
    )
    second = open_index(open_corpus(tree), folder=tmp_path / "kept")
    assert first.path != second.path
    assert first.path.exists()
    first.connection.close()
    second.connection.close()


@pytest.mark.parametrize("content", [b"", b"no database", b"SQLite format 3\0" + b"\0" * 200])
def test_a_damaged_file_is_replaced(tree: Path, tmp_path: Path, content: bytes) -> None:
    corpus = open_corpus(tree)
    with open_index(corpus, folder=tmp_path) as first:
        pass
    first.path.write_bytes(content)
    with open_index(corpus, folder=tmp_path) as again:
        assert again.built
        assert find_definitions(again, "SM90_TMA_LOAD")


def test_a_build_that_fails_leaves_nothing(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(path: str, text: str) -> chunking_worker.ChunkedFile:
        raise KeyboardInterrupt

    monkeypatch.setattr(chunking_worker, "chunk_file", broken)
    with pytest.raises(KeyboardInterrupt):
        open_index(open_corpus(tree), folder=tmp_path / "kept")
    assert list((tmp_path / "kept").iterdir()) == []


def test_an_old_index_stays_readable_while_a_new_one_replaces_it(
    tree: Path, tmp_path: Path
) -> None:
    corpus = open_corpus(tree)
    with (
        open_index(corpus, folder=tmp_path) as old,
        open_index(corpus, folder=tmp_path, rebuild=True),
    ):
        assert find_definitions(old, "SM90_TMA_LOAD")


def test_a_folder_that_cannot_be_written_is_told(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(WorldError, match="cannot be written"):
        open_index(open_corpus(tree), folder=tmp_path / "file" / "below")


def test_several_processes_build_the_same_index_as_one(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = open_corpus(tree)
    tables = ("chunk", "symbol")
    dumps = []
    for enough, folder in ((1, "many"), (10_000, "one")):
        monkeypatch.setattr(chunking_pool, "ENOUGH_FOR_PROCESSES", enough)
        with open_index(corpus, folder=tmp_path / folder) as opened:
            rows = {
                table: sorted(
                    opened.connection.execute(
                        f"SELECT file, kind, name, line, last, title FROM {table}"
                    )
                )
                for table in tables
            }
            dumps.append(rows)
    assert dumps[0] == dumps[1]


def test_files_are_chunked_in_this_process_if_no_other_can_be_had(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = open_corpus(tree)
    here = {one.path for one in chunking_pool.chunk_all(corpus.root, corpus.files())}
    monkeypatch.setattr(chunking_pool, "ENOUGH_FOR_PROCESSES", 1)
    monkeypatch.setattr(chunking_pool.sys, "executable", shutil.which("false"))
    assert {one.path for one in chunking_pool.chunk_all(corpus.root, corpus.files())} == here


def test_a_file_that_vanishes_is_named(tree: Path) -> None:
    corpus = open_corpus(tree)
    sources = corpus.files()
    (tree / "include/cute/arch/copy_sm90_tma.hpp").unlink()
    with pytest.raises(InputError, match=r"cannot read .*copy_sm90_tma\.hpp"):
        list(chunking_pool.chunk_all(corpus.root, sources))
