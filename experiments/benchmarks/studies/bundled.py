"""The studies that come with Rooftree, by name."""

from __future__ import annotations

from pathlib import Path

from experiments.text.similar import did_you_mean
from mcts.errors import InputError

_FOLDER = Path(__file__).parent
_SUFFIX = ".toml"


def bundled_studies() -> dict[str, Path]:
    """Their configurations, by name."""
    return {path.stem: path for path in sorted(_FOLDER.glob(f"*{_SUFFIX}"))}


def find_study(given: str) -> Path:
    """The file `given`, else the bundled study of that name, with or without its `.toml`.

    Raises InputError, with the names there are, where it is neither.
    """
    path, known = Path(given), bundled_studies()
    name = given.removesuffix(_SUFFIX)
    if path.is_file() or (path.exists() and name not in known):
        return path
    if name in known:
        return known[name]
    hint = did_you_mean(name, known, behind=" ")
    raise InputError(f"{given} does not exist; {hint}bundled studies: {', '.join(known)}")
