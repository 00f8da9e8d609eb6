"""One tool at one kernel: what it says is checked, and what it does wrong becomes a note."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import ValidationError

from mcts.domain import Finding
from microtools.tool import Case, MicroTool


def examine(tools: Iterable[MicroTool], case: Case, notes: list[str]) -> list[Finding]:
    """What the tools with affinity to the case's roofline class say, in their order.

    Where the class is unknown, all of them run. A tool that raises or answers with anything but a
    sound finding of its own is skipped, and `notes` says so.
    """
    found = []
    for tool in tools:
        try:
            if case.bound != "unknown" and case.bound not in tool.affinity:
                continue
            finding = _checked(tool, tool.examine(case))
        except _Nonsense as nonsense:
            notes.append(f"micro-tool {tool.name} {nonsense}: skipped")
            continue
        except Exception as error:  # noqa: BLE001 - the boundary to tools of others
            notes.append(f"micro-tool {tool.name} failed: {type(error).__name__}: {error}")
            continue
        if finding is not None:
            found.append(finding)
    return found


class _Nonsense(Exception):
    """An answer that is no finding of the tool's."""


def _checked(tool: MicroTool, answer: object) -> Finding | None:
    """The answer with the tool's level; read again, since `model_construct` checks nothing."""
    if answer is None:
        return None
    if not isinstance(answer, Finding):
        raise _Nonsense(f"answered with a {type(answer).__name__}, not a Finding")
    if answer.tool != tool.name:
        raise _Nonsense(f"answered in the name of {answer.tool!r}")
    try:
        content = answer.model_dump(warnings="none")
        return Finding.model_validate({**content, "level": tool.level})
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        raise _Nonsense(f"answered with a broken finding ({field}: {first['msg']})") from None
