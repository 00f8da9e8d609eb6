"""A kernel that belongs to no task: a launch plan that also declares what a task would.

`rooftree inspect` takes such kernels: their plan declares shape values, buffers and, if known, the
least work, with the same keys as `task.toml`.
"""

from __future__ import annotations

from collections.abc import Mapping

from mcts.domain.expressions import Scalar
from mcts.domain.launch_plan import LaunchPlan, plan_text, read_plan
from mcts.domain.task import Buffer, Cost, KernelTask, Work, written_bytes
from mcts.errors import InputError


class KernelSpec(LaunchPlan):
    """A launch plan with `shape` values, `buffer` tables and an optional `cost`.

    Buffers with the role `input` are filled at random, others are left as they are. `fill` and
    shape expressions are those of a task; tunables may be named in the cost.
    """

    shape: dict[str, int] = {}
    buffer: tuple[Buffer, ...] = ()
    cost: Cost | None = None

    @classmethod
    def for_task(cls, plan: LaunchPlan, task: KernelTask) -> KernelSpec:
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
        return self.cost.work(names, written=written_bytes(self.buffer, self.shape))

    def check(self) -> None:
        """Raise InputError for a name that is not declared, and if there is no buffer."""
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


def parse_kernel_spec(source: str, *, plan: str | None = None) -> KernelSpec:
    """Read the spec from the source's plan comment, or from `plan` if that is given.

    Raises InputError with the line if the TOML is wrong.
    """
    text, first_line = (plan, 0) if plan is not None else plan_text(source)
    return read_plan(text, KernelSpec, first_line=first_line)
