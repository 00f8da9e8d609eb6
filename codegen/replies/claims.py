"""What a reply claims of its change: the methods it applies, and why."""

from __future__ import annotations

import re

from codegen.playbook import catalogue
from codegen.replies.text import ReplyText

MAX_METHODS = 6
RATIONALE_LENGTH = 240
_METHOD = re.compile(r"(?<![\w.])(?:compute|memory|latency|parallelism)\.[a-z][a-z0-9_]{1,60}\b")
_PLAN_HEADING = re.compile(r"^[#*\s\d.]{0,20}plan\b[*: \t]*", re.IGNORECASE | re.MULTILINE)
_NEXT_HEADING = re.compile(r"^#{1,6}[ \t]+\S", re.MULTILINE)


def claims_of(reply: ReplyText) -> tuple[tuple[str, ...], str]:
    """Method ids and rationale, from the plan where there is one."""
    found = _PLAN_HEADING.search(reply.prose)
    plan = reply.prose[found.end() :] if found else reply.prose
    if found and (following := _NEXT_HEADING.search(plan)):
        plan = plan[: following.start()]
    return _methods(plan) or _methods(reply.prose), _rationale(plan)


def _methods(prose: str) -> tuple[str, ...]:
    """Method ids in the order they are mentioned, those of the playbook first."""
    mentioned = list(dict.fromkeys(_METHOD.findall(prose)))
    known = [name for name in mentioned if name in catalogue()]
    return tuple([*known, *(name for name in mentioned if name not in known)][:MAX_METHODS])


def _rationale(prose: str) -> str:
    lines = (" ".join(line.strip("#*-> \t").split()) for line in prose.splitlines())
    line = next((line for line in lines if len(line) > 3), "")
    return line if len(line) <= RATIONALE_LENGTH else line[: RATIONALE_LENGTH - 3] + "..."
