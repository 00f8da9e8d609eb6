"""`rooftree check`: what is wrong with a task is said without a GPU."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from experiments.app.checking import check_task
from experiments.app.doctor import Check
from experiments.runs.tasks.files import bundled, find_task
from tests.support.commands import completed, json_of, refused, rooftree

KERNEL, TASK, REFERENCE = "kernel.cu", "task.toml", "reference.py"


LIMITS = """
#if BLOCK == 1024 && VEC == 1
static_assert(false, "one");
#elif BLOCK == 1024 && VEC == 2
static_assert(false, "two");
#elif BLOCK == 1024
static_assert(false, "four");
#elif BLOCK == 512 && VEC == 1
template <int B> using some = not_this_one;
#endif
"""


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    completed("new", tmp_path / "mine")
    return tmp_path / "mine"


def change(folder: Path, file: str, before: str, after: str) -> None:
    text = (folder / file).read_text()
    assert before in text
    (folder / file).write_text(text.replace(before, after))


def checked(folder: Path | str, *, variants: int = 4) -> list[Check]:
    task = find_task(str(folder)).task
    return list(check_task(task, variants=variants, arch="sm_90a", seed=0, say=lambda _: None))


def problems(folder: Path) -> str:
    return "\n".join(
        f"{one.name}: {one.detail}" for one in checked(folder) if one.level == "problem"
    )


@pytest.mark.nvrtc
def test_the_template_and_a_bundled_task_are_right_and_it_says_what_was_not_checked(
    mine: Path,
) -> None:
    for folder in (mine, "transpose"):
        found = checked(folder)
        assert {one.name for one in found} >= {"space", "plan", "reference", "compiler"}
        assert not [one for one in found if one.level == "problem"]
        assert found[-1].name == "not checked" and "GPU" in found[-1].detail


@pytest.mark.nvrtc
@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ('"rows", "cols"]\n*/', '"rows"]\n*/', "takes 6 parameters, the plan gives 5"),
        (
            '"rows", "cols"]\n*/', '"rows", { value = "cols", type = "float32" }]\n*/',
            "argument 6 is the float32",
        ),
        (
            "int rows, int cols", "int rows, float cols",
            "takes a float: write { value = ..., type = 'float32' }",
        ),
        ("int rows, int cols", "double rows, int cols", "takes a double"),
        ("void bias_gelu(", "void other(", "which the compiled source does not define"),
        ("__global__ void", "__global__ void __launch_bounds__(32)", "__launch_bounds__ allows 32"),
        (
            'block  = ["BLOCK"]', 'block  = ["BLOCK"]\nshared = "200 * 1024"',
            "204,800 bytes of shared memory on top of 40,000 static ones",
        ),
        ("return z", "return zz", "does not compile"),
    ],
)  # fmt: skip
def test_what_the_compiler_knows_is_told(mine: Path, before: str, after: str, told: str) -> None:
    if "static" in told:
        kernel = (mine / KERNEL).read_text()
        at = kernel.index("{", kernel.index("bias_gelu(")) + 1
        static = "__shared__ volatile float held[10000]; held[threadIdx.x] = 0;"
        (mine / KERNEL).write_text(kernel[:at] + static + kernel[at:])
    change(mine, KERNEL, before, after)
    said = problems(mine)
    assert told in said and "compiler: " in said


@pytest.mark.nvrtc
@pytest.mark.parametrize(
    ("line", "level"),
    [
        ('static_assert(BLOCK != 1024, "not this one");', "note"),
        ('static_assert(BLOCK > 4096, "not this one");', "problem"),
        ("template <int B> using some = not_this_one;", "problem"),
    ],
)
def test_a_few_variants_that_ask_for_too_much_are_no_mistake(
    mine: Path, line: str, level: str
) -> None:
    change(mine, KERNEL, 'extern "C" __global__', f'{line}\nextern "C" __global__')
    found = [one for one in checked(mine, variants=24) if one.name == "compiler"]
    assert {one.level for one in found} == {level}
    assert "not this one" in found[0].detail.replace("_", " ")
    assert ("exclude such by `where`" in found[0].detail) == (level == "note")


@pytest.mark.nvrtc
def test_limits_told_in_many_words_hide_no_mistake(mine: Path) -> None:
    change(mine, KERNEL, 'extern "C" __global__', f'{LIMITS}\nextern "C" __global__')
    found = [one for one in checked(mine, variants=48) if one.name == "compiler"]
    assert found[0].level == "problem" and "not_this_one" in found[0].detail
    assert {one.level for one in found[1:]} == {"note"} and "more kinds" in found[-1].detail


@pytest.mark.nvrtc
def test_limits_of_most_variants_are_a_problem_in_however_many_words(mine: Path) -> None:
    limits = LIMITS.replace("BLOCK == 1024", "BLOCK >= 128").replace("not_this_one", "int")
    change(mine, KERNEL, 'extern "C" __global__', f'{limits}\nextern "C" __global__')
    found = [one for one in checked(mine, variants=48) if one.name == "compiler"]
    assert {one.level for one in found} == {"problem"}


@pytest.mark.parametrize(
    ("file", "before", "after", "told"),
    [
        (KERNEL, "values = [64, 128, 256, 512, 1024]", "values = [64, 4096]", "block.x is 4096"),
        (KERNEL, '"latency.block_size"', '"latency.blocksize"', "did you mean latency.block_size?"),
        (REFERENCE, "np.tanh", "np.tanhh", "tanhh"),
        (REFERENCE, "import numpy as np", "import numpy", "NameError"),
        (REFERENCE, "np.tanh(", "np.nan * np.tanh(", "gives NaN for output y"),
        (KERNEL, '"bias", "y", "rows"', '"bias", "x", "rows"', "output 'y' is passed to no launch"),
        (KERNEL, "[[launch]]", '[[launch]]\nmemset = "x"\n\n[[launch]]', "input 'x' is zeroed"),
        (KERNEL, 'block  = ["BLOCK"]', 'block  = ["BLOCK"]\nshared = "300000"', "480 of 480 calls"),
    ],
)
def test_what_the_plan_and_the_reference_do_is_told(
    mine: Path, file: str, before: str, after: str, told: str
) -> None:
    change(mine, file, before, after)
    assert told in problems(mine)


def test_a_buffer_that_a_tensor_map_names_is_passed(mine: Path) -> None:
    change(
        mine, KERNEL, '"bias", "y", "rows"', '"bias", { tensor_map = "y", box = [1, 4] }, "rows"'
    )
    assert "passed to no launch" not in problems(mine)


def test_one_combination_that_is_left_is_counted(mine: Path) -> None:
    defaults = "BLOCK == 64 and VEC == 1 and WORK == 1 and COALESCE == 0 and FAST == 0"
    change(mine, KERNEL, '"cols % VEC == 0"', f'"{defaults}"')
    shown = completed("check", mine, "--variants", 1).output
    assert "1 combination of 240, `where` excludes the rest" in shown


def test_the_command_prints_a_line_for_each_check_and_fails_on_a_problem(mine: Path) -> None:
    done = completed("check", mine, "--variants", 1)
    assert "task mine" in done.output and "240 combinations" in done.output
    change(mine, REFERENCE, "import numpy as np", "import numpy")
    bad = rooftree("check", mine, "--variants", 1)
    assert bad.exit_code == 1 and "NameError" in bad.output
    said = rooftree("check", mine, "--variants", 1, "--json")
    assert said.exit_code == 1 and '"ok": false' in said.stdout


@pytest.mark.parametrize("inside", [False, True])
def test_a_reference_that_exits_is_a_problem(mine: Path, inside: bool) -> None:
    if inside:
        change(mine, "reference.py", "    return", "    raise SystemExit(0)\n    return")
    else:
        with (mine / "reference.py").open("a") as file:
            file.write("\nraise SystemExit(0)\n")
    done = rooftree("check", mine)
    assert done.exit_code == 1 and "SystemExit" in done.stdout


def test_what_a_reference_prints_is_no_verdict(mine: Path) -> None:
    with (mine / "reference.py").open("a") as file:
        file.write("\nprint('loading')\n")
    done = rooftree("check", mine, "--json")
    assert json.loads(done.stdout)["checks"] and "loading" in done.stderr


def test_each_further_run_of_a_slow_reference_is_told(
    mine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("experiments.app.checking._SLOW_S", 0.2)
    change(mine, REFERENCE, "    return", "    __import__('time').sleep(0.25)\n    return")
    said: list[str] = []
    task = find_task(str(mine)).task
    found = {
        one.name: one
        for one in check_task(task, variants=1, arch="sm_90a", seed=0, say=said.append)
    }
    runs = int(found["reference"].detail.split()[0])
    told = [text for text in said if "of the reference" in text]
    assert len(told) == runs - 1 > 2 and told[0].startswith("1 run of the reference in 0 s")


def test_what_a_reference_takes_to_load_is_no_run_of_it(
    mine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("experiments.app.checking._SLOW_S", 0.2)
    with (mine / REFERENCE).open("a") as file:
        file.write("\n__import__('time').sleep(0.3)\n")
    said: list[str] = []
    task = find_task(str(mine)).task
    assert list(check_task(task, variants=1, arch="sm_90a", seed=0, say=said.append))
    assert not [text for text in said if "of the reference" in text]


def test_what_is_no_architecture_is_refused(mine: Path) -> None:
    refused(rooftree("check", mine, "--arch", "foo"), "write it as sm_90a")


def test_a_task_that_cannot_be_read_is_refused_in_a_line(mine: Path) -> None:
    change(mine, KERNEL, '"rows", "cols"]\n*/', '"rows", "colls"]\n*/')
    refused(rooftree("check", mine), "colls")
    refused(rooftree("check", "no_such_task"), "no_such_task")


@pytest.mark.parametrize(
    ("file", "before", "after", "told"),
    [
        (
            KERNEL, '"cols"]\n*/', '{ vale = 1, type = "int32" }]\n*/',
            "args 6: vale: there is no such field; did you mean value?",
        ),
        (TASK, 'name = "bias"', 'name = "x"', "two buffers are called 'x'"),
        (TASK, 'bytes = "8 * rows', 'bytes = "-8 * rows', "it cannot be negative"),
        (TASK, 'dialect = "cuda"', 'dialect = "cdua"', "did you mean cuda?"),
    ],
)  # fmt: skip
def test_a_mistake_is_said_by_its_name(
    mine: Path, file: str, before: str, after: str, told: str
) -> None:
    change(mine, file, before, after)
    refused(rooftree("check", mine), told)


def test_every_bundled_task_can_be_launched_and_has_a_reference() -> None:
    for name in bundled():
        found = {one.name: one for one in checked(name, variants=1)}
        assert found["plan"].level == found["reference"].level == "ok", (name, found)


def test_a_problem_file_is_read_and_no_more(tmp_path: Path) -> None:
    problem = tmp_path / "1_double.py"
    problem.write_text(
        "import torch\n\n\nclass Model(torch.nn.Module):\n    def forward(self, x):\n"
        "        return 2 * x\n\n\ndef get_inputs():\n    return [torch.rand(8)]\n\n\n"
        "def get_init_inputs():\n    return []\n"
    )
    found = json_of("check", problem)
    assert found["ok"] and [one["name"] for one in found["checks"]] == [
        "problem file",
        "not checked",
    ]


@pytest.mark.nvrtc
@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ('"rows", "cols"]\n*/', '"rows"]\n*/', "takes 6 parameters, the plan gives 5"),
        ("int rows, int cols", "int rows, float cols", "takes a float"),
        ('block  = ["BLOCK"]', 'block  = ["BLOCK * 64"]', "block.x is 4096"),
    ],
)
def test_inspect_says_it_as_soon_as_it_sees_it(
    mine: Path, before: str, after: str, told: str
) -> None:
    change(mine, KERNEL, before, after)
    done = rooftree("inspect", mine / KERNEL)
    assert done.exit_code == 2 and told in " ".join(done.output.split())


@pytest.mark.nvrtc
def test_inspect_tells_of_an_unknown_method_and_goes_on(mine: Path) -> None:
    change(mine, KERNEL, "latency.block_size", "latency.blocksize")
    done = completed("inspect", mine / KERNEL)
    assert "'latency.blocksize' is no method of the playbook" in done.output


def test_evaluate_tells_of_an_impossible_launch_before_it_asks_for_a_gpu(mine: Path) -> None:
    change(mine, KERNEL, 'block  = ["BLOCK"]', 'block  = ["BLOCK * 64"]')
    refused(rooftree("evaluate", mine, mine / KERNEL), "block.x is 4096; it must lie in 1..1024")
