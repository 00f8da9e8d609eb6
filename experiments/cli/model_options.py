"""Options about the language model, and caps on what a run may take."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from experiments.cli.options import YEAR_MIN

DAY_S = 24 * 3600
MaxMinutes = Annotated[
    float | None,
    typer.Option(
        min=0.01, max=YEAR_MIN, hidden=True, help="Another name for --minutes, beside its like."
    ),
]
MaxCost = Annotated[
    float | None,
    typer.Option(
        min=0.0001, help="Stop once the model has cost so many US dollars.", metavar="USD"
    ),
]
MaxTokens = Annotated[
    int | None,
    typer.Option(min=1, help="Stop once the model has read and written so many tokens."),
]
MaxGpuMinutes = Annotated[
    float | None,
    typer.Option(min=0.01, max=YEAR_MIN, help="Stop after so many minutes of judging candidates."),
]
Model = Annotated[
    str | None, typer.Option(help="A model name litellm knows; implies the llm proposer.")
]
ApiBase = Annotated[str | None, typer.Option(help="Address of an OpenAI-compatible server.")]
Fallback = Annotated[
    list[str] | None,
    typer.Option(help="A model to ask where the first gives no answer; repeatable, in order."),
]
Price = Annotated[
    list[str] | None,
    typer.Option(
        help="What a model costs, as MODEL=IN,OUT in US dollars per million tokens; for local "
        "servers and models litellm has no price for; repeatable."
    ),
]
LlmTimeout = Annotated[
    float | None,
    typer.Option(min=0.1, max=DAY_S, help="Seconds a request may take; default: 300."),
]
LlmRetries = Annotated[
    int | None,
    typer.Option(min=0, max=100, help="How often a failed request is sent again; default: 2."),
]
ReplyTokens = Annotated[
    int | None, typer.Option(min=1, help="The longest reply, in tokens; default: 16000.")
]
Temperature = Annotated[
    float | None, typer.Option(min=0, max=2, help="How freely the model answers; default: 0.7.")
]
LlmCache = Annotated[
    str | None,
    typer.Option(
        help="The file that keeps the model's answers, or off; default: llm_cache.sqlite in the "
        "run folder.",
        metavar="FILE|off",
    ),
]
LlmRecord = Annotated[
    Path | None, typer.Option(help="Add every question and answer to this file of JSON lines.")
]
LlmReplay = Annotated[
    Path | None, typer.Option(help="Play the answers that --llm-record wrote, asking nobody.")
]
Feedback = Annotated[
    str | None,
    typer.Option(
        help="What prompts say of the profile: tools (advice), counters (raw) or none; default: "
        "tools."
    ),
]
Branches = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=16,
        help="Values of its tunables to time of each proposal, the best is kept; default: 1.",
    ),
]
Library = Annotated[
    str | None,
    typer.Option(
        help="What the model may look things up in while it writes: cutlass, the installed one, or "
        "cutlass=PATH.",
        metavar="cutlass[=PATH]",
    ),
]
Lookups = Annotated[
    int | None,
    typer.Option(min=1, max=200, help="How many look-ups of one proposal; default: 12."),
]
LookupTokens = Annotated[
    int | None,
    typer.Option(min=200, help="Tokens that they may take, by estimate; default: 24000."),
]
LookupProtocol = Annotated[
    str | None,
    typer.Option(
        help="How look-ups are asked for: calls (the service's tool calling), text (for every "
        "model) or auto; default: auto."
    ),
]
PromptTokens = Annotated[
    int | None, typer.Option(min=2000, help="The longest prompt, in tokens; default: 24000.")
]
ReplyRepairs = Annotated[
    int | None,
    typer.Option(min=0, max=10, help="How often an unusable reply is asked for again; default: 1."),
]
