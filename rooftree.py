"""Rooftree from Python: searches, judgements, inspections and studies, as functions.

    import rooftree

    run = rooftree.optimize("row_softmax", evaluator="replay", evaluations=60, seed=1)
    print(run)            # what was found, in three lines
    run.best.tunables     # the values of the fastest variant

Whatever is wrong is a `RooftreeError`: an `InputError` if the caller can mend it, a `WorldError` if
a device, a service or a disk has to be. docs/python.md shows more.
"""

from experiments.api.asking import evaluate, inspect, study
from experiments.api.optimizing import load_run, optimize, resume
from experiments.api.plain import FunctionEvaluator, SilentAdvisor, task_of
from experiments.api.results import Result, Variant
from experiments.runs.folders.journal import SqliteJournal
from mcts.domain import Candidate, Evaluation, Guidance, Hardware, KernelTask, Profile
from mcts.errors import InputError, RooftreeError, WorldError
from mcts.journal.in_memory import MemoryJournal
from mcts.loop.progress import Progress
from mcts.options import Algorithm, JudgingOptions, Limits, ModelOptions
from mcts.ports import Advisor, Evaluator, Journal, Proposal, ProposalRequest, Proposer

__all__ = [
    "Advisor",
    "Algorithm",
    "Candidate",
    "Evaluation",
    "Evaluator",
    "FunctionEvaluator",
    "Guidance",
    "Hardware",
    "InputError",
    "Journal",
    "JudgingOptions",
    "KernelTask",
    "Limits",
    "MemoryJournal",
    "ModelOptions",
    "Profile",
    "Progress",
    "Proposal",
    "ProposalRequest",
    "Proposer",
    "Result",
    "RooftreeError",
    "SilentAdvisor",
    "SqliteJournal",
    "Variant",
    "WorldError",
    "evaluate",
    "inspect",
    "load_run",
    "optimize",
    "resume",
    "study",
    "task_of",
]
