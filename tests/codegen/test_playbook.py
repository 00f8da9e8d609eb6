"""The playbook is complete, consistent and honest about numbers."""

from __future__ import annotations

from typing import Any

import pytest

from codegen.playbook import method, methods_for, playbook, signatures
from mcts.domain import KernelProfile, Profile, SassFacts
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


def test_methods_are_found_by_bound() -> None:
    assert method("memory.vectorized_loads") in methods_for("memory")
    assert method("memory.vectorized_loads") not in methods_for("launch")
    assert methods_for("unknown") == tuple(playbook().values())


def test_an_unknown_method_is_named_with_the_known_ones() -> None:
    with pytest.raises(InputError, match=r"'memory\.magic'; known: memory\.coalesced_access"):
        method("memory.magic")


def shown(method_id: str, *kernels: SassFacts | None) -> bool | None:
    profile = Profile(
        kernels=tuple(KernelProfile(name=f"k{at}", sass=one) for at, one in enumerate(kernels))
    )
    return signatures()[method_id](profile)


def code(*opcodes: str, **counts: Any) -> SassFacts:
    return SassFacts(instructions=10, opcodes=opcodes, **counts)


@pytest.mark.parametrize(
    ("method_id", "opcode", "expected"),
    [
        ("memory.async_copy", "LDGSTS.E.BYPASS.128", True),
        ("memory.async_copy", "LDG.E.128", False),
        ("memory.vectorized_loads", "LDG.E.EF.128.CONSTANT", True),
        ("memory.vectorized_loads", "LDG.E", False),
        ("memory.vectorized_loads", "LDS.128", False),
        ("memory.vectorized_loads", "LDGSTS.E.BYPASS.128", None),
        ("compute.tensor_cores", "HGMMA.64x64x16.F32", True),
        ("compute.tensor_cores", "FFMA", False),
        ("compute.fast_math", "MUFU.EX2", None),
        ("compute.fast_math", "FFMA", False),
        ("compute.register_tiling", "FFMA", None),
        ("memory.cache_hints", "LDG.E.CONSTANT", None),
    ],
)
def test_machine_code_shows_a_method_or_not_or_leaves_doubts(
    method_id: str, opcode: str, expected: bool | None
) -> None:
    assert shown(method_id, code("MOV", opcode, "EXIT")) is expected


def test_one_kernel_is_enough_to_show_it_and_all_are_needed_to_deny_it() -> None:
    without, with_it = code("FFMA", "EXIT"), code("LDGSTS.E", "EXIT")
    assert shown("memory.async_copy", without, with_it) is True
    assert shown("memory.async_copy", without, without) is False
    assert shown("memory.async_copy", without, None) is None
    assert shown("memory.async_copy", None, with_it) is True
    assert shown("memory.async_copy") is None


def test_code_whose_opcodes_were_not_kept_is_judged_by_its_counts() -> None:
    assert shown("memory.async_copy", code(async_copies=2)) is True
    assert shown("memory.async_copy", code()) is False
    assert shown("memory.vectorized_loads", code(global_loads={"32": 4, "128": 1})) is True
    assert shown("memory.vectorized_loads", code(global_loads={"32": 4})) is False
    assert shown("memory.vectorized_loads", code(async_copies=2)) is None
    assert shown("compute.warp_primitives", code(shuffles=5)) is True
    assert shown("compute.warp_primitives", code()) is None, "REDUX is in none of the counts"
    assert shown("memory.cache_hints", code(global_loads={"128": 1})) is None
    assert shown("memory.shared_tiling", code(shared_loads={"32": 1})) is True


def test_only_methods_that_opcodes_can_show_have_a_signature_to_ask() -> None:
    assert "memory.async_copy" in signatures()
    unseen = {"latency.block_size", "memory.register_reuse", "memory.block_swizzle"}
    assert not unseen & set(signatures())
    reuse = method("memory.register_reuse").signature
    assert reuse is not None and reuse.seen_in(["LDG.E.128"]) is None
    counts = SassFacts.model_fields
    for entry in playbook().values():
        signature = entry.signature
        for count, opcodes in signature.counts.items() if signature else ():
            assert count.partition(".")[0] in counts
            assert set(opcodes) <= {*signature.opcodes, *signature.doubtful}
