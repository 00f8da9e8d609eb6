"""nvcc in its jail: what comes out, what is kept, and what hostile sources get for it."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from mcts.domain import Scalar, parse_host_plan
from mcts.errors import InputError, WorldError
from profilers.compiling.compiler import CompileFailed, CompileTimedOut
from profilers.host import nvcc
from profilers.host.compile_log import CONDENSED_CAP
from profilers.host.compiler import CompiledHost, HostCompiler
from profilers.host.nvcc import nvcc_problem
from profilers.host.settings import HostSettings
from tests.support.host_sources import source

needs_nvcc = pytest.mark.skipif(nvcc_problem() is not None, reason=str(nvcc_problem()))


@pytest.fixture(scope="module")
def headers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("headers")
    (folder / "mine.h").write_text("#pragma once\n#define MINE 1\n")
    return folder


@pytest.fixture(scope="module")
def compiler(headers: Path, tmp_path_factory: pytest.TempPathFactory) -> HostCompiler:
    return HostCompiler(
        settings=HostSettings(includes=(headers,), deadline_s=60.0, memory_bytes=2**31),
        cache_dir=tmp_path_factory.mktemp("cache"),
    )


def compiled(
    compiler: HostCompiler, text: str, tunables: Mapping[str, Scalar] | None = None
) -> CompiledHost:
    return compiler.compile(text, parse_host_plan(text), tunables or {})


def failure(compiler: HostCompiler, text: str) -> CompileFailed:
    with pytest.raises(CompileFailed) as caught:
        compiled(compiler, text)
    return caught.value


@needs_nvcc
def test_a_library_is_compiled_once_and_again_when_it_is_damaged(
    compiler: HostCompiler,
) -> None:
    first = compiled(compiler, source())
    again = compiled(compiler, source())
    assert first.library.read_bytes()[:4] == b"\x7fELF"
    assert not first.cached
    assert again.cached
    assert again.library == first.library
    assert first.resources["doubled"]["registers"] > 0
    assert again.resources == first.resources
    assert (again.sass, again.sass_missing) == (first.sass, first.sass_missing)
    if first.sass_missing is None:
        assert first.sass["doubled"].instructions > 0
    else:
        assert "install" in first.sass_missing
    first.library.write_bytes(b"\x7fELF")  # damaged, and so made again
    mended = compiled(compiler, source())
    assert not mended.cached
    assert len(mended.library.read_bytes()) > 1000


@needs_nvcc
def test_tunables_reach_the_source_as_macros(compiler: HostCompiler) -> None:
    text = source(extra="static_assert(UNROLL == 2 && SCHEDULE == other);")
    assert compiled(compiler, text, {"UNROLL": 2, "SCHEDULE": "other"}).library.is_file()
    assert "static assertion failed" in str(failure(compiler, text))
    with pytest.raises(InputError, match="out of range"):
        compiled(compiler, text, {"UNROLL": 4})


@needs_nvcc
def test_a_header_that_changed_is_compiled_anew(compiler: HostCompiler, headers: Path) -> None:
    text = source(extra='#include "mine.h"\nstatic_assert(MINE);')
    assert not compiled(compiler, text).cached
    assert compiled(compiler, text).cached
    (headers / "mine.h").write_text("#pragma once\n#define MINE 0x1\n")
    assert not compiled(compiler, text).cached


@needs_nvcc
def test_threads_that_want_the_same_compile_it_once(compiler: HostCompiler) -> None:
    text = source(extra="static int wanted_by_many;")
    found: list[CompiledHost] = []
    threads = [
        threading.Thread(target=lambda: found.append(compiled(compiler, text))) for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(one.cached for one in found) == [False, True, True]


@needs_nvcc
@pytest.mark.parametrize(
    ("was", "instead", "said"),
    [
        ("int m, cudaStream_t", "cudaStream_t", "too many arguments"),
        ("const float* w", "const double* w", "another type than the plan's dtype"),
        ("const float* w", "float w", "no suitable conversion"),
        ("float eps", "int eps", "parameter is a whole number"),
        ('extern "C" int scale', 'extern "C" bool scale', "the launcher must return void"),
        ('launcher = "scale"', 'launcher = "other"', "scale"),
    ],
)
def test_the_launchers_call_is_checked_against_its_plan(
    compiler: HostCompiler, was: str, instead: str, said: str
) -> None:
    failed = failure(compiler, source().replace(was, instead, 1))
    assert said in failed.log or "other" in failed.log
    assert "the call that your plan describes" in failed.log or "your line" in failed.log


@needs_nvcc
@pytest.mark.parametrize("kind", ["double", "const float&", "__half"])
def test_a_fraction_reaches_any_parameter_that_holds_one(compiler: HostCompiler, kind: str) -> None:
    text = source(extra="#include <cuda_fp16.h>").replace("float eps", f"{kind} eps")
    assert compiled(compiler, text.replace("+ eps;", "+ float(eps);"))


@needs_nvcc
@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("void", ""),
        ("cudaError_t", "cudaSuccess"),
        ("Outcome", "kFine"),
        ("const char*", "nullptr"),
        ("long", "0"),
    ],
)
def test_a_launcher_may_return_what_its_plan_allows(
    compiler: HostCompiler, kind: str, value: str
) -> None:
    text = source(extra="enum Outcome { kFine, kLost };")
    text = text.replace('extern "C" int scale', f'extern "C" {kind} scale')
    assert compiled(
        compiler, text.replace("return 7;", "").replace("return 0;", f"return {value};")
    )


@needs_nvcc
def test_a_function_that_is_nowhere_is_named(compiler: HostCompiler) -> None:
    text = source(extra="void nowhere();").replace("return 0;", "nowhere(); return 0;")
    assert "undefined reference to `nowhere()'" in failure(compiler, text).log


@needs_nvcc
def test_spills_and_warnings_are_reported_and_machine_code_is_read(compiler: HostCompiler) -> None:
    spilling = (
        "__global__ __launch_bounds__(1024, 2) void spills(double* y, int n) {\n"
        "  double kept[64];\n  for (int i = 0; i < 64; i++) kept[i] = y[i * n];\n"
        "  for (int i = 0; i < 64; i++) y[i * n] = kept[i] * kept[63 - i];\n}"
    )
    found = compiled(
        compiler, source(extra=f"{spilling}\nint idle() {{ int unused_thing; return 1; }}")
    )
    assert found.resources["spills"]["local_bytes"] > 0
    assert "unused_thing" in found.log
    if found.sass_missing is None:
        assert found.sass["spills"].local_stores > 0


@needs_nvcc
def test_the_drivers_functions_may_be_called(compiler: HostCompiler) -> None:
    text = source(extra='#include <cuda.h>\nextern "C" int ask() { return cuInit(0); }')
    assert compiled(compiler, text).library.is_file()


@needs_nvcc
def test_assembly_that_ptxas_refuses_is_told(compiler: HostCompiler) -> None:
    text = source(extra='__global__ void k() { asm volatile("no.such;"); }')
    assert "ptxas: Not a name of any known instruction: 'no'" in failure(compiler, text).log


@needs_nvcc
@pytest.mark.parametrize(
    "text",
    [
        '#include "{secret}"',
        "#include <{secret}>",
        '%:include "{secret}"',
        '#include "../../../../../../../../../../../..{secret}"',
        "#if __has_include(<{secret}>)\n#error it is there\n#endif",
    ],
)
def test_a_file_outside_of_the_folders_is_refused_before_the_compiler(
    compiler: HostCompiler, tmp_path: Path, text: str
) -> None:
    secret = tmp_path / "secret.h"
    secret.write_text("#error the secret is 4711\n")
    failed = failure(compiler, source(extra=text.format(secret=secret)))
    assert "the source includes" in str(failed)
    assert "4711" not in str(failed) + failed.log


@needs_nvcc
def test_the_assembler_cannot_read_files_outside_of_the_jail(
    compiler: HostCompiler, tmp_path: Path
) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("the secret is 4711")
    text = source(extra=f'asm(".incbin \\"{secret}\\"");')
    failed = failure(compiler, text)
    assert "4711" not in failed.log
    assert "incbin" in failed.log or "secret.txt" in failed.log


@needs_nvcc
def test_endless_templates_end_at_a_bound(headers: Path, tmp_path: Path) -> None:
    compiler = HostCompiler(
        settings=HostSettings(deadline_s=4.0, memory_bytes=2**30), cache_dir=tmp_path
    )
    bomb = """template <int N, int M> struct Bomb {
  static constexpr int value = Bomb<N - 1, 2 * M>::value + Bomb<N - 1, 2 * M + 1>::value;
};
template <int M> struct Bomb<0, M> { static constexpr int value = M; };
int boom = Bomb<26, 1>::value;"""
    text = source(extra=bomb)
    failed = failure(compiler, text)
    assert isinstance(failed, CompileTimedOut) or "memory" in failed.log or "limit" in failed.log
    assert len(failed.log) <= CONDENSED_CAP


@needs_nvcc
def test_a_compiler_over_its_memory_limit_fails_alone(tmp_path: Path) -> None:
    compiler = HostCompiler(
        settings=HostSettings(deadline_s=60.0, memory_bytes=48 * 2**20), cache_dir=tmp_path
    )
    failed = failure(compiler, source(extra="#include <algorithm>\n#include <regex>"))
    assert not isinstance(failed, CompileTimedOut)
    assert len(str(failed)) < 1000


@needs_nvcc
def test_megabytes_of_output_become_a_short_log(compiler: HostCompiler) -> None:
    flood = "\n".join(f'#pragma message("{"x" * 2000}{i}")' for i in range(3000))
    failed = failure(compiler, source(extra=f"{flood}\nint broken = ;"))
    assert len(failed.log) <= CONDENSED_CAP
    assert len(str(failed)) < 1000


@needs_nvcc
def test_a_table_larger_than_a_library_may_be_is_a_failure(headers: Path, tmp_path: Path) -> None:
    compiler = HostCompiler(
        settings=HostSettings(library_bytes=4 * 2**20, deadline_s=60.0), cache_dir=tmp_path
    )
    failed = failure(compiler, source(extra="char table[1 << 24] = {1};"))
    assert not isinstance(failed, CompileTimedOut)


def test_without_nvcc_it_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvcc, "find_tool", lambda _name: None)
    with pytest.raises(WorldError, match="CUDA toolkit"):
        compiled(HostCompiler(cache_dir=tmp_path), source())
    assert "CUDA toolkit" in (nvcc_problem() or "")


@needs_nvcc
def test_a_value_with_commas_and_a_folder_with_an_odd_name_reach_the_compiler(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "a b,c$d#e"
    folder.mkdir()
    header = folder / "odd name.h"
    header.write_text("template <int M, int N> struct Shape { static constexpr int m = M; };\n")
    (folder / "odd.h").write_text('#include "odd name.h"\n')
    compiler = HostCompiler(
        settings=HostSettings(includes=(folder,), deadline_s=60.0), cache_dir=tmp_path / "cache"
    )
    text = source(extra="#include <odd.h>\nstatic_assert(TILE::m == 128);").replace(
        "UNROLL = [1, 2]", 'UNROLL = [1, 2]\nTILE = ["Shape<128,64>"]', 1
    )
    assert not compiled(compiler, text).cached
    assert compiled(compiler, text).cached
    header.write_text(header.read_text() + "// changed\n")
    assert not compiled(compiler, text).cached
    compiler.close()


@needs_nvcc
def test_macros_of_the_source_do_not_reach_our_templates(compiler: HostCompiler) -> None:
    names = ("T", "Whole", "Pointer", "guarded", "message", "whole", "stream", "reason", "Result")
    macros = "\n".join(f"#define {name} float" for name in names)
    text = source().replace("cudaStream_t stream", "cudaStream_t")
    assert compiled(compiler, f"{text}\n{macros}\n").library.is_file()


@pytest.mark.parametrize("name", ['a"b', "a`b", "a\\b"])
def test_a_folder_whose_name_nvcc_cannot_take_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="include folder"):
        HostCompiler(settings=HostSettings(includes=(tmp_path / name,)))


def test_a_rule_of_make_is_read_with_its_escapes() -> None:
    rule = "out.so : x.cu \\\n    /a\\ b/x.h \\\n  /c\\#d/$$e/f$g.h\n"
    assert nvcc.dependencies(rule) == [Path("x.cu"), Path("/a b/x.h"), Path("/c#d/$e/f$g.h")]


def test_memory_limits_how_many_compile_at_a_time() -> None:
    assert HostSettings(memory_bytes=2**60).at_once == 1
    assert HostSettings(processes=3).at_once == 3


@pytest.fixture(autouse=True, scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where compilers keep their temporary files."""
    folder = tmp_path_factory.mktemp("temporary")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(tempfile, "tempdir", str(folder))
        yield folder


@pytest.fixture(autouse=True)
def no_folder_left_behind(place: Path) -> Iterator[None]:
    yield
    assert [path for path in place.glob("*/*") if path.is_dir()] == []
