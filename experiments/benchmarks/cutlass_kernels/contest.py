"""The fastest variant whose results are right, compared with its rivals.

All variants are timed in a few rounds, the best in more; the winner is then timed again beside its
rivals, and only this last measurement is reported: the best of many noisy times is too good. Calls
are timed in turn, so that a drift of the clock affects all of them.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from experiments.benchmarks.cutlass_kernels.building import Built
from mcts.errors import RooftreeError
from mcts.statistics import Interval, median_interval, speedup_paired

SCREENING_ROUNDS, SEMIFINAL_ROUNDS, ROUNDS, SEMIFINALISTS = 7, 25, 100, 16
SEED = 11
FLUSH_BYTES = 512 * 2**20
"""Read before each call: several times the largest L2."""
Call = Callable[[], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """A way to compute the work. `family` is what it shares with others in the screening's table;
    `built` is None if machine code is not ours to count.
    """

    name: str
    family: str
    call: Call
    built: Built | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GemmProblem:
    """What is computed. `failure` runs a call and says in one line what is wrong with its result;
    "" if nothing is.
    """

    name: str
    flops: int
    failure: Callable[[Call], str]


@dataclass(slots=True, kw_only=True)
class ContestResult:
    """Times in us: `finals` by name, ours under `best.name`; `screened` medians by variant."""

    work: str
    flops: int
    best: Variant
    finals: dict[str, list[float]]
    screened: dict[str, float]
    families: dict[str, str]
    wrong: dict[str, str] = field(default_factory=dict)

    def ratio(self, rival: str) -> Interval:
        """A rival's time over ours: above 1, ours is faster."""
        return speedup_paired(self.finals[rival], self.finals[self.best.name], SEED)

    def ours_us(self) -> Interval:
        return median_interval(self.finals[self.best.name], SEED)


class Interleaved:
    """Times calls with CUDA events, the L2 cache flushed before each."""

    def __init__(self, torch: Any, *, seed: int) -> None:
        self._torch = torch
        self._flush = torch.ones(FLUSH_BYTES // 4, device="cuda")
        self._order = random.Random(seed)

    def times_us(
        self, calls: Mapping[str, Callable[[], Any]], *, rounds: int, warm_up: int = 2
    ) -> dict[str, list[float]]:
        """One time per round for each call; every round has an order of its own."""
        for _ in range(warm_up):
            for call in calls.values():
                call()
        marks: dict[str, list[tuple[Any, Any]]] = {name: [] for name in calls}
        names = list(calls)
        for _ in range(rounds):
            self._order.shuffle(names)
            for name in names:
                self._flush.sum()
                begin, end = (self._torch.cuda.Event(enable_timing=True) for _ in range(2))
                begin.record()
                calls[name]()
                end.record()
                marks[name].append((begin, end))
        self._torch.cuda.synchronize()
        return {
            name: [begin.elapsed_time(end) * 1e3 for begin, end in pairs]
            for name, pairs in marks.items()
        }


def contest(
    timer: Interleaved,
    work: GemmProblem,
    *,
    ours: Sequence[Variant],
    rivals: Mapping[str, Sequence[Variant]],
    say: Callable[[str], None],
) -> ContestResult | None:
    """Ours against each rival's best variant; None if none of ours is right.

    What is wrong, or fails, is said, left out and kept in the finding. A failure that several
    variants of a family share is said once.
    """
    wrong: dict[str, str] = {}
    right = _right(work, ours, wrong, say)
    if not right:
        say(f"{work.name}: none of ours is right")
        return None
    say(f"{work.name}: {len(right)} of {len(ours)} variants are right; timing")
    best, screened = _fastest(timer, right)
    finalists = {best.name: best.call}
    for name, variants in rivals.items():
        usable = _right(work, variants, wrong, say)
        if usable:
            winner, theirs = _fastest(timer, usable)
            screened |= theirs
            say(f"{work.name}: {name} runs as {winner.name}")
            finalists[name] = winner.call
    everyone = [*ours, *(one for variants in rivals.values() for one in variants)]
    return ContestResult(
        work=work.name,
        flops=work.flops,
        best=best,
        finals=timer.times_us(finalists, rounds=ROUNDS),
        screened=screened,
        families={one.name: one.family for one in everyone},
        wrong=wrong,
    )


def _right(
    work: GemmProblem,
    variants: Sequence[Variant],
    wrong: dict[str, str],
    say: Callable[[str], None],
) -> list[Variant]:
    said: set[str] = set()
    right = []
    for variant in variants:
        try:
            failure = work.failure(variant.call)
        except RooftreeError as error:
            failure = str(error)
        if not failure:
            right.append(variant)
            continue
        wrong[variant.name] = failure
        if variant.family not in said:
            said.add(variant.family)
            say(f"{work.name}: {variant.name}: {failure}")
    return right


def _fastest(timer: Interleaved, variants: Sequence[Variant]) -> tuple[Variant, dict[str, float]]:
    by_name = {variant.name: variant for variant in variants}
    if len(by_name) == 1:
        return variants[0], {}
    calls = {name: variant.call for name, variant in by_name.items()}
    screened = _medians(timer.times_us(calls, rounds=SCREENING_ROUNDS))
    close = sorted(screened, key=lambda name: screened[name])[:SEMIFINALISTS]
    again = _medians(timer.times_us({name: calls[name] for name in close}, rounds=SEMIFINAL_ROUNDS))
    return by_name[min(again, key=lambda name: again[name])], screened


def _medians(times: Mapping[str, Sequence[float]]) -> dict[str, float]:
    return {name: statistics.median(samples) for name, samples in times.items()}


def head(first: str, rivals: Sequence[str]) -> list[str]:
    """The first two lines of the table of `row`."""
    columns = [first, "ours, us", "TFLOP/s", *(f"{rival}, us" for rival in rivals)]
    columns += [f"{rival} / ours" for rival in rivals] + ["variant", "HGMMA", "UTMALDG"]
    return [_line(columns), _line(["---"] * len(columns))]


def row(found: ContestResult, rivals: Sequence[str]) -> str:
    """One line: medians and, in brackets, 95 % intervals."""
    cells = [found.work, _with_interval(found.ours_us(), 1)]
    cells.append(f"{found.flops / found.ours_us().point / 1e6:.0f}")
    for rival in rivals:
        known = rival in found.finals
        cells.append(
            _with_interval(median_interval(found.finals[rival], SEED), 1) if known else "-"
        )
    for rival in rivals:
        known = rival in found.finals
        cells.append(f"**{_with_interval(found.ratio(rival), 3)}**" if known else "-")
    opcodes = found.best.built.opcodes if found.best.built else {}
    cells += [found.best.name, *(str(opcodes.get(key, "?")) for key in ("HGMMA", "UTMALDG"))]
    return _line(cells)


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _with_interval(interval: Interval, digits: int) -> str:
    low, point, high = interval
    return f"{point:.{digits}f} ({low:.{digits}f}-{high:.{digits}f})"


def screening_table(findings: Sequence[ContestResult]) -> list[str]:
    """The best of each family at each work, in TFLOP/s, from the screening's few rounds."""
    lines = [
        f"Screening: the best of each configuration, TFLOP/s (median of {SCREENING_ROUNDS})",
        "",
        _line(["configuration", *(found.work for found in findings)]),
        _line(["---"] * (len(findings) + 1)),
    ]
    families = dict.fromkeys(found.families[name] for found in findings for name in found.screened)
    for family in families:
        cells = [family]
        for found in findings:
            times = [us for name, us in found.screened.items() if found.families[name] == family]
            cells.append(f"{found.flops / min(times) / 1e6:.0f}" if times else "-")
        lines.append(_line(cells))
    return lines


def as_json(found: ContestResult) -> dict[str, Any]:
    """Everything measured at one work, as plain values."""
    return {
        "work": found.work,
        "flops": found.flops,
        "best": found.best.name,
        "finals_us": found.finals,
        "screened_us": found.screened,
        "wrong": found.wrong,
    }
