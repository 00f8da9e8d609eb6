"""Does KernelBench accept the kernels that suites exported?

    python -m experiments.benchmarks.evidence.kernels_by_kernelbench --root CHECKOUT SUITE...

Gives every kernel of the suites' folders to KernelBench's own evaluator, each in a fresh process,
and prints a Markdown table of our figures beside its own. Its answers are kept in
``kernelbench.json`` of each folder; a second call asks only about kernels that are new or changed.
The exit code is 1 if a kernel is not accepted.

Kernels evaluated at the same time (``--parallel``) disturb one another's times, and thereby
KernelBench's speedups. Most of the time goes to drawing the inputs, which KernelBench does on the
CPU.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from experiments.benchmarks.evidence.kernelbench_checkout import Checkout, KernelBenchVerdict
from experiments.benchmarks.suite.folder import Chosen, SuiteFolder
from experiments.benchmarks.suite.outcome import Gain, Outcome
from experiments.runs.machines.machine import gpu_problem
from experiments.runs.tasks.files import read_text
from mcts.errors import InputError, RooftreeError, WorldError

ANSWERS = "kernelbench.json"


@dataclass(frozen=True, slots=True)
class Export:
    """An exported kernel; `outcome` is None if the suite stopped before the problem had one."""

    suite: SuiteFolder
    chosen: Chosen
    outcome: Outcome | None

    @property
    def source(self) -> str:
        return read_text(self.suite.kernel(self.chosen.key))

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.source.encode()).hexdigest()


def exports(suite: SuiteFolder) -> Iterator[Export]:
    """The kernels of a suite, in the order of levels and numbers."""
    for chosen in suite.plan().problems:
        if suite.kernel(chosen.key).is_file():
            yield Export(suite, chosen, suite.outcome(chosen.key))


class Answers:
    """KernelBench's verdicts on a suite's kernels, kept in the suite's folder."""

    def __init__(self, suite: SuiteFolder) -> None:
        self._path = suite.path / ANSWERS
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
        known = self._verdicts.get(export.chosen.key, {})
        if known.get("kernel_sha256") != export.digest:
            return None
        return KernelBenchVerdict(
            verdict=known["verdict"], speedup=known["speedup"], seconds=known["seconds"]
        )

    def keep(self, export: Export, verdict: KernelBenchVerdict) -> None:
        """Keep the verdict on a kernel, and write the file."""
        self._verdicts[export.chosen.key] = {"kernel_sha256": export.digest, **asdict(verdict)}
        text = json.dumps(self._verdicts, indent=2, sort_keys=True) + "\n"
        self._path.write_text(text, encoding="utf-8")


def ask(checkout: Checkout, export: Export, *, device: int) -> KernelBenchVerdict:
    """KernelBench's verdict on a kernel; if its evaluator fails, the verdict says so and why."""
    problem = checkout.problem(f"level{export.chosen.level}/{export.chosen.number}")
    with tempfile.TemporaryDirectory(prefix="kernelbench-") as builds:
        try:
            return checkout.judge(
                read_text(problem), export.source, builds=Path(builds), device=device
            )
        except WorldError as error:
            return KernelBenchVerdict(verdict=f"no verdict: {error}", speedup=None, seconds=0.0)


def table(rows: list[tuple[Export, KernelBenchVerdict]]) -> str:
    """A Markdown table of our speedups with 95 % intervals, and of KernelBench's verdicts."""
    lines = [
        "| problem | eager, us | ours, us | over eager | over torch.compile | KernelBench says |",
        "| --- | ---: | ---: | ---: | ---: | --- |",
    ]
    for export, verdict in rows:
        outcome = export.outcome
        eager = outcome.eager if outcome else None
        compiled = outcome.compiled if outcome else None
        times = (f"{eager.baseline_us:.4g}", f"{eager.time_us:.4g}") if eager else ("", "")
        theirs = " ".join(verdict.verdict.replace("|", "/").split())[:120]
        theirs += f", {verdict.speedup:.2f}x" if verdict.speedup is not None else ""
        cells = (export.chosen.name, *times, _words(eager), _words(compiled), theirs)
        lines.append(f"| {' | '.join(cells)} |")
    accepted = sum(verdict.verdict.startswith("correct") for _, verdict in rows)
    lines += ["", f"KernelBench accepts {accepted} of {len(rows)}."]
    return "\n".join(lines)


def _words(gain: Gain | None) -> str:
    return "" if gain is None else f"{gain.speedup:.2f}x ({gain.low:.2f} to {gain.high:.2f})"


def _run(options: argparse.Namespace) -> int:
    """Ask for the missing verdicts and print the table; returns the exit code."""
    checkout = Checkout(options.root.resolve())
    suites = [SuiteFolder(path) for path in options.suite]
    kernels = [export for suite in suites for export in exports(suite)]
    if not kernels:
        raise InputError("these suites have exported no kernels")
    answers = {suite.path: Answers(suite) for suite in suites}
    missing = [kernel for kernel in kernels if answers[kernel.suite.path].of(kernel) is None]
    if missing:
        checkout.check()
        if problem := gpu_problem(options.device, torch=True):
            raise InputError(f"KernelBench's evaluator needs a GPU: {problem}")
    with ThreadPoolExecutor(options.parallel) as pool:
        asked = pool.map(lambda kernel: ask(checkout, kernel, device=options.device), missing)
        for kernel, verdict in zip(missing, asked, strict=True):
            answers[kernel.suite.path].keep(kernel, verdict)
            print(f"{kernel.chosen.name}: {verdict.verdict}", file=sys.stderr, flush=True)
    known = [(kernel, answers[kernel.suite.path].of(kernel)) for kernel in kernels]
    rows = [(kernel, verdict) for kernel, verdict in known if verdict is not None]
    print(table(rows))
    return 0 if all(verdict.verdict.startswith("correct") for _, verdict in rows) else 1


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m experiments.benchmarks.evidence.kernels_by_kernelbench"
    )
    parser.add_argument("suite", nargs="+", type=Path, help="folders of rooftree kernelbench run")
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
