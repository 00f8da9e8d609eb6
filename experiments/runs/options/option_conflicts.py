"""Options that do not go together: refused in one line, before anything is prepared.

What an option needs, its field says. Here stands what is refused for the lack of it, and what only
several options together tell.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from urllib.parse import urlsplit

from experiments.runs.options import names
from mcts.domain import KernelTask
from mcts.errors import InputError
from mcts.options import OFF, JudgingOptions, Limits, ModelOptions, Need, Options
from mcts.options.option import AUTO

REPLAY = "replay"
_WITHOUT_ARGUMENT = ("gpu", REPLAY)
TRANSFER = "transfer"
ASKS_NO_MODEL = frozenset({"scripted", "uniform", "tpe", TRANSFER})
"""Ours that choose among values of tunables and write no code."""
_LACKING: dict[Need, str] = {
    "model": "{option} is for the llm proposer: give --model NAME with it",
    "answers": "{option} does nothing with --llm-replay: nobody is asked",
    "library": "{option} does nothing without --library",
    "measurements": "{option} is for live measurements: a replay measures nothing",
    "gpu": "{option} is for live measurements: a replay takes no GPU time",
}


def check_proposer(task: KernelTask, proposer: str) -> None:
    """InputError where the proposer cannot write candidates of the task's dialect."""
    begins_with = task.dialect_of(task.baseline.source)
    if begins_with.baseline_is_reference and proposer in ASKS_NO_MODEL:
        raise InputError(
            f"the {proposer} proposer writes no code for KernelBench problems: give --model NAME, "
            "--kernel FILE.cu to search its tunables, or judge candidates with rooftree evaluate"
        )


def check_prior(proposer: str, prior: Collection[Path]) -> None:
    """InputError for recordings of other GPUs that nobody looks at, or for none where they are
    needed.
    """
    if prior and proposer != TRANSFER:
        raise InputError(f"--prior does nothing with --proposer {proposer}: it is for {TRANSFER}")
    if proposer == TRANSFER and not prior:
        raise InputError("--proposer transfer needs --prior RECORDING, of another GPU")


def check_model(proposer: str, model: ModelOptions) -> None:
    """InputError for an option about a language model that would do nothing, or cannot be read."""
    _check_needs(model, _lacking(proposer, model))
    _check_address(model.api_base)
    _check_queue(model)
    if model.prices and proposer not in ASKS_NO_MODEL:
        _check_prices(model)


def _check_queue(model: ModelOptions) -> None:
    """InputError for what has no effect on questions that are files."""
    if model.queue is None:
        return
    if model.api_base is not None or model.fallbacks:
        option = "--api-base" if model.api_base is not None else "--fallback"
        raise InputError(f"{option} does nothing with --llm-queue: whoever answers the files does")
    if model.lookup_protocol == "calls":
        raise InputError("--lookup-protocol calls needs a service: with --llm-queue take text")


def check_limits(limits: Limits, *, proposer: str, model: ModelOptions, evaluator: str) -> None:
    """InputError for a limit on what is not taken."""
    lacking = {*_lacking(proposer, model), *(("gpu",) if evaluator == REPLAY else ())}
    _check_needs(limits, lacking)


def check_evaluator(task: KernelTask, judging: JudgingOptions) -> None:
    """InputError where an option would change nothing about this evaluator.

    `auto` passes what one of its choices could use: ask again once it is decided.
    """
    base, argument = names.split(judging.evaluator)
    if base in _WITHOUT_ARGUMENT and judging.evaluator != base:
        raise InputError(f"evaluator {base} takes no argument: leave out {':' + argument!r}")
    if judging.compiled and not task.dialect.in_pytorch:
        raise InputError("--baseline compile is for KernelBench problems (.py) only")
    if judging.verdict_within is not None and not task.dialect.in_pytorch:
        raise InputError(
            "--verdict-within is for KernelBench problems (.py): each step of device code has a "
            "deadline of its own"
        )
    if judging.includes and not task.dialect.in_pytorch:
        raise InputError("--include is for KernelBench problems (.py), whose candidates may be .cu")
    if judging.includes and base not in ("gpu", "dask", AUTO):
        raise InputError("--include is for --evaluator gpu and dask:")
    if judging.device and base == "dask":
        raise InputError("--device is for --evaluator gpu: a worker is told its own")
    if judging.devices is not None and base not in ("gpu", AUTO):
        raise InputError("--devices is for --evaluator gpu: other evaluators have their own")
    if judging.worker is not None and base != "dask":
        raise InputError("--worker is for --evaluator dask:")
    if judging.devices is not None and judging.device:
        raise InputError("--device and --devices exclude each other: give one of them")
    if base == REPLAY:
        _check_needs(judging, {"measurements"})
    if judging.recording is not None and base == "gpu":
        raise InputError(f"--recording is for evaluator replay, not {base}")
    if judging.wait_minutes is not None and base in (*_WITHOUT_ARGUMENT, AUTO):
        raise InputError("--wait is for --evaluator dask:")


def _lacking(proposer: str, model: ModelOptions) -> set[Need]:
    """What options about a language model could need and do not find."""
    if proposer in ASKS_NO_MODEL:
        return {"model"}
    found: set[Need] = {"library"} if model.library is None else set()
    return found | {"answers"} if model.replay is not None else found


def _check_needs(options: Options, lacking: Collection[Need]) -> None:
    """InputError for the first option given that needs something that is lacking."""
    known, fields = options.options(), type(options).model_fields
    for field, value in options.given().items():
        if value == fields[field].default and not options.defaults_in_help:
            continue
        for need in known[field].needs:
            if need in lacking and (need, value) != ("answers", OFF):
                raise InputError(_LACKING[need].format(option=_named(known[field].name, value)))


def _named(option: str, value: object) -> str:
    """``--baseline compile``: of an option that chooses, what was chosen."""
    return f"{option} {value}" if option == "--baseline" else option


def _check_prices(model: ModelOptions) -> None:
    """InputError for the price of a model that is not asked, and for one that is none."""
    from codegen.chat.prices import names_of, parse_prices

    asked = [name for name in (model.name, *model.fallbacks) if name]
    for priced in parse_prices(model.prices):
        if not any(priced in names_of(name) for name in asked):
            raise InputError(f"--price {priced}: not a model that is asked ({', '.join(asked)})")


def _check_address(api_base: str | None) -> None:
    """InputError for what is no server's address, and for one with a login in it, which would be
    kept with the run. What was given is not repeated: it may hold a key.
    """
    if api_base is None:
        return
    try:
        parts = urlsplit(api_base)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname)
        is_address = is_address and (parts.port is None or parts.port > 0)
    except ValueError:  # a port that is no number, or half of an IPv6 address
        is_address = False
    if not is_address or any(letter.isspace() for letter in api_base):
        raise InputError("--api-base: write it as http://HOST:PORT/v1, or with https://")
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise InputError(
            "--api-base: give the address without login, query and fragment; a key is read from "
            "the environment (OPENAI_API_KEY for models named openai/...)"
        )
