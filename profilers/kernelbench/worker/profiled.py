"""The process that ncu profiles: one call of a candidate's `ModelNew`, or of a launcher's.

Run as ``python -P -m profilers.kernelbench.worker.profiled SPEC`` under ncu, in the candidate's
jail. It draws inputs and weights from the problem file itself: results are not checked here, and no
verdict depends on this process. Only the last call lies between the profiler's start and stop. A
failure is reported in the last line of standard error, and the process ends with `FAILED`.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from profilers.children.protocol import RequestRefused
from profilers.hardware import driver
from profilers.kernelbench.shared.problem import ProblemFault, ProblemFile
from profilers.kernelbench.shared.profiling_spec import ProfilingSpec
from profilers.kernelbench.shared.recorded_calls import device_name
from profilers.kernelbench.shared.weights import Weights, derives_buffers
from profilers.kernelbench.worker.candidate import LoadedCandidate
from profilers.kernelbench.worker.importing import set_environment
from profilers.ncu.jailed import FAILURE
from profilers.sandbox import landlock

FAILED = 3
_WARM_UP = 3
_POLL_S = 0.005
_MODULE = "candidate_profiled"

Bracket = Callable[[], contextlib.AbstractContextManager[None]]


def main(arguments: Sequence[str]) -> int:
    """Detach from ncu and from the stream on which it prints, then make the call.

    Returns the process's exit status.
    """
    os.dup2(2, 1)
    with contextlib.suppress(OSError):  # a missing Landlock is reported by the jail
        landlock.enter_separate_domain()
    try:
        run(ProfilingSpec(**json.loads(arguments[0])))
    except (RequestRefused, ProblemFault, MemoryError, driver.CudaError) as failure:
        lines = str(failure).strip().splitlines() or [type(failure).__name__]
        telling = next((line for line in lines if "Error" in line), lines[0])
        print(f"{FAILURE}{telling.strip()}", file=sys.stderr, flush=True)
        return FAILED
    return 0


def run(spec: ProfilingSpec) -> None:
    """Load the candidate, call it until it is warm, then once under the profiler.

    RequestRefused for what the candidate does, ProblemFault for the problem.
    """
    import torch

    while spec.waits_for is not None and not Path(spec.waits_for).exists():
        time.sleep(_POLL_S)
    set_environment(spec.environment)
    device = torch.device(device_name(spec.device))
    if spec.device != "cpu":
        torch.cuda.set_device(device)
    bracket = _bracket(spec.device)  # bound before there is a candidate
    problem = ProblemFile(Path(spec.problem), device)
    weights = _weights(problem, spec.seed)
    init, inputs = problem.init_inputs(spec.seed), problem.inputs(spec.seed)
    candidate = LoadedCandidate(Path(spec.candidate), _MODULE)
    module = candidate.execute()
    candidate.construct(module, init, seed=spec.seed, device=device)
    candidate.copy_weights(weights)
    weights.clear()
    with torch.no_grad(), candidate.boundary("runtime"):
        for _ in range(_WARM_UP):
            candidate.model(*inputs)
        with bracket():
            candidate.model(*inputs)


def _weights(problem: ProblemFile, seed: int) -> dict[str, Any]:
    """The problem's weights by name, with constant ones randomised."""
    model = problem.model(seed)
    weights = Weights(model, problem.model(seed + 1) if derives_buffers(model) else None)
    weights.randomise(seed)
    return {name: tensor.detach() for name, tensor in weights.named.items()}


def _bracket(device: int | str) -> Bracket:
    """A context in which calls are profiled, without what was enqueued before."""
    if device == "cpu":
        return contextlib.nullcontext
    import torch

    synchronize, start, stop = torch.cuda.synchronize, driver.profiler_start, driver.profiler_stop

    @contextlib.contextmanager
    def bracket() -> Iterator[None]:
        synchronize()
        stop()  # a candidate may have started the profiler itself
        start()
        try:
            yield
            synchronize()
        finally:
            stop()

    return bracket


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
