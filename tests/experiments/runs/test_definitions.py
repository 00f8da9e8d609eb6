"""Definitions, workloads and solutions in FlashInfer's trace format, as problems and candidates."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from experiments.app.candidates import candidates_of
from experiments.deliverables.writing import deliverables
from experiments.runs.tasks.definition_problems import named_workloads, problem_name, problem_text
from experiments.runs.tasks.definitions import read_definition, read_workloads, workloads_of
from experiments.runs.tasks.files import find_task
from experiments.runs.tasks.solutions import candidate_text, read_solution, solution_text
from mcts.errors import InputError
from profilers.host.several_shapes import on_workload
from tests.support.commands import completed, failed, rooftree
from tests.support.deliveries import delivery_of

DATA = Path(__file__).parents[2] / "data" / "definitions"
NORM = DATA / "definitions" / "norm" / "scaled_norm_d64.json"
SOLUTION = DATA / "solution.json"


def table(path: Path = NORM) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def write(folder: Path, found: Any, name: str = "made.json") -> Path:
    path = folder / name
    path.write_text(json.dumps(found) + "\n")
    return path


def norm_text(rows: int = 8) -> str:
    definition = read_definition(NORM)
    workloads = read_workloads(workloads_of(NORM), definition)
    (workload,) = [one for one in workloads if one.axes["rows"] == rows]
    return problem_text(definition, {f"rows{rows}": workload}, root=DATA)


def test_workloads_are_found_where_the_dataset_keeps_them_each_once(tmp_path: Path) -> None:
    definition = read_definition(NORM)
    file = workloads_of(NORM)
    assert file == DATA / "workloads" / "norm" / "scaled_norm_d64.jsonl"
    found = read_workloads(file, definition)
    assert [one.uuid for one in found] == ["few-rows", "many-rows"]
    named = named_workloads(definition, found)
    assert list(named) == ["rows8", "rows32"]
    assert problem_name(definition, "rows8") == "scaled_norm_d64_rows8"
    alone = write(tmp_path, table(), "definition.json")
    with pytest.raises(InputError, match="name their file with --workloads"):
        workloads_of(alone)
    beside = write(tmp_path, {}, "workload.jsonl")
    assert workloads_of(alone) == beside


def test_axes_are_given_fixed_or_computed() -> None:
    definition = read_definition(NORM)
    assert definition.extents({"rows": 8}) == {"rows": 8, "columns": 64, "half": 32}
    with pytest.raises(InputError, match="gives the axis 'rows' no value"):
        definition.extents({})


def test_axes_that_are_computed_from_each_other_are_told(tmp_path: Path) -> None:
    found = table()
    found["axes"]["half"]["expression"] = "third + 1"
    found["axes"]["third"] = {"type": "expr", "expression": "half - 1"}
    with pytest.raises(InputError, match="'half' cannot be computed"):
        read_definition(write(tmp_path, found)).extents({"rows": 8})


def test_the_problem_is_one_that_can_be_searched(tmp_path: Path) -> None:
    path = tmp_path / "scaled_norm.py"
    path.write_text(norm_text())
    task = find_task(str(path)).task
    assert task.name == "scaled_norm"
    # A run keeps the text, so that what it is made of must be all there.
    assert task.reference == norm_text()
    assert norm_text().startswith("\"\"\"Divides rows by their norm, '''scaled''' by a weight.\n")


def test_the_model_gives_what_the_definition_promises() -> None:
    torch: Any = pytest.importorskip("torch")
    space: dict[str, Any] = {}
    exec(norm_text(), space)
    inputs = space["get_inputs"]()
    assert [getattr(each, "dtype", each) for each in inputs] == [
        torch.bfloat16, torch.float32, torch.int32, 1e-6
    ]  # fmt: skip
    outputs = space["Model"](*space["get_init_inputs"]())(*inputs)
    assert space["OUTPUTS"] == {"y": "bfloat16", "norm": "float32"}
    told = [str(each.dtype).removeprefix("torch.") for each in outputs]
    assert told == list(space["OUTPUTS"].values())
    shapes = space["SHAPES"]["rows8"]
    assert [list(each.shape) for each in outputs] == [shapes["y"], shapes["norm"]]
    assert shapes["eps"] is None


def test_a_solution_that_writes_its_outputs_is_a_candidate(tmp_path: Path) -> None:
    torch: Any = pytest.importorskip("torch")
    problem = tmp_path / "scaled_norm.py"
    problem.write_text(norm_text())
    [(label, candidate)] = candidates_of(find_task(str(problem)).task, [SOLUTION], [])
    assert label == str(SOLUTION)
    reference: dict[str, Any] = {}
    exec(norm_text(), reference)
    made: dict[str, Any] = {}
    exec(candidate.source, made)
    inputs = reference["get_inputs"]()
    for ours, wanted in zip(
        made["ModelNew"]()(*inputs), reference["Model"]()(*inputs), strict=True
    ):
        assert torch.equal(ours, wanted)


def test_a_solution_that_returns_its_outputs_needs_to_know_nothing_of_them(tmp_path: Path) -> None:
    found = table(SOLUTION)
    found["spec"] |= {"destination_passing_style": False, "languages": ["triton"]}
    text = candidate_text(read_solution(write(tmp_path, found)), norm_text())
    assert text.endswith("        return normed(x, weight, pairs, eps)\n")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"spec": {"entry_point": "main.py"}}, "is no solution: spec.entry_point"),
        (
            {"spec": {"entry_point": "main.py::run", "language": "cuda"}},
            "has no PYBIND11_MODULE and no",
        ),
        (
            {"spec": {"entry_point": "main.py::run", "language": "tilelang"}},
            "is in tilelang: what can be judged is Python",
        ),
        ({"definition": "gemm_n8"}, "is of gemm_n8, the problem was made of"),
        (
            {"spec": {"entry_point": "main.py::run", "languages": ["cuda", "triton"]}},
            "cuda, triton",
        ),
        ({"spec": {"entry_point": "main.py::run"}}, "is in no language"),
        ({"spec": {"entry_point": "other.py::run", "language": "python"}}, "has 1 sources"),
    ],
)
def test_a_solution_that_cannot_be_judged_is_told_in_a_line(
    tmp_path: Path, change: dict[str, Any], said: str
) -> None:
    path = write(tmp_path, table(SOLUTION) | change)
    with pytest.raises(InputError, match=said):
        candidate_text(read_solution(path), norm_text())


CPP = {
    "main.cpp": '#include <torch/extension.h>\n#include "half/scale.h"\n'
    "torch::Tensor run(torch::Tensor x, torch::Tensor w) { return scaled(x * w, FACTOR); }\n"
    'PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("run", &run); }\n',
    "half/scale.h": '#pragma once\n#include "factor.h"\n'
    "torch::Tensor scaled(torch::Tensor x, float by);\n",
    "half/factor.h": "#pragma once\n#define FACTOR 0.5f\n",
    "half/scale.cc": '#include "scale.h"\n#include <cmath>\n#include "elsewhere.h"\n'
    "torch::Tensor scaled(torch::Tensor x, float by) { return x * by; }\n",
    "kernel.cu": '#include "half/factor.h"\n__global__ void half(float* x) { x[0] *= FACTOR; }\n',
}


def in_cpp(
    tmp_path: Path,
    sources: dict[str, str] = CPP,
    *,
    language: str = "cuda_cpp",
    linked: Sequence[str] = (),
) -> str:
    spec = {
        "entry_point": "main.cpp::run",
        "languages": [language],
        "destination_passing_style": False,
        "compile_options": {"cuda_cflags": ["-O3"], "cflags": ["-DFAST"], "ld_flags": linked},
    }
    texts = [{"path": path, "content": text} for path, text in sources.items()]
    found = table(SOLUTION) | {"spec": spec, "sources": texts}
    return candidate_text(read_solution(write(tmp_path, found)), norm_text())


def test_a_solution_in_cpp_is_built_from_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    extension: Any = pytest.importorskip("torch.utils.cpp_extension")
    asked: dict[str, Any] = {}

    def built(**named: Any) -> Any:
        asked.update(named)
        return SimpleNamespace(run=lambda *given: given)

    monkeypatch.setattr(extension, "load", built)
    monkeypatch.setenv("TORCH_EXTENSIONS_DIR", str(tmp_path / "extensions"))
    made: dict[str, Any] = {}
    text = in_cpp(tmp_path)
    exec(text, made)
    assert made["ModelNew"]()(1, 2, 3, 4) == (1, 2, 3, 4)
    (folder,) = map(Path, asked["extra_include_paths"])
    assert asked["sources"] == [
        str(folder / path) for path in ("main.cpp", "half/scale.cc", "kernel.cu")
    ]
    assert {path: (folder / path).read_text() for path in CPP} == CPP
    assert asked["extra_cuda_cflags"] == ["-O3"] and asked["extra_cflags"] == ["-DFAST"]
    assert asked["extra_ldflags"] == []
    written = (folder / "main.cpp").stat().st_mtime_ns
    exec(text, {})
    assert (folder / "main.cpp").stat().st_mtime_ns == written, "else all would be built anew"
    other = in_cpp(tmp_path, CPP | {"kernel.cu": "__global__ void half(float*) {}"})
    assert f'name="{asked["name"]}"' not in other, "another one is not taken for it"


@pytest.mark.parametrize("language", ["cutlass", "cudnn", "cublas"])
def test_a_solution_on_a_library_is_linked_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, language: str
) -> None:
    extension: Any = pytest.importorskip("torch.utils.cpp_extension")
    asked: dict[str, Any] = {}
    library = tmp_path / "nvidia" / "own" / "lib" / f"lib{language}.so.7"
    library.parent.mkdir(parents=True)
    library.touch()
    (library.parents[1] / "include").mkdir()
    place = SimpleNamespace(submodule_search_locations=[str(tmp_path / "nvidia")])
    monkeypatch.setattr("importlib.util.find_spec", lambda name: place)
    monkeypatch.setattr(extension, "load", lambda **named: asked.update(named))
    monkeypatch.setenv("TORCH_EXTENSIONS_DIR", str(tmp_path / "extensions"))
    monkeypatch.setenv("CPLUS_INCLUDE_PATH", "/others")
    exec(in_cpp(tmp_path, language=language, linked=[f"-l{language}"]), {})
    (folder,) = map(Path, asked["extra_include_paths"])
    searched = os.environ["CPLUS_INCLUDE_PATH"].split(os.pathsep)
    assert searched == [str(library.parents[1] / "include"), "/others"]
    assert (folder / "links" / f"lib{language}.so").resolve() == library.resolve()
    assert asked["extra_ldflags"][:2] == [f"-l{language}", f"-L{folder / 'links'}"]


@pytest.mark.parametrize("path", ["../main.cpp", "/tmp/main.cpp", "a/../../main.cpp"])
def test_a_source_outside_of_the_solution_is_refused(tmp_path: Path, path: str) -> None:
    with pytest.raises(InputError, match="no inner path"):
        in_cpp(tmp_path, {path: "PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {}"})


TVM_FFI = """
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/function.h>
#include "factor.h"
int other();

static int helper() { return 0; }

void run(tvm::ffi::TensorView x, tvm::ffi::TensorView w, tvm::ffi::TensorView eps,
         tvm::ffi::TensorView y)
{
    const float* in = static_cast<const float*>(x.data_ptr());
    float* out = static_cast<float*>(y.data_ptr());
    for (int at = 0; at < x.size(0); ++at) out[at] = FACTOR * in[at] + helper() + other();
}

TVM_FFI_DLL_EXPORT_TYPED_FUNC(run, run);
"""


def test_a_solution_bound_by_tvm_ffi_is_built_and_called_with_tensors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = "static int helper() { return 1; }\nint other() { return helper(); }\n"
    sources = {"kernel.cc": TVM_FFI, "factor.h": "#define FACTOR 0.5f\n", "other.cc": own}
    text = in_cpp(tmp_path, sources)
    assert "from tvm_ffi.cpp import load" in text
    torch: Any = pytest.importorskip("torch")
    pytest.importorskip("tvm_ffi")
    monkeypatch.setenv("TVM_FFI_CACHE_DIR", str(tmp_path / "built"))
    monkeypatch.setenv("TORCH_EXTENSIONS_DIR", str(tmp_path / "extensions"))
    made: dict[str, Any] = {}
    exec(text, made)
    x, y = torch.arange(4.0), torch.empty(4)
    made["_BUILT"].run(x, x, x, y)
    assert torch.equal(y, x / 2 + 1), "each file has its own `helper`"


def test_a_solution_needs_a_problem_of_a_definition(tmp_path: Path) -> None:
    plain = norm_text().replace("OUTPUTS", "SOMETHING")
    with pytest.raises(InputError, match="tasks from-definition"):
        candidate_text(read_solution(SOLUTION), plain)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"name": ""}, "is no definition: name"),
        ({"reference": "def other(x): pass"}, "defines no function run"),
        ({"reference": "def run(x:"}, "is not Python"),
        ({"inputs": {"x": {"shape": ["depth"], "dtype": "float32"}}}, "unknown axis 'depth'"),
        ({"inputs": {"x": {"shape": ["rows"], "dtype": "float4_e2m1"}}}, "cannot be judged here"),
        ({"inputs": {"x y": {"shape": ["rows"], "dtype": "int8"}}}, "is no definition: inputs"),
        ({"axes": {"rows": {"type": "const"}}}, "needs a value"),
        ({"custom_inputs_entrypoint": "draw"}, "defines no function draw"),
    ],
)
def test_what_is_no_definition_is_told_in_a_line(
    tmp_path: Path, change: dict[str, Any], said: str
) -> None:
    with pytest.raises(InputError, match=said) as told:
        read_definition(write(tmp_path, table() | change))
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"axes": {}}, "gives the axis 'rows' no value"),
        ({"axes": {"rows": 5000}}, "breaks the constraint rows <= 4096"),
        ({"inputs": {}}, "says nothing of the input 'x'"),
        ({"uuid": ""}, "is no workload: uuid"),
    ],
)
def test_the_line_of_a_workload_that_does_not_fit_is_named(
    tmp_path: Path, change: dict[str, Any], said: str
) -> None:
    second = workloads_of(NORM).read_text().splitlines()[1]
    path = tmp_path / "workload.jsonl"
    path.write_text(f"{second}\n{json.dumps(json.loads(second) | change)}\n")
    with pytest.raises(InputError, match=f"line 2.*{said}"):
        read_workloads(path, read_definition(NORM))


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ({"type": "scalar", "value": 1}, "'x' is a tensor, its source is scalar"),
        ({"type": "custom"}, "has no custom_inputs_entrypoint"),
    ],
)
def test_an_input_that_does_not_fit_its_source_is_named(
    tmp_path: Path, source: dict[str, Any], said: str
) -> None:
    line = json.loads(workloads_of(NORM).read_text().splitlines()[1])
    line["inputs"]["x"] = source
    with pytest.raises(InputError, match=said):
        read_workloads(write(tmp_path, line), read_definition(NORM))


def test_custom_inputs_come_from_the_definitions_own_function(tmp_path: Path) -> None:
    torch: Any = pytest.importorskip("torch")
    found = table()
    found["custom_inputs_entrypoint"] = "drawn"
    found["reference"] += (
        "\ndef drawn(known, device):\n"
        "    return {'pairs': torch.full([known['half']], known['rows'], dtype=torch.int32)}\n"
    )
    line = json.loads(workloads_of(NORM).read_text().splitlines()[1])
    line["inputs"]["pairs"] = {"type": "custom"}
    definition = read_definition(write(tmp_path, found))
    (workload,) = read_workloads(write(tmp_path, line, "w.jsonl"), definition)
    space: dict[str, Any] = {}
    exec(problem_text(definition, {"one": workload}, root=tmp_path), space)
    assert torch.equal(space["get_inputs"]()[2], torch.full([32], 32, dtype=torch.int32))


def test_a_tensors_file_is_looked_for_below_the_root(tmp_path: Path) -> None:
    line = json.loads(workloads_of(NORM).read_text().splitlines()[1])
    line["inputs"]["x"] = {"type": "safetensors", "path": "kept/x.safetensors", "tensor_key": "x"}
    definition = read_definition(NORM)
    (workload,) = read_workloads(write(tmp_path, line), definition)
    with pytest.raises(InputError, match="name the folder that it is below with --root"):
        problem_text(definition, {"one": workload}, root=tmp_path)
    (tmp_path / "kept").mkdir()
    kept = tmp_path / "kept" / "x.safetensors"
    kept.touch()
    assert f"load_file({str(kept)!r})['x']" in problem_text(
        definition, {"one": workload}, root=tmp_path
    )


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("class Model:\n    pass", "Model"),
        ("SHAPES = {'a': 2.0}", "SHAPES"),
        ("if True:\n    OUTPUTS, other = 1, 2", "OUTPUTS"),
        ("from torch import nn as Model", "Model"),
        ("async def get_inputs(): ...", "get_inputs"),
    ],
)
def test_a_reference_may_not_define_what_a_problem_file_does(
    tmp_path: Path, line: str, name: str
) -> None:
    found = table()
    found["reference"] += f"\n{line}\n"
    definition = read_definition(write(tmp_path, found))
    (workload, _) = read_workloads(workloads_of(NORM), definition)
    with pytest.raises(InputError, match=f"defines {name} itself"):
        problem_text(definition, {"one": workload}, root=tmp_path)


def test_the_command_writes_a_file_for_each_workload(tmp_path: Path) -> None:
    out = tmp_path / "made"
    told = json.loads(completed("tasks", "from-definition", NORM, "-o", out, "--json").output)
    assert [row["workloads"] for row in told["problems"]] == [["few-rows"], ["many-rows"]]
    assert sorted(path.name for path in out.iterdir()) == [
        "scaled_norm_d64_rows32.py", "scaled_norm_d64_rows8.py"
    ]  # fmt: skip
    one = ("tasks", "from-definition", NORM, "-o", tmp_path / "one", "--workload")
    assert "rooftree optimize" in completed(*one, "many-rows").output
    assert [path.name for path in (tmp_path / "one").iterdir()] == ["scaled_norm_d64_rows32.py"]
    failed(rooftree(*one, "many-row"), "no workload many-row; did you mean many-rows?")


def test_workloads_of_the_same_axes_have_names_of_their_own(tmp_path: Path) -> None:
    lines = workloads_of(NORM).read_text().splitlines()
    again = json.dumps(json.loads(lines[1]) | {"uuid": "once more"})
    file = tmp_path / "all.jsonl"
    file.write_text(f"{lines[1]}\n{again}\n")
    completed("tasks", "from-definition", NORM, "--workloads", file, "-o", tmp_path)
    assert sorted(path.name for path in tmp_path.glob("*.py")) == [
        "scaled_norm_d64_rows32.py", "scaled_norm_d64_rows32_once_more.py"
    ]  # fmt: skip


def test_a_winner_is_handed_over_as_a_solution_that_can_be_judged_again(tmp_path: Path) -> None:
    torch: Any = pytest.importorskip("torch")
    path = tmp_path / "scaled_norm_d64_rows8.py"
    path.write_text(norm_text())
    source = find_task(str(path))
    [(_, candidate)] = candidates_of(source.task, [SOLUTION], [])
    written = deliverables(delivery_of(source, candidate))
    assert "`solution.json`" in written.files["README.md"]
    handed = tmp_path / "solution.json"
    handed.write_text(written.files["solution.json"])
    solution = read_solution(handed)
    assert solution.definition == "scaled_norm_d64"
    assert (
        "measured on scaled_norm_d64_rows8 alone" in json.loads(handed.read_text())["description"]
    )
    [(_, again)] = candidates_of(source.task, [handed], [])
    space: dict[str, Any] = {}
    exec(again.source, space)
    reference: dict[str, Any] = {}
    exec(norm_text(), reference)
    inputs = reference["get_inputs"]()
    model = reference["Model"]()
    for ours, wanted in zip(space["ModelNew"]()(*inputs), model(*inputs), strict=True):
        assert torch.equal(ours, wanted)


def test_an_entry_point_takes_no_name_that_the_module_has() -> None:
    text = solution_text(
        "def run(): ...\nclass run_2: ...\n", norm_text(), name="x", description=""
    )
    assert json.loads(text)["spec"]["entry_point"] == "main.py::run_3"


def test_other_problems_have_no_solution_to_hand_over(tmp_path: Path) -> None:
    path = tmp_path / "plain.py"
    path.write_text(norm_text().replace("DEFINITION = ", "OTHER = "))
    source = find_task(str(path))
    written = deliverables(delivery_of(source, source.task.baseline))
    assert "solution.json" not in {*written.files, *written.left_out}
    with pytest.raises(InputError, match="not made of a definition"):
        solution_text("", path.read_text(), name="x", description="")


@pytest.mark.parametrize(("code", "language"), [("import triton\n", "triton"), ("", "python")])
def test_a_solution_names_its_language_for_both_benchmarks(code: str, language: str) -> None:
    text = solution_text(code, norm_text(), name="x", description="y")
    spec = json.loads(text)["spec"]
    assert spec["language"] == language
    assert spec["languages"] == ["triton" if language == "triton" else "pytorch"]


def together(tmp_path: Path) -> Path:
    done = completed("tasks", "from-definition", NORM, "--together", "-o", tmp_path / "made")
    assert "scaled_norm_d64_together.py" in done.output
    return tmp_path / "made" / "scaled_norm_d64_together.py"


def test_workloads_together_are_one_task_of_several_shapes(tmp_path: Path) -> None:
    task = find_task(str(together(tmp_path))).task
    assert [(one.name, one.weight) for one in task.workloads] == [("rows8", 1.0), ("rows32", 1.0)]
    torch: Any = pytest.importorskip("torch")
    for name, rows in (("rows8", 8), ("rows32", 32)):
        space: dict[str, Any] = {}
        exec(on_workload(task, name).reference or "", space)
        x, *_ = space["get_inputs"]()
        assert x.shape == torch.Size([rows, 64])
        [(_, candidate)] = candidates_of(task, [SOLUTION], [])
        made: dict[str, Any] = {}
        exec(candidate.source, made)
        inputs = space["get_inputs"]()
        pairs = zip(made["ModelNew"]()(*inputs), space["Model"]()(*inputs), strict=True)
        assert all(torch.equal(ours, wanted) for ours, wanted in pairs)
    with pytest.raises(ValueError, match="no workload has inputs of the shapes"):
        made["ModelNew"]()(x[:3], *inputs[1:])


def test_outputs_that_inputs_shapes_do_not_tell_are_refused(tmp_path: Path) -> None:
    solution = read_solution(SOLUTION)
    same = together(tmp_path).read_text().replace("[8, 64]", "[32, 64]").replace("[8]", "[32]")
    assert candidate_text(solution, same)
    with pytest.raises(InputError, match="made without --together"):
        candidate_text(solution, same.replace("'norm': [32]", "'norm': [16]", 1))


def test_numbers_of_a_workload_are_its_own(tmp_path: Path) -> None:
    line = json.loads(workloads_of(NORM).read_text().splitlines()[1])
    line["axes"]["rows"], line["uuid"] = 16, "other eps"
    line["inputs"]["eps"]["value"] = 0.5
    definition = read_definition(NORM)
    (own,) = read_workloads(write(tmp_path, line), definition)
    (_, other) = read_workloads(workloads_of(NORM), definition)
    text = problem_text(definition, {"own": own, "other": other}, root=tmp_path)
    assert "{'own': lambda: 0.5, 'other': lambda: 1e-06}[workload]()" in text


def test_too_many_workloads_are_told_before_anything_is_written(tmp_path: Path) -> None:
    line = json.loads(workloads_of(NORM).read_text().splitlines()[1])
    many = [line | {"uuid": f"w{rows}", "axes": {"rows": rows}} for rows in range(1, 10)]
    file = tmp_path / "many.jsonl"
    file.write_text("".join(json.dumps(one) + "\n" for one in many))
    asked = ("tasks", "from-definition", NORM, "--together", "--workloads", file)
    failed(rooftree(*asked, "-o", tmp_path / "made"), "9 workloads, 8 at most", "--workload")
    assert not (tmp_path / "made").exists()
