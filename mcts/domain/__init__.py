"""The nouns: frozen values that pass between the rooms."""

from mcts.domain.attribution import Attribution, Worth
from mcts.domain.base import Noun
from mcts.domain.candidate import Candidate
from mcts.domain.evaluation import (
    FAILED,
    Build,
    CheatClass,
    Energy,
    Evaluation,
    Refusal,
    Status,
    Timing,
    Verification,
)
from mcts.domain.expressions import Scalar, evaluate, evaluate_int
from mcts.domain.guidance import Evidence, Finding, Guidance, Level
from mcts.domain.hardware import Ceilings, Hardware
from mcts.domain.identity import canonical_json, tagged_hash
from mcts.domain.isolation import Isolation, IsolationLevel
from mcts.domain.kernel_sheet import KernelSheet, parse_kernel_sheet
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
    InstructionKind,
    KernelProfile,
    MemoryLevel,
    Metric,
    Profile,
    Roofline,
    SassFacts,
    SassLoop,
    TimelineFacts,
)
from mcts.domain.task import (
    Buffer,
    Cost,
    Dialect,
    KernelTask,
    MathUnit,
    Policy,
    Tolerance,
    Workload,
)
from mcts.domain.tunables import Configuration, Tunable, TunableSpace, configuration_key
from mcts.domain.work import Work

__all__ = [
    "DURATION",
    "FAILED",
    "ITEM_BYTES",
    "PLAN_COMMENT",
    "Attribution",
    "Axis",
    "AxisGap",
    "BoundClass",
    "Buffer",
    "Build",
    "Candidate",
    "Ceilings",
    "CheatClass",
    "Configuration",
    "Cost",
    "Dialect",
    "Energy",
    "Evaluation",
    "Evidence",
    "Finding",
    "Guidance",
    "Hardware",
    "InstructionKind",
    "Isolation",
    "IsolationLevel",
    "KernelProfile",
    "KernelSheet",
    "KernelTask",
    "Launch",
    "LaunchPlan",
    "Lesson",
    "Level",
    "MathUnit",
    "MemoryLevel",
    "Metric",
    "Noun",
    "Policy",
    "Profile",
    "Refusal",
    "Roofline",
    "SassFacts",
    "SassLoop",
    "Scalar",
    "ScalarArgument",
    "StateSignature",
    "Status",
    "TimelineFacts",
    "Timing",
    "Tolerance",
    "Tunable",
    "TunableSpace",
    "Verification",
    "Work",
    "Workload",
    "Workspace",
    "Worth",
    "canonical_json",
    "configuration_key",
    "evaluate",
    "evaluate_int",
    "first_problem",
    "kernel_macros",
    "parse_kernel_sheet",
    "parse_launch_plan",
    "tagged_hash",
]
