"""What a worker answers is a claim, and its form is one too: read with suspicion.

The process may have been made to answer anything. Whatever is not of the agreed form is evidence
of that, never an error of the judge.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, get_args

from mcts.domain import CheatClass, Refusal
from profilers.kernelbench.judge.verdicts import Unfaithful

_CLASSES = frozenset(get_args(CheatClass))
_LONGEST_TEXT = 2000
_MOST_PROBLEMS = 100


def problems_of(reply: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What the guards saw. Unfaithful for anything else than a list of classes with evidence."""
    found = reply.get("problems", [])
    if not isinstance(found, list) or len(found) > _MOST_PROBLEMS:
        raise forged("its list of problems is none")
    for problem in found:
        cheat = problem.get("cheat") if isinstance(problem, dict) else None
        if not isinstance(cheat, str) or cheat not in _CLASSES:
            raise forged("its list of problems holds something else")
        problem["evidence"] = str(problem.get("evidence", ""))[:_LONGEST_TEXT]
    return found


def events_of(reply: Mapping[str, Any], *, calls: int) -> tuple[float, ...]:
    """Event times in microseconds, one of each call. Unfaithful for anything else."""
    found = reply.get("events_us")
    if not isinstance(found, list) or len(found) != calls:
        raise forged(f"it was asked for {calls} event times and gives no such list")
    if not all(type(us) in (int, float) and 1e-4 < us < 1e12 for us in found):
        raise forged("its event times are no times")
    return tuple(float(us) for us in found)


def outputs_of(reply: Mapping[str, Any], *, calls: int) -> Sequence[Any]:
    """Coded outputs of each call, which the oracle looks into. Unfaithful for anything else."""
    found = reply.get("outputs")
    if not isinstance(found, list) or len(found) != calls:
        raise forged(f"it was asked for the outputs of {calls} calls and gives no such list")
    return found


def text_of(reply: Mapping[str, Any], name: str) -> str | None:
    """A text, or None where there is none."""
    found = reply.get(name)
    if found is not None and not isinstance(found, str):
        raise forged(f"{name} is no text")
    return found[:_LONGEST_TEXT] if found else None


def names_of(reply: Mapping[str, Any], name: str) -> list[str]:
    """A list of texts."""
    found = reply.get(name, [])
    if not isinstance(found, list) or not all(isinstance(item, str) for item in found):
        raise forged(f"{name} is no list of names")
    return [item[:200] for item in found]


def kernels_of(reply: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Kernels with their names and microseconds."""
    found = reply.get("kernels")
    if not isinstance(found, list):
        raise forged("its list of kernels is none")
    if not all(isinstance(one, dict) and _is_kernel(one) for one in found):
        raise forged("its list of kernels holds something else")
    return found


def _is_kernel(claim: Mapping[str, Any]) -> bool:
    us: Any = claim.get("us")
    timed = type(us) in (int, float) and 0 <= us < 1e12
    return timed and isinstance(claim.get("name"), str)


def forged(what: str) -> Unfaithful:
    """An answer that no honest process gives."""
    evidence = f"an answer is not of the agreed form: {what}"
    return Unfaithful(Refusal(cheat="forged_result", evidence=evidence))
