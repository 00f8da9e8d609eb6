"""The results of look-ups as text for a model or a person: short lines that cite path:line."""

from __future__ import annotations

from cutlass_search.reading import Passage
from cutlass_search.search.searching import Hit, Place
from cutlass_search.search.symbols import Definition, Use
from cutlass_search.tools import ConceptExample, Results

_NOTE = 160
_CODE = 180


def hits(found: Results[Hit]) -> str:
    """One paragraph per file."""
    if not found.results:
        return f"nothing found for {found.asked!r}: use other words, or leave kind and path out"
    return "\n".join(_hit(number, one) for number, one in enumerate(found.results, start=1))


def passage(found: Passage) -> str:
    """The lines with their numbers, below a line with path and range."""
    head = f"{found.path}:{found.first}-{found.last} of {found.total} lines"
    lines = found.text.split("\n") if found.last >= found.first else []
    body = [f"{number:>5}  {line}" for number, line in enumerate(lines, start=found.first)]
    if found.cut:
        body.append(f"... cut here: go on with lines {found.last + 1}-")
    return "\n".join([head, *body])


def definitions(found: Results[Definition]) -> str:
    """One paragraph per definition."""
    shown = [_definition(one) for one in found.results]
    return "\n".join([*shown, *_rest(found.total, len(shown))])


def uses(found: Results[Use]) -> str:
    """One line per use."""
    shown = [f"{one.path}:{one.line}  {one.text[:_CODE]}" for one in found.results]
    return "\n".join([*shown, *_rest(found.total, len(shown))])


def concept_example(found: ConceptExample) -> str:
    """The concept in a sentence, then its places."""
    lines = [f"{found.concept.name}: {found.concept.says}"]
    lines += [_definition(one) for one in found.entries]
    lines += [f"example: {path}" for path in found.examples]
    if found.missing:
        lines.append(f"not in this version: {', '.join(found.missing)}")
    return "\n".join(lines)


def _hit(number: int, one: Hit) -> str:
    lines = [f"{number}. {_cited(one.best)}"]
    if one.best.title and one.best.title != one.best.name:
        lines.append(f"   {one.best.title[:_CODE]}")
    if one.best.note:
        lines.append(f"   // {one.best.note[:_NOTE]}")
    lines += [f"   also {_cited(place, with_path=False)}" for place in one.besides]
    return "\n".join(lines)


def _cited(place: Place, *, with_path: bool = True) -> str:
    where = f"{place.line}-{place.last}"
    named = f"{place.kind} {place.name}"
    return f"{place.path}:{where}  {named}" if with_path else f":{where}  {named}"


def _definition(one: Definition) -> str:
    kind = one.kind if one.body else f"{one.kind}, declared"
    lines = [f"{one.path}:{one.line}-{one.last}  {kind} {one.qualified}", f"   {one.title[:_CODE]}"]
    if one.note:
        lines.append(f"   // {one.note[:_NOTE]}")
    return "\n".join(lines)


def _rest(total: int, shown: int) -> list[str]:
    return [f"... and {total - shown} more"] if total > shown else []
