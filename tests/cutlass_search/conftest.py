"""A tree that looks like CUTLASS, and the real one if it is installed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from cutlass_search.index.corpus import Corpus, open_corpus
from cutlass_search.index.store import Index, open_index
from mcts.errors import InputError

LIKE = Path(__file__).parents[1] / "data" / "cutlass_like"
TMA = "include/cute/arch/copy_sm90_tma.hpp"
MAINLOOP = "include/cutlass/gemm/collective/sm90_tiny_mainloop.hpp"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of the tree, to change at will."""
    return Path(shutil.copytree(LIKE, tmp_path / "tree"))


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    """An index over the tree as it is."""
    with open_index(open_corpus(LIKE), folder=tmp_path_factory.mktemp("index")) as opened:
        yield opened


@pytest.fixture(scope="session")
def cutlass() -> Corpus:
    """The real tree: ROOFTREE_CUTLASS, else an installed wheel."""
    place = os.environ.get("ROOFTREE_CUTLASS")
    try:
        return open_corpus(Path(place) if place else None)
    except InputError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def cutlass_index(cutlass: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    """An index over the real tree."""
    with open_index(cutlass, folder=tmp_path_factory.mktemp("cutlass")) as opened:
        yield opened
