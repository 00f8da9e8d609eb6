"""Which basic blocks form loops, and how the loops are nested.

The algorithm is Tarjan's ("Testing flow graph reducibility", 1974): one depth-first walk; then each
loop, from the innermost outwards, absorbs the blocks that lead to its back edges. A union-find
keeps it nearly linear, even for a listing of a million jumps. Entries into a loop other than its
header, which compilers do not generate for structured code, are not followed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from profilers.sass.flow import Flow

_ROOT = 0


@dataclass(frozen=True, slots=True)
class Nesting:
    """`header_of[block]` is the header of the innermost loop around a block, None outside of loops.

    A header belongs to its own loop. `parents` maps each header to the header of the loop around,
    outer loops first.
    """

    header_of: tuple[int | None, ...]
    parents: dict[int, int | None]

    def depths(self) -> dict[int, int]:
        """Nesting depth by header, 1 for an outermost loop."""
        depths: dict[int, int] = {}
        for header, around in self.parents.items():
            depths[header] = 1 if around is None else depths[around] + 1
        return depths


def loop_nesting(flow: Flow) -> Nesting:
    """The loops among the blocks that can be reached."""
    blocks = len(flow.successors)
    # A root in front of all entries makes one graph of the kernel and its subroutines.
    successors = [flow.entries, *([after + 1 for after in block] for block in flow.successors)]
    successors[_ROOT] = [entry + 1 for entry in flow.entries]
    order, last = _walk(successors)
    number = {node: place for place, node in enumerate(order)}
    back: list[list[int]] = [[] for _ in order]
    forward: list[list[int]] = [[] for _ in order]
    for node in order:
        source = number[node]
        for target in (number[following] for following in successors[node]):
            kind = back if target <= source <= last[target] else forward
            kind[target].append(source)
    header = _headers(back, forward, last)
    loops = {place for place in range(len(order)) if back[place]}

    def block_at(place: int | None) -> int | None:
        return None if place is None else order[place] - 1

    header_of: list[int | None] = [None] * blocks
    for place, node in enumerate(order):
        if node != _ROOT:
            header_of[node - 1] = block_at(place if place in loops else header[place])
    parents = {order[place] - 1: block_at(header[place]) for place in sorted(loops)}
    return Nesting(tuple(header_of), parents)


def _walk(successors: Sequence[Sequence[int]]) -> tuple[list[int], list[int]]:
    """Nodes in preorder of a depth-first walk, and per place the last place below it."""
    order: list[int] = [_ROOT]
    last: list[int] = [0]
    place = {_ROOT: 0}
    path = [(_ROOT, iter(successors[_ROOT]))]
    while path:
        node, following = path[-1]
        unseen = next((after for after in following if after not in place), None)
        if unseen is None:
            last[place[node]] = len(order) - 1
            path.pop()
            continue
        place[unseen] = len(order)
        order.append(unseen)
        last.append(0)
        path.append((unseen, iter(successors[unseen])))
    return order, last


def _headers(
    back: Sequence[Sequence[int]], forward: Sequence[Sequence[int]], last: Sequence[int]
) -> list[int | None]:
    """Per place, the header of the innermost loop around it, excluding itself."""
    header: list[int | None] = [None] * len(back)
    union = list(range(len(back)))

    def find(place: int) -> int:
        while union[place] != place:
            union[place] = union[union[place]]
            place = union[place]
        return place

    for head in range(len(back) - 1, -1, -1):
        body = {find(source) for source in back[head] if source != head} - {head}
        pending = list(body)
        while pending:
            for source in forward[pending.pop()]:
                inner = find(source)
                if head < inner <= last[head] and inner not in body:
                    body.add(inner)
                    pending.append(inner)
        for place in body:
            header[place] = union[place] = head
    return header
