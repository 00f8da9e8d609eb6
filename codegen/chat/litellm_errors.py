"""What litellm's exceptions mean: whether to ask again, and what to tell the user."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any

from codegen.chat.retries import RequestError
from codegen.chat.scrubbing import scrub

_CREDENTIALS = re.compile(r"api[_ ]?key|credential", re.IGNORECASE)
_TOO_LONG = re.compile(r"context[_ ](length|window)|maximum context", re.IGNORECASE)
_NO_TOOLS = re.compile(r"tool[-_ ]?(choice|call)|tools\b|function[-_ ]call", re.IGNORECASE)
_PREFIX = re.compile(r"^(?:litellm\.)?(?:\w+Error: )+")
_REFUSALS = ("content_filter", "content_policy_violation")
_PASSING_STATUS = (408, 409, 425, 429)


def request_error(litellm: Any, error: Exception, *, model: str, has_server: bool) -> RequestError:
    """The error behind an exception of litellm for a request to `model`.

    `has_server`: it went to a server of one's own, which needs no provider's key.
    """
    kinds = litellm.exceptions
    said, status = scrub(_PREFIX.sub("", str(error))), getattr(error, "status_code", None)
    refused_key = isinstance(error, kinds.AuthenticationError | kinds.PermissionDeniedError)
    if refused_key or status in (401, 403) or _lacks_key(litellm, error, model, has_server):
        return RequestError(
            "configuration",
            "refused the credentials: set the environment variable "
            f"{_key_variable(litellm, model)} to a valid key ({said})",
        )
    if isinstance(error, kinds.NotFoundError):
        return RequestError("configuration", f"does not know this model ({said})")
    if isinstance(error, kinds.ContextWindowExceededError) or status == 413:
        return RequestError("too_long", f"refused the prompt: {said}")
    if isinstance(error, kinds.BadRequestError | kinds.UnprocessableEntityError):
        return _bad_request(kinds, error, said)
    if status == 402:
        return RequestError("configuration", f"wants to be paid first: {said}")
    if _passes(kinds, error, status):
        return RequestError("transient", said, wait_s=asked_pause_s(_headers(error)))
    return RequestError("permanent", f"failed: {said}")


def asked_pause_s(headers: Mapping[str, str], *, now_s: float | None = None) -> float | None:
    """Seconds the service asks to wait (RFC 9110, section 10.2.3: a number or a date; and the
    milliseconds some services give), None if it asks for nothing.
    """
    millis = headers.get("retry-after-ms", "")
    if re.fullmatch(r"\d+(\.\d+)?", millis):
        return float(millis) / 1000
    asked = headers.get("retry-after", "").strip()
    if re.fullmatch(r"\d+(\.\d+)?", asked):
        return float(asked)
    if not asked:
        return None
    try:
        moment = parsedate_to_datetime(asked)
    except ValueError:
        return None
    return max(0.0, moment.timestamp() - (time.time() if now_s is None else now_s))


def _bad_request(kinds: Any, error: Exception, said: str) -> RequestError:
    """A refused request: for what the prompt says, for its length or for its form."""
    refused = isinstance(error, kinds.ContentPolicyViolationError)
    if refused or getattr(error, "code", None) in _REFUSALS:
        return RequestError("refused", f"refused the prompt: {said}")
    if _TOO_LONG.search(str(error)):
        return RequestError("too_long", f"refused the prompt: {said}")
    if _NO_TOOLS.search(str(error)):
        said += " (a model that calls no tools looks things up with --lookup-protocol text)"
    return RequestError("configuration", f"refused the request: {said}")


def _passes(kinds: Any, error: Exception, status: object) -> bool:
    """Whether the same request may work a moment later."""
    if isinstance(
        error,
        kinds.Timeout
        | kinds.RateLimitError
        | kinds.APIConnectionError
        | kinds.InternalServerError
        | kinds.ServiceUnavailableError
        | kinds.BadGatewayError,
    ):
        return True
    return isinstance(status, int) and (status >= 500 or status in _PASSING_STATUS)


def _lacks_key(litellm: Any, error: Exception, model: str, has_server: bool) -> bool:
    """Whether the call failed because a key is missing, which some providers report as a server
    error. The environment alone cannot tell: there are roles and local servers.
    """
    if has_server or not _CREDENTIALS.search(str(error)):
        return False
    return bool(litellm.validate_environment(model).get("missing_keys"))


def _key_variable(litellm: Any, model: str) -> str:
    """The environment variable in which the provider of `model` expects its key."""
    missing = litellm.validate_environment(model).get("missing_keys") or []
    if missing:
        return str(missing[0])
    try:
        provider = str(litellm.get_llm_provider(model)[1])
    except litellm.exceptions.BadRequestError:
        provider = model.partition("/")[0]
    return f"{re.sub(r'[^A-Za-z0-9]+', '_', provider).upper()}_API_KEY"


def _headers(error: Exception) -> Mapping[str, str]:
    response = getattr(error, "response", None)
    found = getattr(error, "litellm_response_headers", None) or getattr(response, "headers", None)
    return {str(name).lower(): str(value) for name, value in (found or {}).items()}
