"""nsys and what it writes: read where it can be, named where it cannot, never a hang."""

from __future__ import annotations

import re
import sqlite3
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from mcts.errors import InputError
from profilers.timeline import Activity, TimelineReport, kernel_times, nsys, nsys_tables, summarise
from profilers.timeline.nsys import PROGRAM, TOOL, profile_program, read_report
from tests.support.orphan import gone, soon
from tests.support.tools import put_tool

REAL = Path(__file__).parents[2] / "data" / "nsys" / "three_kernels.sqlite"

SCHEMA = """
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE ENUM_CUDA_MEM_KIND (id INTEGER PRIMARY KEY, name TEXT, label TEXT);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER,
  contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER,
  demangledName INTEGER, shortName INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER,
  contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER,
  bytes INTEGER, copyKind INTEGER, srcKind INTEGER, dstKind INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, globalTid INTEGER,
  correlationId INTEGER, nameId INTEGER);
INSERT INTO StringIds VALUES (1, 'void scale<float>(float *)'), (2, 'scale'),
  (3, 'cudaLaunchKernel_v7000'), (4, 'cudaMemcpy_v3020');
INSERT INTO ENUM_CUDA_MEM_KIND VALUES (0, 'CUDA_MEMOPR_MEMORY_KIND_PAGEABLE', 'Pageable'),
  (1, 'CUDA_MEMOPR_MEMORY_KIND_PINNED', 'Pinned'), (2, 'CUDA_MEMOPR_MEMORY_KIND_DEVICE', 'Device');
"""
KERNEL = "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES ({}, {}, {}, {}, {}, {}, {}, 1, 2);"
COPY = "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES ({}, {}, 0, 1, 7, 2, 0, 100, {}, {}, {});"

Made = Callable[..., Path]


@pytest.fixture
def made(tmp_path: Path) -> Made:
    """An export with our schema, or another's, and further statements."""

    def make(*statements: str, schema: str = SCHEMA) -> Path:
        path = tmp_path / "made.sqlite"
        path.unlink(missing_ok=True)
        connection = sqlite3.connect(path)
        connection.executescript(schema + "".join(statements))
        connection.close()
        return path

    return make


def kernels(report: TimelineReport) -> list[Activity]:
    return [item for item in report.activities if item.kind == "kernel"]


def test_a_real_report_reads_right() -> None:
    report = read_report(REAL)
    assert report.missing == {}
    times = kernel_times(report.activities)
    assert times == {"saxpy": [255.456], "saxpy_strided": [4039.616], "naive_mm": [3135.936]}
    memsets = [item for item in report.activities if item.kind == "memset"]
    assert [item.bytes for item in memsets] == [2**28, 2**28]
    assert {item.stream for item in report.activities} == {7}
    seen = summarise(report.activities, report.api_calls, source="nsys")
    assert seen is not None
    assert (seen.kernels, seen.launches, seen.sync_calls, seen.calls) == (3, 3, 1, 1)
    assert (seen.busy_us, seen.gap_us, seen.first_use_us) == (7431.008, 1.088, 101.344)


def test_copies_tell_direction_and_pageable_memory(made: Made) -> None:
    path = made(COPY.format(0, 5, 1, 0, 2), COPY.format(5, 9, 2, 2, 1), COPY.format(9, 12, 8, 2, 2))
    found = read_report(path).activities
    assert [(item.copy_kind, item.pageable) for item in found] == [
        ("HTOD", True), ("DTOH", False), ("DTOD", False),
    ]  # fmt: skip
    assert {item.bytes for item in found} == {100}


def test_a_version_without_kinds_of_memory_says_so(made: Made) -> None:
    schema = SCHEMA.replace(", srcKind INTEGER, dstKind INTEGER", "")
    row = "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (0, 5, 0, 1, 7, 2, 0, 100, 1);"
    report = read_report(made(row, schema=schema))
    assert report.activities[0].pageable is None
    assert report.activities[0].copy_kind == "HTOD"
    assert "pageable copies" in report.missing


def test_a_report_without_kernels_says_so(made: Made) -> None:
    report = read_report(made())
    assert report.activities == ()
    assert "no kernel" in report.missing["kernels"]


def test_missing_columns_and_tables_are_named(made: Made) -> None:
    bare = "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER{});"
    assert "no column end" in read_report(made(schema=bare.format(""))).missing["kernels"]
    path = made("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1, 3);",
                schema=bare.format(", end INTEGER"))  # fmt: skip
    report = read_report(path)
    assert [(item.name, item.end_ns) for item in report.activities] == [("unnamed kernel", 3)]
    assert {"kernel names", "API calls"} <= report.missing.keys()


def test_odd_cells_are_left_out_and_counted(made: Made) -> None:
    rows = [("5", "2"), ("NULL", "3"), ("'x'", "4"), ("1.5", "3"), ("x'00'", "3"), ("1", "2")]
    report = read_report(made(*(KERNEL.format(a, b, 0, 1, 7, 1, 0) for a, b in rows)))
    assert [(item.start_ns, item.end_ns) for item in report.activities] == [(1, 2)]
    assert report.missing["some kernels"].startswith("5 ")


def test_graphs_recorded_as_a_whole_keep_the_device_busy(made: Made) -> None:
    graph = (
        "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start, end, deviceId, contextId, streamId,"
        " correlationId, globalPid, graphId); INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE"
        " VALUES (10, 90, 0, 1, 7, 5, 0, 42);"
    )
    report = read_report(made(graph))
    assert [item.name for item in kernels(report)] == ["CUDA graph 42"]
    assert "cuda-graph-trace=node" in report.missing["kernels of CUDA graphs"]


def test_streams_and_launches_of_two_processes_are_not_mixed_up(made: Made) -> None:
    one, two = 1 << 24, 2 << 24
    report = read_report(
        made(
            KERNEL.format(100, 110, 0, 1, 7, 1, one),
            KERNEL.format(300, 310, 0, 1, 7, 1, two),
            KERNEL.format(400, 410, 0, 2, 7, 2, two),
            f"INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (50, 60, {one + 5}, 1, 3);",
            f"INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (250, 300, {two + 6}, 1, 3);",
        )
    )
    assert len({item.stream for item in report.activities}) == 3
    launch_of = {call.correlation: call.start_ns for call in report.api_calls}
    assert [launch_of.get(item.correlation) for item in report.activities] == [50, 250, None]


def test_a_version_that_does_not_tell_processes_still_tells_launches(made: Made) -> None:
    schema = SCHEMA.replace("correlationId INTEGER, globalPid INTEGER,\n  demangledName",
                            "correlationId INTEGER, demangledName")  # fmt: skip
    kernel = "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (100, 110, 0, 1, 7, 5, 1, 2);"
    launch = f"INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (50, 60, {(9 << 24) + 9}, 5, 3);"
    report = read_report(made(kernel, launch, schema=schema))
    assert report.activities[0].correlation == report.api_calls[0].correlation == 5


def test_only_the_busiest_of_several_devices_is_read(made: Made) -> None:
    report = read_report(
        made(
            KERNEL.format(0, 10, 0, 1, 7, 1, 0),
            KERNEL.format(0, 50, 1, 2, 8, 2, 0),
            "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (0, 1, 0, 1, 3), (2, 3, 0, 2, 3),"
            " (4, 5, 0, 3, 4);",
        )
    )
    assert [item.end_ns for item in report.activities] == [50]
    assert [call.start_ns for call in report.api_calls] == [2, 4]
    assert "device 1" in report.missing["other devices"]


def test_no_other_table_is_ever_read(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = "CREATE TABLE TARGET_INFO_SYSTEM_ENV (value); INSERT INTO TARGET_INFO_SYSTEM_ENV"
    path = made(f"{secret} VALUES ('planted');", KERNEL.format(0, 1, 0, 1, 7, 1, 0))
    read: list[str | None] = []
    allowed = nsys_tables._allowed

    def watch(action: int, first: str | None, second: str | None, *rest: str | None) -> int:
        verdict = allowed(action, first, second, *rest)
        if action == sqlite3.SQLITE_READ and verdict == sqlite3.SQLITE_OK:
            read.append(first)
        return verdict

    monkeypatch.setattr(nsys_tables, "_allowed", watch)
    assert "planted" not in str(read_report(path))
    assert set(read) <= nsys_tables.TABLES | {"sqlite_master"} and read
    assert allowed(sqlite3.SQLITE_READ, "TARGET_INFO_SYSTEM_ENV", "value") == sqlite3.SQLITE_DENY


ENDLESS = (
    "CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS WITH RECURSIVE n(start) AS (SELECT 1 UNION ALL "
    "SELECT start + 1 FROM n) SELECT start, start AS end FROM n;"
)


def test_a_view_in_the_place_of_a_table_is_not_run(made: Made) -> None:
    schema = SCHEMA.replace("CUPTI_ACTIVITY_KIND_KERNEL", "SOMETHING_ELSE")
    before = time.monotonic()
    report = read_report(made(ENDLESS, schema=schema))
    assert time.monotonic() - before < 5
    assert "kernels" in report.missing and report.activities == ()


def test_a_virtual_table_is_not_run(made: Made) -> None:
    schema = SCHEMA.replace("CUPTI_ACTIVITY_KIND_KERNEL", "SOMETHING_ELSE")
    virtual = "CREATE VIRTUAL TABLE CUPTI_ACTIVITY_KIND_KERNEL USING rtree(id, start, end);"
    assert "kernels" in read_report(made(virtual, schema=schema)).missing


def test_too_many_rows_are_refused(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nsys_tables, "MOST_ROWS", 10)
    with pytest.raises(InputError, match="more than 10 kernels: profile a shorter run"):
        read_report(made(*(KERNEL.format(n, n, 0, 1, 7, n, 0) for n in range(11))))


def test_reading_has_a_deadline(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    many = (
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200000) "
        "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT i, i, 0, 1, 7, i, 0, i, i FROM n;"
    )
    path = made(many)
    monkeypatch.setattr(nsys_tables, "MOST_SECONDS", -1.0)
    with pytest.raises(InputError, match="took longer"):
        read_report(path)


def test_every_truncation_is_refused_or_read_in_part(tmp_path: Path) -> None:
    whole = REAL.read_bytes()
    real = set(read_report(REAL).activities)
    path = tmp_path / "cut.sqlite"
    refused = 0
    for size in range(0, len(whole), 97):
        path.write_bytes(whole[:size])
        try:
            assert set(read_report(path).activities) <= real
        except InputError as error:
            refused += 1
            assert str(path) in str(error)
    assert refused > 50


def test_damage_anywhere_never_escapes_as_another_error(tmp_path: Path) -> None:
    whole = bytearray(REAL.read_bytes())
    path = tmp_path / "damaged.sqlite"
    for at in range(0, len(whole), 61):
        damaged = whole.copy()
        damaged[at : at + 8] = b"\xff\x00\x7f\x80\xff\xff\x01\x09"
        path.write_bytes(damaged)
        try:
            report = read_report(path)
            summarise(report.activities, report.api_calls, source="nsys")
        except InputError:
            pass


@pytest.mark.parametrize("content", [b"", b"no database at all" * 40, b"\x00" * 4096])
def test_a_file_that_is_no_export_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.sqlite"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"x\.sqlite"):
        read_report(path)


def test_another_programs_database_is_refused(made: Made) -> None:
    with pytest.raises(InputError, match="no export of Nsight Systems"):
        read_report(made(schema="CREATE TABLE bookmarks (id);"))


def test_paths_that_are_no_reports_are_refused(tmp_path: Path) -> None:
    for name in ("nothing.sqlite", "nothing.nsys-rep"):
        with pytest.raises(InputError, match="is no file"):
            read_report(tmp_path / name)
    (tmp_path / "folder.sqlite").mkdir()
    with pytest.raises(InputError, match="is no file"):
        read_report(tmp_path / "folder.sqlite")
    with pytest.raises(InputError, match="is no report"):
        read_report(tmp_path / "notes.txt")


# --- nsys itself, played by scripts that do what a version of it was seen to do ---------------

COMMAND = """
for word in "$@"; do case "$word" in --output=*) out="${word#--output=}";; esac; done
"""
RUN = """
if [ "$1" = profile ]; then shift; while [ "${1#-}" != "$1" ]; do shift; done; "$@"; code=$?
"""


def full(folder: Path) -> None:
    """An installation that makes a report and exports it."""
    put_tool(
        folder / "nsys",
        f'{COMMAND}{RUN}echo report > "$out.nsys-rep"; exit $code\nelse cp "{REAL}" "$out"; fi\n',
    )


def minimal(folder: Path) -> None:
    """An installation that only records raw events."""
    put_tool(
        folder / "nsys",
        f'{COMMAND}{RUN}echo events > "$out.qdstrm"; echo "Importer error status"; exit $code\n'
        f'else grep -q imported "$5" || exit 4; cp "{REAL}" "$out"; fi\n',
    )


def profile(folder: Path, *command: str, timeout_s: float = 20) -> TimelineReport:
    return profile_program(command or ("true",), cwd=folder, timeout_s=timeout_s)


def test_a_program_is_profiled(tools: Path) -> None:
    full(tools)
    said: list[str] = []
    report = profile_program(["true"], cwd=tools, timeout_s=20, on_progress=said.append)
    assert [item.name for item in kernels(report)] == ["saxpy", "saxpy_strided", "naive_mm"]
    assert report.missing == {}
    assert len(said) == 2


def test_nothing_is_left_behind(
    tools: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(nsys.tempfile, "tempdir", str(temporary))
    full(tools)
    profile(tools, "sh", "-c", 'touch "$TMPDIR/mine"')
    assert list(temporary.iterdir()) == []


def test_a_program_that_ends_badly_is_told(tools: Path) -> None:
    full(tools)
    report = profile(tools, "sh", "-c", "echo hello; echo CUDA error: out of memory >&2; exit 7")
    assert report.missing[PROGRAM] == "ended with status 7: hello / CUDA error: out of memory"
    assert len(kernels(report)) == 3
    killed = profile(tools, "sh", "-c", "kill -SEGV $$")
    assert killed.missing[PROGRAM].startswith("was killed by SIGSEGV")
    assert "ended with status 127" in profile(tools, "./no-such-program").missing[PROGRAM]


def test_an_absent_nsys_is_a_reason(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(nsys, "find_tool", lambda name: None)
    assert "was not found" in profile(tmp_path).missing[TOOL]
    (tmp_path / "a.nsys-rep").write_text("")
    assert "nsys export" in read_report(tmp_path / "a.nsys-rep").missing[TOOL]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("echo the agent fell over >&2; exit 9", "nsys ended with status 9: the agent fell over"),
        (f"{RUN}fi", "nsys recorded nothing"),
    ],
)
def test_a_failure_of_nsys_is_a_reason(tools: Path, body: str, reason: str) -> None:
    put_tool(tools / "nsys", f"{body}\n")
    assert profile(tools).missing == {TOOL: reason}


def test_a_minimal_install_is_helped_by_its_importer(tools: Path) -> None:
    minimal(tools)
    beside = tools.parent / "linux-desktop-glibc_2_11_3-x64" / nsys.IMPORTER
    put_tool(beside, '[ "$1" = -i ] && grep -q events "$2" && echo imported > "$4"\n')
    report = profile(tools)
    assert report.missing == {}
    assert len(kernels(report)) == 3


def test_a_minimal_install_without_importer_says_so(tools: Path) -> None:
    minimal(tools)
    assert "QdstrmImporter" in profile(tools).missing[TOOL]


def test_an_importer_without_its_libraries_says_which(tools: Path) -> None:
    minimal(tools)
    put_tool(
        tools.parent / "host-linux-x64" / nsys.IMPORTER,
        'echo "$0: error while loading shared libraries: libdw.so.1: cannot open" >&2; exit 127\n',
    )
    reason = profile(tools).missing[TOOL]
    assert "libdw.so.1" in reason and "libdw1 and libelf1" in reason


@pytest.mark.parametrize(
    ("export", "reason"),
    [
        ("echo no licence; exit 3", "nsys export ended with status 3: no licence"),
        ('echo rubbish > "$out"', ".*cannot be read.*"),
    ],
)
def test_an_export_that_fails_is_a_reason(tools: Path, export: str, reason: str) -> None:
    body = f'{COMMAND}{RUN}echo report > "$out.nsys-rep"\nelse {export}; fi\n'
    put_tool(tools / "nsys", body)
    assert re.fullmatch(reason, profile(tools).missing[TOOL])


def test_reports_and_raw_events_of_others_are_left_unchanged(tools: Path, tmp_path: Path) -> None:
    full(tools)
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "a.nsys-rep").write_text("report")
    assert len(kernels(read_report(theirs / "a.nsys-rep"))) == 3
    minimal(tools)
    put_tool(tools.parent / "h" / nsys.IMPORTER, 'echo imported > "$4"\n')
    (theirs / "b.qdstrm").write_text("events")
    assert len(kernels(read_report(theirs / "b.qdstrm"))) == 3
    assert sorted(path.name for path in theirs.iterdir()) == ["a.nsys-rep", "b.qdstrm"]


def test_a_deadline_also_kills_processes_that_left_the_group(tools: Path) -> None:
    full(tools)
    agent = (
        "import os, sys, time\n"
        "if os.fork(): time.sleep(60)\n"
        "os.setsid()\n"
        "open(sys.argv[1], 'w').write(str(os.getpid()))\n"
        "time.sleep(60)\n"
    )
    note = tools / "agent"
    before = time.monotonic()
    report = profile(tools, sys.executable, "-c", agent, str(note), timeout_s=1.5)
    assert time.monotonic() - before < 15
    assert "was stopped after 1.5 s" in report.missing[TOOL]
    assert PROGRAM in report.missing
    assert soon(lambda: gone(int(note.read_text()))), "a helper outlived the deadline"


def test_a_flood_of_output_is_no_matter(tools: Path) -> None:
    full(tools)
    report = profile(tools, "sh", "-c", "yes flood | head -c 30000000; echo last; exit 2")
    assert report.missing[PROGRAM].endswith("last")


def test_a_hundred_megabytes_read_in_seconds(made: Made) -> None:
    path = made(
        "CREATE TABLE CUDA_CALLCHAINS (payload BLOB);"
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100) "
        "INSERT INTO CUDA_CALLCHAINS SELECT zeroblob(1000000) FROM n;",
        KERNEL.format(1, 2, 0, 1, 7, 1, 0),
    )
    assert path.stat().st_size > 90_000_000
    before = time.monotonic()
    assert len(kernels(read_report(path))) == 1
    assert time.monotonic() - before < 5
    path.unlink()
