"""How candidates are judged on a GPU: rounds, precision, budgets, deadlines."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from profilers.timing import TimingPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuSettings:
    """How a candidate is judged.

    cases: random cases of the timed workload, drawn once per evaluator.
    min_rounds, max_rounds: paired timing rounds; slow_rounds replaces the least where a call
    takes over 20 ms.
    half_width: relative half-width of the median's interval at which timing stops.
    time_budget_s: wall clock after which timing stops, once the least rounds are done.
    batch_us: length of the batch that the host's clock is checked on.
    *_deadline_s: after these the process at work is killed and the candidate timed out.
    compile_processes: compilers that may run at once.
    lock_wait_s: how long to wait for a GPU that another process judges on.
    """

    cases: int = 3
    min_rounds: int = 12
    slow_rounds: int = 5
    max_rounds: int = 60
    half_width: float = 0.005
    time_budget_s: float = 0.35
    batch_us: float = 3000.0
    compile_deadline_s: float = 60.0
    load_deadline_s: float = 20.0
    verify_deadline_s: float = 10.0
    time_deadline_s: float = 20.0
    compile_processes: int = 4
    lock_wait_s: float = 60.0

    def timing_plan(self) -> TimingPlan:
        return TimingPlan(
            min_rounds=self.min_rounds,
            slow_rounds=self.slow_rounds,
            max_rounds=self.max_rounds,
            half_width=self.half_width,
            budget_s=self.time_budget_s,
            batch_us=self.batch_us,
            seed=secrets.randbits(32),
        )
