"""TOML and JSON of others end in a value or in one error of one line, soon."""

from __future__ import annotations

import time

import pytest

from mcts.formats import MOST_KEY_PARTS, FormatError, parse_json, parse_toml

DEEP = 100_000


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a = 1 2", "line 1"),
        ("a = " + "[" * DEEP, "nested too deeply"),
        ("a = " + "9" * 5000, "more than 4300 digits"),
        ("a = " + "9" * 301, "more than 300 digits"),
        ("a = 0x" + "f" * 5000, "more than 300 digits"),
        ("a = 1\n" + "a." * DEEP + "b = 1", "more than 32 parts (at line 2)"),
        ("[" + "a." * DEEP + "b]", "more than 32 parts"),
        ("a = {" + '"x y" . ' * DEEP + "b = 1}", "more than 32 parts"),
    ],
)
def test_toml_past_what_anybody_writes_is_one_error(text: str, told: str) -> None:
    begin = time.process_time()
    with pytest.raises(FormatError) as error:
        parse_toml(text)
    assert told in str(error.value)
    assert len(str(error.value).splitlines()) == 1
    assert time.process_time() - begin < 5


def test_dots_that_part_no_key_do_not_count() -> None:
    dots = "." * 2 * MOST_KEY_PARTS
    strings = f"""a = "{dots}\\"{dots}" # {dots}
b = '{dots}'
c = \"\"\"{dots}
"{dots}\"\"\"
d = '''{dots}
'{dots}'''
e = [{", ".join(["0.5"] * 2 * MOST_KEY_PARTS)}]
f.g."h i".j = 1
"""
    table = parse_toml(strings)
    assert table["a"] == f'{dots}"{dots}'
    assert table["f"] == {"g": {"h i": {"j": 1}}}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "line 1"),
        ("[" * DEEP, "nested too deeply"),
        ('{"a": ' * DEEP, "nested too deeply"),
        ('{"a": [' + "9" * 5000 + "]}", "more than 4300 digits"),
        (b'"\xff"', "utf-8"),
    ],
)
def test_json_past_what_anybody_writes_is_one_error(text: str | bytes, told: str) -> None:
    with pytest.raises(FormatError) as error:
        parse_json(text)
    assert told in str(error.value)


def test_what_is_in_order_is_read() -> None:
    assert parse_toml("a.b = [1, {c = 2.5}]") == {"a": {"b": [1, {"c": 2.5}]}}
    assert parse_json('{"a": [1, "\u2028"]}') == {"a": [1, "\u2028"]}
    assert parse_json("9" * 301) == int("9" * 301)
