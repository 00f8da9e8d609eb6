"""Runs what the tutorial tells a reader to run, and compares what it prints.

    python -m docs.tools.tutorial            runs every page; prints what differs
    python -m docs.tools.tutorial --update   also writes the figures of now into the pages

Every page has a folder of its own, with the parts of the checkout that the commands name, and with
the package of the examples as if it had been installed.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import tomllib
from contextlib import ExitStack
from pathlib import Path

from docs.tools.console import Difference, differences_of, steps, update

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "docs" / "tutorial"
EXAMPLES = ROOT / "docs" / "examples" / "my_parts"
PORT = "8123"
"""The port that pages name; a free one takes its place."""


def run_page(page: Path, folder: Path, *, gpu: bool = False) -> list[Difference]:
    """Run a page's commands in the empty `folder`; what was not printed as the page says."""
    _furnish(folder)
    port = _free_port()
    found: list[Difference] = []
    with ExitStack() as stack:
        for step in steps(page):
            if step.mark == "install" or (step.mark == "gpu" and not gpu):
                continue
            command = step.command.replace(PORT, port)
            environment = _environment(folder, gpu=step.mark == "gpu")
            if step.mark == "background":
                printed = _in_background(command, folder, environment, stack)
            else:
                done = subprocess.run(
                    ["bash", "-c", command],
                    cwd=folder,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                )
                printed = done.stdout
                if done.returncode:
                    found.append(Difference(step, len(step.expected), printed, None))
                    continue
            found += differences_of(step, printed.replace(port, PORT))
    return found


def _furnish(folder: Path) -> None:
    """What commands name, and the examples' metadata, which is what installing them would add."""
    for name in ("docs", "tests", "pyproject.toml"):
        (folder / name).symlink_to(ROOT / name)
    project = tomllib.loads((EXAMPLES / "pyproject.toml").read_text())["project"]
    info = folder / ".site" / f"my_parts-{project['version']}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )
    groups = [
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in points.items())
        for group, points in project["entry-points"].items()
    ]
    (info / "entry_points.txt").write_text("\n".join(groups))


def _environment(folder: Path, *, gpu: bool) -> dict[str, str]:
    """The user's, less what would change the answers: a GPU, a memory, keys, pytest's own."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTEST_", "COV_")) and not name.endswith("_API_KEY")
    }
    hidden = {} if gpu else {"CUDA_VISIBLE_DEVICES": ""}
    return {
        **kept,
        **hidden,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{kept.get('PATH', '')}",
        "PYTHONPATH": os.pathsep.join([str(folder / ".site"), str(EXAMPLES), str(ROOT)]),
        "PYTHONDONTWRITEBYTECODE": "1",
        "XDG_DATA_HOME": str(folder / ".data"),
        "XDG_CACHE_HOME": str(folder / ".cache"),
        "COLUMNS": "120",
    }


def _in_background(
    command: str, folder: Path, environment: dict[str, str], stack: ExitStack
) -> str:
    """Start a command that stays; the first line it prints."""
    process = subprocess.Popen(
        ["bash", "-c", f"exec {command}"],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )

    def end() -> None:
        process.send_signal(signal.SIGTERM)
        process.communicate()

    stack.callback(end)
    assert process.stdout is not None
    return process.stdout.readline()


def _free_port() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


def main() -> None:
    failed = False
    for page in sorted(PAGES.glob("*.md")):
        with tempfile.TemporaryDirectory() as folder:
            found = run_page(page, Path(folder))
        if "--update" in sys.argv[1:]:
            update(page, found)
            found = [difference for difference in found if difference.instead is None]
        print(f"{page.name}: {sum(1 for _ in steps(page))} commands, {len(found)} differences")
        for difference in found:
            print(difference)
        failed = failed or bool(found)
    sys.exit(failed)


if __name__ == "__main__":
    main()
