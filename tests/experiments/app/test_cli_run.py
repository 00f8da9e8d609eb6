"""The main job through the command line, replaying a small recording."""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from experiments.app.messages import ticking
from experiments.cli.commands import judge
from mcts.domain import Candidate, Evaluation
from mcts.errors import InputError
from tests.support.commands import (
    completed,
    failed,
    json_of,
    optimize,
    optimized,
    optimized_json,
    refused,
    rooftree,
)

ROOT = Path(__file__).resolve().parents[3]
KEYS = {
    "task", "evaluator", "proposer", "hardware", "baseline_us", "best_us", "speedup",
    "speedup_low", "speedup_high", "evaluations", "unique", "failed", "stop_reason", "seconds",
    "run_dir", "unrecorded", "tree_digest", "confirmed", "searched_speedup", "detectable",
    "compared_by",
    "objective", "shapes", "regressions", "energy_mj", "energy_low_mj", "energy_high_mj",
    "baseline_energy_mj", "isolation", "notes", "refused", "over", "restarts", "cost_usd", "tokens",
    "gpu_s", "replies", "unpriced", "uncounted", "attributions", "stages_s",
}  # fmt: skip


def process(*words: object, cwd: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "experiments", *map(str, words)],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),  # nohup ignores it
    )


def test_a_run_ends_with_a_best_kernel_a_tree_and_a_report(
    toy_folder: Path, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    done = optimized(toy_folder, out, "--evaluations", 20, "--seed", 7)
    assert "evaluator replay" in done.output
    assert "Paper GPU (recorded" in done.output
    best = json.loads((out / "best" / "candidate.json").read_text())
    assert best["evaluation"]["status"] == "measured"
    assert "extern" in (out / "best" / "kernel.cu").read_text()
    assert (out / "tree.svg").exists() or (out / "tree.dot").exists()
    assert "Content-Security-Policy" in (out / "report.html").read_text()


def test_json_is_one_object_on_stdout_and_repeats_its_digest(
    toy_folder: Path, tmp_path: Path
) -> None:
    words = ("--evaluations", 15, "--seed", 3)
    one, other = (optimized_json(toy_folder, tmp_path / name, *words) for name in ("a", "b"))
    assert set(one) == KEYS
    assert one["tree_digest"] == other["tree_digest"]
    assert one["speedup_low"] <= one["speedup"] <= one["speedup_high"]


def test_a_shorter_run_resumed_equals_the_longer_one(toy_folder: Path, tmp_path: Path) -> None:
    whole = optimized_json(toy_folder, tmp_path / "w", "--evaluations", 18)
    optimized(toy_folder, tmp_path / "s", "--evaluations", 9)
    resumed = json_of("resume", tmp_path / "s", "--evaluations", 18)
    assert resumed["tree_digest"] == whole["tree_digest"]


def test_a_run_near_the_time_of_its_traffic_ends_and_a_resume_without_the_share_goes_on(
    tmp_path: Path,
) -> None:
    words = ("optimize", "transpose", "--evaluator", "replay", "--evaluations", 100, "--seed", 1)
    early = json_of(*words, "--stop-within", 0.2, "--out", tmp_path / "a")
    assert early["stop_reason"] == (
        "within 20 % of the time that moving inputs and outputs takes (--stop-within)"
    )
    assert early["evaluations"] < 50
    again = json_of("resume", tmp_path / "a")
    assert again["tree_digest"] == early["tree_digest"]
    longer = json_of("resume", tmp_path / "a", "--stop-within", 0)
    assert longer["stop_reason"] == "evaluations spent"
    whole = json_of(*words, "--out", tmp_path / "b")
    assert longer["tree_digest"] == whole["tree_digest"]


def test_a_resume_needs_nothing_but_the_run_folder_and_the_recording(
    toy_folder: Path, tmp_path: Path
) -> None:
    optimize(toy_folder, tmp_path / "run", "--evaluations", 5)
    (toy_folder / "kernel.cu").write_text("changed beyond recognition")
    completed("resume", tmp_path / "run", "--evaluations", 8)


def test_a_changed_recording_is_refused(toy_folder: Path, tmp_path: Path) -> None:
    optimize(toy_folder, tmp_path / "run", "--evaluations", 5)
    recording = toy_folder / "recordings" / "paper.json.gz"
    recording.write_bytes(recording.read_bytes() + b"x")
    refused(rooftree("resume", tmp_path / "run"), "has changed")


def test_a_recording_alone_is_a_task(toy_folder: Path, tmp_path: Path) -> None:
    recording = toy_folder / "recordings" / "paper.json.gz"
    completed("optimize", recording, "--out", tmp_path / "r", "--evaluations", 8)
    assert not (tmp_path / "r" / "task").exists()
    completed("resume", tmp_path / "r", "--evaluations", 9)


def test_an_input_error_during_a_run_says_how_to_resume(
    toy_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise InputError("set the environment variable SOME_API_KEY")

    monkeypatch.setattr("codegen.chat.client.LitellmClient.complete", refuse)
    monkeypatch.setenv("OPENAI_API_KEY", "a key")
    out = tmp_path / "run"
    failed(
        optimize(toy_folder, out, "--model", "openai/model"),
        f"SOME_API_KEY; mend that, then resume with: rooftree resume {out}",
    )


def test_run_folders_are_numbered_without_out(
    toy_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for number in (1, 2):
        found = json_of("optimize", toy_folder, "--evaluations", 3)
        assert found["run_dir"] == f"runs/toy-{number}"


def test_tree_and_report_read_a_finished_run(toy_folder: Path, tmp_path: Path) -> None:
    optimize(toy_folder, tmp_path / "run", "--evaluations", 6)
    target = tmp_path / "tree.dot"
    completed("tree", tmp_path / "run", "-o", target)
    assert target.read_text().startswith("digraph")
    completed("report", tmp_path / "run")
    refused(rooftree("tree", tmp_path / "run", "-o", tmp_path / "tree.bmp"), ".svg")


@pytest.mark.parametrize("exists", [False, True])
def test_a_run_that_fails_before_its_first_event_leaves_nothing_of_its_own(
    toy_folder: Path, tmp_path: Path, exists: bool
) -> None:
    out = tmp_path / "run"
    if exists:
        out.mkdir()
    done = optimize(toy_folder, out, "--objective", "energy")
    failed(done, "energy")
    assert "resume" not in done.stderr
    assert out.exists() == exists and not list(tmp_path.glob("run/*"))


def test_evaluate_announces_a_candidate_and_notes_missing_energy(
    toy_folder: Path,
) -> None:
    words = ("evaluate", toy_folder, "--evaluator", "replay", "--energy", "--json")
    done = completed(*words)
    assert done.stderr.splitlines() == ["judging baseline"]
    (row,) = json.loads(done.stdout)["candidates"]
    assert row["over"] == "baseline" and row["energy"] is None and row["notes"]


def test_a_long_message_stands_below_a_table_of_figures(
    toy_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    done = rooftree("evaluate", toy_folder, "--set", "BLOCK=512", "--evaluator", "replay")
    assert done.exit_code == 1
    lines = done.stdout.splitlines()
    assert " ".join(lines[1].split()) == "candidate status time, us speedup 95 % interval"
    assert lines[2].split() == ["BLOCK=512", "compile_failed"]
    assert lines[3:5] == ["BLOCK=512:", "  too many <registers>"]


def test_messages_are_wrapped_to_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    candidate = Candidate(source="x")
    found = Evaluation(
        candidate_id=candidate.id, status="compile_failed", message=f"{'word ' * 40}\n  at line 7"
    )
    monkeypatch.setenv("COLUMNS", "80")
    with contextlib.redirect_stdout(io.StringIO()) as out:
        judge._print_table([(f"{'deep/' * 30}kernel.cu", candidate, found)], baseline={})
    table, _, message = out.getvalue().partition("kernel.cu:\n")
    assert max(len(line) for line in table.splitlines()[:-1]) <= 80
    assert message.count("word") == 40
    assert all(line.startswith("  ") and len(line) <= 80 for line in message.splitlines())


def test_ticking_reports_until_the_work_ends() -> None:
    said: list[str] = []
    ticked = threading.Event()

    def say(text: str) -> None:
        said.append(text)
        if "so far" in text:
            ticked.set()

    with ticking("judging x", say, every_s=0.01) as go_on:
        assert said[0] == "judging x"
        assert ticked.wait(10)
        go_on("measuring")
        ticked.clear()
        assert ticked.wait(10) and ticked.clear() is None and ticked.wait(10)
    assert said[1].startswith("judging x, 0 s so far")
    assert said[-1].startswith("measuring, ")
    assert "ticking" not in {thread.name for thread in threading.enumerate()}


def test_killed_and_resumed_equals_uninterrupted(toy_folder: Path, tmp_path: Path) -> None:
    words = ("--evaluator", "replay", "--evaluations", 30, "--seed", 5, "--json")
    whole = json.loads(optimize(toy_folder, tmp_path / "w", *words[2:]).stdout)
    run = tmp_path / "killed"
    child = process("optimize", toy_folder, *words, "--out", run, cwd=tmp_path)
    deadline = time.monotonic() + 20
    while not (run / "config.toml").exists() and time.monotonic() < deadline:
        time.sleep(0.005)
    time.sleep(0.05)
    child.kill()
    child.communicate()
    assert json_of("resume", run)["tree_digest"] == whole["tree_digest"]


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_run_says_how_to_go_on(
    toy_folder: Path, tmp_path: Path, sign: signal.Signals
) -> None:
    run = tmp_path / "stopped"
    words = ("--evaluator", "replay", "--evaluations", 100000, "--out", run)
    child = process("optimize", toy_folder, *words, cwd=tmp_path)
    assert child.stderr is not None
    for line in child.stderr:
        if "run folder" in line:
            break
    child.send_signal(sign)
    printed, errors = child.communicate(timeout=20)
    if child.returncode == 0:
        pytest.skip("the small space was searched before the signal came")
    assert child.returncode == 130
    assert f"resume with: rooftree resume {run}" in errors
    assert "Traceback" not in errors
    if "best kernel" in printed:  # the baseline was measured by then
        assert "stopped: interrupted" in printed
        assert (run / "report.html").is_file() and (run / "best" / "kernel.cu").is_file()
