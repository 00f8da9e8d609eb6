"""The page's scripts and styles, and the libraries that are vendored with it."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from experiments.views.report.linking import link

VENDORED = (
    "prism-core.min.js",
    "prism-clike.min.js",
    "prism-c.min.js",
    "prism-cpp.min.js",
    "prism-python.min.js",
    "diff.min.js",
)
"""Libraries in the order they are run."""
LICENSES = ("prism.LICENSE", "diff.LICENSE")
_STYLES = ("base.css", "explorer.css", "node.css", "charts.css", "print.css")
_BEFORE = "window.Prism = { manual: true, disableWorkerMessageHandler: true };\n"


@cache
def styles() -> str:
    return "\n".join(_text(_root() / "web" / "css" / name) for name in _STYLES)


@cache
def scripts() -> tuple[str, ...]:
    """What the page runs, in order: libraries, with their licences in front, then our own."""
    vendor = _root() / "vendor"
    terms = "\n\n".join(_text(vendor / name).strip() for name in LICENSES)
    libraries = "\n;".join(_text(vendor / name) for name in VENDORED)
    folder = _root() / "web" / "js"
    modules = {
        item.name.removesuffix(".js"): _text(item)
        for item in folder.iterdir()
        if item.name.endswith(".js")
    }
    return f"/*\n{terms}\n*/\n{_BEFORE}{libraries}", link(modules, "main")


def source_hash(text: str) -> str:
    """A content security policy's name for one inline script or style."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _root() -> Traversable:
    return files("experiments.views.report")


def _text(item: Traversable) -> str:
    return item.read_text(encoding="utf-8")
