"""How far a run may go."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from mcts.options.option import YEAR_MIN, Option, Options


class Limits(Options):
    """When a run stops: after so many trials (failures included), minutes, US dollars or tokens of
    language models, or minutes in which candidates were judged. None is no limit.

    Nothing new is asked once a limit is reached. Trials in flight are still finished, so a run may
    go beyond it by at most `parallel` trials. The finalists are measured again even then: an
    unconfirmed best is not a result.

    `stop_within` ends a run that has little left to gain: once the best takes at most this share
    longer than its inputs and outputs need at the measured bandwidth. Traffic alone counts, since
    no algebra makes it less; a task that arithmetic bounds, or several shapes, never ends by it.
    Where the baseline is a reference the best proposed variant counts.
    """

    title: ClassVar[str] = "Limits"

    evaluations: Annotated[
        int,
        Field(ge=1),
        Option(name="--evaluations", help="How many trials, failures included."),
    ] = 60
    minutes: Annotated[
        float | None,
        Field(ge=0.01, le=YEAR_MIN),
        Option(name="--minutes", aliases=("--max-minutes",), help="Stop after so many minutes."),
    ] = None
    cost_usd: Annotated[
        float | None,
        Field(ge=0.0001),
        Option(
            name="--max-cost",
            help="Stop once the model has cost so many US dollars.",
            metavar="USD",
            needs=("model", "answers"),
        ),
    ] = None
    tokens: Annotated[
        int | None,
        Field(ge=1),
        Option(
            name="--max-tokens",
            help="Stop once the model has read and written so many tokens.",
            needs=("model", "answers"),
        ),
    ] = None
    gpu_minutes: Annotated[
        float | None,
        Field(ge=0.01, le=YEAR_MIN),
        Option(
            name="--max-gpu-minutes",
            help="Stop after so many minutes of judging candidates.",
            needs=("gpu",),
        ),
    ] = None
    stop_within: Annotated[
        float | None,
        Field(ge=0, le=10),
        Option(
            name="--stop-within",
            help="Stop once the best takes at most this share (0.1: 10 %) longer than moving its "
            "inputs and outputs once; 0.1 if a model's variants are measured, otherwise never.",
            metavar="SHARE",
        ),
    ] = None
