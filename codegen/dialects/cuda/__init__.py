"""The dialect `cuda`: device code with a launch plan, checked as far as that goes without a GPU."""

from __future__ import annotations

from collections.abc import Mapping

from codegen.dialects.cuda.reply import check_launches, cuda_candidate
from codegen.dialects.space import WRITING as VALUES
from codegen.dialects.writing import Writing
from codegen.export.header import header
from codegen.export.kernel import Kernel
from codegen.export.model_new import model_new
from codegen.plan_text import plan_of
from codegen.prompting.contract import Contract
from codegen.replies.text import ReplyText
from mcts.domain import CUDA, Candidate, KernelTask, Scalar
from mcts.ports import ProposalRequest


class CudaWriting(Writing):
    """One file of device code, its launch plan in front."""

    contract = Contract(
        package=__name__, name=CUDA, language=CUDA.language, first="the launch plan's comment"
    )

    def asked(self, *, tunables_only: bool) -> Writing:
        return VALUES if tunables_only else self

    def candidate(self, reply: ReplyText, request: ProposalRequest) -> Candidate:
        return cuda_candidate(reply, request)

    def with_values(
        self, candidate: Candidate, values: Mapping[str, Scalar], task: KernelTask
    ) -> Candidate:
        check_launches(plan_of(candidate.source), task, values)
        return super().with_values(candidate, values, task)

    def module(self, kernel: Kernel) -> str:
        return model_new(kernel)

    def header(self, kernel: Kernel) -> str:
        return header(kernel)


WRITING = CudaWriting()
