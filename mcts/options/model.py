"""The language model behind a proposer: which one, and how it is asked."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from mcts.options.option import DAY_S, Need, Option, Options, Place, PlaceOrOff

CACHE_FILE = "llm_cache.sqlite"
"""Where answers are kept in a run folder."""
Feedback = Literal["tools", "counters", "both", "evidence", "evidence+tools", "chosen", "none"]
Protocol = Literal["auto", "calls", "text"]
PromptForm = Literal["full", "brief"]
Roles = Literal["coder", "planner", "critic", "planner+critic"]


def _asked(name: str, *needs: Need, **said: Any) -> Option:
    """An option that a proposer without a language model has no use for."""
    return Option(name=name, needs=("model", *needs), **said)


class ModelOptions(Options):
    """Who proposes, if it is a language model, what it is told, and how it answers.

    `fallbacks` are asked in their order if the model gives no answer. `prices` are texts as
    ``MODEL=IN,OUT``. `timeout_s` bounds one request, `retries` the further ones to each model.
    A run without `cache` keeps the answers in its folder. `feedback` is what prompts say of the
    profile, `prompt_tokens` their length, by estimate; with `prompt_form` brief, where values alone
    are chosen, they hold values and times and neither code nor words. With `model_prior` the tree
    follows what a model in this process thinks of the values it chose. `roles`: beside the one who
    writes, a planner that names directions before it, a critic that mends what it wrote, or both, a
    reply each. Of each proposal `branches` values of its tunables are timed, and of a promising one
    up to `tune` more, as long as timing these has taken less than `tune_seconds`. While it prepares
    one, the model may look things up in the `library`
    `lookups` times, for `lookup_tokens` in all: twelve look-ups are two or three searches, some
    definitions and a few readings, and 24,000 tokens are as many as the prompt has, so that the
    conversation at most doubles. `record` is a file that every question and answer is added to;
    `replay` one that is played instead of asking anybody. With a `queue` questions and replies
    are files in that folder, and `timeout_s` bounds the wait only if it is given.
    """

    title: ClassVar[str] = "Language model"

    defaults_in_help: ClassVar[bool] = True

    name: Annotated[
        str | None,
        Option(
            name="--model",
            help="A model name litellm knows, or transformers/DIR for a model that runs in this "
            "process; implies the llm proposer.",
        ),
    ] = None
    api_base: Annotated[
        str | None,
        _asked("--api-base", help="Address of an OpenAI-compatible server.", lasting=False),
    ] = None
    queue: Annotated[
        Place | None,
        _asked(
            "--llm-queue",
            "answers",
            help="Ask by files in this folder: ID.prompt.md is answered by ID.reply.md.",
            metavar="DIR",
            lasting=False,
        ),
    ] = None
    fallbacks: Annotated[
        tuple[str, ...],
        _asked(
            "--fallback",
            help="A model to ask where the first gives no answer; repeatable, in order.",
        ),
    ] = ()
    prices: Annotated[
        tuple[str, ...],
        _asked(
            "--price",
            "answers",
            help="What a model costs, as MODEL=IN,OUT in US dollars per million tokens; for local "
            "servers and models litellm has no price for; repeatable.",
            lasting=False,
        ),
    ] = ()
    timeout_s: Annotated[
        float,
        Field(ge=0.1, le=DAY_S),
        _asked("--llm-timeout", "answers", help="Seconds a request may take", lasting=False),
    ] = 300.0
    retries: Annotated[
        int,
        Field(ge=0, le=100),
        _asked(
            "--llm-retries", "answers", help="How often a failed request is sent again",
            lasting=False,
        ),
    ] = 2  # fmt: skip
    reply_tokens: Annotated[
        int, Field(ge=1), _asked("--reply-tokens", help="The longest reply, in tokens")
    ] = 16_000
    temperature: Annotated[
        float, Field(ge=0, le=2), _asked("--temperature", help="How freely the model answers")
    ] = 0.7
    feedback: Annotated[
        Feedback,
        _asked(
            "--feedback",
            help="What prompts say of the profile: tools (advice), counters (raw), both, evidence "
            "(a digest of the counters), evidence+tools, chosen (advice of the tools that the "
            "model names first), or none",
        ),
    ] = "tools"
    roles: Annotated[
        Roles,
        _asked(
            "--roles",
            help="Who works on a variant: coder (one reply), planner (a short reply with three "
            "directions first), critic (a reply that mends what was written), planner+critic",
        ),
    ] = "coder"
    prompt_form: Annotated[
        PromptForm,
        _asked(
            "--prompt-form",
            help="full, or brief: values and times in a few hundred tokens, for small models that "
            "choose values of a recorded kernel",
        ),
    ] = "full"
    model_prior: Annotated[
        bool,
        _asked(
            "--model-prior",
            help="Steer the tree by the probability that a model in this process gave the values "
            "it chose.",
        ),
    ] = False
    problem_steps: Annotated[
        bool,
        _asked(
            "--problem-steps",
            help="Tell first implementations what a KernelBench problem's model does, operation by "
            "operation, and which algebra that may allow.",
        ),
    ] = False
    problem_modules: Annotated[
        bool,
        _asked(
            "--problem-modules",
            help="Tell which modules of a KernelBench variant take its time, and have large models "
            "replaced part by part.",
        ),
    ] = False
    tune: Annotated[
        int,
        Field(ge=0, le=256),
        _asked(
            "--tune",
            help="Further values of a promising variant's tunables to time, as they promise a gain",
        ),
    ] = 0
    tune_seconds: Annotated[
        float | None,
        Field(gt=0, allow_inf_nan=False),
        _asked(
            "--tune-seconds",
            help="Seconds of measuring after which no further values of a variant are timed; "
            "default: no limit.",
        ),
    ] = None
    branches: Annotated[
        int,
        Field(ge=1, le=16),
        _asked(
            "--branches",
            help="Values of its tunables to time of each proposal, the best is kept",
        ),
    ] = 1
    prompt_tokens: Annotated[
        int, Field(ge=2000), _asked("--prompt-tokens", help="The longest prompt, in tokens")
    ] = 24_000
    reply_repairs: Annotated[
        int,
        Field(ge=0, le=10),
        _asked("--reply-repairs", help="How often an unusable reply is asked for again"),
    ] = 1
    library: Annotated[
        str | None,
        _asked(
            "--library",
            help="What the model may look things up in while it writes: cutlass, the installed "
            "one, or cutlass=PATH.",
            metavar="cutlass[=PATH]",
        ),
    ] = None
    lookups: Annotated[
        int,
        Field(ge=1, le=200),
        _asked("--lookups", "library", help="How many look-ups of one proposal"),
    ] = 12
    lookup_tokens: Annotated[
        int,
        Field(ge=200),
        _asked("--lookup-tokens", "library", help="Tokens that they may take, by estimate"),
    ] = 24_000
    lookup_protocol: Annotated[
        Protocol,
        _asked(
            "--lookup-protocol",
            "library",
            help="How look-ups are asked for: calls (the service's tool calling), text (for every "
            "model) or auto",
        ),
    ] = "auto"
    cache: Annotated[
        PlaceOrOff | None,
        _asked(
            "--llm-cache",
            "answers",
            help="The file that keeps the model's answers, or off",
            usual=f"{CACHE_FILE} in the run folder",
            metavar="FILE|off",
            lasting=False,
        ),
    ] = None
    record: Annotated[
        Place | None,
        _asked(
            "--llm-record",
            "answers",
            help="Add every question and answer to this file of JSON lines.",
            lasting=False,
        ),
    ] = None
    replay: Annotated[
        Place | None,
        _asked(
            "--llm-replay",
            help="Play the answers that --llm-record wrote, asking nobody.",
            lasting=False,
        ),
    ] = None
