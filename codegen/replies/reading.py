"""A reply read: the candidate it describes and the other values it would like to see timed."""

from __future__ import annotations

from dataclasses import dataclass

from codegen.prompting.roles import Form
from codegen.replies.branches import declared_branches
from codegen.replies.claims import claims_of
from codegen.replies.cuda import cuda_candidate
from codegen.replies.host import host_candidate
from codegen.replies.python import python_candidate
from codegen.replies.text import split_reply
from codegen.replies.values import values_candidate
from mcts.domain import Candidate, Scalar, TunableSpace
from mcts.errors import ProposalRejected
from mcts.ports import ProposalRequest


@dataclass(frozen=True, slots=True)
class Read:
    """The candidate with its claims, and the combinations of values listed beside it."""

    candidate: Candidate
    branches: tuple[dict[str, Scalar], ...] = ()


def read_reply(
    text: str,
    request: ProposalRequest,
    *,
    form: Form,
    space: TunableSpace | None = None,
    finish_reason: str | None = None,
) -> Read:
    """What a reply describes; `space` are the tunables where only values were asked for.

    Raises ProposalRejected naming what is missing or wrong.
    """
    reply = split_reply(text, finish_reason)
    if form == "values":
        candidate = values_candidate(reply, request, space or request.task.space)
    elif form == "kernelbench":
        candidate = python_candidate(reply, request)
    elif form == "host":
        candidate = host_candidate(reply, request)
    else:
        candidate = cuda_candidate(reply, request)
    if candidate.id == request.parent.id:
        raise ProposalRejected("the reply changes nothing: it is the parent's code and values")
    methods, rationale = claims_of(reply)
    claimed = candidate.model_copy(update={"methods": methods, "rationale": rationale})
    return Read(claimed, () if form == "values" else declared_branches(reply))
