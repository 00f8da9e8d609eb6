"""A small OpenAI-compatible server, so that the LLM proposer is tested over real HTTP.

In a test, it plays a script and records what it was sent::

    with OpenAiServer(["a reply", 429, Hang(5), lambda body: "computed"]) as server:
        LlmProposer(ModelOptions(name="openai/test", api_base=server.url))
        server.requests[0].body["messages"]

A step of the script is a text (the reply), a status code (an error), a `Say` (a reply with a
finish reason, or with calls of tools), a `Fail` (an error with headers and a message), a `Raw`
(any bytes as the body), a `Cut` (a connection that drops in the body), a `Trickle` (a byte now and
then), a `Hang` (silence), or a function from the request's body to one of these. The last step
repeats for ever.

On a command line it serves until it is stopped, and prints its URL first::

    python tests/support/openai_server.py --port 0 --script auto
    rooftree optimize row_softmax --proposer llm --model openai/auto --api-base URL

``--script FILE`` plays a JSON list of steps: a text, a status code, or an object of one key that
names another step, as ``{"fail": {"status": 429, "retry_after": "1"}}``, ``{"hang": {"seconds":
5}}``, ``{"cut": {"text": "..."}}``, ``{"raw": {"body": "{"}}``. ``--script auto`` answers from the
prompt alone: it takes the variant shown there and changes one tunable, another one at each
request, skipping combinations that the plan's `where` excludes; where the prompt asks for values
alone it answers with values. Every fifth reply is prose without code, as models do at times, so
that a run shows how an unusable reply is handled. `auto` needs rooftree importable; the rest is
the standard library alone.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any


@dataclass(frozen=True, slots=True)
class Say:
    text: str
    finish_reason: str = "stop"
    counted: bool = True
    """Whether the answer says how many tokens it took."""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    """None: a quarter of the characters."""
    reasoning_tokens: int | None = None
    cached_tokens: int | None = None
    calls: tuple[tuple[str, str], ...] = ()
    """Tools that it calls: each a name and its arguments as the model writes them, JSON or not."""


@dataclass(frozen=True, slots=True)
class Hang:
    seconds: float


@dataclass(frozen=True, slots=True)
class Fail:
    """An error status; `retry_after` is the header, as the service writes it."""

    status: int
    retry_after: str | None = None
    message: str | None = None
    code: str | None = None


@dataclass(frozen=True, slots=True)
class Raw:
    """A status 200 with this body."""

    body: str


@dataclass(frozen=True, slots=True)
class Cut:
    """A reply of which only a share of the bytes arrives before the connection drops."""

    text: str
    share: float = 0.5
    chunked: bool = False


@dataclass(frozen=True, slots=True)
class Trickle:
    """A reply in pieces of one byte, so slow that it never ends."""

    text: str
    every_s: float = 0.05


@dataclass(frozen=True, slots=True)
class Seen:
    """A recorded request."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]


Answer = str | int | Say | Hang | Fail | Raw | Cut | Trickle
Step = Answer | Callable[[dict[str, Any]], Answer]


class OpenAiServer:
    """Serves `script` on 127.0.0.1 from entering to leaving the context."""

    def __init__(self, script: Sequence[Step], *, port: int = 0) -> None:
        self.requests: list[Seen] = []
        self._script = list(script)
        self._lock = threading.Lock()
        self._released = threading.Event()
        self.in_flight = self.most_in_flight = 0
        self._http = _Http(("127.0.0.1", port), _handler_for(self))
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def __enter__(self) -> OpenAiServer:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._released.set()
        self._http.shutdown()
        self._http.server_close()

    def answer(self, seen: Seen) -> Answer:
        """Record a request and take the next step of the script."""
        with self._lock:
            step = self._script[min(len(self.requests), len(self._script) - 1)]
            self.requests.append(seen)
        return step(seen.body) if callable(step) else step

    def hang(self, seconds: float) -> bool:
        """Wait; whether the server stopped meanwhile."""
        return self._released.wait(seconds)

    @contextlib.contextmanager
    def counted(self) -> Iterator[None]:
        """Count a request among those in flight."""
        with self._lock:
            self.in_flight += 1
            self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            yield
        finally:
            with self._lock:
                self.in_flight -= 1


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


def _handler_for(server: OpenAiServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            body = json.loads(raw or b"{}")
            with server.counted():
                answer = server.answer(Seen(self.path, dict(self.headers), body))
                if isinstance(answer, Hang):
                    server.hang(answer.seconds)
                    answer = 503
                if not self.path.endswith("/chat/completions"):
                    answer = 404
                try:
                    self._give(Fail(answer) if isinstance(answer, int) else answer, body)
                except ConnectionError:
                    self.close_connection = True  # the client gave up waiting

        def _give(self, answer: str | Say | Fail | Raw | Cut | Trickle, body: Any) -> None:
            if isinstance(answer, Fail):
                words = answer.message or f"scripted {answer.status}"
                error = {"message": words, "type": "scripted", "code": answer.code}
                self._send(answer.status, json.dumps({"error": error}), answer.retry_after)
            elif isinstance(answer, Raw):
                self._send(200, answer.body)
            elif isinstance(answer, Cut):
                self._cut(answer, _completion(Say(answer.text), body))
            elif isinstance(answer, Trickle):
                self._trickle(answer, _completion(Say(answer.text), body))
            else:
                say = answer if isinstance(answer, Say) else Say(answer)
                self._send(200, _completion(say, body))

        def _send(self, status: int, text: str, retry_after: str | None = None) -> None:
            data = text.encode()
            self._begin(status, **{"Content-Length": str(len(data))}, Retry_After=retry_after)
            self._write(data)

        def _begin(self, status: int, **headers: str | None) -> None:
            """Keep the head back: two small packets would wait for one another (Nagle)."""
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            for name, value in headers.items():
                if value is not None:
                    self.send_header(name.replace("_", "-"), value)
            self._head = b"".join([*self._headers_buffer, b"\r\n"])
            self._headers_buffer = []

        def _write(self, data: bytes) -> None:
            self.wfile.write(self._head + data)
            self._head = b""

        def _cut(self, cut: Cut, text: str) -> None:
            data = text.encode()
            part = data[: int(len(data) * cut.share)]
            if cut.chunked:
                self._begin(200, Transfer_Encoding="chunked")
                part = f"{len(part):x}\r\n".encode() + part + b"\r\n"
            else:
                self._begin(200, **{"Content-Length": str(len(data))})
            self._write(part)
            self.close_connection = True

        def _trickle(self, trickle: Trickle, text: str) -> None:
            data = text.encode()
            self._begin(200, **{"Content-Length": str(len(data) + 1_000_000)})
            for at in range(len(data)):
                self._write(data[at : at + 1])
                self.wfile.flush()
                if server.hang(trickle.every_s):
                    break
            self.close_connection = True

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing: standard output belongs to the URL."""

    return Handler


def _completion(say: Say, body: dict[str, Any]) -> str:
    payload = {
        "id": "chatcmpl-test",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": body.get("model", "test"),
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": say.text, **_called(say)},
                "finish_reason": "tool_calls" if say.calls else say.finish_reason,
            }
        ],
        **({"usage": _usage(say, body)} if say.counted else {}),
    }
    return json.dumps(payload)


def _called(say: Say) -> dict[str, Any]:
    calls = [
        {"id": f"call_{at}", "type": "function", "function": {"name": name, "arguments": arguments}}
        for at, (name, arguments) in enumerate(say.calls)
    ]
    return {"tool_calls": calls} if calls else {}


def _usage(say: Say, body: dict[str, Any]) -> dict[str, Any]:
    prompt = say.prompt_tokens
    if prompt is None:
        prompt = sum(len(message["content"]) for message in body.get("messages", [])) // 4
    reply = len(say.text) // 4 if say.completion_tokens is None else say.completion_tokens
    usage: dict[str, Any] = {
        "prompt_tokens": prompt,
        "completion_tokens": reply,
        "total_tokens": prompt + reply,
    }
    if say.reasoning_tokens is not None:
        usage["completion_tokens_details"] = {"reasoning_tokens": say.reasoning_tokens}
    if say.cached_tokens is not None:
        usage["prompt_tokens_details"] = {"cached_tokens": say.cached_tokens}
    return usage


class AutoModel:
    """Answers from the prompt; which tunable it changes depends on the count of requests alone."""

    def __init__(self) -> None:
        self._count = 0
        self._lock = threading.Lock()

    def __call__(self, body: dict[str, Any]) -> Answer:
        with self._lock:
            self._count += 1
            count = self._count
        if count % 5 == 0:
            return "The kernel waits on memory. I would load wider and reuse more in registers."
        system, user = (message["content"] for message in body["messages"][:2])
        source = _variant_of(user)
        if "## Values" in system:
            return _values_reply(user, count)
        if source is None:
            return "I see no variant with a launch plan in the prompt."
        return _source_reply(source, user, count)


def _variant_of(prompt: str) -> str | None:
    blocks = re.findall(r"^(`{3,})cuda\n(.*?)\n\1$", prompt, re.MULTILINE | re.DOTALL)
    return next((text for _, text in blocks if "/* rooftree" in text), None)


def _workloads_of(prompt: str) -> list[dict[str, int]]:
    lines = re.findall(r"^- workload `.*?` \(.*?\): (.*)$", prompt, re.MULTILINE)
    return [{n: int(v) for n, v in re.findall(r"(\w+) = (\d+)", line)} for line in lines]


def _source_reply(source: str, prompt: str, count: int) -> str:
    from codegen.plan_text import with_defaults
    from mcts.domain import parse_launch_plan

    space = parse_launch_plan(source).space
    present = space.default()
    move = _move(space, present, prompt, count)
    if move is None:
        return "No single tunable can be changed alone here."
    changed = {**present, **move}
    return (
        f"{_words(space, present, move)}## Code\n\n```cuda\n{with_defaults(source, changed)}\n```\n"
    )


def _values_reply(prompt: str, count: int) -> str:
    from mcts.domain import Tunable, TunableSpace

    section = prompt.partition("# Tunables\n")[2].partition("\n# ")[0]
    listed = re.findall(r"^- (\w+): one of ([^\n(]*)", section, re.MULTILINE)
    values = {name: [_scalar(word) for word in words.split(", ")] for name, words in listed}
    where = re.findall(r"^- `(.*)`$", section, re.MULTILINE)
    space = TunableSpace(
        tunables={name: Tunable.model_validate(choices) for name, choices in values.items()},
        where=tuple(where),
    )
    stated = re.search(r"^Values of its tunables: (.*)$", prompt, re.MULTILINE)
    words = dict(re.findall(r"(\w+) = ([^,]+)", stated[1])) if stated else {}
    present = {name: _scalar(word) for name, word in words.items()}
    move = _move(space, present, prompt, count)
    if move is None:
        return "No single tunable can be changed alone here."
    return f"{_words(space, present, move)}## Values\n\n```json\n{json.dumps(move)}\n```\n"


def _move(space: Any, present: dict[str, Any], prompt: str, count: int) -> dict[str, Any] | None:
    """One tunable with another value, allowed on every workload of the prompt."""
    moves = [
        {name: value}
        for name, tunable in space.tunables.items()
        for value in tunable.values
        if value != present[name]
    ]
    shapes = _workloads_of(prompt)
    random.Random(count).shuffle(moves)
    for move in moves:
        if all(space.allows({**present, **move}, shape) for shape in shapes):
            return move
    return None


def _words(space: Any, present: dict[str, Any], move: dict[str, Any]) -> str:
    ((name, value),) = move.items()
    methods = ", ".join(space.tunables[name].methods)
    return (
        f"## Analysis\n\nThe advice in the prompt points to {name}.\n\n"
        f"## Plan\n\nSet {name} from {present[name]} to {value}"
        + (f": {methods}" if methods else "")
        + "\n\n"
    )


def _scalar(word: str) -> int | float | str:
    word = word.strip()
    if re.fullmatch(r"-?\d+", word):
        return int(word)
    return float(word) if re.fullmatch(r"-?\d+\.\d*", word) else word


_STEPS: dict[str, Callable[..., Step]] = {
    "say": Say,
    "hang": Hang,
    "fail": Fail,
    "raw": Raw,
    "cut": Cut,
    "trickle": Trickle,
}


def _script(argument: str) -> list[Step]:
    if argument == "auto":
        return [AutoModel()]
    steps = json.loads(Path(argument).read_text(encoding="utf-8"))
    if not isinstance(steps, list) or not steps:
        raise SystemExit(f"{argument}: a script is a JSON list of steps")
    return [_step(argument, step) for step in steps]


def _step(argument: str, step: Any) -> Step:
    if isinstance(step, str | int):
        return step
    try:
        ((kind, fields),) = step.items()
        return _STEPS[kind](**fields)
    except (AttributeError, ValueError, KeyError, TypeError) as error:
        raise SystemExit(f"{argument}: no step {step!r} ({error})") from None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--port", type=int, default=0, help="0: any free port")
    parser.add_argument("--script", default="auto", help="auto, or a JSON file")
    arguments = parser.parse_args()
    with OpenAiServer(_script(arguments.script), port=arguments.port) as server:
        print(server.url, flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            threading.Event().wait()


if __name__ == "__main__":
    main()
