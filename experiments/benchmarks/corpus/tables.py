"""What a run found, as Markdown for the documentation and as text."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from experiments.benchmarks.corpus.cases import DIALECTS
from experiments.benchmarks.corpus.running import CorpusRun, by_class
from experiments.benchmarks.corpus.stress import StressRun
from experiments.benchmarks.corpus.verdicts import NEUTRAL, JudgedCase

_LAST = ("honest", "fault")
_MEANING = {
    "honest": "honest, if unusual: must be measured",
    "fault": "faults: a verdict of their own",
}


def as_markdown(found: CorpusRun, *, command: str) -> str:
    """Head, one row per class, then every case with its verdict."""
    parts = [
        "# The judge and its corpus",
        "",
        f"Printed by `{command}` on {datetime.now(UTC).date().isoformat()}. "
        f"Hardware: {found.hardware or 'none'}. Isolation: {found.isolation}.",
        "",
        f"{_summary(found)} A cheat that was merely neutralised counts as right where the low end "
        f"of its speedup's interval is at most {NEUTRAL:g}.",
        "",
        *_classes(found.results),
        "",
    ]
    for dialect in DIALECTS:
        parts += _every(dialect, found.results)
    return "\n".join(parts).rstrip() + "\n"


def as_text(found: CorpusRun) -> str:
    """The table by class, the cases whose verdict is not right, and the sum."""
    lines = [*_classes(found.results), ""]
    lines += [f"wrong: {one.case.name}: {one.wrong}" for one in found.wrong]
    lines += [f"left out: {', '.join(found.left)}"] if found.left else []
    return "\n".join([*lines, _summary(found)])


def stress_text(run: StressRun) -> str:
    """A hostile run in a few lines."""
    return "\n".join(_stress(run))


def stress_markdown(run: StressRun, *, command: str) -> str:
    """A hostile run as a page of its own."""
    head = f"Printed by `{command}` on {datetime.now(UTC).date().isoformat()}."
    lines = ["# Hostile candidates in a row", "", f"{head} Hardware: {run.hardware or 'none'}.", ""]
    return "\n".join([*lines, *_stress(run)]) + "\n"


def _summary(found: CorpusRun) -> str:
    ran = [result for result in found.results if not result.skipped]
    skipped = len(found.results) - len(ran)
    said = f"{len(ran) - len(found.wrong)} of {len(ran)} verdicts are right"
    said += f"; {skipped} cases were not run" if skipped else ""
    return f"{said}; {len(found.left)} are left." if found.left else f"{said}."


def _classes(results: Sequence[JudgedCase]) -> list[str]:
    """Per class and dialect: right verdicts of all, and what the verdicts were."""
    rows = ["| class | " + " | ".join(DIALECTS) + " | verdicts |", "| --- | --- | --- | --- |"]
    found = by_class(results)
    for kind in [*(name for name in found if name not in _LAST), *_LAST]:
        if kind not in found:
            continue
        members = found[kind]
        counts = [
            _right_of([one for one in members if one.case.dialect == dialect])
            for dialect in DIALECTS
        ]
        rows.append(f"| {_MEANING.get(kind, kind)} | {' | '.join(counts)} | {_verdicts(members)} |")
    return rows


def _right_of(results: Sequence[JudgedCase]) -> str:
    ran = [one for one in results if not one.skipped]
    return f"{sum(one.wrong is None for one in ran)}/{len(ran)}" if ran else ""


def _verdicts(results: Sequence[JudgedCase]) -> str:
    counts: dict[str, int] = {}
    for one in results:
        word = one.text.partition(",")[0] if one.verdict == "measured" else one.text
        counts[word] = counts.get(word, 0) + 1
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{count} {word}" for word, count in ordered)


def _every(dialect: str, results: Sequence[JudgedCase]) -> list[str]:
    members = [one for one in results if one.case.dialect == dialect]
    if not members:
        return []
    rows = [
        f"## {dialect}",
        "",
        "| case | class | verdict | s | why |",
        "| --- | --- | --- | ---: | --- |",
    ]
    for one in members:
        case = one.case
        name = case.name.partition("/")[2]
        verdict = f"**{one.text}**" if one.wrong else one.text
        rows.append(f"| `{name}` | {case.kind} | {verdict} | {one.seconds:.1f} | {case.why} |")
    return [*rows, ""]


def _stress(run: StressRun) -> list[str]:
    """Throughput, verdicts and what was left behind."""
    verdicts = ", ".join(f"{count} {name}" for name, count in run.verdicts.most_common())
    lines = [
        f"{len(run.results)} hostile candidates in a row: {run.seconds:.0f} s, "
        f"{run.per_hour:.0f} an hour; {verdicts}.",
        "",
        f"Verdicts that are not right: {len(run.wrong)}. "
        f"Processes left: {len(run.left)}{_named(run.left)}. {_memory(run)}",
    ]
    return [*lines, *(f"- {one.case.name}: {one.wrong}" for one in run.wrong)]


def _named(left: Sequence[str]) -> str:
    return f" ({', '.join(left[:5])})" if left else ""


def _memory(run: StressRun) -> str:
    if run.memory_before is None or run.memory_after is None:
        return "GPU memory could not be asked."
    before, after = run.memory_before / 2**20, run.memory_after / 2**20
    return f"GPU memory in use: {before:.0f} MiB before, {after:.0f} MiB after."
