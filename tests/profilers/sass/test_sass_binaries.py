"""Which cubin of a program a device runs, and what its kernels are called."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcts.errors import WorldError
from profilers.sass import binaries as sass_binaries
from profilers.sass.binaries import best_architecture, cubins_in, readable_names

LISTED = """ELF file    1: main.sm_80.cubin
ELF file    2: main.sm_90a.cubin
ELF file    3: a file.1.sm_80.cubin
PTX file    1: main.sm_90.ptx
"""


@pytest.mark.parametrize(
    ("available", "device", "expected"),
    [
        (["sm_80", "sm_90a"], "sm_90a", "sm_90a"),
        (["sm_90", "sm_90a"], "sm_90a", "sm_90a"),
        (["sm_90"], "sm_90a", "sm_90"),
        (["sm_80", "sm_86"], "sm_89", "sm_86"),
        (["sm_80", "sm_86"], "sm_80", "sm_80"),
        (["sm_86"], "sm_80", None),
        (["sm_80"], "sm_90a", None),
        (["sm_100a"], "sm_103a", None),
        (["sm_100f", "sm_100"], "sm_103a", "sm_100f"),
        (["sm_100a"], "sm_120a", None),
        ([], "sm_90a", None),
        (["nonsense"], "sm_90a", None),
        (["sm_90"], "nonsense", None),
    ],
)
def test_the_closest_code_of_the_same_generation(
    available: list[str], device: str, expected: str | None
) -> None:
    assert best_architecture(available, device) == expected


def test_the_cubins_of_a_program_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = iter(LISTED.splitlines(keepends=True))
    monkeypatch.setattr(sass_binaries, "tool_lines", lambda *_: lines)
    found = cubins_in(Path("program"), Path("cuobjdump"))
    assert [(cubin.name, cubin.arch) for cubin in found] == [
        ("main.sm_80.cubin", "sm_80"),
        ("main.sm_90a.cubin", "sm_90a"),
        ("a file.1.sm_80.cubin", "sm_80"),
    ]


def demangling(monkeypatch: pytest.MonkeyPatch, answers: dict[str, str]) -> None:
    monkeypatch.setattr(sass_binaries, "find_tool", lambda name: Path(name))
    monkeypatch.setattr(
        sass_binaries, "tool_lines", lambda *_, given, **__: [answers[n] for n in given.split()]
    )


SCALES = {
    "_Z5scaleIfEvPT_": "void scale<float>(float*)",
    "_Z5scaleIdEvPT_": "void scale<double>(double*)",
}


def test_names_that_would_be_confused_stay_long(monkeypatch: pytest.MonkeyPatch) -> None:
    hidden = {"_ZN12_GLOBAL__N_14sameEv": "<unnamed>::same()", "_ZL4samev": "<unnamed>::same()"}
    demangling(monkeypatch, {**SCALES, **hidden})
    names = readable_names([*SCALES, "_ZN3lab5plainEPf", "_Z6appendIfEvPT_", *hidden])
    assert names == {
        **SCALES, "_ZN3lab5plainEPf": "plain", "_Z6appendIfEvPT_": "append",
        **{name: name for name in hidden},
    }  # fmt: skip


def test_without_a_demangler_confused_names_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sass_binaries, "find_tool", lambda name: None)
    names = readable_names([*SCALES, "_Z1kPf", "plain"])
    assert names == {**{name: name for name in SCALES}, "_Z1kPf": "k", "plain": "plain"}


def test_a_broken_demangler_costs_no_facts(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> list[str]:
        raise WorldError("broken")

    monkeypatch.setattr(sass_binaries, "find_tool", lambda name: Path(name))
    monkeypatch.setattr(sass_binaries, "tool_lines", broken)
    assert readable_names(list(SCALES)) == {name: name for name in SCALES}
    monkeypatch.setattr(sass_binaries, "tool_lines", lambda *_, **__: ["one", "too", "many"])
    assert readable_names(list(SCALES)) == {name: name for name in SCALES}


@given(names=st.lists(st.text(min_size=1), unique=True))
def test_no_two_kernels_get_one_name(names: list[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sass_binaries, "find_tool", lambda name: None)
        assert len(set(readable_names(names).values())) == len(names)
