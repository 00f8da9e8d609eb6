"""Which models litellm can ask at all, said without asking anybody."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from codegen.chat.client import load_litellm


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


def similar_model(model: str) -> str | None:
    """The name in litellm's table, or of a provider of its own, that `model` may have meant."""
    litellm = load_litellm()
    provider, slash, rest = model.partition("/")
    if slash:
        close = difflib.get_close_matches(provider, _providers(litellm), n=1, cutoff=0.75)
        return f"{close[0]}/{rest}" if close else None
    close = difflib.get_close_matches(model, litellm.model_cost, n=1, cutoff=0.75)
    return close[0] if close else None


def _providers(litellm: object) -> list[str]:
    found = getattr(litellm, "provider_list", [])
    return [str(getattr(each, "value", each)) for each in found]
