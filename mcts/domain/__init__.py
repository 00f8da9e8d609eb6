"""The nouns: frozen values that pass between the rooms."""

from mcts.domain.base import Noun
from mcts.domain.candidate import Candidate
from mcts.domain.evaluation import (
    FAILED,
    Build,
    Energy,
    Evaluation,
    Status,
    Timing,
    Verification,
)
from mcts.domain.expressions import Scalar, evaluate, evaluate_int
from mcts.domain.guidance import Evidence, Finding, Guidance
from mcts.domain.hardware import Ceilings, Hardware
from mcts.domain.identity import canonical_json, tagged_hash
from mcts.domain.launch_plan import (
    ITEM_BYTES,
    PLAN_COMMENT,
    Launch,
    LaunchPlan,
    ScalarArgument,
    Workspace,
    first_problem,
    kernel_macros,
    parse_launch_plan,
)
from mcts.domain.lesson import Lesson, StateSignature
from mcts.domain.profile import (
    DURATION,
    Axis,
    AxisGap,
    BoundClass,
    KernelProfile,
    Metric,
    Profile,
    Roofline,
    SassFacts,
)
from mcts.domain.task import Buffer, Cost, Dialect, KernelTask, Tolerance, Workload
from mcts.domain.tunables import Configuration, Tunable, TunableSpace, configuration_key

__all__ = [
    "DURATION",
    "FAILED",
    "ITEM_BYTES",
    "PLAN_COMMENT",
    "Axis",
    "AxisGap",
    "BoundClass",
    "Buffer",
    "Build",
    "Candidate",
    "Ceilings",
    "Configuration",
    "Cost",
    "Dialect",
    "Energy",
    "Evaluation",
    "Evidence",
    "Finding",
    "Guidance",
    "Hardware",
    "KernelProfile",
    "KernelTask",
    "Launch",
    "LaunchPlan",
    "Lesson",
    "Metric",
    "Noun",
    "Profile",
    "Roofline",
    "SassFacts",
    "Scalar",
    "ScalarArgument",
    "StateSignature",
    "Status",
    "Timing",
    "Tolerance",
    "Tunable",
    "TunableSpace",
    "Verification",
    "Workload",
    "Workspace",
    "canonical_json",
    "configuration_key",
    "evaluate",
    "evaluate_int",
    "first_problem",
    "kernel_macros",
    "parse_launch_plan",
    "tagged_hash",
]
