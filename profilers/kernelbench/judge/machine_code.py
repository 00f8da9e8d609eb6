"""What is known of the machine code of a candidate's own kernels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pydantic import ValidationError

from mcts.domain import Candidate, SassFacts
from profilers.children.processes import ChildGone
from profilers.children.protocol import RequestRefused
from profilers.compiling.building import Failed
from profilers.compiling.compiler import architecture
from profilers.kernelbench.judge.clients import Worker
from profilers.kernelbench.judge.workplace import Workplace
from profilers.sandbox import Jail

_DEADLINE_S = 60.0
_MOST_KERNELS = 200


@dataclass(frozen=True, slots=True)
class MachineCode:
    """Facts by kernel, and why there are none, None where there are."""

    facts: Mapping[str, SassFacts] = field(default_factory=dict)
    missing: str | None = None


def left_by(place: Workplace, candidate: Candidate) -> MachineCode:
    """What the candidate's compilers have left in its folder, read in a jail."""
    if place.gpu is None:
        return MachineCode(missing="there is no GPU that anything was compiled for")
    try:
        built = place.builder.build(candidate)
    except Failed as failed:
        return MachineCode(missing=str(failed))
    jail = Jail(readable=(built.folder, *place.settings.readable))
    worker = Worker(place.fork_server, jail=jail, cwd=built.source.parent)
    try:
        reply = worker.ask(
            "disassemble", folder=str(built.folder),
            arch=architecture(place.gpu.compute_capability), timeout_s=_DEADLINE_S,
        )  # fmt: skip
        found = dict(list(dict(reply["sass"]).items())[:_MOST_KERNELS])
        facts = {str(name)[:300]: SassFacts.model_validate(one) for name, one in found.items()}
        return MachineCode(facts, None if facts else str(reply["missing"])[:500])
    except (RequestRefused, ChildGone) as error:
        return MachineCode(missing=f"the machine code was not read: {error}")
    except (ValidationError, KeyError, TypeError, ValueError):
        return MachineCode(missing="what read the machine code did not tell what it found")
    finally:
        worker.kill()
