"""One evaluation by KernelBench, as its own scripts do it: JSON on standard input and output.

A script of its own, so that its start is KernelBench's start and nothing else.
"""

import contextlib
import json
import sys
import time
from pathlib import Path


def main():
    request = json.load(sys.stdin)
    sys.path.insert(0, str(Path(request["root"]) / "src"))
    with contextlib.redirect_stdout(sys.stderr):
        import torch
        from kernelbench.eval import eval_kernel_against_ref

        begin = time.perf_counter()
        result = eval_kernel_against_ref(
            request["reference"],
            request["candidate"],
            num_correct_trials=request["correct_trials"],
            num_perf_trials=request["performance_trials"],
            measure_performance=True,
            build_dir=request["build"],
            device=torch.device("cuda", request["device"]),
        )
        seconds = time.perf_counter() - begin
    print(json.dumps({"seconds": seconds, **verdict(result)}))


def verdict(result):
    """What KernelBench found, in words, and its speedup where it measured one."""
    if result is None or not result.compiled:
        return {"verdict": "not compiled", "speedup": None}
    if not result.correctness:
        return {"verdict": "incorrect", "speedup": None}
    if result.runtime <= 0 or result.ref_runtime <= 0:
        return {"verdict": "correct, not timed", "speedup": None}
    flagged = ", noted as excessive" if result.metadata.get("excessive_speedup") else ""
    return {"verdict": f"correct{flagged}", "speedup": result.ref_runtime / result.runtime}


if __name__ == "__main__":
    main()
