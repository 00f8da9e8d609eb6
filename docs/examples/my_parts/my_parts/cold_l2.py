"""A micro-tool: device memory is full while L2 finds little."""

from mcts.domain import Finding
from mcts.domain import metrics as m
from microtools.tool import Case, Tool, percent, strength


def judge(case: Case) -> Finding | None:
    hit = case.value(m.L2_HIT)
    if hit is None or hit >= 50 or not case.saturated:
        return None
    return Finding(
        tool="cold_l2",
        axis="memory",
        lines=case.lines("global_loads"),
        strength=strength(hit, 50, 0),
        evidence=(percent(m.L2_HIT, hit, 50),),
        advice=f"L2 finds {hit:.0f} % of the data and DRAM is full: let neighbours share tiles.",
        methods=("memory.block_swizzle",),
    )


TOOL = Tool(name="cold_l2", level="kernel", affinity=frozenset({"memory"}), judge=judge)
