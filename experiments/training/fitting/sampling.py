"""Replies to questions, and the best of them by the judge: what rejection fine-tuning keeps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from experiments.training.fitting.config import Training
from experiments.training.online import LiveJudge
from experiments.training.searches import Row
from mcts.domain import Candidate

Say = Callable[[str], None]


def sampled(
    run: Training, model: Any, tokenizer: Any, rows: Sequence[Row], *, samples: int, say: Say
) -> list[list[str]]:
    """So many replies to each question, at the temperature of rft."""
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = model.to(device).eval()
    tokenizer.padding_side = "left"
    torch.manual_seed(run.seed)
    found: list[list[str]] = []
    batch = 32
    for start in range(0, len(rows), batch):
        texts = [
            tokenizer.apply_chat_template(row["prompt"], tokenize=False, add_generation_prompt=True)
            for row in rows[start : start + batch]
        ]
        encoded = tokenizer(texts, return_tensors="pt", padding=True, add_special_tokens=False).to(
            device
        )
        with torch.inference_mode():
            made = model.generate(
                input_ids=encoded["input_ids"],
                attention_mask=encoded["attention_mask"],
                do_sample=True,
                temperature=run.rft.temperature,
                max_new_tokens=run.reply_tokens,
                num_return_sequences=samples,
            )
        replies = tokenizer.batch_decode(
            made[:, encoded["input_ids"].shape[1] :], skip_special_tokens=True
        )
        found += [replies[at : at + samples] for at in range(0, len(replies), samples)]
        say(f"{min(start + batch, len(rows))} of {len(rows)} questions answered")
    return found


def best_of(
    run: Training, judge: LiveJudge, rows: Sequence[Row], texts: Sequence[Sequence[str]]
) -> list[Row]:
    """Of each question the reply whose candidate is fastest, if it gains."""
    kept = []
    for row, replies in zip(rows, texts, strict=True):
        before = judge.evaluation(row["task"], Candidate.model_validate_json(row["parent"]))
        found = judge.verdicts(
            [row["task"]] * len(replies),
            [row["parent"]] * len(replies),
            replies,
            shown=[row["shown"]] * len(replies),
        )
        speeds = [
            verdict.speedup if verdict is not None and verdict.speedup is not None else 0.0
            for verdict in found
        ]
        best = max(range(len(speeds)), key=speeds.__getitem__)
        if speeds[best] > run.rft.least_gain * (before.speedup or 0.0):
            completion = [{"role": "assistant", "content": replies[best]}]
            kept.append({"prompt": row["prompt"], "completion": completion})
    return kept
