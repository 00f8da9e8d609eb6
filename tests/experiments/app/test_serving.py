"""`rooftree serve`: who may look, what they see, and that it only looks."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from experiments.app.serving.server import RunServer
from experiments.runs.folders.journal import DATABASE, SqliteJournal
from tests.support.browser import CHROMIUM, chromium
from tests.support.commands import completed, optimized, refused, rooftree

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("served")
    for name, task in (("one", "transpose"), ("two", "row_softmax")):
        optimized(task, root / name, "--evaluator", "replay", "--evaluations", 6)
    return root


@contextmanager
def served(root: Path) -> Iterator[RunServer]:
    server = RunServer(root)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def asked(
    server: RunServer, path: str, *, method: str = "GET", host: str | None = None
) -> tuple[int, str, dict[str, str]]:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=30)
    headers = {} if host is None else {"Host": host}
    connection.request(method, path, headers=headers)
    answer = connection.getresponse()
    body = answer.read().decode()
    connection.close()
    return answer.status, body, {name.lower(): value for name, value in answer.getheaders()}


def row_of(server: RunServer, name: str) -> dict[str, Any]:
    rows = json.loads(asked(server, f"/{server.token}/runs.json")[1])
    return next(row for row in rows if row["name"] == name)


def test_the_list_a_run_its_report_and_two_side_by_side(runs: Path) -> None:
    with served(runs) as server:
        top = f"/{server.token}"
        status, body, headers = asked(server, f"{top}/")
        assert status == 200 and ">one</a>" in body and ">two</a>" in body
        assert "default-src 'none'" in headers["content-security-policy"]
        assert headers["cache-control"] == "no-store"
        one, two = row_of(server, "one"), row_of(server, "two")
        assert one["state"] == "finished" and one["trials"] == "6/6" and one["best"].endswith("×")
        status, body, _ = asked(server, f"{top}/run/{one['id']}/")
        assert status == 200 and 'src="report"' in body
        status, body, headers = asked(server, f"{top}/run/{one['id']}/report")
        assert status == 200 and "Best kernel" in body
        assert headers["content-security-policy"] == "frame-ancestors 'self'"
        status, body, _ = asked(server, f"{top}/side?a={one['id']}&b={two['id']}")
        assert status == 200 and body.count("<iframe") == 2
        assert asked(server, f"{top}/side?a={one['id']}")[0] == 400
        assert asked(server, f"{top}/run/nothing/")[0] == 404


@pytest.mark.parametrize("path", ["/", "/wrong/", "/wrong/runs.json", "//", "/../etc/passwd"])
def test_without_the_token_there_is_nothing(runs: Path, path: str) -> None:
    with served(runs) as server:
        status, body, _ = asked(server, path)
        assert status == 404 and "one" not in body.replace("printed", "")


def test_another_name_for_this_machine_gets_nothing(runs: Path) -> None:
    with served(runs) as server:
        path = f"/{server.token}/"
        assert asked(server, path, host="evil.example")[0] == 421
        assert asked(server, path, host=f"localhost:{server.server_port}")[0] == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_nothing_can_be_done_but_look(runs: Path, method: str) -> None:
    with served(runs) as server:
        assert asked(server, f"/{server.token}/", method=method)[0] == 501
        assert asked(server, f"/{server.token}/", method="HEAD")[1] == ""


def test_a_browser_that_leaves_is_no_error(
    runs: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(*_: object) -> None:
        raise BrokenPipeError

    with served(runs) as server:
        monkeypatch.setattr(server.pages, "answer", gone)
        with pytest.raises(http.client.RemoteDisconnected):
            asked(server, f"/{server.token}/")
    assert capfd.readouterr().err == ""


def test_looking_leaves_every_file_as_it_was(runs: Path) -> None:
    def files() -> dict[str, tuple[int, bytes]]:
        found = {}
        for path in sorted(runs.rglob("*")):
            if path.is_file():
                found[str(path)] = (path.stat().st_mtime_ns, path.read_bytes())
        return found

    before = files()
    with served(runs) as server:
        for name in ("one", "two"):
            asked(server, f"/{server.token}/run/{row_of(server, name)['id']}/report")
    assert files() == before


def test_a_run_without_a_baseline_has_no_report_yet_and_a_damaged_one_is_said(
    runs: Path, tmp_path: Path
) -> None:
    for name in ("early", "damaged"):
        shutil.copytree(runs / "one", tmp_path / name)
        (tmp_path / name / DATABASE).unlink()
    with SqliteJournal(tmp_path / "early" / DATABASE):
        pass
    (tmp_path / "damaged" / DATABASE).write_bytes(b"no database" * 1000)
    with served(tmp_path) as server:
        early, damaged = row_of(server, "early"), row_of(server, "damaged")
        assert early["state"] == "not begun" and damaged["state"] == "damaged"
        for row in (early, damaged):
            status, body, headers = asked(server, f"/{server.token}/run/{row['id']}/report")
            assert status == 200 and "No report yet" in body
            assert "frame-ancestors 'self'" in headers["content-security-policy"]


def test_names_of_folders_are_text(runs: Path, tmp_path: Path) -> None:
    shutil.copytree(runs / "one", tmp_path / "<img src=x onerror=alert(1)>")
    with served(tmp_path) as server:
        body = asked(server, f"/{server.token}/")[1]
    assert "<img" not in body and "&lt;img" in body


def test_the_command_prints_its_address_and_ends_by_an_interrupt(runs: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "experiments", "serve", str(runs)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    address = process.stdout.readline().strip()
    assert address.startswith("http://127.0.0.1:") and len(address.split("/")[3]) >= 20
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=30)
    assert process.returncode == 0 and "no run was touched" in said and "Traceback" not in said


def test_what_cannot_be_served_is_said(tmp_path: Path, runs: Path) -> None:
    refused(rooftree("serve", tmp_path / "nowhere"), "does not exist")
    with served(runs) as server:
        refused(rooftree("serve", runs, "--port", server.server_port), "cannot be used")


@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")
@pytest.mark.parametrize("width", [390, 1280])
def test_a_browser_follows_a_run_and_complains_of_nothing(
    runs: Path, tmp_path: Path, width: int
) -> None:
    pytest.importorskip("playwright", reason="playwright is not installed")
    for name in ("one", "two"):
        shutil.copytree(runs / name, tmp_path / name)
    complaints: list[str] = []
    with served(tmp_path) as server, chromium() as browser:
        page = browser.new_page(viewport={"width": width, "height": 800})
        page.on("console", lambda said: complaints.append(said.text)
                if said.type in ("error", "warning") else None)  # fmt: skip
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: None if request.url.startswith(
            (server.address, "data:")) else complaints.append(request.url))  # fmt: skip
        page.goto(server.address)
        trials = page.locator('tr:has-text("transpose") [data-cell="trials"]')
        assert trials.inner_text() == "6/6"
        completed("resume", tmp_path / "one", "--evaluations", 9)
        trials.filter(has_text="9/9").wait_for(timeout=15_000)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        best = page.locator('tr:has-text("transpose") [data-cell="best"]').bounding_box()
        assert best is not None and best["x"] + best["width"] <= width, "seen without scrolling"
        page.get_by_role("link", name="one", exact=True).click()
        frame = page.frame_locator("iframe")
        frame.get_by_role("heading", name="Best kernel").wait_for(timeout=15_000)
        page.get_by_role("link", name="All runs").click()
        page.get_by_label("one on the left").check()
        page.get_by_label("two on the right").check()
        page.get_by_role("button", name="Show two side by side").click()
        page.locator("iframe").nth(1).wait_for()
        for at in (0, 1):
            inside = page.frame_locator("iframe").nth(at)
            inside.get_by_role("heading", name="Best kernel").wait_for(timeout=15_000)
    assert complaints == []
