"""What a reply is read against, where nothing is asked any more."""

from __future__ import annotations

from mcts.domain import Candidate, Evaluation, Guidance, KernelTask
from mcts.ports import ProposalRequest
from mcts.search.trial import Move


def read_against(task: KernelTask, parent: Candidate) -> ProposalRequest:
    """A request of which the task and the parent alone count: enough to read a reply by."""
    unknown = Evaluation(candidate_id=parent.id, status="runtime_error", message="not looked at")
    return ProposalRequest(
        task=task,
        parent=parent,
        evaluation=unknown,
        guidance=Guidance(),
        move=Move("improve", 0),
    )
