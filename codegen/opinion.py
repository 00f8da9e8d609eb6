"""A second opinion on a candidate: a model reads its code, as the judge cannot.

After KernelBlaster's soft verification. It is a remark and never a verdict: what the judge measured
stays as it is.
"""

from __future__ import annotations

from codegen.chat.messages import ChatClient
from codegen.prompting.opinion import opinion_prompt
from codegen.replies.opinion import Opinion, opinion_of
from mcts.domain import Candidate, KernelTask
from mcts.errors import ProposalRejected
from mcts.options import ModelOptions

__all__ = ["Opinion", "second_opinion"]


def second_opinion(
    client: ChatClient, task: KernelTask, candidate: Candidate, options: ModelOptions
) -> Opinion | None:
    """What the model says of the candidate; None if its reply holds no opinion, or the service
    refuses the prompt. Raises InputError for a candidate that is too long, and what clients raise.
    """
    prompt = opinion_prompt(task, candidate, options=options)
    try:
        reply = client.complete(
            prompt.messages, max_tokens=options.reply_tokens, temperature=0.0, seed=0
        )
    except ProposalRejected:
        return None
    return opinion_of(reply.text)
