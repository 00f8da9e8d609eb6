"""`optimize`, `resume`, `worker`: searching."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from experiments.cli.display_options import Plain, Quiet, display_of
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
    Baseline,
    Device,
    DialectOption,
    Evaluations,
    EvaluatorOption,
    Include,
    Json,
    KernelOption,
    Minutes,
    Policy,
    RecordingOption,
    Run,
    Task,
    Ungated,
    Unsafe,
    measuring_of,
)
from experiments.runs.options import names


def register(app: typer.Typer) -> None:
    """Add the commands to the program, in the order in which help lists them."""
    for command in (optimize, resume, worker):
        app.command()(command)


def optimize(
    task: Task,
    evaluator: EvaluatorOption = "auto",
    proposer: Annotated[
        str, typer.Option(help="Who proposes: scripted, llm, auto, or a plug-in's name.")
    ] = "auto",
    model: Model = None,
    api_base: ApiBase = None,
    recording: RecordingOption = None,
    evaluations: Evaluations = 60,
    minutes: Minutes = None,
    max_minutes: MaxMinutes = None,
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
    seed: Annotated[int, typer.Option(help="Same seed and recording, same tree.")] = 0,
    parallel: Annotated[int, typer.Option(min=1, help="Trials in flight at a time.")] = 1,
    device: Device = 0,
    search: Annotated[
        list[str] | None,
        typer.Option(
            help=f"Which search ({', '.join(names.OURS[names.SEARCHES])}, or a plug-in's), and its "
            "constants, as NAME=NUMBER; repeatable."
        ),
    ] = None,
    memory: Annotated[
        Path | None,
        typer.Option(help="Learn from and teach this file, or off; default: yours, replays none."),
    ] = None,
    objective: Annotated[
        str, typer.Option(help="What to have less of: time, energy (at matched speed) or edp.")
    ] = "time",
    finalists: Annotated[
        int, typer.Option(min=0, help="How many of the best are measured once more at the end.")
    ] = 3,
    wait: Annotated[
        float | None,
        typer.Option(
            min=0.01,
            max=YEAR_MIN,
            help="With spool:DIR, give up after so many minutes without a worker; default: never.",
        ),
    ] = None,
    dialect: DialectOption = None,
    kernel: KernelOption = None,
    include: Include = None,
    policy: Policy = None,
    baseline: Baseline = "eager",
    ungated: Ungated = False,
    unsafe: Unsafe = False,
    out: Annotated[
        Path | None, typer.Option(help="The run folder; default: the next free runs/TASK-N.")
    ] = None,
    attribute: Annotated[
        bool,
        typer.Option("--attribute", help="At the end, say what each method of the best is worth."),
    ] = False,
    plain: Plain = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Search for a faster kernel and hand back the best one found, with proof."""
    from experiments.app.optimize import optimize as start
    from experiments.runs.options.asking import read_asking
    from experiments.runs.options.request import RunRequest, parse_settings, split_search

    display = display_of(plain=plain, quiet=quiet)
    name, constants = split_search(search or [])
    start(
        RunRequest(
            task=task,
            evaluator=evaluator,
            proposer=proposer,
            recording=recording,
            model=model,
            api_base=api_base,
            library=library,
            evaluations=evaluations,
            minutes=minutes or max_minutes,
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
            search=name,
            search_settings=parse_settings(constants),
            memory=memory,
            objective=objective,
            finalists=finalists,
            wait_minutes=wait,
            measuring=measuring_of(
                policy=policy,
                baseline=baseline,
                ungated=ungated,
                unsafe=unsafe,
                dialect=dialect,
                include=include,
                kernel=kernel,
            ),
            out=out,
            as_json=json,
        ),
        attribute=attribute,
        display=display,
    )


def resume(
    run: Run,
    evaluations: Annotated[
        int | None, typer.Option(min=1, help="A new number of trials in all.")
    ] = None,
    minutes: Minutes = None,
    max_minutes: MaxMinutes = None,
    max_cost: MaxCost = None,
    max_tokens: MaxTokens = None,
    max_gpu_minutes: MaxGpuMinutes = None,
    price: Price = None,
    plain: Plain = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Go on with a run that was interrupted; nothing is measured or paid for twice."""
    from experiments.app.optimize import resume as go_on

    go_on(
        run,
        evaluations=evaluations,
        minutes=minutes or max_minutes,
        max_cost_usd=max_cost,
        max_tokens=max_tokens,
        max_gpu_minutes=max_gpu_minutes,
        prices=price or (),
        as_json=json,
        display=display_of(plain=plain, quiet=quiet),
    )


def worker(
    folder: Annotated[Path, typer.Argument(help="The folder of jobs.", metavar="DIR")],
    drain: Annotated[bool, typer.Option("--drain", help="End when no job is left.")] = False,
    device: Device = 0,
    parallel: Annotated[int, typer.Option(min=1, help="Jobs of one task at a time.")] = 4,
    recording: RecordingOption = None,
    include: Include = None,
    unsafe: Unsafe = False,
) -> None:
    """Measure what others put into a folder: for GPU machines that see no network."""
    from experiments.cli.commands.worker import worker as work

    raise typer.Exit(
        work(
            folder,
            drain=drain,
            device=device,
            parallel=parallel,
            recording=recording,
            unsafe=unsafe,
            includes=tuple(include or ()),
        )
    )
