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
        from kernelbench import eval as evaluator

        kept = keep_integers(evaluator)
        begin = time.perf_counter()
        result = evaluator.eval_kernel_against_ref(
            request["reference"],
            request["candidate"],
            num_correct_trials=request["correct_trials"],
            num_perf_trials=request["performance_trials"],
            measure_performance=True,
            build_dir=request["build"],
            device=torch.device("cuda", request["device"]),
        )
        seconds = time.perf_counter() - begin
    found = verdict(result)
    if kept:
        found["verdict"] += ", integers kept"
    print(json.dumps({"seconds": seconds, **found}))


def keep_integers(evaluator):
    """Have KernelBench's evaluator leave inputs that hold no floats in their own type.

    It makes all inputs float32, class indices too, on which losses fail. Where that made a
    difference, what is returned is not empty, and the verdict says so.
    """
    kept = []
    convert = evaluator._process_input_tensor

    def process(value, device, *args, **more):
        if getattr(value, "is_floating_point", None) is None or value.is_floating_point():
            return convert(value, device, *args, **more)
        kept.append(str(value.dtype))
        return value.to(device=device)

    evaluator._process_input_tensor = process
    return kept


def verdict(result):
    """What KernelBench found, in words, and its speedup where it measured one."""
    if result is None or not result.compiled:
        return {"verdict": "not compiled", "speedup": None}
    if not result.correctness:
        off = result.metadata.get("max_difference")
        by = f" by {max(map(float, off)):.2g} at most" if off else ""
        return {"verdict": f"incorrect{by}", "speedup": None}
    if result.runtime <= 0 or result.ref_runtime <= 0:
        return {"verdict": "correct, not timed", "speedup": None}
    flagged = ", noted as excessive" if result.metadata.get("excessive_speedup") else ""
    return {"verdict": f"correct{flagged}", "speedup": result.ref_runtime / result.runtime}


if __name__ == "__main__":
    main()
