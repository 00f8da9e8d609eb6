"""Reading real ncu output: only what stands there, and never a zero that does not."""

from __future__ import annotations

import csv
import io
import random
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mcts.domain import Metric
from mcts.domain import metrics as m
from profilers.ncu import pages as ncu_csv
from profilers.ncu import tables as ncu_tables
from profilers.ncu.metrics import COLLECTED, LABELS
from profilers.ncu.pages import parse_csv
from profilers.ncu.report import LAUNCHES, ROWS, TOOL, NcuReport

DATA = Path(__file__).parents[2] / "data" / "ncu"
SHARED = Path(__file__).parents[4] / "shared" / "data" / "ncu"
KERNELS = ["saxpy", "saxpy_strided", "naive_mm"]
RAW = (DATA / "three_kernels.csv").read_text()
DETAILS = (DATA / "details.csv").read_text()
ASKED = (DATA / "collected.csv").read_text()
"""A run with `--metrics`, of the metrics that were collected then."""
REPORTS = [RAW, DETAILS, ASKED]
ONLY_BY_NAME = {m.FFMA, m.FADD, m.FMUL}
"""`--set full` shows these as rates only."""

Values = list[tuple[str, dict[str, Metric]]]


def values(report: NcuReport) -> Values:
    return [(kernel.name, kernel.metrics) for kernel in report.kernels]


def named(report: NcuReport, wanted: tuple[str, ...] = COLLECTED) -> bool:
    """Whether every metric that a launch lacks is named, and the report where it has none."""
    if not report.kernels:
        return bool(report.missing.get(TOOL))
    return all(
        name in kernel.metrics or report.missing.get(name)
        for kernel in report.kernels
        for name in wanted
    )


def table(*rows: Mapping[str, str], unit: str | None = "%") -> str:
    """A raw page; without `unit` it has no row of units."""
    names = list(rows[0])
    lines = [["ID", "Kernel Name", *names]]
    lines += [] if unit is None else [["", "", *[unit] * len(names)]]
    lines += [[str(i), "k(int)", *row.values()] for i, row in enumerate(rows)]
    return dump(lines)


def dump(lines: list[list[str]], **options: str) -> str:
    out = io.StringIO()
    csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n", **options).writerows(lines)  # type: ignore[arg-type]
    return out.getvalue()


def split(text: str) -> tuple[str, list[list[str]]]:
    """What stands before a table, and its rows, all as long as the header."""
    lines = text.splitlines(keepends=True)
    start = next(i for i, line in enumerate(lines) if line.startswith('"ID",'))
    rows = list(csv.reader(lines[start:]))
    return "".join(lines[:start]), [row + [""] * (len(rows[0]) - len(row)) for row in rows]


def test_reads_every_column_of_a_real_raw_page() -> None:
    report = parse_csv(RAW)
    assert [kernel.name for kernel in report.kernels] == KERNELS
    assert set(report.missing) == ONLY_BY_NAME
    for kernel in report.kernels:
        assert set(kernel.metrics) == set(COLLECTED) - ONLY_BY_NAME
    strided = report.kernels[1]
    assert strided.metrics[m.DURATION] == Metric(value=4_163_520, unit="ns")
    assert strided.metrics[m.DRAM] == Metric(value=59.78, unit="%")
    assert strided.metrics[m.DRAM_READ_BYTES] == Metric(value=9_832_873_472, unit="byte")


def test_reads_what_was_asked_for_by_name() -> None:
    report = parse_csv(ASKED, wanted=(m.FFMA, m.DURATION))
    assert report.missing == {}
    assert [kernel.metrics[m.FFMA].value for kernel in report.kernels][2] == 8_589_934_592


def test_reads_a_real_details_page() -> None:
    report = parse_csv(DETAILS)
    assert [kernel.name for kernel in report.kernels] == KERNELS
    for kernel in report.kernels:
        assert set(kernel.metrics) == set(LABELS.values())
        assert set(kernel.metrics) | set(report.missing) == set(COLLECTED)
    assert report.kernels[2].metrics[m.L1_HIT] == Metric(value=87.86, unit="%")


def test_similar_labels_are_not_taken_for_ours() -> None:
    """The L1 throughput of the details page is of the active time, and its bytes are no share."""
    report = parse_csv(DETAILS)
    assert m.L1 in report.missing
    assert m.SHARED_PER_BLOCK in report.missing
    assert [kernel.metrics[m.MEMORY].value for kernel in report.kernels] == [70.96, 64.08, 98.54]


def test_the_details_page_holds_metrics_requested_by_name() -> None:
    columns = ["ID", "Kernel Name", "Section Name", "Metric Name", "Metric Unit", "Metric Value"]
    section = "Command line profiler metrics"
    rows = [
        ["0", "k(int)", section, m.DRAM_READ_BYTES, "Mbyte", "1.5"],
        ["0", "k(int)", section, m.DURATION, "us", "2.25"],
        ["0", "k(int)", section, "Duration", "us", "9"],
    ]
    report = parse_csv(dump([columns, *rows]), wanted=[m.DRAM_READ_BYTES, m.DURATION])
    assert report.kernels[0].metrics == {
        m.DRAM_READ_BYTES: Metric(value=1.5e6, unit="byte"),
        m.DURATION: Metric(value=2250, unit="ns"),
    }
    without = dump([row[:4] + row[5:] for row in [columns, *rows]])
    assert set(parse_csv(without).missing) == set(COLLECTED)


def test_a_repeated_row_of_the_details_page_must_agree() -> None:
    row = next(line for line in DETAILS.splitlines() if '"Duration"' in line)
    assert values(parse_csv(f"{DETAILS}{row}\n")) == values(parse_csv(DETAILS))
    report = parse_csv(f"{DETAILS}{row.replace('230,496', '230,497')}\n")
    assert "twice, with different values (in 1 of 3 launches)" in report.missing[m.DURATION]


SAME_IN_ALL_RUNS = {
    m.GRID, m.BLOCK, m.REGISTERS, m.WAVES, m.MULTIPROCESSORS, m.LIMIT_REGISTERS, m.LIMIT_SHARED,
    m.LIMIT_WARPS, m.LIMIT_BLOCKS, m.LIMIT_BARRIERS, m.THEORETICAL_OCCUPANCY, m.INSTRUCTIONS,
    m.THREADS_PER_INSTRUCTION, m.ACTIVE_THREADS_PER_INSTRUCTION, m.UNIFORM_BRANCHES, m.ISSUE,
}  # fmt: skip


@pytest.mark.skipif(not SHARED.is_dir(), reason="the full reports are not here")
def test_both_pages_of_the_full_reports_say_the_same() -> None:
    """Two runs of one program: launch figures are equal, what was measured is close."""
    raw = parse_csv((SHARED / "ncu_full.csv").read_text())
    details = parse_csv((SHARED / "ncu_details.csv").read_text())
    assert values(raw) == values(parse_csv(RAW))
    assert values(details) == values(parse_csv(DETAILS))
    assert [kernel.name for kernel in details.kernels] == KERNELS
    for one, other in zip(raw.kernels, details.kernels, strict=True):
        for name, metric in other.metrics.items():
            close = 0.0 if name in SAME_IN_ALL_RUNS else 0.02
            assert metric.value == pytest.approx(one.metrics[name].value, rel=close, abs=0), name
            assert metric.unit == one.metrics[name].unit, name


@pytest.mark.parametrize("cell", ["n/a", "", "  ", "nan", "inf", "-inf", "1.2.3", "12 (a; b)",
                                  "1e999", "0x10", "1_000", "٣", "12,34,567", "--1"])  # fmt: skip
def test_a_cell_without_a_number_is_missing_and_not_zero(cell: str) -> None:
    report = parse_csv(table({m.SM: cell, m.L2: "2.5"}))
    assert m.SM not in report.kernels[0].metrics
    assert report.missing[m.SM].startswith("ncu printed ")
    assert report.kernels[0].metrics[m.L2].value == 2.5


def test_the_number_of_launches_that_lack_a_metric_is_reported() -> None:
    report = parse_csv(table({m.SM: "1"}, {m.SM: "n/a"}, {m.SM: "2"}))
    assert [m.SM in kernel.metrics for kernel in report.kernels] == [True, False, True]
    assert report.missing[m.SM] == "ncu printed 'n/a' (in 1 of 3 launches)"


def test_metrics_that_ncu_cannot_access_are_named() -> None:
    words = f"==WARNING== Unable to access the following 2 metrics: x__y.sum, {m.DRAM}.\n"
    report = parse_csv(words + table({m.SM: "1", m.DRAM: "n/a"}))
    assert report.missing[m.DRAM] == "ncu cannot access it here"


@pytest.mark.parametrize(
    "text", ["", "\n", "==ERROR== nothing works\n", '"ID","Kernel', "a,b\n1,2\n"]
)
def test_no_table_is_a_named_gap(text: str) -> None:
    assert parse_csv(text) == NcuReport((), {TOOL: "ncu printed no table"})


def test_a_table_without_launches_is_a_named_gap() -> None:
    assert "no kernel" in parse_csv('"ID","Kernel Name","a"\n"","","%"\n').missing[TOOL]


@settings(deadline=None)
@given(st.sampled_from(REPORTS), st.integers(min_value=0))
def test_a_report_cut_anywhere_holds_only_true_values(text: str, where: int) -> None:
    data = text.encode()
    report = parse_csv(data[: where % len(data)].decode(errors="replace"))
    assert named(report)
    whole = values(parse_csv(text))
    assert len(report.kernels) <= len(whole)
    for (name, metrics), (true_name, true) in zip(values(report), whole, strict=False):
        assert name == true_name
        assert metrics.items() <= true.items()


def test_a_row_cut_short_keeps_what_stood_before() -> None:
    last = RAW.rindex('"')
    report = parse_csv(RAW[: last - 150])
    assert 0 < len(report.kernels[2].metrics) < len(report.kernels[1].metrics)
    assert any("cut short" in reason for reason in report.missing.values())


@settings(deadline=None)
@given(
    st.sampled_from(REPORTS),
    st.lists(
        st.tuples(st.integers(min_value=0), st.text(alphabet='",\n=x \0\r\ufeff', max_size=5)),
        min_size=1, max_size=4,
    ),
)  # fmt: skip
def test_junk_put_in_anywhere_never_makes_another_value(
    text: str, junk: list[tuple[int, str]]
) -> None:
    # A quote and a line break can close a cell and end its row: what is left reads as a whole one.
    # A cell split in two in the heading and in a row shifts both alike.
    put_in = "".join(what for _, what in junk)
    assume('"' not in put_in or not {"\n", "\r"} & {*put_in})
    assume(put_in.count('"') < 4 or "," not in put_in)
    whole = [metrics for _, metrics in values(parse_csv(text))]
    damaged = text
    for where, what in junk:
        at = where % len(damaged)
        damaged = damaged[:at] + what + damaged[at:]
    report = parse_csv(damaged)
    assert named(report)
    for _, metrics in values(report):
        read = {name: metric.value for name, metric in metrics.items()}
        assert any(read.items() <= {k: v.value for k, v in true.items()}.items() for true in whole)


@settings(deadline=None)
@given(st.binary(max_size=400))
def test_binary_garbage_never_raises_and_never_invents(data: bytes) -> None:
    assert parse_csv(data.decode(errors="replace")).kernels == ()
    report = parse_csv(RAW + data.decode(errors="replace"))
    assert values(report)[:3] == values(parse_csv(RAW))


@settings(deadline=None)
@given(st.text(alphabet=st.sampled_from('"ID,KernelName0129.\n=%x\x00'), max_size=300))
def test_junk_like_a_table_never_raises_and_never_invents(text: str) -> None:
    report = parse_csv(text)
    assert named(report)
    assert all(kernel.metrics == {} for kernel in report.kernels)


@settings(deadline=None)
@given(st.sampled_from(REPORTS), st.randoms(use_true_random=False))
def test_columns_and_rows_in_any_order_say_the_same(text: str, chance: random.Random) -> None:
    chatter, rows = split(text)
    order = chance.sample(range(len(rows[0])), len(rows[0]))
    body = chance.sample(rows[1:], len(rows) - 1)
    shuffled = [[row[i] for i in order] for row in (rows[0], *body)]
    assert values(parse_csv(chatter + dump(shuffled))) == values(parse_csv(text))


@pytest.mark.parametrize(
    "change",
    [
        lambda text: "\ufeff" + split(text)[0] + dump(split(text)[1]),
        lambda text: "\ufeff" + dump(split(text)[1]),
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace("\n", "\r"),
        lambda text: dump(split(text)[1], delimiter=";"),
        lambda text: dump(split(text)[1], delimiter="\t"),
        lambda text: text + text.splitlines()[-1] + "\n",
    ],
)
@pytest.mark.parametrize("text", REPORTS)
def test_marks_line_ends_and_delimiters_change_nothing(
    text: str, change: Callable[[str], str]
) -> None:
    report = parse_csv(change(text))
    assert values(report) == values(parse_csv(text))
    assert ROWS not in report.missing


@pytest.mark.parametrize("text", REPORTS)
def test_a_table_with_minimal_quotes_says_the_same(text: str) -> None:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(split(text)[1])
    assert values(parse_csv(out.getvalue())) == values(parse_csv(text))


@pytest.mark.parametrize("text", REPORTS)
def test_repeated_headers_and_chatter_change_nothing(text: str) -> None:
    chatter, rows = split(text)
    header, *body = [dump([row]) for row in rows]
    noise = '==PROF== Profiling "saxpy": 0%....\nloss, 0.1, 0.2\nhe said "no\n'
    twice = header + header + noise + noise.join([body[0], *body[1:]])
    assert values(parse_csv(chatter + twice)) == values(parse_csv(text))


def test_a_repeated_header_alone_starts_no_new_launch() -> None:
    chatter, rows = split(DETAILS)
    header, *body = [dump([row]) for row in rows]
    between = header.join([chatter + header + "".join(body[:5]), "".join(body[5:])])
    assert values(parse_csv(between)) == values(parse_csv(DETAILS))


@pytest.mark.parametrize("text", [RAW, DETAILS])
def test_two_reports_in_one_file_are_all_read(text: str) -> None:
    other = text.replace('"755"', '"9"').replace('"597"', '"9"')
    assert values(parse_csv(text + other)) == values(parse_csv(text)) * 2
    again = parse_csv(table({m.SM: "1"}) + table({m.SM: "2"}))
    assert [kernel.metrics[m.SM].value for kernel in again.kernels] == [1, 2]


def test_a_repeated_column_must_agree() -> None:
    head = f'"ID","Kernel Name","{m.SM}","{m.SM}","{m.L2}","{m.L2}"\n"","","%","%","%","%"\n'
    report = parse_csv(head + '"0","k","1","2","3","3"\n')
    assert "twice" in report.missing[m.SM]
    assert report.kernels[0].metrics == {m.L2: Metric(value=3, unit="%")}


def test_line_breaks_within_a_name() -> None:
    text = table({m.SM: "1"}, {m.SM: "2"}).replace("k(int)", "k(int,\n  float\n)")
    assert [kernel.name for kernel in parse_csv(text).kernels] == ["k", "k"]
    assert parse_csv(text).missing == {
        name: "no column in ncu's report" for name in COLLECTED if name != m.SM
    }


def test_damaged_rows_are_named() -> None:
    lines = table({m.SM: "1"}, {m.SM: "2"}, {m.SM: "3"}).splitlines()
    lines[3] = '"1","k(int)","'
    report = parse_csv("\n".join(lines) + "\n")
    assert [kernel.metrics[m.SM].value for kernel in report.kernels] == [1, 3]
    assert report.missing[ROWS] == "1 rows of the table are damaged"


def test_a_row_of_a_metric_and_a_rule_at_once_is_damaged() -> None:
    """As where a value was cut in two: its rest stands in the next column, which is a rule's."""
    report = parse_csv(DETAILS.replace('"70.96"', '"7","0.96"', 1))
    assert report.missing[ROWS] == "1 rows of the table are damaged"
    assert 7.0 not in [m.value for _, metrics in values(report) for m in metrics.values()]


SWAP = str.maketrans(",.", ".,")


def test_numbers_with_a_decimal_comma() -> None:
    for text in (RAW, DETAILS):
        chatter, rows = split(text)
        first = rows[0].index("CC") + 1
        german = [row[:first] + [cell.translate(SWAP) for cell in row[first:]] for row in rows[1:]]
        names = dict(enumerate(rows[0]))
        for before, row in zip(rows[1:], german, strict=True):
            for place, name in names.items():  # labels and units are words, not numbers
                if place >= first and name in ("Section Name", "Metric Name", "Metric Unit"):
                    row[place] = before[place]
        assert values(parse_csv(chatter + dump([rows[0], *german]))) == values(parse_csv(text))


@pytest.mark.parametrize(
    ("cells", "read"),
    [
        (["1,234", "7.5"], [1234, 7.5]),
        (["1,234", "7,5"], [1.234, 7.5]),
        (["1.234", "1.234,5"], [1234, 1234.5]),
        (["1,234", "7"], [1234, 7]),
        (["1.234", "0"], [1.234, 0]),
        (["1 234,5", "1.234"], [1234.5, 1234]),
        (["1'234.5", "2,345"], [1234.5, 2345]),
    ],
)
def test_one_notation_for_the_whole_report(cells: list[str], read: list[float]) -> None:
    report = parse_csv(table({m.SM: cells[0]}, {m.SM: cells[1]}))
    assert [kernel.metrics[m.SM].value for kernel in report.kernels] == read


def test_a_foreign_column_tells_the_notation_only_where_ours_do_not() -> None:
    report = parse_csv(table({m.SM: "1,234", "other": "0,5"}))
    assert report.kernels[0].metrics[m.SM].value == 1.234
    report = parse_csv(table({m.SM: "0.5", m.L2: "1,234", "other": "0,5"}))
    assert report.kernels[0].metrics[m.L2].value == 1234


def test_a_report_in_two_notations_is_not_trusted() -> None:
    report = parse_csv(table({m.SM: "1.5", m.L2: "1,5", m.DRAM: "1,234", m.L1: "7"}))
    assert report.kernels[0].metrics == {m.L1: Metric(value=7, unit="%")}
    for name in (m.SM, m.L2, m.DRAM):
        assert "1,234.5" in report.missing[name]


def test_scaled_metrics_are_not_read_without_units() -> None:
    chatter, rows = split(RAW)
    report = parse_csv(chatter + dump([rows[0], *rows[2:]]))
    whole = parse_csv(RAW)
    lost = {m.DURATION, m.DRAM_READ_BYTES, m.SHARED_PER_BLOCK, m.L2_SECTORS, m.INSTRUCTIONS}
    kept = {m.SM, m.GRID, m.REGISTERS, m.STALL_BARRIER, m.LOAD_BYTES_PER_SECTOR, m.L2_HIT}
    assert all("does not say its unit" in report.missing[name] for name in lost)
    for kernel, true in zip(report.kernels, whole.kernels, strict=True):
        assert lost.isdisjoint(kernel.metrics)
        assert kept <= set(kernel.metrics)
        for name, metric in kernel.metrics.items():
            assert metric.value == true.metrics[name].value


def test_the_row_of_units_may_come_late() -> None:
    chatter, rows = split(RAW)
    late = chatter + dump([rows[0], *rows[2:], rows[1]])
    assert values(parse_csv(late)) == values(parse_csv(RAW))


def test_launches_beyond_the_cap_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ncu_csv, "MOST_LAUNCHES", 2)
    for text in REPORTS:
        report = parse_csv(text)
        assert [kernel.name for kernel in report.kernels] == KERNELS[:2]
        assert report.missing[LAUNCHES] == "only the first 2 launches were read"


def test_rows_beyond_the_cap_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ncu_tables, "MOST_ROWS", 2)
    report = parse_csv(RAW)
    assert [kernel.name for kernel in report.kernels] == KERNELS[:1]
    assert "only the first 2 rows" in report.missing[ROWS]
