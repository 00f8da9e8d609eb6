"""The library whose source a model may look things up in: which one it is, and opening it."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from mcts.domain import Noun
from mcts.errors import InputError
from mcts.library import Library

if TYPE_CHECKING:
    from cutlass_search.index.corpus import Corpus
    from cutlass_search.index.store import Index


class LibraryReference(Noun):
    """A library as a run's configuration keeps it; without a `path` it is the installed one.

    Answers depend on what its files say, so that a resumed run must find those it began with:
    `version` for people, `sha256` of all that is searched, None in runs that did not keep it.
    """

    name: Literal["cutlass"]
    path: str | None = None
    version: str
    sha256: str | None = None

    @property
    def title(self) -> str:
        """For people."""
        return f"{self.name.upper()} {self.version}"


def read_library(given: str) -> LibraryReference:
    """``cutlass`` or ``cutlass=PATH`` as it is there now. InputError where it is not."""
    name, _, path = given.partition("=")
    if name != "cutlass":
        raise InputError(f"--library {given}: only cutlass, or cutlass=PATH, can be looked into")
    place = str(Path(path).absolute()) if path else None  # a run may be resumed from elsewhere
    corpus = _corpus(given, place)
    return LibraryReference(
        name="cutlass", path=place, version=corpus.version, sha256=_sha256(corpus)
    )


def open_library(reference: LibraryReference) -> Library:
    """The library, indexed where it was not. InputError where it is not the one it was."""
    given = reference.name + (f"={reference.path}" if reference.path else "")
    found = _corpus(given, reference.path)
    if found.version != reference.version:
        raise InputError(
            f"the run looks things up in {reference.title}, and {given} is {found.version} now: "
            "put that version back, or start a new run"
        )
    if reference.sha256 is not None and _sha256(found) != reference.sha256:
        raise InputError(
            f"the run looks things up in {reference.title}, and files of {given} have changed "
            "since it began: put them back as they were, or start a new run"
        )
    from cutlass_search.library import CutlassLibrary

    return CutlassLibrary(open_tree(_root(reference.path)))


def open_tree(root: Path | None, *, rebuild: bool = False) -> Index:
    """The index of the tree at `root`, else of the installed one, kept in the user's cache."""
    from cutlass_search.index.corpus import open_corpus
    from cutlass_search.index.store import open_index
    from profilers.hardware.locks import user_cache_dir

    return open_index(open_corpus(root), folder=user_cache_dir() / "cutlass", rebuild=rebuild)


def _corpus(given: str, path: str | None) -> Corpus:
    from cutlass_search.index.corpus import open_corpus

    try:
        return open_corpus(_root(path))
    except InputError:
        raise InputError(
            f"--library {given}: no CUTLASS tree is there; `pip install --no-deps nvidia-cutlass`, "
            "or name a checkout: --library cutlass=PATH"
        ) from None


def _sha256(corpus: Corpus) -> str:
    """A hash over the names and bytes of what is searched.

    The fingerprint by which an index is known to be fresh holds times too: by it, the same version
    installed anew would be another library.
    """
    digest = hashlib.sha256()
    for file in corpus.files():
        try:
            content = (corpus.root / file.path).read_bytes()
        except OSError as error:
            raise InputError(f"cannot read {corpus.root / file.path}: {error.strerror}") from None
        digest.update(f"{file.path}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()


def _root(path: str | None) -> Path | None:
    return Path(path) if path else None
