"""Stacks of operators with shapes that take about a wanted time, as problem files."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass, replace

from experiments.training.synthesis.catalogue import (
    ELEMENT_BYTES,
    HEAVY,
    OPERATORS,
    Layer,
    Operator,
    Shape,
    scaled,
    start,
)

MOST_OPERATORS = 5
"""CUDA Agent, section 3.1."""
BYTES_PER_S, FLOPS_PER_S = 2.5e12, 4e13
"""What eager PyTorch comes to on an H100 or H200, roughly: memory, and fp32 products. Only shapes
hang on it; whether a task takes 1 to 100 ms is measured."""
WANTED_S = (2e-3, 3e-2)
"""Times are drawn evenly by their logarithm between these."""
MOST_BYTES = 6e9
"""Of inputs, weights and all intermediates together."""
_MOST_HEAVY = 2
_MOST_TRIES = 200
_SMALL_SIDE = {"image": 32, "sequence": 16, "rows": 1}


@dataclass(frozen=True, slots=True, kw_only=True)
class Composition:
    """A task to be: the shape that goes in, and its operators, each with the seed of its draws."""

    first: Shape
    parts: tuple[tuple[Operator, int], ...]

    @property
    def operators(self) -> tuple[str, ...]:
        return tuple(operator.name for operator, _ in self.parts)

    def layers(self, first: Shape) -> tuple[Layer, ...] | None:
        """The layers when a tensor of shape `first` goes in; None if one does not fit."""
        found: list[Layer] = []
        shape = first
        for operator, seed in self.parts:
            layer = operator.make(shape, random.Random(seed))
            if layer is None or shape.kind not in operator.kinds:
                return None
            found.append(layer)
            shape = layer.out
        return tuple(found)

    @property
    def small(self) -> Shape:
        """A shape of the same widths on which a processor is quick."""
        side = min(self.first.side, _SMALL_SIDE[self.first.kind])
        return replace(self.first, batch=4 if self.first.kind == "rows" else 2, side=side)


def compositions(seed: int) -> Iterator[Composition]:
    """Tasks without end, one after the other, the same for the same seed."""
    number = 0
    while True:
        draw = random.Random(f"{seed}/{number}")
        number += 1
        if (found := _composed(draw)) is not None:
            yield found


def estimated_s(layers: tuple[Layer, ...]) -> float:
    """About how long eager PyTorch takes: each layer by what bounds it."""
    return sum(max(layer.moved / BYTES_PER_S, layer.flops / FLOPS_PER_S) for layer in layers)


def source_of(composition: Composition, first: Shape) -> str:
    """The problem file's text for an input of shape `first`. ValueError if that does not fit."""
    layers = composition.layers(first)
    if layers is None:
        raise ValueError("the operators do not fit this shape")
    constants = {
        f"{name}{number}": value
        for number, layer in enumerate(layers, start=1)
        for name, value in layer.constants.items()
    }
    kept = [name for name in constants if not name.startswith("out_")]
    inits = _numbered(layers, "init")
    shapes = [first, *(layer.out for layer in layers)]
    second = {
        f"y{number}": shape
        for number, (layer, shape) in enumerate(zip(layers, shapes, strict=False), start=1)
        if layer.second
    }
    arguments = ", ".join(("self", *constants))
    body = [f"        self.{name} = {name}" for name in kept] + [
        f"        {line}" for line in inits
    ]
    forward = [_with_own(line, kept) for line in _numbered(layers, "forward")]
    needs_functions = any("F." in line for line in forward)
    lines = [
        "import torch",
        "import torch.nn as nn",
        *(["import torch.nn.functional as F"] if needs_functions else []),
        "",
        "",
        "class Model(nn.Module):",
        f'    """{", ".join(composition.operators)}."""',
        "",
        f"    def __init__({arguments}):",
        "        super().__init__()",
        *body,
        "",
        f"    def forward(self, {', '.join(('x', *second))}):",
        *(f"        {line}" for line in forward),
        "        return x",
        "",
        "",
        *(f"{name} = {size}" for name, size in zip(first.names, first.sizes, strict=True)),
        *(f"{name} = {value}" for name, value in constants.items()),
        "",
        "",
        "def get_inputs():",
        f"    x = torch.rand({', '.join(first.names)})",
        *(f"    {name} = torch.rand({_sizes(shape)})" for name, shape in second.items()),
        f"    return [{', '.join(('x', *second))}]",
        "",
        "",
        "def get_init_inputs():",
        f"    return [{', '.join(constants)}]",
        "",
    ]
    return "\n".join(lines)


def _composed(draw: random.Random) -> Composition | None:
    """One task of a drawn time; None if what was drawn is too large or cannot be made small."""
    first, count = start(draw), draw.randint(1, MOST_OPERATORS)
    parts: list[tuple[Operator, int]] = []
    shape, heavy = first, 0
    for _ in range(_MOST_TRIES):
        if len(parts) == count:
            break
        operator = draw.choice(OPERATORS)
        last = parts[-1][0].name if parts else ""
        if shape.kind not in operator.kinds or operator.name == last:
            continue
        if operator.name in HEAVY and heavy == _MOST_HEAVY:
            continue
        seed = draw.randrange(2**32)
        layer = operator.make(shape, random.Random(seed))
        if layer is None:
            continue
        parts.append((operator, seed))
        heavy += operator.name in HEAVY
        shape = layer.out
    found = Composition(first=first, parts=tuple(parts))
    low, high = map(math.log, WANTED_S)
    wanted = math.exp(draw.uniform(low, high))
    sized = _sized(found, wanted)
    if sized is None or sized.layers(sized.small) is None:
        return None
    return sized


def _sized(found: Composition, wanted_s: float) -> Composition | None:
    """The composition with the batch that takes about `wanted_s`; None if that needs too much."""
    first = found.first
    for _ in range(3):  # weights do not grow with the batch
        layers = found.layers(first)
        if layers is None:
            return None
        first = scaled(first, wanted_s / estimated_s(layers))
    layers = found.layers(first)
    if layers is None:
        return None
    elements = first.elements * (1 + sum(layer.second for layer in layers))
    elements += sum(layer.out.elements for layer in layers)
    if ELEMENT_BYTES * elements > MOST_BYTES:
        return None
    return replace(found, first=first)


def _numbered(layers: tuple[Layer, ...], part: str) -> list[str]:
    return [
        line.replace("{n}", str(number))
        for number, layer in enumerate(layers, start=1)
        for line in getattr(layer, part)
    ]


def _with_own(line: str, kept: list[str]) -> str:
    """The line with the model's own attributes in place of constants of their names."""
    for name in sorted(kept, key=len, reverse=True):
        line = line.replace(f"={name}", f"=self.{name}").replace(f"-{name}", f"-self.{name}")
        line = line.replace(f" {name}", f" self.{name}")
    return line


def _sizes(shape: Shape) -> str:
    return ", ".join(map(str, shape.sizes))
