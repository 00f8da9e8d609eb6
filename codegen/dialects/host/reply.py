"""Replies with one file of host and device code: found among the blocks, its plan checked."""

from __future__ import annotations

import re

from codegen.plan_text import with_defaults, without_comments
from codegen.replies.files import check_size, from_plan, texts_of
from codegen.replies.patches import has_patch, patched
from codegen.replies.text import ReplyText
from mcts.domain import Candidate, HostPlan, find_plan_comment, parse_host_plan
from mcts.errors import InputError, ProposalRejected
from mcts.ports import ProposalRequest


def host_candidate(reply: ReplyText, request: ProposalRequest) -> Candidate:
    """The file that a reply holds, with the defaults of its tunables."""
    source = _source(reply, request)
    check_size(source)
    try:
        plan = parse_host_plan(source)
        values = plan.values(plan.space.default())
    except InputError as error:
        raise ProposalRejected(f"the reply's plan cannot be used: {error}") from None
    _check_code(source, plan)
    own, parent = Candidate(source=source, tunables=values), request.parent
    if own.id in request.tried:
        return own
    if with_defaults(parent.source, values).strip() == source.strip():
        source = parent.source  # only values changed: the same candidate as any other move to them
    return Candidate(source=source, tunables=values)


def _source(reply: ReplyText, request: ProposalRequest) -> str:
    """The last file that holds a plan and code, else the parent's with the reply's changes."""
    texts = texts_of(reply)
    whole = [text for text in texts if (found := find_plan_comment(text)) and text[found.end() :]]
    if whole and not (has_patch(reply) and "<<<<<" in whole[-1]):
        return from_plan(whole[-1])
    if has_patch(reply):
        parent = request.parent
        return patched(reply, with_defaults(parent.source, parent.tunables))
    raise ProposalRejected(
        "the reply holds no variant: no block with a /* rooftree ... */ plan and code behind it"
    )


def _check_code(source: str, plan: HostPlan) -> None:
    """ProposalRejected for functions that the plan names and the code does not have."""
    code = without_comments(source)
    scratch = [item.bytes_from for item in plan.workspace]
    for name in filter(None, [plan.launcher, plan.failure, *scratch]):
        if not re.search(rf"\b{re.escape(name)}\s*\(", code):
            raise ProposalRejected(f"the plan names {name!r}, which is no function of the code")
    if not re.search(r'extern\s+"C"', code):
        raise ProposalRejected(
            'the launcher must be declared extern "C", so that it keeps its name'
        )
