"""A layer's three products are those of backpropagation, and VeOmni's kernels are asked for them.

Kernels of CUTLASS and Triton need a GPU; here PyTorch does what their arguments say.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from experiments.benchmarks.cutlass_kernels.comparing import Direction, expert_products
from experiments.benchmarks.cutlass_kernels.expert_layers import (
    DIRECTIONS,
    LAYERS,
    Layer,
    shapes_of,
)
from experiments.benchmarks.evidence import against_veomni
from experiments.benchmarks.kernels_for_comparison.veomni import (
    KERNEL,
    VeOmni,
    configurations,
    load_kernels,
)
from mcts.errors import InputError

torch: Any = pytest.importorskip("torch")
TINY = Layer(model="tiny", experts=3, rows=7, n=4, k=5)
COUNTS = [3, 0, 4]
SOURCE = """
from ......utils import logging
from ......utils.device import get_device_name
from ..utils.helper import TWO
from .triton_utils.memory import ONE
logger = logging.get_logger(__name__)
name, total = get_device_name(), ONE + TWO
"""


def inputs(direction: Direction) -> tuple[Any, Any, Any]:
    """Of a direction, and the expected product by backpropagation."""
    generator = torch.Generator().manual_seed(2)

    def drawn(shape: tuple[int, ...]) -> Any:
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    x, w, _ = (drawn(shape) for shape in shapes_of(TINY, "forward"))
    dy = drawn((TINY.rows, TINY.n))
    x.requires_grad_(), w.requires_grad_()
    parts = zip(x.split(COUNTS), w, strict=True)
    y = torch.cat([part @ one.t() for part, one in parts])
    y.backward(dy)
    x, w, y, dx, dw = (one.detach() for one in (x, w, y, x.grad, w.grad))
    return {"forward": (x, w, y), "dgrad": (dy, w, dx), "wgrad": (dy, x, dw)}[direction]


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_the_reference_is_what_backpropagation_gives(direction: Direction) -> None:
    a, b, expected = inputs(direction)
    assert (tuple(a.shape), tuple(b.shape), tuple(expected.shape)) == shapes_of(TINY, direction)
    found = expert_products(torch, direction, a, b, COUNTS)
    torch.testing.assert_close(found, expected.reshape(found.shape))


class Told:
    """A kernel that does what its arguments say, and keeps its grid."""

    def __init__(self) -> None:
        self.grid: tuple[int, ...] = ()
        self.fn = self

    def __getitem__(self, grid: tuple[int, ...]) -> Any:
        self.grid = grid
        return self._run

    def _run(self, **told: Any) -> None:
        a, b, out = told["a_ptr"], told["b_ptr"], told["c_ptr"]
        if "cumsum_K" in told:
            assert told["TRANSPOSE_A"] and not told["TRANSPOSE_B"]
            assert tuple(out.shape) == (told["G"], told["M"], told["N"])
            ends = told["cumsum_K"].tolist()
            for expert, (begin, end) in enumerate(zip([0, *ends], ends, strict=False)):
                out[expert] = a[begin:end].t() @ b[begin:end]
            return
        ends = told["cumsum_M"].tolist()
        assert len(ends) == told["G"] and told["max_M"] == len(a)
        assert (a.shape[1], out.shape[1]) == (told["K"], told["N"])
        for expert, (begin, end) in enumerate(zip([0, *ends], ends, strict=False)):
            right = b[expert].t() if told["TRANSPOSE_B"] else b[expert]
            out[begin:end] = a[begin:end] @ right


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_tuned_kernels_get_the_products_arguments(direction: Direction) -> None:
    a, b, expected = inputs(direction)
    kernel = Told()
    kernels: Any = SimpleNamespace(
        group_gemm_same_nk_kernel=kernel, group_gemm_same_mn_kernel=kernel
    )
    out = torch.full_like(expected, float("nan"))
    ends = torch.tensor(COUNTS).cumsum(0)
    variants = VeOmni(kernels).tuned(direction, a, b, out, ends, family="VeOmni")
    assert len({one.name for one in variants}) == len(variants) == 324
    variants[0].call()
    torch.testing.assert_close(out, expected)
    down = 4 if direction == "wgrad" else 7
    assert kernel.grid == (-(-down // 128) * 1, 3)


def test_its_own_configuration_is_among_those_that_are_tried() -> None:
    own = {"BLOCK_M": 128, "BLOCK_N": 256, "BLOCK_K": 64, "GROUP": 8}
    assert own | {"num_stages": 3, "num_warps": 8} in configurations()


def checkout(folder: Path, source: str = SOURCE) -> Path:
    path = folder.joinpath(*KERNEL.split(".")).with_suffix(".py")
    path.parent.mkdir(parents=True)
    path.write_text(source, encoding="utf-8")
    for name, text in (("triton_utils/memory.py", "ONE = 1"), ("../utils/helper.py", "TWO = 2")):
        beside = (path.parent / name).resolve()
        beside.parent.mkdir(parents=True, exist_ok=True)
        beside.write_text(text, encoding="utf-8")
    broken = folder / "veomni" / "__init__.py"
    broken.write_text("raise RuntimeError('the package is not imported')", encoding="utf-8")
    return folder


@pytest.fixture
def modules(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "veomni"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "modules", dict(sys.modules))


@pytest.mark.usefixtures("modules")
def test_only_the_files_of_the_kernels_are_imported(tmp_path: Path) -> None:
    device = SimpleNamespace(get_device_name=lambda: "NVIDIA H200")
    found: Any = load_kernels(checkout(tmp_path), device=device)
    assert (found.name, found.total) == ("NVIDIA H200", 3)


@pytest.mark.usefixtures("modules")
def test_what_is_no_checkout_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is no checkout of VeOmni"):
        load_kernels(tmp_path, device=None)
    asking = checkout(tmp_path, "from ......utils import a_training_stack")
    with pytest.raises(InputError, match=r"cannot be imported: .*a_training_stack"):
        load_kernels(asking, device=None)


def test_without_a_gpu_the_command_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "argv", ["against_veomni", str(tmp_path)])
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert against_veomni.main() == 2
    assert "PyTorch sees no GPU here" in capsys.readouterr().err


def test_the_layers_fit_what_the_kernels_take() -> None:
    assert all(layer.n % 64 == layer.k % 128 == 0 for layer in LAYERS)
