"""What to do when a run's language model cannot be used: mend and resume, or start a new run."""

from __future__ import annotations

from codegen.chat.clients import in_process
from codegen.chat.in_process import model_folder
from codegen.dialects import writing_of
from experiments.runs.options.config import RunConfig
from experiments.runs.wiring.choosing import REPLAY
from mcts.domain import KernelTask
from mcts.errors import InputError, WorldError
from mcts.options import ModelOptions

_MENDABLE = ("refused the credentials", "wants to be paid first")
_FINAL = ("does not know this model", "refused the request")
"""Words of `codegen.chat.litellm_errors` for a service's refusals."""


def check_models(model: ModelOptions) -> None:
    """Raise InputError if litellm does not know the model or a fallback, has no key for it, or the
    folder of one that runs in this process holds none.

    Imports litellm, which takes seconds that the first request would take otherwise.
    """
    if model.name is None or model.replay is not None or model.queue is not None:
        return
    if in_process(model):
        model_folder(model.name)
        return
    if model.name.startswith("queue/"):
        raise InputError(
            f"{model.name} is answered by files in a folder: say which, by --llm-queue DIR"
        )
    from codegen.chat.models import missing_key, similar_model, unknown_models

    for name in unknown_models((model.name, *model.fallbacks), api_base=model.api_base):
        option = "--model" if name == model.name else "--fallback"
        close = similar_model(name)
        hint = f" (did you mean {close}?)" if close else ""
        raise InputError(
            f"{option} {name}: litellm knows no such model or provider{hint}; write "
            "PROVIDER/MODEL, or openai/MODEL with --api-base for a server of your own"
        )
    if model.api_base is not None:
        return
    for name in (model.name, *model.fallbacks):
        if key := missing_key(name):
            raise InputError(
                f"{name} needs a key, and {key} is not set: export {key}=..., or name a server of "
                "your own with --api-base"
            )


def check_values_alone(task: KernelTask, config: RunConfig) -> None:
    """InputError for options that are for values alone where code is written, that need a model in
    this process where there is none, or another option.
    """
    model = config.model
    only = config.judging.evaluator == REPLAY
    writing = writing_of(task.dialect).asked(tunables_only=only)
    if model.prompt_form == "brief" and writing.contract.whole_file:
        raise InputError(
            "--prompt-form brief is for values of a recorded kernel: here code is written "
            f"(--evaluator {config.judging.evaluator})"
        )
    if model.model_prior and not in_process(model):
        raise InputError("--model-prior needs --model transformers/DIR, which runs in this process")
    if model.tune_seconds is not None and not model.tune:
        raise InputError("--tune-seconds needs --tune N: no further values are timed without it")


def remedy(error: InputError | WorldError, config: RunConfig, *, again: str) -> str:
    """What to do after an error of a run that has begun; `again` is the command that resumes it.

    A run keeps its model and its server: if those are refused for good, it takes a new run.
    """
    text = str(error)
    if isinstance(error, WorldError):
        if _is_silent(text, config.model.api_base):
            return f"resume with: {again} (another --api-base needs a new run)"
        return f"resume with: {again}"
    final = any(words in text for words in _FINAL)
    if config.model.name is None or not final or any(words in text for words in _MENDABLE):
        return f"mend that, then resume with: {again}"
    other = "another --model or --api-base" if config.model.api_base else "another --model"
    return f"start a new run with {other}: this one keeps what it began with"


def _is_silent(text: str, api_base: str | None) -> bool:
    """Whether an error says that the server at `api_base` gave no answer."""
    if api_base is None:
        return False
    from codegen.chat.scrubbing import address

    return f" at {address(api_base)} gave no answer" in text
