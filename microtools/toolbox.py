"""Micro-tools by name, for a model that chooses which of them to run.

They are run whatever the roofline class is: who chooses has seen it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from mcts.domain import BoundClass, Evaluation, Finding, Guidance, KernelTask, Level, Profile, Work
from mcts.microtool.relief import Relief
from mcts.microtool.tool import ANY, KernelContext, MicroTool
from microtools import registry
from microtools.advisor import RooflineAdvisor, relief_of


class ChosenTools:
    """The toolbox of all registered micro-tools."""

    @cached_property
    def tools(self) -> Mapping[str, str]:
        """What each tool looks for, by its name."""
        return {tool.name: registry.summary(tool) for tool in registry.available()[0]}

    def run(
        self, names: Iterable[str], task: KernelTask, evaluation: Evaluation, profile: Profile
    ) -> Guidance:
        """What the named tools say of a profile; names of no tool are passed over. Those that have
        looked and found nothing are named in a note.
        """
        wanted = set(names)
        chosen = [_Ungated(tool) for tool in registry.available()[0] if tool.name in wanted]
        found = RooflineAdvisor(chosen).examine(
            work=Work.of(task) or profile.work,
            profile=profile,
            time_us=evaluation.timing.heaviest.median_us if evaluation.timing else None,
        )
        silent = [tool.name for tool in chosen if tool.looked and not tool.found]
        if not silent:
            return found
        measured = ", by what was measured" if profile.missing else ""
        note = f"nothing found by {', '.join(silent)}{measured}"
        return found.model_copy(update={"notes": (note, *found.notes)})


@dataclass
class _Ungated:
    """A tool that runs in every roofline class, and whether it has looked and found something."""

    tool: MicroTool
    looked: bool = False
    found: bool = False

    @property
    def name(self) -> str:
        return self.tool.name

    @property
    def level(self) -> Level:
        return self.tool.level

    @property
    def affinity(self) -> frozenset[BoundClass]:
        return ANY

    @property
    def symptom_of(self) -> frozenset[str]:
        return frozenset(getattr(self.tool, "symptom_of", ()))

    def relief(self, context: KernelContext) -> Relief | None:
        return relief_of(self.tool, context)

    def examine(self, context: KernelContext) -> Finding | None:
        finding = self.tool.examine(context)
        self.looked = True
        self.found = self.found or finding is not None
        return finding
