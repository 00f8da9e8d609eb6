"""What a training run is made of, as it stands in a TOML file."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from experiments.training.rewards import REWARDS
from mcts.errors import InputError

Stage = Literal["sft", "rft", "grpo"]
STAGES: tuple[Stage, ...] = ("sft", "rft", "grpo")
Count = Annotated[int, Field(ge=1)]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Teaching(_Table):
    """The searches that examples come from: on `tasks` with a recording, by each of `teachers`
    with `seeds` seeds of `evaluations` each. What is `held_out` is named so that nobody trains on
    it by mistake.
    """

    tasks: tuple[str, ...] = Field(min_length=1)
    held_out: tuple[str, ...] = ()
    teachers: tuple[Literal["scripted", "uniform"], ...] = ("scripted", "uniform")
    seeds: Count = 20
    evaluations: Count = 40


class Decoder(_Table):
    """The shape of a decoder that is initialised at random, where no model is named."""

    layers: Count = 6
    width: int = Field(default=320, ge=16, multiple_of=16)
    heads: Count = 5
    vocabulary: int = Field(default=2048, ge=300)
    context: int = Field(default=1024, ge=128)

    @model_validator(mode="after")
    def _divides(self) -> Decoder:
        if self.width % self.heads or self.width // self.heads % 2:
            raise ValueError("width must be an even multiple of heads")
        return self


class Lora(_Table):
    """Low-rank adapters in place of all weights (Hu et al., 2021); needs peft."""

    rank: Count = 16
    alpha: Count = 32
    modules: str | tuple[str, ...] = "all-linear"


class Sft(_Table):
    """Supervised fine-tuning on the completions of examples that gained more than `least_gain`, and
    on `renamed` copies of each in which the tunables have other names. With `prompts` these are
    learnt too, not the replies alone: a decoder made from nothing learns from them to copy.
    """

    epochs: float = Field(default=2.0, gt=0)
    batch: Count = 32
    learning_rate: float = Field(default=1e-3, gt=0)
    least_gain: float = Field(default=1.0, ge=0)
    renamed: int = Field(default=2, ge=0, le=100)
    prompts: bool = False


class Rft(_Table):
    """Rejection fine-tuning: of `samples` replies to each of `questions` the best one that gained
    more than `least_gain` is kept, and the model is tuned on these.
    """

    questions: Count = 512
    samples: Count = 8
    temperature: float = Field(default=1.0, gt=0, le=2)
    epochs: float = Field(default=2.0, gt=0)
    batch: Count = 32
    learning_rate: float = Field(default=3e-4, gt=0)
    least_gain: float = Field(default=1.0, ge=0)


class Grpo(_Table):
    """Group relative policy optimisation (Shao et al., 2024), by the judge's reward.

    `beta` weighs the distance from the model that training began with.
    """

    steps: Count = 200
    groups: Count = 8
    samples: Annotated[int, Field(ge=2)] = 8
    temperature: float = Field(default=1.0, gt=0, le=2)
    learning_rate: float = Field(default=5e-5, gt=0)
    beta: float = Field(default=0.0, ge=0)
    reward: str = "lower_bound"

    @model_validator(mode="after")
    def _known(self) -> Grpo:
        if self.reward not in REWARDS:
            raise ValueError(f"reward: one of {', '.join(REWARDS)}")
        return self


class Training(_Table):
    """A training run.

    `model` is a folder or a name that transformers can load; without one a `decoder` is made.
    `data` is a folder of ``rooftree dataset export``, whose supervised set is trained on instead of
    examples; only sft can do without examples. `evaluator` judges: `replay` looks up what was
    recorded, whether there is a GPU or not.
    """

    seed: int = 1
    model: str | None = None
    data: Path | None = None
    examples: Teaching | None = None
    decoder: Decoder = Decoder()
    lora: Lora | None = None
    evaluator: str = "replay"
    prompt_tokens: Count = 768
    reply_tokens: Count = 160
    save_every: Count = 100
    sft: Sft = Sft()
    rft: Rft = Rft()
    grpo: Grpo = Grpo()

    @model_validator(mode="after")
    def _whole(self) -> Training:
        if self.data is None and self.examples is None:
            raise ValueError("name what to train on: [examples] with tasks, or data = FOLDER")
        if self.model is None and self.decoder.context < self.prompt_tokens + self.reply_tokens:
            raise ValueError("the decoder's context must hold prompt_tokens and reply_tokens")
        if self.lora is not None and self.model is None:
            raise ValueError("[lora] adapts a model: name one with model = FOLDER_OR_NAME")
        if self.examples and (both := set(self.examples.tasks) & set(self.examples.held_out)):
            raise ValueError(f"{min(both)} is trained on and held out")
        return self


def read_training(path: Path) -> Training:
    """The run that a file describes. InputError says what is wrong with it."""
    try:
        return Training.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is no TOML file: {error}") from None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        said = first["msg"].removeprefix("Value error, ")
        raise InputError(f"{path}: {where + ': ' if where else ''}{said}") from None
