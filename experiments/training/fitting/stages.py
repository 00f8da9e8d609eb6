"""The stages of a training run: examples, then supervised, rejection and GRPO fine-tuning by TRL.

Each stage has a folder of its own below the run's, with a `model` in it when it has ended; what was
begun goes on from its last checkpoint.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from experiments.training.fitting.config import Rft, Sft, Stage, Training
from experiments.training.fitting.decoder import fresh_model, fresh_tokenizer
from experiments.training.fitting.examples import questions, tokens_of, trained_on
from experiments.training.fitting.sampling import best_of, sampled
from experiments.training.online import LiveJudge, reward_function
from experiments.training.searches import Row
from mcts.errors import InputError, WorldError
from mcts.files import write_whole
from mcts.options import JudgingOptions
from mcts.text import first_line

MODEL = "model"
LOG = "log.jsonl"
SEAL = "begun.json"
FRESH = "fresh"
BEFORE: dict[Stage, Stage | None] = {"sft": None, "rft": "sft", "grpo": "rft"}
_READ = 10_000
"""About so many examples a tokenizer is trained on; more of them hold no other words."""
_MANY = 5_000
"""Examples from which on several processes turn them into tokens."""
Say = Callable[[str], None]


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
        model, tokenizer = load(run, None, trained_on(run, folder))
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
    was begun otherwise; WorldError if what judges fails, or the GPU.
    """
    _check_installed(run)
    place = folder / (name or stage)
    begins = _beginning(run, folder, stage, start)
    _seal(place, run, begins)
    if (place / MODEL).is_dir():
        say(f"{place / MODEL} is there: {place.name} has ended")
        return place / MODEL
    with gpu_failures("the same command goes on from the last checkpoint"):
        {"sft": _sft, "rft": _rft, "grpo": _grpo}[stage](run, folder, place, begins, say=say)
    return place / MODEL


@contextmanager
def gpu_failures(what_to_do: str) -> Iterator[None]:
    """Turn what PyTorch raises if a GPU fails or is full into a WorldError of one line."""
    try:
        yield
    except RuntimeError as error:
        if "CUDA" not in str(error):
            raise
        raise WorldError(f"the GPU failed: {first_line(error)}; {what_to_do}") from error


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


def load(run: Training, start: str | None, rows: Sequence[Row]) -> tuple[Any, Any]:
    """Model and tokenizer. InputError for a model that cannot be loaded."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    if start is None:
        some = rows[:: 1 + len(rows) // _READ]
        texts = (m["content"] for row in some for m in [*row["prompt"], *row["completion"]])
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
        raise InputError(f"the model {start} cannot be loaded: {first_line(error)}") from None
    if tokenizer.chat_template is None:
        raise InputError(f"the model {start} has no chat template: it cannot be asked in messages")
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    return model, tokenizer


def _sft(run: Training, folder: Path, place: Path, start: str | None, *, say: Say) -> None:
    rows = trained_on(run, folder)
    _supervise(run, place, rows, start, run.sft, prompts=run.sft.prompts, say=say)


def _rft(run: Training, folder: Path, place: Path, start: str | None, *, say: Say) -> None:
    """Sample, judge, keep the best of each question, and tune on these."""
    kept_file = place / "kept.jsonl"
    if not kept_file.is_file():
        asked, texts = _answered(run, folder, start, say=say)
        with LiveJudge(JudgingOptions(evaluator=run.evaluator), values=True, say=say) as judge:
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
    model, tokenizer = load(run, start, ())
    asked = questions(run, folder, tokenizer, run.rft.questions)
    return asked, sampled(run, model, tokenizer, asked, samples=run.rft.samples, say=say)


def _grpo(run: Training, folder: Path, place: Path, start: str | None, *, say: Say) -> None:
    import datasets
    import trl

    datasets.disable_progress_bars()
    grpo = run.grpo
    model, tokenizer = load(run, start, ())
    rows = [
        {name: row[name] for name in ("prompt", "task", "parent", "shown")}
        for row in questions(run, folder, tokenizer, grpo.steps * grpo.groups)
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
    with LiveJudge(JudgingOptions(evaluator=run.evaluator), values=True, say=say) as judge:
        trainer = trl.GRPOTrainer(
            model=model,
            args=arguments,
            reward_funcs=[reward_function(judge, grpo.reward)],
            train_dataset=datasets.Dataset.from_list(rows),
            processing_class=tokenizer,
            peft_config=adapters(run, model),
        )
        _train(trainer, place, say=say)


def _supervise(
    run: Training,
    place: Path,
    rows: Sequence[Row],
    start: str | None,
    how: Sft | Rft,
    *,
    prompts: bool = False,
    say: Say,
) -> None:
    import datasets
    import trl

    datasets.disable_progress_bars()
    model, tokenizer = load(run, start, rows)
    most = run.prompt_tokens + run.reply_tokens
    lengths = tokens_of(tokenizer, [[*row["prompt"], *row["completion"]] for row in rows])
    fits = [row for row, tokens in zip(rows, lengths, strict=True) if tokens <= most]
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
        completion_only_loss=not prompts,
        dataset_num_proc=os.cpu_count() if len(pairs) > _MANY else None,
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
    _train(trainer, place, say=say)


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


def _train(trainer: Any, place: Path, *, say: Say) -> None:
    checkpoints = place / "checkpoints"
    begun = checkpoints.is_dir() and any(checkpoints.glob("checkpoint-*"))
    skipped = skip_bad_steps(trainer)
    trainer.train(resume_from_checkpoint=begun)
    if skipped:
        say(f"{place.name}: {len(skipped)} steps had no finite gradient and were skipped")
    lines = (json.dumps(line) for line in trainer.state.log_history)
    write_whole(place / LOG, "\n".join(lines) + "\n")
    part = place / f"{MODEL}.part"
    trainer.save_model(str(part))
    trainer.processing_class.save_pretrained(str(part))
    part.rename(place / MODEL)


def skip_bad_steps(trainer: Any) -> list[int]:
    """Have a trainer leave out the steps whose gradient is not finite: one of them would leave no
    finite weight. They are listed as they are met.
    """
    from transformers import TrainerCallback

    skipped: list[int] = []

    class SkipBadSteps(TrainerCallback):  # type: ignore[misc]
        def on_pre_optimizer_step(self, _args: Any, state: Any, _control: Any, **at: Any) -> None:
            gradients = [one.grad for one in at["model"].parameters() if one.grad is not None]
            if all(bool(one.isfinite().all()) for one in gradients):
                return
            skipped.append(state.global_step)
            at["model"].zero_grad(set_to_none=True)

    trainer.add_callback(SkipBadSteps())
    return skipped


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
