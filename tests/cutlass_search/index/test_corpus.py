"""Finding a tree, and what of it is indexed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from cutlass_search.index.corpus import MOST_BYTES, fingerprint, open_corpus
from mcts.errors import InputError


def test_version_and_licence_are_recorded(tree: Path) -> None:
    corpus = open_corpus(tree)
    assert (corpus.version, corpus.licence) == ("9.1.3", "Apache-2.0")


def test_a_folder_with_an_unpacked_wheel_is_a_tree(tree: Path, tmp_path: Path) -> None:
    inside = tmp_path / "site" / "cutlass_library" / "source"
    inside.parent.mkdir(parents=True)
    shutil.move(tree, inside)
    assert open_corpus(tmp_path / "site").root == inside.resolve()


def test_another_folder_is_refused_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"no CUTLASS tree.*Name a checkout of CUTLASS.*pip install --no-deps"
    ):
        open_corpus(tmp_path)


def test_a_tree_without_a_version_is_refused(tree: Path) -> None:
    (tree / "include/cutlass/version.h").write_text("#pragma once\n")
    with pytest.raises(InputError, match="which version"):
        open_corpus(tree)


def test_links_hidden_folders_and_huge_files_are_left_out(tree: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.h").write_text("int secret();")
    (tree / "include/linked").symlink_to(outside)
    (tree / "include/linked.h").symlink_to(outside / "secret.h")
    (tree / "include/.hidden").mkdir()
    (tree / "include/.hidden/x.h").write_text("int x();")
    (tree / "include/odd\udcff.h").write_text("int odd();")
    (tree / "include/huge.h").write_text("/" * (MOST_BYTES + 1))
    paths = {one.path for one in open_corpus(tree).files()}
    assert "include/cute/arch/copy_sm90_tma.hpp" in paths
    left_out = ("linked", "hidden", "huge", "odd")
    assert not [path for path in paths if any(word in path for word in left_out)]


def test_the_fingerprint_follows_every_change(tree: Path) -> None:
    corpus = open_corpus(tree)
    before = fingerprint(corpus.files())
    assert fingerprint(corpus.files()) == before
    header = tree / "include/cute/arch/copy_sm90_tma.hpp"
    header.write_text(header.read_text() + "\n// changed\n")
    changed = fingerprint(corpus.files())
    header.unlink()
    assert len({before, changed, fingerprint(corpus.files())}) == 3
