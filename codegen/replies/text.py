"""A reply as text: line ends, thoughts, wrappers; prose and code blocks told apart."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from codegen.chat.messages import LONGEST_REPLY, TOO_LONG
from mcts.errors import ProposalRejected

_FENCE = re.compile(
    r"^[ \t]*+(`{3,}+|~{3,}+)[ \t]*+([^\n`]*+)\n(.*?)(?:^[ \t]*+\1[`~]*+[ \t]*+$|\Z)", re.M | re.S
)
_WRAPPER = re.compile(r"\A\s*(?:`{3,}|~{3,})[ \t]*(?:markdown|md)[ \t]*\n", re.IGNORECASE)
_THOUGHT = re.compile(r"<(/?)(?:think|thinking|thought|reasoning)>", re.IGNORECASE)
_CODE_KEYS = ("code", "source", "file", "kernel", "answer", "content")


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: the first word behind its fence, and its text."""

    language: str
    text: str


@dataclass(frozen=True, slots=True)
class ReplyText:
    """A whole reply, the prose around its blocks, and the blocks; what is left open ends the text.

    `fields` are those of a reply that is one JSON object.
    """

    whole: str
    prose: str
    blocks: tuple[Block, ...]
    fields: Mapping[str, Any]

    @property
    def texts(self) -> list[str]:
        """Where code may stand: the blocks, or all of a reply that has none."""
        return [block.text for block in self.blocks] or [self.whole]


def split_reply(text: str, finish_reason: str | None = None) -> ReplyText:
    """A reply taken apart. ProposalRejected where there is nothing to take."""
    check_finished(text, finish_reason)
    plain = without_thoughts(_normal(text))
    if not plain.strip():
        raise ProposalRejected("the reply holds nothing behind its thoughts")
    if (fields := _json_object(plain)) is not None:
        return _from_json(plain, fields)
    return _split(plain, {})


def check_finished(text: str, finish_reason: str | None) -> None:
    """Raise ProposalRejected for a reply that is cut off, withheld, empty or far too long."""
    if finish_reason == "length":
        raise ProposalRejected(
            "the reply was cut off at the token limit; allow more (--reply-tokens)"
        )
    if finish_reason == "content_filter":
        raise ProposalRejected("the service withheld the reply (content filter)")
    if not text.strip():
        raise ProposalRejected("the reply is empty")
    if finish_reason == TOO_LONG or len(text) > LONGEST_REPLY:
        raise ProposalRejected(f"the reply has more than {LONGEST_REPLY} characters")


def without_thoughts(text: str) -> str:
    """The text without what stands in <think> tags; thoughts that never end take all the rest.

    A closing tag alone ends thoughts that began before the reply, as some chat templates have it.
    """
    kept: list[str] = []
    at, depth = 0, 0
    for found in _THOUGHT.finditer(text):
        if not found[1]:
            if not depth:
                kept.append(text[at : found.start()])
            depth += 1
        elif depth:
            depth -= 1
        else:
            kept = []
        at = found.end()
    return "".join(kept) + ("" if depth else text[at:])


def _normal(text: str) -> str:
    """The reply with plain line ends, without a byte order mark or a fence around all of it, and
    with lone surrogates (half of an emoji), which no file can hold, replaced.
    """
    plain = text.encode(errors="replace").decode().replace("\r\n", "\n").replace("\r", "\n")
    return _WRAPPER.sub("", plain.replace("\x00", "").lstrip("\ufeff"))


def _split(text: str, fields: Mapping[str, Any]) -> ReplyText:
    blocks, prose, at = [], [], 0
    for found in _FENCE.finditer(text):
        blocks.append(Block(_language(found[2]), found[3]))
        prose.append(text[at : found.start()])
        at = found.end()
    return ReplyText(text, "\n".join([*prose, text[at:]]), tuple(blocks), fields)


def _language(info: str) -> str:
    words = info.split()
    return words[0].lower() if words else ""


def _json_object(text: str) -> dict[str, Any] | None:
    """The object that the whole reply is, perhaps fenced."""
    body = text.strip()
    fenced = _FENCE.fullmatch(body)
    if fenced is not None:
        body = fenced[3].strip()
    if not body.startswith("{"):
        return None
    try:
        found = json.loads(body, strict=False)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _from_json(text: str, fields: dict[str, Any]) -> ReplyText:
    """A reply whose parts are the strings of a JSON object."""
    named = {str(key).lower(): value for key, value in fields.items()}
    codes = [named[key] for key in _CODE_KEYS if isinstance(named.get(key), str)]
    if not codes:
        return _split(text, fields)
    code = _normal(codes[0])
    told = [
        f"## {key}\n\n{value}"
        for key, value in named.items()
        if key not in _CODE_KEYS and isinstance(value, str)
    ]
    methods = named.get("methods")
    if isinstance(methods, list):
        told.append(", ".join(str(method) for method in methods))
    inner = _split(code, named)
    return ReplyText(code, "\n\n".join(told) or inner.prose, inner.blocks, named)
