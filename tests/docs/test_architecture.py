"""The picture of the house is of the import contracts."""

from __future__ import annotations

from docs.tools.house import PICTURE, draw, read_floors


def test_the_picture_shows_the_contracts_of_now() -> None:
    again = "run python -m docs.tools.house"
    assert PICTURE.read_text(encoding="utf-8") == draw(*read_floors()), again


def test_every_package_is_on_a_floor_and_has_its_rooms() -> None:
    floors, rooms = read_floors()
    assert {name for floor in floors for name in floor} == set(rooms)
    assert floors[0] == ["experiments"] and floors[-1] == ["mcts"]
