"""The stages of a training run: examples, then supervised, rejection and GRPO fine-tuning by TRL.

Each stage has a folder of its own below the run's, with a `model` in it when it has ended; what was
begun goes on from its last checkpoint.
"""

from __future__ import annotations

import gzip
import json
import random
import zlib
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from experiments.training.exporting import read_set
from experiments.training.fitting.config import Stage, Teaching, Training
from experiments.training.fitting.decoder import fresh_model, fresh_tokenizer
from experiments.training.online import LiveJudge, reward_function
from experiments.training.searches import Row, Teacher, examples, renamed
from mcts.domain import Candidate
from mcts.errors import InputError
from mcts.files import write_whole
from mcts.options import JudgingOptions

EXAMPLES = "examples.jsonl.gz"
MODEL = "model"
LOG = "log.jsonl"
SEAL = "begun.json"
FRESH = "fresh"
BEFORE: dict[Stage, Stage | None] = {"sft": None, "rft": "sft", "grpo": "rft"}
Say = Callable[[str], None]


def make_examples(teaching: Teaching, file: Path, *, jobs: int, say: Say) -> int:
    """Search the tasks, and write every trial to `file`; how many there are.

    InputError for a task without a recording.
    """
    asked = [
        (task, Teacher(proposer=name, seed=at, evaluations=teaching.evaluations))
        for task in teaching.tasks
        for name in teaching.teachers
        for at in range(teaching.seeds)
    ]
    rows: list[Row] = []
    with ProcessPoolExecutor(jobs) as pool:
        for count, found in enumerate(pool.map(_examples, asked, chunksize=4), start=1):
            rows += found
            if count % 50 == 0 or count == len(asked):
                say(f"{count} of {len(asked)} searches, {len(rows)} trials")
    file.parent.mkdir(parents=True, exist_ok=True)
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    write_whole(file, gzip.compress(lines.encode(), mtime=0))
    return len(rows)


def read_examples(file: Path) -> list[Row]:
    """The rows that `make_examples` wrote. InputError if there are none, or a line is damaged."""
    try:
        with gzip.open(file, "rt", encoding="utf-8") as stream:
            lines = stream.read().splitlines()
    except (OSError, EOFError, zlib.error, UnicodeDecodeError):
        raise InputError(
            f"{file} is missing or was cut off: make it with python -m experiments.training "
            "examples"
        ) from None
    rows = []
    for number, line in enumerate(lines, start=1):
        try:
            row = json.loads(line)
            if not row["verdict"] or not row["prompt"] or not row["completion"]:
                raise ValueError
            float(row["gain"]), str(row["task"]), row["parent"], list(row["shown"])
        except (ValueError, KeyError, TypeError):
            raise InputError(
                f"{file}, line {number}: no example with a verdict: make the file again"
            ) from None
        rows.append(row)
    if not rows:
        raise InputError(f"{file} holds no example")
    return rows


def make_fresh(run: Training, folder: Path) -> Path:
    """Write a decoder that was initialised at random, with a tokenizer trained on the examples; the
    folder of its model. It is what sft begins with. InputError for a run that begins with a model.
    """
    _check_installed(run)
    if run.model is not None:
        raise InputError(f"the run begins with {run.model}, not with a decoder of its own")
    place = folder / FRESH
    _seal(place, run, None)
    if not (place / MODEL).is_dir():
        model, tokenizer = _load(run, None, _trained_on(run, folder))
        part = place / f"{MODEL}.part"
        model.save_pretrained(part)
        tokenizer.save_pretrained(part)
        part.rename(place / MODEL)
    return place / MODEL


def fit(
    stage: Stage, run: Training, folder: Path, *, start: str | None, name: str = "", say: Say
) -> Path:
    """Take a stage in `folder`, under its own `name` or another; the folder of its model, which is
    there already if it had ended.

    It begins with the model `start`, else with what the stage before has left, else, for sft, with
    the run's model or a fresh decoder. Raises InputError for what is missing, and where the stage
    was begun otherwise; WorldError if what judges fails.
    """
    _check_installed(run)
    place = folder / (name or stage)
    begins = _beginning(run, folder, stage, start)
    _seal(place, run, begins)
    if (place / MODEL).is_dir():
        say(f"{place / MODEL} is there: {place.name} has ended")
        return place / MODEL
    {"sft": _sft, "rft": _rft, "grpo": _grpo}[stage](run, folder, place, begins, say=say)
    return place / MODEL


def _seal(place: Path, run: Training, begins: str | None) -> None:
    """Keep what a stage was begun with. InputError if that was something else."""
    told = {"run": run.model_dump(mode="json"), "begins_with": begins}
    text = json.dumps(told, indent=1) + "\n"
    file = place / SEAL
    if file.is_file():
        if file.read_text(encoding="utf-8") != text:
            raise InputError(
                f"{place} was begun with another configuration, seed or model: name another folder "
                "with -o, or another stage's name with --name"
            )
        return
    place.mkdir(parents=True, exist_ok=True)
    write_whole(file, text)


def _examples(asked: tuple[str, Teacher]) -> list[Row]:
    return list(examples(*asked))


def _check_installed(run: Training) -> None:
    wanted = ["torch", "transformers", "trl", "datasets", *(["peft"] if run.lora else [])]
    if missing := [name for name in wanted if find_spec(name) is None]:
        raise InputError(f"training needs {', '.join(missing)}: pip install 'rooftree[train]'")


def _beginning(run: Training, folder: Path, stage: Stage, start: str | None) -> str | None:
    """What a stage begins with; None for a decoder that is yet to be made."""
    if start is not None:
        return start
    before = BEFORE[stage]
    while before is not None:
        if (folder / before / MODEL).is_dir():
            return str(folder / before / MODEL)
        before = BEFORE[before]
    if stage == "sft" and run.model is None and (folder / FRESH / MODEL).is_dir():
        return str(folder / FRESH / MODEL)
    if stage == "sft" or run.model is not None:
        return run.model
    raise InputError(f"{stage} goes on from a model: take sft first, or name one with --from")


def _load(run: Training, start: str | None, rows: Sequence[Row]) -> tuple[Any, Any]:
    """Model and tokenizer. InputError for a model that cannot be loaded."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    if start is None:
        texts = (m["content"] for row in rows for m in [*row["prompt"], *row["completion"]])
        tokenizer = fresh_tokenizer(texts, run.decoder)
        return fresh_model(run.decoder, tokenizer, seed=run.seed), tokenizer
    try:
        tokenizer = AutoTokenizer.from_pretrained(start)
        if (Path(start) / "adapter_config.json").is_file():
            from peft import AutoPeftModelForCausalLM

            model = AutoPeftModelForCausalLM.from_pretrained(start, is_trainable=True)
        else:
            # Adapters leave the weights as they are; all of them are tuned in full precision.
            dtype = "auto" if run.lora else "float32"
            model = AutoModelForCausalLM.from_pretrained(start, dtype=dtype)
    except (OSError, ValueError, ImportError) as error:
        first = str(error).splitlines()[0]
        raise InputError(f"the model {start} cannot be loaded: {first}") from None
    if tokenizer.chat_template is None:
        raise InputError(f"the model {start} has no chat template: it cannot be asked in messages")
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    return model, tokenizer


def _sft(run: Training, folder: Path, place: Path, start: str | None, *, say: Say) -> None:
    _supervise(run, place, _trained_on(run, folder), start, run.sft, say=say)


def _trained_on(run: Training, folder: Path) -> list[Row]:
    """What sft trains on. InputError if there is nothing."""
    if run.data is not None:
        return read_set(run.data, "supervised", "train")
    rows = [
        row
        for row in read_examples(folder / EXAMPLES)
        if row["verdict"] == "measured" and row["gain"] > run.sft.least_gain
    ]
    if not rows:
        raise InputError("no example is left to train on: lower least_gain, or make more")
    draw = random.Random(run.seed)
    return rows + [renamed(row, draw) for row in rows for _ in range(run.sft.renamed)]


def _rft(run: Training, folder: Path, place: Path, start: str | None, *, say: Say) -> None:
    """Sample, judge, keep the best of each question, and tune on these."""
    kept_file = place / "kept.jsonl"
    if not kept_file.is_file():
        asked, texts = _answered(run, folder, start, say=say)
        with LiveJudge(JudgingOptions(evaluator=run.evaluator), say=say) as judge:
            kept = best_of(run, judge, asked, texts)
        say(f"rft: of {len(asked)} questions {len(kept)} have a reply that gains")
        if not kept:
            raise InputError("no reply gained anything: train longer with sft first")
        write_whole(kept_file, "".join(json.dumps(row) + "\n" for row in kept))
    rows = [json.loads(line) for line in kept_file.read_text().splitlines()]
    _supervise(run, place, rows, start, run.rft, say=say)


def _answered(
    run: Training, folder: Path, start: str | None, *, say: Say
) -> tuple[list[Row], list[list[str]]]:
    """Questions with the replies to each; the model is released with this call."""
    model, tokenizer = _load(run, start, ())
    asked = _questions(run, folder, tokenizer, run.rft.questions)
    return asked, _sampled(run, model, tokenizer, asked, say=say)


def _grpo(run: Training, folder: Path, place: Path, start: str | None, *, say: Say) -> None:
    import datasets
    import trl

    datasets.disable_progress_bars()
    grpo = run.grpo
    model, tokenizer = _load(run, start, ())
    rows = [
        {name: row[name] for name in ("prompt", "task", "parent", "shown")}
        for row in _questions(run, folder, tokenizer, grpo.steps * grpo.groups)
    ]
    arguments = trl.GRPOConfig(
        **_common(run, place),
        learning_rate=grpo.learning_rate,
        max_steps=grpo.steps,
        per_device_train_batch_size=grpo.groups * grpo.samples,
        num_generations=grpo.samples,
        max_completion_length=run.reply_tokens,
        temperature=grpo.temperature,
        beta=grpo.beta,
        logging_steps=1,
    )
    with LiveJudge(JudgingOptions(evaluator=run.evaluator), say=say) as judge:
        trainer = trl.GRPOTrainer(
            model=model,
            args=arguments,
            reward_funcs=[reward_function(judge, grpo.reward)],
            train_dataset=datasets.Dataset.from_list(rows),
            processing_class=tokenizer,
            peft_config=adapters(run, model),
        )
        _train(trainer, place)


def _supervise(
    run: Training, place: Path, rows: Sequence[Row], start: str | None, how: Any, *, say: Say
) -> None:
    import datasets
    import trl

    datasets.disable_progress_bars()
    model, tokenizer = _load(run, start, rows)
    most = run.prompt_tokens + run.reply_tokens
    fits = [row for row in rows if _tokens(tokenizer, [*row["prompt"], *row["completion"]]) <= most]
    say(f"{place.name}: {len(fits)} examples; {len(rows) - len(fits)} have over {most} tokens")
    if not fits:
        raise InputError("every example is too long: raise prompt_tokens")
    pairs = [{name: row[name] for name in ("prompt", "completion")} for row in fits]
    arguments = trl.SFTConfig(
        **_common(run, place),
        learning_rate=how.learning_rate,
        num_train_epochs=how.epochs,
        per_device_train_batch_size=how.batch,
        max_length=most,
        completion_only_loss=True,
        warmup_steps=20,
        logging_steps=10,
    )
    trainer = trl.SFTTrainer(
        model=model,
        args=arguments,
        train_dataset=datasets.Dataset.from_list(pairs),
        processing_class=tokenizer,
        peft_config=adapters(run, model),
    )
    _train(trainer, place)


def _common(run: Training, place: Path) -> dict[str, Any]:
    import torch

    on_gpu = torch.cuda.is_available()
    return {
        "output_dir": str(place / "checkpoints"),
        "save_steps": run.save_every,
        "save_total_limit": 1,
        "seed": run.seed,
        "bf16": on_gpu,
        "gradient_checkpointing": False,  # TRL's default trades time for memory
        "use_cpu": not on_gpu,
        "report_to": ["tensorboard"] if find_spec("tensorboard") else [],
    }


def _train(trainer: Any, place: Path) -> None:
    checkpoints = place / "checkpoints"
    begun = checkpoints.is_dir() and any(checkpoints.glob("checkpoint-*"))
    trainer.train(resume_from_checkpoint=begun)
    lines = (json.dumps(line) for line in trainer.state.log_history)
    write_whole(place / LOG, "\n".join(lines) + "\n")
    part = place / f"{MODEL}.part"
    trainer.save_model(str(part))
    trainer.processing_class.save_pretrained(str(part))
    part.rename(place / MODEL)


def adapters(run: Training, model: Any = None) -> Any:
    """The adapters to put on a model; None where none are wanted, or it has them already."""
    if run.lora is None:
        return None
    from peft import LoraConfig, PeftModel

    if isinstance(model, PeftModel):
        return None
    modules = run.lora.modules
    return LoraConfig(
        r=run.lora.rank,
        lora_alpha=run.lora.alpha,
        target_modules=modules if isinstance(modules, str) else list(modules),
        task_type="CAUSAL_LM",
    )


def _questions(run: Training, folder: Path, tokenizer: Any, count: int) -> list[Row]:
    """Examples that can be judged and are short enough, drawn by the run's seed, over again where
    there are too few.
    """
    rows = [
        row
        for row in read_examples(folder / EXAMPLES)
        if row["parent"] is not None and _tokens(tokenizer, row["prompt"]) <= run.prompt_tokens
    ]
    if not rows:
        raise InputError("every prompt is too long: raise prompt_tokens")
    draw = random.Random(run.seed)
    drawn: list[Row] = []
    while len(drawn) < count:
        drawn += draw.sample(rows, min(len(rows), count - len(drawn)))
    return drawn


def _tokens(tokenizer: Any, messages: Sequence[dict[str, str]]) -> int:
    text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    return len(tokenizer(text, add_special_tokens=False)["input_ids"])


def _sampled(
    run: Training, model: Any, tokenizer: Any, rows: Sequence[Row], *, say: Say
) -> list[list[str]]:
    """`samples` replies to each question."""
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
                num_return_sequences=run.rft.samples,
            )
        replies = tokenizer.batch_decode(
            made[:, encoded["input_ids"].shape[1] :], skip_special_tokens=True
        )
        size = run.rft.samples
        found += [replies[at : at + size] for at in range(0, len(replies), size)]
        say(f"rft: {min(start + batch, len(rows))} of {len(rows)} questions answered")
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
