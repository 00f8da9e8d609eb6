"""One compilation by nvcc, in a process and a jail of its own. Run as
``python -m profilers.host.compile_worker``.

The compiler reads what nobody has read before, writes where it is told to, and may print without
end: it runs here, and so does what reads its output.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mcts.errors import WorldError
from profilers.children.serving import Refusal, serve
from profilers.host.condense import condensed, warnings
from profilers.host.resources import readable, resources
from profilers.sass import read_executable_sass

_KEPT_BYTES = 2 * 2**20
"""Of what compilers print, from its beginning: the first error is what matters."""
_LAST_BYTES = 64 * 2**10
"""And from its end: there they say why they gave up."""
_MOST_BYTES = 256 * 2**20
_CHUNK = 65_536
_DRIVER = re.compile(r"undefined reference to `(?:cu[A-Z]\w*)'")


def main() -> None:
    serve({"compile": _compile})


def _compile(request: dict[str, Any]) -> dict[str, Any]:
    """Run `command` in `folder`, which holds the sources, and tell what came of it."""
    begin = time.perf_counter()
    folder = Path(request["folder"])
    code, log, flooded = _run(request["command"], folder, request["environment"])
    sources = {name: _read(folder / name) for name in request["sources"]}
    folders = [str(path) for path in request["includes"]]
    undefined = _undefined(log)
    failed = code != 0 or bool(undefined)
    text = condensed(undefined if code == 0 else log, sources, folders) if failed else ""
    if failed and flooded:
        text = f"{text}\n[it printed more than {_MOST_BYTES >> 20} MiB and was stopped]".strip()
    return {
        "compiled": not failed,
        "seconds": time.perf_counter() - begin,
        "log": (text or _end(log, code)) if failed else warnings(log, sources, folders),
        **({} if failed else _machine_code(folder / request["library"], request["arch"])),
        "resources": {} if failed else _named(resources(log), request["demangler"]),
    }


def _run(
    command: Sequence[str], folder: Path, environment: dict[str, str]
) -> tuple[int, str, bool]:
    """Exit code, both ends of what it printed, and whether that was too much to go on."""
    variables = {"PATH": os.environ.get("PATH", os.defpath), "TMPDIR": tempfile.gettempdir(),
                 "LC_ALL": "C", **environment}  # fmt: skip
    try:
        process = subprocess.Popen(
            command, cwd=folder, env=variables, stdin=subprocess.DEVNULL, start_new_session=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
    except OSError as error:
        raise Refusal("missing", f"cannot start {command[0]}: {error.strerror}") from None
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
    """Symbols that the linker did not find, without those of the driver, which is there later."""
    lines = [line for line in log.splitlines() if "undefined reference to" in line]
    return "\n".join(line for line in lines if not _DRIVER.search(line))


def _end(log: str, code: int) -> str:
    """For a failure without a message that is known for one."""
    reason = f"nvcc was killed by signal {-code}" if code < 0 else f"nvcc ended with code {code}"
    last = "\n".join(line[:300] for line in log.splitlines()[-5:])
    return f"error: {reason}\n{last}".strip()


def _named(found: dict[str, dict[str, int]], demangler: str | None) -> dict[str, Any]:
    """The same by names that people can read, where there is a demangler."""
    names = list(found)
    told = _demangled(names, demangler) if demangler and names else names
    named: dict[str, Any] = {}
    for mangled, name in zip(names, told, strict=True):
        short = readable(mangled) if name == mangled else name.removeprefix("void ").split("(")[0]
        named[short if short not in named else f"{short} #{len(named) + 1}"] = found[mangled]
    return named


def _demangled(names: list[str], demangler: str) -> list[str]:
    try:
        done = subprocess.run(
            [demangler], input="\n".join(names), capture_output=True, text=True, timeout=10,
            check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return names
    told = done.stdout.splitlines()
    return told if len(told) == len(names) else names


def _machine_code(library: Path, arch: str) -> dict[str, Any]:
    """Facts of each kernel's machine code, or why there are none."""
    try:
        found = read_executable_sass(library, arch)
    except WorldError as error:
        return {"sass": {}, "sass_missing": str(error)}
    facts = {
        name: one.model_dump(mode="json", exclude_defaults=True) for name, one in found.items()
    }
    return {"sass": facts, "sass_missing": None}


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise Refusal("disk", f"cannot read {path}: {error.strerror}") from None


if __name__ == "__main__":
    main()
