"""What a recording keeps of machine code."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcts.domain import SassFacts, SassLoop
from profilers.recordings.recording import RecordedConfiguration
from profilers.recordings.t4_result import FieldError, record_from_json, record_to_json

FACTS = SassFacts(
    instructions=40,
    registers=32,
    global_loads={"128": 2},
    integer_ops=7,
    half_ops=3,
    predicated=1,
    mix={"integer": 7, "half": 3, "memory": 30},
    loops=(SassLoop(depth=1, instructions=20, line=4, mix={"memory": 20}),),
    lines={"global_loads.128": (3, 4)},
    code_hash="sass-1",
)


def written() -> dict[str, Any]:
    record = RecordedConfiguration(
        configuration={"BLOCK": 128}, status="measured", runtimes_us=(1.0,), sass={"k": FACTS}
    )
    return dict(json.loads(json.dumps(record_to_json(record))))


def test_numbers_are_kept_and_structures_are_not() -> None:
    result = written()
    names = {entry["name"] for entry in result["measurements"]}
    assert {"sass.mix.integer@k", "sass.predicated@k", "sass.global_loads.128@k"} <= names
    assert not any("loops" in name or "lines" in name for name in names)
    assert all(isinstance(entry["value"], int | float | str) for entry in result["measurements"])
    read = record_from_json(result).sass["k"]
    assert read == FACTS.model_copy(update={"loops": (), "lines": {}})
    assert read.hot_mix == FACTS.mix


@pytest.mark.parametrize("name", ["sass.loops@k", "sass.lines.barriers@k", "sass.mix.quantum@k"])
def test_unknown_measurements_are_ignored(name: str) -> None:
    result = written()
    result["measurements"].append({"name": name, "value": 3, "unit": ""})
    assert record_from_json(result).sass == record_from_json(written()).sass


def test_a_count_without_a_number_names_its_place() -> None:
    result = written()
    result["measurements"].append({"name": "sass.mix.fp32@k", "value": "many", "unit": ""})
    with pytest.raises(FieldError, match="SASS facts"):
        record_from_json(result)
