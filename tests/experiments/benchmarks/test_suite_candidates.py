"""`evaluate --suite`: candidates of many problems, told by their names, judged, kept, counted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from experiments.benchmarks.suite.candidates import candidates_in
from experiments.cli.commands import judge_suite
from experiments.runs.options import names
from mcts.errors import InputError, WorldError
from profilers.kernelbench.judge.clients import OracleClient
from tests.support import suite_judge
from tests.support.commands import failed, rooftree
from tests.support.suite_world import make_level

PROBLEMS = {
    "1_Product.py": suite_judge.FAIR,
    "2_Constant.py": suite_judge.CONSTANT,
    "3_Product.py": suite_judge.FAIR.replace("32, 64", "16, 64"),
}


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    ours = names.OURS[names.EVALUATORS]
    table = {**ours, "numpy": "tests.support.suite_judge:evaluator"}
    monkeypatch.setitem(names.OURS, names.EVALUATORS, table)  # type: ignore[arg-type]
    monkeypatch.chdir(tmp_path)
    return make_level(tmp_path / "kb", PROBLEMS)


def folder(name: str, files: dict[str, str]) -> Path:
    for path, text in files.items():
        file = Path(name, path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return Path(name)


def test_a_candidate_is_for_the_problem_that_its_name_says(root: Path) -> None:
    mine = folder(
        "mine",
        {
            "level1_1.py": "", "level1_1_b.cu": "", "level_1_problem_2_sample_0_kernel.py": "",
            "level1/3_other.py": "", "level1_1.txt": "", "notes.py": "", "sub/1_a.py": "",
        },
    )  # fmt: skip
    checkout = candidates_in(mine, root)
    named = {problem.key: [path.name for path in files] for problem, files in checkout.items()}
    assert named == {
        "level1_1": ["level1_1.py", "level1_1_b.cu", "1_a.py"],
        "level1_2": ["level_1_problem_2_sample_0_kernel.py"],
        "level1_3": ["3_other.py"],
    }
    (level,) = root.rglob("level1")
    assert [len(files) for files in candidates_in(mine, level).values()] == [3, 1, 1]


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"level1_9.py": ""}, "is for problem 9 of level 1: .* has none"),
        ({"notes.py": ""}, "holds no candidate: their files are called level1_19.py"),
    ],
)
def test_what_is_for_no_problem_is_told(root: Path, files: dict[str, str], said: str) -> None:
    with pytest.raises(InputError, match=said):
        candidates_in(folder("mine", files), root)
    with pytest.raises(InputError, match="nowhere does not exist"):
        candidates_in(Path("nowhere"), root)
    with pytest.raises(InputError, match="is a file: with --suite, give a KernelBench"):
        candidates_in(Path("mine"), next(root.rglob("*.py")))
    with pytest.raises(InputError, match="no KernelBench checkout"):
        candidates_in(Path("mine"), Path("mine"))


def judge(root: Path, *words: object) -> tuple[int, str]:
    done = rooftree("evaluate", root, "--suite", "mine", "--evaluator", "numpy", *words)
    return done.exit_code, done.output


def test_a_folder_is_judged_kept_and_counted(root: Path) -> None:
    fast, wrong = suite_judge.FAST, suite_judge.WRONG
    folder(
        "mine",
        {"level1_1.py": fast, "level1_1_b.py": wrong, "level1_2.py": fast, "level1_3.py": wrong},
    )
    code, told = judge(root, "--results", "kept.jsonl")
    assert code == 1, "one was not measured"
    assert "level1_2, 2 of 3: 2_Constant" in told
    assert "unfair" in told and "wrong_result" in told
    assert told.index("level1_2 is not judged: ") < told.index("level1_3, 3 of 3")
    assert "2 problems, 1 with a right candidate; fast_0 50%, fast_1 50%" in told
    assert "geometric mean over eager PyTorch: " in told
    lines = Path("kept.jsonl").read_text().splitlines()
    assert len(lines) == 3, "what the gate refuses has no verdict"
    begun = lines[0].replace('"measured"', '"timed_out"')
    Path("kept.jsonl").write_text("\n".join([begun, lines[1], lines[2][:40]]))
    code, again = judge(root, "--results", "kept.jsonl", "--json")
    document = json.loads(again[again.index('{"root"') :].splitlines()[0])
    statuses = [row["status"] for row in document["candidates"]]
    assert statuses == ["timed_out", "wrong_result", "unfair", "wrong_result"], "the first was kept"
    assert document["scores"]["problems"] == 2
    assert len(Path("kept.jsonl").read_text().splitlines()) == 3
    Path("kept.jsonl").write_text("\n".join(lines[:2]))
    for _ in range(2):  # the line without an end is judged again, and its successor is one
        code, told = judge(root, "--results", "kept.jsonl")
        assert code == 1 and len(Path("kept.jsonl").read_text().splitlines()) == 3


@pytest.mark.parametrize("content", [b"my notes\nline two, without an end", b"\xff\xfe", b"{}"])
def test_a_file_of_something_else_stays_as_it_is(root: Path, content: bytes) -> None:
    folder("mine", {"level1_1.py": suite_judge.FAST})
    Path("notes").write_bytes(content)
    code, told = judge(root, "--results", "notes")
    assert code == 2 and "no verdict of this command" in told
    assert Path("notes").read_bytes() == content


def test_a_verdict_that_cannot_be_kept_ends_it(root: Path) -> None:
    folder("mine", {"level1_1.py": suite_judge.FAST})
    code, told = judge(root, "--results", "none/kept.jsonl")
    assert code == WorldError.exit_code and "none/kept.jsonl cannot be written" in told


@pytest.mark.parametrize("kept", [True, False])
def test_an_interruption_says_how_to_go_on(
    root: Path, kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It comes while the reference draws inputs, whose process ends with it."""
    folder("mine", {"level1_1.py": suite_judge.FAST, "level1_3.py": suite_judge.FAST})
    opened = iter((False, True))
    draws = []

    def start(client: OracleClient, *given: Any, **named: Any) -> dict[str, Any]:
        draws.append(next(opened))
        return original_start(client, *given, **named)

    def ask(client: OracleClient, op: str, **named: Any) -> dict[str, Any]:
        if op == "draw_calls" and draws[-1]:
            client._child.kill()
            raise KeyboardInterrupt
        return original_ask(client, op, **named)

    original_start, original_ask = OracleClient.start, OracleClient.ask
    monkeypatch.setattr(OracleClient, "start", start)
    monkeypatch.setattr(OracleClient, "ask", ask)
    code, told = judge(root, *(("--results", "kept.jsonl") if kept else ()))
    assert code == 130
    said = "kept.jsonl has 1 verdict; the same command goes on" if kept else "with --results FILE"
    assert f"interrupted: {said}" in told
    assert "error" not in told


def test_one_folder_against_another(root: Path) -> None:
    slow = suite_judge.CANDIDATE.format(body="time.sleep(0.004); return x @ self.weight")
    folder("mine", {"level1_1.py": suite_judge.FAST, "level1_3.py": suite_judge.FAST})
    folder("theirs", {"level1_1.py": slow, "level1_2.py": slow})
    code, told = judge(root, "--against", "theirs", "--json")
    assert code == 0 and "left out: level1_3, for which theirs has no candidate" in told
    document = json.loads(told[told.index('{"root"') :].splitlines()[0])
    (row,) = document["candidates"]
    assert 1.3 < row["speedup"] < 3 and row["over"] == "theirs/level1_1.py"
    folder("theirs", {"level1_1_again.py": slow})
    failed(
        rooftree("evaluate", root, "--suite", "mine", "--against", "theirs"),
        "--against has level1_1.py and level1_1_again.py for level1_1: leave one",
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--suite", "mine", "--energy"), "--suite takes no files"),
        (("--suite", "mine", "--evaluator", "replay"), "--suite is judged on a GPU"),
        (("--suite", "mine", "--results", "bad"), "bad, line 1: no verdict of this command"),
        (("--results", "r.jsonl"), "--results does nothing without --suite"),
        (("--suite", "mine", "--evaluator", "gpu"), "--suite is judged on a GPU: there is none"),
        (
            ("--suite", "mine", "--against", "mine", "--baseline", "compile"),
            "--against is a baseline of its own",
        ),
    ],
)
def test_what_does_not_go_with_a_suite_is_refused(
    root: Path, words: tuple[str, ...], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judge_suite, "gpu_problem", lambda _device, torch: "there is none")
    folder("mine", {"level1_1.py": suite_judge.FAST})
    Path("bad").write_text("not one\nof ours\n")
    failed(rooftree("evaluate", root, *words), said)
