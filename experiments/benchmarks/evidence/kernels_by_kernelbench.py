"""Does KernelBench accept the kernels that suites and studies ended with?

    python -m experiments.benchmarks.evidence.kernels_by_kernelbench --root CHECKOUT FOLDER...

Gives every kernel of the folders to KernelBench's own evaluator, each in a fresh process,
and prints a Markdown table of our figures beside its own. Its answers are kept in
``kernelbench.json`` of each folder; a second call asks only about kernels that are new or changed.
The exit code is 1 if a kernel is not accepted. Where one is "incorrect", the problem's own model in
double precision is judged as well: is that incorrect too, then the reference is off by more than
its tolerance, and the verdict says nothing of the kernel.

Kernels evaluated at the same time (``--parallel``) disturb one another's times, and thereby
KernelBench's speedups. Most of the time goes to drawing the inputs, which KernelBench does on the
CPU.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from experiments.benchmarks.evidence.exports import Export, exports
from experiments.benchmarks.evidence.kernelbench_checkout import (
    DOUBLE,
    Checkout,
    KernelBenchVerdict,
)
from experiments.benchmarks.suite.outcome import Gain
from experiments.runs.machines.machine import gpu_problem
from experiments.runs.tasks.files import read_text
from mcts.errors import InputError, RooftreeError, WorldError

ANSWERS = "kernelbench.json"


class Answers:
    """KernelBench's verdicts on the kernels of a folder, kept in it."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / ANSWERS
        self._verdicts: dict[str, dict[str, Any]] = {}
        if self._path.is_file():
            try:
                self._verdicts = dict(json.loads(self._path.read_text(encoding="utf-8")))
            except (ValueError, TypeError) as error:
                raise InputError(
                    f"{self._path} cannot be read ({error}): delete it to ask again"
                ) from None

    def of(self, export: Export) -> KernelBenchVerdict | None:
        """The verdict on exactly this kernel; None if there is none yet."""
        known = self._verdicts.get(export.key, {})
        if known.get("kernel_sha256") != export.digest:
            return None
        return KernelBenchVerdict(
            verdict=known["verdict"], speedup=known["speedup"], seconds=known["seconds"],
            double=known.get("double"),
        )  # fmt: skip

    def keep(self, export: Export, verdict: KernelBenchVerdict) -> None:
        """Keep the verdict on a kernel, and write the file."""
        self._verdicts[export.key] = {"kernel_sha256": export.digest, **asdict(verdict)}
        text = json.dumps(self._verdicts, indent=2, sort_keys=True) + "\n"
        self._path.write_text(text, encoding="utf-8")


def ask(checkout: Checkout, export: Export, *, device: int) -> KernelBenchVerdict:
    """KernelBench's verdict on a kernel; if its evaluator fails, the verdict says so and why."""
    problem = read_text(checkout.problem(export.problem))
    with tempfile.TemporaryDirectory(prefix="kernelbench-") as folder:
        builds = Path(folder)
        try:
            found = checkout.judge(problem, export.source, builds=builds, device=device)
            if not found.verdict.startswith("incorrect"):
                return found
            exact = checkout.judge(problem, problem + DOUBLE, builds=builds, device=device)
            return replace(found, double=exact.verdict)
        except WorldError as error:
            return KernelBenchVerdict(verdict=f"no verdict: {error}", speedup=None, seconds=0.0)


def table(rows: list[tuple[Export, KernelBenchVerdict]]) -> str:
    """A Markdown table of our speedups with 95 % intervals, and of KernelBench's verdicts."""
    lines = [
        "| problem | eager, us | ours, us | over eager | over torch.compile | KernelBench says |",
        "| --- | ---: | ---: | ---: | ---: | --- |",
    ]
    for export, verdict in rows:
        eager, compiled = export.eager, export.compiled
        times = (f"{eager.baseline_us:.4g}", f"{eager.time_us:.4g}") if eager else ("", "")
        theirs = " ".join(verdict.verdict.replace("|", "/").split())[:120]
        theirs += f", {verdict.speedup:.2f}x" if verdict.speedup is not None else ""
        theirs += f" (in double precision: {verdict.double})" if verdict.double else ""
        cells = (export.name, *times, _words(eager), _words(compiled), theirs)
        lines.append(f"| {' | '.join(cells)} |")
    accepted = sum(verdict.verdict.startswith("correct") for _, verdict in rows)
    lines += ["", f"KernelBench accepts {accepted} of {len(rows)}."]
    if refused := sum(_refuses_double(verdict) for _, verdict in rows):
        lines[-1] += f" Of the others it refuses {refused} in double precision too."
    return "\n".join(lines)


def _refuses_double(verdict: KernelBenchVerdict) -> bool:
    return verdict.double is not None and verdict.double.startswith("incorrect")


def _words(gain: Gain | None) -> str:
    return "" if gain is None else f"{gain.speedup:.2f}x ({gain.low:.2f} to {gain.high:.2f})"


def _run(options: argparse.Namespace) -> int:
    """Ask for the missing verdicts and print the table; returns the exit code."""
    checkout = Checkout(options.root.resolve())
    kernels = [export for folder in options.folder for export in exports(folder)]
    if not kernels:
        raise InputError("there are no kernels in these folders yet")
    answers = {folder: Answers(folder) for folder in options.folder}
    missing = [kernel for kernel in kernels if answers[kernel.folder].of(kernel) is None]
    if missing:
        checkout.check()
        if problem := gpu_problem(options.device, torch=True):
            raise InputError(f"KernelBench's evaluator needs a GPU: {problem}")
    with ThreadPoolExecutor(options.parallel) as pool:
        asked = pool.map(lambda kernel: ask(checkout, kernel, device=options.device), missing)
        for kernel, verdict in zip(missing, asked, strict=True):
            answers[kernel.folder].keep(kernel, verdict)
            print(f"{kernel.name}: {verdict.verdict}", file=sys.stderr, flush=True)
    known = [(kernel, answers[kernel.folder].of(kernel)) for kernel in kernels]
    rows = [(kernel, verdict) for kernel, verdict in known if verdict is not None]
    print(table(rows))
    return 0 if all(verdict.verdict.startswith("correct") for _, verdict in rows) else 1


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m experiments.benchmarks.evidence.kernels_by_kernelbench"
    )
    parser.add_argument(
        "folder", nargs="+", type=Path, help="of `rooftree kernelbench run`, or of a study"
    )
    parser.add_argument("--root", type=Path, required=True, help="a checkout of KernelBench")
    parser.add_argument("--device", type=int, default=0)
    parser.add_argument("--parallel", type=int, default=1, help="how many at a time")
    options = parser.parse_args()
    try:
        return _run(options)
    except RooftreeError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code


if __name__ == "__main__":
    sys.exit(main())
