"""What a made task must pass: on a processor at a small size, and on a GPU at its own.

After CUDA Agent, section 3.1: it runs eagerly and compiled, its output repeats, differs with its
inputs and depends on each of them, it takes 1 to 100 ms, and it is like nothing in a benchmark.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.runs.machines.machine import gpu_problem, has_module
from experiments.training.synthesis.likeness import ALIKE, likeness, operators_of, shape_of
from mcts.errors import InputError
from mcts.options import JudgingOptions

if TYPE_CHECKING:
    from profilers.kernelbench.judge.trials import ProblemTrials

SHORTEST_US, LONGEST_US = 1_000.0, 100_000.0
_SEEDS = (11, 12)


class Likeness:
    """Refuses what computes or is written like a problem of a benchmark, or computes what a task
    that was taken before does.
    """

    def __init__(self, benchmark: Sequence[Path]) -> None:
        texts = [path.read_text(encoding="utf-8") for path in benchmark]
        self._known = [shape_of(text) for text in texts]
        self._operators = {operators_of(text) for text in texts}
        self._taken: set[tuple[str, ...]] = set()

    def refusal(self, source: str) -> str | None:
        """Why it cannot be taken; None if it is like nothing."""
        shape, operators = shape_of(source), operators_of(source)
        if operators in self._operators:
            return "computes what a problem of the benchmark does"
        if any(likeness(shape, other, least=ALIKE) for other in self._known):
            return "is written like a problem of the benchmark"
        return "computes what another task does" if operators in self._taken else None

    def take(self, source: str) -> None:
        """Count this one among those taken."""
        self._taken.add(operators_of(source))


def fails_on_processor(source: str) -> str | None:
    """Why a problem of a small size cannot be a task, tried with PyTorch on the processor: None if
    nothing is wrong.

    `source` is our own text, so that it is run as it is. InputError without PyTorch.
    """
    if not has_module("torch"):
        raise InputError("this needs PyTorch: pip install 'rooftree[torch]'")
    import torch

    space: dict[str, Any] = {}
    exec(compile(source, "problem", "exec"), space)
    try:
        torch.manual_seed(_SEEDS[0])
        model = space["Model"](*space["get_init_inputs"]()).eval()
        draws = []
        for seed in _SEEDS:
            torch.manual_seed(seed)
            draws.append(space["get_inputs"]())
        with torch.no_grad():
            outputs = [model(*inputs) for inputs in draws]
            again = model(*draws[0])
            compiled = torch.compile(model, backend="eager", fullgraph=True)(*draws[0])
            swapped = [
                model(*[*draws[0][:place], draws[1][place], *draws[0][place + 1 :]])
                for place in range(len(draws[0]))
            ]
    except Exception as error:  # noqa: BLE001  whatever PyTorch raises: the task is thrown out
        return f"does not run: {type(error).__name__}"
    finally:
        torch.compiler.reset()
    first = outputs[0]
    if not torch.isfinite(first).all():
        return "its output is not finite"
    if not torch.equal(first, again):
        return "its output does not repeat"
    if not torch.allclose(first, compiled, rtol=1e-4, atol=1e-5):
        return "comes to something else when it is compiled"
    if float(first.float().std()) < 1e-6 * max(1.0, float(first.abs().max())):
        return "its output is constant"
    if torch.allclose(first, outputs[1]):
        return "its output is the same for other inputs"
    if any(torch.allclose(first, other) for other in swapped):
        return "does not depend on all of its inputs"
    return None


def fails_on_gpu(source: str, gpu: ProblemTrials) -> str | None:
    """Why a problem cannot be a task on this GPU: the task gate, its time, torch.compile; None if
    nothing is wrong.

    Thread-safe. Raises NoRoom if others leave it no memory, WorldError if the GPU fails.
    """
    found = gpu.try_out(source, shortest_us=SHORTEST_US, longest_us=LONGEST_US)
    if found.fails is not None:
        return "does not run on the GPU"
    if found.refused is not None:
        return "is refused by the task gate"
    assert found.us is not None, "it ran, and the gate had nothing against it"
    if found.us < SHORTEST_US:
        return "takes less than 1 ms"
    if found.us > LONGEST_US:
        return "takes more than 100 ms"
    return None if found.not_compiled is None else "is not taken by torch.compile"


def can_use_gpu(judging: JudgingOptions) -> bool:
    """Whether a GPU with PyTorch is at hand."""
    return gpu_problem(judging.device, torch=True) is None
