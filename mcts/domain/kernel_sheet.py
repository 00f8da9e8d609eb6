"""A kernel on its own: a launch plan that also says what a task would say.

What is inspected need not belong to a task: the plan then declares shape values, buffers and,
where known, the least work, in the same words as `task.toml`.
"""

from __future__ import annotations

from collections.abc import Mapping

from mcts.domain.expressions import Scalar, evaluate_int
from mcts.domain.launch_plan import LaunchPlan, plan_text, read_plan
from mcts.domain.task import Buffer, Cost, KernelTask
from mcts.domain.work import Work
from mcts.errors import InputError


class KernelSheet(LaunchPlan):
    """A launch plan with `shape` values, `buffer` tables and an optional `cost`.

    Buffers with the role `input` are filled at random, others are left as they are. `fill` and
    shape expressions are those of a task; tunables may be named in the cost.
    """

    shape: dict[str, int] = {}
    buffer: tuple[Buffer, ...] = ()
    cost: Cost | None = None

    @classmethod
    def for_task(cls, plan: LaunchPlan, task: KernelTask) -> KernelSheet:
        """`plan` with what the task declares."""
        return cls(
            **{name: getattr(plan, name) for name in LaunchPlan.model_fields},
            shape=task.timed_workload.shape,
            buffer=task.buffers,
            cost=task.cost,
        )

    def work(self, tunables: Mapping[str, Scalar]) -> Work | None:
        """The least work of one call; None if no cost is declared."""
        if self.cost is None:
            return None
        names: dict[str, Scalar] = {**self.shape, **tunables}
        return Work(
            bytes=evaluate_int(self.cost.bytes, names),
            flops=evaluate_int(self.cost.flops, names),
            math=self.cost.math,
        )

    def check(self) -> None:
        """Raise InputError for a name that nobody declares, or where there is no buffer."""
        if not self.buffer:
            raise InputError(
                "the plan declares no buffers: add [[buffer]] tables and [shape], or name the "
                "task the kernel belongs to with --task"
            )
        self.check_names(
            buffers=frozenset(item.name for item in self.buffer), shape=frozenset(self.shape)
        )
        for item in self.buffer:
            item.extents(self.shape)


def parse_kernel_sheet(source: str, *, plan: str | None = None) -> KernelSheet:
    """Read the sheet from the source's plan comment, or from `plan` where that is given.

    Raises InputError naming the line where the TOML is wrong.
    """
    text, first_line = (plan, 0) if plan is not None else plan_text(source)
    return read_plan(text, KernelSheet, first_line=first_line)
