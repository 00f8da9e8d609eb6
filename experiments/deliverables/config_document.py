"""The configuration of a run as `run.json` shows it since its version 2: flat.

It is a published shape, which scripts of others read. An option that is new to a run's own
configuration comes here too, with what runs did before as its default, and to `PLACES` of
`first_format.py`, which says where it stands in the run's; `run.json`'s version changes when a
field goes or means something else.
"""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from experiments.runs.options import names
from experiments.runs.options.config import RecordingReference, RunConfig
from experiments.runs.options.first_format import flat
from experiments.runs.options.libraries import LibraryReference
from experiments.runs.options.option_conflicts import ASKS_NO_MODEL
from mcts.domain import DialectField, Noun, Policy
from mcts.options.model import Feedback, PromptForm, Protocol, Roles
from mcts.options.search import Objective


class AskingDocument(Noun):
    """How the language model was asked."""

    fallbacks: tuple[str, ...] = ()
    prices: tuple[str, ...] = ()
    timeout_s: float = Field(default=300.0, gt=0)
    retries: int = Field(default=2, ge=0)
    reply_tokens: int = Field(default=16_000, ge=1)
    temperature: float = Field(default=0.7, ge=0, le=2)
    feedback: Feedback = "tools"
    roles: Roles = "coder"
    prompt_form: PromptForm = "full"
    model_prior: bool = False
    problem_steps: bool = False
    problem_modules: bool = False
    tune: int = Field(default=0, ge=0)
    tune_seconds: float | None = Field(default=None, gt=0)
    branches: int = Field(default=1, ge=1)
    prompt_tokens: int = Field(default=24_000, ge=1)
    reply_repairs: int = Field(default=1, ge=0)
    lookups: int = Field(default=12, ge=1)
    lookup_tokens: int = Field(default=24_000, ge=200)
    lookup_protocol: Protocol = "auto"
    cache: str = "llm_cache.sqlite"
    record: str | None = None
    replay: str | None = None


class ConfigDocument(Noun):
    """Every choice of a run, with `auto` already resolved, and without what names a place on its
    machine.

    `task` is what the user gave. `search_settings` overrides single constants of the search.
    `tool_weights` is what the run's memory said of the tools when the run began, and `knowledge`
    the hash of what it said of methods. `asking` is how a model is asked, None if none is.
    """

    format: int = 1
    rooftree: str
    task: str
    task_name: str
    evaluator: str
    proposer: str
    search: str = "puct"
    model: str | None = None
    api_base: str | None = None
    evaluations: int = Field(ge=1)
    minutes: float | None = Field(default=None, gt=0)
    max_cost_usd: float | None = Field(default=None, gt=0)
    max_tokens: int | None = Field(default=None, gt=0)
    max_gpu_minutes: float | None = Field(default=None, gt=0)
    stop_within: float | None = Field(default=None, ge=0)
    seed: int = 0
    parallel: int = Field(default=1, ge=1)
    device: int = Field(default=0, ge=0)
    run_id: str = ""
    memory: str | None = None
    objective: Objective = "time"
    finalists: int = Field(default=3, ge=0)
    compiled: bool = False
    ungated: bool = False
    unsafe: bool = False
    wait_minutes: float | None = Field(default=None, gt=0)
    policy: Policy = Policy()
    dialect: DialectField | None = None
    includes: tuple[str, ...] = ()
    asking: AskingDocument | None = None
    search_settings: dict[str, int | float] = {}
    knowledge: str = ""
    tool_weights: dict[str, float] = {}
    recording: RecordingReference | None = None
    library: LibraryReference | None = None

    @classmethod
    def of(cls, config: RunConfig) -> ConfigDocument:
        """The configuration with names for paths, and without addresses of servers."""
        table = flat(config.model_dump(mode="json"))
        asking = {name: table["asking"][name] for name in AskingDocument.model_fields}
        asking |= {name: _named(asking[name]) for name in ("cache", "record", "replay")}
        table |= {
            "task": _named(config.task),
            "evaluator": names.split(config.judging.evaluator)[0],
            "memory": None,
            "api_base": None,
            "includes": [_named(folder) for folder in table["includes"]],
            "asking": None if config.search.proposer in ASKS_NO_MODEL else asking,
        }
        for name in ("recording", "library"):
            if table[name] is not None:
                table[name] = {**table[name], "path": _named(table[name]["path"])}
        return cls(**{name: table[name] for name in cls.model_fields})


def _named(path: str | None) -> str | None:
    """The last part of a path."""
    return None if path is None else Path(path).name
