"""Numbers and units of ncu's cells: read exactly, or refused with a reason."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcts.domain import Metric
from mcts.domain import metrics as m
from profilers.ncu.metrics import COLLECTED
from profilers.ncu.values import Notation, NotationDetector, in_base_unit, read_value


@given(
    st.floats(allow_nan=False, allow_infinity=False, min_value=-1e15, max_value=1e15),
    st.integers(min_value=0, max_value=4),
    st.booleans(),
)
def test_numbers_of_each_locale_are_read_back(value: float, places: int, comma: bool) -> None:
    printed = f"{value:,.{places}f}"
    cell = printed.translate(str.maketrans(",.", ".,")) if comma else printed
    notation = Notation.COMMA if comma else Notation.POINT
    assert read_value(m.SM, cell, "%", notation) == Metric(
        value=float(f"{value:.{places}f}"), unit="%"
    )


@given(st.text(alphabet="0123456789.,'+-e \u202f", max_size=12))
def test_only_an_unambiguous_cell_decides_the_notation(cell: str) -> None:
    detector = NotationDetector()
    detector.observe(cell, ours=True)
    point, comma = (read_value(m.SM, cell, "%", one) for one in (Notation.POINT, Notation.COMMA))
    if detector.undecided:
        assert isinstance(point, Metric) == isinstance(comma, Metric)
    else:
        read = point if detector.notation() is Notation.POINT else comma
        other = comma if detector.notation() is Notation.POINT else point
        assert isinstance(read, Metric) and not isinstance(other, Metric)


def test_the_c_locale_is_assumed_without_evidence() -> None:
    assert NotationDetector().notation() is Notation.POINT


@pytest.mark.parametrize(
    ("name", "unit", "base", "factor"),
    [
        (m.DURATION, "ns", "ns", 1), (m.DURATION, "nsecond", "ns", 1),
        (m.DURATION, "us", "ns", 1e3), (m.DURATION, "usecond", "ns", 1e3),
        (m.DURATION, "ms", "ns", 1e6), (m.DURATION, "s", "ns", 1e9),
        (m.DURATION, "second", "ns", 1e9), (m.DRAM_READ_BYTES, "byte", "byte", 1),
        (m.DRAM_READ_BYTES, "Kbyte", "byte", 1e3), (m.DRAM_READ_BYTES, "Gbyte", "byte", 1e9),
        (m.SHARED_PER_BLOCK, "Kbyte/block", "byte/block", 1e3),
        (m.L2_SECTORS, "sector", "sector", 1), (m.L2_SECTORS, "Msector", "sector", 1e6),
        (m.L2_SECTORS, "", "", 1), (m.INSTRUCTIONS, "inst", "inst", 1),
        (m.SM, "%", "%", 1), (m.SM, "", "", 1), (m.STALL_WAIT, "inst", "inst", 1),
        (m.REGISTERS, "register/thread", "register/thread", 1),
        (m.LOAD_BYTES_PER_SECTOR, "byte/sector", "byte/sector", 1),
        ("dram__bytes.sum.per_second", "Gbyte/second", "byte/second", 1e9),
    ],
)  # fmt: skip
def test_scaled_units_become_base_units(name: str, unit: str, base: str, factor: float) -> None:
    assert in_base_unit(name, 1.5, unit) == Metric(value=1.5 * factor, unit=base)


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        (m.DURATION, "byte"), (m.DURATION, ""), (m.DURATION, "fortnight"), (m.DRAM_READ_BYTES, ""),
        (m.DRAM_READ_BYTES, "Kibyte"), (m.DRAM_READ_BYTES, "sector"), (m.L2_SECTORS, "byte"),
        (m.L2_SECTORS, "ns"), (m.L2_SECTORS, "dozen sectors"), (m.SM, "ns"), (m.SM, "inst"),
    ],
)  # fmt: skip
def test_a_unit_that_the_metric_cannot_have_is_refused(name: str, unit: str) -> None:
    found = in_base_unit(name, 1.5, unit)
    assert isinstance(found, str) and repr(unit) in found


def test_only_metrics_that_are_never_scaled_do_without_a_unit() -> None:
    scaled = {name for name in COLLECTED if isinstance(in_base_unit(name, 1.0, None), str)}
    assert {m.DURATION, m.DRAM_READ_BYTES, m.DRAM_WRITE_BYTES, m.SHARED_PER_BLOCK} <= scaled
    sums = {name for name in COLLECTED if name.endswith(".sum")}
    assert scaled == sums | {m.SHARED_PER_BLOCK}


def test_a_value_out_of_range_is_refused() -> None:
    found = in_base_unit(m.DRAM_READ_BYTES, 1e300, "Pbyte")
    assert isinstance(found, str) and "out of range" in found
