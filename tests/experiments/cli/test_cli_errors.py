"""Bad input: one line that says what is wrong and what to do, exit code 2, nothing lost."""

from __future__ import annotations

import errno
import sqlite3
from pathlib import Path

import pytest

from experiments.runs.folders.journal import SqliteJournal
from experiments.runs.options.option_conflicts import check_evaluator
from experiments.runs.tasks.files import find_task
from mcts.errors import WorldError
from mcts.options import JudgingOptions
from tests.support.commands import completed, failed, optimize, refused, rooftree


def test_an_unknown_task_is_answered_with_the_closest_name() -> None:
    refused(rooftree("optimize", "row_sofmax"), "row_sofmax", "did you mean row_softmax")


def test_a_truncated_recording_is_named(toy_folder: Path) -> None:
    recording = toy_folder / "recordings" / "paper.json.gz"
    recording.write_bytes(recording.read_bytes()[:200])
    refused(rooftree("optimize", toy_folder, "--evaluator", "replay"), "paper.json.gz")


def test_an_unknown_buffer_in_the_plan_is_named(toy_folder: Path) -> None:
    kernel = toy_folder / "kernel.cu"
    kernel.write_text(kernel.read_text().replace('"x", "y", "n"', '"x", "z", "n"'))
    refused(rooftree("optimize", toy_folder), "kernel.cu", "unknown buffer 'z'")


def test_a_wrong_field_of_the_task_is_named(toy_folder: Path) -> None:
    file = toy_folder / "task.toml"
    file.write_text(file.read_text().replace('role = "output"', 'role = "outptu"'))
    refused(rooftree("optimize", toy_folder), "task.toml", 'buffer y: role = "outptu"')


def test_a_reference_that_is_not_python_is_named(toy_folder: Path) -> None:
    (toy_folder / "reference.py").write_text("def reference(x:\n")
    refused(rooftree("optimize", toy_folder), "reference.py", "line 1")


@pytest.mark.parametrize(
    ("setting", "part"),
    [("BLOCK=96", "out of range"), ("WARP=1", "unknown tunable"), ("BLOCK", "NAME=VALUE")],
)
def test_a_tunable_out_of_range_is_refused(toy_folder: Path, setting: str, part: str) -> None:
    refused(rooftree("evaluate", toy_folder, "--set", setting, "--evaluator", "replay"), part)


def test_no_gpu_is_said_before_anything_is_made(toy_folder: Path, tmp_path: Path) -> None:
    from experiments.runs.machines.machine import gpu_names

    if gpu_names():
        pytest.skip("this machine has a GPU")
    out = tmp_path / "run"
    refused(rooftree("optimize", toy_folder, "--evaluator", "gpu", "--out", out), "GPU")
    assert not out.exists()


def test_unknown_parts_are_answered_with_the_known_ones(toy_folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    refused(rooftree("optimize", toy_folder, "--evaluator", "repaly"), "did you mean replay")
    done = rooftree(
        "optimize", toy_folder, "--evaluator", "replay", "--proposer", "oracle", "--out", out
    )
    refused(done, "unknown proposer 'oracle'", "scripted")
    assert not out.exists()


@pytest.mark.parametrize(
    ("file", "right", "wrong", "parts"),
    [
        ("kernel.cu", "ceil_div(n, BLOCK)", "ceil_dvi(n, BLOCK)", ("kernel.cu", "scale", "main")),
        ("kernel.cu", 'block = ["BLOCK"]', 'block = ["BLOCK - 64"]', ("kernel.cu", "not positive")),
        ("task.toml", "n = 4096", "n = -4096", ("task.toml", "workload main", "buffer 'x'")),
        ("task.toml", "[[workload]]", '[cost]\nbytes = "8 * m"\nflops = 1\n[[workload]]',
         ("task.toml", "cost.bytes", "'m'")),
    ],
)  # fmt: skip
def test_an_invalid_size_is_named_before_anything_runs(
    toy_folder: Path, file: str, right: str, wrong: str, parts: tuple[str, ...]
) -> None:
    text = (toy_folder / file).read_text()
    assert right in text
    (toy_folder / file).write_text(text.replace(right, wrong))
    refused(rooftree("optimize", toy_folder), *parts)


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("--evaluator", "replay", "--baseline", "compile"), "--baseline compile"),
        (("--evaluator", "gpu", "--baseline", "compile"), "--baseline compile"),
        (("--evaluator", "replay", "--ungated"), "--ungated"),
        (("--evaluator", "replay", "--unsafe"), "--unsafe"),
        (("--evaluator", "replay:foo"), "replay takes no argument"),
        (("--evaluator", "gpu:foo"), "gpu takes no argument"),
        (("--evaluator", "gpu", "--recording", "a.json"), "--recording"),
        (("--evaluator", "replay", "--device", 3), "--device is for live measurements"),
        (("--evaluator", "dask:foo", "--device", 3), "--device is for --evaluator gpu"),
    ],
)
@pytest.mark.parametrize("command", ["optimize", "evaluate"])
def test_an_option_that_the_evaluator_ignores_is_refused(
    toy_folder: Path, command: str, words: tuple[str, ...], part: str
) -> None:
    refused(rooftree(command, toy_folder, *words), part)


def test_the_default_of_such_an_option_is_no_conflict(toy_folder: Path) -> None:
    named = JudgingOptions(evaluator="replay", device=0, unsafe=False, baseline="eager")
    check_evaluator(find_task(str(toy_folder)).task, named)


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (("leaps=0", "expected_improvement=1"), ("leaps", "expected_improvement")),
        (("beam", "width=2.5"), ("width is a whole number, not 2.5",)),
        (("calibrated_reward=2",), ("calibrated_reward is 0 or 1, not 2",)),
        (("repair_at_once=0.5",), ("repair_at_once is 0 or 1, not 0.5",)),
    ],
)
def test_a_constant_of_a_search_is_of_its_type_and_has_one_name(
    toy_folder: Path, tmp_path: Path, words: tuple[str, ...], parts: tuple[str, ...]
) -> None:
    given = [word for constant in words for word in ("--search", constant)]
    refused(optimize(toy_folder, tmp_path / "run", *given), *parts)
    assert not (tmp_path / "run").exists()


def test_wait_is_refused_without_remote_workers(toy_folder: Path) -> None:
    done = rooftree("optimize", toy_folder, "--evaluator", "replay", "--wait", 5)
    refused(done, "--wait is for --evaluator dask:")


def test_a_search_stops_waiting_for_a_first_worker_when_told_to(
    toy_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float | None] = []

    def waiting(*_: object, wait_s: float | None, **__: object) -> None:
        waits.append(wait_s)
        raise WorldError("no worker came")

    monkeypatch.setattr("experiments.cluster.connecting.connected", lambda _where: object())
    monkeypatch.setattr("experiments.cluster.evaluator.ClusterEvaluator", waiting)
    words = ("optimize", toy_folder, "--evaluator", "dask:tcp://node:8786")
    assert "no worker came" in rooftree(*words, "--wait", 1.5).stderr
    rooftree(*words)
    assert waits == [90, None]


def test_a_task_that_looks_like_a_path_is_said_not_to_exist() -> None:
    for given in ("some/folder", "problem.py", "tape.json", "tape.json.gz"):
        refused(rooftree("optimize", given), f"{given} does not exist")
    done = rooftree("optimize", "softly")
    refused(done, "bundled tasks are")
    assert "did you mean" not in done.stderr


def test_python_is_no_candidate_of_a_cuda_task(toy_folder: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine.py"
    refused(rooftree("evaluate", toy_folder, mine, "--evaluator", "gpu"), "mine.py", ".cu")


@pytest.mark.parametrize("command", ["evaluate", "optimize"])
def test_help_is_whole_on_a_narrow_terminal(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    text = rooftree(command, "--help").stdout
    assert "…" not in text
    words = " ".join(text.replace("│", " ").split())
    for policy in ("precision: task or tf32", "inputs: sound or drawn."):
        assert policy in words


def test_what_the_file_system_refuses_is_one_line(toy_folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    refused(
        rooftree("optimize", toy_folder, "--evaluator", "replay", "--out", file / "run"), "file"
    )
    refused(rooftree("new", file / "task"), "file")
    refused(rooftree("optimize", "x" * 5000), "too long")
    refused(rooftree("report", file), "is a file")


def test_a_run_folder_that_cannot_be_written_is_removed(
    toy_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", str(tmp_path / "run"))

    monkeypatch.setattr("experiments.runs.folders.folder.write_config", full)
    done = rooftree("optimize", toy_folder, "--evaluator", "replay", "--out", tmp_path / "run")
    refused(done, "No space left on device")
    assert not (tmp_path / "run").exists()


def test_a_damaged_event_is_named(toy_folder: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    rooftree("optimize", toy_folder, "--evaluator", "replay", "--evaluations", 3, "--out", run)
    for payload in ("[]", "{}", "{"):
        with sqlite3.connect(run / "run.sqlite") as connection:
            connection.execute("UPDATE event SET payload = ? WHERE seq = 1", (payload,))
        connection.close()
        refused(
            rooftree("tree", run), f"{run}/run.sqlite is damaged (event 1 (started) was changed"
        )


def test_an_unknown_constant_of_the_search_is_refused(toy_folder: Path) -> None:
    refused(rooftree("optimize", toy_folder, "--search", "greed=1"), "greed")
    refused(rooftree("optimize", toy_folder, "--search", "exploration"), "unknown search")
    refused(rooftree("optimize", toy_folder, "--search", "exploration=nan"), "NAME=NUMBER")


def test_a_folder_that_is_not_empty_is_refused(toy_folder: Path) -> None:
    refused(rooftree("optimize", toy_folder, "--out", toy_folder), "not empty")


def test_a_run_of_a_newer_version_is_refused(toy_folder: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    rooftree("optimize", toy_folder, "--evaluations", 2, "--out", run)
    with sqlite3.connect(run / "run.sqlite") as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    refused(rooftree("resume", run), "newer Rooftree")
    refused(rooftree("tree", run), "newer Rooftree")


def test_a_run_in_use_cannot_be_resumed_but_can_be_drawn(toy_folder: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    rooftree("optimize", toy_folder, "--evaluations", 4, "--out", run)
    with SqliteJournal(run / "run.sqlite"):
        refused(rooftree("resume", run), "in use by another rooftree process")
        completed("tree", run, "-o", tmp_path / "live.dot")


def test_a_replay_refuses_other_source(toy_folder: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine.cu"
    mine.write_text((toy_folder / "kernel.cu").read_text().replace("2 * x", "x[i] + x"))
    done = rooftree("evaluate", toy_folder, mine, "--evaluator", "replay")
    failed(done, "--evaluator gpu")
    assert done.stderr.splitlines()[:-1] == [f"judging {mine}"]


def test_debug_lets_the_error_through() -> None:
    done = rooftree("--debug", "optimize", "nothing_of_the_kind")
    assert done.exit_code == 1
    assert done.exception is not None


def test_another_baseline_is_measured_not_replayed(toy_folder: Path, tmp_path: Path) -> None:
    words = ("evaluate", toy_folder, "--against", toy_folder / "kernel.cu")
    refused(rooftree(*words, "--evaluator", "replay"), "--against is measured")
    refused(rooftree(*words, "--baseline", "compile"), "--against is a baseline of its own")
    refused(rooftree("evaluate", toy_folder, "--against", tmp_path / "none.cu"), "none.cu")
