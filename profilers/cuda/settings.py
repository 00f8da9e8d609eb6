"""How candidates are judged on a GPU: blocks, precision, budgets, deadlines."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, replace

from profilers.measuring.blocks import TimingPlan

_UPLOAD_BYTES_PER_S = 0.5e9  # far below what any bus does
_NEVER_NARROW = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuSettings:
    """How a candidate is judged.

    cases: random cases of the timed workload, drawn once per evaluator.
    min_blocks, max_blocks: blocks of timing, the programs loaded anew for each; slow_blocks
    replaces `min_blocks` if a call takes over 20 ms. rounds: paired rounds in a block.
    confirm_blocks: blocks for a finalist.
    half_width: relative half-width of the intervals at which timing stops.
    time_budget_s: wall clock after which timing stops, once the least blocks are done.
    batch_us: usual length of the batches on which clocks are compared; clock_tries: how often
    they are compared before they count as disagreeing.
    variation_bytes: size of the largest workload that is also verified on other distributions.
    ungated: judge a task although its outputs say nothing about a kernel.
    *_deadline_s: after these the process is killed and the candidate has timed out.
    compile_processes: compilers that may run at once.
    lock_wait_s: how long to wait for a GPU that another process judges on.
    """

    cases: int = 3
    min_blocks: int = 6
    max_blocks: int = 15
    slow_blocks: int = 5
    confirm_blocks: int = 12
    rounds: int = 4
    half_width: float = 0.005
    time_budget_s: float = 0.35
    batch_us: float = 3000.0
    clock_tries: int = 3
    variation_bytes: int = 64 * 2**20
    ungated: bool = False
    compile_deadline_s: float = 60.0
    load_deadline_s: float = 20.0
    verify_deadline_s: float = 10.0
    time_deadline_s: float = 20.0
    compile_processes: int = 4
    lock_wait_s: float = 60.0

    def timing_plan(self) -> TimingPlan:
        return TimingPlan(
            min_blocks=self.min_blocks,
            max_blocks=self.max_blocks,
            slow_blocks=self.slow_blocks,
            rounds=self.rounds,
            half_width=self.half_width,
            budget_s=self.time_budget_s,
            seed=secrets.randbits(32),
        )

    def for_confirmation(self) -> GpuSettings:
        """For finalists: more blocks, all of which are measured, however narrow the interval."""
        return replace(
            self,
            min_blocks=self.confirm_blocks,
            max_blocks=self.confirm_blocks,
            slow_blocks=max(self.slow_blocks, self.confirm_blocks // 2),
            half_width=_NEVER_NARROW,
            time_budget_s=2 * self.time_budget_s,
        )

    def upload_s(self, size_bytes: int) -> float:
        """Seconds to allow for the upload of so many bytes."""
        return size_bytes / _UPLOAD_BYTES_PER_S
