"""How docstrings are shown on the site."""

from __future__ import annotations

from pathlib import Path

import pytest

griffe = pytest.importorskip("griffe", reason="the extra [docs] is not installed")

from docs.tools.docstrings import Fields, listed  # noqa: E402

MODULE = '''
class Verdict(Noun):
    """What came of it."""

    status: str
    message: str = ""

    @property
    def failed(self) -> bool:
        """Whether it failed."""

@dataclass
class Constants:
    """rate: how fast."""

    rate: float = 1.0

    def __post_init__(self) -> None: ...
'''


def test_constants_named_line_by_line_become_a_list() -> None:
    text = "What it does.\n\nrate: how fast,\n    in Hz.\nleast, most: bounds."
    assert listed(text) == (
        "What it does.\n\n- `rate`: how fast,\n    in Hz.\n- `least`, `most`: bounds."
    )


def test_prose_with_a_colon_stays_prose() -> None:
    text = "One thing: it works.\nand another: too"
    assert listed(text) == text


def test_fields_stand_in_one_block_and_have_no_heading(tmp_path: Path) -> None:
    (tmp_path / "shown.py").write_text(MODULE)
    extensions = griffe.load_extensions(Fields())
    module = griffe.load("shown", search_paths=[tmp_path], extensions=extensions)
    verdict, constants = module["Verdict"], module["Constants"]
    assert "```python\nstatus: str\nmessage: str = ''\n```" in verdict.docstring.value
    assert not verdict["status"].is_public
    assert verdict["failed"].is_public
    assert constants.docstring.value == "- `rate`: how fast."
    assert not constants["rate"].is_public
    assert not constants["__post_init__"].is_public
