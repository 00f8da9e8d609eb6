"""The probes: what they count, what the compiler leaves of them, and how results are kept."""

from __future__ import annotations

import json
import re
import subprocess
from collections import Counter
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcts.domain import Ceilings
from profilers.children.processes import child_environment
from profilers.children.protocol import RequestRefused
from profilers.compiling.compiler import Compiler
from profilers.compiling.toolchain import environment_with, find_tool
from profilers.hardware import driver
from profilers.hardware.ceilings import Rates, load_rates, math_rate, store_rates
from profilers.launching.programs import Region
from profilers.measuring.probes import power_of_two_within, probe
from profilers.measuring.rates import SUPPORT_SOURCE

RATES = Rates(
    copy_gb_per_s=4000, read_gb_per_s=4200, fp32_tflop_per_s=60, launch_us=2.5,
    l2_gb_per_s=6000, shared_gb_per_s=33000, bf16_tflop_per_s=800,
)  # fmt: skip


def test_all_rates_become_ceilings() -> None:
    assert RATES.ceilings == Ceilings(**asdict(RATES))
    older = Rates(copy_gb_per_s=1, read_gb_per_s=1, fp32_tflop_per_s=1, launch_us=1)
    assert older.ceilings.bf16_tflop_per_s is None


def test_arithmetic_is_held_against_its_own_unit() -> None:
    rates = {unit: math_rate(RATES, unit) for unit in ("fp32", "tf32", "bf16", "fp16")}  # type: ignore[arg-type]
    assert rates == {"fp32": 60, "tf32": 400, "bf16": 800, "fp16": 800}
    assert math_rate(RATES, "fp64") is None and math_rate(RATES, "int32") is None
    assert math_rate(replace(RATES, bf16_tflop_per_s=None), "tf32") is None


@given(st.integers(min_value=1, max_value=2**40))
def test_power_of_two_within(limit: int) -> None:
    found = power_of_two_within(limit)
    assert found <= limit < 2 * found and found & (found - 1) == 0


def test_ceilings_are_kept_per_gpu_and_driver(tmp_path: Path) -> None:
    assert load_rates("GPU-1", "580.1", cache_dir=tmp_path) is None
    assert store_rates("GPU-1", "580.1", asdict(RATES), cache_dir=tmp_path) == RATES
    assert load_rates("GPU-1", "580.1", cache_dir=tmp_path) == RATES
    assert load_rates("GPU-1", "590.0", cache_dir=tmp_path) is None
    assert load_rates("GPU-2", "580.1", cache_dir=tmp_path) is None
    (tmp_path / "ceilings" / "GPU-1.json").write_text("{")
    assert load_rates("GPU-1", "580.1", cache_dir=tmp_path) is None


def test_ceilings_of_fewer_probes_are_measured_again(tmp_path: Path) -> None:
    store_rates("GPU-1", "580.1", asdict(RATES), cache_dir=tmp_path)
    path = tmp_path / "ceilings" / "GPU-1.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"version": 1}))
    assert load_rates("GPU-1", "580.1", cache_dir=tmp_path) is None


MULTIPROCESSORS, TIME_US = 100, 500.0


class _Session:
    """Stands for a worker's session: takes notes of launches, knows no tensor probe if told so."""

    def __init__(self, *, tensor: bool, l2_bytes: int) -> None:
        self.context = self.support = self.memory = self.device = self
        self.multiprocessors = MULTIPROCESSORS
        self.launches: dict[str, tuple[Any, ...]] = {}
        self.held: set[str] = set()
        self._tensor, self._l2_bytes = tensor, l2_bytes

    def get(self, name: str, size: int) -> Region:
        self.held.add(name)
        return Region(0x1000, size)

    def drop(self, prefix: str) -> None:
        self.held = {name for name in self.held if not name.startswith(prefix)}

    def attribute(self, attribute: int) -> int:
        assert attribute == driver.L2_BYTES
        return self._l2_bytes

    def fill_random(self, region: Region, dtype: str, fill: str, *, seed: int) -> None:
        assert region.size

    def prepare(self, kernel: str, blocks: int, threads: int, *values: Any) -> str:
        if kernel == "rooftree_bf16" and not self._tensor:
            raise RequestRefused("internal", "support.cu has no rooftree_bf16", sticky=True)
        self.launches[kernel] = (blocks, threads, *(value.value for value in values))
        return kernel


@pytest.fixture
def probed(monkeypatch: pytest.MonkeyPatch) -> Any:
    """What the probes find where every launch takes half a millisecond."""
    monkeypatch.setattr("profilers.measuring.probes.median_event_us", lambda *_, **__: TIME_US)

    def run(**session: Any) -> tuple[_Session, dict[str, float | None]]:
        one = _Session(**{"tensor": True, "l2_bytes": 50 * 2**20, **session})
        return one, probe(one)  # type: ignore[arg-type]

    return run


def test_rates_are_what_was_moved_or_computed_over_the_time(probed: Any) -> None:
    session, rates = probed()
    blocks, threads, _, elements, passes, _ = session.launches["rooftree_l2_read"]
    assert elements * 16 <= 50 * 2**20 // 4
    assert rates["l2_gb_per_s"] == pytest.approx(blocks * threads * passes * 8 * 16 / TIME_US / 1e3)
    blocks, threads, iterations, _ = session.launches["rooftree_shared_read"]
    moved = blocks * threads * iterations * 16 * 16
    assert rates["shared_gb_per_s"] == pytest.approx(moved / TIME_US / 1e3)
    blocks, threads, iterations, _ = session.launches["rooftree_bf16"]
    assert threads == 128
    operations = blocks * iterations * 16 * (2 * 64 * 256 * 16)
    assert rates["bf16_tflop_per_s"] == pytest.approx(operations / TIME_US / 1e6)
    assert rates["copy_gb_per_s"] == pytest.approx(2 * 2**30 / TIME_US / 1e3)
    assert rates["read_gb_per_s"] == pytest.approx(2**30 / TIME_US / 1e3)
    assert rates["launch_us"] == TIME_US
    assert not session.held, "the probes' gigabytes are given back"


def test_a_probe_that_the_device_cannot_run_has_no_rate(probed: Any) -> None:
    _, rates = probed(tensor=False, l2_bytes=0)
    assert rates["bf16_tflop_per_s"] is None and rates["l2_gb_per_s"] is None
    assert Rates(**rates).ceilings.shared_gb_per_s is not None


LOOPS = {
    "rooftree_l2_read": ("LDG.E.128.STRONG.GPU", 8),
    "rooftree_shared_read": ("LDS.128", 16),
    "rooftree_fma": ("FFMA", 128),
}
_INSTRUCTION = re.compile(r"/\*([0-9a-f]{4,})\*/\s+(?:@!?U?P\d+\s+)?([A-Z][\w.]*)(.*)")


def _hot_loop(listing: str, kernel: str) -> Counter[str]:
    """Opcodes of the last loop of `kernel`: from the target of a branch back to that branch."""
    body = listing.split(f"Function : {kernel}\n")[1].split("Function : ")[0]
    found = [(int(at, 16), opcode, rest) for at, opcode, rest in _INSTRUCTION.findall(body)]
    branches = [(at, rest) for at, opcode, rest in found if opcode.startswith("BRA")]
    loops = [
        (int(target.group(1), 16), at)
        for at, rest in branches
        if (target := re.search(r"0x([0-9a-f]+)", rest)) and int(target.group(1), 16) < at
    ]
    first, last = loops[-1]
    return Counter(opcode for at, opcode, _ in found if first <= at <= last)


@pytest.mark.nvrtc
@pytest.mark.parametrize(
    ("arch", "tensor"),
    [
        ("sm_75", None),
        ("sm_80", ("HMMA.16816.F32.BF16", 32)),
        ("sm_89", ("HMMA.16816.F32.BF16", 32)),
        ("sm_90a", ("HGMMA.64x256x16.F32.BF16", 16)),
        ("sm_100a", None),
    ],
)
def test_the_compiler_leaves_the_probes_their_work(
    arch: str, tensor: tuple[str, int] | None, tmp_path: Path
) -> None:
    cuobjdump, nvdisasm = find_tool("cuobjdump"), find_tool("nvdisasm")
    if cuobjdump is None or nvdisasm is None:
        pytest.skip("needs cuobjdump and nvdisasm")
    with closing(Compiler(arch=arch, cache_dir=tmp_path, processes=1)) as compiler:
        compiled = compiler.compile(SUPPORT_SOURCE.read_text(), name=SUPPORT_SOURCE.name)
    assert compiled.log == "", "ptxas says here when it makes tensor instructions wait"
    assert ("rooftree_bf16" in compiled.kernels) is (tensor is not None)
    listing = subprocess.run(
        [str(cuobjdump), "-sass", str(compiled.cubin)],
        capture_output=True, text=True, check=True,
        env=environment_with(cuobjdump, nvdisasm, base=child_environment()),
    ).stdout  # fmt: skip
    expected = LOOPS if tensor is None else {**LOOPS, "rooftree_bf16": tensor}
    for kernel, (opcode, count) in expected.items():
        loop = _hot_loop(listing, kernel)
        assert loop[opcode.replace("LDS.", "LDS.U.") if arch == "sm_75" else opcode] == count
        assert not any(name.startswith(("LDL", "STL")) for name in loop), f"{kernel} spills"
