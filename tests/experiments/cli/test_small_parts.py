"""Configuration, tasks on disk, the scaffold, the display, doctor and the seams."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from experiments.live import Panel, PlainLines
from experiments.runs.options import names
from experiments.runs.options.config import RunConfig, read_config, write_config
from experiments.runs.tasks.files import bundled, find_task, load_task
from experiments.runs.tasks.names import plain_name
from experiments.runs.tasks.scaffold import new_task
from experiments.text.quantities import clock, sparkline
from experiments.text.words import did_you_mean
from mcts.errors import InputError
from mcts.loop.progress import Progress
from mcts.options import Algorithm, JudgingOptions, SearchOptions
from tests.experiments.conftest import make_progress
from tests.support.commands import json_of, rooftree

ROOT = Path(__file__).resolve().parents[3]


CONFIG = RunConfig(
    rooftree="0.1.0",
    task='a "quoted" task',
    task_name="toy",
    judging=JudgingOptions(evaluator="gpu", dialect="host", includes=("/a", "/b c")),
    search=SearchOptions(proposer="scripted", algorithm=Algorithm(constants={"exploration": 0.4})),
    tool_weights={"a plug-in's": 0.5},
)


def test_a_configuration_survives_its_file(tmp_path: Path) -> None:
    write_config(tmp_path / "config.toml", CONFIG)
    assert read_config(tmp_path / "config.toml") == CONFIG


def test_a_configuration_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("format = 99\n")
    with pytest.raises(InputError, match="newer Rooftree"):
        read_config(tmp_path / "config.toml")


@pytest.mark.parametrize("written", ["0", "-1", '"2"', "true", "1.0", "[2]"])
def test_a_format_is_one_of_those_there_are(tmp_path: Path, written: str) -> None:
    (tmp_path / "config.toml").write_text(f"format = {written}\n")
    with pytest.raises(InputError) as raised:
        read_config(tmp_path / "config.toml")
    assert str(raised.value).endswith(f"config.toml: format is 1 or 2, not {written}")


def test_tables_in_the_first_format_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    write_config(path, CONFIG)
    path.write_text(path.read_text().replace("format = 2", "format = 1"))
    with pytest.raises(InputError, match=r"format 1 has no table \[search\]: this is format 2"):
        read_config(path)


@pytest.mark.parametrize(
    ("right", "wrong", "words"),
    [
        ("seed = 0", 'seed = "a"', 'search.seed = "a": a whole number'),
        ("seed = 0", "sede = 0", "search.sede: there is no such field; did you mean seed?"),
        ("evaluations = 60", "evaluations = 0", "limits.evaluations = 0: at least 1"),
        ('task_name = "toy"\n', "", "task_name: it is missing"),
    ],
)
def test_a_wrong_entry_of_a_configuration_is_named_with_what_is_wanted(
    tmp_path: Path, right: str, wrong: str, words: str
) -> None:
    path = tmp_path / "config.toml"
    write_config(path, CONFIG)
    assert right in path.read_text()
    path.write_text(path.read_text().replace(right, wrong))
    with pytest.raises(InputError) as raised:
        read_config(path)
    assert str(raised.value) == f"{path}: {words}"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("my kernel", "my_kernel"), ("Ünï", "Uni"), ("1_Café-au-lait_", "1_Cafe-au-lait"),
        ("--x.y--", "x.y"), ("核", "otherwise"), ("-._", "otherwise"), ("ﬁne²", "fine2"),
    ],
)  # fmt: skip
def test_names_of_others_become_names_of_tasks(text: str, name: str) -> None:
    assert plain_name(text, otherwise="otherwise") == name


def test_a_new_task_can_be_read_and_carries_the_name_of_its_folder(tmp_path: Path) -> None:
    new_task(tmp_path / "my kernel")
    task = load_task(tmp_path / "my kernel")
    assert task.name == "my_kernel"
    assert task.space.size >= 100
    with pytest.raises(InputError, match="not empty"):
        new_task(tmp_path / "my kernel")


def test_the_template_reference_is_what_the_template_says(tmp_path: Path) -> None:
    np = pytest.importorskip("numpy")
    new_task(tmp_path / "mine")
    scope: dict[str, object] = {}
    exec((tmp_path / "mine" / "reference.py").read_text(), scope)
    x, one, zero = np.linspace(-3, 3, 7)[None, :], np.ones(7), np.zeros(7)
    y = scope["reference"](x, one, zero)  # type: ignore[operator]
    assert y.shape == x.shape
    assert y[0, 3] == 0
    assert abs(y[0, 6] - 2.9964) < 1e-3


def progress(evaluations: int, speedup: float, *, replaying: bool = False) -> Progress:
    return make_progress(
        f"node {evaluations} [bold]",
        evaluations=evaluations,
        best_us=100.0 / speedup,
        best_speedup=speedup,
        elapsed_s=float(evaluations),
        replaying=replaying,
    )


def test_plain_lines_come_with_improvements_or_every_few_seconds() -> None:
    out, now = io.StringIO(), [0.0]
    show = PlainLines(out, clock=lambda: now[0])
    show(progress(1, 1.5, replaying=True))
    show(progress(2, 1.5))
    show(progress(3, 1.5))
    show(progress(4, 2.0))
    now[0] = 6.0
    show(progress(5, 2.0))
    lines = out.getvalue().splitlines()
    assert [line.split("/")[0].strip("+ ") for line in lines] == ["2", "4", "5"]
    assert lines[1].startswith("+")


def test_the_panel_shows_best_failures_and_time_left() -> None:
    from rich.console import Console

    panel = Panel(title="toy on Paper GPU", minutes=None, clock=lambda: 0.0)
    for count in range(1, 11):
        panel.take(progress(count, 1.0 + count / 10))
    out = io.StringIO()
    Console(file=out, width=100).print(panel.render(width=100))
    text = out.getvalue()
    for part in ("2.00x", "10 of 20", "0 failed", "about 10 s left", "node 10 [bold]"):
        assert part in text


def test_the_panel_fits_a_narrow_terminal() -> None:
    from rich.console import Console

    panel = Panel(title="toy on Paper GPU", minutes=None, clock=lambda: 0.0)
    for count in range(1, 60):
        panel.take(progress(count, 1.0 + count / 10))
    out = io.StringIO()
    Console(file=out, width=40).print(panel.render(width=40))
    assert not any("…" in line for line in out.getvalue().splitlines() if "so far" in line)


def test_sparkline_and_clock() -> None:
    assert sparkline([1.0, 2.0, 3.0], 40) == "▁▅█"
    assert len(sparkline([float(i) for i in range(500)], 40)) == 40
    assert sparkline([1.0, 1.0], 40) == "▁▁"
    assert [clock(s) for s in (5, 65, 7260)] == ["5 s", "1 min 05 s", "2 h 01 min"]


def test_doctor_names_keys_but_never_shows_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    done = rooftree("doctor", "--json")
    assert "very-secret" not in done.output
    checks = {check["name"]: check for check in json.loads(done.stdout)["checks"]}
    assert "OPENAI_API_KEY" in checks["API keys"]["detail"]
    assert checks["Python"]["level"] == "ok"


def test_tasks_are_listed_as_objects() -> None:
    rows = {row["name"]: row for row in json_of("tasks")}
    fields = {"name", "dialect", "recorded_on", "valid_variants", "failed_variants"}
    assert fields | {"best_speedup"} <= set(rows["row_softmax"])


def test_a_table_folds_where_told_and_is_whole_in_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    whole = rooftree("tasks").stdout.splitlines()
    assert len(whole) == 1 + len(bundled())
    assert all(line == line.rstrip() and "…" not in line for line in whole)
    monkeypatch.setenv("COLUMNS", "60")
    folded = rooftree("tasks").stdout.splitlines()
    *table, note = folded
    assert max(map(len, table)) <= 60
    assert note.startswith("no room for: ") and "what it is" in note
    assert "row_softmax" in "\n".join(folded)


def test_our_own_parts_need_no_installation() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert "entry-points" not in project, "those are for other distributions"
    for group in (names.PROPOSERS, names.EVALUATORS, names.SEARCHES):
        for name in names.ours(group):
            assert callable(names.load(group, name))


def test_help_needs_none_of_the_heavy_packages() -> None:
    code = (
        "import sys; sys.argv = ['rooftree', '--help']\n"
        "from experiments.cli import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "heavy = {'numpy', 'scipy', 'pydantic', 'litellm', 'cuda', 'graphviz'}\n"
        "heavy |= {'mcts.loop.optimizer'}\n"
        "sys.exit(f'imported: {heavy & set(sys.modules)}' if heavy & set(sys.modules) else 0)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_a_folder_named_like_a_bundled_task_is_ambiguous(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    new_task(tmp_path / "gelu")
    with pytest.raises(InputError, match=r"is a bundled task and a task folder here: \./gelu"):
        find_task("gelu")
    assert find_task("./gelu").folder == Path("gelu")
    (tmp_path / "transpose").mkdir()  # no task: the bundled one is meant
    assert find_task("transpose").task.name == "transpose"


def test_a_mistyped_name_is_answered_with_the_closest() -> None:
    names = ("gelu", "gemm_fp32", "gemm_bf16")
    assert did_you_mean("gelo", names, behind=" ") == "did you mean gelu? "
    assert did_you_mean("gemm_fp16", names, most=2) == "did you mean gemm_bf16 or gemm_fp32?"
    assert did_you_mean("spmv", names, behind=" ") == ""
