"""Keeping secrets where they are: none leaves the environment in a text of ours."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from urllib.parse import urlsplit

from mcts.text import one_line

_MESSAGE_LIMIT = 300
_IN_A_MESSAGE, _IN_A_TEXT = 6, 12
"""Characters from which the value of a secret is taken out. Shorter ones are words in code."""
_SECRET_NAME = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)$")
_KEY_SHAPE = re.compile(r"\b(?:sk|pk|rk|gsk|xai|hf)[-_][A-Za-z0-9*_\-]{8,}|Bearer\s+\S+")
_URL_LOGIN = re.compile(r"(?<=://)[^/\s@]+@")
_TRACEBACK = "Traceback (most recent call last)"


def scrub(text: str, environment: Mapping[str, str] | None = None) -> str:
    """One line of `text` without any secret of the environment or anything shaped like a key."""
    text = _without(text, environment, _IN_A_MESSAGE)
    text = text.partition(_TRACEBACK)[0]
    return one_line(_KEY_SHAPE.sub("[key]", _URL_LOGIN.sub("", text)), _MESSAGE_LIMIT)


def hide(text: str, environment: Mapping[str, str] | None = None) -> str:
    """`text` as it is, but for the secrets of the environment: for prompts and replies, in which
    a compile log or an echoing server may carry one.
    """
    return _without(text, environment, _IN_A_TEXT)


def looks_secret(text: str) -> bool:
    """Whether something in `text` is shaped like a key, or a secret of the environment."""
    return _KEY_SHAPE.search(text) is not None or hide(text) != text


def address(url: str) -> str:
    """A server's address without login, query and fragment: where it is, not how one gets in."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2].lower()
    return f"{parts.scheme.lower()}://{host}{parts.path.rstrip('/')}"


def _without(text: str, environment: Mapping[str, str] | None, least: int) -> str:
    for name, value in _secrets(os.environ if environment is None else environment, least):
        text = text.replace(value, f"[{name}]")
    return text


def _secrets(environment: Mapping[str, str], least: int) -> Iterator[tuple[str, str]]:
    """Names and values, the longest first: one may hold another."""
    names = [name for name in environment if _names_a_secret(name)]
    found = [(name, value) for name in names if len(value := environment.get(name, "")) >= least]
    yield from sorted(found, key=lambda pair: -len(pair[1]))


@lru_cache(maxsize=1024)
def _names_a_secret(name: str) -> bool:
    return _SECRET_NAME.search(name.upper()) is not None
