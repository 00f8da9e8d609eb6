"""Ids of prompts as they are journalled now, so that no test repeats a version."""

from __future__ import annotations

from codegen.prompting.roles import VERSIONS, Role


def prompt_id(role: Role, suffix: str = "") -> str:
    """`optimize/N`; `suffix` is that of a contract with an order of its own, such as `_values`."""
    return f"{role}{suffix}/{VERSIONS[role]}"
