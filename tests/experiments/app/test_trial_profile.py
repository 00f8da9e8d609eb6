"""What `doctor` says of the profile that it tries."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from experiments.app import trial_profile
from experiments.app.trial_profile import NAME, PROBLEM, profile_with, try_profile
from mcts.domain import Candidate, Evaluation, Profile
from mcts.domain.profile import KernelProfile, Metric, TimelineFacts
from mcts.errors import WorldError
from mcts.requests import EvaluatorRequest
from profilers import ncu
from profilers.ncu.metrics import COLLECTED
from profilers.profiles.profiling import TIMELINE
from tests.support.commands import json_of

KERNEL = KernelProfile(
    name="add", metrics={name: Metric(value=1.0, unit="") for name in COLLECTED[:9]}
)
SEEN = TimelineFacts(source="cupti", span_us=2, busy_us=1)
COUNTED = f"9 of {len(COLLECTED)} counters of a PyTorch candidate's kernel"


@dataclass
class Judge:
    """Profiles whatever it is asked for as `profile`; notes what it judged and that it closed."""

    result: Profile
    did: list[str] = field(default_factory=list)

    def __call__(self, request: EvaluatorRequest) -> Judge:
        assert request.task.dialect.in_pytorch and request.judging.evaluator == "gpu"
        self.did.append(request.task.reference)
        return self

    def evaluate(self, candidate: Candidate) -> Evaluation:
        return Evaluation(status="runtime_error", candidate_id=candidate.id, message="none")

    def profile(self, candidate: Candidate, evaluation: Evaluation) -> Profile:
        assert evaluation.candidate_id == candidate.id
        return self.result

    def close(self) -> None:
        self.did.append("closed")


@pytest.mark.parametrize(
    ("profile", "level", "words"),
    [
        (Profile(kernels=(KERNEL,), timeline=SEEN), "ok", f"{COUNTED}, and a timeline (0 s)"),
        (Profile(kernels=(KERNEL,), missing={TIMELINE: "no CUPTI"}), "note",
         f"{COUNTED}, but no timeline: no CUPTI"),
        (Profile(kernels=(KERNEL,), missing={ncu.TOOL: "ncu was stopped"}), "note",
         f"{COUNTED}; ncu was stopped"),
        (Profile(kernels=(KernelProfile(name="add"),), timeline=SEEN,
                 missing={ncu.TOOL: "ncu says: no.\n The program says: no pydantic"}), "note",
         "has no hardware counters: ncu says: no. The program says: no pydantic"),
        (Profile(), "note", "the profiled call launched no kernel"),
    ],
)  # fmt: skip
def test_what_was_seen_is_one_line(profile: Profile, level: str, words: str) -> None:
    judge = Judge(profile)
    check = profile_with(judge, print)  # type: ignore[arg-type]
    assert (check.name, check.level) == (NAME, level) and words in check.detail
    assert judge.did == [PROBLEM, "closed"]


def test_a_judge_that_cannot_work_is_no_error() -> None:
    def judge(_request: EvaluatorRequest) -> Judge:
        raise WorldError("GPU 0 is taken\nby another")

    check = profile_with(judge, print)  # type: ignore[arg-type]
    assert check.level == "note"
    assert check.detail == "a PyTorch candidate was not judged: GPU 0 is taken by another"


def test_nothing_is_tried_without_a_gpu_or_ncu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial_profile, "gpu_problem", lambda **_: "there is no GPU")
    assert try_profile(print).detail == "not tried: there is no GPU"
    monkeypatch.setattr(trial_profile, "gpu_problem", lambda **_: None)
    monkeypatch.setattr("profilers.compiling.toolchain.find_tool", lambda _name: None)
    assert try_profile(print) == trial_profile.Check(NAME, "note", "not tried: ncu was not found")


def test_doctor_lists_it() -> None:
    assert NAME in {check["name"] for check in json_of("doctor")["checks"]}
