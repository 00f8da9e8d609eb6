"""A data set out of judged runs: a Parquet file for each set and split, and a card."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from codegen.chat.scrubbing import looks_secret
from experiments.training.card import card
from experiments.training.collecting import read_judged
from experiments.training.families import held_out
from experiments.training.judged import JudgedReply, Reading, as_text
from experiments.training.rewards import REWARDS
from experiments.training.sets import PLACE, SETS, Row
from mcts.errors import InputError
from mcts.files import write_whole
from mcts.formats import FormatError, parse_json

if TYPE_CHECKING:
    from datasets import Features

FACTS = "export.json"
CARD = "README.md"
SPLITS = ("train", "test")
_FORMAT = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """What was written: rows by set and split, the families of the test split, what was left out
    and why, and by verdict how many replies there were.
    """

    rows: Mapping[str, Mapping[str, int]]
    test_families: tuple[str, ...]
    left_out: Mapping[str, int]
    verdicts: Mapping[str, int]
    tasks: int
    sources: tuple[str, ...]


def export(
    paths: Sequence[Path],
    out: Path,
    *,
    licence: str,
    test_share: float,
    seed: int,
    say: Callable[[str], None],
) -> Exported:
    """Write the training sets of these runs, studies and tapes into the folder `out`.

    Families of tasks are held out whole, drawn by `seed`, until the test split has `test_share` of
    the replies. A reply that holds what looks like a key is left out. `licence` is what the user
    says of the tasks and the replies; it stands in the card.

    Raises InputError if `out` holds anything but an earlier export, if no reply has a verdict, or
    if the extra `[train]` is not installed; and what `read_judged` raises.
    """
    _check_target(out)
    _datasets()
    reading = read_judged(paths)
    replies = _clean(reading)
    if not replies:
        why = "; ".join(f"{why}: {count}" for why, count in reading.left_out.items())
        raise InputError(
            "no reply with a verdict is left of what was given"
            + (f" ({why})" if why else ": runs of a model are wanted")
        )
    by_family = Counter(reply.family for reply in replies)
    test = held_out(by_family, share=test_share, seed=seed)
    parts = {
        "train": [reply for reply in replies if reply.family not in test],
        "test": [reply for reply in replies if reply.family in test],
    }
    out.mkdir(parents=True, exist_ok=True)
    write_whole(out / FACTS, json.dumps({"format": None}) + "\n")  # ours, and not whole yet
    rows: dict[str, dict[str, int]] = {}
    digests: dict[str, str] = {}
    for name, make in SETS.items():
        rows[name] = {}
        for split in SPLITS:
            made = list(make(parts[split]))
            rows[name][split] = len(made)
            file = out / name / f"{split}.parquet"
            file.unlink(missing_ok=True)
            if made:
                say(f"writing {file}: {len(made)} rows")
                _write(file, made, name)
                digests[f"{name}/{split}.parquet"] = hashlib.sha256(file.read_bytes()).hexdigest()
    found = Exported(
        rows=rows,
        test_families=tuple(sorted(test)),
        left_out=dict(sorted(reading.left_out.items())),
        verdicts=dict(Counter(_verdict(reply) for reply in replies).most_common()),
        tasks=len({reply.task_id for reply in replies}),
        sources=tuple(reading.sources),
    )
    text = card(
        replies,
        rows=rows,
        test_families=found.test_families,
        left_out=found.left_out,
        sources=reading.sources,
        licence=licence,
        seed=seed,
    )
    write_whole(out / CARD, text)
    facts = {
        "format": _FORMAT,
        "seed": seed,
        "test_share": test_share,
        "licence": licence,
        "rows": found.rows,
        "test_families": found.test_families,
        "left_out": found.left_out,
        "sha256": digests,
    }
    write_whole(out / FACTS, json.dumps(facts, indent=1, ensure_ascii=False) + "\n")
    return found


def read_set(folder: Path, name: str, split: str) -> list[Row]:
    """The rows of a set, each with a verdict.

    Raises InputError for a folder that is no export, a file that was cut off or changed, and a row
    without a verdict.
    """
    datasets = _datasets()
    path, facts = folder / name / f"{split}.parquet", _facts(folder)
    wanted = facts["sha256"].get(f"{name}/{split}.parquet")
    if wanted is None:
        return []
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None
    if hashlib.sha256(content).hexdigest() != wanted:
        raise InputError(f"{path} was cut off or changed after it was written: export it again")
    rows = list(datasets.Dataset.from_parquet(str(path)))
    for number, row in enumerate(rows):
        found = row.get("verdicts") or [row.get("verdict")]
        if not all(found):
            raise InputError(f"{path}: row {number} has no verdict")
    return rows


def _facts(folder: Path) -> Mapping[str, Any]:
    try:
        facts = parse_json((folder / FACTS).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, FormatError):
        raise InputError(f"{folder} is no export of `rooftree dataset export`") from None
    if not isinstance(facts, dict) or facts.get("format") != _FORMAT:
        raise InputError(f"{folder} is not whole, or of another version: export it again")
    return facts


def _check_target(out: Path) -> None:
    if out.is_file() or (out.is_dir() and any(out.iterdir()) and not (out / FACTS).is_file()):
        raise InputError(f"{out} is there and holds something else: name a new folder with -o")


def _clean(reading: Reading) -> list[JudgedReply]:
    """Those without what looks like a key."""
    kept = [reply for reply in reading.replies if not looks_secret(as_text(reply))]
    if dropped := len(reading.replies) - len(kept):
        reading.left_out["holds what looks like a key"] = dropped
    return kept


def _verdict(reply: JudgedReply) -> str:
    return reply.evaluation.status


def _write(file: Path, rows: Iterable[Row], name: str) -> None:
    datasets = _datasets()
    file.parent.mkdir(parents=True, exist_ok=True)
    table = datasets.Dataset.from_list(list(rows), features=_features(name))
    table.to_parquet(str(file))


def _features(name: str) -> Features:
    """The columns of a set: a column that is empty in one export keeps its type."""
    datasets = _datasets()
    text, number = datasets.Value("string"), datasets.Value("float64")
    whole, truth = datasets.Value("int64"), datasets.Value("bool")
    messages = [{"role": text, "content": text}]
    place = dict.fromkeys((*PLACE, "over"), text)
    if name == "groups":
        return datasets.Features(
            {
                **place,
                "parent": text,
                "parent_speedup": number,
                "prompt": messages,
                "replies": [text],
                "ids": [text],
                "verdicts": [text],
                "speedups": [number],
                "rewards": {kind: [number] for kind in (*REWARDS, "smoothed")},
                "same_prompt": truth,
            }
        )
    if name == "contrastive":
        return datasets.Features(
            {
                **place,
                "prompt": messages,
                "exemplars": [text],
                "verdicts": [text],
                "speedups": [number],
                "best_speedup": number,
            }
        )
    texts = ("id", "model", "run", "parent", "candidate", "verdict", "code", "values")
    row = {
        **place,
        **dict.fromkeys(texts, text),
        **dict.fromkeys(("time_us", "speedup", "speedup_low", "speedup_high"), number),
        "trial": whole,
        "held": truth,
        "parent_speedup": number,
        "prompt": messages,
    }
    more: dict[str, dict[str, Any]] = {
        "replies": {"reply": text, **{f"reward_{kind}": number for kind in REWARDS}},
        "supervised": {"completion": messages},
        "preferences": {
            "chosen": messages,
            "rejected": messages,
            "rejected_id": text,
            "rejected_verdict": text,
            "rejected_speedup": number,
            "same_prompt": truth,
        },
    }
    return datasets.Features({**row, **more[name]})


def _datasets() -> Any:
    """The library, which takes a second to import."""
    try:
        import datasets
    except ImportError:
        raise InputError("this needs the library datasets: pip install 'rooftree[train]'") from None
    datasets.disable_progress_bars()
    return datasets
