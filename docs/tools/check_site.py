"""Checks a built site: `python -m docs.tools.check_site site`.

What mkdocs does not check, because it sees Markdown alone: that every link and anchor of the
finished pages leads somewhere, that snippets were put in, and that no page loads anything from
another host. Prints a line for each fault; exit code 1 if there is one.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {("script", "src"), ("img", "src"), ("iframe", "src"), ("source", "src"), ("link", "href")}
"""What a browser fetches by itself when it opens a page."""
NOT_LOADED = {"canonical", "next", "prev", "alternate"}
ABSENT = "404.html"
"""Served in place of any missing page, so its links begin at the root of a host."""
_CSS_URL = re.compile(r"url\(\s*['\"]?((?:https?:)?//[^)'\"]+)")


@dataclass
class Page:
    """The text of a page, its ids, what it links to, and what it loads."""

    text: str = ""
    ids: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    loads: list[str] = field(default_factory=list)


class Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.page = Page()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.page.ids |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.page.links.append(given["href"])
        passive = tag == "link" and NOT_LOADED & set(given.get("rel", "").split())
        for name, value in given.items():
            if (tag, name) in LOADED and not passive:
                self.page.loads.append(value)
        self.page.loads += _CSS_URL.findall(given.get("style", ""))

    def handle_data(self, data: str) -> None:
        self.page.text += data


def faults(site: Path) -> Iterator[str]:
    """A line for each fault of the site in folder `site`."""
    pages = {path: _read(path) for path in sorted(site.rglob("*.html")) if path.name != ABSENT}
    if not pages:
        yield f"{site}: no pages"
    for path, page in pages.items():
        where = path.relative_to(site)
        if "8<--" in re.sub(r"\s", "", page.text):
            yield f"{where}: a snippet was not put in"
        for target in page.links:
            if _is_local(target) and (problem := _broken(path, target, site, pages)):
                yield f"{where}: link to {target}: {problem}"
        for target in page.loads:
            if not _is_local(target):
                yield f"{where}: loads {target}"
            elif problem := _broken(path, target, site, pages):
                yield f"{where}: loads {target}: {problem}"
    for path in sorted(site.rglob("*.css")):
        for target in _CSS_URL.findall(path.read_text()):
            yield f"{path.relative_to(site)}: loads {target}"


def _read(path: Path) -> Page:
    reader = Reader()
    reader.feed(path.read_text())
    return reader.page


def _is_local(target: str) -> bool:
    parts = urlsplit(target)
    return not parts.scheme and not parts.netloc


def _broken(path: Path, target: str, site: Path, pages: dict[Path, Page]) -> str:
    """Why a link within the site leads nowhere; empty where it does not."""
    parts = urlsplit(target)
    if parts.path.startswith("/"):
        return "is absolute, and the site may lie anywhere"
    found = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if not found.is_file() or not found.is_relative_to(site.resolve()):
        return "no such file in the site"
    fragment = unquote(parts.fragment)
    if fragment and found in pages and fragment not in pages[found].ids:
        return f"no id {fragment!r} there"
    return ""


def main() -> None:
    site = Path(sys.argv[1] if len(sys.argv) > 1 else "site").resolve()
    found = list(faults(site))
    print("\n".join(found) or f"{sum(1 for _ in site.rglob('*.html'))} pages, no faults")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
