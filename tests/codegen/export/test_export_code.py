"""Exported code launches what the plan says: the header through nvcc, ModelNew through Python."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import types
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from codegen.dialects import writing_of
from codegen.export.cpp_text import HELPERS, CppText
from codegen.export.expressions import folded
from codegen.export.header import header, namespace_of
from codegen.export.header_source import header_source
from codegen.export.header_steps import CPP_TYPES
from codegen.export.kernel import Origin
from codegen.export.model_new import model_new
from codegen.export.naming import identifiers
from codegen.export.python_text import HELPERS as PYTHON_HELPERS
from codegen.export.python_text import PythonText
from codegen.export.shape_solving import solve
from experiments.deliverables.best import Delivery
from experiments.runs.tasks.files import bundled, find_task
from mcts.domain import HOST, KERNELBENCH, Buffer, Candidate, Scalar, evaluate, evaluate_int
from mcts.errors import InputError
from profilers.compiling.calls import Call, Step
from profilers.compiling.lowering import lower
from tests.support.deliveries import bundled_variants, delivery_of, variant

TUNABLES: dict[str, Scalar] = {"B": 128, "V": 4, "F": 0.5, "MODE": "wide", "ON": True}
EXPRESSIONS = (
    "n", "n + 1", "ceil_div(n, B * V)", "n // V - m % 7", "(n - 20) // 6", "(m - n) % 5",
    "min(n, m, B)", "max(1, n - m)", "n if n > m else m", "B if MODE == 'wide' else 1",
    "n * (MODE == 'wide')", "(n > 3) + (m > 3)", "n << 3", "n >> 2", "2 ** min(n, 10)",
    "n & 6 | 1", "-n + 2 * m", "not n > 3", "n in [1, 5, 9]", "n not in [1, 5]",
    "1 < n < m", "n and m", "n % 2 == 0 or m", "n * m / V", "n * F", "n * F + m * F",
    "ceil_div(n, m)", "n // m", "n % m", "n / m", "ON and n > 2", "ON or n", "n * (ON + 2)",
    "max(n * F, m)", "(n + m) * (n - m)", "(n if ON else m) ** 2", "2147483648 * n",
)  # fmt: skip
SHAPES = [{"n": n, "m": m} for n, m in ((1, 3), (5, 1), (9, 4), (64, 64), (100, 7), (3, 50))]


def expected(expression: str, shape: dict[str, int]) -> int | None:
    try:
        return evaluate_int(expression, {**shape, **TUNABLES})
    except InputError:
        return None


def test_python_text_gives_what_the_plan_gives() -> None:
    text = PythonText(TUNABLES, {"n": "n_", "m": "m"})
    for expression in EXPRESSIONS:
        for shape in SHAPES:
            space: dict[str, Any] = {"n_": shape["n"], "m": shape["m"]}
            exec(f"from fractions import Fraction\n{PYTHON_HELPERS}", space)
            wanted = expected(expression, shape)
            try:
                got = eval(text.number(expression), space)
            except (ValueError, ZeroDivisionError):
                got = None
            assert got == wanted, (expression, shape, text.number(expression))


def test_cpp_text_gives_what_the_plan_gives(tmp_path: Path) -> None:
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("no g++ here")
    text = CppText(TUNABLES, {"n": "n", "m": "m"})
    lines = [
        f"{{ bool fits = true; long long v = {text.number(item)}; "
        'if (fits) printf("%lld\\n", v); else printf("none\\n"); }'
        for item in EXPRESSIONS
    ]
    helpers = HELPERS[: HELPERS.index("// A launch with")] + "}}\n#endif\n"
    program = tmp_path / "program.cpp"
    program.write_text(
        f"#include <cstdio>\n{helpers}using namespace rooftree;\n"
        f"void all(long long n, long long m) {{\n{chr(10).join(lines)}\n}}\nint main() {{\n"
        + "".join(f"all({shape['n']}, {shape['m']});\n" for shape in SHAPES)
        + "}\n"
    )
    subprocess.run([compiler, "-Werror", "-Wall", program, "-o", tmp_path / "run"], check=True)
    done = subprocess.run([tmp_path / "run"], capture_output=True, text=True, check=True)
    got = iter(done.stdout.split())
    for shape in SHAPES:
        for expression in EXPRESSIONS:
            wanted = expected(expression, shape)
            assert next(got) == ("none" if wanted is None else str(wanted)), (expression, shape)


def test_conditions_without_a_shape_variable_are_decided_when_written() -> None:
    text = CppText(TUNABLES, {"n": "n"})
    assert text.condition("MODE == 'wide' and V > 2") == "true"
    assert text.condition("MODE == 'narrow' and n > 2") == "false"
    assert text.condition("MODE == 'wide' and n > 2") == "n > 2"


def module_of(delivery: Delivery, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The exported module, with names of torch's types for torch: only its numbers are asked."""
    torch = types.SimpleNamespace(
        nn=types.SimpleNamespace(Module=object),
        **{kind: kind for kind in CPP_TYPES},
    )
    monkeypatch.setitem(sys.modules, "torch", torch)  # type: ignore[arg-type]
    space: dict[str, Any] = {"__name__": "model_new"}
    exec(compile(model_new(delivery.kernel), "model_new.py", "exec"), space)
    return space


def plain(argument: Any) -> Any:
    """A value of a launch that both sides can be asked for; of a tensor map its box."""
    return getattr(argument, "box", getattr(argument, "value", argument))


@pytest.mark.parametrize("name", list(bundled()))
def test_model_new_launches_what_the_plan_says(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for delivery in bundled_variants(name, 4):
        module, task = module_of(delivery, monkeypatch), delivery.task
        for load in task.workloads:
            call = lower(task, delivery.kernel.plan, delivery.kernel.tunables, load)
            shape = dict(load.shape)
            module["check"](**shape)
            steps = list(module["launches"](**shape))
            assert len(steps) == len(call.steps)
            for (kernel, grid, block, shared, arguments), step in zip(
                steps, call.steps, strict=True
            ):
                assert kernel == step.kernel
                if kernel is None:
                    assert arguments == (step.memset,)
                    continue
                assert (*grid, 1, 1)[:3] == step.grid and (*block, 1, 1)[:3] == step.block
                assert shared == step.shared
                assert [plain(item) for item in arguments] == [plain(v) for _, v in step.args]
            sizes = module["sizes"](**shape)
            assert sizes == {item.name: item.extents(load.shape) for item in task.buffers}
            inputs = [sizes[item.name] for item in task.inputs]
            given = solve(task.inputs, tuple(shape), {key: key for key in shape}).given
            assert module["shape_of"](inputs, **{key: shape[key] for key in given}) == shape


def test_shape_variables_come_out_of_sums_and_products() -> None:
    inputs = [
        Buffer(name="x", role="input", shape=("2 * h + 1", "w - 3", 64)),
        Buffer(name="y", role="input", shape=("h + w + c",)),
        Buffer(name="z", role="input", shape=("ceil_div(d, 4)",)),
    ]
    found = solve(inputs, ("h", "w", "c", "d"), {name: name for name in "hwcd"})
    assert found.given == ("d",)
    space: dict[str, Any] = {"inputs": [(11, 7, 64), (25,), (3,)]}
    for name, text in found.found:
        space[name] = eval(text, space)
    assert (space["h"], space["w"], space["c"]) == (5, 10, 10)


def test_names_become_identifiers_and_stay_apart() -> None:
    found = identifiers(["x", "x y", "x-y", "class", "1st", "ok"], taken=["x"])
    assert len(set(found.values())) == 6
    assert found["ok"] == "ok" and found["x"] != "x" and found["class"] != "class"
    assert all(text.isidentifier() for text in found.values())


def test_a_header_leaves_no_macro_and_no_linkage_behind() -> None:
    source = (
        '#include <cuda_fp16.h>\n#define TILE (4 * V)\n// extern "C" stays in a comment\n'
        'extern "C" __global__ void f(int* p) {\n#pragma unroll TILE  // by name\n'
        '  for (int i = 0; i < TILE; ++i) p[i] = sizeof("extern \\"C\\"");\n}\n'
        'extern "C" { __global__ void g() {} }\n'
    )
    pieces = header_source(source, {"V": 4})
    assert pieces.includes == ("<cuda_fp16.h>",)
    assert "ROOFTREE_UNROLL(TILE)" in pieces.kernels
    assert 'extern "C" __global__' not in pieces.kernels
    assert "namespace { __global__ void g() {} }" in pieces.kernels
    assert '// extern "C" stays' in pieces.kernels and 'sizeof("extern \\"C\\"")' in pieces.kernels
    for name in ("V", "TILE"):
        assert f'#pragma push_macro("{name}")' in pieces.before
        assert f'#pragma pop_macro("{name}")' in pieces.after


RUNTIME = r"""
#include <cstdio>
#include <map>
#include <string>
#include <cuda.h>
#include <cuda_runtime_api.h>
// The runtime's part of a launch, written down instead of done: there is no GPU here.
static std::map<const void*, std::string>& names()
{
    static std::map<const void*, std::string> known;
    return known;
}
extern "C" {
void** __cudaRegisterFatBinary(void*) { static void* handle; return &handle; }
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
void __cudaRegisterFunction(void**, const char* host, char*, const char* device, int, uint3*,
                            uint3*, dim3*, dim3*, int*) { names()[host] = device; }
void __cudaRegisterVar(void**, char*, char*, const char*, int, size_t, int, int) {}
char __cudaInitModule(void**) { return 0; }
unsigned __cudaPushCallConfiguration(dim3, dim3, size_t, struct CUstream_st*) { return 0; }
cudaError_t __cudaPopCallConfiguration(dim3*, dim3*, size_t*, void*) { return cudaSuccess; }
cudaError_t __cudaGetKernel(cudaKernel_t*, const void*) { return cudaSuccess; }
cudaError_t __cudaLaunchKernel(cudaKernel_t, dim3, dim3, void**, size_t, cudaStream_t)
{
    return cudaSuccess;
}
cudaError_t cudaFuncSetAttribute(const void*, cudaFuncAttribute, int) { return cudaSuccess; }
static CUresult encode(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* start,
                       const cuuint64_t* shape, const cuuint64_t* strides, const cuuint32_t* box,
                       const cuuint32_t* steps, CUtensorMapInterleave, CUtensorMapSwizzle swizzle,
                       CUtensorMapL2promotion, CUtensorMapFloatOOBfill)
{
    *(int*)map = 77;
    printf("{\"map\": [%d, %lld, %d], \"shape\": [", type, (long long)start, swizzle);
    for (unsigned i = 0; i < rank; ++i) printf("%s%lld", i ? ", " : "", (long long)shape[i]);
    printf("], \"strides\": [");
    for (unsigned i = 0; i + 1 < rank; ++i) printf("%s%lld", i ? ", " : "", (long long)strides[i]);
    printf("], \"box\": [");
    for (unsigned i = 0; i < rank; ++i) printf("%s%u", i ? ", " : "", box[i] / steps[i]);
    printf("]}\n");
    return box[0] == 8 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
cudaError_t cudaGetDriverEntryPointByVersion(const char*, void** found, unsigned,
                                             unsigned long long,
                                             cudaDriverEntryPointQueryResult* result)
{
    *found = (void*)encode;
    *result = cudaDriverEntryPointSuccess;
    return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* to, int, size_t bytes, cudaStream_t)
{
    printf("{\"memset\": %lld, \"bytes\": %zu}\n", (long long)to, bytes);
    return cudaSuccess;
}
cudaError_t cudaLaunchKernel(const void* kernel, dim3 g, dim3 b, void** args, size_t shared,
                             cudaStream_t)
{
    printf("{\"kernel\": \"%s\", \"grid\": [%u, %u, %u], \"block\": [%u, %u, %u], \"shared\": %zu, "
           "\"args\": [", names()[kernel].c_str(), g.x, g.y, g.z, b.x, b.y, b.z, shared);
    for (int i = 0; i < COUNT; ++i) printf("%s%d", i ? ", " : "", *(int*)args[i]);
    printf("]}\n");
    return cudaSuccess;
}
}
"""


def nvcc() -> str:
    found = shutil.which("nvcc")
    if found is None:
        pytest.skip("no nvcc here")
    return found


def run_header(delivery: Delivery, folder: Path, shapes: list[dict[str, int]]) -> list[list[Any]]:
    """What the header hands to the runtime, call by call; buffers have small numbers as address."""
    name = namespace_of(delivery.task.name)
    (folder / "kernel.cuh").write_text(header(delivery.kernel))
    pointers = [f"at<{at + 1}>()" for at in range(len(delivery.task.buffers))]
    if delivery.kernel.plan.workspace:
        pointers.append("at<1024>()")
    calls = ""
    for shape in shapes:
        values = ", ".join(str(shape[key]) for key in delivery.task.timed_workload.shape)
        calls += (
            f'printf("{{\\"returned\\": %d}}\\n", '
            f"(int)rooftree::{name}::launch({', '.join(pointers)}, {values}));\n"
        )
    count = min(len(step.args) for step in delivery.kernel.plan.launch if step.kernel)
    (folder / "runtime.cpp").write_text(f"#define COUNT {count}\n{RUNTIME}")
    (folder / "program.cu").write_text(
        "#include <cstdio>\n#define BLOCK theirs\n"
        '#include "kernel.cuh"\n#include "kernel.cuh"\n'
        "static int theirs = 7;\n"
        "struct Anything { unsigned long long v; template <class T> operator T*() const"
        " { return (T*)v; } };\n"
        "template <int N> Anything at() { return {N}; }\n"
        "int other();\n"
        f"int main() {{\n{calls}return BLOCK - 7 + other();\n}}\n"
    )
    (folder / "other.cu").write_text('#include "kernel.cuh"\nint other() { return 0; }\n')
    command = [
        nvcc(), "-std=c++17", "-arch=compute_90", "-code=compute_90", "-cudart", "none", "-t", "2",
        "program.cu", "other.cu", "runtime.cpp", "-o", "program",
    ]  # fmt: skip
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    ran = subprocess.run([folder / "program"], capture_output=True, text=True, check=True)
    said: list[list[Any]] = [[]]
    for line in ran.stdout.splitlines():
        said[-1].append(json.loads(line))
        if "returned" in said[-1][-1]:
            said.append([])
    return said[:-1]


def first_arguments(delivery: Delivery, call: Call, step: Step, count: int) -> list[Any]:
    addresses = {item.name: at + 1 for at, item in enumerate(delivery.task.buffers)}
    place = 1024
    for name, size in call.workspaces.items():
        addresses[name] = place
        place += -(-size // 256) * 256
    return [addresses.get(value, value) for _, value in step.args[:count]]


ODD_TASK = r"""
name = "new"
summary = 'odd \ "names" {n} */'
[[buffer]]
name = "class"
role = "input"
dtype = "bfloat16"
shape = ["2 * n + 1", 3]
[[buffer]]
name = "n"
role = "input"
dtype = "uint8"
shape = ["stream"]
[[buffer]]
name = "out put"
role = "output"
dtype = "float16"
shape = ["n", "k"]
[[buffer]]
name = "argument_0"
role = "output"
dtype = "int64"
shape = ["k"]
[[workload]]
name = "main"
shape = { n = 64, stream = 100, k = 8 }
"""
"""Names that are words of the languages, of the exported code, or none at all; one n for two."""
ODD_KERNEL = r"""/* rooftree
where = ["n % (2 * B) == 0 or k > 4"]
[tunables]
B = { values = [32, 64], default = 32 }
FAST = { values = [true, false], default = false }
MODE = { values = ["A", "C"], default = "A" }
S = { values = [0.5, 1.5], default = 0.5 }
[[workspace]]
name = "fits"
dtype = "float64"
size = "n * k"
[[workspace]]
name = "w2"
dtype = "int32"
size = "3"
[[launch]]
memset = "fits"
[[launch]]
memset = "out put"
when = "MODE in ['A', 'B'] and n >= 1"
[[launch]]
kernel = "launch"
grid = ["ceil_div(n, B)", "k", 1]
block = ["B", "2 if FAST else 1"]
shared = "B * 4 * (1 + FAST) if k < 100 else 0"
args = [
    "class", "n", "out put", "argument_0", "fits", "w2", "k",
    { value = "S * 2", type = "float32" }, { value = "n * 4294967296", type = "int64" },
    { value = "k / 2", type = "float64" }, { value = "k / 4", type = "uint32" },
]
*/
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#define A 1
#define C 2
#if MODE == A
#define TWICE(x) ((x) * 2)
#else
#define TWICE(x) (x)
#endif
__device__ float helper(float v) { return TWICE(v); }
__constant__ float table[4] = {1, 2, 3, 4};
extern __shared__ float tile[];
extern "C" __global__ void __launch_bounds__(128) launch(
    const __nv_bfloat16* x, const unsigned char* y, __half* o, long long* q, double* w, int* w2,
    int k, float s, long long big, double d, unsigned u)
{
#pragma unroll B
    for (int i = 0; i < B; ++i) tile[threadIdx.x] = helper(s) + table[i % 4];
    if (threadIdx.x == 0) o[0] = __float2half(tile[0]), q[0] = big;
}
"""


@pytest.fixture
def odd(tmp_path: Path) -> Delivery:
    folder = tmp_path / "odd"
    folder.mkdir()
    (folder / "task.toml").write_text(ODD_TASK)
    (folder / "kernel.cu").write_text(ODD_KERNEL)
    (folder / "reference.py").write_text("def reference(**inputs):\n    return {}\n")
    source = find_task(str(folder))
    return delivery_of(source, variant(source.task, {"B": 64, "FAST": True}))


def test_model_new_of_odd_names(odd: Delivery, monkeypatch: pytest.MonkeyPatch) -> None:
    module, load = module_of(odd, monkeypatch), odd.task.timed_workload
    call = lower(odd.task, odd.kernel.plan, odd.kernel.tunables, load)
    steps = list(module["launches"](**load.shape))
    assert [step[0] for step in steps] == [None, None, "launch"]
    assert [plain(item) for item in steps[2][4]] == [value for _, value in call.steps[2].args]
    assert module["shape_of"]([(129, 3), (100,)], k=8) == load.shape
    assert module["get_init_inputs"]() == [8]
    with pytest.raises(ValueError, match=r"n % \(2 \* B\) == 0 or k > 4"):
        module["check"](n=65, stream=1, k=4)
    assert "The inputs' sizes do not tell k" in module["ModelNew"].__doc__


def test_a_header_compiles_twice_and_launches_what_the_plan_says(
    odd: Delivery, tmp_path: Path
) -> None:
    nvcc()
    shape = dict(odd.task.timed_workload.shape)
    bad = [{**shape, "n": 0}, {**shape, "n": 65, "k": 4}, {**shape, "k": 7}]
    *said, zero, excluded, fraction = run_header(odd, tmp_path, [shape, *bad])
    assert zero == excluded == fraction == [{"returned": 1}], "and nothing is queued"
    call = lower(odd.task, odd.kernel.plan, odd.kernel.tunables, odd.task.timed_workload)
    first, second, launch, returned = said[0]
    assert returned == {"returned": 0}
    assert first == {"memset": 1024, "bytes": call.workspaces["fits"]}
    assert second == {"memset": 3, "bytes": 2 * 64 * 8}
    step = call.steps[2]
    assert "launch" in launch["kernel"]
    assert (tuple(launch["grid"]), tuple(launch["block"])) == (step.grid, step.block)
    assert launch["shared"] == step.shared
    assert launch["args"][:7] == first_arguments(odd, call, step, 7)
    assert launch["args"][10] == 2


MAPS_TASK = """
name = "maps"
[[buffer]]
name = "x"
role = "input"
dtype = "bfloat16"
shape = ["heads", "n", 64]
[[buffer]]
name = "y"
role = "output"
shape = ["n"]
[[workload]]
name = "main"
shape = { heads = 3, n = 96 }
"""
MAPS_KERNEL = r"""/* rooftree
[tunables]
B = { values = [32, 64], default = 32 }
[[workspace]]
name = "w"
dtype = "float32"
size = "n * 16"
[[launch]]
kernel = "maps"
grid = ["n"]
block = [32]
args = [
    { tensor_map = "x", box = [1, "B", 64], swizzle = 128 },
    { tensor_map = "w", shape = ["n", 16], box = ["B", "n // 8"] },
    "y",
]
*/
struct alignas(64) TensorMap { unsigned long long opaque[16]; };
extern "C" __global__ void maps(const __grid_constant__ TensorMap x,
                                const __grid_constant__ TensorMap w, float* y)
{
    y[blockIdx.x] = (float)x.opaque[0] + (float)w.opaque[0];
}
"""


@pytest.fixture
def maps(tmp_path: Path) -> Delivery:
    folder = tmp_path / "maps"
    folder.mkdir()
    (folder / "task.toml").write_text(MAPS_TASK)
    (folder / "kernel.cu").write_text(MAPS_KERNEL)
    (folder / "reference.py").write_text("def reference(**inputs):\n    return {}\n")
    source = find_task(str(folder))
    return delivery_of(source, variant(source.task, {"B": 64}))


def test_model_new_makes_tensor_maps(maps: Delivery, monkeypatch: pytest.MonkeyPatch) -> None:
    module = module_of(maps, monkeypatch)
    assert "tensor_map" in module
    ((_, _, _, _, arguments),) = module["launches"](heads=3, n=96)
    x, w, y = arguments
    assert (x.name, x.box, x.swizzle, x.shape) == ("x", (1, 64, 64), 128, None)
    assert (w.name, w.box, w.swizzle, w.shape) == ("w", (64, 12), 0, (96, 16))
    made: list[Any] = []
    module["value_of"].__globals__["tensor_map"] = lambda *given: made.append(given) or "map"
    memory = {"x": 1, "w": 2, "y": 3}
    assert [module["value_of"](item, memory) for item in (x, y, 7)] == ["map", 3, 7]
    assert made == [(1, (1, 64, 64), 128, None)]


def test_a_header_makes_tensor_maps(maps: Delivery, tmp_path: Path) -> None:
    nvcc()
    (*_, first, second, launch, returned), refused = run_header(
        maps, tmp_path, [{"heads": 3, "n": 96}, {"heads": 3, "n": 64}]
    )
    assert first == {
        "map": [9, 1, 3],
        "shape": [64, 96, 3],
        "strides": [128, 96 * 128],
        "box": [64, 64, 1],
    }
    assert second == {"map": [7, 1024, 0], "shape": [16, 96], "strides": [64], "box": [12, 64]}
    assert launch["args"] == [77, 77, 2] and returned == {"returned": 0}
    assert refused[-1] == {"returned": 1} and "kernel" not in str(refused)


def test_a_header_compiles_as_it_says_it_does(tmp_path: Path) -> None:
    source = find_task("gemm_bf16")
    best = {"MMA": 2, "BM": 128, "BN": 256, "BK": 64, "STAGES": 4, "CLUSTER": 2, "BLOCKS": 132}
    kernel = delivery_of(source, variant(source.task, best)).kernel
    origin = replace(kernel.origin, architecture="sm_90a")
    text = header(replace(kernel, origin=origin))
    (tmp_path / "kernel.cuh").write_text(text)
    (tmp_path / "program.cu").write_text('#include "kernel.cuh"\nint main() { return 0; }\n')
    (words,) = re.findall(r"^//     nvcc (.*?) program.cu ", text, re.MULTILINE)
    assert words == "-std=c++17 -gencode arch=compute_90a,code=sm_90a"
    command = [nvcc(), *words.split(), "-c", "program.cu", "-o", "program.o"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("name", "words"), [("native", "-arch=native"), ("sm_80", "-arch=sm_80")])
def test_other_architectures_are_named_plainly(name: str, words: str) -> None:
    assert Origin(found="", node=0, seed=0, architecture=name).nvcc_target == words


def test_other_dialects_say_that_they_are_no_header(tmp_path: Path) -> None:
    problem = tmp_path / "problem.py"
    problem.write_text(
        "import torch\nclass Model(torch.nn.Module):\n    pass\n"
        "def get_inputs(): return []\ndef get_init_inputs(): return []\n"
    )
    source = find_task(str(problem))
    delivery = delivery_of(source, Candidate(source="import torch\nclass ModelNew: pass\n"))
    writing = writing_of(delivery.kernel.dialect)
    with pytest.raises(InputError, match="dialect kernelbench"):
        writing.header(delivery.kernel)
    assert writing.module(delivery.kernel) == "import torch\nclass ModelNew: pass\n"


def test_a_kernel_is_exported_as_what_it_is_written_in(tmp_path: Path) -> None:
    problem = tmp_path / "problem.py"
    problem.write_text(
        "class Model:\n    pass\ndef get_inputs(): return []\ndef get_init_inputs(): return []\n"
    )
    source = find_task(str(problem), dialect=HOST)
    model = delivery_of(source, source.task.baseline).kernel
    assert (model.dialect, model.file_name) == (KERNELBENCH, "kernel.py")
    assert writing_of(model.dialect).module(model) == source.task.baseline.source
    host = delivery_of(source, Candidate(source="/* rooftree\n*/\nint launch();\n")).kernel
    assert (host.dialect, host.file_name) == (HOST, "kernel.cu")
    with pytest.raises(InputError, match="compiled by nvcc"):
        writing_of(host.dialect).module(host)


TORCH = os.environ.get("ROOFTREE_TEST_TORCH")
"""A Python with PyTorch, and nothing of ours, for the one test that needs it."""
CHECK = """
import sys
import torch
import model_new
assert not [name for name in sys.modules if name.partition(".")[0] in ("mcts", "codegen")]
model = model_new.ModelNew(*model_new.get_init_inputs())
assert isinstance(model, torch.nn.Module)
try:
    model(torch.zeros(4, 8))
except ValueError as error:
    print(error)
compiled = model_new.kernels("9.0")
print(sorted(type(compiled[name]).__name__ for name in ["row_softmax"]))
"""


def test_model_new_imports_with_torch_alone(tmp_path: Path) -> None:
    """In a process that sees nothing of ours; compiles with NVRTC where that is installed."""
    python = TORCH or sys.executable
    probe = [python, "-I", "-c", "import torch"]
    if subprocess.run(probe, capture_output=True, check=False).returncode:
        pytest.skip("no PyTorch here; ROOFTREE_TEST_TORCH names a Python that has it")
    delivery = bundled_variants("row_softmax", 1)[0]
    (tmp_path / "model_new.py").write_text(model_new(delivery.kernel))
    (tmp_path / "check.py").write_text(
        f"import sys\nsys.path.insert(0, {str(tmp_path)!r})\n{CHECK}"
    )
    done = subprocess.run(
        [python, "-I", tmp_path / "check.py"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "runs on CUDA tensors, not on cpu" in done.stdout


def test_expressions_of_floats_reach_typed_arguments() -> None:
    assert PythonText(TUNABLES, {}).real("F * 2") == "float(1.0)"
    assert CppText(TUNABLES, {}).real("1.5 / F") == "3.0"
    assert CppText({}, {}).real("1 / cols") == "(double)1 / (double)cols"
    assert CppText({}, {}).real("-(rows // 2 / cols) + 1").count("floor_div") == 1
    assert evaluate("1.5 / F", TUNABLES) == 3.0


@pytest.mark.parametrize("text", ["+n", "~n", "n + +2 * n"])
def test_a_sign_that_the_grammar_lacks_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="not allowed"):
        folded(text, {})
