"""`rooftree export`: what it writes, that others can use it, and what it says it cannot write."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegen.export.header import header
from codegen.export.model_new import model_new
from experiments.deliverables import reproduce, writing
from experiments.deliverables.best import Delivery, read_delivery
from experiments.deliverables.config_document import AskingDocument, ConfigDocument
from experiments.deliverables.document import RunDocument, run_document, schema
from experiments.deliverables.patching import unified_patch
from experiments.deliverables.writing import deliverables
from experiments.runs.folders.journal import SqliteJournal
from experiments.runs.options.option_conflicts import ASKS_NO_MODEL
from experiments.runs.tasks.files import find_task, load_task
from mcts.domain import Candidate
from mcts.options import ModelOptions
from tests.support.commands import completed, json_of, optimized, refused, rooftree
from tests.support.deliveries import delivery_of
from tests.support.host_sources import PROBLEM
from tests.support.host_sources import source as host_source

RECORDING = find_task("row_softmax").recordings[-1]
CORE = {
    "kernel.cu", "model_new.py", "row_softmax.cuh", "change.patch", "reproduce.py", "expected.json",
    "task/task.toml", "task/kernel.cu", "task/reference.py", "why.md", "run.json",
    "run.schema.json", "README.md",
}  # fmt: skip


@pytest.fixture(scope="module")
def run_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "run"
    optimized("row_softmax", out, "--seed", 1, "--evaluations", 30)
    return out


@pytest.fixture(scope="module")
def exported(run_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("export") / "out"
    completed("export", run_dir, folder)
    return folder


def files_of(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_everything_is_there_and_the_readme_names_it(exported: Path, run_dir: Path) -> None:
    assert files_of(exported) == CORE
    readme = (exported / "README.md").read_text()
    for name in CORE - {"expected.json", "README.md", "run.schema.json"}:
        assert name.startswith("task/") or f"`{name}`" in readme
    speedup = read_delivery(run_dir).timing.speedup
    assert f"{speedup:.2f}x" in readme


def test_the_kernel_runs_as_it_stands(exported: Path, run_dir: Path) -> None:
    """Its plan's defaults are the best values, so that no `--set` is needed."""
    delivery = read_delivery(run_dir)
    (exported / "task" / "own").mkdir(exist_ok=True)
    copied = exported / "task" / "own"
    for name in ("task.toml", "reference.py"):
        shutil.copyfile(exported / "task" / name, copied / name)
    shutil.copyfile(exported / "kernel.cu", copied / "kernel.cu")
    assert load_task(copied).baseline.tunables == delivery.candidate.tunables
    shutil.rmtree(copied)


def test_a_folder_in_use_is_left_as_it_is(run_dir: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    refused(rooftree("export", run_dir, tmp_path), "--force")
    assert files_of(tmp_path) == {"mine"}


@pytest.mark.parametrize("document", [None, "{", "[]", '{"format": "mine"}'])
def test_force_replaces_no_folder_but_an_export(
    run_dir: Path, tmp_path: Path, document: str | None
) -> None:
    (tmp_path / "README.md").write_text("my project")
    if document is not None:
        (tmp_path / "run.json").write_text(document)
    before = files_of(tmp_path)
    done = rooftree("export", run_dir, tmp_path, "--force")
    refused(done, f"{tmp_path} is not an earlier export: name a new folder")
    assert files_of(tmp_path) == before
    assert (tmp_path / "README.md").read_text() == "my project"


def test_an_export_that_was_killed_halfway_can_be_repeated(
    run_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original, written = writing.write_whole, []

    def killed(path: Path, text: str, **named: Any) -> None:
        if written:
            raise KeyboardInterrupt
        written.append(path.name)
        original(path, text, **named)

    monkeypatch.setattr(writing, "write_whole", killed)
    assert rooftree("export", run_dir, tmp_path).exit_code == 130
    monkeypatch.setattr(writing, "write_whole", original)
    completed("export", run_dir, tmp_path, "--force")
    assert written == ["run.json"] and "README.md" in files_of(tmp_path)


def test_force_removes_what_the_earlier_export_had_besides(run_dir: Path, tmp_path: Path) -> None:
    """What somebody else put into the folder stays, whatever it is called."""
    completed("export", run_dir, tmp_path)
    (tmp_path / "kernel.cu").rename(tmp_path / "kernel.py")
    (tmp_path / "row_softmax.cuh").rename(tmp_path / "gelu.cuh")
    readme = (tmp_path / "README.md").read_text()
    readme = readme.replace("`kernel.cu`", "`kernel.py`").replace("row_softmax.cuh", "gelu.cuh")
    (tmp_path / "README.md").write_text(readme + "\n| `mine` | a file of mine |\n")
    for name in ("mine", "mine.cuh"):
        (tmp_path / name).write_text("mine")
    completed("export", run_dir, tmp_path, "--force")
    assert files_of(tmp_path) == CORE | {"mine", "mine.cuh"}
    assert (tmp_path / "mine").read_text() == "mine"


def test_json_names_the_files(run_dir: Path, tmp_path: Path) -> None:
    found = json_of("export", run_dir, tmp_path / "out")
    assert set(found["files"]) == CORE and found["left_out"] == {}


def git(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = ["git", "-c", "core.autocrlf=false", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture
def work_tree(tmp_path: Path) -> Path:
    if shutil.which("git") is None:
        pytest.skip("no git here")
    folder = tmp_path / "work"
    folder.mkdir()
    assert git(folder, "init", "-q").returncode == 0
    return folder


def test_the_patch_takes_the_users_file_to_the_kernel(work_tree: Path, tmp_path: Path) -> None:
    """For a task within a work tree its path is from the top, so that `git apply` finds it."""
    task = work_tree / "kernels" / "softmax"
    shutil.copytree(find_task("row_softmax").folder or "", task)
    run, out = tmp_path / "run", tmp_path / "out"
    optimized(task, run, "--evaluations", 10, "--seed", 1)
    completed("export", run, out)
    done = git(work_tree, "apply", str(out / "change.patch"))
    assert done.returncode == 0, done.stderr
    assert (task / "kernel.cu").read_bytes() == (out / "kernel.cu").read_bytes()
    completed("export", run, tmp_path / "again")
    assert "has changed since the run began" in (tmp_path / "again" / "README.md").read_text()


def test_a_run_that_began_with_a_launcher_of_the_users_is_handed_back_as_a_patch(
    work_tree: Path,
) -> None:
    (work_tree / "csrc").mkdir()
    problem, kernel = work_tree / "columns.py", work_tree / "csrc" / "mine.cu"
    problem.write_text(PROBLEM)
    kernel.write_text(host_source())
    begun = find_task(str(problem), kernel=kernel)
    faster = host_source(extra="// a remark\n")
    candidate = Candidate(source=faster, tunables=begun.task.baseline.tunables | {"UNROLL": 2})
    delivery = delivery_of(begun, candidate, kernel=kernel)
    written = deliverables(delivery)
    (work_tree / "change.patch").write_text(written.files["change.patch"])
    done = git(work_tree, "apply", "change.patch")
    assert done.returncode == 0, done.stderr
    assert kernel.read_text() == written.files["kernel.cu"] != host_source()
    assert "`csrc/mine.cu`" in written.files["README.md"]
    from_model = find_task(str(problem), dialect="host")
    found = deliverables(delivery_of(from_model, candidate)).left_out["change.patch"]
    assert "begins with a file of yours" in found


LINES = st.lists(st.sampled_from(["a", "b\r", "", "\x0c", "c\u2028d", "-- x", "+", "\\ No"]))


@given(before=LINES, after=LINES, ends=st.tuples(st.booleans(), st.booleans()))
def test_a_patch_of_any_text_reads_as_a_diff(
    before: list[str], after: list[str], ends: tuple[bool, bool]
) -> None:
    """Applied by hand: lines kept and removed are the old text, kept and added the new one."""
    old, new = "\n".join(before) + "\n" * ends[0], "\n".join(after) + "\n" * ends[1]
    patch = unified_patch(old, new, path="k.cu")
    if old == new:
        assert patch == ""
        return
    kept: dict[str, list[str]] = {" -": [], " +": []}
    last = " "
    for line in patch.split("\n")[2:-1]:
        if line.startswith("@@"):
            continue
        if line.startswith("\\"):
            for name in kept:
                if last in name:
                    kept[name][-1] = kept[name][-1][:-1]
            continue
        last = line[0]
        for name, lines in kept.items():
            if last in name:
                lines.append(line[1:] + "\n")
    if len(before) <= 4 and len(after) <= 4:  # all of it is context
        assert ("".join(kept[" -"]), "".join(kept[" +"])) == (old, new)


@pytest.mark.parametrize(
    ("before", "after"),
    [("a\nb", "a\nc"), ("a\nb\n", "a\nb"), ("", "a\n"), ("a\r\nb\r\n", "a\r\nc\r\n"), ("a\n", "")],
)
def test_git_applies_patches_of_odd_line_ends(before: str, after: str, work_tree: Path) -> None:
    (work_tree / "k.cu").write_bytes(before.encode())
    (work_tree / "p").write_bytes(unified_patch(before, after, path="k.cu").encode())
    done = git(work_tree, "apply", "p")
    assert done.returncode == 0, done.stderr
    assert (work_tree / "k.cu").read_bytes() == after.encode()


def test_run_json_is_what_its_schema_says(exported: Path, run_dir: Path) -> None:
    document = json.loads((exported / "run.json").read_text())
    written = json.loads((exported / "run.schema.json").read_text())
    assert written == schema()
    jsonschema.Draft202012Validator.check_schema(written)
    jsonschema.Draft202012Validator(written).validate(document)
    assert (document["format"], document["version"]) == ("rooftree.run", 2)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(written).validate({**document, "more": 1})
    delivery = read_delivery(run_dir)
    assert RunDocument.model_validate(document) == run_document(delivery)
    nodes = {node["id"]: node for node in document["nodes"]}
    assert document["best"] == delivery.best.id and len(nodes) == len(delivery.result.nodes)
    best = nodes[document["best"]]
    assert best["confirmed"]["timing"]["speedup"] == delivery.timing.speedup
    assert delivery.best.candidate is not None
    source = document["sources"][best["candidate"]["source"]]
    assert source == delivery.best.candidate.source
    path = [node["id"] for node in document["nodes"] if node["on_best_path"]]
    assert path == sorted(node.id for node in delivery.result.path_to(delivery.best))


def test_run_json_has_every_option_of_how_a_model_is_asked() -> None:
    left_out = {"name", "api_base", "library", "queue"}  # said elsewhere, or a place on the machine
    assert set(ModelOptions.model_fields) - left_out == set(AskingDocument.model_fields)
    for name in set(AskingDocument.model_fields) & {"feedback", "lookup_protocol", "roles"}:
        theirs, ours = ModelOptions.model_fields[name], AskingDocument.model_fields[name]
        assert theirs.annotation == ours.annotation, name


def test_run_json_holds_every_source_once_and_loses_none(exported: Path, run_dir: Path) -> None:
    text = (exported / "run.json").read_text()
    document, delivery = json.loads(text), read_delivery(run_dir)
    named = {
        (node["id"], node["candidate"]["id"]): document["sources"][node["candidate"]["source"]]
        for node in document["nodes"]
    }
    assert named == {
        (node.id, node.candidate.id): node.candidate.source
        for node in delivery.result.nodes
        if node.candidate
    }
    assert len(set(document["sources"].values())) == len(document["sources"])
    baseline = json.dumps(delivery.task.baseline.source, ensure_ascii=False)
    assert text.count(baseline) == 2, "in `sources`, and in the task"


def test_run_json_names_no_paths_of_the_machine(exported: Path) -> None:
    config = json.loads((exported / "run.json").read_text())["config"]
    assert config["recording"]["path"] == RECORDING.name
    assert config["memory"] is None and config["api_base"] is None


def test_a_configuration_in_run_json_has_names_for_paths(run_dir: Path) -> None:
    config = read_delivery(run_dir).config
    model = config.model.model_copy(
        update={"cache": "/home/me/cache.sqlite", "record": "/home/me/tape.jsonl"}
    )
    judging = config.judging.model_copy(
        update={"includes": ("/home/me/cutlass",), "evaluator": "mine:/home/me/rig.toml"}
    )
    search = config.search.model_copy(update={"proposer": "llm"})
    update = {"model": model, "judging": judging, "search": search, "task": "/home/me/task"}
    told = ConfigDocument.of(config.model_copy(update=update))
    assert "/home" not in told.model_dump_json()
    assert told.asking is not None and told.asking.record == "tape.jsonl"
    assert (told.includes, told.evaluator) == (("cutlass",), "mine")


@pytest.mark.parametrize("proposer", sorted(ASKS_NO_MODEL))
def test_of_a_run_without_a_model_it_does_not_say_how_one_is_asked(
    run_dir: Path, proposer: str
) -> None:
    config = read_delivery(run_dir).config
    search = config.search.model_copy(update={"proposer": proposer})
    assert ConfigDocument.of(config.model_copy(update={"search": search})).asking is None


def reproduced(folder: Path, *words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, folder / "reproduce.py", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


REPLAY = ("--", "--evaluator", "replay", "--recording", RECORDING)


def test_the_script_confirms_what_was_reported(exported: Path, tmp_path: Path) -> None:
    """In a copy elsewhere, by the recording: another draw of the same measurements."""
    folder = tmp_path / "copied"
    shutil.copytree(exported, folder)
    done = reproduced(folder, "--json", *REPLAY)
    verdict = json.loads(done.stdout)
    assert verdict["agrees"] is True and done.returncode == 0, done.stdout
    assert files_of(folder) == CORE, "nothing is left behind"


def test_the_script_refutes_a_speedup_that_is_not_there(exported: Path, tmp_path: Path) -> None:
    folder = tmp_path / "copied"
    shutil.copytree(exported, folder)
    expected = json.loads((folder / "expected.json").read_text())
    for name in ("speedup", "speedup_low", "speedup_high"):
        expected["reported"][name] *= 1.2
    (folder / "expected.json").write_text(json.dumps(expected))
    done = reproduced(folder, *REPLAY)
    assert done.returncode == 1 and "not reproduced" in done.stdout


def test_the_script_says_when_it_cannot_tell(exported: Path) -> None:
    missing = reproduced(exported, "--rooftree", "/nowhere/rooftree")
    assert missing.returncode == 2 and "install Rooftree" in missing.stderr
    failed = reproduced(exported, "--", "--evaluator", "replay")
    assert failed.returncode == 2 and "cannot tell" in failed.stderr


def answer(speedup: float, spread: float = 0.01, **changes: object) -> dict[str, Any]:
    judged = {
        "status": "measured", "speedup": speedup, "message": "",
        "speedup_low": speedup * (1 - spread), "speedup_high": speedup * (1 + spread),
    }  # fmt: skip
    return {"hardware": changes.pop("hardware", "Paper GPU"), "candidates": [judged | changes]}


@pytest.mark.parametrize(
    ("found", "code", "words"),
    [
        (answer(2.0), 0, "within the reported interval"),
        (answer(2.019), 0, "within the reported interval"),
        (answer(2.025), 0, "outside of the reported interval, differs by no more"),
        (answer(2.04), 1, "not reproduced: right, but the speedup differs"),
        (answer(1.96), 1, "not reproduced: right, but the speedup differs"),
        (answer(1.5, 0.5), 0, "differs by no more than both"),
        (answer(2.0, hardware="Other GPU"), 2, "other hardware"),
        (answer(2.0, status="wrong_result", message="off by one"), 1, "wrong_result: off by one"),
    ],
)
def test_the_verdict_of_a_reproduction(found: dict[str, Any], code: int, words: str) -> None:
    interval = {"speedup": 2.0, "speedup_low": 1.98, "speedup_high": 2.02}
    expected = {"reported": interval, "hardware": "Paper GPU", "device": "Paper GPU"}
    verdict = reproduce.compare(expected, found)
    assert verdict["exit_code"] == code
    assert words in "\n".join(reproduce.words(verdict))


def test_export_of_a_recording_says_what_is_left_out(toy_folder: Path, tmp_path: Path) -> None:
    recording = next((toy_folder / "recordings").iterdir())
    optimized(recording, tmp_path / "run", "--evaluations", 10, "--seed", 1)
    left_out = json_of("export", tmp_path / "run", tmp_path / "out")["left_out"]
    assert {"kernel.cu", "model_new.py", "change.patch", "reproduce.py"} <= left_out.keys()
    assert files_of(tmp_path / "out") == {"why.md", "run.json", "run.schema.json", "README.md"}
    readme = (tmp_path / "out" / "README.md").read_text()
    assert "`kernel.cu` is not here" in readme


def test_a_run_without_gain_exports_the_baseline(toy_folder: Path) -> None:
    source = find_task(str(toy_folder))
    delivery = delivery_of(source, source.task.baseline, speedup=0.9)
    assert delivery.best.id == 0
    written = deliverables(delivery)
    assert "the one that the run began with" in written.left_out["change.patch"]
    assert "nothing faster was found" in written.files["why.md"]


HOSTILE = (
    "</script>", "```", "\x1b[31m", "\u202e", "@everyone", "'''", '"""', "\\", "*/", "\r",
    "<img src=x>", "{0}",
)  # fmt: skip


@pytest.fixture
def hostile(toy_folder: Path) -> Delivery:
    """A best kernel whose source and claims are full of what other formats take for markup."""
    source = find_task(str(toy_folder))
    comment = "".join(f"// {item}\n" for item in HOSTILE if "\r" not in item and item != "\\")
    code = source.task.baseline.source + comment + "// last \\\n// line '''"
    candidate = Candidate(
        source=code,
        tunables=source.task.baseline.tunables,
        methods=("memory.x|`@all`<b>", "[a](http://b)"),
        rationale="x" * 10_000 + "</script>",
    )
    return delivery_of(source, candidate)


def test_what_a_model_wrote_stays_text(hostile: Delivery) -> None:
    module = model_new(hostile.kernel)
    space: dict[str, Any] = {}
    before = module.index("SOURCE = ")
    exec(module[before : module.index("def _exact")], space)
    assert space["SOURCE"] == "\n" + hostile.kernel.text
    assert hostile.kernel.text.split("*/", 1)[1].split("\n}", 1)[1] in header(hostile.kernel)
    why = deliverables(hostile).files["why.md"]
    assert "x" * 100 not in why, "a rationale is a claim, not evidence"
    assert "``memory.x\\|`@all`<b>``" in why, "in a code span, with a longer fence than its own"


def test_a_run_in_progress_and_a_crashed_one_can_be_exported(
    run_dir: Path, tmp_path: Path, copied: Callable[[Path, int], Path]
) -> None:
    half = copied(run_dir, 40)
    completed("export", half, tmp_path / "out")
    assert "still going, or crashed" in (tmp_path / "out" / "why.md").read_text()
    start = copied(run_dir, 1)
    refused(rooftree("export", start, tmp_path / "none"), "has not measured its baseline")


@pytest.fixture
def copied(tmp_path: Path) -> Callable[[Path, int], Path]:
    """A run as it was after so many events."""

    def copy(run_dir: Path, events: int) -> Path:
        folder = tmp_path / f"cut-{events}"
        shutil.copytree(run_dir, folder, ignore=shutil.ignore_patterns("run.sqlite*"))
        with (
            SqliteJournal(run_dir / "run.sqlite") as old,
            SqliteJournal(folder / "run.sqlite") as new,
        ):
            for event in list(old.events())[:events]:
                new.append(event.kind, event.payload)
        return folder

    return copy


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [("task.toml", "4096", "2048"), ("kernel.cu", "float", "double")],
)
def test_nothing_is_handed_over_for_a_task_that_was_changed_since(
    run_dir: Path, tmp_path: Path, name: str, before: str, after: str
) -> None:
    folder, out = tmp_path / "run", tmp_path / "out"
    shutil.copytree(run_dir, folder)
    file = folder / "task" / name
    text = file.read_text()
    assert before in text
    file.write_text(text.replace(before, after, 1))
    for words in (["export", folder, out], ["explain", folder]):
        refused(rooftree(*words), f"{folder}: its task is not the one that was measured")
    assert not out.exists()


def test_export_needs_no_recording(run_dir: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(run_dir, folder)
    config = (folder / "config.toml").read_text()
    (folder / "config.toml").write_text(config.replace(str(RECORDING), "/nowhere/x.json.gz"))
    completed("export", folder, tmp_path / "out")
