"""The base of every noun, and the identity of its content: canonical JSON under a tagged hash."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Self

from pydantic import BaseModel, ConfigDict

_CHECKSUM = "checksum"


class Noun(BaseModel):
    """A frozen value that refuses unknown fields, so that a typo never passes silently."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy with changes; cached properties (an id, say) are not carried over."""
        copied = super().model_copy(update=update, deep=deep)
        for name in copied.__dict__.keys() - type(self).model_fields.keys():
            del copied.__dict__[name]
        return copied


def canonical_json(payload: Any) -> str:
    """Serialise `payload` so that equal content gives equal text.

    Keys are sorted, separators fixed, non-ASCII kept; NaN and infinities raise ValueError because
    they have no JSON and would compare unequal to themselves.
    """
    return json.dumps(
        payload, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )


def sealed(payload: Mapping[str, Any]) -> dict[str, Any]:
    """A JSON object with the checksum of its content, so that a change is told when it is read."""
    return {**payload, _CHECKSUM: tagged_hash("content", dict(payload))}


def unsealed(payload: Mapping[str, Any]) -> dict[str, Any]:
    """What was sealed; an object without a checksum, as older versions wrote it, is taken as it is.

    Raises ValueError if it was changed.
    """
    content = dict(payload)
    checksum = content.pop(_CHECKSUM, None)
    if checksum is not None and checksum != tagged_hash("content", content):
        raise ValueError("its content was changed after it was written")
    return content


def tagged_hash(tag: str, payload: Any, *, digits: int = 16) -> str:
    """Return ``tag-<hex digest>`` of the canonical JSON of `payload`.

    The tag separates kinds: a task and a candidate of the same bytes never share an id.
    16 hex digits are 64 bits: a collision among a million candidates has odds of 3e-8.
    """
    body = f"{tag}\x00{canonical_json(payload)}".encode()
    return f"{tag}-{hashlib.sha256(body).hexdigest()[:digits]}"
