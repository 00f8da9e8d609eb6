"""Judging while a model is trained: prompts, a reward function and an environment.

In the form that TRL's GRPOTrainer takes (`train_dataset`, `reward_funcs`, `environment_factory`).
Nothing of TRL is imported, so that whatever calls functions of this form can be given them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any

from codegen.dialects import writing_of
from codegen.dialects.space.values import choosable_space
from codegen.dialects.writing import Writing
from codegen.prompting.build import build_prompt
from codegen.scripted.uniform import UniformProposer
from experiments.runs.tasks.files import find_task
from experiments.runs.wiring.composing import choose_evaluator
from experiments.training.reading import read_against
from experiments.training.rewards import LOWEST, REWARDS, Reward, why
from mcts.domain import Candidate, Evaluation
from mcts.errors import InputError, NoMoves, NotRecorded, ProposalRejected
from mcts.options import JudgingOptions, ModelOptions
from mcts.ports import Evaluator, ProposalRequest
from mcts.search.trial import Move
from microtools.advisor import RooflineAdvisor
from profilers.recordings.replay import ReplayEvaluator

Row = dict[str, Any]
UNUSABLE = "no usable candidate"
"""What is said of a reply that holds none."""
_AT_ONCE = 2
"""Replies that are judged at a time on each device: one compiles while another is timed."""


class LiveJudge:
    """Judges replies to prompts about tasks, by the evaluator that `judging` names; a GPU where
    there is one, else what was recorded.

    Recordings stay open. What measures is open for one task at a time, as it has its GPU alone:
    rows of a task that follow one another are judged sooner, threads may share it for one task
    alone, and what measures one is closed by the first question about another. A reward measures
    the reply alone.

    Without a GPU replies choose values of a recorded kernel's tunables; with one they write code,
    unless they are to choose `values` there too.
    """

    def __init__(
        self,
        judging: JudgingOptions | None = None,
        *,
        values: bool = False,
        say: Callable[[str], None] = print,
    ) -> None:
        self._judging, self._values, self._say = judging or JudgingOptions(), values, say
        self._evaluators: dict[str, Evaluator] = {}
        self._lock = threading.Lock()

    def __enter__(self) -> LiveJudge:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Release what measures; idempotent."""
        with self._lock:
            for evaluator in self._evaluators.values():
                evaluator.close()
            self._evaluators.clear()

    def questions(self, task: str, count: int, *, seed: int = 0) -> Iterator[Row]:
        """Up to `count` rows to train on: `prompt` as messages, and `task` and `parent`, which the
        reward needs.

        The first asks for a variant of the task's baseline, the others of variants drawn by `seed`
        that are right. The profile's advice stands in them as in a search's prompts. InputError for
        a task that is none, or cannot be measured here.
        """
        evaluator = self._of(task)
        parents = [evaluator.task.baseline]
        asked = self._request(evaluator, evaluator.task.baseline, seed=seed)
        tried, number = {parents[0].id}, seed
        with suppress(NoMoves):
            while len(parents) < count:
                number += 1
                drawn = UniformProposer().propose(
                    ProposalRequest(
                        task=asked.task, parent=asked.parent, evaluation=asked.evaluation,
                        guidance=asked.guidance, move=asked.move, tried=frozenset(tried),
                        seed=number,
                    )
                ).candidate  # fmt: skip
                tried.add(drawn.id)
                with suppress(NotRecorded):
                    if evaluator.evaluate(drawn).measured:
                        parents.append(drawn)
        for parent in parents:
            request = self._request(evaluator, parent, seed=seed)
            writing = self._writing(evaluator)
            prompt = build_prompt(
                request,
                evaluator.hardware,
                contract=writing.contract,
                options=ModelOptions(),
                space=None if writing.contract.whole_file else choosable_space(request),
            )
            yield {
                "prompt": [dict(message) for message in prompt.messages],
                "task": task,
                "parent": parent.model_dump_json(),
            }

    def evaluation(self, task: str, candidate: Candidate) -> Evaluation:
        """What the judge says of a candidate."""
        return self._of(task).evaluate(candidate)

    def verdict(
        self, task: str, parent: str, reply: str, *, shown: Collection[str] = ()
    ) -> Evaluation | None:
        """What the judge says of the candidate in a reply to a prompt about `parent`; None if the
        reply holds none that can be judged, or one of those that the prompt has `shown`, by id: to
        copy a line is no proposal. WorldError if the machine fails, not the candidate.
        """
        evaluator = self._of(task)
        try:
            candidate = Candidate.model_validate_json(parent)
        except ValueError:
            raise InputError(
                "a row's parent is no candidate: make the rows with questions()"
            ) from None
        request = read_against(evaluator.task, candidate)
        try:
            read = self._writing(evaluator).read(reply, request)
            return None if read.candidate.id in shown else evaluator.evaluate(read.candidate)
        except (ProposalRejected, NotRecorded):
            return None

    def verdicts(
        self,
        tasks: Sequence[str],
        parents: Sequence[str],
        replies: Sequence[str],
        *,
        shown: Sequence[Collection[str]] | None = None,
    ) -> list[Evaluation | None]:
        """The verdicts on many replies, judged side by side on all devices; in order."""
        known = shown or [()] * len(replies)
        found: dict[int, Evaluation | None] = {}
        for task in dict.fromkeys(tasks):
            places = [at for at, other in enumerate(tasks) if other == task]
            devices = self._of(task).devices
            with ThreadPoolExecutor(_AT_ONCE * devices, "rooftree-reward") as pool:
                judged = pool.map(
                    lambda at: self.verdict(tasks[at], parents[at], replies[at], shown=known[at]),
                    places,
                )
                found.update(zip(places, judged, strict=True))
        return [found[at] for at in range(len(replies))]

    def _of(self, task: str) -> Evaluator:
        with self._lock:
            if task not in self._evaluators:
                for other, open_one in list(self._evaluators.items()):
                    if not isinstance(open_one, ReplayEvaluator):
                        self._evaluators.pop(other).close()
                self._evaluators[task] = choose_evaluator(
                    find_task(task, self._judging.policy, self._judging.dialect),
                    self._judging,
                    on_progress=self._say,
                )
            return self._evaluators[task]

    def _writing(self, evaluator: Evaluator) -> Writing:
        """How replies are read."""
        values = self._values or isinstance(evaluator, ReplayEvaluator)
        return writing_of(evaluator.task.dialect).asked(tunables_only=values)

    @staticmethod
    def _request(evaluator: Evaluator, parent: Candidate, *, seed: int) -> ProposalRequest:
        evaluation = evaluator.evaluate(parent)
        profile = evaluator.profile(parent, evaluation) if evaluation.measured else None
        seen = evaluation.model_copy(update={"profile": profile})
        return ProposalRequest(
            task=evaluator.task,
            parent=parent,
            evaluation=evaluation,
            guidance=RooflineAdvisor().advise(evaluator.task, seen),
            move=Move("improve", 0),
            profile=profile,
            tried=frozenset({parent.id}),
            seed=seed,
        )


def reward_function(judge: LiveJudge, name: str = "lower_bound") -> Callable[..., list[float]]:
    """One of `REWARDS` as TRL calls reward functions: with the completions of a batch, as texts or
    as messages, and the columns of `LiveJudge.questions`; a column `shown` has the candidates that
    a prompt lists. An unusable reply has the lowest reward.

    InputError for a name that is none.
    """
    reward = _reward(name)

    def rewards(
        *,
        completions: Sequence[Any],
        task: Sequence[str],
        parent: Sequence[str],
        shown: Sequence[Collection[str]] | None = None,
        **_: Any,
    ) -> list[float]:
        replies = [_text(each) for each in completions]
        found = judge.verdicts(task, parent, replies, shown=shown)
        return [LOWEST if verdict is None else reward(verdict) for verdict in found]

    rewards.__name__ = f"rooftree_{name}"
    return rewards


class KernelEnvironment:
    """A model proposes, is told the verdict, and proposes again: the best verdict is the reward.

    As TRL has environments: `reset` takes a row of `LiveJudge.questions`, `propose` is the tool.
    """

    def __init__(self, judge: LiveJudge, name: str = "lower_bound") -> None:
        self._judge, self._reward = judge, _reward(name)
        self._task = self._parent = ""
        self._best: float | None = None

    def reset(self, *, task: str, parent: str, **_: Any) -> None:
        """Begin with a row's task and parent."""
        self._task, self._parent, self._best = task, parent, None

    def propose(self, reply: str) -> str:
        """Have a variant judged: built, compared with the reference, and timed.

        Args:
            reply: The variant in the form that the prompt asks for, with all its parts.

        Returns:
            What the judge found: the speedup over the baseline, or why there is none.
        """
        verdict = self._judge.verdict(self._task, self._parent, reply)
        earned = LOWEST if verdict is None else self._reward(verdict)
        self._best = earned if self._best is None else max(self._best, earned)
        if verdict is None:
            return UNUSABLE
        if verdict.speedup is not None:
            return f"right, {verdict.speedup:.2f} times as fast as the baseline"
        return f"{why(verdict)}: {verdict.message}"

    def get_reward(self) -> float:
        """The best reward of this episode; the lowest if nothing was proposed."""
        return LOWEST if self._best is None else self._best


def environments(judge: LiveJudge, name: str = "lower_bound") -> Callable[[], KernelEnvironment]:
    """What makes environments over one judge, for `environment_factory`."""
    _reward(name)
    return partial(KernelEnvironment, judge, name)


def _reward(name: str) -> Reward:
    if name not in REWARDS:
        raise InputError(f"unknown reward {name!r}: one of {', '.join(REWARDS)}")
    return REWARDS[name]


def _text(completion: Any) -> str:
    """What a completion says: itself, or its last message."""
    if isinstance(completion, str):
        return completion
    return str(completion[-1]["content"]) if completion else ""
