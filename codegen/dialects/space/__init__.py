"""The dialect `space`: values of tunables, for a task or an evaluator that knows no other code."""

from __future__ import annotations

from codegen.dialects.space.values import choosable_space, values_candidate
from codegen.dialects.writing import Writing
from codegen.export.kernel import Kernel
from codegen.prompting.contract import Contract
from codegen.replies.text import ReplyText
from mcts.domain import Candidate
from mcts.errors import InputError
from mcts.ports import ProposalRequest


class ValuesWriting(Writing):
    """The parent's source, whatever its dialect, with other values."""

    contract = Contract(package=__name__, name="values")

    def candidate(self, reply: ReplyText, request: ProposalRequest) -> Candidate:
        return values_candidate(reply, request, choosable_space(request))

    def module(self, kernel: Kernel) -> str:
        raise InputError(f"a task of dialect {kernel.task.dialect} has no source")


WRITING = ValuesWriting()
