"""A web server on loopback that only answers who knows its token, and only to look."""

from __future__ import annotations

import hmac
import json
import secrets
import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from experiments.app.serving import pages
from experiments.live.overview import Overview, RunLine
from mcts.errors import InputError, RooftreeError

HOST = "127.0.0.1"
_REPORTS_KEPT = 16
_HTML, _JSON = "text/html; charset=utf-8", "application/json"


@dataclass(frozen=True, slots=True)
class Answer:
    """What goes back: our own pages have our policy, a report brings its own."""

    body: str
    kind: str = _HTML
    status: HTTPStatus = HTTPStatus.OK
    is_report: bool = False


class Pages:
    """Answers for the runs below a folder. Thread-safe."""

    def __init__(self, root: Path) -> None:
        """InputError if `root` is no folder."""
        self.root = root
        self._overview, self._lock = Overview(root), threading.Lock()
        self._reports: OrderedDict[tuple[str, str], str] = OrderedDict()

    def answer(self, path: str, query: Mapping[str, list[str]]) -> Answer:
        """The answer to what stands behind the token."""
        parts = [part for part in path.split("/") if part]
        match parts:
            case []:
                return Answer(pages.list_page(self._rows(), self.root))
            case ["runs.json"]:
                return Answer(json.dumps(self._rows(), ensure_ascii=False), _JSON)
            case ["side"]:
                return self._side(query)
            case ["run", run, *rest]:
                return self._run(run, rest)
        return _missing()

    def _lines(self) -> list[RunLine]:
        with self._lock:
            return self._overview.lines()

    def _rows(self) -> list[dict[str, Any]]:
        return [pages.as_row(line, self.root) for line in self._lines()]

    def _found(self, run: str) -> tuple[RunLine, dict[str, Any]] | None:
        for line in self._lines():
            if pages.run_id(line.folder) == run:
                return line, pages.as_row(line, self.root)
        return None

    def _side(self, query: Mapping[str, list[str]]) -> Answer:
        both = [self._found(query.get(name, [""])[0]) for name in ("a", "b")]
        if both[0] is None or both[1] is None:
            return Answer(
                pages.message_page(
                    "Two runs are needed",
                    "Go back, and choose one on the left and one on the right.",
                ),
                status=HTTPStatus.BAD_REQUEST,
            )
        return Answer(pages.side_page(both[0][1], both[1][1]))

    def _run(self, run: str, rest: list[str]) -> Answer:
        found = self._found(run)
        if found is None:
            return _missing()
        line, row = found
        match rest:
            case []:
                return Answer(pages.run_page(row))
            case ["run.json"]:
                return Answer(json.dumps(row, ensure_ascii=False), _JSON)
            case ["report"]:
                return self._report(line, row["version"])
        return _missing()

    def _report(self, line: RunLine, version: str) -> Answer:
        key = (pages.run_id(line.folder), version)
        with self._lock:
            if (known := self._reports.get(key)) is not None:
                return Answer(known, is_report=True)
        try:
            made = pages.report(line.folder)
        except RooftreeError as error:
            return Answer(pages.message_page("No report yet", str(error)))
        with self._lock:
            self._reports[key] = made
            while len(self._reports) > _REPORTS_KEPT:
                self._reports.popitem(last=False)
        return Answer(made, is_report=True)


def _missing() -> Answer:
    words = "There is no such page, or its run is gone."
    return Answer(pages.message_page("Not found", words), status=HTTPStatus.NOT_FOUND)


class RunServer(ThreadingHTTPServer):
    """Serves `pages` at `address` until it is shut down."""

    daemon_threads = True

    def __init__(self, root: Path, *, port: int = 0) -> None:
        """`port` 0 takes a free one. InputError if it is taken, or `root` is no folder."""
        self.pages = Pages(root)
        self.token = secrets.token_urlsafe(18)
        try:
            super().__init__((HOST, port), _Handler)
        except OSError as error:
            raise InputError(
                f"port {port} cannot be used: {error.strerror}; leave --port out for a free one"
            ) from None

    @property
    def address(self) -> str:
        """What a browser opens; the token in it is all that keeps others out."""
        return f"http://{HOST}:{self.server_port}/{self.token}/"


class _Handler(BaseHTTPRequestHandler):
    server: RunServer
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "Rooftree", ""

    def do_GET(self) -> None:
        self._served(with_body=True)

    def do_HEAD(self) -> None:
        self._served(with_body=False)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is printed: the token stands in every address."""

    def _served(self, *, with_body: bool) -> None:
        try:
            self._answer(with_body=with_body)
        except ConnectionError:  # the browser has left
            self.close_connection = True

    def _answer(self, *, with_body: bool) -> None:
        answer = self._found()
        body = answer.body.encode()
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("Cross-Origin-Resource-Policy", "same-origin")
        # A report has a policy of its own inside; what is added here only says who may frame it.
        self.send_header(
            "Content-Security-Policy",
            "frame-ancestors 'self'" if answer.is_report else pages.policy(),
        )
        self.end_headers()
        if with_body:
            self.wfile.write(body)

    def _found(self) -> Answer:
        # Another name for loopback would let a page elsewhere ask as if it were ours.
        if self.headers.get("Host") not in (
            f"{HOST}:{self.server.server_port}", f"localhost:{self.server.server_port}",
        ):  # fmt: skip
            return Answer(pages.message_page("Not here", "Open the address that was printed."),
                          status=HTTPStatus.MISDIRECTED_REQUEST)  # fmt: skip
        asked = urlsplit(self.path)
        _, token, path = (*asked.path.split("/", 2), "", "")[:3]
        if not hmac.compare_digest(token.encode(), self.server.token.encode()):
            words = "Open the address that rooftree serve printed: it has a token."
            return Answer(pages.message_page("Not found", words), status=HTTPStatus.NOT_FOUND)
        return self.server.pages.answer(path, parse_qs(asked.query))
