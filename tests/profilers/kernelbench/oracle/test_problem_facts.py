"""Least work of a problem: what is counted, and on which unit it runs."""

import pytest

torch = pytest.importorskip("torch")

from profilers.kernelbench.oracle.problem_facts import count_work  # noqa: E402

POSITIONS = 3 * 5


@pytest.mark.parametrize(
    ("layer", "multiplied"),
    [
        (("LSTM", 8, 16, 2), 4 * 16 * (8 + 16) + 4 * 16 * (16 + 16)),
        (("GRU", 8, 16, 1), 3 * 16 * (8 + 16)),
        (("RNN", 8, 16, 1), 16 * (8 + 16)),
    ],
)
def test_a_recurrent_layer_multiplies_each_weight_once_at_each_position(layer, multiplied):
    kind, *sizes = layer
    module, inputs = getattr(torch.nn, kind)(*sizes), torch.randn(3, 5, sizes[0])
    with torch.no_grad():
        assert count_work(lambda: module(inputs), tf32=False)["flops"] == (
            2 * multiplied * POSITIONS
        )


def test_what_cudnn_runs_is_bounded_by_tf32_and_a_product_by_what_was_chosen():
    lstm, linear = torch.nn.LSTM(8, 16), torch.nn.Linear(8, 16)
    inputs = torch.randn(3, 5, 8)
    with torch.no_grad():
        assert count_work(lambda: lstm(inputs), tf32=False)["math"] == "tf32"
        assert count_work(lambda: linear(inputs), tf32=False)["math"] == "fp32"
        assert count_work(lambda: linear(inputs), tf32=True)["math"] == "tf32"
