"""How fast are our grouped products beside VeOmni's?

    python -m experiments.benchmarks.evidence.against_veomni VEOMNI --cutlass PATH

VEOMNI is a checkout of https://github.com/ByteDance-Seed/VeOmni, whose kernels in Triton are run as
they come and tuned over a grid of 324 configurations; beside them PyTorch's grouped product. Ours
are `expert_gemm.cu` and `grouped_gemm.cu` on CUTLASS, built anew for each direction. Forward, dgrad
and wgrad at the shapes of three public models (`cutlass_kernels/expert_layers.py`); measured as
`against_cublas` does, which also says what PATH is and what is needed.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cutlass_search.index.corpus import open_corpus
from experiments.benchmarks.cutlass_kernels import contest, expert_layers
from experiments.benchmarks.cutlass_kernels.contest import ContestResult, Interleaved
from experiments.benchmarks.cutlass_kernels.expert_layers import DIRECTIONS, LAYERS, RIVALS, Layer
from experiments.benchmarks.evidence.against_cublas import (
    built_and_checked,
    hopper_torch,
    print_table,
    say,
)
from experiments.benchmarks.kernels_for_comparison.veomni import VeOmni, compile_ahead, load_kernels
from mcts.errors import RooftreeError


def main() -> int:
    options = _options()
    try:
        torch = hopper_torch()
        kernels = load_kernels(options.veomni, device=torch.cuda)
        tree = open_corpus(options.cutlass)
        say(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, CUTLASS {tree.version}")
        say("compiling VeOmni's kernels")
        shapes = {
            direction: [expert_layers.shapes_of(layer, direction) for layer in _layers(options)]
            for direction in options.directions
        }
        failed = compile_ahead(options.veomni, shapes, jobs=options.jobs)
        say(f"VeOmni's kernels are compiled; {failed} configurations fail")
        findings: list[ContestResult] = []
        for direction in options.directions:
            findings += _direction(torch, direction, VeOmni(kernels), tree.root, options)
        if options.out is not None:
            text = json.dumps([contest.as_json(found) for found in findings])
            options.out.write_text(text, encoding="utf-8")
    except RooftreeError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    return 0 if findings else 1


def _direction(
    torch: Any, direction: Any, veomni: VeOmni, root: Path, options: argparse.Namespace
) -> list[ContestResult]:
    chosen = expert_layers.configurations(direction)[: options.configurations]
    built = built_and_checked(
        chosen, include=root / "include", folder=options.build / direction, jobs=options.jobs
    )
    libraries = expert_layers.loaded(torch, built, direction)
    works = (
        expert_layers.layer_work(
            torch, libraries, layer=layer, direction=direction, veomni=veomni, say=say
        )
        for layer in _layers(options)
    )
    timer = Interleaved(torch, seed=contest.SEED)
    return print_table(timer, works, first=direction, rivals=RIVALS)


def _layers(options: argparse.Namespace) -> Sequence[Layer]:
    return LAYERS[: options.layers]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m experiments.benchmarks.evidence.against_veomni"
    )
    parser.add_argument("veomni", type=Path, metavar="VEOMNI", help="a checkout")
    parser.add_argument("--cutlass", type=Path, metavar="PATH", help="a CUTLASS tree")
    parser.add_argument(
        "--directions", nargs="+", choices=DIRECTIONS, default=DIRECTIONS, metavar="DIRECTION"
    )
    parser.add_argument("--layers", type=int, metavar="N", help="only the first N models")
    parser.add_argument("--build", type=Path, default=Path("/tmp/rooftree-veomni"))
    parser.add_argument("--jobs", type=int, default=min(16, os.cpu_count() or 1))
    parser.add_argument("--configurations", type=int, metavar="N", help="only the first N of ours")
    parser.add_argument("--out", type=Path, metavar="FILE", help="all times, as JSON")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
