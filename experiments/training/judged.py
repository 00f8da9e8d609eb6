"""Replies of a model with the verdict on what they held: what every training set is made of."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from codegen.prompting.variant import shown_source
from experiments.training.answers import Answer
from experiments.training.families import family_of
from mcts.domain import Candidate, Evaluation, KernelTask, Noun, Scalar, tagged_hash

MIXED = "several GPUs"
"""The hardware of replies that may have been timed on different GPUs: they are not compared."""


class JudgedReply(Noun):
    """One reply of a model to one prompt, and what the judge said of it.

    `parent` and `candidate` are ids; `code` is the candidate's source and `values` are its
    tunables, which may be other ones than the reply's where further values were timed. The
    evaluation is the confirmation where there was one, as a run reports it, without its samples and
    its profile; `parent_evaluation` is what the parent came to in the same run. `run` names the
    folder, `trial` the node or step in it.
    """

    id: str
    task: str
    task_id: str
    family: str
    dialect: str
    hardware: str
    model: str
    parent: str
    candidate: str
    code: str
    values: dict[str, Scalar] = {}
    prompt: tuple[dict[str, str], ...]
    reply: str
    evaluation: Evaluation
    parent_evaluation: Evaluation | None
    run: str
    trial: int

    @property
    def held(self) -> bool:
        """Whether the candidate was measured, and may be handed back."""
        return self.evaluation.measured and not self.evaluation.held_back


@dataclass(slots=True)
class Reading:
    """What was read: the replies, and how many were left out, by reason."""

    replies: list[JudgedReply] = field(default_factory=list)
    left_out: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    sources: list[str] = field(default_factory=list)


def judged_reply(
    answer: Answer,
    task: KernelTask,
    candidate: Candidate,
    evaluation: Evaluation,
    *,
    parent: Candidate,
    parent_evaluation: Evaluation | None,
    hardware: str,
    run: str,
    trial: int,
    model: str | None = None,
) -> JudgedReply:
    """An answer with what it held, and what the judge said of that."""
    prompt = tuple(
        {"role": str(message["role"]), "content": str(message["content"])}
        for message in answer.messages
    )
    return JudgedReply(
        id=tagged_hash("reply", [task.id, hardware, parent.id, prompt, answer.text]),
        task=task.name,
        task_id=task.id,
        family=family_of(task),
        dialect=str(task.dialect),
        hardware=hardware,
        model=model or answer.model,
        parent=parent.id,
        candidate=candidate.id,
        code=shown_source(candidate, task.dialect),
        values=dict(candidate.tunables),
        prompt=prompt,
        reply=answer.text,
        evaluation=_trimmed(evaluation),
        parent_evaluation=_trimmed(parent_evaluation) if parent_evaluation else None,
        run=run,
        trial=trial,
    )


def _trimmed(evaluation: Evaluation) -> Evaluation:
    """The verdict without single samples, build logs and profile."""
    timing, build = evaluation.timing, evaluation.build
    return evaluation.model_copy(
        update={
            "timing": timing and timing.without_samples(),
            "build": build and build.model_copy(update={"log": ""}),
            "profile": None,
        }
    )


def as_text(reply: JudgedReply) -> str:
    """All that a row says in words, for looking for what must not leave."""
    return "\n".join([*(message["content"] for message in reply.prompt), reply.reply, reply.code])
