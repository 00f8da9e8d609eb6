"""The chat client of a run, from its options."""

from __future__ import annotations

from pathlib import Path

from codegen.chat.cache import CachedClient, open_cache
from codegen.chat.cassette import CassetteClient, RecordingClient
from codegen.chat.client import LitellmClient
from codegen.chat.in_process import PREFIX, TransformersClient
from codegen.chat.messages import ChatClient
from codegen.chat.prices import parse_prices
from codegen.chat.queue import QueueClient
from codegen.chat.request import Route
from mcts.errors import InputError
from mcts.options import OFF, ModelOptions
from mcts.options.model import CACHE_FILE

NO_MODEL = "the llm proposer needs --model NAME (any model name litellm knows, or transformers/DIR)"


def client_of(
    options: ModelOptions,
    *,
    run_dir: Path | None = None,
    run_id: str = "",
    max_cost_usd: float | None = None,
) -> ChatClient:
    """litellm, or a model in this process, behind a cache, and a tape if one is wanted.

    Without a `run_dir` there is no cache but one that the options name. Raises InputError for a
    file that cannot be used, and for a cap on the cost of a model that nobody knows the price of.
    """
    route = _route(options)
    if options.replay is not None:
        return CassetteClient(options.replay, route=route)
    client: ChatClient
    if options.queue is not None:
        client = QueueClient(
            options.queue, route=route, patience_s=options.given().get("timeout_s")
        )
    elif in_process(options):
        client = TransformersClient(route.model, probabilities=options.model_prior)
    else:
        client = _priced(_litellm(options), max_cost_usd)
    if (cache := _cache_path(options, run_dir)) is not None:
        client = CachedClient(client, open_cache(cache), route=route, run_id=run_id)
    if options.record is not None:
        client = RecordingClient(client, options.record, route=route)
    return client


def with_protocol(options: ModelOptions) -> ModelOptions:
    """The options with the protocol of look-ups decided: tool calling if litellm says that every
    model supports it, else, and in a queue of files, plain text. Decided once, so that a resumed
    run asks in the same way.
    """
    if options.lookup_protocol != "auto" or options.name is None:
        return options
    if options.queue is not None or in_process(options):
        return options.model_copy(update={"lookup_protocol": "text"})
    client = _litellm(options)
    try:
        decided = "calls" if client.calls_tools() else "text"
    finally:
        client.close()
    return options.model_copy(update={"lookup_protocol": decided})


def in_process(options: ModelOptions) -> bool:
    """Whether the model runs in this process. InputError if another is to stand in for it."""
    names = [name for name in (options.name, *options.fallbacks) if name is not None]
    loaded = [name for name in names if name.startswith(PREFIX)]
    if loaded and len(names) > 1:
        raise InputError(f"{loaded[0]} runs in this process: no --fallback goes with it")
    if loaded and options.api_base is not None:
        raise InputError(f"{loaded[0]} runs in this process: no --api-base goes with it")
    return bool(loaded)


def _priced(client: LitellmClient, max_cost_usd: float | None) -> LitellmClient:
    """The client. InputError if a cap is to be kept and the price of a model is not known."""
    if max_cost_usd is not None and (unpriced := client.unpriced()):
        raise InputError(
            f"--max-cost cannot be kept: no price of {unpriced[0]} is known; give it with "
            f"--price {unpriced[0]}=IN,OUT (US dollars per million tokens)"
        )
    return client


def _route(options: ModelOptions) -> Route:
    """Who is asked. InputError if no model is named."""
    if options.name is None:
        raise InputError(NO_MODEL)
    return Route(options.name, options.fallbacks, options.api_base, options.model_prior)


def _litellm(options: ModelOptions) -> LitellmClient:
    route = _route(options)
    return LitellmClient(
        route.model,
        fallbacks=route.fallbacks,
        api_base=route.api_base,
        timeout_s=options.timeout_s,
        retries=options.retries,
        prices=parse_prices(options.prices),
    )


def _cache_path(options: ModelOptions, run_dir: Path | None) -> Path | None:
    if options.cache == OFF:
        return None
    if options.cache is not None:
        return Path(options.cache)
    return None if run_dir is None else run_dir / CACHE_FILE
