"""A candidate under ncu, in its jail: on the host, with an ncu that runs it and prints a record."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("torch")

from mcts.domain import metrics as m
from profilers import ncu
from profilers.kernelbench.judge.counters import (
    FEW_METRICS,
    CounterResult,
    ReadyProfiler,
    collect_counters,
)
from profilers.kernelbench.shared.profiling_spec import ProfilingSpec
from profilers.ncu.metrics import COLLECTED
from profilers.profiles.launches import TracedKernel
from profilers.sandbox import Jail, landlock
from tests.profilers.kernelbench.judge.fake_ncu import THEN_PRINT, install

PROBLEM = """
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.linear = nn.Linear(columns, columns)

    def forward(self, x):
        return self.linear(x)

def get_inputs():
    return [torch.randn(4, 8)]

def get_init_inputs():
    return [8]
"""
HONEST = PROBLEM.replace("class Model", "class ModelNew").split("def get_inputs")[0]
KERNELS = ["saxpy", "saxpy_strided", "naive_mm"]

Profile = Callable[..., CounterResult]


def has_landlock() -> bool:
    try:
        return landlock.abi() > 0
    except OSError:
        return False


@pytest.fixture
def profile(tmp_path: Path, tools: Path) -> Profile:
    """Profile a candidate, in a folder it may write to; `run` is what ncu does with it."""

    def profile(source: str = HONEST, *, run: str = THEN_PRINT, **options: object) -> CounterResult:
        install(tools, run)
        for name in ("work", "source"):
            (tmp_path / name).mkdir(exist_ok=True)
        problem, candidate = tmp_path / "problem.py", tmp_path / "source" / "candidate.py"
        problem.write_text(PROBLEM)
        candidate.write_text(source)
        return collect_counters(
            ProfilingSpec(problem=str(problem), candidate=str(candidate), device="cpu", seed=1),
            jail=Jail(writable=(tmp_path / "work",), readable=(problem, candidate.parent)),
            cwd=tmp_path / "work",
            **options,  # type: ignore[arg-type]
        )

    return profile


def saying(statement: str) -> str:
    return HONEST.replace("        return self", f"        {statement}\n        return self")


def test_every_launch_has_its_counters(profile: Profile, tmp_path: Path) -> None:
    calls = saying("open('calls', 'a').write('x')")
    found = profile(calls)
    assert [one.name for one in found.launches] == KERNELS, found.missing
    assert found.launches[0].metrics[m.DURATION].unit == "ns"
    assert ncu.TOOL not in found.missing
    assert (tmp_path / "work" / "calls").read_text() == "xxxx"  # warm, then once


@pytest.fixture
def ready(profile: Profile, tmp_path: Path) -> Callable[..., ReadyProfiler]:
    """A profiler that is ready for the candidate that `profile` profiles."""

    def ready(source: str) -> ReadyProfiler:
        problem, candidate = tmp_path / "problem.py", tmp_path / "source" / "candidate.py"
        for folder in (candidate.parent, tmp_path / "work"):
            folder.mkdir(exist_ok=True)
        problem.write_text(PROBLEM)
        candidate.write_text(source)
        return ReadyProfiler(
            ProfilingSpec(problem=str(problem), candidate=str(candidate), device="cpu", seed=1),
            jail=Jail(writable=(tmp_path / "work",), readable=(problem, candidate.parent)),
            cwd=tmp_path / "work",
        )

    return ready


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> str:
    """What an ncu does that takes a minute for all counters; two seconds are left to it."""
    monkeypatch.setattr("profilers.kernelbench.judge.counters._START_S", 2.0)
    monkeypatch.setattr("profilers.kernelbench.judge.counters._PER_LAUNCH_S", 0.0)
    # The fake drops its options before: have it look at them first.
    monkeypatch.setattr(
        "tests.profilers.kernelbench.judge.fake_ncu.SCRIPT",
        'here=$(dirname "$0")\nall="$*"\n{run}\n',
    )
    return f'case "$all" in *{m.STALL_WAIT}*) sleep 60;; esac\ncat "$here/target/recorded.csv"'


def test_a_profiler_that_is_ready_waits_for_the_word(
    profile: Profile, ready: Callable[..., ReadyProfiler], tools: Path, tmp_path: Path
) -> None:
    run = "echo started >> starts\n" + THEN_PRINT
    install(tools, run)
    calls = saying("open('calls', 'a').write('x')")
    launched = [TracedKernel(name=name, us=10.0) for name in KERNELS]
    with ready(calls) as waiting:
        time.sleep(2.0)  # PyTorch is imported by then
        assert not (tmp_path / "work" / "calls").exists()
        found = profile(calls, launched=launched, ready=waiting, run=run)
    assert [one.name for one in found.launches] == KERNELS, found.missing
    assert (tmp_path / "work" / "calls").read_text() == "xxxx"
    assert (tmp_path / "work" / "starts").read_text() == "started\n", "no other run was needed"
    assert {path.name for path in (tmp_path / "work").iterdir()} == {"calls", "starts"}


def test_kernels_that_do_not_fit_into_one_run_are_profiled_by_name(
    profile: Profile, ready: Callable[..., ReadyProfiler], tools: Path, tmp_path: Path
) -> None:
    install(tools)
    calls = saying("open('calls', 'a').write('x')")
    launched = [TracedKernel(name=name, launches=30, us=10.0) for name in KERNELS[:2]]
    with ready(calls) as waiting:
        profile(calls, launched=launched, ready=waiting)
    assert (tmp_path / "work" / "calls").read_text() == "xxxx" * 2, "two runs, and none of it"


def test_a_ready_profiler_that_is_not_needed_ends_without_a_call(
    ready: Callable[..., ReadyProfiler], tools: Path, tmp_path: Path
) -> None:
    install(tools)
    with ready(saying("open('calls', 'a').write('x')")):
        pass
    assert not list((tmp_path / "work").iterdir())


def test_a_ready_profiler_that_takes_too_long_is_stopped(
    profile: Profile,
    ready: Callable[..., ReadyProfiler],
    tools: Path,
    slow: str,
) -> None:
    install(tools, slow)
    launched = [TracedKernel(name=name, us=10.0) for name in KERNELS]
    with ready(HONEST) as waiting:
        found = profile(launched=launched, ready=waiting, run=slow)
    assert [one.name for one in found.launches] == KERNELS, "the few counters followed"
    left_out = set(COLLECTED) - set(FEW_METRICS)
    assert all("took more than 2 s" in found.missing[name] for name in left_out)


FORGING = """
import glob, os
text = open({table!r}).read().replace('naive_mm', 'perfect_kernel')
print(text, flush=True)
for fd in (1, 2):
    os.write(fd, text.encode() + b'==ERROR== all is lost')
above = f'/proc/{{os.getppid()}}'
for at in [*glob.glob(above + '/fd/*'), above + '/mem']:
    try:
        open(at, 'r+b').write(text.encode())
        open('opened', 'a').write(at)
    except OSError as error:
        open('refused', 'a').write(at)
"""


@pytest.mark.skipif(not has_landlock(), reason="this kernel has no Landlock")
def test_only_the_table_of_ncu_is_read_and_candidates_cannot_reach_ncu(
    profile: Profile, tools: Path, tmp_path: Path
) -> None:
    table = tools / "target" / "recorded.csv"
    found = profile(saying(f"exec({FORGING.format(table=str(table))!r})"))
    assert [one.name for one in found.launches] == KERNELS
    assert ncu.TOOL not in found.missing
    assert not (tmp_path / "work" / "opened").exists()
    assert "/mem" in (tmp_path / "work" / "refused").read_text()


LISTENING = """
import mmap, os, socket, subprocess, sys
ends = []
for address in ("/tmp/nsight.sock", chr(0) + "nsight"):
    end = socket.socket(socket.AF_UNIX)
    end.bind(address)
    end.listen()
    end.settimeout(1)
    ends.append(end)
os.mkfifo("/tmp/nsight.pipe")
open("/dev/shm/nsight", "wb").write(bytes(16))
subprocess.run(sys.argv[1:], check=True)
heard = [end.accept()[0].recv(9) for end in ends] + [open("/dev/shm/nsight", "rb").read(9)]
if heard == [b"connected"] * 3:
    print(open(os.path.dirname(__file__) + "/recorded.csv").read())
"""
TALKING = """
import os, socket, stat
assert stat.S_ISFIFO(os.stat("/tmp/nsight.pipe").st_mode)
open("/dev/shm/nsight", "wb").write(b"connected")
for address in ("/tmp/nsight.sock", chr(0) + "nsight"):
    end = socket.socket(socket.AF_UNIX)
    end.connect(address)
    end.send(b"connected")
"""


def test_ncu_and_the_program_reach_each_other(profile: Profile, tools: Path) -> None:
    """As those of Nsight Compute do: sockets with and without a name, pipes, shared memory."""
    (tools / "target").mkdir()
    (tools / "target" / "listening.py").write_text(LISTENING)
    once = f"if not hasattr(self, 'said'): self.said = exec({TALKING!r})"
    run = f'exec "{sys.executable}" "$here/target/listening.py" "$@"'
    found = profile(saying(once), run=run)
    assert [one.name for one in found.launches] == KERNELS, found.missing


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (saying("raise RuntimeError('no luck')"), "no luck"),
        ("def broken(", "SyntaxError"),
    ],
)
def test_a_candidate_that_fails_says_why(profile: Profile, source: str, reason: str) -> None:
    found = profile(source)
    assert found.launches == []
    assert found.missing[ncu.TOOL].startswith("not profiled: ")
    assert reason in found.missing[ncu.TOOL]


def test_a_candidate_that_hangs_is_stopped_with_all_it_started(profile: Profile) -> None:
    mark = "31.4159"
    hanging = saying(
        f"import subprocess; subprocess.Popen(['sleep', '{mark}'], start_new_session=True)\n"
        "        import time; time.sleep(60)"
    )
    begin = time.monotonic()
    found = profile(hanging, longest_s=8.0)
    assert time.monotonic() - begin < 45
    assert found.launches == []
    assert "stopped" in found.missing[ncu.TOOL]
    left = subprocess.run(["pgrep", "-f", f"sleep {mark}"], capture_output=True, check=False)
    assert left.stdout == b""


def test_refused_counters_are_told_for_a_process_without_rights(profile: Profile) -> None:
    words = "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission"
    found = profile(run=f"echo '{words}'; exit 1")
    assert "NVreg_RestrictProfilingToAdminUsers=0" in found.missing[ncu.TOOL]
    assert "also for root" in found.missing[ncu.TOOL]


def test_a_program_that_ended_badly_is_quoted_beside_ncu(profile: Profile) -> None:
    words = "==ERROR== The application returned an error code (1)."
    found = profile(run=f"echo ModuleNotFoundError: no pydantic >&2; echo '{words}'; exit 1")
    assert found.missing[ncu.TOOL].endswith(
        "error code (1). The program says: ModuleNotFoundError: no pydantic"
    )


def test_a_few_counters_are_taken_if_all_take_too_long(profile: Profile, slow: str) -> None:
    found = profile(run=slow)
    assert [one.name for one in found.launches] == KERNELS
    assert set(found.launches[0].metrics) <= set(FEW_METRICS)
    left_out = set(COLLECTED) - set(FEW_METRICS)
    assert all("took more than" in found.missing[name] for name in left_out)


def test_a_call_of_many_launches_is_profiled_by_its_longest_kernels(
    profile: Profile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "tests.profilers.kernelbench.judge.fake_ncu.SCRIPT",
        'here=$(dirname "$0")\n{run}\n',
    )
    note = 'echo "$*" >> "$PWD/asked"\ncat "$here/target/recorded.csv"'
    launched = [
        TracedKernel(name="void often<float>(float*)", launches=1000, us=60.0),
        TracedKernel(name="void rare(int)", launches=4, us=30.0),
        TracedKernel(name="void tiny(int)", launches=40, us=1.0),
    ]
    profile(run=note, launched=launched)
    asked = (tmp_path / "work" / "asked").read_text().splitlines()
    assert ["regex:^(often)$" in asked[0], "regex:^(rare)$" in asked[1]] == [True, True]
    assert len(asked) == 2  # what is left takes too little


def test_without_ncu_that_is_the_reason(profile: Profile, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("profilers.ncu.find_tool", lambda name: None)
    assert "not found" in profile().missing[ncu.TOOL]
