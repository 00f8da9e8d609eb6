"""Training sets of a toy's runs: what is in them, and what is refused."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from experiments.training.collecting import read_judged
from experiments.training.exporting import read_set
from experiments.training.families import FAMILIES, family_of, held_out
from mcts.errors import InputError
from tests.experiments.benchmarks import test_one_step
from tests.experiments.conftest import make_task
from tests.support import formula_gpu
from tests.support.commands import completed, failed, rooftree
from tests.support.file_answers import answer_all
from tests.support.openai_server import AutoModel

datasets = pytest.importorskip("datasets")

STUDY = """
kind = "model"
tasks = ["toy"]
trials = 4
reference = "tree"
evaluator = "formula-gpu"
finalists = 1

[model]
name = "queue/person"

[arms.tree]
settings = { far_proposals = 2 }

[arms.greedy]
search = "greedy"
"""


@pytest.fixture
def study(toy_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a study whose runs have ended."""
    formula_gpu.install(monkeypatch)
    monkeypatch.chdir(tmp_path)
    Path("search.toml").write_text(STUDY)
    return take(Path("search.toml"), Path("st"))


def take(file: Path, folder: Path) -> Path:
    """Run a study until it has ended, in `folder`."""
    words = ("study", file, "-o", folder, "--llm-queue", "queue", "--llm-timeout", 0.1)
    while "wait for an answer" in completed(*words).output:
        assert answer_all(Path("queue"), AutoModel())
    return folder


def test_every_reply_is_exported_with_its_prompt_and_verdict(study: Path) -> None:
    told = completed("dataset", "export", study, "-o", "ds", "--test-share", 0).output
    assert "written: ds" in told
    rows = read_set(Path("ds"), "replies", "train")
    replies = {path.read_text() for path in Path("queue").glob("*.reply.md")}
    questions = [path.read_text() for path in Path("queue").glob("*.prompt.md")]
    assert rows and {row["reply"] for row in rows} <= replies
    for row in rows:
        assert row["verdict"] == "measured" and row["hardware"] == "Formula GPU"
        assert row["speedup_low"] < row["speedup"] < row["speedup_high"]
        assert [message["role"] for message in row["prompt"]] == ["system", "user"]
        assert any(row["prompt"][1]["content"].strip() in question for question in questions)
    assert len({row["id"] for row in rows}) == len(rows), "each reply once, though two arms had it"


def test_sets_are_what_trainers_read(study: Path) -> None:
    completed("dataset", "export", study, "-o", "ds", "--test-share", 0, "--license", "Ours.")
    sets = {name: read_set(Path("ds"), name, "train") for name in ("supervised", "preferences")}
    assert sets["supervised"]
    for row in sets["supervised"]:
        assert row["completion"][0]["role"] == "assistant"
    loaded = datasets.load_dataset("ds", "supervised", cache_dir="cache", split="train")
    assert len(loaded) == len(sets["supervised"])
    card = Path("ds/README.md").read_text()
    assert "Ours." in card and "Formula GPU" in card and "| toy |" not in card
    told = json.loads(completed("dataset", "show", "ds", "--json").stdout)
    assert told["supervised"] == {"train": len(sets["supervised"]), "test": 0}


def test_a_tape_answers_for_runs_and_has_no_verdict_of_its_own(study: Path) -> None:
    with sqlite3.connect(study / "answers.sqlite") as answers:
        rows = answers.execute("SELECT request, reply FROM answer").fetchall()
        answers.execute("DELETE FROM answer")
    tape = Path("tape.jsonl")
    lines = [json.dumps({"request": json.loads(q), "reply": json.loads(a)}) for q, a in rows]
    tape.write_text("\n".join([*lines, lines[0][:40]]))  # the last line was cut off by a kill
    assert read_judged([study, tape]).replies
    failed(rooftree("dataset", "export", study, "-o", "ds"), "its answer is not kept with the run")
    failed(rooftree("dataset", "export", tape, "-o", "ds"), "holds no verdicts")
    tape.write_text("nonsense\n")
    failed(rooftree("dataset", "export", study, tape, "-o", "ds"), "is no recorded answer")


def test_what_looks_like_a_key_does_not_leave(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replies = read_judged([study]).replies
    monkeypatch.setenv("SOME_API_KEY", max(replies[0].reply.split(), key=len))
    told = rooftree("dataset", "export", study, "-o", "ds")
    failed(told, f"holds what looks like a key: {len(replies)}")


def test_answers_are_found_from_any_folder_of_a_study(study: Path) -> None:
    whole = {reply.candidate for reply in read_judged([study]).replies}
    assert whole
    for given in (study / "runs", Path("st/runs/tree/toy-0"), Path.cwd()):
        found = read_judged([given])
        assert found.replies and {reply.candidate for reply in found.replies} <= whole
        assert "its answer is not kept with the run" not in found.left_out


def test_a_run_that_has_just_begun_is_left_out_and_counted(study: Path) -> None:
    begun = Path("st/runs/greedy/toy-0/run.sqlite")
    with sqlite3.connect(begun) as journal:
        journal.execute("DELETE FROM event WHERE seq > 1")
    found = read_judged([study])
    assert found.replies and found.left_out["run without a measured baseline"] == 1


def test_an_export_that_was_interrupted_is_made_again(study: Path) -> None:
    completed("dataset", "export", study, "-o", "ds")
    Path("ds/export.json").write_text('{"format": null}\n')
    failed(rooftree("dataset", "show", "ds"), "is not whole")
    completed("dataset", "export", study, "-o", "ds")
    completed("dataset", "show", "ds")


def test_damage_is_told(study: Path) -> None:
    completed("dataset", "export", study, "-o", "ds", "--test-share", 0)
    file = Path("ds/replies/train.parquet")
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])
    failed(rooftree("dataset", "show", "ds"), "was cut off or changed")
    Path("other").mkdir()
    Path("other/thing").write_text("x")
    failed(rooftree("dataset", "export", study, "-o", "other"), "holds something else")
    failed(rooftree("dataset", "show", "other"), "is no export")
    failed(rooftree("dataset", "export", "other", "-o", "new"), "neither a run, a study, nor")


def test_a_row_without_a_verdict_is_refused(study: Path) -> None:
    import hashlib

    completed("dataset", "export", study, "-o", "ds", "--test-share", 0)
    file, facts = Path("ds/replies/train.parquet"), Path("ds/export.json")
    rows: list[dict[str, Any]] = list(datasets.Dataset.from_parquet(str(file)))
    datasets.Dataset.from_list([{**row, "verdict": None} for row in rows]).to_parquet(str(file))
    known = json.loads(facts.read_text())
    known["sha256"]["replies/train.parquet"] = hashlib.sha256(file.read_bytes()).hexdigest()
    facts.write_text(json.dumps(known))
    with pytest.raises(InputError, match="row 0 has no verdict"):
        read_set(Path("ds"), "replies", "train")


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("row_softmax", "softmax"),
        ("gemm_fp32", "product"),
        ("conv2d", "convolution"),
        ("transpose", "layout"),
        ("gelu", "elementwise"),
        ("prefix_sum", "scan"),
        ("comment", "elementwise"),
    ],
)
def test_families_go_by_name_where_there_is_no_model(name: str, family: str) -> None:
    assert family_of(make_task(name)) == family


def test_families_are_held_out_whole() -> None:
    rows = dict.fromkeys(FAMILIES, 10)
    for seed in range(20):
        test = held_out(rows, share=0.2, seed=seed)
        assert len(test) == 3 and test < set(FAMILIES), "a quarter of 12 at most"
    assert held_out(rows, share=0, seed=1) == frozenset()
    assert held_out({"product": 90, "scan": 10}, share=0.01, seed=1) == {"scan"}
    assert held_out({"product": 5}, share=0.9, seed=1) == frozenset()


STEPS = test_one_step.STUDY.replace("reply_repairs = 0\n", "")


@pytest.fixture
def steps(toy_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of a one-step study, beside the run that has its parents."""
    formula_gpu.install(monkeypatch)
    monkeypatch.chdir(tmp_path)
    completed(
        "optimize", toy_folder, "--evaluator", "formula-gpu", "--evaluations", 4,
        "--out", "run", "--memory", "off", "--finalists", 0,
    )  # fmt: skip
    Path("advice.toml").write_text(STEPS)
    return Path("advice.toml")


def test_the_replies_of_a_one_step_study_are_exported(steps: Path) -> None:
    folder = take(steps, Path("steps"))
    completed("dataset", "export", folder, "-o", "ds", "--test-share", 0)
    rows = read_set(Path("ds"), "replies", "train")
    lines = list(map(json.loads, (folder / "results.jsonl").read_text().splitlines()))
    assert {line["status"] for line in lines} == {"measured"}
    assert len(rows) == len(lines) > 4
    speedups = {(line["candidate"], line["speedup"], line["parent_speedup"]) for line in lines}
    for row in rows:
        assert row["hardware"] == "Formula GPU" and row["run"] == "steps"
        found = (row["candidate"], row["speedup"], row["parent_speedup"])
        assert any(found[1:] == pytest.approx(each[1:]) for each in speedups if each[0] == found[0])
    advised = sum("# Advice from the profile" in row["prompt"][1]["content"] for row in rows)
    assert advised == len(rows) / 2, "each arm has its own prompts"
    assert read_set(Path("ds"), "groups", "train")


def test_replies_timed_on_several_gpus_are_not_compared(steps: Path) -> None:
    steps.write_text(STEPS.replace("evaluator", "mixed_gpus = true\nevaluator"))
    completed("dataset", "export", take(steps, Path("steps")), "-o", "ds", "--test-share", 0)
    rows = read_set(Path("ds"), "supervised", "train")
    assert {row["hardware"] for row in rows} == {"several GPUs"}
    assert {row["parent_speedup"] for row in rows} == {None}
    for name in ("preferences", "groups", "contrastive"):
        assert read_set(Path("ds"), name, "train") == []


def test_a_study_without_its_measurements_is_refused(steps: Path) -> None:
    folder = take(steps, Path("steps"))
    for file in folder.glob("measurements.sqlite*"):
        file.unlink()
    why = "has no measurements.sqlite: give the folder that the study was run in"
    failed(rooftree("dataset", "export", folder, "-o", "ds"), why)
