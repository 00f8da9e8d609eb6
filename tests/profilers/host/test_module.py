"""The wrapper around a launcher, on PyTorch's CPU tensors: what it passes, checks and returns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch")

from mcts.domain import parse_host_plan  # noqa: E402
from profilers.host.compiler import HostCompiler  # noqa: E402
from profilers.host.module import HostCallError, host_model  # noqa: E402
from profilers.host.nvcc import nvcc_problem  # noqa: E402
from tests.support.host_sources import source  # noqa: E402

pytestmark = pytest.mark.skipif(nvcc_problem() is not None, reason=str(nvcc_problem()))
WEIGHTS = {"inner.w": ([6], "float32"), "unused": ([2, 3], "int64")}
PROBE = """/* rooftree
launcher = "probe"
args = ["x", "y", "n", "k", "stream"]
returns = "list"
[[input]]
name = "x"
dtype = "int64"
shape = ["n"]
[[input]]
name = "k"
[[output]]
name = "y"
dtype = "float64"
shape = ["2 * n"]
[[output]]
name = "z"
dtype = "bool"
shape = []
*/
#include <stdexcept>
#include <limits>
extern "C" const char* probe(const int64_t* x, double* y, unsigned char n, short k,
                             cudaStream_t) {
  if (k == 1) throw std::runtime_error("thrown inside");
  if (k == 2) throw 5;
  if (k == 3) return "a reason of its own";
  for (int i = 0; i < 2 * n; i++) y[i] = x[i / 2] + k;
  return nullptr;
}
"""


@pytest.fixture(scope="module")
def make(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Any]]:
    """A `ModelNew` of a source."""
    compiler = HostCompiler(cache_dir=tmp_path_factory.mktemp("cache"))

    def made(text: str, *init: Any, weights: Any = WEIGHTS) -> Any:
        plan = parse_host_plan(text)
        values = plan.values({})
        compiled = compiler.compile(text, plan, values)
        model = host_model(
            library=str(compiled.library), plan=plan.model_dump_json(), tunables=values,
            weights=weights,
        )  # fmt: skip
        return model(*init)

    yield made
    compiler.close()


@pytest.fixture
def model(make: Callable[..., Any]) -> Any:
    made = make(source(), 6, 0.25)
    with torch.no_grad():
        made.inner.w.copy_(torch.arange(6.0) - 2)
    return made


def expected(model: Any, x: Any) -> Any:
    return torch.relu(x * model.inner.w) + 0.25


def test_weights_have_the_references_names_and_are_those_that_are_used(model: Any) -> None:
    assert set(dict(model.named_buffers())) == {"inner.w", "unused"}
    x = torch.randn(4, 6)
    assert torch.equal(model(x), expected(model, x))
    with torch.no_grad():
        model.inner.w.mul_(-1)
    assert torch.equal(model(x), expected(model, x))
    model.double().float()
    assert torch.equal(model(x), expected(model, x))


def test_a_dtype_is_held_to_the_plan_also_for_a_shape_that_was_seen(model: Any) -> None:
    x = torch.randn(4, 6)
    model(x)
    with pytest.raises(HostCallError, match="is float64, the plan says float32"):
        model(x.double())


def test_shapes_are_bound_anew_and_rows_may_lie_apart(model: Any) -> None:
    for x in (torch.randn(4, 6), torch.randn(1, 6), torch.randn(9, 6)):
        assert torch.equal(model(x), expected(model, x))
    across = torch.randn(6, 4).t()
    assert not across.is_contiguous()
    assert torch.equal(model(across), expected(model, across))


def test_every_call_makes_its_own_output(model: Any) -> None:
    x = torch.randn(4, 6)
    first, second = model(x), model(x)
    assert first.data_ptr() != second.data_ptr()


@pytest.mark.parametrize(
    ("inputs", "said"),
    [
        ((torch.zeros(4, 6).double(),), "'x' is float64, the plan says float32"),
        ((torch.zeros(4, 6, 1),), "has the shape (4, 6, 1)"),
        ((torch.zeros(4, 5),), "n is 5, and the tensor has 6 there"),
        ((3.0,), "is a float, not a tensor"),
        ((), "forward gets 0 arguments"),
    ],
)
def test_inputs_that_do_not_fit_the_plan_are_errors(model: Any, inputs: Any, said: str) -> None:
    with pytest.raises(HostCallError) as caught:
        model(*inputs)
    assert said in str(caught.value)


def test_a_weight_that_is_not_there_is_named(make: Callable[..., Any]) -> None:
    with pytest.raises(HostCallError, match=r"no weight 'inner.w'; it has: b"):
        make(source(), 6, 0.25, weights={"b": ([6], "float32")})


def test_numbers_of_the_constructor_have_the_plans_names(make: Callable[..., Any]) -> None:
    with pytest.raises(HostCallError, match="names 2 values of init, there are 1"):
        make(source(), 6)
    with pytest.raises(HostCallError, match="'eps' is a str"):
        make(source(), 6, "x")


def test_a_return_code_comes_with_the_reason_that_the_source_gives(
    make: Callable[..., Any],
) -> None:
    wrong = source().replace("return 4 * m * n;", "return 5 * m * n;")
    with pytest.raises(HostCallError, match="scale: the launcher returned 7: got 120 bytes"):
        make(wrong, 6, 0.25)(torch.zeros(4, 6))


def test_several_outputs_come_back_as_the_plan_says(make: Callable[..., Any]) -> None:
    outputs = make(PROBE, weights={})(torch.arange(3), 10)
    assert isinstance(outputs, list)
    assert outputs[0].tolist() == [10, 10, 11, 11, 12, 12]
    assert outputs[1].dtype == torch.bool
    assert outputs[1].shape == ()


def test_a_list_of_one_output_is_a_list(make: Callable[..., Any]) -> None:
    text = source(head='returns = "list"')
    (only,) = (outputs := make(text, 6, 0.25)(torch.zeros(4, 6)))
    assert isinstance(outputs, list)
    assert only.shape == (4, 6)


@pytest.mark.parametrize(
    ("count", "k", "said"),
    [
        (3, 1, "probe: thrown inside"),
        (3, 2, "something that is no std::exception"),
        (3, 3, "probe: a reason of its own"),
        (3, 40_000, "k = 40000 does not fit"),
        (256, 0, "n = 256 does not fit"),
    ],
)
def test_a_launchers_refusal_is_an_exception(
    make: Callable[..., Any], count: int, k: int, said: str
) -> None:
    with pytest.raises(HostCallError, match=said):
        make(PROBE, weights={})(torch.arange(count), k)


def test_a_file_that_is_no_library_is_an_error_of_the_loader(tmp_path: Path) -> None:
    (tmp_path / "x.so").write_text("no library")
    plan = parse_host_plan(PROBE).model_dump_json()
    with pytest.raises(OSError, match=r"x\.so"):
        host_model(library=str(tmp_path / "x.so"), plan=plan, tunables={}, weights={})
