"""How far loops were unrolled: the estimate against what the compiler was told."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from mcts.domain import SassLoop
from profilers.compiling import compiler as compilers
from profilers.compiling.compiler import Compiler
from profilers.sass import read_sass
from tests.profilers.sass.listings import listing, parse_sass

ARCHITECTURES = ["sm_80", "sm_90a", "sm_120a"]
KERNEL = 'extern "C" __global__ void {name}({parameters})\n{{\n{body}\n}}\n'
STRIDED = "for (int i = threadIdx.x; i < n; i += 256)"
ARRAYS = "const float* __restrict__ x, float* __restrict__ y, int n"
BODIES: dict[str, tuple[str, str]] = {
    "product": (ARRAYS, f"float a = 0;\nUNROLL {STRIDED}\n    a += x[i] * x[i + n];\ny[0] = a;"),
    "map": (ARRAYS, f"UNROLL {STRIDED} {{\n    float v = x[i];\n    y[i] = v * v + 1.0f;\n}}"),
    "special": (ARRAYS, f"float a = 0;\nUNROLL {STRIDED}\n    a += __expf(x[i]);\ny[0] = a;"),
    "stride known at run time": (
        ARRAYS,
        "UNROLL for (int i = threadIdx.x; i < n; i += blockDim.x)\n    y[i] = 2.0f * x[i];",
    ),
    "row and column": (
        ARRAYS,
        "float a = 0;\nUNROLL for (int k = 0; k < n; ++k)\n"
        "    a += x[threadIdx.y * n + k] * x[k * n + threadIdx.x];\ny[threadIdx.x] = a;",
    ),
    "barriers": (
        ARRAYS,
        "__shared__ float s[256];\nfloat a = 0;\nUNROLL for (int t = 0; t < n; ++t) {\n"
        "    s[threadIdx.x] = x[t * 256 + threadIdx.x];\n    __syncthreads();\n"
        "    a += s[threadIdx.x ^ 1];\n    __syncthreads();\n}\ny[threadIdx.x] = a;",
    ),
    "shared tile": (
        ARRAYS,
        "__shared__ float s[32][33];\ns[threadIdx.y][threadIdx.x] = x[threadIdx.x];\n"
        "__syncthreads();\nfloat a = 0;\nUNROLL for (int k = 0; k < 32; ++k)\n"
        "    a += s[threadIdx.y][k] * s[k][threadIdx.x];\ny[threadIdx.x] = a;",
    ),
    "atomics": (
        "const unsigned* __restrict__ x, unsigned* y, int n",
        f"UNROLL {STRIDED}\n    atomicAdd(&y[x[i] & 255], 1u);",
    ),
    "own neighbours": (
        ARRAYS,
        f"UNROLL {STRIDED} {{\n    float v[8];\n    for (int j = 0; j < 8; ++j)\n"
        "        v[j] = x[i * 8 + j];\n    for (int j = 0; j < 8; ++j)\n"
        "        y[i * 8 + j] = v[j] * 2.0f;\n}",
    ),
    "linked list": (
        "const void* const* p, int* y",
        "int a = 0;\nUNROLL while (p) {\n    ++a;\n    p = (const void* const*)*p;\n}\n*y = a;",
    ),
    "register tile": (
        ARRAYS,
        "float a[4] = {};\nUNROLL for (int k = 0; k < n; ++k) {\n    float v = x[k];\n"
        "    for (int j = 0; j < 4; ++j)\n        a[j] += v * x[k * 256 + 64 * j + threadIdx.x];\n"
        "}\nfor (int j = 0; j < 4; ++j)\n    y[j * 64 + threadIdx.x] = a[j];",
    ),
}  # fmt: skip
Loops = Callable[[str, int], dict[str, list[SassLoop]]]
"""Architecture and factor to the loops of each body."""


def source(factor: int) -> str:
    kernels = (
        KERNEL.format(name=name.replace(" ", "_"), parameters=parameters, body=body)
        for name, (parameters, body) in BODIES.items()
    )
    return "".join(kernels).replace("UNROLL", f"\n#pragma unroll {factor}\n")


@pytest.fixture(scope="module")
def loops(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Loops]:
    made = {
        arch: Compiler(arch=arch, cache_dir=tmp_path_factory.mktemp("cache"), processes=1)
        for arch in ARCHITECTURES
    }

    def read(arch: str, factor: int) -> dict[str, list[SassLoop]]:
        facts = read_sass(made[arch].compile(source(factor)).cubin)
        return {name: list(facts[name.replace(" ", "_")].loops) for name in BODIES}

    yield read
    for compiler in made.values():
        compiler.close()


def factors(found: dict[str, list[SassLoop]]) -> dict[str, int]:
    return {name: max(loop.unrolled for loop in loops) for name, loops in found.items()}


@pytest.mark.nvrtc
@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("factor", [1, 2, 4, 8])
def test_the_estimate_is_what_the_compiler_was_told(loops: Loops, arch: str, factor: int) -> None:
    found = loops(arch, factor)
    assert factors(found) == dict.fromkeys(BODIES, factor)
    remainders = {loop.unrolled for some in found.values() for loop in some} - {factor}
    assert remainders <= {1}


@pytest.mark.nvrtc
@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("factor", [1, 2, 4, 8])
def test_without_line_information_it_is_never_too_high(
    loops: Loops, monkeypatch: pytest.MonkeyPatch, arch: str, factor: int
) -> None:
    options = tuple(option for option in compilers.BASE_OPTIONS if option != "-lineinfo")
    monkeypatch.setattr(compilers, "BASE_OPTIONS", options)
    found = loops(arch, factor)
    assert all(loop.line is None for some in found.values() for loop in some)
    estimates = factors(found)
    assert set(estimates.values()) <= {1, factor}
    assert sum(estimate == factor for estimate in estimates.values()) > len(BODIES) / 2


def estimates(*code: str, lines: tuple[int, ...] = ()) -> list[int]:
    """Factors of the loops of `code`, each instruction from the source line of its place."""
    return [loop.unrolled for loop in parse_sass(listing(*code, lines=lines))["k"].loops]


COUNT = ("IADD3 R6, R6, {step}, RZ", "ISETP.GE.AND P0, PT, R6, UR6, PT", "@!P0 BRA 0x0")


def counting(step: int) -> tuple[str, ...]:
    return (*(line.format(step=hex(step)) for line in COUNT), "EXIT")


@pytest.mark.parametrize(
    ("second", "step", "factor"),
    [
        ("desc[UR4][R2.64+0x400]", 0x200, 2),
        ("desc[UR4][R2.64+0x4]", 0x200, 1),
        ("desc[UR4][R2.64+0x400]", 0x201, 1),
        ("desc[UR4][R10.64]", 0x200, 2),
    ],
    ids=["rows", "neighbours", "the counter disagrees", "two registers in one array"],
)
def test_addresses_tell_the_factor_without_lines(second: str, step: int, factor: int) -> None:
    assert estimates(
        "LDG.E R8, desc[UR4][R2.64]", f"LDG.E R9, {second}", "FADD R4, R4, R8", "FADD R4, R4, R9",
        "IADD3 R2, P1, R2, 0x800, RZ", "IADD3 R10, P1, R10, 0x800, RZ", *counting(step),
    ) == [factor]  # fmt: skip


def test_an_index_counts_by_the_size_of_what_it_points_at() -> None:
    assert estimates(
        "IADD3 R10, R6, 0x100, RZ", "IMAD.WIDE R12, R6, 0x4, R2", "IMAD.WIDE R14, R10, 0x4, R2",
        "LDG.E R8, desc[UR4][R12.64]", "LDG.E R9, desc[UR4][R14.64]", "FADD R4, R4, R8",
        "FADD R4, R4, R9", *counting(0x200),
    ) == [2]  # fmt: skip


def test_addresses_do_not_decide_if_few_can_be_followed() -> None:
    unknown = [f"LDG.E R{20 + at}, desc[UR4][R{30 + 2 * at}.64]" for at in range(3)]
    code = (
        "LDG.E R8, desc[UR4][R2.64]", *unknown, "FADD R4, R4, R8", "FADD R4, R4, R20",
        "IADD3 R2, P1, R2, 0x800, RZ", *counting(0x200),
    )  # fmt: skip
    assert estimates(*code, lines=(2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 3)) == [2]
    assert estimates(*code) == [1]


def test_a_counter_that_moves_by_one_means_no_unrolling() -> None:
    products = ["FFMA R4, R5, R6, R4", "FFMA R7, R5, R6, R7", "FFMA R9, R5, R6, R9"]
    down = ["VIADD R8, R8, 0xffffffff", "ISETP.NE.AND P0, PT, R8, RZ, PT", "@P0 BRA 0x0", "EXIT"]
    assert estimates(*products, *down, lines=(2, 2, 2, 1, 1, 1, 3)) == [1]
    by_three = [down[0].replace("0xffffffff", "0xfffffffd"), *down[1:]]
    assert estimates(*products, *by_three, lines=(2, 2, 2, 1, 1, 1, 3)) == [3]


def test_a_remainder_loop_supports_the_estimate_of_the_main_one() -> None:
    main = ["FFMA R4, R5, R7, R4"] * 8
    rest = ["FFMA R4, R5, R7, R4"] * 2
    back = hex(16 * (len(main) + 4))
    assert estimates(
        *main, *counting(0x400)[:3], "MOV R9, R8", *rest, "IADD3 R9, R9, -0x1, RZ",
        "ISETP.NE.AND P0, PT, R9, RZ, PT", f"@P0 BRA {back}", "EXIT",
    ) == [4, 1]  # fmt: skip
    assert estimates(*main, *counting(0x400)) == [1]


ONE_LINE = (
    "__shared__ float s[2][256]; float a = 0; for (int t = 0; t < n; t += 16) { "
    "s[0][threadIdx.x] = x[t * n]; s[1][threadIdx.x] = x[t]; __syncthreads(); "
    "for (int k = 0; k < 16; ++k) a += s[0][k] * s[1][k + threadIdx.x]; __syncthreads(); } "
    "y[0] = a;"
)


@pytest.mark.nvrtc
def test_several_statements_on_one_line_are_no_unrolling(tmp_path: Path) -> None:
    """Two stores, two barriers and sixteen products per trip, once."""
    with closing(Compiler(cache_dir=tmp_path, processes=1)) as compiler:
        made = compiler.compile(KERNEL.format(name="k", parameters=ARRAYS, body=ONE_LINE))
    (loop,) = read_sass(made.cubin)["k"].loops
    assert loop.barriers == 2 and loop.mix["fp32"] == 16
    assert loop.unrolled == 1
