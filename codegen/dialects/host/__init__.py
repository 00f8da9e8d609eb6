"""The dialect `host`: host and device code with a launcher, its plan in front."""

from __future__ import annotations

from codegen.dialects.host.reply import host_candidate
from codegen.dialects.writing import Writing
from codegen.export.kernel import Kernel
from codegen.prompting.contract import Contract
from codegen.replies.text import ReplyText
from mcts.domain import HOST, Candidate
from mcts.errors import InputError
from mcts.ports import ProposalRequest


class HostWriting(Writing):
    """One `.cu` that nvcc compiles, for which there are methods that only some GPUs have."""

    contract = Contract(
        package=__name__,
        name=HOST,
        language=HOST.language,
        first="the plan's comment",
        methods_of=HOST,
    )

    def candidate(self, reply: ReplyText, request: ProposalRequest) -> Candidate:
        return host_candidate(reply, request)

    def module(self, kernel: Kernel) -> str:
        raise InputError("host code is compiled by nvcc: hand over kernel.cu")


WRITING = HostWriting()
