"""`rooftree kernelbench run`: many problems, each to its outcome, whatever happens to one."""

from __future__ import annotations

import csv
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from experiments.benchmarks.suite.folder import SuiteFolder
from experiments.benchmarks.suite.outcome import Outcome, Spent
from experiments.benchmarks.suite.processes import SearchState
from experiments.benchmarks.suite.searching import finished
from experiments.cli.commands.kernelbench import cap_reached
from mcts.errors import InputError
from tests.support import suite_world as world
from tests.support.commands import completed, json_of, refused, rooftree
from tests.support.suite_world import make_level, problem_text, run_suite

ROOT = Path(__file__).resolve().parents[3]
PLUGINS = ("--evaluator", "paper", "--proposer", "canned")


@pytest.fixture(autouse=True)
def plugins(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    world.install(monkeypatch)
    monkeypatch.setenv("SUITE_LOG", str(tmp_path / "log"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    return make_level(
        tmp_path / "kb",
        {
            "1_Fast.py": problem_text("wrong", "2.0", "1.5"),
            "2_Slow.py": problem_text("0.6", "0.5"),
            "3_Never.py": problem_text("wrong"),
            "4_Constant.py": problem_text("9.0", also="unfair"),
            "5_Unreadable.py": "class Model(:",
            "10_Eager.py": problem_text("3.0", also="no compile"),
        },
    )


def run(root: Path, out: Path, *more: object) -> Result:
    return run_suite(root, out, "--budget", 4, *PLUGINS, *more)


def asked(tmp_path: Path) -> list[str]:
    path = tmp_path / "log"
    return path.read_text().splitlines() if path.exists() else []


def results(out: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((out / "results.json").read_text())
    return found


def status(out: Path) -> dict[int, str]:
    return {row["number"]: row["status"] for row in results(out)["problems"]}


def test_every_problem_comes_to_an_outcome_of_its_own(checkout: Path, tmp_path: Path) -> None:
    out = tmp_path / "suite"
    done = run(checkout, out)
    assert done.exit_code == 1, done.output  # one could not be read
    assert status(out) == {
        1: "correct", 2: "correct", 3: "failed", 4: "unfair", 5: "error", 10: "correct",
    }  # fmt: skip
    rows = {row["number"]: row for row in results(out)["problems"]}
    assert rows[1]["eager"]["speedup"] == pytest.approx(2.0 * world.CONFIRMED)
    assert rows[1]["compiled"]["speedup"] == pytest.approx(1.6 * world.CONFIRMED)
    assert rows[1]["compiled"]["over"] == "torch.compile"
    spent = rows[1]["spent"]
    assert (spent["evaluations"], spent["cost_usd"], spent["tokens"]) == (3, 0.03, 333)
    assert rows[2]["eager"]["speedup"] == pytest.approx(0.6 * world.CONFIRMED)
    assert rows[3]["message"] == "no candidate is correct: 1 wrong_result"
    assert "constant" in rows[4]["message"]
    assert "line 1" in rows[5]["message"]
    assert (rows[10]["compiled"], rows[10]["not_compiled"]) == (
        None, "torch.compile fails on the model",
    )  # fmt: skip


def test_the_table_says_what_is_counted_and_what_is_not(checkout: Path, tmp_path: Path) -> None:
    done = run(checkout, tmp_path / "suite")
    shown = done.stdout
    assert "1/1_Fast" in shown and "1.98x" in shown and "1.94 to 2.02" in shown
    assert "correct: 3 of 5 problems (60%)" in shown
    assert "refused by the task gate and not counted: 1 (1/4_Constant)" in shown
    assert "over torch.compile n/a: torch.compile fails on the model" in shown
    assert "$0.0700" in shown
    assert f"kernels: {tmp_path / 'suite' / 'kernels'}" in shown


def test_a_narrow_terminal_cuts_no_name_and_no_figure(checkout: Path, tmp_path: Path) -> None:
    run(checkout, tmp_path / "suite")
    done = completed("kernelbench", "report", tmp_path / "suite", columns=80)
    table = done.stdout.splitlines()[:7]
    assert " ".join(table[0].split()) == "problem status over eager 95 % interval over compile"
    assert " ".join(table[1].split()) == "1/1_Fast correct 1.98x 1.94 to 2.02 1.58x"
    assert "…" not in done.stdout
    names = [line.split()[0] for line in table[1:]]
    assert names[-2:] == ["1/5_Unreadable", "1/10_Eager"]
    assert max(map(len, table)) <= 80


def test_the_csv_has_a_row_for_each_problem(checkout: Path, tmp_path: Path) -> None:
    run(checkout, tmp_path / "suite")
    with (tmp_path / "suite" / "results.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["problem"] for row in rows] == [
        "1/1_Fast", "1/2_Slow", "1/3_Never", "1/4_Constant", "1/5_Unreadable", "1/10_Eager",
    ]  # fmt: skip
    assert float(rows[0]["speedup_eager"]) == pytest.approx(1.98)
    assert rows[2]["speedup_eager"] == ""
    assert rows[0]["kernel"] == "kernels/level1_1.py"


def test_the_best_kernels_are_exported_and_no_others(checkout: Path, tmp_path: Path) -> None:
    out = tmp_path / "suite"
    run(checkout, out)
    assert sorted(path.name for path in (out / "kernels").iterdir()) == [
        "level1_1.py", "level1_10.py", "level1_2.py",
    ]  # fmt: skip
    assert "# kind: 2.0" in (out / "kernels" / "level1_1.py").read_text()


def test_an_exported_kernel_needs_pytorch_alone(tmp_path: Path) -> None:
    root = make_level(
        tmp_path / "kb", {"1_A.py": problem_text("helper"), "2_B.py": problem_text("ours")}
    )
    out = tmp_path / "suite"
    done = run(root, out)
    helped, ours = results(out)["problems"]
    text = (out / helped["kernel"]).read_text()
    assert "from codegen" not in text and "def compile_cuda" in text
    assert (ours["status"], ours["kernel"]) == ("correct", "")
    assert ours["message"].startswith("not exported: line 3 imports profilers.cuda.evaluator")
    assert "1/2_B: not exported" in done.stdout


def test_a_kernel_that_fails_its_confirmation_is_not_correct(tmp_path: Path) -> None:
    root = make_level(
        tmp_path / "kb",
        {"1_A.py": problem_text("shaky"), "2_B.py": problem_text("shaky", "0.5")},
    )
    run(root, tmp_path / "suite")
    rows = results(tmp_path / "suite")["problems"]
    assert [row["status"] for row in rows] == ["failed", "correct"]
    assert rows[1]["eager"]["speedup"] == pytest.approx(0.5 * world.CONFIRMED)


def test_the_problems_own_model_is_no_kernel(tmp_path: Path) -> None:
    root = make_level(tmp_path / "kb", {"1_A.py": problem_text()})
    done = run(root, tmp_path / "suite")
    assert status(tmp_path / "suite") == {1: "failed"}
    assert "no candidate was proposed" in done.stdout


def test_a_second_call_asks_for_nothing_that_is_known(checkout: Path, tmp_path: Path) -> None:
    out = tmp_path / "suite"
    run(checkout, out)
    before, kept = asked(tmp_path), (out / "results.csv").read_text()
    done = run(checkout, out)
    assert asked(tmp_path) == before
    assert (out / "results.csv").read_text() == kept
    assert "1/1_Fast: done before" in done.stderr


def test_a_problem_that_ended_in_an_error_is_tried_again(checkout: Path, tmp_path: Path) -> None:
    out = tmp_path / "suite"
    run(checkout, out, "--problems", "1,5")
    assert status(out) == {1: "correct", 5: "error"}
    (checkout / "KernelBench/level1/5_Unreadable.py").write_text(problem_text("1.5"))
    done = run(checkout, out, "--problems", "5")
    assert done.exit_code == 0, done.output
    assert status(out) == {1: "correct", 5: "correct"}


def test_a_second_call_may_add_problems(checkout: Path, tmp_path: Path) -> None:
    out = tmp_path / "suite"
    run(checkout, out, "--problems", "1")
    run(checkout, out, "--problems", "2-3")
    assert status(out) == {1: "correct", 2: "correct", 3: "failed"}


@pytest.mark.parametrize(
    "stop_at",
    ["open 2_Slow eager", "evaluate 2_Slow 0.6", "confirm 2_Slow 0.6", "open 2_Slow compiled"],
)
@pytest.mark.parametrize("kill", ["", "1"])
def test_a_suite_stopped_anywhere_goes_on_to_the_same_results(
    checkout: Path, tmp_path: Path, stop_at: str, kill: str
) -> None:
    words = [
        "kernelbench", "run", "--root", checkout, "--level", 1, "--problems", "1-3", "--budget", 4,
        *PLUGINS,
    ]  # fmt: skip
    env = {**os.environ, "PYTHONPATH": str(ROOT), "SUITE_STOP_AT": stop_at, "SUITE_KILL": kill}
    out = tmp_path / "stopped"
    child = subprocess.run(
        [sys.executable, "-m", "tests.support.suite_world", *map(str, words), "-o", str(out)],
        cwd=tmp_path, env=env, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert child.returncode == (-signal.SIGKILL if kill else 130), child.stderr
    if not kill:
        assert child.stderr.splitlines()[-1].startswith("interrupted, nothing is lost; give the")
        assert status(out) == {1: "correct"}
    done = run(checkout, out, "--problems", "1-3")
    assert done.exit_code == 0, done.output
    assert status(out) == {1: "correct", 2: "correct", 3: "failed"}
    log = asked(tmp_path)
    searched = [line for line in log if line.startswith(("propose", "evaluate"))]
    repeated = {line for line in searched if searched.count(line) > 1}
    assert repeated <= {stop_at}  # what was out at that moment


def on_two_gpus(
    root: Path, out: Path, *more: object, **env: str
) -> subprocess.CompletedProcess[str]:
    words = ("kernelbench", "run", "--root", root, "--level", 1, "-o", out, "--budget", 4)
    words += ("--evaluator", "gpu", "--devices", "0,1", "--proposer", "canned", *more)
    return subprocess.run(
        [sys.executable, "-m", "tests.support.suite_world", *map(str, words)],
        cwd=ROOT, env={**os.environ, "SUITE_GPUS": "2", **env}, capture_output=True, text=True,
        timeout=120,
    )  # fmt: skip


def test_two_gpus_share_the_problems_and_come_to_what_one_comes_to(
    checkout: Path, tmp_path: Path
) -> None:
    out = tmp_path / "suite"
    done = on_two_gpus(checkout, out)
    assert done.returncode == 1, done.stderr  # one could not be read
    told = asked(tmp_path)
    by_gpu = [
        {line.partition(" ")[0] for line in told if line.endswith(f"on GPU {gpu}")}
        for gpu in (0, 1)
    ]
    assert all(by_gpu) and not by_gpu[0] & by_gpu[1]
    assert "[1/6] 1/1_Fast on GPU 0\n[2/6] 1/2_Slow on GPU 1\n" in done.stderr
    lines = done.stderr.splitlines()
    assert any(line.startswith("GPU 1: ") for line in lines)
    run(checkout, tmp_path / "alone")
    figures = ("number", "status", "eager", "compiled", "message")
    rows = [
        [[row[name] for name in figures] for row in results(folder)["problems"]]
        for folder in (out, tmp_path / "alone")
    ]
    assert rows[0] == rows[1]


def test_a_suite_on_two_gpus_that_is_interrupted_goes_on_where_it_was(
    checkout: Path, tmp_path: Path
) -> None:
    out = tmp_path / "suite"
    words = ("kernelbench", "run", "--root", checkout, "--level", 1, "-o", out, "--budget", 4)
    words += ("--evaluator", "gpu", "--devices", "all", "--proposer", "canned")
    suite = subprocess.Popen(
        [sys.executable, "-m", "tests.support.suite_world", *map(str, words)],
        cwd=ROOT, env={**os.environ, "SUITE_GPUS": "2"}, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    ends = time.monotonic() + 60
    while not any(line.startswith("evaluate") for line in asked(tmp_path)):
        assert time.monotonic() < ends, "no candidate was judged"
        time.sleep(0.02)
    suite.send_signal(signal.SIGINT)
    _, said = suite.communicate(timeout=60)
    assert suite.returncode == 130, said
    assert "waiting for the searches to stop" in said and "nothing is lost" in said
    assert "Traceback" not in said
    again = on_two_gpus(checkout, out)
    assert again.returncode == 1, again.stderr
    assert status(out) == {
        1: "correct", 2: "correct", 3: "failed", 4: "unfair", 5: "error", 10: "correct",
    }, again.stderr  # fmt: skip
    proposed = [line for line in asked(tmp_path) if line.startswith("propose")]
    repeated = {line for line in proposed if proposed.count(line) > 1}
    assert len(repeated) <= 2, "no more than what was out on each GPU at that moment"


def test_a_process_is_interrupted_only_while_it_searches(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A signal that comes as it ends would print a traceback."""
    sent: list[int] = []
    monkeypatch.setattr(os, "kill", lambda _, number: sent.append(number))
    idle, ended, searching = SearchState(), SearchState(), SearchState()
    idle.leave()
    assert not idle.begin() and not sent
    assert ended.begin()
    ended.end()
    ended.leave()
    assert not ended.begin() and not sent
    assert searching.begin()
    searching.leave()
    assert sent == [signal.SIGINT]


def test_a_search_whose_process_is_killed_is_an_error_of_that_problem(
    checkout: Path, tmp_path: Path
) -> None:
    out = tmp_path / "suite"
    killed = on_two_gpus(checkout, out, SUITE_STOP_AT="evaluate 2_Slow 0.6", SUITE_KILL="1")
    assert killed.returncode == 1
    row = next(row for row in results(out)["problems"] if row["number"] == 2)
    assert row["status"] == "error"
    assert row["message"] == "the search's process on GPU 1 ended with exit code -9"
    assert {number: end for number, end in status(out).items() if number != 2} == {
        1: "correct", 3: "failed", 4: "unfair", 5: "error", 10: "correct",
    }  # fmt: skip
    on_two_gpus(checkout, out)
    assert status(out)[2] == "correct"


def test_a_world_that_is_gone_stops_the_suite_and_loses_nothing(tmp_path: Path) -> None:
    root = make_level(
        tmp_path / "kb",
        {
            f"{number}_P.py": problem_text("2.0", "3.0", "4.0", also="world")
            for number in range(1, 9)
        },
    )
    out = tmp_path / "suite"
    done = run(root, out)
    assert done.exit_code == 2
    (last,) = [line for line in done.stderr.splitlines() if line.startswith("error:")]
    assert "3 problems in a row came to nothing: the GPU has fallen off the bus" in last
    assert f"rooftree kernelbench report {out}" in last
    assert status(out) == {1: "error", 2: "error", 3: "error"}


def test_a_model_that_fails_as_its_own_candidate_is_an_error_of_that_problem(
    tmp_path: Path,
) -> None:
    root = make_level(
        tmp_path / "kb",
        {"1_A.py": problem_text("2.0", also="broken"), "2_B.py": problem_text("2.0")},
    )
    run(root, tmp_path / "suite")
    assert status(tmp_path / "suite") == {1: "error", 2: "correct"}


def test_no_compile_leaves_the_comparison_out(checkout: Path, tmp_path: Path) -> None:
    run(checkout, tmp_path / "suite", "--problems", "1", "--no-compile")
    (row,) = results(tmp_path / "suite")["problems"]
    assert (row["compiled"], row["not_compiled"]) == (None, "not asked for")
    assert not any("compiled" in line for line in asked(tmp_path))


def test_options_are_checked_before_a_second_call_goes_on(checkout: Path, tmp_path: Path) -> None:
    out = tmp_path / "suite"
    run(checkout, out, "--problems", "1")
    before = status(out)
    done = run(checkout, out, "--problems", "1-3", "--proposer", "llm")
    assert done.exit_code == 2 and "--model" in done.stderr
    assert status(out) == before


def test_a_comparison_lost_to_the_world_is_tried_again(tmp_path: Path) -> None:
    root = make_level(tmp_path / "kb", {"1_A.py": problem_text("2.0", also="lost")})
    out = tmp_path / "suite"
    for times in (1, 2):
        done = run(root, out)
        assert done.exit_code == 0, done.output
        (row,) = results(out)["problems"]
        assert (row["status"], row["not_compiled"]) == ("correct", "the reference's process died")
        assert asked(tmp_path).count("open 1_A compiled") == times
    assert asked(tmp_path).count("open 1_A eager") == 1


def test_no_problem_is_begun_once_the_money_is_spent(checkout: Path, tmp_path: Path) -> None:
    out = tmp_path / "suite"
    done = run(checkout, out, "--max-total-cost", 0.05)
    assert done.exit_code == 0, done.output
    assert status(out) == {1: "correct", 2: "correct"}
    assert "[3/6] 1/3_Never: not begun: $0.0500 spent, the cap is $0.0500" in done.stderr
    assert "not run yet: 4 of 6; not counted" in done.stdout
    run(checkout, out, "--max-total-cost", 1.0)
    assert len(status(out)) == 6


def test_a_cap_on_money_needs_prices() -> None:
    spent = Spent(evaluations=1, tokens=100, unpriced=1)
    outcome = Outcome(level=1, number=1, name="1/1_A", status="failed", spent=spent)
    assert cap_reached([outcome], None) is None
    with pytest.raises(InputError, match="--price MODEL=IN,OUT"):
        cap_reached([outcome], 1.0)


def test_json_is_one_object_on_standard_output(checkout: Path, tmp_path: Path) -> None:
    done = run(checkout, tmp_path / "suite", "--problems", "1", "--json")
    found = json.loads(done.stdout)
    assert found == results(tmp_path / "suite")
    assert found["summary"]["pass_rate"] == 1.0
    assert found["summary"]["eager"]["fast"]["1.5"] == 1.0
    assert found["settings"]["evaluations"] == 4


def test_report_shows_a_suite_that_is_not_done(checkout: Path, tmp_path: Path) -> None:
    out = tmp_path / "suite"
    run(checkout, out, "--problems", "1-3")
    (out / "outcomes" / "level1_3.json").unlink()
    done = completed("kernelbench", "report", out, columns=200)
    assert "not run yet: 1 of 3; not counted" in done.stdout
    assert json_of("kernelbench", "report", out)["summary"]["not_run"] == ["1/3_Never"]


def test_other_settings_are_refused_in_one_line(checkout: Path, tmp_path: Path) -> None:
    out = tmp_path / "suite"
    run(checkout, out, "--problems", "1")
    done = run(checkout, out, "--problems", "2", "--seed", 5)
    refused(done, "was begun with seed = 0, not 5")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--root", "nowhere"), "nowhere does not exist"),
        (("--level", 7), "has no level 7, only 1"),
        (("--problems", "1-"), "write numbers and ranges"),
        (("--problems", "99"), "has 1-5, 10"),
        (("--problems", "7-8"), "has 1-5, 10"),
        (("--problems", "3-2"), "ends before it begins"),
        (("--problems", ""), "write numbers and ranges"),
        (("--problems", "5"), "5_Unreadable.py: line 1"),
        (("--evaluator", "papper"), "did you mean paper"),
        (("--evaluator", "replay"), "measured, by gpu or dask:"),
        (("--policy", "weights=melted"), "--policy"),
        (("--proposer", "llm"), "--model"),
    ],
)
def test_a_wrong_option_is_refused_and_leaves_no_folder(
    checkout: Path, tmp_path: Path, words: tuple[object, ...], said: str
) -> None:
    out = tmp_path / "suite"
    done = run(checkout, out, *words)
    refused(done, said)
    assert not out.exists()


def test_a_folder_that_is_no_suite_is_refused(checkout: Path, tmp_path: Path) -> None:
    out = tmp_path / "mine"
    out.mkdir()
    (out / "letter.txt").write_text("dear")
    done = run(checkout, out)
    refused(done, "is not empty and no suite")
    assert [path.name for path in out.iterdir()] == ["letter.txt"]
    for path, said in ((out, "has no suite.json"), (tmp_path / "no", "does not exist")):
        refused(rooftree("kernelbench", "report", path), said)


def test_two_processes_do_not_share_a_suite(checkout: Path, tmp_path: Path) -> None:
    out = tmp_path / "suite"
    with SuiteFolder(out).claimed():
        done = run(checkout, out)
    refused(done, "in use by another")


def test_a_later_price_is_applied_to_finished_problems(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "suite"
    tokens = {name: n for name, n in world.USAGE.items() if name != "cost_usd"}
    monkeypatch.setattr(world, "USAGE", tokens)
    assert run(checkout, out, "--problems", "1,2").exit_code == 0
    folder = SuiteFolder(out)
    before = {key: folder.outcome(key) for key in ("level1_1", "level1_2")}
    assert [one and one.spent.unpriced for one in before.values()] == [3, 2]
    asked = (tmp_path / "log").read_text()
    again = run(
        checkout, out, "--problems", "1,2", "--price", "paper=2,10", "--max-total-cost", "9"
    )
    assert again.exit_code == 0, again.output
    assert "1/1_Fast: priced 3 earlier replies at 0.0009 USD" in again.stderr
    for (key, was), replies in zip(before.items(), (3, 2), strict=True):
        assert was is not None
        spent = was.spent.model_copy(update={"unpriced": 0, "cost_usd": replies * 310e-6})
        assert folder.outcome(key) == was.model_copy(update={"spent": spent})
    assert (tmp_path / "log").read_text() == asked, "nothing is judged for it"
    assert json.loads((out / "results.json").read_text())["summary"]["cost_usd"] == pytest.approx(
        5 * 310e-6
    )
    assert "priced" not in run(checkout, out, "--problems", "1,2", "--price", "paper=3,3").stderr


def test_a_problem_that_waits_for_an_answer_is_left_for_a_later_call(
    checkout: Path, tmp_path: Path
) -> None:
    out, queue = tmp_path / "suite", tmp_path / "queue"
    words = ("--budget", 1, "--evaluator", "paper", "--problems", "1,2", "--model", "queue/person")
    words += ("--llm-queue", queue, "--llm-timeout", 0.1, "--no-compile", "--reply-repairs", 0)
    done = run_suite(checkout, out, *words)
    assert done.exit_code == 0, done.output
    assert done.stderr.count("left for now, it waits for an answer") == 2
    assert len(list(queue.glob("*.prompt.md"))) == 2
    for prompt in queue.glob("*.prompt.md"):
        reply = prompt.with_name(prompt.name.replace(".prompt.md", ".reply.md"))
        reply.write_text("No candidate.")
        os.utime(reply, (0, 0))
    run_suite(checkout, out, *words)
    assert status(out) == {1: "failed", 2: "failed"}


@pytest.mark.parametrize("made", ["empty", "no tables"])
def test_a_search_that_was_left_before_its_journal_began_has_not_ended(
    tmp_path: Path, made: str
) -> None:
    (tmp_path / "config.toml").touch()
    database = tmp_path / "run.sqlite"
    database.touch()
    if made == "no tables":
        with closing(sqlite3.connect(database)) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
    assert not finished(tmp_path)
