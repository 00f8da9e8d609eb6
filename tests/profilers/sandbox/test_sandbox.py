"""Each way out of a jail is tried for real from inside; what work needs is still there."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from profilers.children.processes import Child, ChildGone, child_environment, probe_isolation
from profilers.sandbox import Jail, JailReport
from profilers.sandbox.report import FULL
from tests.support.orphan import ORPHAN, free_again

# Runs what it is sent, inside the jail; an exception is an answer.
INMATE = """
import os, sys
from profilers.children.serving import serve

def run(request):
    names = {"given": request["given"]}
    try:
        exec(request["code"], names)
    except BaseException as error:
        return {"error": type(error).__name__, "errno": getattr(error, "errno", None)}
    return {"value": names.get("value")}

serve({"run": run})
"""
MIB = 2**20


@dataclass
class Inmate:
    """A jailed child, the folder it may write, and one beside it that it may not even see."""

    child: Child
    work: Path
    outside: Path

    def run(self, code: str, given: object = None, *, timeout_s: float = 30) -> dict[str, Any]:
        """What running `code` in the jail came to: its `value`, or its error."""
        request = {"op": "run", "code": code, "given": given}
        return self.child.request(request, timeout_s=timeout_s)


def make_inmate(folder: Path) -> Inmate:
    for name in ("script", "work", "outside"):
        (folder / name).mkdir()
    script = folder / "script" / "inmate.py"
    script.write_text(INMATE)
    jail = Jail(
        writable=(folder / "work",), readable=(script.parent,), processes=200,
        tmpfs_bytes=32 * MIB, file_bytes=8 * MIB,
    )  # fmt: skip
    child = Child([sys.executable, str(script)], cwd=folder / "work", jail=jail)
    return Inmate(child, folder / "work", folder / "outside")


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Inmate]:
    """For what leaves no trace."""
    inmate = make_inmate(tmp_path_factory.mktemp("jail"))
    yield inmate
    inmate.child.kill()


@pytest.fixture
def inmate(tmp_path: Path) -> Iterator[Inmate]:
    inmate = make_inmate(tmp_path)
    yield inmate
    inmate.child.kill()


def need(*parts: str) -> None:
    """Skip where this machine gives none of `parts`, any of which would do."""
    isolation = probe_isolation()
    if not set(parts) & set(isolation.parts):
        pytest.skip(f"no {' or '.join(parts)} here: {isolation.missing}")


def test_the_probe_names_what_holds_and_why_the_rest_does_not() -> None:
    isolation = probe_isolation()
    assert (isolation.level == "full") == (set(isolation.parts) >= FULL)
    assert not set(isolation.parts) & set(isolation.missing)
    assert all(isolation.missing.values())
    assert probe_isolation() is isolation


def test_a_child_is_held_by_what_the_probe_found(shared: Inmate) -> None:
    assert shared.child.isolation == probe_isolation()


def test_a_jail_survives_its_journey() -> None:
    jail = Jail(gpu=True, writable=(Path("/a"),), readable=(Path("/b"),), data_bytes=5)
    assert Jail.from_json(jail.to_json()) == jail


def test_files_of_others_cannot_be_read(shared: Inmate) -> None:
    need("landlock", "mount")
    secret = shared.outside / "secret"
    secret.write_text("the expected values")
    assert "error" in shared.run("value = open(given).read()", str(secret))
    assert "error" in shared.run("import os; value = os.listdir(given)", str(shared.outside))


@pytest.mark.parametrize("name", [".netrc", ".ssh/id_ed25519", ".config/keys.toml", "run.sqlite"])
def test_home_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    need("landlock", "mount")
    home = tmp_path / "home"
    secret = home / name
    secret.parent.mkdir(parents=True)
    secret.write_text("machine x password y")
    monkeypatch.setenv("HOME", str(home))
    inmate = make_inmate(tmp_path)
    try:
        assert "error" in inmate.run("value = open(given).read()", str(secret))
    finally:
        inmate.child.kill()


def test_nothing_outside_can_be_written(shared: Inmate) -> None:
    need("landlock", "mount")
    target = shared.outside / "planted"
    for place in (target, Path(__file__), Path("/usr/lib/planted"), Path("/planted")):
        shared.run("open(given, 'a').write('#')", str(place))
        shared.run("import os; os.unlink(given)", str(place))
    assert not target.exists() and not Path("/planted").exists()
    assert Path(__file__).read_text().startswith('"""')
    package = Path(sys.modules["profilers"].__file__ or "").parent
    assert "error" in shared.run("open(given, 'a')", str(package / "judging.py"))


def test_the_kernel_cannot_be_tuned(shared: Inmate) -> None:
    need("landlock", "mount")
    for name in ("/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/sys/power/state"):
        assert "error" in shared.run("open(given, 'w')", name)


def test_there_is_no_network(shared: Inmate) -> None:
    need("seccomp", "network")
    try:
        server = socket.create_server(("127.0.0.1", 0))
    except OSError as error:
        pytest.skip(f"no network to be kept from: {error}")
    with server:
        code = "import socket; socket.create_connection(('127.0.0.1', given), timeout=5)"
        assert "error" in shared.run(code, server.getsockname()[1])


def test_sockets_of_the_machine_are_out_of_reach(shared: Inmate) -> None:
    need("seccomp", "mount")
    path = shared.outside / "socket"
    connect = "import socket; s = socket.socket(socket.AF_UNIX); s.connect(given)"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(path))
        server.listen()
        assert "error" in shared.run(connect, str(path))
    abstract = f"\0rooftree-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(abstract)
        server.listen()
        assert "error" in shared.run(connect, abstract)


def test_other_processes_are_out_of_sight_and_reach(shared: Inmate) -> None:
    need("pid")
    seen = shared.run("import os; value = [int(e) for e in os.listdir('/proc') if e.isdigit()]")
    if "mount" in probe_isolation().parts:
        assert set(seen["value"]) <= set(range(1, 50))
    mine = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        shared.run("import os; os.kill(given, 9)", mine.pid)
        assert shared.run("import os; value = os.getppid()")["value"] in (0, 1)
        assert mine.poll() is None
    finally:
        mine.kill()
        mine.wait()


@pytest.mark.parametrize(
    "call",
    [
        "ptrace(0, 0, 0, 0)",  # TRACEME
        "unshare(0x10000000)",
        "mount(b'none', b'/tmp', b'tmpfs', 0, None)",
        "syscall(435, 0, 0)",  # clone3
        "syscall(425, 8, 0)",  # io_uring_setup
        "sched_setaffinity(0, 8, (ctypes.c_ulong * 1)(1))",
    ],
)
def test_dangerous_calls_are_refused(shared: Inmate, call: str) -> None:
    need("seccomp")
    code = f"import ctypes; value = ctypes.CDLL(None).{call}"
    assert shared.run(code)["value"] == -1


def test_no_right_is_left_nor_comes_back(shared: Inmate) -> None:
    need("capabilities")
    code = "import subprocess; value = subprocess.check_output(['cat', '/proc/self/status'])"
    status = shared.run(code + ".decode()")["value"]
    lines = dict(line.split(":", 1) for line in status.splitlines())
    assert int(lines["CapEff"], 16) == int(lines["CapPrm"], 16) == 0
    if os.geteuid() == 0 or "user" in probe_isolation().parts:
        assert int(lines["CapBnd"], 16) == 0
    assert lines["NoNewPrivs"].strip() == "1"


def test_the_gpu_is_absent_unless_it_is_given(shared: Inmate) -> None:
    need("landlock", "mount")
    nodes = [node for node in Path("/dev").glob("nvidia*") if node.is_char_device()]
    if not nodes:
        pytest.skip("there is no GPU to keep out")
    for node in nodes:
        assert "error" in shared.run("open(given, 'rb')", str(node))


def test_a_fork_bomb_is_bounded(inmate: Inmate) -> None:
    need("processes")
    bomb = """
import os, time
value = 0
try:
    while value < 5000:
        if os.fork() == 0:
            time.sleep(600)
        value += 1
except OSError:
    pass
"""
    assert inmate.run(bomb)["value"] < 600
    inmate.child.kill()
    assert not inmate.child.alive


def test_memory_files_are_bounded_and_stay_inside(inmate: Inmate) -> None:
    need("mount")
    fill = """
with open(given + '/{}', 'wb') as file:
    while True:
        file.write(bytes(2**20))
        if file.tell() >= 7 * 2**20:
            break
"""
    errors = [
        inmate.run(fill.format(f"fill{index}"), place).get("errno")
        for index in range(3)
        for place in ("/tmp", "/dev/shm")
    ]
    assert errors[0] is None and errors[-1] == 28  # one file system, full
    assert not any(Path(place, "fill0").exists() for place in ("/tmp", "/dev/shm"))


def test_files_are_capped_and_leave_no_core(shared: Inmate) -> None:
    need("limits")
    code = "open(given, 'wb').write(bytes(9 * 2**20))"
    assert shared.run(code, str(shared.work / "large"))["errno"] == 27
    assert (shared.work / "large").stat().st_size <= 8 * MIB
    limit = "import resource; value = resource.getrlimit(resource.RLIMIT_CORE)"
    assert shared.run(limit)["value"] == [0, 0]


def test_work_can_be_done(shared: Inmate) -> None:
    code = """
import ctypes, multiprocessing, os, subprocess, tempfile, threading
import numpy
with tempfile.NamedTemporaryFile() as file:
    file.write(b'temporary')
names = []
def name_me():
    with open(f'/proc/self/task/{threading.get_native_id()}/comm', 'w') as file:
        file.write('renamed')
    with open(f'/proc/{os.getpid()}/task/{threading.get_native_id()}/comm') as file:
        names.append(file.read().strip())
thread = threading.Thread(target=name_me)
thread.start()
thread.join()
open('made', 'w').write('here')
os.rename('made', 'kept')
value = [int(numpy.ones(3).sum()), names, subprocess.call(['/bin/true'])]
"""
    assert shared.run(code).get("value") == [3, ["renamed"], 0]
    assert (shared.work / "kept").read_text() == "here"


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc")
def test_a_compiler_works(shared: Inmate) -> None:
    (shared.work / "a.c").write_text("int one(void) { return 1; }\n")
    code = """
import ctypes, subprocess
subprocess.run(['gcc', '-shared', '-fPIC', '-o', 'a.so', 'a.c'], check=True)
value = ctypes.CDLL('./a.so').one()
"""
    assert shared.run(code).get("value") == 1


def test_no_orphan_outlives_a_kill(inmate: Inmate) -> None:
    lock = inmate.work / "lock"
    lock.touch()
    assert "error" not in inmate.run(ORPHAN, str(lock))
    assert lock.read_text() == "held"
    inmate.child.kill()
    assert free_again(lock)


def test_no_orphan_outlives_a_crash(inmate: Inmate) -> None:
    lock = inmate.work / "lock"
    lock.touch()
    inmate.run(ORPHAN, str(lock))
    with pytest.raises(ChildGone, match="SIGSEGV"):
        inmate.run("import os; os.kill(os.getpid(), 11)")
    assert free_again(lock)


def test_no_orphan_outlives_the_judge(tmp_path: Path) -> None:
    program = tmp_path / "judge.py"
    program.write_text(
        "import os, sys\nfrom pathlib import Path\n"
        f"sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "import test_sandbox as tests\n"
        "inmate = tests.make_inmate(Path(sys.argv[1]))\n"
        "lock = inmate.work / 'lock'\nlock.touch()\n"
        "inmate.run(tests.ORPHAN, str(lock))\n"
        "os.kill(os.getpid(), 9)\n"
    )
    environment = child_environment() | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    ended = subprocess.run([sys.executable, str(program), str(tmp_path)], env=environment)
    assert ended.returncode == -9
    assert free_again(tmp_path / "work" / "lock")


# Parts of the kernel's interface refuse; the rest must hold all the same.
DEGRADED = """
import errno, os, sys
from pathlib import Path
from profilers.sandbox import Jail, syscalls
from profilers.sandbox.enter import enter

def refused(*arguments, **named):
    raise OSError(errno.EPERM, "planted refusal")

for name in sys.argv[1].split(","):
    setattr(syscalls, name, refused)
held = enter(Jail(gpu=True, writable=(Path.cwd(),)))
try:
    read = bool(open(sys.argv[2]).read())
except OSError:
    read = False
Path(f"/proc/self/task/{os.getpid()}/comm").write_text("renamed")
Path("mine").write_text("mine")
print(held.to_json(), read)
sys.stdout.flush()
if len(sys.argv) > 3:
    given = sys.argv[3]
    exec(sys.argv[4])
"""
NAMESPACES = {"user", "pid", "network", "ipc", "uts", "mount"}


@pytest.mark.parametrize(
    ("refuse", "lost"),
    [
        ("unshare", NAMESPACES),
        ("mount", {"mount", "pid"}),
        ("pivot_here", {"mount"}),
        ("restrict_mount", {"mount"}),
        ("drop_capabilities", {"capabilities"}),
        ("syscall", {"mount", "capabilities", "landlock", "seccomp"}),
        ("unshare,mount,syscall", NAMESPACES | {"capabilities", "landlock", "seccomp"}),
    ],
)
def test_a_refused_part_is_named_and_the_rest_holds(
    tmp_path: Path, refuse: str, lost: set[str]
) -> None:
    secret, work, script = (
        tmp_path / "secret",
        tmp_path / "work",
        tmp_path / "script" / "degraded.py",
    )
    secret.write_text("secret")
    work.mkdir()
    script.parent.mkdir()
    script.write_text(DEGRADED)
    lock = work / "lock"
    lock.touch()
    command = [sys.executable, str(script), refuse, str(secret), str(lock), ORPHAN]
    ended = subprocess.run(
        command, env=child_environment(), cwd=work, capture_output=True, text=True, timeout=60,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    report, _, read = ended.stdout.strip().rpartition(" ")
    held = JailReport.from_json(report)
    usual = probe_isolation(gpu=True)
    varies = {"processes"}  # what bounds them depends on the rest
    assert set(held.parts) - varies == set(usual.parts) - lost - varies
    assert lost <= set(held.missing) and all(held.missing.values())
    if held.has("landlock") or held.has("mount"):
        assert read == "False"
    assert (work / "mine").exists() and free_again(lock)
    assert (held.isolation().level == "full") == (set(held.parts) >= FULL)


def test_a_report_is_read_strictly() -> None:
    held = JailReport(["user"], {"pid": "refused"})
    assert JailReport.from_json(held.to_json()) == held
    for nonsense in ("[]", "{}", json.dumps({"parts": 3, "missing": {}})):
        with pytest.raises((KeyError, TypeError)):
            JailReport.from_json(nonsense)
