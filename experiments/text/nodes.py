"""A node in few words, for a tree's picture and for a terminal: fit to print, never long.

Models, compilers and task files wrote what is told here, so nothing of it may steer a terminal,
break a picture's source or fill the page.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from textwrap import wrap

from experiments.text.changes import changes
from experiments.text.words import clean
from mcts.domain import Candidate, Evaluation

WORD = 30
"""Characters of one word, a change or a status."""
LINE = 30
"""Characters of one line that words are packed into."""
_NAME = 2 * WORD
CHANGES = 5
"""Changes of one node that are told."""
_SURPLUS = 4


def fit(text: str, most: int) -> str:
    """One line of at most `most` characters without anything that hides, moves or reorders text."""
    line = " ".join(clean(text[: most * _SURPLUS]).split())
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"


def move_words(before: Candidate | None, after: Candidate | None) -> list[str]:
    """What a node changed against its parent: the name of its code, tunables, lines of source."""
    if before is None or after is None:
        return []
    changed = changes(before, after)
    called = wrap(fit(changed.name, _NAME), WORD)
    words = [*called, *replace(changed, name="").words()]
    if len(words) > CHANGES:
        words = [*words[: CHANGES - 1], f"and {len(words) - CHANGES + 1} more"]
    return [fit(word, WORD) for word in words]


def packed(words: Sequence[str], *, most: int = LINE) -> list[str]:
    """`words` in as few lines as hold them, in order, with commas between."""
    lines: list[str] = []
    for word in words:
        if lines and len(lines[-1]) + len(word) + 2 <= most:
            lines[-1] += f", {word}"
        else:
            lines.append(word)
    return lines


def failure_words(verdict: Evaluation | None) -> str:
    """The status, and of a refusal the class of what was seen."""
    if verdict is None:
        return "failed"
    named = [verdict.status, *([verdict.refusal.cheat] if verdict.refusal else [])]
    return fit(": ".join(named).replace("_", " "), WORD)
