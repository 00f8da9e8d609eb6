"""The page's scripts and styles, and the libraries that are vendored with it.

The ES modules are put into one script, so that no bundler is needed: a module becomes a function
that is called once and returns what it exports. Understood is what the modules here use: ``import
{ a, b } from "./other.js";`` at the head, and ``export function``, ``export const`` and ``export
class``. Anything else of the module syntax is an error.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

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
_IMPORT = re.compile(r'^import \{([^}]*)\} from "\./([\w-]+)\.js";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async function|function|const|class) (\w+))", re.MULTILINE)
_LEFT = re.compile(r"^(?:import|export)\b.*", re.MULTILINE)
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


def link(modules: Mapping[str, str], entry: str) -> str:
    """The script that runs the module `entry`. `modules` are sources by name, without ``.js``.

    Raises ValueError for an import that cannot be met, for a circle, and for syntax not understood.
    """
    done: dict[str, str] = {}
    _visit(entry, modules, done, ())
    body = "\n".join(done.values())
    return f'(() => {{\n"use strict";\n{body}\n}})();\n'


def _visit(
    name: str, modules: Mapping[str, str], done: dict[str, str], above: tuple[str, ...]
) -> None:
    if name in done:
        return
    if name in above:
        raise ValueError(f"modules import each other in a circle: {' → '.join((*above, name))}")
    if name not in modules:
        raise ValueError(f"{above[-1] if above else 'the page'} imports {name}, which is not there")
    source = modules[name]
    imports = [(match[1], match[2]) for match in _IMPORT.finditer(source)]
    for names, other in imports:
        _visit(other, modules, done, (*above, name))
        _check_exported(name, names, other, modules[other])
    done[name] = _wrapped(name, source, imports)


def _check_exported(name: str, names: str, other: str, source: str) -> None:
    exported = set(_EXPORT.findall(source))
    for wanted in _split(names):
        if wanted not in exported:
            raise ValueError(f"{name} imports {wanted}, which {other} does not export")


def _wrapped(name: str, source: str, imports: list[tuple[str, str]]) -> str:
    exported = _EXPORT.findall(source)
    body = _EXPORT.sub("", _IMPORT.sub("", source))
    if left := _LEFT.search(body):
        raise ValueError(f"{name}: cannot link {left[0]!r}")
    heads = "".join(
        f"const {{ {', '.join(_split(names))} }} = {_variable(other)};\n"
        for names, other in imports
    )
    return (
        f"const {_variable(name)} = (() => {{\n{heads}{body.strip()}\n"
        f"return {{ {', '.join(exported)} }};\n}})();"
    )


def _split(names: str) -> list[str]:
    return [part.strip() for part in names.split(",") if part.strip()]


def _variable(name: str) -> str:
    return f"module_{name.replace('-', '_')}"
