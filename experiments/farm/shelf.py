"""Nouns read from files that anybody may have written; what is none is put aside."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from experiments.farm import files
from mcts.domain import Noun, first_problem
from mcts.errors import InputError, WorldError

N = TypeVar("N", bound=Noun)


class Shelf:
    """Where broken files go, each with a file that says why. Thread-safe.

    `on_broken` hears of every one. `mode` is what the reasons are written with.
    """

    def __init__(self, place: Path, on_broken: Callable[[str], None]) -> None:
        self._place, self._on_broken = place, on_broken
        self._stuck: set[Path] = set()
        self.mode = 0o600

    def is_stuck(self, path: Path) -> bool:
        """Whether a file is broken and could not be moved away."""
        return path in self._stuck

    def load(self, path: Path, noun: type[N], check: Callable[[N], bool]) -> N | None:
        """A noun from its file; what is none, or fails the check, is put aside.

        None where there is no noun. Raises WorldError where the file system fails.
        """
        try:
            data = files.read(path)
            if data is None:
                return None
            value = noun.model_validate_json(data)
            if check(value):
                return value
            reason = "it is not the one its name says"
        except ValidationError as error:
            reason = first_problem(error)
        except (ValueError, InputError, RecursionError) as error:
            reason = str(error)
        self.put_aside(path, reason)
        return None

    def put_aside(self, path: Path, reason: str) -> None:
        """Move a file away; one that cannot be moved is remembered."""
        if path in self._stuck:
            return
        plain = re.sub(r"[^A-Za-z0-9._-]", "_", path.name)[:150]
        target = self._place / f"{secrets.token_hex(4)}-{plain}"
        try:
            path.rename(target)
        except FileNotFoundError:
            return
        except OSError as error:
            self._stuck.add(path)
            reason = f"{reason}; and it cannot be moved away: {error.strerror}"
        else:
            with suppress(WorldError):
                why = target.with_name(f"{target.name}.reason")
                files.create(why, f"{path.parent.name}: {reason}\n".encode(), mode=self.mode)
        self._on_broken(f"{path.parent.name}/{plain} is put aside in {self._place}: {reason}")
