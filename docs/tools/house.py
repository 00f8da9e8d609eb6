"""The picture of the house in docs/architecture.md, from the import contracts that hold it.

python -m docs.tools.house             writes docs/images/house.svg
python -m docs.tools.house --check     exit code 1 if the picture is not of the contracts
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

ROOT = Path(__file__).resolve().parents[2]
PICTURE = ROOT / "docs" / "images" / "house.svg"

Layers = Sequence[Sequence[str]]
"""From the top down; the rooms of one layer do not know each other."""

_WIDTH = 1120
_GAP, _PAD, _TITLE = 10, 12, 26
_ROOM_HEIGHT, _ROW = 26, 34
_ROOF = 96
_INK, _PAPER, _FLOOR, _FOLDER, _MODULE = "#263238", "#ffffff", "#f4f6f6", "#b2dfdb", "#ffffff"


def read_floors(pyproject: Path = ROOT / "pyproject.toml") -> tuple[Layers, Mapping[str, Layers]]:
    """The packages by floor, and the layers of each package's rooms, from the top down."""
    contracts: list[dict[str, Any]] = tomllib.loads(pyproject.read_text())["tool"]["importlinter"][
        "contracts"
    ]
    layered = [one for one in contracts if one["type"] == "layers"]
    floors = next(_split(one["layers"]) for one in layered if "containers" not in one)
    packages = {name for floor in floors for name in floor}
    rooms = {
        name: _split(room for room in one["layers"] if not room.startswith("__"))
        for one in layered
        for name in one.get("containers", ())
        if name in packages
    }
    return floors, rooms


def draw(floors: Layers, rooms: Mapping[str, Layers]) -> str:
    """The house as SVG: a box for each package, in it a row for each layer of rooms."""
    heights = [max(_height(rooms[name]) for name in floor) for floor in floors]
    height = _ROOF + sum(heights) + _GAP * (len(floors) + 1)
    svg = Xml.Element(
        "svg", xmlns="http://www.w3.org/2000/svg", viewBox=f"0 0 {_WIDTH} {height}", role="img"
    )
    Xml.SubElement(svg, "title").text = "The packages by floor, and their rooms by layer"
    Xml.SubElement(
        svg, "style"
    ).text = "text { font-family: sans-serif; font-size: 13px; text-anchor: middle }"
    _box(svg, 0, 0, _WIDTH, height, fill=_PAPER)
    _roof(svg)
    top = _ROOF + _GAP
    for floor, floor_height in zip(floors, heights, strict=True):
        left = float(_GAP)
        for name, width in zip(floor, _widths(floor, rooms), strict=True):
            _package(svg, name, rooms[name], left, top, width, floor_height)
            left += width + _GAP
        top += floor_height + _GAP
    Xml.indent(svg)
    return Xml.tostring(svg, encoding="unicode") + "\n"


def _split(layers: Iterable[str]) -> Layers:
    return [[room.strip() for room in layer.split("|")] for layer in layers]


def _height(layers: Layers) -> int:
    return _TITLE + _ROW * len(layers) + _PAD


def _widths(floor: Sequence[str], rooms: Mapping[str, Layers]) -> list[float]:
    """The packages of a floor share its width by their widest layers."""
    widest = [
        max(sum(_needed(room) for room in layer) + _GAP * (len(layer) + 1) for layer in rooms[name])
        for name in floor
    ]
    free = _WIDTH - _GAP * (len(floor) + 1)
    return [free * width / sum(widest) for width in widest]


def _needed(room: str) -> float:
    return 7.4 * len(room) + 16


def _roof(svg: Xml.Element) -> None:
    points = f"{_GAP},{_ROOF} {_WIDTH / 2},10 {_WIDTH - _GAP},{_ROOF}"
    Xml.SubElement(svg, "polygon", points=points, fill=_FOLDER, stroke=_INK)
    _text(svg, "rooftree: the command line", _WIDTH / 2, _ROOF - 26, bold=True)


def _package(
    svg: Xml.Element,
    name: str,
    layers: Layers,
    left: float,
    top: float,
    width: float,
    height: float,
) -> None:
    _box(svg, left, top, width, height, fill=_FLOOR)
    _text(svg, f"{name}/", left + width / 2, top + 18, bold=True)
    spare = height - _height(layers)
    y = top + _TITLE + spare / 2
    for layer in layers:
        needed = [_needed(room) for room in layer]
        free = width - 2 * _PAD - _GAP * (len(layer) - 1)
        x = left + _PAD
        for room, share in zip(layer, needed, strict=True):
            room_width = free * share / sum(needed)
            is_folder = (ROOT / name / room).is_dir()
            _box(svg, x, y, room_width, _ROOM_HEIGHT, fill=_FOLDER if is_folder else _MODULE)
            _text(svg, room, x + room_width / 2, y + 17.5)
            x += room_width + _GAP
        y += _ROW


def _box(
    svg: Xml.Element, x: float, y: float, width: float, height: float, *, fill: str
) -> Xml.Element:
    return Xml.SubElement(
        svg, "rect", x=f"{x:.1f}", y=f"{y:.1f}", width=f"{width:.1f}", height=f"{height:.1f}",
        rx="4", fill=fill, stroke=_INK,
    )  # fmt: skip


def _text(svg: Xml.Element, words: str, x: float, y: float, *, bold: bool = False) -> None:
    weight = {"font-weight": "bold"} if bold else {}
    Xml.SubElement(svg, "text", x=f"{x:.1f}", y=f"{y:.1f}", fill=_INK, **weight).text = words


def main(arguments: Sequence[str]) -> int:
    """Write the picture, or compare it. Returns the exit code."""
    picture = draw(*read_floors())
    if "--check" in arguments:
        if PICTURE.is_file() and PICTURE.read_text() == picture:
            return 0
        print("docs/images/house.svg is not of the contracts: run python -m docs.tools.house")
        return 1
    PICTURE.write_text(picture)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
