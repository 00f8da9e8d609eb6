"""Solutions in FlashInfer's trace format, which SOL-ExecBench uses as well, and candidates.

A solution has sources and an entry point, a function that returns the outputs or, in destination
passing style, is handed tensors to write them to.
"""

from __future__ import annotations

import ast
import hashlib
import itertools
import json
import posixpath
from collections.abc import Mapping
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from experiments.runs.tasks.definition_problems import DEFINITION, OUTPUTS, SHAPES
from experiments.runs.tasks.definitions import ENTRY
from experiments.runs.tasks.files import read_text
from mcts.domain import first_problem
from mcts.domain.python_source import constant_of, read_module
from mcts.errors import InputError
from mcts.formats import FormatError, parse_json

SUFFIX = ".json"
_IN_PYTHON = {"python", "pytorch", "triton", "cute_dsl", "cutile", "cudnn_frontend"}
_IN_CPP = {"cuda", "cuda_cpp", "cpp", "c++", "cutlass", "cudnn", "cublas"}
_CUDA, _CPP = (".cu",), (".cpp", ".cc", ".cxx", ".c")
_PYBIND, _TVM_FFI = "PYBIND11_MODULE", "TVM_FFI_DLL_EXPORT"


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class SourceText(_Part):
    path: str
    content: str


class CompileOptions(_Part):
    cflags: tuple[str, ...] = ()
    cuda_cflags: tuple[str, ...] = ()
    ld_flags: tuple[str, ...] = ()


class BuildSpec(_Part):
    """How a solution is built; FlashInfer's names one language, SOL-ExecBench's several."""

    language: str | None = None
    languages: tuple[str, ...] = ()
    entry_point: str = Field(pattern=r"^[^:]+::[A-Za-z_][A-Za-z0-9_]*$")
    destination_passing_style: bool = True
    compile_options: CompileOptions | None = None

    @property
    def every_language(self) -> set[str]:
        return {*self.languages, *([self.language] if self.language else [])}


class Solution(_Part):
    """An implementation of the definition of that name."""

    name: str
    definition: str
    spec: BuildSpec
    sources: tuple[SourceText, ...] = Field(min_length=1)


def read_solution(path: Path) -> Solution:
    """A solution's file. InputError, in one line, if it is none."""
    try:
        return Solution.model_validate(parse_json(read_text(path)))
    except FormatError as error:
        raise InputError(f"{path} is not JSON: {error}") from None
    except ValidationError as error:
        raise InputError(f"{path} is no solution: {first_problem(error)}") from None


def candidate_text(solution: Solution, problem: str) -> str:
    """A solution as a file with a `ModelNew` for a problem file's text.

    InputError for other languages, several sources in Python, C++ that is bound by neither pybind11
    nor TVM FFI, a problem that does not say what it returns, or workloads that tell their outputs'
    shapes by more than those of their inputs, in destination passing style.
    """
    spec = solution.spec
    made_of = definition_of(problem)
    if made_of not in (None, solution.definition):
        raise InputError(
            f"solution {solution.name} is of {solution.definition}, the problem was made of "
            f"{made_of}"
        )
    languages = spec.every_language
    if languages and languages <= _IN_PYTHON:
        text, entry = _in_python(solution)
    elif languages and languages <= _IN_CPP:
        text, entry = _in_cpp(solution)
    else:
        named = ", ".join(sorted(languages)) or "no language"
        raise InputError(
            f"solution {solution.name} is in {named}: what can be judged is Python "
            f"({', '.join(sorted(_IN_PYTHON))}) or C++ ({', '.join(sorted(_IN_CPP))})"
        )
    inputs = _inputs_of(problem)
    given = ", ".join(inputs)
    lines = [text.rstrip(), "", "", "import torch", "", ""]
    lines += ["class ModelNew(torch.nn.Module):", f"    def forward(self, {given}):"]
    if not spec.destination_passing_style:
        return "\n".join([*lines, f"        return {entry}({given})", ""])
    tree = read_module(problem)
    dtypes, shapes = constant_of(tree, OUTPUTS), constant_of(tree, SHAPES)
    if dtypes is None or shapes is None:
        raise InputError(
            "a solution in destination passing style needs a problem made of its definition "
            "(rooftree tasks from-definition)"
        )
    known: dict[tuple[tuple[int, ...], ...], list[list[int]]] = {}
    for workload, each in shapes.items():
        of_inputs = tuple(tuple(each[name]) for name in inputs if each[name] is not None)
        of_outputs = [each[name] for name in dtypes]
        if known.setdefault(of_inputs, of_outputs) != of_outputs:
            raise InputError(
                f"workload {workload} has the inputs' shapes of another and other outputs': a "
                "solution in destination passing style can be judged on each alone, by problems "
                "made without --together"
            )
    made = ", ".join(dtypes)
    types = ", ".join(f"torch.{each}" for each in dtypes.values())
    lines[-2:-2] = [f"_OUTPUTS = {known!r}", "", ""]
    lines += [
        f"        _tensors = [_x for _x in ({given},) if isinstance(_x, torch.Tensor)]",
        "        _shapes = tuple(tuple(_x.shape) for _x in _tensors)",
        "        if _shapes not in _OUTPUTS:",
        '            raise ValueError(f"no workload has inputs of the shapes {_shapes}")',
        f"        {made}, = (",
        "            torch.empty(_shape, dtype=_dtype, device=_tensors[0].device)",
        "            for _shape, _dtype in zip(",
        f"                _OUTPUTS[_shapes], [{types}], strict=True",
        "            )",
        "        )",
    ]
    return "\n".join([*lines, f"        {entry}({given}, {made})", f"        return {made}", ""])


def _in_python(solution: Solution) -> tuple[str, str]:
    """The source, and the entry point's name in it."""
    file, _, entry = solution.spec.entry_point.partition("::")
    texts = _texts(solution)
    if len(texts) > 1 or posixpath.normpath(file) not in texts:
        raise InputError(
            f"solution {solution.name} has {len(texts)} sources: one that has the entry point can "
            "be judged"
        )
    return texts[posixpath.normpath(file)], entry


def _in_cpp(solution: Solution) -> tuple[str, str]:
    """A module that writes the sources and builds them when it is imported, and the entry point in
    it. Each source is an object of its own, as the benchmarks build them.
    """
    texts = _texts(solution)
    options = solution.spec.compile_options or CompileOptions()
    digest = hashlib.sha256(repr((texts, options)).encode()).hexdigest()[:12]
    built = [path for path in texts if path.endswith(_CPP + _CUDA)]
    lines = [
        "import os, tempfile", f"from {_builder(solution, texts)} import load", "",
        f"_SOURCES = {texts!r}",
        "_FOLDER = os.path.join(",
        '    os.environ.get("TORCH_EXTENSIONS_DIR", tempfile.gettempdir()),',
        f'    "sources_{digest}",',
        ")",
        "for _path, _text in _SOURCES.items():",
        "    _file = os.path.join(_FOLDER, _path)",
        "    os.makedirs(os.path.dirname(_file), exist_ok=True)",
        "    if not os.path.exists(_file) or open(_file).read() != _text:",
        '        with open(_file, "w") as _out:',
        "            _out.write(_text)", "",
        *_linking(options),
        "_BUILT = load(",
        f'    name="solution_{digest}",',
        f"    sources=[os.path.join(_FOLDER, _path) for _path in {built!r}],",
        f"    extra_cflags={list(options.cflags)!r},",
        f"    extra_cuda_cflags={list(options.cuda_cflags)!r},",
        "    extra_ldflags=_LINKED,",
        "    extra_include_paths=[_FOLDER],", ")",
    ]  # fmt: skip
    return "\n".join(lines), "_BUILT." + solution.spec.entry_point.partition("::")[2]


def _linking(options: CompileOptions) -> list[str]:
    """Lines that say what is linked, and to the compiler where the headers of that are."""
    flags = list(options.ld_flags)
    if not any(flag.startswith("-l") for flag in flags):
        return [f"_LINKED = {flags!r}", ""]
    return [
        "from codegen.wheel_libraries import wheel_options", "",
        f'_LINKED, _HEADERS = wheel_options({flags!r}, links=os.path.join(_FOLDER, "links"))',
        "if _HEADERS:",
        '    _OTHERS = os.environ.get("CPLUS_INCLUDE_PATH", "").split(os.pathsep)',
        "    _HEADERS += filter(None, _OTHERS)",
        '    os.environ["CPLUS_INCLUDE_PATH"] = os.pathsep.join(_HEADERS)', "",
    ]  # fmt: skip


def _builder(solution: Solution, texts: Mapping[str, str]) -> str:
    """The module whose `load` builds what is bound in this way."""
    if any(_PYBIND in text for text in texts.values()):
        return "torch.utils.cpp_extension"
    if any(_TVM_FFI in text for text in texts.values()):
        return "tvm_ffi.cpp"
    raise InputError(
        f"solution {solution.name} has no {_PYBIND} and no {_TVM_FFI}...: C++ and CUDA can be "
        "judged that are bound by pybind11, as torch.utils.cpp_extension builds them, or by TVM FFI"
    )


def _texts(solution: Solution) -> dict[str, str]:
    """By path. InputError for a path that leads out of the solution's folder."""
    found: dict[str, str] = {}
    for source in solution.sources:
        path = posixpath.normpath(source.path)
        if path == ".." or path.startswith(("/", "../")):
            raise InputError(f"solution {solution.name}: its source {source.path} is no inner path")
        found[path] = source.content
    return found


def definition_of(problem: str) -> str | None:
    """The name of the definition that a problem file was made of; None for other problems."""
    found = constant_of(read_module(problem), DEFINITION)
    return found if isinstance(found, str) else None


def solution_text(module: str, problem: str, *, name: str, description: str) -> str:
    """A file with a `ModelNew` as a solution's JSON, in the fields that both benchmarks read.

    The model is made once, by the first call. InputError if `problem` is of no definition.
    """
    definition = definition_of(problem)
    if definition is None:
        raise InputError("the problem was not made of a definition")
    given = ", ".join(_inputs_of(problem))
    entry = _free_name(module)
    # Who reads the solution may append a ModelNew of its own.
    source = [
        module.rstrip(), "", "", "_CLASS, _MODEL = ModelNew, None", "", "",
        f"def {entry}({given}):", "    global _MODEL", "    if _MODEL is None:",
        "        _MODEL = _CLASS()", f"    return _MODEL({given})", "",
    ]  # fmt: skip
    in_triton = any("triton" in ast.unparse(node) for node in _imports(module))
    document = {
        "name": name,
        "definition": definition,
        "author": "rooftree",
        "description": description,
        "spec": {
            "language": "triton" if in_triton else "python",
            "languages": ["triton" if in_triton else "pytorch"],
            "target_hardware": ["LOCAL"],
            "entry_point": f"main.py::{entry}",
            "dependencies": ["torch", *(["triton"] if in_triton else [])],
            "destination_passing_style": False,
        },
        "sources": [{"path": "main.py", "content": "\n".join(source)}],
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _free_name(module: str) -> str:
    """A name for the entry point that the module does not define."""
    taken = {
        node.name
        for node in read_module(module).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }
    names = itertools.chain([ENTRY], (f"{ENTRY}_{number}" for number in itertools.count(2)))
    return next(name for name in names if name not in taken)


def _imports(module: str) -> list[ast.stmt]:
    return [
        node
        for node in ast.walk(read_module(module))
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]


def _inputs_of(problem: str) -> list[str]:
    """The names of the arguments of the model's `forward`."""
    for node in ast.walk(read_module(problem)):
        if isinstance(node, ast.ClassDef) and node.name == "Model":
            for method in node.body:
                if isinstance(method, ast.FunctionDef) and method.name == "forward":
                    return [argument.arg for argument in method.args.args[1:]]
    raise InputError("the problem's model has no forward")
