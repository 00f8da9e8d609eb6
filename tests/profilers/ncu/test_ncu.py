"""Running ncu: what it is asked, what it is shown, and every way in which it may fail."""

from __future__ import annotations

import os
import secrets
import time
from pathlib import Path
from typing import Any

import pytest

from mcts.domain import metrics as m
from mcts.errors import InputError
from profilers import ncu
from profilers.children.processes import allow_listed, child_environment
from profilers.ncu import LAUNCHES, LAUNCHES_OF_A_PROGRAM, TOOL, NcuReport, collect
from profilers.ncu.metrics import COLLECTED
from tests.support.orphan import gone
from tests.support.tools import put_tool

DATA = Path(__file__).parents[2] / "data" / "ncu"
RAW = DATA / "three_kernels.csv"
ONLY_BY_NAME = {m.FFMA, m.FADD, m.FMUL}
"""What the report that our fake prints does not hold."""

# Notes its arguments and environment, and finds its log file; then does what the test says.
PREAMBLE = """
echo run >> "@seen@/runs"
printf '%s\\n' "$@" > "@seen@/arguments"
{ env; cat /proc/self/environ; } > "@seen@/environment"
metrics=""; log=""
while [ $# -gt 0 ]; do
  case "$1" in
    --metrics) metrics="$2"; shift 2;;
    --log-file) log="$2"; shift 2; break;;
    *) shift;;
  esac
done
"""
PRINT = f'cat "{RAW}" > "$log"\n'


def fake_ncu(folder: Path, body: str) -> None:
    """An ncu in `folder`, which is on PATH; it notes there what it is shown."""
    put_tool(folder / "ncu", PREAMBLE.replace("@seen@", str(folder)) + body)


def run(folder: Path, *, timeout_s: float = 20, **options: Any) -> NcuReport:
    env = child_environment()
    return collect(["program", "--fast"], env=env, cwd=folder, timeout_s=timeout_s, **options)


def arguments(folder: Path) -> list[str]:
    return (folder / "arguments").read_text().splitlines()


def runs(folder: Path) -> int:
    return len((folder / "runs").read_text().splitlines())


def test_requested_metrics_are_read_and_missing_ones_named(tools: Path) -> None:
    fake_ncu(tools, PRINT)
    report = run(tools)
    assert [kernel.name for kernel in report.kernels] == ["saxpy", "saxpy_strided", "naive_mm"]
    for kernel in report.kernels:
        assert set(kernel.metrics) == set(COLLECTED) - ONLY_BY_NAME
    assert set(report.missing) == ONLY_BY_NAME
    few = run(tools, metrics=[m.SM])
    assert [set(kernel.metrics) for kernel in few.kernels] == [{m.SM}] * 3
    assert few.missing == {}


def test_a_bracketed_command_limits_itself_what_is_profiled(tools: Path) -> None:
    fake_ncu(tools, PRINT)
    run(tools)
    words = arguments(tools)
    assert words[:2] == ["--profile-from-start", "off"]
    assert words[words.index("--metrics") + 1] == ",".join(COLLECTED)
    assert words[words.index("--print-units") + 1] == "base"
    assert words[words.index("--clock-control") + 1] == "none"
    assert words[-2:] == ["program", "--fast"]
    assert not {"--launch-count", "--kernel-name", "--launch-skip"} & set(words)


def test_any_other_command_is_profiled_from_its_start_up_to_a_cap(tools: Path) -> None:
    fake_ncu(tools, PRINT)
    report = run(tools, bracketed=False)
    words = arguments(tools)
    assert "--profile-from-start" not in words
    assert words[words.index("--target-processes") + 1] == "all"
    assert words[words.index("--launch-count") + 1] == str(LAUNCHES_OF_A_PROGRAM)
    assert LAUNCHES not in report.missing


def test_kernels_and_launches_are_selected(tools: Path) -> None:
    fake_ncu(tools, PRINT)
    report = run(tools, bracketed=False, kernels=["saxpy", "ns::mm_.*"], skip=7, launches=3)
    words = arguments(tools)
    assert words[words.index("--kernel-name") + 1] == "regex:^(saxpy|ns::mm_.*)$"
    assert words[words.index("--launch-skip") + 1] == "7"
    assert words[words.index("--launch-count") + 1] == "3"
    assert report.missing[LAUNCHES].startswith("profiling stopped after 3 launches")
    run(tools, kernels=["ns::saxpy"])
    assert "regex:^(saxpy)$" in arguments(tools)


@pytest.mark.parametrize(
    "wrong", [{"launches": 0}, {"skip": -1}, {"kernels": [""]}, {"kernels": ["a("]}]
)
def test_wrong_arguments_are_refused(wrong: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(InputError):
        run(tmp_path, **wrong)
    with pytest.raises(InputError):
        collect([], env={}, cwd=tmp_path, timeout_s=1)


def test_only_the_allow_list_is_shown_in_a_plain_locale(
    tools: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = secrets.token_hex(16)
    for name in ("OPENAI_API_KEY", "NVIDIA_API_KEY", "CUDA_TOKEN", "MY_PROJECT", "HTTPS_PROXY"):
        monkeypatch.setenv(name, secret)
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    fake_ncu(tools, PRINT)
    for env in (child_environment(), dict(os.environ)):
        collect(["true"], env=env, cwd=tools, timeout_s=20)
        text = (tools / "environment").read_text()
        assert secret not in text
        shown = dict(line.split("=", 1) for line in text.split("\0")[0].splitlines() if "=" in line)
        assert shown["LC_ALL"] == "C"
        assert shown["CUDA_VISIBLE_DEVICES"] == "0"
        made_by_the_shell = {"PWD", "OLDPWD", "SHLVL", "_"}
        assert allow_listed(shown).keys() == shown.keys() - made_by_the_shell
    # The check can fail: shown everything, the fake keeps it.
    os.spawnve(os.P_WAIT, str(tools / "ncu"), ["ncu", "--log-file", "/dev/null"], dict(os.environ))
    assert secret in (tools / "environment").read_text()


@pytest.mark.parametrize(
    "words",
    [
        f"Failed to find metric {m.LIMIT_BARRIERS}",
        f"Failed to find metric regex:^{m.LIMIT_BARRIERS}(\\.(sum|avg|min|max))$",
        f"Failed to find metric regex:^{m.LIMIT_BARRIERS}\\.(sum|avg)$",
    ],
)
def test_an_unknown_metric_costs_only_itself(tools: Path, words: str) -> None:
    (tools / "words").write_text(f"==ERROR== {words}\n")
    refuse = f'case "$metrics" in *{m.LIMIT_BARRIERS}*) cp "{tools}/words" "$log"; exit 1;; esac\n'
    fake_ncu(tools, refuse + PRINT)
    report = run(tools)
    assert runs(tools) == 2
    assert len(report.kernels) == 3
    assert set(report.missing) == ONLY_BY_NAME | {m.LIMIT_BARRIERS}
    assert "Failed to find metric" in report.missing[m.LIMIT_BARRIERS]


def test_several_unknown_metrics_are_left_out_in_turn(tools: Path) -> None:
    refuse = "".join(
        f'case "$metrics" in *{name}*) echo "==ERROR== Failed to find metric {name}" > "$log"; '
        "exit 1;; esac\n"
        for name in (m.LIMIT_BARRIERS, m.STALL_GMMA)
    )
    fake_ncu(tools, refuse + PRINT)
    report = run(tools)
    assert runs(tools) == 3
    assert set(report.missing) == ONLY_BY_NAME | {m.LIMIT_BARRIERS, m.STALL_GMMA}


def test_a_name_that_only_begins_alike_is_kept(tools: Path) -> None:
    fake_ncu(tools, f'echo "==ERROR== Failed to find metric {m.DURATION}s" > "$log"; exit 1\n')
    report = run(tools)
    assert runs(tools) == 1
    assert set(report.missing) == {TOOL}
    assert "Failed to find metric" in report.missing[TOOL]


def test_an_ncu_that_knows_no_metric_is_given_up(tools: Path) -> None:
    fake_ncu(
        tools,
        'echo "==ERROR== Failed to find metric ${metrics%%,*}" > "$log"; exit 1\n',
    )
    report = run(tools)
    assert runs(tools) <= 6
    assert report.kernels == ()
    assert "Failed to find metric" in report.missing[TOOL]
    assert "Failed to find metric" in report.missing[COLLECTED[0]]
    few = run(tools, metrics=[m.SM])
    assert "Failed to find metric" in few.missing[m.SM]


def test_a_metric_printed_as_not_available(tools: Path) -> None:
    fake_ncu(tools, f"""sed 's/"74.20"/"n\\/a"/' "{RAW}" > "$log"\n""")
    report = run(tools)
    assert report.missing[m.ACHIEVED_OCCUPANCY] == "ncu printed 'n/a' (in 1 of 3 launches)"


@pytest.mark.parametrize("where", ['> "$log"', "", ">&2"])
def test_refused_counters_are_a_reason_not_an_error(tools: Path, where: str) -> None:
    words = "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission"
    fake_ncu(tools, f'echo "{words}" {where}\nexit 1\n')
    report = run(tools)
    assert report.kernels == ()
    assert "NVreg_RestrictProfilingToAdminUsers" in report.missing[TOOL]
    assert runs(tools) == 1


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("echo the driver fell over; exit 9", "ncu ended with status 9: the driver fell over"),
        ("kill -SEGV $$", "SIGSEGV"),
        ('echo "==ERROR== Failed to prepare" > "$log"; exit 1', "ncu says: Failed to prepare"),
        ('echo "==WARNING== No kernels were profiled." > "$log"', "ncu profiled no kernel"),
        ("true", "no table"),
        ('head -c 5000 "@raw@" | tail -n 2 > "$log"', "no table"),
    ],
)
def test_every_failure_has_a_reason(tools: Path, body: str, words: str) -> None:
    fake_ncu(tools, body.replace("@raw@", str(RAW)) + "\n")
    report = run(tools)
    assert report.kernels == ()
    assert words in report.missing[TOOL]


CODE_1 = "==ERROR== The application returned an error code (1)."


@pytest.mark.parametrize("where", ['> "$log"', ">&2"])
@pytest.mark.parametrize(
    ("printed", "told"),
    [
        ("Traceback:\\nModuleNotFoundError: No module named x\\n",
         " The program says: ModuleNotFoundError: No module named x"),
        ("\\033[31mlost\\n\\n", " The program says: ?[31mlost"),
        ("", ""),
    ],
)  # fmt: skip
def test_a_program_that_ended_badly_is_quoted(
    tools: Path, where: str, printed: str, told: str
) -> None:
    fake_ncu(tools, f"printf '{printed}' >&2; echo '{CODE_1}' {where}; exit 1\n")
    assert run(tools).missing[TOOL] == (
        f"ncu says: The application returned an error code (1).{told}"
    )


def test_a_program_is_quoted_only_if_it_is_to_blame(tools: Path) -> None:
    fake_ncu(tools, 'echo a warning >&2; echo "==ERROR== Failed to prepare" > "$log"; exit 1\n')
    assert run(tools).missing[TOOL] == "ncu says: Failed to prepare"


def test_an_error_after_many_lines_of_progress_is_heard(tools: Path) -> None:
    progress = (
        """i=0; while [ $i -lt 999 ]; do echo '==PROF== Profiling "k": 50%'; i=$((i+1)); done"""
    )
    fake_ncu(tools, f"({progress}; echo '==ERROR== The device was lost') > \"$log\"; exit 1\n")
    assert run(tools).missing == {TOOL: "ncu says: The device was lost"}


def test_the_kernels_that_were_launched_instead_are_named(tools: Path) -> None:
    words = "==WARNING== No kernels were profiled.\\nAvailable Kernels:\\n1. saxpy\\n2. naive_mm\\n"
    fake_ncu(tools, f"printf '{words}' > \"$log\"\n")
    report = run(tools, bracketed=False, kernels=["sgemm"])
    assert "but saxpy, naive_mm" in report.missing[TOOL]


def test_kernels_profiled_before_a_crash_are_kept(tools: Path) -> None:
    fake_ncu(tools, PRINT + "echo it broke; exit 2\n")
    report = run(tools)
    assert len(report.kernels) == 3
    assert report.missing[TOOL] == "ncu ended with status 2: it broke"


def test_a_timeout_kills_the_whole_group(tools: Path) -> None:
    fake_ncu(tools, f"sleep 60 & echo $! > {tools}/child; wait\n")
    report = run(tools, timeout_s=0.5)
    assert "stopped after 0.5 s" in report.missing[TOOL]
    assert gone(int((tools / "child").read_text()))


def test_one_deadline_for_all_attempts(tools: Path) -> None:
    fake_ncu(
        tools,
        'sleep 0.4; echo "==ERROR== Failed to find metric ${metrics%%,*}" > "$log"; exit 1\n',
    )
    start = time.monotonic()
    report = run(tools, timeout_s=0.6)
    assert time.monotonic() - start < 5
    assert report.missing[TOOL]


def test_a_flood_of_output_and_what_is_left_running_do_no_harm(tools: Path) -> None:
    fake_ncu(tools, f"(sleep 60 &) ; head -c 20000000 /dev/zero; {PRINT}")
    start = time.monotonic()
    assert len(run(tools).kernels) == 3
    assert time.monotonic() - start < 15


def test_absent_ncu_is_a_reason(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(ncu, "find_tool", lambda name: None)
    report = run(tmp_path)
    assert report.kernels == ()
    assert "not found" in report.missing[TOOL]


def test_an_ncu_that_cannot_be_started_is_a_reason(tools: Path) -> None:
    (tools / "ncu").write_text("no program\n")
    (tools / "ncu").chmod(0o755)
    assert "could not be started" in run(tools).missing[TOOL]
