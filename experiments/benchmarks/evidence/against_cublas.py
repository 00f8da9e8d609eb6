"""How fast are our matrix products on CUTLASS?

    python -m experiments.benchmarks.evidence.against_cublas --cutlass PATH

Compiles configurations of `cutlass_kernels/bf16_gemm.cu`, `grouped_gemm.cu` and `expert_gemm.cu` in
parallel, checks each in a process of its own, and times the correct ones in turn with their rivals:
PyTorch's matmul, which calls cuBLAS; for the grouped product cuBLAS for each expert, PyTorch's
grouped product, and a kernel in Triton. Needs nvcc, PyTorch, a GPU of compute capability 9.0, and
about 4 GB of memory for each job. PATH is a CUTLASS tree or an unpacked wheel; the default is the
installed wheel `nvidia-cutlass`. `--only` compares one of the two products.

All configurations, in several orders of tiles, are timed in a few rounds, the best sixteen in more;
the winner is then timed again beside its rivals, and the table holds only this last measurement.
Times are from CUDA events, with L2 flushed before each call and a new order in each round. Ratios
are medians of ratios within a round, with 95 % intervals. Every result is compared with a product
in fp64 of the size that is timed.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from cutlass_search.index.corpus import open_corpus
from experiments.benchmarks.cutlass_kernels import contest, grouped, products
from experiments.benchmarks.cutlass_kernels.building import Built, Configuration, build_all
from experiments.benchmarks.cutlass_kernels.checking import check_elsewhere
from experiments.benchmarks.cutlass_kernels.contest import (
    ContestResult,
    GemmProblem,
    Interleaved,
    Variant,
)
from mcts.errors import InputError, RooftreeError

_CHECKS = 4
"""How many processes check libraries at a time: each takes a context on the GPU."""
_BEGIN = time.perf_counter()


def main() -> int:
    options = _options()
    try:
        torch = hopper_torch()
        tree = open_corpus(options.cutlass)
        say(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, CUTLASS {tree.version}")
        usable = built_and_checked(
            _chosen(options), include=tree.root / "include", folder=options.build, jobs=options.jobs
        )
        findings = _compared(torch, usable, options)
        if options.out is not None:
            text = json.dumps([contest.as_json(found) for found in findings])
            options.out.write_text(text, encoding="utf-8")
    except RooftreeError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    return 0 if findings else 1


def say(words: str) -> None:
    """Progress, with the seconds since the start, on standard error."""
    print(f"[{time.perf_counter() - _BEGIN:6.1f} s] {words}", file=sys.stderr, flush=True)


def built_and_checked(
    configurations: Sequence[Configuration], *, include: Path, folder: Path, jobs: int
) -> list[Built]:
    """The configurations that compile and give right results; prints what became of each."""
    say(f"compiling {len(configurations)} configurations, {jobs} at a time")
    waiting: list[tuple[Built, Future[dict[str, Any]]]] = []
    with ThreadPoolExecutor(max_workers=_CHECKS) as checkers:
        for built in build_all(configurations, include=include, folder=folder, jobs=jobs):
            say(_of_build(built))
            if built.library is not None:
                check = checkers.submit(
                    check_elsewhere,
                    _kind(built.configuration),
                    built.library,
                    options=("--b-rows-of-n",) if _rows_of_n(built.configuration) else (),
                )
                waiting.append((built, check))
        usable = []
        for built, check in waiting:
            checked = check.result()
            if checked["failure"]:
                say(f"{_full_name(built)}: left out: {checked['failure']}")
            else:
                say(f"{_full_name(built)}: right at ragged sizes; {_of_block(checked)}")
                usable.append(built)
    return usable


def _compared(
    torch: Any, usable: Sequence[Built], options: argparse.Namespace
) -> list[ContestResult]:
    """Time all that is usable against its rivals; prints each row as soon as it is known."""
    timer = Interleaved(torch, seed=contest.SEED)
    findings = []
    if ours := [built for built in usable if _kind(built.configuration) == "product"]:
        rows_of_n = options.layout == "nn"
        libraries = products.loaded(torch, ours, b_rows_of_n=rows_of_n)
        works = (
            products.product_work(torch, libraries, shape=shape, b_rows_of_n=rows_of_n)
            for shape in options.shapes
        )
        findings += print_table(timer, works, first="M x N x K", rivals=(products.RIVAL,))
    if ours := [built for built in usable if _kind(built.configuration) == "grouped"]:
        groups = grouped.loaded(torch, ours)
        works = (grouped.grouped_work(torch, groups, size=size, say=say) for size in grouped.SIZES)
        findings += print_table(timer, works, first="grouped", rivals=grouped.RIVALS)
    if not findings:
        say("nothing was compared: no configuration compiled and gave right results")
    return findings


def print_table(
    timer: Interleaved,
    works: Iterator[tuple[GemmProblem, list[Variant], dict[str, list[Variant]]]],
    *,
    first: str,
    rivals: Sequence[str],
) -> list[ContestResult]:
    """Print the table of one kind of product, whose first column is called `first`."""
    print("\n".join(contest.head(first, rivals)), flush=True)
    findings = []
    for work, ours, others in works:
        result = contest.contest(timer, work, ours=ours, rivals=others, say=say)
        if result is not None:
            findings.append(result)
            print(contest.row(result, rivals), flush=True)
    print("", *contest.screening_table(findings), "", sep="\n", flush=True)
    return findings


def _kind(configuration: Configuration) -> str:
    if ("WGRAD", 1) in configuration.extra:
        return "gradient"
    return "product" if configuration.source == products.SOURCE else "grouped"


def _rows_of_n(configuration: Configuration) -> bool:
    return ("B_LAYOUT", 1) in configuration.extra


def _full_name(built: Built) -> str:
    return f"{Path(built.configuration.source).stem} {built.configuration.name}"


def _of_build(built: Built) -> str:
    """How a build went: why it failed, or its time and resources."""
    if built.library is None:
        return f"{_full_name(built)}: does not compile: {built.failure}"
    counts = ", ".join(f"{number} {opcode}" for opcode, number in built.opcodes.items())
    return (
        f"{_full_name(built)}: built in {built.seconds:.0f} s; {built.registers} registers, "
        f"{built.spilled_bytes} bytes spilled; {counts or 'not disassembled'}"
        f"{'; its WGMMAs are serialised' * built.serialised}"
    )


def _of_block(checked: dict[str, Any]) -> str:
    """The resources of a thread block."""
    return (
        f"{checked['stages']} stages, {checked['shared_bytes'] / 1024:.0f} KB of shared memory, "
        f"{checked['threads']} threads"
    )


def _chosen(options: argparse.Namespace) -> list[Configuration]:
    """The configurations that the options ask for, in the order in which they are compiled."""
    chosen: list[Configuration] = []
    if options.only != "grouped":
        extra = (("B_LAYOUT", 1),) if options.layout == "nn" else ()
        own = products.CONFIGURATIONS[: options.configurations]
        chosen += [replace(each, extra=(*each.extra, *extra)) for each in own]
    if options.only != "product":
        chosen += grouped.CONFIGURATIONS[: options.configurations]
    return chosen


def hopper_torch() -> Any:
    """PyTorch, where it sees a GPU that our kernels run on. InputError elsewhere."""
    try:
        import torch
    except ImportError:
        raise InputError("this comparison needs PyTorch with CUDA: pip install torch") from None
    if not torch.cuda.is_available():
        raise InputError("PyTorch sees no GPU here")
    if torch.cuda.get_device_capability() != (9, 0):
        raise InputError("WGMMA and TMA as used here need compute capability 9.0 (H100, H200)")
    return torch


def _shape(text: str) -> tuple[int, int, int]:
    try:
        m, n, k = (int(part) for part in text.split("x"))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not MxNxK, as in 4096x4096x16384") from None
    return m, n, k


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m experiments.benchmarks.evidence.against_cublas"
    )
    parser.add_argument("--cutlass", type=Path, metavar="PATH", help="a CUTLASS tree")
    parser.add_argument("--only", choices=["product", "grouped"])
    parser.add_argument("--build", type=Path, default=Path("/tmp/rooftree-cublas"))
    parser.add_argument("--jobs", type=int, default=min(16, os.cpu_count() or 1))
    parser.add_argument("--configurations", type=int, metavar="N", help="only the first N of each")
    layout = "of the plain product. nt: B lies as N x K, a linear layer's weight; nn: as K x N"
    parser.add_argument("--layout", choices=["nt", "nn"], default="nt", help=layout)
    parser.add_argument(
        "--shapes", type=_shape, nargs="+", default=products.SHAPES, metavar="MxNxK"
    )
    parser.add_argument("--out", type=Path, metavar="FILE", help="all times, as JSON")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
