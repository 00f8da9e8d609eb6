"""`kernelbench`: many problems, and the field's metrics over them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from experiments.cli.model_options import (
    ApiBase,
    Branches,
    Fallback,
    Feedback,
    Library,
    LlmCache,
    LlmRecord,
    LlmReplay,
    LlmRetries,
    LlmTimeout,
    LookupProtocol,
    Lookups,
    LookupTokens,
    MaxCost,
    MaxGpuMinutes,
    MaxMinutes,
    MaxTokens,
    Model,
    Price,
    PromptTokens,
    ReplyRepairs,
    ReplyTokens,
    Temperature,
)
from experiments.cli.options import (
    YEAR_MIN,
    Device,
    EvaluatorOption,
    Json,
    Policy,
    Ungated,
    Unsafe,
    measuring_of,
)

app = typer.Typer(
    name="kernelbench",
    no_args_is_help=True,
    help="Search many KernelBench problems, and score them as the benchmark does.",
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.command()
def run(
    root: Annotated[
        Path, typer.Option(help="A KernelBench checkout, or a folder of levels.", metavar="PATH")
    ],
    level: Annotated[int, typer.Option(min=1, help="Which level: the folder level1, say.")],
    out: Annotated[
        Path, typer.Option("-o", "--out", help="The suite's folder; a second call goes on in it.")
    ],
    problems: Annotated[str, typer.Option(help="Numbers and ranges, as 1,5,10-20, or all.")] = (
        "all"
    ),
    budget: Annotated[
        int, typer.Option(min=1, help="How many trials for each problem, failures included.")
    ] = 20,
    max_total_cost: Annotated[
        float | None,
        typer.Option(
            min=0.0001,
            help="Begin no further problem once all have cost so many US dollars. The other caps "
            "are for each problem.",
            metavar="USD",
        ),
    ] = None,
    no_compile: Annotated[
        bool, typer.Option("--no-compile", help="Leave torch.compile out of the figures.")
    ] = False,
    evaluator: EvaluatorOption = "auto",
    proposer: Annotated[
        str, typer.Option(help="Who proposes: llm, auto, or a plug-in's name.")
    ] = "auto",
    model: Model = None,
    api_base: ApiBase = None,
    minutes: MaxMinutes = None,
    max_cost: MaxCost = None,
    max_tokens: MaxTokens = None,
    max_gpu_minutes: MaxGpuMinutes = None,
    fallback: Fallback = None,
    price: Price = None,
    llm_timeout: LlmTimeout = None,
    llm_retries: LlmRetries = None,
    reply_tokens: ReplyTokens = None,
    temperature: Temperature = None,
    feedback: Feedback = None,
    branches: Branches = None,
    prompt_tokens: PromptTokens = None,
    reply_repairs: ReplyRepairs = None,
    library: Library = None,
    lookups: Lookups = None,
    lookup_tokens: LookupTokens = None,
    lookup_protocol: LookupProtocol = None,
    llm_cache: LlmCache = None,
    llm_record: LlmRecord = None,
    llm_replay: LlmReplay = None,
    seed: Annotated[int, typer.Option(help="Of every problem's search.")] = 0,
    parallel: Annotated[int, typer.Option(min=1, help="Trials in flight at a time.")] = 1,
    device: Device = 0,
    memory: Annotated[
        Path | None, typer.Option(help="Learn from and teach this file, or off; default: yours.")
    ] = None,
    wait: Annotated[
        float | None,
        typer.Option(
            min=0.01,
            max=YEAR_MIN,
            help="With spool:DIR, give up after so many minutes without a worker.",
        ),
    ] = None,
    policy: Policy = None,
    dialect: Annotated[
        str | None, typer.Option(hidden=True, help="As for optimize; a suite has PyTorch alone.")
    ] = None,
    include: Annotated[
        list[Path] | None, typer.Option(hidden=True, help="As for optimize; refused here.")
    ] = None,
    ungated: Ungated = False,
    unsafe: Unsafe = False,
    json: Json = False,
) -> None:
    """Search for a faster kernel for each problem; exit code 1 if one ended in an error."""
    from experiments.cli.commands.kernelbench import run as start
    from experiments.runs.options.asking import read_asking
    from experiments.runs.options.request import RunRequest

    clean = start(
        root=root,
        level=level,
        problems=problems,
        request=RunRequest(
            task="",
            evaluator=evaluator,
            proposer=proposer,
            model=model,
            api_base=api_base,
            library=library,
            evaluations=budget,
            minutes=minutes,
            max_cost_usd=max_cost,
            max_tokens=max_tokens,
            max_gpu_minutes=max_gpu_minutes,
            asking=read_asking(
                fallbacks=fallback,
                prices=price,
                timeout_s=llm_timeout,
                retries=llm_retries,
                reply_tokens=reply_tokens,
                temperature=temperature,
                feedback=feedback,
                branches=branches,
                prompt_tokens=prompt_tokens,
                reply_repairs=reply_repairs,
                lookups=lookups,
                lookup_tokens=lookup_tokens,
                lookup_protocol=lookup_protocol,
                cache=llm_cache,
                record=llm_record,
                replay=llm_replay,
            ),
            seed=seed,
            parallel=parallel,
            device=device,
            memory=memory,
            wait_minutes=wait,
            measuring=measuring_of(
                policy=policy,
                baseline="eager",
                ungated=ungated,
                unsafe=unsafe,
                dialect=dialect,
                include=include,
            ),
        ),
        compare=not no_compile,
        max_total_cost_usd=max_total_cost,
        out=out,
        as_json=json,
    )
    raise typer.Exit(0 if clean else 1)


@app.command()
def report(
    folder: Annotated[Path, typer.Argument(help="A suite's folder.", metavar="DIR")],
    json: Json = False,
) -> None:
    """Show a suite's results, also while it runs, and write results.csv and results.json."""
    from experiments.cli.commands.kernelbench import report as show

    show(folder, as_json=json)
