"""The playbook is complete, consistent and honest about numbers."""

from __future__ import annotations

import pytest

from codegen.playbook import method, methods_for, methods_on, playbook
from mcts.errors import InputError

AGREED = [
    "memory.coalesced_access",
    "memory.vectorized_loads",
    "memory.shared_tiling",
    "memory.shared_padding",
    "memory.async_copy",
    "memory.cache_hints",
    "memory.block_swizzle",
    "memory.register_reuse",
    "compute.register_tiling",
    "compute.loop_unrolling",
    "compute.fast_math",
    "compute.tensor_cores",
    "compute.warp_primitives",
    "parallelism.split_k",
    "latency.block_size",
    "latency.launch_bounds",
    "latency.double_buffering",
    "latency.work_per_thread",
    "latency.persistent_grid",
]


@pytest.mark.parametrize("method_id", AGREED)
def test_every_agreed_method_is_described(method_id: str) -> None:
    entry = method(method_id)
    assert entry.id == method_id
    assert 2 <= entry.description.count(". ") + 1 <= 4
    assert entry.applies_when and entry.bounds


def test_a_figure_names_its_source() -> None:
    assert all(bool(m.gain) == bool(m.gain_source) for m in playbook().values())


def test_an_id_starts_with_its_axis() -> None:
    for entry in playbook().values():
        prefix = entry.id.partition(".")[0]
        assert prefix == entry.axis or (prefix, entry.axis) == ("parallelism", "latency")


def test_methods_are_found_by_bound_and_by_axis() -> None:
    assert method("memory.vectorized_loads") in methods_for("memory")
    assert method("memory.vectorized_loads") not in methods_for("launch")
    assert methods_for("unknown") == tuple(playbook().values())
    assert method("parallelism.split_k") in methods_on("latency")


def test_an_unknown_method_is_named_with_the_known_ones() -> None:
    with pytest.raises(InputError, match=r"'memory\.magic'; known: memory\.coalesced_access"):
        method("memory.magic")


def test_a_signature_is_seen_whatever_the_order_of_modifiers() -> None:
    signature = method("memory.vectorized_loads").signature
    assert signature is not None
    assert signature.seen_in(["MOV", "LDG.E.EF.128.CONSTANT"]) is True
    assert signature.seen_in(["LDG.E.CONSTANT", "LDS.128"]) is False
    reuse = method("memory.register_reuse").signature
    assert reuse is not None and reuse.seen_in(["LDG.E.128"]) is None
    assert method("memory.block_swizzle").signature is None
