"""The dialect `kernelbench`: a Python file whose tunables are marked constants."""

from __future__ import annotations

from collections.abc import Mapping

from codegen.dialects.kernelbench.constants import declared_constants, with_constants
from codegen.dialects.kernelbench.reply import python_candidate
from codegen.dialects.writing import Writing, changed
from codegen.export.kernel import Kernel
from codegen.prompting.contract import Contract
from codegen.replies.text import ReplyText
from codegen.self_contained import self_contained
from mcts.domain import KERNELBENCH, Candidate, KernelTask, Scalar, TunableSpace
from mcts.ports import ProposalRequest


class KernelBenchWriting(Writing):
    """A file with a `ModelNew`."""

    contract = Contract(
        package=__name__, name=KERNELBENCH, language=KERNELBENCH.language, first="imports"
    )

    def candidate(self, reply: ReplyText, request: ProposalRequest) -> Candidate:
        return python_candidate(reply, request)

    def space_of(self, candidate: Candidate, task: KernelTask) -> TunableSpace:
        return declared_constants(candidate.source)

    def with_values(
        self, candidate: Candidate, values: Mapping[str, Scalar], task: KernelTask
    ) -> Candidate:
        return changed(candidate, source=with_constants(candidate.source, values))

    def module(self, kernel: Kernel) -> str:
        return self_contained(kernel.candidate.source)


WRITING = KernelBenchWriting()
