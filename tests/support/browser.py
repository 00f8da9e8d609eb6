"""A headless Chromium that remembers everything a page complained about or asked for."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


@dataclass
class Seen:
    """Errors and warnings of the console, and requests that left the file."""

    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


@contextmanager
def chromium() -> Iterator[Any]:
    """The browser. The sandbox is left out for root alone, who cannot have it."""
    from playwright.sync_api import sync_playwright

    options = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=options)
        yield browser
        browser.close()


@contextmanager
def opened(browser: Any, path: Path, *, at: str = "", **options: Any) -> Iterator[tuple[Any, Seen]]:
    """The page of a file, with what it did wrong so far; `at` is the end of its address, and the
    window that of a laptop unless `options` say otherwise.
    """
    context = browser.new_context(**{"viewport": {"width": 1280, "height": 800}, **options})
    page, seen = context.new_page(), Seen()

    def complained(message: Any) -> None:
        if message.type in ("error", "warning"):
            seen.complaints.append(message.text)

    def asked(request: Any) -> None:
        if not request.url.startswith(("data:", path.as_uri())):
            seen.requests.append(request.url)

    page.on("console", complained)
    page.on("pageerror", lambda error: seen.complaints.append(str(error)))
    page.on("request", asked)
    page.goto(path.as_uri() + at)
    yield page, seen
    context.close()
