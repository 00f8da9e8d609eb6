"""The library whose source a model may look things up in: which one it is, and opening it."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from mcts.domain import Noun
from mcts.errors import InputError
from mcts.library import Library


class LibraryReference(Noun):
    """A library as a run's configuration keeps it; without a `path` it is the installed one.

    Answers depend on the version, so that a resumed run must find the one it began with.
    """

    name: Literal["cutlass"]
    path: str | None = None
    version: str

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
    return LibraryReference(name="cutlass", path=place, version=_version(given, place))


def open_library(reference: LibraryReference) -> Library:
    """The library, indexed where it was not. InputError where it is not the one it was."""
    given = reference.name + (f"={reference.path}" if reference.path else "")
    found = _version(given, reference.path)
    if found != reference.version:
        raise InputError(
            f"the run looks things up in {reference.title}, and {given} is {found} now: put that "
            "version back, or start a new run"
        )
    from cutlass_search.library import CutlassLibrary
    from experiments.commands.cutlass import open_tree

    return CutlassLibrary(open_tree(_root(reference.path)))


def _version(given: str, path: str | None) -> str:
    from cutlass_search.corpus import open_corpus

    try:
        return open_corpus(_root(path)).version
    except InputError:
        raise InputError(
            f"--library {given}: no CUTLASS tree is there; `pip install --no-deps nvidia-cutlass`, "
            "or name a checkout: --library cutlass=PATH"
        ) from None


def _root(path: str | None) -> Path | None:
    return Path(path) if path else None
