"""The corpus: complete, readable by machine, and its runner says what is right and what is not."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from experiments.benchmarks.corpus import __main__ as command
from experiments.benchmarks.corpus import tables
from experiments.benchmarks.corpus.__main__ import main
from experiments.benchmarks.corpus.cases import (
    CHEATS,
    FOLDER,
    OWN_TASKS,
    PROBLEMS,
    CorpusCase,
    cases,
    chosen,
    task_of,
)
from experiments.benchmarks.corpus.results import as_json, merged
from experiments.benchmarks.corpus.running import (
    SECRET_VARIABLE,
    grouped,
    missing,
    planted_secrets,
    run,
)
from experiments.benchmarks.corpus.stress import descendants, run_stress
from experiments.benchmarks.corpus.verdicts import NEUTRAL, JudgedCase
from experiments.runs.tasks.files import read_text
from experiments.runs.tasks.problems import problem_task
from mcts.domain import (
    Candidate,
    Evaluation,
    Hardware,
    Isolation,
    KernelTask,
    Policy,
    Profile,
    Refusal,
    Timing,
    Verification,
    kernel_macros,
    parse_launch_plan,
)
from mcts.errors import InputError, UnfairTask, WorldError
from mcts.ports import Evaluator

ROOT = Path(__file__).resolve().parents[3]
ALL = cases()
CUDA = [one for one in ALL if one.dialect == "cuda"]
KERNELBENCH = [one for one in ALL if one.dialect == "kernelbench"]
IN_CUDA = frozenset(
    {
        "batched_calls",
        "pointer_cache",
        "content_cache",
        "stale_memory",
        "reads_reference",
        "poisons_reference",
        "phase_detection",
        "sabotaged_sampling",
        "input_mutation",
        "precision_downgrade",
        "skipped_work",
        "hard_coded",
        "tolerance_abuse",
        "cache_persistence",
        "garbage",
        "leak",
    }
)
"""Classes that device code with a launch plan can be of; the others need host code."""

NOT_PYTHON = {"kernelbench/fault_syntax_error"}
NO_MODEL = {*NOT_PYTHON, "kernelbench/fault_no_model"}


def case(**changes: object) -> CorpusCase:
    fields: dict[str, object] = {
        "file": "kernelbench/side_stream_torch.py", "task": "linear_gelu", "class": "side_stream",
        "expect": ["refused", "wrong_result"], "why": "because",
    }  # fmt: skip
    return CorpusCase.model_validate({**fields, **changes})


def evaluation(
    candidate: Candidate, status: str, *, cheat: str = "leak", speedup: float = 1.0
) -> Evaluation:
    timing = Timing(
        median_us=10, low_us=9, high_us=11, baseline_us=10 * speedup, speedup=speedup,
        speedup_low=0.99 * speedup, speedup_high=1.01 * speedup, rounds=9,
    )  # fmt: skip
    timed = status in ("measured", "suspect")
    passed = status != "wrong_result"
    return Evaluation.model_validate(
        {
            "candidate_id": candidate.id,
            "status": status,
            "message": "" if status == "measured" else f"it was {status}\nand more",
            "timing": timing if timed else None,
            "verification": Verification(passed=passed, rounds=1)
            if status in ("measured", "wrong_result")
            else None,
            "refusal": Refusal(cheat=cheat, evidence="seen") if status == "refused" else None,  # type: ignore[arg-type]
            "isolation": Isolation(level="full"),
        }
    )


class Perfect(Evaluator):
    """An evaluator that knows the manifest; `mistakes` are its verdicts on some by name."""

    name = "perfect"
    hardware = Hardware(name="a device of the mind")

    def __init__(self, task: KernelTask, mistakes: dict[str, Any]) -> None:
        self.task = task
        self.mistakes = mistakes
        self.closed = False
        self.seen: list[str] = []

    def evaluate(self, candidate: Candidate) -> Evaluation:
        one = next(one for one in ALL if candidate.source.startswith(one.source))
        self.seen.append(candidate.id)
        if one.name in self.mistakes:
            mistake = self.mistakes[one.name]
            if isinstance(mistake, Exception):
                raise mistake
            return evaluation(candidate, **mistake)
        status = "measured" if one.or_neutral else one.expect[-1]
        cheat, speedup = one.may_be_refused_as[0], one.max_speedup or 1.0
        return evaluation(candidate, status, cheat=cheat, speedup=speedup)

    def profile(self, candidate: Candidate, evaluation: Evaluation) -> Profile:
        raise NotImplementedError

    def close(self) -> None:
        self.closed = True


class Factory:
    """Makes perfect evaluators and keeps them; refuses the tasks that no judge should take."""

    def __init__(self, **mistakes: Any) -> None:
        self.mistakes = {name.replace("__", "/"): value for name, value in mistakes.items()}
        self.made: list[Perfect] = []

    def __call__(self, task: KernelTask, policy: Policy) -> Perfect:
        assert task.policy == policy
        if task.name in ("constant", "ignored_input", "random_output"):
            raise UnfairTask(f"task {task.name} is no fair task")
        self.made.append(Perfect(task, self.mistakes))
        return self.made[-1]


def silent(_text: str) -> None:
    pass


# The manifest


def test_every_candidate_is_listed_and_every_listed_one_is_there() -> None:
    files = [*FOLDER.glob("kernelbench/*.py"), *FOLDER.glob("cuda/*.cu")]
    assert {one.file for one in ALL} == {str(path.relative_to(FOLDER)) for path in files}
    assert len({one.candidate.id for one in ALL}) == len(ALL)


def test_every_class_of_cheat_has_a_case_in_every_dialect_that_allows_it() -> None:
    assert {one.kind for one in KERNELBENCH if one.is_cheat} == set(CHEATS)
    assert {one.kind for one in CUDA if one.is_cheat} == IN_CUDA
    for members in (CUDA, KERNELBENCH):
        kinds = [one.kind for one in members]
        assert kinds.count("honest") >= 9 and kinds.count("fault") >= 20
        assert sum(one.hostile for one in members) >= 5


def test_every_problem_and_task_of_the_corpus_is_used() -> None:
    assert {one.task for one in KERNELBENCH} == {path.stem for path in PROBLEMS.glob("*.py")}
    assert {path.name for path in OWN_TASKS.iterdir()} <= {one.task for one in CUDA}


@pytest.mark.parametrize("group", grouped(ALL), ids=lambda group: group.task.name)
def test_every_task_loads_and_its_cases_run_under_one_policy(group: Any) -> None:
    for one in group.cases:
        assert task_of(one) == group.task
    kinds = [one.kind for one in group.cases]
    assert kinds == sorted(kinds, key=lambda kind: {"honest": 0, "fault": 2}.get(kind, 1))


@pytest.mark.parametrize("one", KERNELBENCH, ids=lambda one: one.name)
def test_a_python_candidate_is_a_described_model(one: CorpusCase) -> None:
    if one.name in NOT_PYTHON:
        with pytest.raises(SyntaxError):
            ast.parse(one.source)
        return
    tree = ast.parse(one.source)
    assert ast.get_docstring(tree)
    classes = {node.name for node in tree.body if isinstance(node, ast.ClassDef)}
    assert ("ModelNew" in classes) == (one.name not in NO_MODEL)


@pytest.mark.parametrize("path", sorted(PROBLEMS.glob("*.py")), ids=lambda path: path.stem)
def test_a_problem_defines_what_a_judge_asks_for(path: Path) -> None:
    names = {
        node.name
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.ClassDef | ast.FunctionDef)
    }
    assert {"Model", "get_inputs", "get_init_inputs"} <= names


@pytest.mark.parametrize("one", CUDA, ids=lambda one: one.name)
def test_a_plan_fits_its_task_unless_it_is_meant_not_to(one: CorpusCase) -> None:
    task = task_of(one)
    try:
        plan = parse_launch_plan(one.source)
        plan.check_names(
            buffers=frozenset(buffer.name for buffer in task.buffers), shape=task.shape_names
        )
    except InputError:
        assert one.expect == ("compile_failed",)


def device_code(one: CorpusCase) -> str:
    """What NVRTC gets of a case: all of a .cu, the constant SOURCE of a Python candidate."""
    if one.dialect == "cuda":
        return one.source
    for node in ast.parse(one.source).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "SOURCE":
            return str(ast.literal_eval(node.value))
    raise AssertionError(f"{one.name} has no SOURCE")


@pytest.mark.nvrtc
def test_device_code_compiles_where_it_is_meant_to(tmp_path: Path) -> None:
    from profilers.compiling.compiler import CompileFailed, Compiler

    compiler = Compiler(cache_dir=tmp_path, processes=os.cpu_count() or 1)

    def log(one: CorpusCase) -> str | None:
        plan = parse_launch_plan(one.source) if one.dialect == "cuda" else None
        try:
            compiler.compile(device_code(one), kernel_macros(plan.space.default()) if plan else ())
        except CompileFailed as failed:
            return f"{failed} {failed.log}"
        return None

    meant_to = [
        one
        for one in ALL
        if "compile_failed" not in one.expect
        and (one.dialect == "cuda" or "compile_cuda(SOURCE" in one.source)
        and one.name != "kernelbench/fallback_broken_kernel"
    ]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        logs = dict(zip((one.name for one in meant_to), pool.map(log, meant_to), strict=True))
    compiler.close()
    assert {name: said for name, said in logs.items() if said} == {}
    assert len(logs) > 70


@pytest.mark.parametrize(
    "changes",
    [
        {"expect": ["refused", "measured"]},
        {"class": "honest", "expect": ["measured", "refused"]},
        {"class": "fault", "or_neutral": True},
        {"expect": ["wrong_result"], "refused_as": ["leak"]},
        {"hostile": True},
        {"file": "kernelbench/x.txt"},
        {"policy": {"weights": "sometimes"}},
        {"class": "bad_manners"},
    ],
)
def test_an_expectation_that_contradicts_itself_is_no_case(changes: dict[str, object]) -> None:
    with pytest.raises(ValueError):
        case(**changes)


def test_cases_are_chosen_by_dialect_name_and_class() -> None:
    assert chosen(ALL, dialect="cuda") == tuple(CUDA)
    assert [one.name for one in chosen(ALL, only=("side_stream_torch",))] == [
        "kernelbench/side_stream_torch"
    ]
    assert {one.dialect for one in chosen(ALL, only=("stale_memory",))} == {"cuda", "kernelbench"}
    assert {one.kind for one in chosen(ALL, kind="leak")} == {"leak"}
    assert not any(one.slow for one in chosen(ALL, slow=False))
    for wrong in ({"only": ("no_such",)}, {"kind": "kindness"}, {"dialect": "host"}):
        with pytest.raises(InputError):
            chosen(ALL, **wrong)  # type: ignore[arg-type]


# What is right


@pytest.mark.parametrize(
    ("one", "status", "options", "right"),
    [
        (case(), "wrong_result", {}, True),
        (case(), "timed_out", {}, False),
        (case(), "refused", {"cheat": "side_stream"}, True),
        (case(), "refused", {"cheat": "leak"}, False),
        (case(refused_as=["leak"]), "refused", {"cheat": "leak"}, True),
        (case(), "measured", {}, False),
        (case(or_neutral=True), "measured", {"speedup": NEUTRAL}, True),
        (case(or_neutral=True), "measured", {"speedup": 1.3}, False),
        (case(**{"class": "honest", "expect": ["measured"]}), "measured", {"speedup": 50}, True),
        (case(**{"class": "honest", "expect": ["measured"]}), "refused", {}, False),
        (
            case(**{"class": "honest", "expect": ["measured"], "max_speedup": 1.5}),
            "measured", {"speedup": 2.0}, False,
        ),
        (case(**{"class": "fault", "expect": ["timed_out"]}), "timed_out", {}, True),
        (case(**{"class": "fault", "expect": ["timed_out"]}), "runtime_error", {}, False),
        (case(**{"class": "fault", "expect": ["refused"]}), "refused", {"cheat": "leak"}, True),
    ],
)  # fmt: skip
def test_a_verdict_is_right_if_the_manifest_allows_it(
    one: CorpusCase, status: str, options: dict[str, Any], right: bool
) -> None:
    found = evaluation(Candidate(source="x"), status, **options)
    assert (JudgedCase.of(one, found, seconds=1).wrong is None) == right


def test_two_judges_share_the_groups() -> None:
    factories = Factory(), Factory()
    both = threading.Barrier(2, timeout=30)

    def of(factory: Factory) -> Any:
        def made(task: KernelTask, policy: Policy) -> Perfect:
            if not factory.made:
                both.wait()
            return factory(task, policy)

        return made

    kept: list[int] = []
    found = run(
        ALL, *map(of, factories), on_progress=silent, keep=lambda run: kept.append(len(run.results))
    )
    alone = run(ALL, Factory(), on_progress=silent)
    ends = [
        {one.case.name: (one.verdict, one.message) for one in each.results}
        for each in (found, alone)
    ]
    assert ends[0] == ends[1] and len(found.results) == len(ALL)
    assert all(factory.made for factory in factories) and not found.left
    assert all(each.closed for factory in factories for each in factory.made)
    assert kept == sorted(kept) and kept[-1] == len(found.results)


def test_a_skipped_case_is_not_wrong_and_a_world_error_is() -> None:
    assert JudgedCase(case=case(), verdict=None, message="no nvcc", skipped=True).wrong is None
    broken = JudgedCase(case=case(), verdict=None, message="no GPU").wrong
    assert broken is not None and "no GPU" in broken


# The runner


def test_one_evaluator_serves_all_cases_of_a_task_and_is_closed() -> None:
    factory = Factory()
    found = run(ALL, factory, on_progress=silent)
    assert len(found.results) == len(ALL) and not found.wrong
    assert len(factory.made) < len(grouped(ALL)) <= 30
    assert all(evaluator.closed for evaluator in factory.made)
    assert found.hardware == "a device of the mind" and found.isolation == "full"
    skipped = {result.case.name for result in found.results if result.skipped}
    assert skipped == {one.name for one in ALL if missing(one.needs)}


def test_a_refused_task_is_a_verdict_only_where_one_was_expected() -> None:
    def refuses(task: KernelTask, policy: Policy) -> Perfect:
        raise UnfairTask("no fair task")

    some = chosen(ALL, only=("degenerate_zeros", "honest_diagonal"))
    found = {one.case.task: one for one in run(some, refuses, on_progress=silent).results}
    assert found["constant"].verdict == "task_refused" and found["constant"].wrong is None
    assert found["diagonal"].verdict is None and found["diagonal"].wrong is not None


def test_another_refusal_by_the_factory_is_no_verdict_and_ends_the_run(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def refuses(task: KernelTask, policy: Policy) -> Perfect:
        raise InputError("no PyTorch")

    assert main(["--only", "degenerate_zeros", "honest_plain"], factory=refuses) == 2
    assert capsys.readouterr().err.count("no PyTorch") == 1


def test_without_a_gpu_the_command_says_so_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "gpu_problem", lambda device, torch=False: "no driver")
    assert main([]) == 2
    out, err = capsys.readouterr()
    assert not out and err.splitlines() == [
        "error: cases of dialect cuda cannot be judged here: no driver"
    ]


def test_a_reader_that_has_seen_enough_is_no_error() -> None:
    corpus = f"{sys.executable} -m experiments.benchmarks.corpus"
    line = f"{corpus} --list | head -1; echo ${{PIPESTATUS[0]}}"
    found = subprocess.run(["bash", "-c", line], cwd=ROOT, capture_output=True, text=True)
    assert found.stderr == "" and found.stdout.splitlines()[-1] == "0"


def test_a_run_that_is_interrupted_keeps_what_it_has(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupts(task: KernelTask, policy: Policy) -> Perfect:
        if task.name == "diagonal":
            raise KeyboardInterrupt
        return Perfect(task, {})

    target = tmp_path / "c.json"
    some = ["--only", "cuda/fault_trap", "honest_diagonal", "--json", str(target)]
    assert main(some, factory=interrupts) == 130
    assert f"{target} has what was judged before" in capsys.readouterr().err
    kept = json.loads(target.read_text())
    assert [entry["name"] for entry in kept["outcomes"]] == ["cuda/fault_trap"]
    assert kept["left"] == ["kernelbench/honest_diagonal"]
    assert [path.name for path in tmp_path.iterdir()] == ["c.json"]


def test_a_run_stops_before_the_case_that_is_after_its_deadline() -> None:
    some = chosen(ALL, only=("honest_plain", "honest_streams", "cuda/fault_trap"))
    answers = iter([False] * 4 + [True] * 99)
    found = run(some, Factory(), on_progress=silent, is_overdue=lambda: next(answers))
    assert len(found.results) == 2 and len(found.left) == 1 and not found.wrong


def test_cases_after_the_deadline_are_listed_and_results_are_merged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, two, both = (str(tmp_path / name) for name in ("one.json", "two.json", "both.json"))
    names = ["cuda/fault_trap", "honest_plain"]
    late = ["--only", *names, "--deadline", "0", "--json", one]
    assert main(late, factory=Factory()) == 1
    assert "left out: " in capsys.readouterr().out
    assert main(["--only", names[0], "--json", one], factory=Factory()) == 0
    wrong = Factory(kernelbench__honest_plain={"status": "timed_out"})
    assert main(["--only", names[1], "--json", two], factory=wrong) == 1
    assert main(["--merge", one, two, "--json", both, "--markdown", f"{both}.md"]) == 1
    table = json.loads(Path(both).read_text())
    assert (table["exhibits"], table["wrong"], table["left"]) == (2, 1, [])
    assert (
        "`python -m experiments.benchmarks.corpus --merge one.json two.json`"
        in Path(f"{both}.md").read_text()
    )
    assert main(["--only", names[1], "--json", two], factory=Factory()) == 0
    assert main(["--merge", both, two]) == 0, "the later file counts"
    assert "2 of 2 verdicts are right." in capsys.readouterr().out
    Path(two).write_text("{}")
    with pytest.raises(InputError, match="holds no run"):
        merged([Path(two)], ALL)


def test_a_study_is_the_same_after_it_was_written_and_read(tmp_path: Path) -> None:
    found = run(ALL, Factory(), on_progress=silent)
    (tmp_path / "c.json").write_text(json.dumps(as_json(found)))
    again = merged([tmp_path / "c.json"], ALL)
    assert as_json(again)["outcomes"] == sorted(
        as_json(found)["outcomes"],
        key=lambda entry: [one.name for one in ALL].index(entry["name"]),
    )
    assert again.hardware == found.hardware and not again.left


def test_a_problem_of_the_corpus_is_the_task_that_a_user_would_get() -> None:
    one = next(one for one in KERNELBENCH if one.name == "kernelbench/honest_plain")
    path = PROBLEMS / f"{one.task}.py"
    assert task_of(one) == problem_task(read_text(path), path, Policy.model_validate(one.policy))


def test_a_world_that_breaks_for_one_case_does_not_stop_the_others() -> None:
    factory = Factory(kernelbench__honest_plain=WorldError("the GPU fell off the bus"))
    some = chosen(ALL, only=("honest_plain", "honest_streams"))
    found = run(some, factory, on_progress=silent)
    assert [(one.verdict, one.wrong is None) for one in found.results] == [
        (None, False), ("measured", True)
    ]  # fmt: skip


def test_a_judge_that_raises_gives_no_verdict() -> None:
    factory = Factory(kernelbench__honest_plain=TypeError("'bool' object is not iterable"))
    (found,) = run(chosen(ALL, only=("honest_plain",)), factory, on_progress=silent).results
    assert found.verdict is None and "the judge broke: TypeError" in found.message and found.wrong


def test_the_command_prints_a_table_writes_files_and_exits_1_if_a_verdict_is_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = ["--json", str(tmp_path / "c.json"), "--markdown", str(tmp_path / "c.md")]
    some = ["--only", "side_stream_torch", "honest_plain", "fault_python_loop", "fault_trap"]
    assert main([*some, *files], factory=Factory()) == 0
    out, err = capsys.readouterr()
    assert "| side_stream |  | 1/1 | 1 suspect |" in out
    assert "4 of 4 verdicts are right." in out
    assert "ok    kernelbench/side_stream_torch: suspect" in err
    text = (tmp_path / "c.md").read_text()
    assert "Hardware: a device of the mind. Isolation: full." in text
    assert "`python -m experiments.benchmarks.corpus --only side_stream_torch" in text
    assert "| `fault_trap` | fault | runtime error |" in text

    got_through = Factory(kernelbench__side_stream_torch={"status": "measured", "speedup": 9.0})
    assert main([*some, *files], factory=got_through) == 1
    out = capsys.readouterr().out
    assert "wrong: kernelbench/side_stream_torch: measured, 9.00x: it got through" in out
    written = json.loads((tmp_path / "c.json").read_text())
    assert written["wrong"] == 1 and written["exhibits"] == 4
    assert "**measured, 9.00x**" in (tmp_path / "c.md").read_text()


def test_the_command_lists_without_judging_and_refuses_unknown_names(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["--list", "--class", "lazy_output"], factory=Factory()) == 0
    assert capsys.readouterr().out.count("kernelbench/lazy_") == 5
    assert main(["--only", "no_such_thing"], factory=Factory()) == 2
    assert "no_such_thing" in capsys.readouterr().err


def test_a_hostile_run_cycles_through_both_dialects_with_candidates_of_their_own(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    factory = Factory()
    found = run_stress(ALL, factory, count=45, device=0, on_progress=silent)
    assert len(found.results) == 45 and not found.wrong and not found.left
    assert {evaluator.task.dialect for evaluator in factory.made} == {"cuda", "kernelbench"}
    judged = [seen for evaluator in factory.made for seen in evaluator.seen]
    assert len(set(judged)) == 45
    assert sum(found.verdicts.values()) == 45 and found.per_hour > 0

    target, page = tmp_path / "hostile.json", tmp_path / "hostile.md"
    wrong = Factory(cuda__fault_trap={"status": "measured"})
    files = ["--json", str(target), "--markdown", str(page)]
    assert main(["--hostile", "40", *files], factory=wrong) == 1
    text = page.read_text()
    assert (
        "`python -m experiments.benchmarks.corpus --hostile 40`" in text
        and "cuda/fault_trap" in text
    )
    assert "Hardware: a device of the mind." in text
    assert "40 hostile candidates in a row" in capsys.readouterr().out
    assert set(json.loads(target.read_text())["wrong"]) == {"cuda/fault_trap"}


def test_a_process_that_was_left_behind_is_seen() -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        assert child.pid in descendants()
    finally:
        child.communicate()
    assert child.pid not in descendants()


def test_there_is_something_to_leak_while_cases_run_and_nothing_afterwards() -> None:
    with planted_secrets():
        assert os.environ[SECRET_VARIABLE] == "canary"
    assert SECRET_VARIABLE not in os.environ


def test_tables_hold_every_case_once() -> None:
    found = run(ALL, Factory(), on_progress=silent)
    text = tables.as_markdown(found, command="python -m experiments.benchmarks.corpus")
    for one in ALL:
        row = f"| `{one.name.partition('/')[2]}` | {one.kind} |"
        assert row in text
    assert len(as_json(found)["outcomes"]) == len(ALL)


# Candidates that need no GPU, run on the processor


SMALL = {
    "batch_size": 48, "in_features": 64, "out_features": 32, "features": 64, "hidden": 96,
    "depth": 4, "height": 6, "width": 5, "size": 33, "rows": 24, "columns": 40,
}  # fmt: skip
ON_PROCESSOR = [
    one
    for one in KERNELBENCH
    if one.kind == "honest"
    and not one.slow
    and not any(word in one.source for word in ("cuda", "triton"))
]


@pytest.mark.parametrize("one", ON_PROCESSOR, ids=lambda one: one.name)
def test_an_honest_candidate_gives_what_the_problem_gives(one: CorpusCase) -> None:
    torch = pytest.importorskip("torch")
    problem: dict[str, Any] = {"__name__": "problem"}
    exec((PROBLEMS / f"{one.task}.py").read_text(), problem)
    problem.update({name: value for name, value in SMALL.items() if name in problem})
    names: dict[str, Any] = {"__name__": "candidate"}
    exec(one.source, names)
    torch.manual_seed(0)
    reference = problem["Model"](*problem["get_init_inputs"]())
    candidate = names["ModelNew"](*problem["get_init_inputs"]())
    candidate.load_state_dict(reference.state_dict(), strict=False)
    for _ in range(2):
        inputs = problem["get_inputs"]()
        with torch.no_grad():
            expected, found = reference(*inputs), candidate(*inputs)
        ten_bits = one.policy.get("precision") == "tf32"
        rtol, atol = (2e-2, 5e-3) if ten_bits else (1e-4, 1e-5)
        assert torch.allclose(found, expected, rtol=rtol, atol=atol)
        assert found.shape == expected.shape
