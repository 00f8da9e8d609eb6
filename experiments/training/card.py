"""The card of a data set: what is in it, where it comes from, and what it cannot tell."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from experiments.training.judged import JudgedReply, as_text
from experiments.training.rewards import why

_NOTICE = re.compile(r"SPDX-License-Identifier:\s*([\w.+-]+)|(Copyright[^\n\"\\]{0,60})", re.I)
"""What says in a text whose it is."""
_ABOUT = {
    "replies": "every reply whose candidate was judged, with prompt, verdict and rewards",
    "supervised": "`prompt` and `completion`, of replies whose candidates held",
    "preferences": "`chosen` over `rejected`, two replies to one parent that differ for sure",
    "groups": "the replies to one parent with their `rewards`; the `prompt` is the first one's",
    "contrastive": "prompts with two measured variants and their scores; no completion",
}


def card(
    replies: Sequence[JudgedReply],
    *,
    rows: Mapping[str, Mapping[str, int]],
    test_families: Sequence[str],
    left_out: Mapping[str, int],
    sources: Sequence[str],
    licence: str,
    seed: int,
) -> str:
    """The text of ``README.md``, with the header by which `datasets` finds the sets."""
    verdicts = Counter(why(reply.evaluation) for reply in replies)
    families = Counter(reply.family for reply in replies)
    tasks = {reply.task_id for reply in replies}
    lines = [
        *_header(rows),
        "# Judged replies of a model",
        "",
        f"{len(replies)} replies to {len({str(reply.prompt) for reply in replies})} prompts about "
        f"{len(tasks)} tasks, each with the verdict of Rooftree's judge: built, compared with the "
        "reference on fresh inputs, timed beside the baseline, with a 95 % interval.",
        "",
        *_table(
            ("set", "rows to train on", "to test with", "what a row is"),
            [
                (name, str(counts["train"]), str(counts["test"]), _ABOUT[name])
                for name, counts in rows.items()
            ],
        ),
        "",
        "Every row names its task, family, GPU, model, run, candidate (by hash), verdict, and the "
        "speedup over the baseline with its interval.",
        "",
        "## Splits",
        "",
        "Families of tasks are held out whole, so that no near twin of a test is trained on, drawn "
        f"by the seed {seed}. To test with: {', '.join(test_families) or 'none'}.",
        "",
        *_table(
            ("family", "replies", "split"),
            [
                (name, str(count), "test" if name in test_families else "train")
                for name, count in families.most_common()
            ],
        ),
        "",
        "## Verdicts",
        "",
        *_table(
            ("verdict", "replies"), [(name, str(count)) for name, count in verdicts.most_common()]
        ),
        "",
        "Rewards: `levels` (-1 wrong, 1 right, 2 more than 5 % faster than the baseline), "
        "`log_speedup` (the log of the speedup, 1 at 64x), `lower_bound` (the same of the "
        "interval's lower end, 0 where no difference was shown), `smoothed` (standard deviations "
        "within a group, clipped at 1.5). What was refused, is suspect or failed has the lowest.",
        "",
        "## Where it comes from",
        "",
        *_list(f"GPU: {name}" for name in sorted({reply.hardware for reply in replies})),
        *_list(f"model: {name}" for name in sorted({reply.model for reply in replies})),
        *_list(sources),
        "",
        *(
            ["Left out:", "", *_list(f"{why}: {count}" for why, count in left_out.items()), ""]
            if left_out
            else []
        ),
        "## Licence",
        "",
        licence or "Not given: say with `--license` whose the tasks and the replies are.",
        "",
        *_notices(replies),
        "## What it cannot tell",
        "",
        "- Prompts hold the code of their tasks, and what was measured before in the same run.",
        "- Two replies to one parent were asked in different words where `same_prompt` is false: "
        "by then more was known.",
        "- A speedup is over the baseline of its row, on the GPU of its row; it is none elsewhere.",
        "",
    ]
    return "\n".join(lines)


def _header(rows: Mapping[str, Mapping[str, int]]) -> list[str]:
    lines = ["---", "configs:"]
    for name, counts in rows.items():
        if not any(counts.values()):
            continue
        lines += [f"- config_name: {name}", "  data_files:"]
        for split, count in counts.items():
            if count:
                lines += [f"  - split: {split}", f"    path: {name}/{split}.parquet"]
    return [*lines, "---", ""]


def _notices(replies: Iterable[JudgedReply]) -> list[str]:
    """Licences and copyrights that texts name."""
    found = Counter(
        (match[1] or match[2]).strip()
        for reply in replies
        for match in {each[0]: each for each in _NOTICE.finditer(as_text(reply))}.values()
    )
    if not found:
        return ["No text names a licence or a copyright.", ""]
    named = [f"{name}: in {count} replies or their prompts" for name, count in found.most_common()]
    return ["Texts name:", "", *_list(named), ""]


def _table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return [
        f"| {' | '.join(titles)} |",
        f"| {' | '.join('---' for _ in titles)} |",
        *(f"| {' | '.join(row)} |" for row in rows),
    ]


def _list(items: Iterable[str]) -> list[str]:
    return [f"- {item}" for item in items]
