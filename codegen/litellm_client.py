"""litellm behind the `ChatClient` port: any model it knows, or a local OpenAI-compatible server."""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from codegen.chat import Message, Reply
from mcts.errors import InputError, ProposalRejected, WorldError

_FIRST_PAUSE_S = 1.0
_LONGEST_PAUSE_S = 60.0
_MESSAGE_LIMIT = 300
_SECRET_NAME = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD|CREDENTIALS?)$")
_KEY_SHAPE = re.compile(r"\b(?:sk|pk|rk|gsk|xai|hf)[-_][A-Za-z0-9*_\-]{8,}|Bearer\s+\S+")
_URL_LOGIN = re.compile(r"(?<=://)[^/\s@]+@")
_CREDENTIALS = re.compile(r"api[_ ]?key|credential", re.IGNORECASE)
_IMPORT_LOCK = threading.Lock()


class LitellmClient:
    """Calls `model` with retries. Keys come from the environment alone, as the provider names
    them; with `api_base` a server that wants no key gets a dummy one.

    `timeout_s` bounds one attempt. Timeouts, rate limits, connection errors and 5xx are retried
    `retries` times with growing pauses (or the pause the service asks for).
    """

    def __init__(
        self,
        model: str,
        *,
        api_base: str | None = None,
        timeout_s: float = 300.0,
        retries: int = 2,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.model, self.api_base = model, api_base
        self._timeout_s, self._retries, self._sleep = timeout_s, retries, sleep

    def complete(
        self, messages: Sequence[Message], *, max_tokens: int, temperature: float
    ) -> Reply:
        litellm = _litellm()
        arguments: dict[str, Any] = {
            "model": self.model,
            "messages": [dict(message) for message in messages],
            "max_tokens": max_tokens,
            "temperature": temperature,
            "timeout": self._timeout_s,
            "num_retries": 0,
            "max_retries": 0,  # ours are the only retries, so that their number is what was asked
            "drop_params": True,  # some models refuse a temperature
        }
        if self.api_base is not None:
            arguments["api_base"] = self.api_base
            if not os.environ.get("OPENAI_API_KEY") and self.model.startswith("openai/"):
                arguments["api_key"] = "none"
        for attempt in range(self._retries + 1):
            try:
                return self._reply(litellm.completion(**arguments))
            except litellm.exceptions.openai.OpenAIError as error:  # the root of all it raises
                if self._lacks_key(litellm, error) or not _passing(litellm, error):
                    raise self._final(litellm, error) from None
                if attempt == self._retries:
                    raise self._lost(error) from None
                self._sleep(_pause_s(error, attempt))
        raise AssertionError("the loop returns or raises")

    def _reply(self, response: Any) -> Reply:
        """Read a response; one without choices is a broken world, not a bad candidate."""
        choices = getattr(response, "choices", None)
        if not choices:
            raise WorldError(f"{self._who()} answered without a choice")
        usage = getattr(response, "usage", None)
        if not getattr(usage, "prompt_tokens", None):
            usage = None  # litellm writes zeros where the service did not count
        return Reply(
            text=choices[0].message.content or "",
            model=getattr(response, "model", None) or self.model,
            finish_reason=choices[0].finish_reason,
            prompt_tokens=getattr(usage, "prompt_tokens", None),
            completion_tokens=getattr(usage, "completion_tokens", None),
            cost_usd=self._cost_usd(response),
        )

    def _cost_usd(self, response: Any) -> float | None:
        """litellm's price for the response; None for a model it has no price for, and for any
        server of one's own, whatever name its model goes by.
        """
        if self.api_base is not None:
            return None
        cost = getattr(response, "_hidden_params", {}).get("response_cost")
        return float(cost) if cost is not None else None

    def _final(self, litellm: Any, error: Exception) -> Exception:
        """The error that no retry mends, in our words."""
        kinds = litellm.exceptions
        said = scrub(str(error))
        refused = isinstance(error, kinds.AuthenticationError | kinds.PermissionDeniedError)
        if refused or self._lacks_key(litellm, error):
            return InputError(
                f"{self._who()} refused the credentials: set the environment variable "
                f"{_key_variable(litellm, self.model)} to a valid key ({said})"
            )
        if isinstance(error, kinds.NotFoundError):
            return InputError(f"{self._who()} does not know this model ({said})")
        if isinstance(error, kinds.ContextWindowExceededError | kinds.ContentPolicyViolationError):
            return ProposalRejected(f"{self._who()} refused the prompt: {said}")
        if isinstance(error, kinds.BadRequestError | kinds.UnprocessableEntityError):
            return InputError(f"{self._who()} refused the request: {said}")
        return WorldError(f"{self._who()} failed: {said}")

    def _lacks_key(self, litellm: Any, error: Exception) -> bool:
        """Whether the call failed for want of a key, which some providers report as a server
        error. The environment alone would not tell: there are roles and local servers.
        """
        if self.api_base is not None or not _CREDENTIALS.search(str(error)):
            return False
        return bool(litellm.validate_environment(self.model).get("missing_keys"))

    def _lost(self, error: Exception) -> WorldError:
        tries = self._retries + 1
        attempts = f"{tries} attempts" if tries > 1 else "1 attempt"
        return WorldError(f"{self._who()} gave no answer in {attempts}: {scrub(str(error))}")

    def _who(self) -> str:
        return self.model + (f" at {scrub(self.api_base)}" if self.api_base else "")


def scrub(text: str, environment: Mapping[str, str] | None = None) -> str:
    """One line of `text` without any secret of the environment or anything shaped like a key."""
    environment = os.environ if environment is None else environment
    for name, value in environment.items():
        if len(value) >= 6 and _SECRET_NAME.search(name.upper()):
            text = text.replace(value, f"[{name}]")
    line = " ".join(_KEY_SHAPE.sub("[key]", _URL_LOGIN.sub("", text)).split())
    return line if len(line) <= _MESSAGE_LIMIT else line[: _MESSAGE_LIMIT - 3] + "..."


def _litellm() -> Any:
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
        return litellm


def _passing(litellm: Any, error: Exception) -> bool:
    """Whether the same request may work a moment later."""
    kinds = litellm.exceptions
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
    status = getattr(error, "status_code", None)
    return isinstance(status, int) and status >= 500


def _pause_s(error: Exception, attempt: int) -> float:
    """Seconds to wait: what the service asks for, else doubling from one second."""
    headers = getattr(getattr(error, "response", None), "headers", None) or {}
    asked = headers.get("retry-after", "")
    if re.fullmatch(r"\d+(\.\d+)?", asked):
        return min(float(asked), _LONGEST_PAUSE_S)
    return min(_FIRST_PAUSE_S * 2.0**attempt, _LONGEST_PAUSE_S)


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
