"""Reports that a user brings: CSV of either page, .ncu-rep through NVIDIA's reader or ncu."""

from __future__ import annotations

import importlib.util
import json
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcts.domain import Metric
from mcts.domain import metrics as m
from mcts.errors import InputError
from profilers.compiling import toolchain
from profilers.ncu import LAUNCHES, NcuReport, read_report
from profilers.ncu import report_files as ncu_rep
from profilers.ncu.metrics import COLLECTED
from profilers.ncu.pages import parse_csv
from tests.support.tools import put_tool

DATA = Path(__file__).parents[2] / "data" / "ncu"
RAW = DATA / "three_kernels.csv"
HAS_MODULE = importlib.util.find_spec("ncu_report") is not None

# The shape of NVIDIA's module; a report here is JSON, and what it says may make the reader fail.
MODULE = """
import json, os, time
class _Metric:
    ValueKind_ANY, ValueKind_STRING, ValueKind_FLOAT, ValueKind_DOUBLE, ValueKind_UINT32, \\
        ValueKind_UINT64 = range(6)
    def __init__(self, value, unit):
        self._value, self._unit = value, unit
    def has_value(self):
        return self._value is not None
    def kind(self):
        return self.ValueKind_STRING if isinstance(self._value, str) else self.ValueKind_DOUBLE
    def as_double(self):
        return 0.0 if isinstance(self._value, str) else float(self._value)
    def unit(self):
        return self._unit
class _Action:
    NameBase_FUNCTION, NameBase_DEMANGLED, NameBase_MANGLED = range(3)
    def __init__(self, facts):
        self._facts = facts
    def name(self, base):
        return self._facts["name"] if base == self.NameBase_DEMANGLED else "?"
    def metric_by_name(self, name):
        found = self._facts["metrics"].get(name)
        return None if found is None else _Metric(*found)
class _Range:
    def __init__(self, actions):
        self._actions = actions
    def num_actions(self):
        return len(self._actions)
    def action_by_idx(self, index):
        return _Action(self._actions[index])
class _Context:
    def __init__(self, ranges):
        self._ranges = ranges
    def num_ranges(self):
        return len(self._ranges)
    def range_by_idx(self, index):
        return _Range(self._ranges[index])
def load_report(path):
    text = open(path).read()
    if text == "abort":
        os.abort()
    if text == "hang":
        time.sleep(60)
    if text == "raise":
        raise RuntimeError("made by a newer version")
    return _Context(json.loads(text))
"""
LAUNCH = {
    "name": "void scale<float>(float *)",
    "metrics": {
        m.DURATION: [1500.0, "ns"],
        m.DRAM_READ_BYTES: [4096, "byte"],
        m.SM: ["text", "%"],
        m.L2: [None, "%"],
        m.L1: ["NaN", "%"],
        m.DRAM: [1.0, "byte"],
    },
}


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module `ncu_report` that is importable."""
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "ncu_report.py").write_text(MODULE)
    monkeypatch.setenv("PYTHONPATH", str(folder))


@pytest.fixture(autouse=True)
def no_tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Only the tools that a test makes are found, wherever it runs."""
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}/usr/bin:/bin")
    monkeypatch.setattr(toolchain, "_toolkit_folders", lambda: iter(()))
    monkeypatch.setattr(toolchain, "_wheel_folders", lambda: iter(()))
    toolchain.find_tool.cache_clear()
    yield
    toolchain.find_tool.cache_clear()


def binary(folder: Path, content: object) -> Path:
    path = folder / "run.ncu-rep"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def values(report: NcuReport) -> list[tuple[str, dict[str, Metric]]]:
    return [(kernel.name, kernel.metrics) for kernel in report.kernels]


@pytest.mark.parametrize("name", ["three_kernels.csv", "details.csv", "collected.csv"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_csv_in_the_encodings_that_shells_write(name: str, encoding: str, tmp_path: Path) -> None:
    text = (DATA / name).read_text()
    path = tmp_path / "REPORT.CSV"
    path.write_text(text, encoding=encoding)
    assert values(read_report(path)) == values(parse_csv(text))
    assert read_report(path).missing == parse_csv(text).missing


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.csv", "", "empty"),
        ("a.csv", "a,b\n1,2\n", "no table"),
        ("a.csv", '"ID","Kernel Name"\n', "no kernel"),
        ("a.csv", "\0\1\2" * 99, "no table"),
        ("a.csv", "==ERROR== ERR_NVGPUCTRPERM - no\n", "ERR_NVGPUCTRPERM"),
        ("a.csv", "==ERROR== The application crashed\n", "The application crashed"),
        ("a.txt", "x", "neither"),
        ("ncu-rep", "x", "neither"),
        ("a.ncu-rep", "", "empty"),
    ],
)
def test_a_file_that_is_no_report_is_refused_in_one_line(
    name: str, content: str, words: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(InputError, match=words) as raised:
        read_report(path)
    assert str(path) in str(raised.value) and "\n" not in str(raised.value)


def test_no_file_and_a_folder(tmp_path: Path) -> None:
    (tmp_path / "folder.csv").mkdir()
    os.mkfifo(tmp_path / "pipe.csv")
    for name in ("none.csv", "none.ncu-rep", "folder.csv", "pipe.csv"):
        with pytest.raises(InputError, match="no such file"):
            read_report(tmp_path / name)


def test_a_file_that_is_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ncu_rep, "LARGEST_FILE", 1 << 20)
    path = tmp_path / "a.csv"
    path.write_bytes(b"x" * ((1 << 20) + 1))
    with pytest.raises(InputError, match="larger than 1 MiB"):
        read_report(path)


@pytest.mark.skipif(HAS_MODULE, reason="NVIDIA's module is here")
def test_without_a_reader_the_error_says_what_to_install(tmp_path: Path) -> None:
    monkey = binary(tmp_path, "NVR")
    with pytest.raises(InputError) as raised:
        read_report(monkey)
    for words in ("pip install ncu-report", "ncu on PATH", "--page raw --print-units base"):
        assert words in str(raised.value)


@pytest.mark.usefixtures("module")
def test_the_module_is_read_value_by_value(tmp_path: Path) -> None:
    other = {"name": "last(int)", "metrics": {m.DURATION: [7, "ns"]}}
    report = read_report(binary(tmp_path, [[LAUNCH], [other]]))
    assert values(report) == [
        ("scale", {m.DURATION: Metric(value=1500, unit="ns"),
                   m.DRAM_READ_BYTES: Metric(value=4096, unit="byte")}),
        ("last", {m.DURATION: Metric(value=7, unit="ns")}),
    ]  # fmt: skip
    assert set(report.missing) == set(COLLECTED) - {m.DURATION}
    assert "no number" in report.missing[m.SM]
    assert "no value" in report.missing[m.L2]
    assert "'byte'" in report.missing[m.DRAM]
    assert report.missing[m.DRAM_READ_BYTES] == "not in the report (in 1 of 2 launches)"


@pytest.mark.usefixtures("module")
def test_launches_beyond_the_cap_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ncu_rep, "MOST_LAUNCHES", 2)
    report = read_report(binary(tmp_path, [[LAUNCH] * 3]))
    assert len(report.kernels) == 2
    assert report.missing[LAUNCHES] == "only the first 2 launches were read"


@pytest.mark.usefixtures("module")
@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("abort", "SIGABRT"),
        ("raise", "made by a newer version"),
        ("hang", "stopped after 1 s"),
        ("[]", "no kernel"),
        ("[[]]", "no kernel"),
        ("not json", "Expecting value"),
    ],
)
def test_ncu_is_asked_if_the_module_fails(
    content: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if content == "hang":
        monkeypatch.setattr(ncu_rep, "IMPORT_DEADLINE_S", 1.0)
    path = binary(tmp_path, content)
    with pytest.raises(InputError, match=words):
        read_report(path)
    put_tool(tmp_path / "ncu", f'cat "{RAW}"\n')
    assert values(read_report(path)) == values(read_report(RAW))


@pytest.mark.skipif(HAS_MODULE, reason="NVIDIA's module is here")
@pytest.mark.parametrize("place", ["ncu-2025/target/linux/ncu", "ncu-2025/ncu"])
def test_the_module_is_found_beside_ncu(place: str, tmp_path: Path) -> None:
    tool = tmp_path / place
    put_tool(tool, "exit 1\n")
    (tmp_path / "ncu").symlink_to(tool)
    extras = tmp_path / "ncu-2025" / "extras" / "python"
    extras.mkdir(parents=True)
    (extras / "ncu_report.py").write_text(MODULE)
    assert [kernel.name for kernel in read_report(binary(tmp_path, [[LAUNCH]])).kernels] == [
        "scale"
    ]


@pytest.mark.skipif(HAS_MODULE, reason="NVIDIA's module is here")
@pytest.mark.parametrize(
    ("body", "words"),
    [
        (
            "echo '==ERROR== The file is damaged'; exit 1",
            "The file is damaged.*ended with status 1",
        ),
        ("echo no >&2; exit 3", "ended with status 3: no"),
        ("kill -SEGV $$", "SIGSEGV"),
        ("sleep 60", "stopped after 1 s"),
        ("true", "no table"),
    ],
)
def test_ncus_own_words_explain_an_unreadable_file(
    body: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if body.startswith("sleep"):
        monkeypatch.setattr(ncu_rep, "IMPORT_DEADLINE_S", 1.0)
    put_tool(tmp_path / "ncu", body + "\n")
    with pytest.raises(InputError, match=words):
        read_report(binary(tmp_path, "NVR"))


@pytest.mark.skipif(HAS_MODULE, reason="NVIDIA's module is here")
def test_ncu_is_run_in_a_plain_locale_and_without_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = secrets.token_hex(16)
    monkeypatch.setenv("OPENAI_API_KEY", secret)
    monkeypatch.setenv("SOMETHING_ELSE", secret)
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    seen = tmp_path / "seen"
    put_tool(tmp_path / "ncu", f'{{ env; echo "$@"; }} > {seen}\ncat "{RAW}"\n')
    path = binary(tmp_path, "NVR")
    read_report(path)
    text = seen.read_text()
    assert secret not in text
    assert "LC_ALL=C\n" in text
    assert text.endswith(f"--import {path} --csv --page raw --print-units base\n")
