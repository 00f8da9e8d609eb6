"""litellm itself: its import, and what it knows of models without sending a request."""

from __future__ import annotations

import difflib
import os
import threading
import warnings
from collections.abc import Iterable
from typing import Any

from mcts.errors import InputError

_IMPORT_LOCK = threading.Lock()


def load_litellm() -> Any:
    """Import litellm on first use: it takes seconds, and would fetch a price map by itself."""
    with _IMPORT_LOCK:
        os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
        try:
            import litellm
        except ImportError as error:
            raise InputError(
                f"the llm proposer needs litellm, which cannot be imported ({error}): "
                "pip install 'litellm>=1.84,<2'"
            ) from None
        litellm.suppress_debug_info = True  # it prints to standard output otherwise
        warnings.filterwarnings("ignore", "Pydantic serializer warnings")  # of a service's usage
        return litellm


def unknown_models(models: Iterable[str], *, api_base: str | None = None) -> list[str]:
    """Those of `models` for which litellm knows no provider, so that no request can be sent.

    A provider that is known may still not have the model: only its answer tells. Raises InputError
    if litellm cannot be imported.
    """
    litellm = load_litellm()
    providers = _providers(litellm)

    def is_known(model: str) -> bool:
        if model.partition("/")[0] in providers and "/" in model:
            return True  # asked for more, litellm would log in to some of them
        try:
            litellm.get_llm_provider(model, api_base=api_base)
        except litellm.exceptions.BadRequestError:
            return False
        return True

    return [model for model in models if not is_known(model)]


def missing_key(model: str) -> str:
    """The environment variable with the key that `model` cannot be asked without, if it is not set;
    empty otherwise, also where there may be other ways in: roles, files, servers of one's own.
    """
    missing = load_litellm().validate_environment(model).get("missing_keys") or []
    keys = [str(name) for name in missing]
    return keys[0] if keys and all(name.endswith("_API_KEY") for name in keys) else ""


def similar_model(model: str) -> str | None:
    """The name in litellm's table, or of a provider of its own, that `model` may have meant."""
    litellm = load_litellm()
    provider, slash, rest = model.partition("/")
    if slash:
        close = difflib.get_close_matches(provider, _providers(litellm), n=1, cutoff=0.75)
        return f"{close[0]}/{rest}" if close else None
    close = difflib.get_close_matches(model, litellm.model_cost, n=1, cutoff=0.75)
    return close[0] if close else None


def has_price(litellm: Any, model: str) -> bool:
    """Whether litellm's table lists the model, by its full name or without the provider's."""
    return model in litellm.model_cost or model.partition("/")[2] in litellm.model_cost


def _providers(litellm: object) -> list[str]:
    found = getattr(litellm, "provider_list", [])
    return [str(getattr(each, "value", each)) for each in found]
