"""Runs with a wrong path, damaged runs, read-only folders and full disks."""

from __future__ import annotations

import errno
import os
import shutil
import stat
from pathlib import Path

import pytest

from experiments.live.tail import JournalTail
from experiments.runs.folders.journal import SqliteJournal, read_events
from experiments.runs.options.run_hints import not_a_run_folder
from mcts.files import write_whole
from tests.experiments.conftest import ListJournal
from tests.support.commands import completed, refused, rooftree


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run; a test that changes it takes a copy."""
    run = tmp_path_factory.mktemp("made") / "row_softmax-1"
    completed("optimize", "row_softmax", "--evaluations", 6, "--quiet", "--out", run)
    return run


@pytest.fixture
def run(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made, tmp_path / "run")
    return tmp_path / "run"


# Something else was named.


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A current folder with two runs in ``runs/``, the second the newer."""
    monkeypatch.chdir(tmp_path)
    for number in (1, 2):
        folder = tmp_path / "runs" / f"gemm-{number}"
        folder.mkdir(parents=True)
        (folder / "run.sqlite").touch()
        os.utime(folder / "run.sqlite", (number, number))
        (folder / "report.html").touch()
    return tmp_path / "runs"


@pytest.mark.parametrize(
    ("named", "meant"),
    [
        ("runs", "runs/gemm-2"),
        ("runs/gemm-1/run.sqlite", "runs/gemm-1"),
        ("runs/gemm-1/report.html", "runs/gemm-1"),
        ("gemm", "runs/gemm-2"),
        ("gemm-1", "runs/gemm-1"),
        ("elsewhere/gemm-1", "runs/gemm-1"),
        ("other", None),
        ("[", None),
        ("runs/gemm-3", None),
    ],
)
def test_a_wrong_path_is_answered_with_the_run_that_may_be_meant(
    runs: Path, named: str, meant: str | None
) -> None:
    said = str(not_a_run_folder(Path(named), "run.sqlite"))
    assert said.startswith(f"{named} is not a run folder: it ")
    assert said.endswith(f"; did you mean {meant}?") == (meant is not None)
    assert ("did you mean" in said) == (meant is not None)


COMMANDS = ["report", "explain", "watch", "tree", "resume", "attribute", "export"]


@pytest.mark.parametrize("command", [*COMMANDS, "compare"])
def test_every_command_on_a_run_names_the_run_that_may_be_meant(runs: Path, command: str) -> None:
    more = ["out"] if command == "export" else []
    refused(rooftree(command, "gemm", *more), "gemm is not a run folder", "runs/gemm-2")
    assert not Path("out").exists()


@pytest.mark.parametrize("command", COMMANDS)
def test_a_folder_without_a_run_is_refused_and_left_as_it_is(tmp_path: Path, command: str) -> None:
    more = [tmp_path / "out"] if command == "export" else []
    refused(rooftree(command, tmp_path, *more), "is not a run folder")
    assert list(tmp_path.iterdir()) == []


def test_compare_of_a_folder_of_runs_says_how_to_compare_them(runs: Path) -> None:
    refused(rooftree("compare", "runs"), "rooftree compare runs/*")


# Nobody may write there.


def test_reading_leaves_nothing_behind(run: Path) -> None:
    before = sorted(path.name for path in run.iterdir())
    assert read_events(run)
    assert sorted(path.name for path in run.iterdir()) == before


def test_a_crashed_run_is_read_from_a_read_only_folder(
    finished: tuple[ListJournal, object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All but the first pages of its journal lie in the write-ahead log."""
    run, left = tmp_path / "run", tmp_path / "left"
    run.mkdir()
    left.mkdir()
    with SqliteJournal(run / "run.sqlite") as journal:
        for event in finished[0].events():
            journal.append(event.kind, event.payload)
        for name in ("run.sqlite", "run.sqlite-wal"):
            shutil.copyfile(run / name, left / name)
    monkeypatch.setattr("experiments.runs.folders.journal_file.os.access", lambda *_: False)
    count = len(list(finished[0].events()))
    assert len(read_events(left)) == count
    assert len(list(JournalTail(left).until(frozenset()))) == count
    assert sorted(path.name for path in left.iterdir()) == ["run.sqlite", "run.sqlite-wal"]


def test_the_report_alone_can_be_written_elsewhere(run: Path, tmp_path: Path) -> None:
    shutil.rmtree(run / "best")
    (run / "best").touch()  # in the way, as a folder is that may not be written
    found = rooftree("report", run)
    refused(found, "cannot be written", "-o report.html")
    (run / "report.html").unlink()
    completed("report", run, "-o", tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text().startswith("<!doctype html>")
    assert not (run / "report.html").exists()


def test_compare_prints_its_tables_if_the_page_cannot_be_written(run: Path, tmp_path: Path) -> None:
    (tmp_path / "page.html").mkdir()
    found = rooftree("compare", run, "-o", tmp_path / "page.html")
    refused(found)
    assert "row_softmax" in found.stdout and "speedup" in found.stdout
    assert "name another: -o FILE.html" in found.stderr


@pytest.mark.parametrize("name", ["mine.cu", "README.md", "page"])
def test_compare_writes_over_nothing_but_a_page(run: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine")
    refused(rooftree("compare", run, "-o", tmp_path / name), "name it FILE.html")
    assert (tmp_path / name).read_text() == "mine"


# Not whole.


@pytest.mark.parametrize("command", [("explain",), ("export", "out")])
def test_a_run_without_its_task_is_not_exported(
    run: Path, tmp_path: Path, command: tuple[str, ...]
) -> None:
    shutil.rmtree(run / "task")
    more = [tmp_path / word for word in command[1:]]
    refused(rooftree(command[0], run, *more), "its folder task is gone")
    assert not (tmp_path / "out").exists()


def test_a_run_that_has_measured_nothing_says_what_to_do(tmp_path: Path) -> None:
    with SqliteJournal(tmp_path / "run.sqlite") as journal:
        journal.append(
            "started",
            {"task": "t", "evaluator": "e", "proposer": "p", "hardware": "h", "seed": 1},
        )
    done = rooftree("report", tmp_path)
    refused(done, "not measured its baseline", "rooftree resume")
    assert done.stderr.count("nothing to show") == 1


# Files are written whole or not at all.


def test_a_file_is_replaced_only_by_a_complete_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "report.html"
    write_whole(path, "the first")
    real = Path.write_bytes

    def full(self: Path, data: bytes) -> int:
        real(self, data[:3])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match="No space left") as caught:
        write_whole(path, "the second")
    assert caught.value.filename == str(path)
    assert path.read_text() == "the first"
    assert [item.name for item in tmp_path.iterdir()] == ["report.html"]


def test_what_is_to_last_is_on_disk_with_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[Path] = []
    original = os.fsync

    def sync(descriptor: int) -> None:
        synced.append(Path(f"/proc/self/fd/{descriptor}").readlink())
        original(descriptor)

    monkeypatch.setattr(os, "fsync", sync)
    write_whole(tmp_path / "config.toml", "text", durable=True)
    assert [path.name for path in synced[1:]] == [tmp_path.name] and len(synced) == 2
    assert synced[0].parent == tmp_path


def test_a_file_system_that_cannot_sync_folders_is_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = os.fsync

    def sync(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "Invalid argument")
        original(descriptor)

    monkeypatch.setattr(os, "fsync", sync)
    write_whole(tmp_path / "config.toml", "text", durable=True)
    assert (tmp_path / "config.toml").read_text() == "text"


def test_links_and_devices_stay_what_they_are(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("target")
    write_whole(tmp_path / "link", "text")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "target").read_text() == "text"
    write_whole(Path("/dev/null"), "text")
    assert not Path("/dev/null").is_file()


def test_a_script_can_be_run_and_bytes_are_kept(tmp_path: Path) -> None:
    write_whole(tmp_path / "a", "\ud800\r\n", executable=True)
    assert (tmp_path / "a").read_bytes() == b"\xed\xa0\x80\r\n"
    assert os.access(tmp_path / "a", os.X_OK)
    write_whole(tmp_path / "b", b"\x00")
    assert not (tmp_path / "b").stat().st_mode & 0o111


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_a_full_disk_is_told_with_the_file_that_it_refused(run: Path) -> None:
    refused(rooftree("explain", run, "-o", "/dev/full"), "/dev/full")


# What was asked for would do nothing, or harm.


def test_a_run_is_not_resumed_with_fewer_evaluations_than_it_had(run: Path) -> None:
    before = (run / "config.toml").read_bytes()
    refused(rooftree("resume", run, "--evaluations", 2), "the run has had 6 already")
    assert (run / "config.toml").read_bytes() == before


def test_a_new_task_may_not_have_a_bundled_ones_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    refused(rooftree("new", "row_softmax"), "bundled task")
    assert not (tmp_path / "row_softmax").exists()


def test_a_missing_include_folder_is_refused(tmp_path: Path) -> None:
    refused(rooftree("evaluate", "row_softmax", "--include", tmp_path / "none"), "--include")


@pytest.mark.parametrize("proposer", ["scripted", "uniform"])
def test_model_options_are_refused_by_proposers_without_a_model(proposer: str) -> None:
    words = ("optimize", "row_softmax", "--proposer", proposer)
    for option in (("--lookups", 3), ("--model", "one")):
        refused(rooftree(*words, *option), f"{option[0]}")
