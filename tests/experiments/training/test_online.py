"""Judging while a model is trained, on recordings; and TRL taking rewards from it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from experiments.runs.wiring.composing import choose_evaluator
from experiments.training import online
from experiments.training.online import (
    UNUSABLE,
    KernelEnvironment,
    LiveJudge,
    environments,
    reward_function,
)
from experiments.training.rewards import LOWEST, lower_bound
from mcts.domain import Candidate
from mcts.errors import InputError
from mcts.options import JudgingOptions

TASK = "row_softmax"
FAST = {"LANES": 256, "KEEP": 16, "FAST": 1}


class Measuring:
    """An evaluator that is not known to look up."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


@pytest.fixture(scope="module")
def judge() -> Iterator[LiveJudge]:
    with LiveJudge(JudgingOptions(evaluator="replay"), say=lambda _: None) as found:
        yield found


@pytest.fixture(scope="module")
def rows(judge: LiveJudge) -> list[dict[str, Any]]:
    return list(judge.questions(TASK, 4, seed=1))


def values(**chosen: int) -> str:
    return (
        f"## Analysis\n\nA.\n\n## Plan\n\nB.\n\n## Values\n\n```json\n{json.dumps(chosen)}\n```\n"
    )


def test_questions_are_prompts_of_a_search(judge: LiveJudge, rows: list[dict[str, Any]]) -> None:
    assert len(rows) == 4
    parents = [Candidate.model_validate_json(row["parent"]) for row in rows]
    assert len({parent.id for parent in parents}) == 4
    for row in rows:
        assert [message["role"] for message in row["prompt"]] == ["system", "user"]
        assert "# Advice from the profile" in row["prompt"][1]["content"]
    assert [row["parent"] for row in judge.questions(TASK, 4, seed=1)] == [
        row["parent"] for row in rows
    ]
    other = [row["parent"] for row in judge.questions(TASK, 4, seed=2)]
    assert other[0] == rows[0]["parent"] and other[1:] != [row["parent"] for row in rows[1:]]


def test_the_reward_is_that_of_the_judges_verdict(
    judge: LiveJudge, rows: list[dict[str, Any]]
) -> None:
    parent = rows[0]["parent"]
    verdict = judge.verdict(TASK, parent, values(BLOCK=256, **FAST))
    assert verdict is not None and verdict.speedup is not None and verdict.speedup > 3
    texts = [values(BLOCK=256, **FAST), "nothing", values(BLOCK=7), values(BLOCK=256)]
    messages = [[{"role": "assistant", "content": text}] for text in texts]
    of = reward_function(judge)
    assert of.__name__ == "rooftree_lower_bound"
    for completions in (texts, messages):
        found = of(
            prompts=["p"] * 4, completions=completions, task=[TASK] * 4, parent=[parent] * 4,
            completion_ids=[[1]] * 4, trainer_state=None,
        )  # fmt: skip
        assert found[0] == lower_bound(verdict) > 0.2
        assert found[1] == found[2] == LOWEST
        assert LOWEST < found[3] < found[0]
    assert of(completions=[], task=[], parent=[]) == []


def test_values_may_be_asked_for_where_code_could_be_written(
    rows: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def measures(*arguments: Any, **named: Any) -> Any:
        return Measuring(choose_evaluator(*arguments, **named))

    monkeypatch.setattr(online, "choose_evaluator", measures)
    reply, parent = values(BLOCK=256, **FAST), rows[0]["parent"]
    judging = JudgingOptions(evaluator="replay")
    with LiveJudge(judging, values=True, say=lambda _: None) as judge:
        verdict = judge.verdict(TASK, parent, reply)
        assert verdict is not None and verdict.measured
    with LiveJudge(judging, say=lambda _: None) as judge:
        assert judge.verdict(TASK, parent, reply) is None, "it holds no code"


def test_an_environment_tells_verdicts_and_keeps_the_best(
    judge: LiveJudge, rows: list[dict[str, Any]]
) -> None:
    environment = environments(judge)()
    assert isinstance(environment, KernelEnvironment) and environment.get_reward() == LOWEST
    environment.reset(**rows[0])
    assert environment.propose("nothing") == UNUSABLE
    assert environment.get_reward() == LOWEST
    assert "times as fast" in environment.propose(values(BLOCK=256, **FAST))
    best = environment.get_reward()
    environment.propose(values(BLOCK=256))
    assert environment.get_reward() == best > 0.2
    environment.reset(**rows[1])
    assert environment.get_reward() == LOWEST


def test_bad_input_is_one_line(judge: LiveJudge) -> None:
    with pytest.raises(InputError, match="unknown reward 'speed'"):
        reward_function(judge, "speed")
    with pytest.raises(InputError, match="parent is no candidate"):
        judge.verdict(TASK, "nonsense", values(BLOCK=256))
    with pytest.raises(InputError, match="no_such_task"):
        list(judge.questions("no_such_task", 1))


def test_trl_trains_on_it(judge: LiveJudge, rows: list[dict[str, Any]], tmp_path: Path) -> None:
    """Two steps of GRPO of a tiny model that knows nothing: what is shown is the way."""
    trl = pytest.importorskip("trl")
    datasets = pytest.importorskip("datasets")
    transformers = pytest.importorskip("transformers")
    model = transformers.GPT2LMHeadModel(
        transformers.GPT2Config(
            vocab_size=260, n_positions=64, n_embd=16, n_layer=1, n_head=2,
            bos_token_id=257, eos_token_id=257, pad_token_id=256,
        )
    )  # fmt: skip
    short = [{**row, "prompt": row["task"]} for row in rows]
    arguments = trl.GRPOConfig(
        output_dir=str(tmp_path), max_steps=2, num_generations=2, per_device_train_batch_size=2,
        max_completion_length=8, use_cpu=True, report_to=[], save_strategy="no", logging_steps=1,
        disable_tqdm=True, bf16=False, gradient_checkpointing=False,
    )  # fmt: skip
    trainer = trl.GRPOTrainer(
        model=model,
        args=arguments,
        reward_funcs=[reward_function(judge), reward_function(judge, "levels")],
        train_dataset=datasets.Dataset.from_list(short),
        processing_class=_bytes_tokenizer(transformers),
    )
    trainer.train()
    logged = [line for line in trainer.state.log_history if "reward" in line]
    assert len(logged) == 2
    for line in logged:
        assert line["rewards/rooftree_lower_bound/mean"] == LOWEST, "it says nothing of use yet"
        assert line["rewards/rooftree_levels/mean"] == LOWEST


def _bytes_tokenizer(transformers: Any) -> Any:
    """Characters as tokens."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    words = {symbol: number for number, symbol in enumerate(alphabet)}
    words |= {"<pad>": 256, "<end>": 257, "<unk>": 258}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.ByteLevel(add_prefix_space=False), pre_tokenizers.Split("", "isolated")]
    )
    tokenizer.decoder = decoders.ByteLevel()
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<pad>", eos_token="<end>", unk_token="<unk>"
    )
