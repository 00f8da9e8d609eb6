"""One compilation by nvcc, in a process and a jail of its own.

Run as ``python -m profilers.host.compile_worker``. The compiler reads untrusted source, which
can make it write files or print without end; so it runs here, with the code that reads its output.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mcts.errors import WorldError
from profilers.children.protocol import RequestRefused
from profilers.children.serving import serve
from profilers.host.compile_log import condensed_errors, condensed_warnings
from profilers.host.nvcc_output import readable_name, resources
from profilers.sass import read_executable_sass

_KEPT_BYTES = 2 * 2**20
"""Kept from the beginning of the output: the first error is what matters."""
_LAST_BYTES = 64 * 2**10
"""Kept from its end, which says why the compiler gave up."""
_MOST_BYTES = 256 * 2**20
_CHUNK = 65_536
_RESERVE_S = 5.0
"""Part of the deadline that is kept for the reply."""
_DEMANGLING_S = 2.0
_DRIVER = re.compile(r"undefined reference to `(?:cu[A-Z]\w*)'")
_KILLED = re.compile(r"died due to signal 9\b|[Kk]illed signal terminated program")
_CRASHED = re.compile(
    r"died due to signal|virtual memory exhausted|[Oo]ut of memory|[Cc]annot allocate memory"
    r"|std::bad_alloc|signal terminated program|No space left on device"
)


def main() -> None:
    serve({"compile": _compile})


def _compile(request: dict[str, Any]) -> dict[str, Any]:
    """Run `command` in `folder`, which holds the sources, and return its result as JSON."""
    folder = Path(request["folder"])
    sources = {name: _read(folder / name) for name in request["sources"]}
    code, log, flooded = _run(request["command"], folder, request["environment"])
    folders = [str(path) for path in request["includes"]]
    undefined = _undefined(log)
    failed = code != 0 or bool(undefined)
    text = condensed_errors(undefined if code == 0 else log, sources, folders) if failed else ""
    if failed and flooded:
        text = f"{text}\n[it printed more than {_MOST_BYTES >> 20} MiB and was stopped]".strip()
    if failed:
        lost = None if flooded else _machine_at_fault(code, log)
        return {"compiled": False, "log": text or _failure_text(log, code), "lost": lost}
    return {
        "compiled": True,
        "log": condensed_warnings(log, sources, folders),
        "resources": _by_readable_name(resources(log), request["demangler"]),
        **_machine_code(folder / request["library"], request["arch"], request["until_s"]),
    }


def _run(
    command: Sequence[str], folder: Path, environment: dict[str, str]
) -> tuple[int, str, bool]:
    """Exit code, both ends of the output, and whether it was stopped for printing too much."""
    variables = {"PATH": os.environ.get("PATH", os.defpath), "TMPDIR": tempfile.gettempdir(),
                 "LC_ALL": "C", **environment}  # fmt: skip
    try:
        process = subprocess.Popen(
            command, cwd=folder, env=variables, stdin=subprocess.DEVNULL, start_new_session=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
    except OSError as error:
        raise RequestRefused("missing", f"cannot start {command[0]}: {error.strerror}") from None
    assert process.stdout is not None
    kept, last, total = b"", b"", 0
    while part := os.read(process.stdout.fileno(), _CHUNK):
        total += len(part)
        if len(kept) < _KEPT_BYTES:
            kept += part[: _KEPT_BYTES - len(kept)]
        else:
            last = (last + part)[-_LAST_BYTES:]
        if total > _MOST_BYTES:
            os.killpg(process.pid, signal.SIGKILL)
            break
    log = kept + b"\n" + last
    return process.wait(), log.decode(errors="replace"), total > _MOST_BYTES


def _undefined(log: str) -> str:
    """Undefined symbols, except the driver's, which are found when the library is loaded."""
    lines = [line for line in log.splitlines() if "undefined reference to" in line]
    return "\n".join(line for line in lines if not _DRIVER.search(line))


def _machine_at_fault(code: int, log: str) -> str | None:
    """ "killed" or "crashed" if the machine may have caused the failure; else None."""
    if code == -signal.SIGKILL or _KILLED.search(log):
        return "killed"
    return "crashed" if code < 0 or _CRASHED.search(log) else None


def _failure_text(log: str, code: int) -> str:
    """A text for a failure that has no recognised message."""
    reason = f"nvcc was killed by signal {-code}" if code < 0 else f"nvcc ended with code {code}"
    last = "\n".join(line[:300] for line in log.splitlines()[-5:])
    return f"error: {reason}\n{last}".strip()


def _by_readable_name(found: dict[str, dict[str, int]], demangler: str | None) -> dict[str, Any]:
    """`found` by readable names; without a demangler by the names in the mangled ones."""
    names = list(found)
    told = _demangled(names, demangler) if demangler and names else names
    named: dict[str, Any] = {}
    for mangled, name in zip(names, told, strict=True):
        short = (
            readable_name(mangled) if name == mangled else name.removeprefix("void ").split("(")[0]
        )
        named[short if short not in named else f"{short} #{len(named) + 1}"] = found[mangled]
    return named


def _demangled(names: list[str], demangler: str) -> list[str]:
    try:
        done = subprocess.run(
            [demangler], input="\n".join(names), capture_output=True, encoding="utf-8",
            errors="replace", timeout=_DEMANGLING_S, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return names
    told = done.stdout.splitlines()
    return told if len(told) == len(names) else names


def _machine_code(library: Path, arch: str, until_s: float) -> dict[str, Any]:
    """Facts about each kernel's machine code, or why there are none. Ends before `until_s`."""
    try:
        with _alarm(until_s - _RESERVE_S - time.monotonic()):
            found = read_executable_sass(library, arch)
        facts = {
            name: one.model_dump(mode="json", exclude_defaults=True) for name, one in found.items()
        }
    except WorldError as error:
        return {"sass": {}, "sass_missing": str(error)}
    except Exception as error:  # noqa: BLE001 - untrusted input; the compilation stands all the same
        reason = f"the machine code could not be read: {type(error).__name__}: {error}"
        return {"sass": {}, "sass_missing": reason[:500]}
    return {"sass": facts, "sass_missing": None}


class AlarmRang(Exception):
    """Not a TimeoutError: that is an OSError, which code being interrupted may catch."""


@contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    """Raise AlarmRang in the main thread once so many seconds have passed."""

    def ring(_number: int, _frame: object) -> None:
        raise AlarmRang("nvcc has left too little for it")

    if seconds <= 0:
        ring(0, None)
    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise RequestRefused("disk", f"cannot read {path}: {error.strerror}") from None


if __name__ == "__main__":
    main()
