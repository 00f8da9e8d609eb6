"""A cache of compiled shared objects, each with its log and the headers it was made from."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcts.domain import SassFacts
from mcts.errors import WorldError
from mcts.files import write_whole

MALFORMED = (KeyError, TypeError, ValueError, AttributeError, OverflowError)
"""What reading a malformed record raises: an untrusted process wrote its fields."""


@dataclass(frozen=True, slots=True)
class CachedLibrary:
    """`sass`: facts about the machine code by kernel; `sass_missing`: why there are none."""

    library: Path
    log: str
    resources: dict[str, dict[str, int]]
    sass: dict[str, SassFacts]
    sass_missing: str | None


class LibraryCache:
    """``<key>.so`` and ``<key>.json`` in one folder; each appears by a rename, the JSON last.

    The JSON holds the library's SHA-256, so that a damaged one is not used, and the size and time
    of each header. Thread-safe, also among processes.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def find(self, key: str) -> CachedLibrary | None:
        """The entry under `key`; None if there is none, it is damaged, or a header has changed."""
        library = self._folder / f"{key}.so"
        try:
            noted = json.loads((self._folder / f"{key}.json").read_text(encoding="utf-8"))
            if noted["sha256"] != hashlib.sha256(library.read_bytes()).hexdigest():
                return None
            if any(_file_stamp(Path(path)) != stamp for path, stamp in noted["headers"].items()):
                return None
            return _cached_library(library, noted)
        except (OSError, *MALFORMED):
            return None

    def store(
        self,
        key: str,
        content: bytes,
        *,
        told: Mapping[str, Any],
        headers: Sequence[Path],
    ) -> CachedLibrary:
        """Keep a library's `content`, and of what the compile worker has told `log`, `resources`,
        `sass` and `sass_missing`. WorldError if there is no room, one of `MALFORMED` for
        nonsense.
        """
        library = self._folder / f"{key}.so"
        noted = {
            "sha256": hashlib.sha256(content).hexdigest(),
            **{name: told[name] for name in ("log", "resources", "sass", "sass_missing")},
            "headers": {str(path): _file_stamp(path) for path in headers},
        }
        stored = _cached_library(library, noted)
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            write_whole(library, content, private=True)
            write_whole(library.with_suffix(".json"), json.dumps(noted), private=True)
        except OSError as error:
            raise WorldError(
                f"cannot keep a compiled library in {self._folder}: {error}"
            ) from error
        return stored


def _file_stamp(path: Path) -> list[int]:
    """Size and time of a file; empty if it is gone."""
    try:
        found = path.stat()
    except OSError:
        return []
    return [found.st_size, found.st_mtime_ns]


def _cached_library(library: Path, noted: Mapping[str, Any]) -> CachedLibrary:
    """One of `MALFORMED` if `noted` is not what `store` writes."""
    sass = {name: SassFacts.model_validate(facts) for name, facts in noted["sass"].items()}
    missing = noted["sass_missing"]
    return CachedLibrary(
        library=library,
        log=str(noted["log"]),
        resources=_resources(noted["resources"]),
        sass=sass,
        sass_missing=None if missing is None else str(missing),
    )


def _resources(found: Mapping[str, Any]) -> dict[str, dict[str, int]]:
    """A compile worker's counts by kernel, checked, with long names cut."""
    return {
        str(kernel)[:200]: {str(name): int(count) for name, count in counts.items()}
        for kernel, counts in found.items()
    }
