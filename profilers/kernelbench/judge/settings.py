"""How a `kernelbench` candidate is judged: rounds, memory, deadlines, what is allowed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

FIRST_VERDICT_S = 300.0
BASELINE_TIMES = 10.0
TF32_FACTOR = 4.0
"""With the policy ``precision=tf32``, how many times the error of operands rounded to TF32 is
accepted on inputs of both signs. Operands that are truncated, as the hardware does, come to 2.7;
bfloat16 to 8, sums in half precision to 4 at a depth of 1,000 and 8 at 4,000
(`experiments.benchmarks.evidence.tf32_errors`, on an H200). On inputs of one sign truncation alone
comes to 50.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelBenchSettings:
    """How a candidate is judged.

    blocks: timed blocks, each with fresh inputs at fresh addresses; calls: most calls in a block,
    fewer if memory does not hold so many sets of inputs and outputs, or if so many of the baseline
    take longer than `block_us`, but at least `few_calls`.
    least_blocks, half_width, time_budget_s: timing stops before `blocks` once the speedup's
    interval is so narrow, or the time is up.
    steady_blocks: most blocks of a pair of processes, if the judge's own clock varies too much
    between them to check the events; doubt_budget_s: how long blocks are added while the clocks
    disagree.
    widest_interval: how many times its lower end the upper end of a speedup's interval may be.
    confirm_processes: fresh pairs of processes, of baseline and candidate, that confirm a result.
    error_factor: how many times the honest implementation's error a candidate may make.
    clock_slack_us: how far event times and the judge's own clock may lie apart, in microseconds a
    call, beside a tenth and what the clock varies by.
    memory_share: the part of the device's memory that inputs and outputs may take, all copies.
    *_deadline_s: after these the process at work is killed and the candidate timed out; a call
    gets the baseline's time many times over besides.
    verdict_within_s: after so long a candidate's processes are ended, whatever they are at, and it
    has timed out; None for `FIRST_VERDICT_S`, and `BASELINE_TIMES` what judging the baseline took.
    compiled: the baseline is `torch.compile` of the model instead of the model itself.
    ungated: a task that fails the gate is marked, not refused.
    unsafe: candidates run even if nothing isolates them.
    readable: folders that candidates may read besides what PyTorch and the compilers need.
    includes: of these, folders of headers that compilers of C++ look into.
    lock_wait_s: how long to wait for a GPU that another process judges on.
    gpu_is_held: this process has taken the GPU already, for another problem.
    alone: no other problem is judged on this GPU, so that the reference may work between verdicts.
    """

    blocks: int = 10
    least_blocks: int = 6
    calls: int = 48
    few_calls: int = 8
    block_us: float = 60_000.0
    steady_blocks: int = 96
    half_width: float = 0.004
    time_budget_s: float = 1.5
    doubt_budget_s: float = 8.0
    widest_interval: float = 4.0
    confirm_processes: int = 5
    error_factor: float = 64.0
    clock_slack_us: float = 5.0
    memory_share: float = 0.6
    start_deadline_s: float = 120.0
    build_deadline_s: float = 600.0
    load_deadline_s: float = 120.0
    call_deadline_s: float = 20.0
    verdict_within_s: float | None = None
    compiled: bool = False
    ungated: bool = False
    unsafe: bool = False
    readable: tuple[Path, ...] = ()
    includes: tuple[Path, ...] = ()
    lock_wait_s: float = 60.0
    gpu_is_held: bool = False
    alone: bool = True

    def most_calls(self, room: int, *, call_us: float) -> int:
        """Most calls in a block, where memory has `room` for so many and one takes `call_us`."""
        in_time = int(self.block_us / call_us) if call_us > 0 else room
        return min(room, max(self.few_calls, in_time))

    def for_baseline(self) -> KernelBenchSettings:
        """Fewer blocks, for the baseline itself, which is timed beside every candidate."""
        return replace(self, blocks=4, least_blocks=4, time_budget_s=0.0)

    def for_confirmation(self) -> KernelBenchSettings:
        """For one of several pairs of processes that confirm a result together."""
        return replace(self, blocks=5, least_blocks=5)
