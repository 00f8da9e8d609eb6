"""The part of a dialect that writes: what a model is told, what it replies, what is exported."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

from codegen.export.kernel import Kernel
from codegen.prompting.contract import Contract
from codegen.replies.branches import declared_branches
from codegen.replies.claims import claims_of
from codegen.replies.text import ReplyText, split_reply
from mcts.domain import Candidate, KernelTask, Scalar, TunableSpace
from mcts.errors import InputError, ProposalRejected
from mcts.ports import ProposalRequest


@dataclass(frozen=True, slots=True)
class Read:
    """The candidate with its claims, and the combinations of values listed beside it."""

    candidate: Candidate
    branches: tuple[dict[str, Scalar], ...] = ()


class Writing(ABC):
    """How candidates of one dialect are written."""

    contract: Contract

    def asked(self, *, tunables_only: bool) -> Writing:
        """The writing to ask a model for; values only if the evaluator can judge nothing else."""
        return self

    def read(
        self, text: str, request: ProposalRequest, *, finish_reason: str | None = None
    ) -> Read:
        """What a reply describes. Raises ProposalRejected naming what is missing or wrong."""
        reply = split_reply(text, finish_reason)
        candidate = self.candidate(reply, request)
        if candidate.id == request.parent.id:
            raise ProposalRejected("the reply changes nothing: it is the parent's code and values")
        claims = claims_of(reply)
        claimed = candidate.model_copy(
            update={
                "methods": claims.methods,
                "rationale": claims.rationale,
                "name": claims.name or (candidate.name if not self.contract.whole_file else ""),
            }
        )
        return Read(claimed, declared_branches(reply) if self.contract.whole_file else ())

    @abstractmethod
    def candidate(self, reply: ReplyText, request: ProposalRequest) -> Candidate:
        """The candidate in a reply, without its claims. Raises ProposalRejected."""

    def space_of(self, candidate: Candidate, task: KernelTask) -> TunableSpace:
        """The values that may be chosen for a candidate. InputError if they cannot be read."""
        declared = task.dialect.space_of(candidate.source)
        return task.space if declared is None else declared

    def with_values(
        self, candidate: Candidate, values: Mapping[str, Scalar], task: KernelTask
    ) -> Candidate:
        """The candidate with these values. Raises InputError if they cannot be launched."""
        return changed(candidate, tunables=values)

    def module(self, kernel: Kernel) -> str:
        """A `ModelNew` that needs PyTorch alone. InputError says why there is none."""
        raise InputError(f"no module is made of kernels of dialect {kernel.task.dialect}")

    def header(self, kernel: Kernel) -> str:
        """A C++ header with a function that launches it. InputError says why there is none."""
        raise InputError(
            f"only kernels with a launch plan become a header, not those of dialect "
            f"{kernel.task.dialect}"
        )


def changed(candidate: Candidate, **fields: object) -> Candidate:
    """The candidate with other fields; a plain copy would keep the id cached with its content."""
    return Candidate.model_validate({**candidate.model_dump(), **fields})
