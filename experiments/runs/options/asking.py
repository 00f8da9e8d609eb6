"""How a run asks its language model: the options as one value, and the client they make."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

from pydantic import Field, ValidationError

from mcts.domain import Noun, first_problem
from mcts.errors import InputError

if TYPE_CHECKING:
    from codegen.chat.messages import ChatClient

CACHE_FILE = "llm_cache.sqlite"
OFF = "off"
_ONLY_LIVE = ("timeout_s", "retries", "prices", "cache", "record")


class Asking(Noun):
    """The options of the llm proposer, apart from the model and its server.

    `fallbacks` are asked in their order where the model gives no answer. `prices` are texts as
    ``MODEL=IN,OUT``. `timeout_s` bounds one request, `retries` the further ones to each model,
    `reply_tokens` the length of a reply. `cache` is the file that keeps the answers, in the run
    folder unless the path says otherwise, or "off". `feedback` is what prompts say of the profile,
    `prompt_tokens` their length, `reply_repairs` how often an unusable reply is asked for again;
    of each proposal `branches` values of its tunables are timed. While it prepares one, a model may
    look things up in the run's library `lookups` times, for `lookup_tokens` in all, by the
    service's tool calling or in plain text. `record` is a file that every
    question and answer is added to; `replay` one that is played instead of asking anybody.
    """

    fallbacks: tuple[str, ...] = ()
    prices: tuple[str, ...] = ()
    timeout_s: float = Field(default=300.0, gt=0)
    retries: int = Field(default=2, ge=0)
    reply_tokens: int = Field(default=16_000, ge=1)
    temperature: float = Field(default=0.7, ge=0, le=2)
    feedback: Literal["tools", "counters", "none"] = "tools"
    branches: int = Field(default=1, ge=1)
    prompt_tokens: int = Field(default=24_000, ge=1)
    reply_repairs: int = Field(default=1, ge=0)
    lookups: int = Field(default=12, ge=1)
    lookup_tokens: int = Field(default=24_000, ge=200)
    lookup_protocol: Literal["auto", "calls", "text"] = "auto"
    cache: str = CACHE_FILE
    record: str | None = None
    replay: str | None = None


OPTION = {
    "fallbacks": "--fallback",
    "prices": "--price",
    "timeout_s": "--llm-timeout",
    "retries": "--llm-retries",
    "reply_tokens": "--reply-tokens",
    "temperature": "--temperature",
    "feedback": "--feedback",
    "branches": "--branches",
    "prompt_tokens": "--prompt-tokens",
    "reply_repairs": "--reply-repairs",
    "lookups": "--lookups",
    "lookup_tokens": "--lookup-tokens",
    "lookup_protocol": "--lookup-protocol",
    "cache": "--llm-cache",
    "record": "--llm-record",
    "replay": "--llm-replay",
}
"""By which option a field is given."""


def read_asking(**options: object) -> Asking:
    """The options that were given; None and empty lists were not. InputError for a bad one."""
    given = {name: value for name, value in options.items() if value is not None and value != []}
    for name in ("record", "replay", "cache"):
        if (path := given.get(name)) is not None and path != OFF:
            given[name] = str(Path(str(path)).absolute())  # a run may be resumed from elsewhere
    try:
        return Asking.model_validate(given)
    except ValidationError as error:
        field = error.errors()[0]["loc"][0]
        option = OPTION.get(str(field), str(field))
        raise InputError(f"{option}: {first_problem(error)}") from None


def repriced(asking: Asking | None, prices: Sequence[str]) -> Asking:
    """`asking` with other prices, as if nothing had been given but what it does not leave out."""
    told = {} if asking is None else asking.model_dump(exclude_defaults=True)
    return Asking.model_validate({**told, "prices": tuple(prices)})


def check_address(api_base: str | None) -> None:
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


def check_asking(asking: Asking, *, model: str | None) -> None:
    """InputError for an option that was given and would do nothing, or that cannot be read."""
    from codegen.chat.prices import names_of, parse_prices

    asked = [name for name in (model, *asking.fallbacks) if name]
    for priced in parse_prices(asking.prices):
        if not any(priced in names_of(name) for name in asked):
            raise InputError(f"--price {priced}: not a model that is asked ({', '.join(asked)})")
    if asking.replay is None:
        return
    for field in _ONLY_LIVE:
        if field in asking.model_fields_set and getattr(asking, field) != OFF:
            raise InputError(f"{OPTION[field]} does nothing with --llm-replay: nobody is asked")


def with_protocol(asking: Asking, *, model: str | None, api_base: str | None) -> Asking:
    """`asking` with the protocol of look-ups decided: tool calling where litellm knows of every
    model that it can, else plain text. Decided once, so that a resumed run asks in the same way.
    """
    if asking.lookup_protocol != "auto" or model is None:
        return asking
    from codegen.chat.client import LitellmClient

    client = LitellmClient(model, fallbacks=asking.fallbacks, api_base=api_base)
    try:
        decided = "calls" if client.calls_tools() else "text"
    finally:
        client.close()
    return asking.model_copy(update={"lookup_protocol": decided})


def client_of(
    asking: Asking,
    *,
    model: str,
    api_base: str | None,
    run_dir: Path | None,
    run_id: str,
    max_cost_usd: float | None,
) -> ChatClient:
    """The client of a run: litellm behind a cache, and a tape where one is wanted.

    Without a `run_dir` there is no cache but one with an absolute path. Raises InputError for a
    file that cannot be used, and for a cap on the cost of a model that nobody knows the price of.
    """
    from codegen.chat.cache import CachedClient, open_cache
    from codegen.chat.cassette import CassetteClient, RecordingClient
    from codegen.chat.client import LitellmClient
    from codegen.chat.prices import parse_prices
    from codegen.chat.request import Route

    route = Route(model, asking.fallbacks, api_base)
    if asking.replay is not None:
        return CassetteClient(Path(asking.replay), route=route)
    asks = LitellmClient(
        model,
        fallbacks=asking.fallbacks,
        api_base=api_base,
        timeout_s=asking.timeout_s,
        retries=asking.retries,
        prices=parse_prices(asking.prices),
    )
    if max_cost_usd is not None and (unpriced := asks.unpriced()):
        raise InputError(
            f"--max-cost cannot be kept: no price of {unpriced[0]} is known; give it with "
            f"--price {unpriced[0]}=IN,OUT (US dollars per million tokens)"
        )
    client: ChatClient = asks
    if (cache := _cache_path(asking, run_dir)) is not None:
        client = CachedClient(client, open_cache(cache), route=route, run_id=run_id)
    if asking.record is not None:
        client = RecordingClient(client, Path(asking.record), route=route)
    return client


def _cache_path(asking: Asking, run_dir: Path | None) -> Path | None:
    if asking.cache == OFF:
        return None
    path = Path(asking.cache)
    if path.is_absolute():
        return path
    return None if run_dir is None else run_dir / path
