"""The printed peaks: found by exact name, consistent among themselves."""

from __future__ import annotations

import pytest

from profilers.hardware.datasheet import _TABLE, datasheet


@pytest.mark.parametrize(
    ("name", "memory", "bf16"),
    [
        ("NVIDIA H200", 4800, 989.5),
        ("NVIDIA H100 80GB HBM3", 3350, 989.5),
        ("NVIDIA H100 PCIe", 2000, 756),
        ("NVIDIA A100-SXM4-40GB", 1555, 312),
        ("A100-SXM4-80GB", 2039, 312),
        ("NVIDIA GeForce RTX 4090", 1008, 165.2),
        ("Tesla T4", 320, None),
    ],
)
def test_a_board_is_found_by_the_name_its_driver_gives(
    name: str, memory: float, bf16: float | None
) -> None:
    found = datasheet(name)
    assert found is not None
    assert (found.memory_gb_per_s, found.bf16_tflop_per_s) == (memory, bf16)
    assert "NVIDIA" in found.source


@pytest.mark.parametrize(
    "name",
    ["NVIDIA A10G", "NVIDIA H200 MIG 1g.18gb", "NVIDIA GeForce RTX 4090 D", "NVIDIA H100", "", "x"],
)
def test_an_unknown_board_is_never_guessed(name: str) -> None:
    assert datasheet(name) is None


@pytest.mark.parametrize("row", _TABLE, ids=lambda row: row[0])
def test_the_table_holds_one_dense_row_per_board(
    row: tuple[str, float, float, float | None, str],
) -> None:
    name, memory, fp32, bf16, source = row
    assert [other[0] for other in _TABLE].count(name) == 1
    assert datasheet(f"NVIDIA {name}") == datasheet(name)
    assert 100 < memory < 10_000 and 5 < fp32 < 150 and source
    # Tensor cores are at least as wide as the fp32 units; sparse figures would be twice as high.
    assert bf16 is None or 1 <= bf16 / fp32 <= 32
