"""What a reply claims of its change: its name, the methods it applies, and why."""

from __future__ import annotations

import re
from dataclasses import dataclass

from codegen.playbook import catalogue
from codegen.replies.text import ReplyText

MAX_METHODS = 6
RATIONALE_LENGTH = 600
NAME_LENGTH = 80
_METHOD = re.compile(r"(?<![\w.])(?:compute|memory|latency|parallelism)\.[a-z][a-z0-9_]{1,60}\b")
_PLAN_HEADING = re.compile(r"^[#*\s\d.]{0,20}plan\b[*: \t]*", re.IGNORECASE | re.MULTILINE)
_NEXT_HEADING = re.compile(r"^#{1,6}[ \t]+\S", re.MULTILINE)
_NAME = re.compile(r"^[#*\s\d.`-]{0,20}name\b[*`]{0,3}[ \t]*:(.*)$", re.IGNORECASE | re.MULTILINE)
_WORD = re.compile(r"[^\W_]+")
_LISTING = frozenset({"method", "methods", "id", "ids", "applied", "applies", "and"})
_AROUND = "#*->` \t\"'."


@dataclass(frozen=True, slots=True)
class Claims:
    """What a reply says of its variant."""

    name: str
    methods: tuple[str, ...]
    rationale: str


def claims_of(reply: ReplyText) -> Claims:
    """Name, method ids and rationale, from the plan where there is one."""
    found = _PLAN_HEADING.search(reply.prose)
    plan = reply.prose[found.end() :] if found else reply.prose
    if found and (following := _NEXT_HEADING.search(plan)):
        plan = plan[: following.start()]
    named = _NAME.search(plan)
    name = _shortened(" ".join(named[1].split()).strip(_AROUND), NAME_LENGTH) if named else ""
    if named:
        plan = plan[: named.start()] + plan[named.end() :]
    methods = _methods(plan) or _methods(reply.prose)
    return Claims(name=name, methods=methods, rationale=_rationale(plan))


def _methods(prose: str) -> tuple[str, ...]:
    """Method ids in the order they are mentioned, those of the playbook first."""
    mentioned = list(dict.fromkeys(_METHOD.findall(prose)))
    known = [name for name in mentioned if name in catalogue()]
    return tuple([*known, *(name for name in mentioned if name not in known)][:MAX_METHODS])


def _rationale(prose: str) -> str:
    """The sentences, without lines that only list methods."""
    plain = prose.replace("**", "")
    lines = (" ".join(line.strip("#*-> \t").split()) for line in plain.splitlines())
    said = (line for line in lines if _says_something(line))
    return _shortened(" ".join(said), RATIONALE_LENGTH)


def _says_something(line: str) -> bool:
    words = _WORD.findall(_METHOD.sub("", line).lower())
    return any(word not in _LISTING for word in words)


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 3] + "..."
