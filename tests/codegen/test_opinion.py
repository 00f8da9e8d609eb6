"""A second opinion: what is asked, what is read of the reply, and that it is a remark alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

import pytest

from codegen.chat.messages import Message, Reply
from codegen.opinion import second_opinion
from codegen.prompting.opinion import opinion_prompt
from codegen.prompting.rules import RULES
from codegen.replies.opinion import Opinion, opinion_of
from mcts.domain import Candidate, CheatClass
from mcts.errors import InputError, ProposalRejected
from mcts.options import ModelOptions
from tests.codegen.cases import problem_task, scale_task
from tests.codegen.prompting.test_prompts import MODEL, OTHER, compare_golden


class Scripted:
    """Replies one text, or refuses."""

    def __init__(self, text: str | None) -> None:
        self.text, self.asked = text, list[Sequence[Message]]()

    def complete(self, messages: Sequence[Message], **_: Any) -> Reply:
        self.asked.append(messages)
        if self.text is None:
            raise ProposalRejected("refused the prompt")
        return Reply(text=self.text, model="m")

    def close(self) -> None:
        """Nothing is held."""


@pytest.mark.parametrize(
    ("name", "made"),
    [("opinion.cuda", (scale_task, OTHER)), ("opinion.kernelbench", (problem_task, MODEL))],
)
def test_the_golden_prompt_has_not_changed(name: str, made: tuple[Any, Candidate]) -> None:
    prompt = opinion_prompt(made[0](), made[1])
    compare_golden(name, prompt)
    assert prompt.id == "opinion/2"


def test_it_names_every_rule_and_not_what_the_candidate_says_of_itself() -> None:
    told = OTHER.model_copy(update={"name": "a trick", "rationale": "caches its outputs"})
    system, user = (one["content"] for one in opinion_prompt(scale_task(), told).messages)
    assert set(RULES) == set(get_args(CheatClass))
    assert all(f"- `{name}`: " in system for name in RULES)
    assert "a trick" not in user and "caches its outputs" not in user


def test_a_candidate_that_is_too_long_is_told() -> None:
    long = Candidate(source=OTHER.source + "// x\n" * 20_000)
    with pytest.raises(InputError, match="too long for a second opinion"):
        opinion_prompt(scale_task(), long)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"honest": true, "breaks": null, "why": "a  sum\\n"}', Opinion(honest=True, why="a sum")),
        (
            'I think\n```json\n{"honest": false, "breaks": "leak", "why": "x"}\n```',
            Opinion(honest=False, breaks="leak", why="x"),
        ),
        ('{"honest": false, "breaks": "made up"}', Opinion(honest=False)),
        ('{"honest": true, "breaks": "leak"}', Opinion(honest=True)),
        ('<think>{"honest": true}</think>{"honest": false}', Opinion(honest=False)),
        ("honest", None),
        ('{"honest": "yes"}', None),
        ("{", None),
        ('{"why": ["x"]}', None),
    ],
)
def test_the_last_object_with_a_verdict_counts(text: str, found: Opinion | None) -> None:
    assert opinion_of(text) == found


def test_what_the_model_says_is_handed_on_and_a_refusal_is_no_opinion() -> None:
    options = ModelOptions(name="m")
    client = Scripted('{"honest": false, "breaks": "garbage", "why": "races"}')
    assert second_opinion(client, scale_task(), OTHER, options) == Opinion(
        honest=False, breaks="garbage", why="races"
    )
    assert len(client.asked) == 1
    assert second_opinion(Scripted(None), scale_task(), OTHER, options) is None
    assert second_opinion(Scripted("no"), scale_task(), OTHER, options) is None
