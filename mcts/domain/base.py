"""The common base of every noun."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Noun(BaseModel):
    """A frozen value that refuses unknown fields, so that a typo never passes silently."""

    model_config = ConfigDict(frozen=True, extra="forbid")
