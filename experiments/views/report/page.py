"""The page, put together: what is seen without JavaScript, the data, and the scripts.

Everything a candidate or a model wrote is text: escaped here, in the data an inert JSON, and put on
the page by scripts that make text nodes alone. The content security policy forbids everything but
the page's own scripts and styles, by their hashes, and with trusted types every way from text to
markup.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from experiments.views.branching import Branches
from experiments.views.report import assets, static
from experiments.views.report.data import page_data
from experiments.views.report.text import line
from mcts.journal.record import NodeRecord, Result
from mcts.journal.summary import Provenance

_NO_BRANCHES: Branches = {}
_ESCAPES = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}


def report_html(
    *,
    run: Provenance,
    result: Result,
    svg: bytes | None,
    branches: Branches = _NO_BRANCHES,
    run_dir: Path | None = None,
) -> str:
    """The page of a run whose baseline was measured. `svg` is the tree's picture, if there is one;
    `branches` are those that lost, by node; `run_dir` the folder that holds the run's journal.
    """
    data = page_data(run=run, result=result, branches=branches, run_dir=run_dir)
    best = next(node for node in result.nodes if node.id == data.table["best"])
    body = "\n".join(
        [
            static.header(run, result),
            static.overview(data.table, best),
            '<div id="app"></div>',
            _picture(svg),
            f'<div class="without-script">{static.best_source(best)}',
            f"{static.first_nodes(data.table)}</div>",
        ]
    )
    return _document(_title(run, best), body, data.table, data.blocks)


def _title(run: Provenance, best: NodeRecord) -> str:
    speedup = best.verdict.speedup if best.verdict is not None else None
    return line(run.task) + (f": {speedup:.2f}×" if speedup is not None else "")


def _document(title: str, body: str, table: Mapping[str, Any], blocks: Sequence[str]) -> str:
    scripts = "\n".join(f"<script>{script}</script>" for script in assets.scripts())
    packed = "\n".join(
        f'<script type="application/octet-stream" id="block-{number}">{block}</script>'
        for number, block in enumerate(blocks)
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy()}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{static.escape(title)}</title>\n<style>{assets.styles()}</style></head>\n"
        f"<body><main>\n{body}\n</main>\n"
        f'<script type="application/json" id="data">{inert_json(table)}</script>\n'
        f"{packed}\n{scripts}\n</body></html>\n"
    )


def policy() -> str:
    """The content security policy: nothing but this page's own scripts, styles and pictures."""
    hashes = " ".join(assets.source_hash(script) for script in assets.scripts())
    return (
        f"default-src 'none'; script-src {hashes}; "
        f"style-src {assets.source_hash(assets.styles())}; img-src data:; base-uri 'none'; "
        "form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    )


def inert_json(table: Mapping[str, Any]) -> str:
    """JSON in which no HTML parser finds the end of its element, nor a comment or an entity."""
    text = json.dumps(table, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.translate(_ESCAPES)


def _picture(svg: bytes | None) -> str:
    if svg is None:
        said = "<p>Not drawn: neither dot nor graphviz-pure is installed.</p>"
        return static.section("picture", "Picture of the tree", said)
    source = f"data:image/svg+xml;base64,{base64.b64encode(svg).decode()}"
    image = f'<img alt="the search tree" src="{source}">'
    return static.section(
        "picture",
        "Picture of the tree",
        f'<details><summary>Show the picture</summary><div class="scroll tree">{image}</div>'
        "</details>",
    )
