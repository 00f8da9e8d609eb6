"""The stages of training: what they need, what they leave, how they go on; with TRL where it is."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from experiments.training.__main__ import main
from experiments.training.fitting import evaluating, examples, sampling, stages
from experiments.training.fitting.config import Teaching, Training, read_training
from experiments.training.fitting.decoder import fresh_tokenizer
from experiments.training.online import LiveJudge, reward_function
from experiments.training.rewards import LOWEST
from mcts.errors import InputError
from mcts.options import JudgingOptions

TINY = """
prompt_tokens = 900
reply_tokens = 60
save_every = 2
[examples]
tasks = ["gelu"]
held_out = ["row_softmax"]
teachers = ["uniform"]
seeds = 2
evaluations = 8
[decoder]
layers = 1
width = 32
heads = 2
vocabulary = 512
[sft]
epochs = 2
batch = 4
renamed = 1
[rft]
questions = 3
samples = 2
[grpo]
steps = 2
groups = 1
samples = 2
"""


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("config") / "tiny.toml"
    file.write_text(TINY)
    return file


@pytest.fixture(scope="module")
def began(config: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with its examples."""
    folder = tmp_path_factory.mktemp("run")
    assert main(["examples", str(config), "-o", str(folder), "--jobs", "1"]) == 0
    return folder


@pytest.fixture(scope="module")
def trained(config: Path, began: Path) -> Path:
    """A run that was supervised."""
    for name in ("torch", "transformers", "trl", "datasets"):
        pytest.importorskip(name)
    assert main(["sft", str(config), "-o", str(began)]) == 0
    return began


@pytest.fixture
def copy(trained: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(trained, tmp_path / "copy"))


def test_examples_are_every_trial(began: Path) -> None:
    rows = examples.read_examples(began / examples.EXAMPLES)
    assert len(rows) == 16 and {row["task"] for row in rows} == {"gelu"}


def test_what_training_begins_with_can_be_kept(config: Path, began: Path, tmp_path: Path) -> None:
    for name in ("torch", "transformers", "trl", "datasets"):
        pytest.importorskip(name)
    (tmp_path / examples.EXAMPLES).write_bytes((began / examples.EXAMPLES).read_bytes())
    assert main(["fresh", str(config), "-o", str(tmp_path)]) == 0
    place = tmp_path / stages.FRESH / stages.MODEL
    before = (place / "model.safetensors").read_bytes()
    assert main(["fresh", str(config), "-o", str(tmp_path)]) == 0
    assert (place / "model.safetensors").read_bytes() == before


def test_supervised_training_leaves_a_model_and_its_course(trained: Path) -> None:
    from codegen.chat.in_process import TransformersClient

    logged = [json.loads(line) for line in (trained / "sft" / stages.LOG).read_text().splitlines()]
    assert any("train_loss" in line for line in logged)
    client = TransformersClient(f"transformers/{trained / 'sft' / stages.MODEL}")
    reply = client.complete([{"role": "user", "content": "x"}], max_tokens=4, temperature=1, seed=1)
    assert reply.completion_tokens


def test_a_stage_that_has_ended_is_not_taken_again(
    config: Path, trained: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sft", str(config), "-o", str(trained)]) == 0
    assert "sft has ended" in capsys.readouterr().err


def test_a_stage_that_was_stopped_goes_on_from_its_checkpoint(copy: Path, config: Path) -> None:
    shutil.rmtree(copy / "sft" / stages.MODEL)
    last = max(
        int(path.name.rpartition("-")[2])
        for path in (copy / "sft" / "checkpoints").glob("checkpoint-*")
    )
    assert main(["sft", str(config), "-o", str(copy)]) == 0
    logged = [json.loads(line) for line in (copy / "sft" / stages.LOG).read_text().splitlines()]
    assert logged[-1]["step"] >= last and (copy / "sft" / stages.MODEL).is_dir()


def test_grpo_goes_on_from_what_is_there_and_logs_the_judges_reward(
    copy: Path, config: Path
) -> None:
    assert main(["grpo", str(config), "-o", str(copy)]) == 0
    logged = [json.loads(line) for line in (copy / "grpo" / stages.LOG).read_text().splitlines()]
    rewards = [line["reward"] for line in logged if "reward" in line]
    assert rewards == [-1.0, -1.0], "it says nothing of use yet"


def test_a_gpu_that_fails_is_told_in_a_line_and_faults_of_the_code_are_not(
    copy: Path, config: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    why = "CUDA error: device-side assert triggered\nFor debugging consider"

    def fails(*_: object, **__: object) -> None:
        raise RuntimeError(why)

    monkeypatch.setattr(stages, "sampled", fails)
    assert main(["rft", str(config), "-o", str(copy)]) == 1
    told = capsys.readouterr().err.strip().splitlines()[-1]
    assert told == (
        "error: the GPU failed: CUDA error: device-side assert triggered; the same command goes on "
        "from the last checkpoint"
    )
    why = "shapes do not match"
    with pytest.raises(RuntimeError, match=why):
        main(["rft", str(config), "-o", str(copy)])


def test_a_model_that_answers_nonsense_throughout_is_told(
    copy: Path, config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["rft", str(config), "-o", str(copy)]) == 2
    assert "no reply gained anything" in capsys.readouterr().err
    assert not (copy / "rft" / "kept.jsonl").exists()


def test_a_model_is_evaluated_on_the_tasks_of_its_run_and_on_those_held_out(
    copy: Path, config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["evaluate", str(config), "-o", str(copy), "--name", "sft"]) == 0
    told = capsys.readouterr().out.splitlines()
    assert [line.split("|")[1:3] for line in told[2:]] == [
        [" gelu ", " trained on "],
        [" row_softmax ", " held out "],
    ]
    assert main(["evaluate", str(config), "-o", str(copy)]) == 2, "there is no grpo"
    assert "cannot be loaded" in capsys.readouterr().err


@pytest.mark.parametrize("speaks", [True, False])
def test_evaluating_counts_what_is_usable_right_and_faster(
    trained: Path, config: Path, monkeypatch: pytest.MonkeyPatch, speaks: bool
) -> None:
    asked = []

    def answered(_: Any, __: Any, ___: Any, rows: Any, **____: Any) -> list[list[str]]:
        asked.extend(rows)
        return [[row["completion"][0]["content"] if speaks else "nothing"] for row in rows]

    monkeypatch.setattr(evaluating, "sampled", answered)
    model = trained / "sft" / stages.MODEL
    found = evaluating.evaluate(read_training(config), model, say=lambda _: None)
    assert {row["seed"] for row in asked} == {3}, "none that was trained on"
    for one in found:
        rows = [row for row in asked if row["task"] == one.task]
        right = [row for row in rows if row["verdict"] == "measured"]
        faster = [row for row in right if row["gain"] > 1]
        counts = (one.replies, one.usable, one.measured)
        assert counts == ((len(rows), len(rows), len(right)) if speaks else (len(rows), 0, 0))
        assert one.faster >= len(faster) > 0 if speaks else one.faster == 0
        mean = sum(row["reward"] for row in rows) / len(rows) if speaks else LOWEST
        assert one.reward == pytest.approx(mean, abs=0.01), "but for what a search measures twice"
    kept = json.loads((model.parent / evaluating.EVALUATED).read_text())
    assert [line["task"] for line in kept] == ["gelu", "row_softmax"]


def test_no_token_is_one_name_alone() -> None:
    pytest.importorskip("transformers")
    texts = ['{"LAYOUT": 16, "BM": 8}'] * 200
    tokenizer = fresh_tokenizer(texts, Training(examples=Teaching(tasks=("gelu",))).decoder)
    ids = tokenizer('{"LAYOUT": 16}')["input_ids"]
    pieces = [tokenizer.decode([token]) for token in ids]
    assert pieces[1:4] == ["LA", "YO", "UT"] and "16" in pieces
    assert tokenizer.decode(ids) == '{"LAYOUT": 16}'


def test_a_step_without_a_finite_gradient_is_skipped_and_counted() -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("transformers")
    from types import SimpleNamespace

    given: list[Any] = []
    skipped = stages.skip_bad_steps(SimpleNamespace(add_callback=given.append))
    model = torch.nn.Linear(2, 1)
    for step, value in enumerate([1.0, float("nan"), float("inf")]):
        for weights in model.parameters():
            weights.grad = torch.full_like(weights, value)
        given[0].on_pre_optimizer_step(None, SimpleNamespace(global_step=step), None, model=model)
        assert all((one.grad is None) == (step > 0) for one in model.parameters())
    assert skipped == [1, 2]


def test_of_each_question_the_best_reply_that_gains_is_kept(began: Path, config: Path) -> None:
    run = read_training(config)
    rows = [row for row in examples.read_examples(began / examples.EXAMPLES) if row["gain"] > 1]
    asked = [rows[0], rows[0]]
    gains = rows[0]["completion"][0]["content"]
    with LiveJudge(JudgingOptions(evaluator="replay"), say=lambda _: None) as judge:
        kept = sampling.best_of(run, judge, asked, [["nonsense", gains], ["nonsense", "{}"]])
    assert kept == [
        {"prompt": rows[0]["prompt"], "completion": [{"role": "assistant", "content": gains}]}
    ]


def test_a_copy_of_what_the_prompt_shows_earns_nothing(began: Path, config: Path) -> None:
    run = read_training(config)
    rows = [
        row for row in examples.read_examples(began / examples.EXAMPLES) if len(row["shown"]) > 2
    ]
    row = rows[-1]
    lines = row["prompt"][1]["content"].partition("measured, us:\n")[2].splitlines()
    copies = [line.partition(" ")[2] for line in lines if line.startswith(tuple("0123456789"))]
    with LiveJudge(JudgingOptions(evaluator="replay"), say=lambda _: None) as judge:
        reward = reward_function(judge)
        asked = {"task": [row["task"]], "parent": [row["parent"]], "shown": [row["shown"]]}
        assert {reward(completions=[copy], **asked)[0] for copy in copies} == {LOWEST}
        assert sampling.best_of(run, judge, [row], [copies]) == []
        unknown = {**asked, "shown": [[]]}
        assert any(reward(completions=[copy], **unknown)[0] > LOWEST for copy in copies[:-1])


def test_what_a_stage_goes_on_from_must_be_there(
    config: Path, began: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("torch", "transformers", "trl", "datasets"):
        pytest.importorskip(name)
    (tmp_path / examples.EXAMPLES).write_bytes((began / examples.EXAMPLES).read_bytes())
    assert main(["grpo", str(config), "-o", str(tmp_path)]) == 2
    assert "take sft first" in capsys.readouterr().err
    assert main(["sft", str(config), "-o", str(tmp_path), "--from", str(tmp_path / "no")]) == 2
    assert "cannot be loaded" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"no gzip", "missing or was cut off"),
        (gzip.compress(b'{"prompt": [1], "completion": [1]}\n'), "line 1: no example with"),
        (gzip.compress(b"no json\n"), "line 1: no example with"),
        (gzip.compress(b""), "holds no example"),
    ],
    ids=["no gzip", "no verdict", "no JSON", "empty"],
)
def test_damaged_examples_are_told(tmp_path: Path, content: bytes, said: str) -> None:
    file = tmp_path / "x.jsonl.gz"
    file.write_bytes(content)
    with pytest.raises(InputError, match=said):
        examples.read_examples(file)


def test_examples_that_were_cut_off_are_told(began: Path, tmp_path: Path) -> None:
    file = tmp_path / "x.jsonl.gz"
    file.write_bytes((began / examples.EXAMPLES).read_bytes()[:-30])
    with pytest.raises(InputError, match="missing or was cut off"):
        examples.read_examples(file)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "name what to train on"),
        ("[examples]\ntasks = []", "examples.tasks"),
        ('[examples]\ntasks = ["a"]\nheld_out = ["a"]', "trained on and held out"),
        ('data = "x"\n[lora]', "adapts a model"),
        ('data = "x"\n[grpo]\nreward = "no"', "reward: one of"),
        ('data = "x"\n[decoder]\nwidth = 48\nheads = 5', "multiple of heads"),
        ('data = "x"\nprompt_tokens = 2000', "context must hold"),
        ('data = "x"\nsteps = 3', "steps"),
        ("data = ", "no TOML file"),
    ],
)
def test_a_configuration_that_cannot_be_is_told(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "x.toml"
    file.write_text(text)
    with pytest.raises(InputError, match=said):
        read_training(file)
    assert main(["sft", str(file), "-o", str(tmp_path / "o")]) == 2


def test_the_bundled_configuration_holds() -> None:
    place = Path(stages.__file__).parent.parent / "configs" / "values.toml"
    run = read_training(place)
    assert isinstance(run, Training) and run.examples is not None
    assert not set(run.examples.tasks) & set(run.examples.held_out)


def test_adapters_are_trained_on_from_stage_to_stage(
    trained: Path, config: Path, tmp_path: Path
) -> None:
    peft = pytest.importorskip("peft")
    base = trained / "sft" / stages.MODEL
    text = config.read_text().replace("[examples]", f'model = "{base}"\n\n[examples]')
    text = text.replace("[sft]", "[sft]\nlearning_rate = 0.05").replace(
        "[grpo]", "[grpo]\nlearning_rate = 1e-12"
    )
    file = tmp_path / "lora.toml"
    file.write_text(text + "\n[lora]\nrank = 4\n")
    (tmp_path / examples.EXAMPLES).write_bytes((trained / examples.EXAMPLES).read_bytes())
    for stage in ("sft", "grpo"):
        assert main([stage, str(file), "-o", str(tmp_path)]) == 0

    def logits(place: Path) -> Any:
        import torch
        from transformers import AutoModelForCausalLM

        if (place / "adapter_config.json").is_file():
            model = peft.AutoPeftModelForCausalLM.from_pretrained(place)
        else:
            model = AutoModelForCausalLM.from_pretrained(place)
        with torch.inference_mode():
            return model(torch.tensor([[5, 6, 7]])).logits[0, -1]

    sft, grpo = (tmp_path / stage / stages.MODEL for stage in ("sft", "grpo"))
    assert (logits(sft) - logits(base)).abs().max() > 1e-3
    assert (logits(grpo) - logits(sft)).abs().max() < 1e-4


def test_a_stage_that_was_begun_otherwise_is_not_gone_on_with(
    config: Path, trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["sft", str(config), "-o", str(trained), "--seed", "2"]
    assert main(words) == 2
    assert "was begun with another configuration" in capsys.readouterr().err
    assert main([*words, "--jobs", "0"]) == 2


def test_a_model_without_a_chat_template_is_told(
    config: Path, trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bare = Path(shutil.copytree(trained / "sft" / stages.MODEL, tmp_path / "bare"))
    (bare / "chat_template.jinja").unlink()
    words = ["rft", str(config), "-o", str(trained), "--from", str(bare), "--name", "bare"]
    assert main(words) == 2
    assert "has no chat template" in capsys.readouterr().err
