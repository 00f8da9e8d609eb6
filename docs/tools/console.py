"""Console sessions in Markdown: what is said to be run, and whether that was printed.

A fenced block `console` holds commands behind `$ ` and what they print. `...` stands for any text
within a line, and alone for any lines. A comment before a block says how it is run: `install` not
at all, `gpu` only where there is one, `background` until the page is through.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

_MARK = re.compile(r"<!-- (install|gpu|background) -->")
_NUMBER = re.compile(r"\d[\d.,]*")


@dataclass(frozen=True, slots=True)
class Step:
    """A command with what is said to follow; `line` is where its output begins, from 0."""

    command: str
    expected: tuple[str, ...]
    mark: str
    line: int


@dataclass(frozen=True, slots=True)
class Difference:
    """A line of a page that is not what was printed, and what comes nearest in its place."""

    step: Step
    at: int
    printed: str
    instead: str | None

    def __str__(self) -> str:
        here = self.step.expected[self.at : self.at + 1]
        said = "".join(here) or "(nothing more, and to succeed)"
        return f"$ {self.step.command}\nsaid to print: {said}\nbut printed:\n{self.printed}"


def steps(page: Path) -> Iterator[Step]:
    """The commands of a page in their order."""
    lines = page.read_text().splitlines()
    mark, inside, at = "", False, 0
    while at < len(lines):
        line = lines[at]
        at += 1
        if not inside:
            inside = line == "```console"
            found = _MARK.fullmatch(line)
            mark = found[1] if found else mark if inside or not line else ""
        elif line == "```":
            inside, mark = False, ""
        elif line.startswith("$ "):
            command = line[2:]
            while command.endswith("\\"):
                command = command[:-1] + lines[at].strip()
                at += 1
            begin = at
            while lines[at] != "```" and not lines[at].startswith("$ "):
                at += 1
            yield Step(command, tuple(lines[begin:at]), mark, begin)


def differences_of(step: Step, printed: str) -> Iterator[Difference]:
    """Lines of the page that do not follow, in their order, from where the last one was found.

    A line must stand right behind the one before it, unless `...` is between them.
    """
    lines = [line.rstrip() for line in printed.splitlines()]
    at, skipping = 0, False
    for number, said in enumerate(step.expected):
        if said == "...":
            skipping = True
            continue
        places = range(at, len(lines)) if skipping else range(at, min(at + 1, len(lines)))
        here = next((i for i in places if _pattern(said).fullmatch(lines[i])), None)
        if here is None:
            near = next((i for i in places if _pattern(said, loose=True).fullmatch(lines[i])), None)
            instead = None if near is None else _renewed(said, lines[near])
            yield Difference(step, number, printed, instead)
            here = near
        at, skipping = (at if here is None else here + 1), here is None
    if not skipping and at < len(lines) and any(lines[at:]):
        yield Difference(step, len(step.expected), printed, None)


def _pattern(said: str, *, loose: bool = False) -> re.Pattern[str]:
    """`...` as any text; `loose`: any figure for a figure."""
    parts = [re.escape(part) for part in said.split("...")]
    if loose:
        parts = [_NUMBER.sub(r"\\d[\\d.,]*", part.replace(r"\.", ".")) for part in parts]
    return re.compile("(.*)".join(parts).rstrip())


def _renewed(said: str, printed: str) -> str:
    """The printed line, with `...` where the page has it."""
    match = _pattern(said, loose=True).fullmatch(printed)
    assert match is not None
    text, end = "", 0
    for group in range(1, said.count("...") + 1):
        text += printed[end : match.start(group)] + "..."
        end = match.end(group)
    return text + printed[end:]


def update(page: Path, differences: Sequence[Difference]) -> None:
    """Write figures that changed into the page."""
    lines = page.read_text().splitlines()
    for difference in differences:
        if difference.instead is not None:
            lines[difference.step.line + difference.at] = difference.instead
    page.write_text("\n".join(lines) + "\n")
