"""What a study found, as Markdown for the documentation and as text."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from experiments.benchmarks.corpus.exhibits import DIALECTS
from experiments.benchmarks.corpus.expectation import NEUTRAL, Outcome
from experiments.benchmarks.corpus.hostile import HostileRun
from experiments.benchmarks.corpus.study import Study, by_class

_LAST = ("honest", "fault")
_MEANING = {
    "honest": "honest, if unusual: must be measured",
    "fault": "faults: a verdict of their own",
}


def as_markdown(study: Study, *, command: str) -> str:
    """Head, one row per class, then every exhibit with its verdict."""
    parts = [
        "# The judge and its corpus",
        "",
        f"Printed by `{command}` on {datetime.now(UTC).date().isoformat()}. "
        f"Hardware: {study.hardware or 'none'}. Isolation: {study.isolation}.",
        "",
        f"{_summary(study)} A cheat that was merely neutralised counts as right where the low end "
        f"of its speedup's interval is at most {NEUTRAL:g}.",
        "",
        *_classes(study.outcomes),
        "",
    ]
    for dialect in DIALECTS:
        parts += _every(dialect, study.outcomes)
    return "\n".join(parts).rstrip() + "\n"


def as_text(study: Study) -> str:
    """The table by class, the exhibits whose verdict is not right, and the sum."""
    lines = [*_classes(study.outcomes), ""]
    lines += [f"wrong: {one.exhibit.name}: {one.wrong}" for one in study.wrong]
    lines += [f"left out: {', '.join(study.left)}"] if study.left else []
    return "\n".join([*lines, _summary(study)])


def hostile_text(run: HostileRun) -> str:
    """A hostile run in a few lines."""
    return "\n".join(_hostile(run))


def hostile_markdown(run: HostileRun, *, command: str) -> str:
    """A hostile run as a page of its own."""
    head = f"Printed by `{command}` on {datetime.now(UTC).date().isoformat()}."
    lines = ["# Hostile candidates in a row", "", f"{head} Hardware: {run.hardware or 'none'}.", ""]
    return "\n".join([*lines, *_hostile(run)]) + "\n"


def _summary(study: Study) -> str:
    ran = [outcome for outcome in study.outcomes if not outcome.skipped]
    skipped = len(study.outcomes) - len(ran)
    said = f"{len(ran) - len(study.wrong)} of {len(ran)} verdicts are right"
    said += f"; {skipped} exhibits were not run" if skipped else ""
    return f"{said}; {len(study.left)} are left." if study.left else f"{said}."


def _classes(outcomes: Sequence[Outcome]) -> list[str]:
    """Per class and dialect: right verdicts of all, and what the verdicts were."""
    rows = ["| class | " + " | ".join(DIALECTS) + " | verdicts |", "| --- | --- | --- | --- |"]
    found = by_class(outcomes)
    for kind in [*(name for name in found if name not in _LAST), *_LAST]:
        if kind not in found:
            continue
        members = found[kind]
        counts = [
            _right_of([one for one in members if one.exhibit.dialect == dialect])
            for dialect in DIALECTS
        ]
        rows.append(f"| {_MEANING.get(kind, kind)} | {' | '.join(counts)} | {_verdicts(members)} |")
    return rows


def _right_of(outcomes: Sequence[Outcome]) -> str:
    ran = [one for one in outcomes if not one.skipped]
    return f"{sum(one.wrong is None for one in ran)}/{len(ran)}" if ran else ""


def _verdicts(outcomes: Sequence[Outcome]) -> str:
    counts: dict[str, int] = {}
    for one in outcomes:
        word = one.text.partition(",")[0] if one.verdict == "measured" else one.text
        counts[word] = counts.get(word, 0) + 1
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{count} {word}" for word, count in ordered)


def _every(dialect: str, outcomes: Sequence[Outcome]) -> list[str]:
    members = [one for one in outcomes if one.exhibit.dialect == dialect]
    if not members:
        return []
    rows = [
        f"## {dialect}",
        "",
        "| exhibit | class | verdict | s | why |",
        "| --- | --- | --- | ---: | --- |",
    ]
    for one in members:
        exhibit = one.exhibit
        name = exhibit.name.partition("/")[2]
        verdict = f"**{one.text}**" if one.wrong else one.text
        rows.append(
            f"| `{name}` | {exhibit.kind} | {verdict} | {one.seconds:.1f} | {exhibit.why} |"
        )
    return [*rows, ""]


def _hostile(run: HostileRun) -> list[str]:
    """Throughput, verdicts and what was left behind."""
    verdicts = ", ".join(f"{count} {name}" for name, count in run.verdicts.most_common())
    lines = [
        f"{len(run.outcomes)} hostile candidates in a row: {run.seconds:.0f} s, "
        f"{run.per_hour:.0f} an hour; {verdicts}.",
        "",
        f"Verdicts that are not right: {len(run.wrong)}. "
        f"Processes left: {len(run.left)}{_named(run.left)}. {_memory(run)}",
    ]
    return [*lines, *(f"- {one.exhibit.name}: {one.wrong}" for one in run.wrong)]


def _named(left: Sequence[str]) -> str:
    return f" ({', '.join(left[:5])})" if left else ""


def _memory(run: HostileRun) -> str:
    if run.memory_before is None or run.memory_after is None:
        return "GPU memory could not be asked."
    before, after = run.memory_before / 2**20, run.memory_after / 2**20
    return f"GPU memory in use: {before:.0f} MiB before, {after:.0f} MiB after."
