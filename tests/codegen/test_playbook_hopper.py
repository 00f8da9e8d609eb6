"""The methods for Hopper: offered only where they can be written, and their signatures are true.

`hopper_samples.cu` holds a tiny kernel per method, called after it. It is compiled here and its
machine code read, so that a signature that no compiler leaves behind fails.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from codegen.playbook import (
    Method,
    catalogue,
    method,
    methods_for,
    playbook,
    playbook_for,
    signatures,
)
from mcts.domain import DIALECTS, Dialect, SassFacts
from profilers.compiling.toolchain import find_tool
from profilers.sass import read_sass

SAMPLES = Path(__file__).with_name("hopper_samples.cu")
SHOWN = {
    "compute.wgmma": ("compute_wgmma", "compute_wgmma_int8", "compute_wgmma_bits"),
    "compute.fp8": ("compute_fp8",),
    "memory.tma_loads": ("memory_tma_loads",),
    "memory.tma_stores": ("memory_tma_stores", "memory_tma_stores_added"),
    "memory.bulk_copy": ("memory_bulk_copy",),
    "latency.mbarrier_pipeline": ("latency_mbarrier_pipeline",),
    "latency.warp_specialization": ("latency_warp_specialization",),
    "memory.cluster_multicast": ("memory_cluster_multicast", "memory_cluster_multicast_bulk"),
}
SEEN_IN_ITS_USE = {"latency.stream_k", "memory.tma_swizzle", "memory.epilogue_fusion"}
HOPPER = {*SHOWN, *SEEN_IN_ITS_USE}

needs_tools = pytest.mark.skipif(
    not (find_tool("nvcc") and find_tool("nvdisasm")), reason="needs nvcc and nvdisasm"
)


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> dict[str, SassFacts]:
    nvcc = find_tool("nvcc")
    assert nvcc is not None
    cubin = tmp_path_factory.mktemp("hopper") / "samples.cubin"
    target = "-gencode=arch=compute_90a,code=sm_90a"
    command = [str(nvcc), "-std=c++17", target, "-cubin", "-o", str(cubin), str(SAMPLES)]
    said = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if "Unsupported gpu architecture" in said.stderr:
        pytest.skip("this nvcc does not know sm_90a")
    assert said.returncode == 0, said.stderr
    return read_sass(cubin)


def without_its_modifiers(opcode: str) -> str:
    return opcode.partition(".")[0]


@needs_tools
@pytest.mark.parametrize("method_id", SHOWN)
def test_a_signature_is_seen_in_a_kernel_that_does_it(
    method_id: str, compiled: dict[str, SassFacts]
) -> None:
    signature = method(method_id).signature
    assert signature is not None
    for sample in SHOWN[method_id]:
        assert signature.seen_in_code(compiled[sample]) is True, compiled[sample].opcodes
    assert signature.seen_in_code(compiled["plain"]) is False


@needs_tools
def test_every_opcode_of_a_signature_occurs_in_some_sample(compiled: dict[str, SassFacts]) -> None:
    for method_id, samples in SHOWN.items():
        signature = method(method_id).signature
        assert signature is not None
        for opcode in signature.opcodes:
            alone = signature.model_copy(update={"opcodes": (opcode,), "doubtful": ()})
            kernels = [*samples, "compute_fp8"]
            assert any(alone.seen_in_code(compiled[name]) for name in kernels), opcode


@needs_tools
def test_a_multicast_is_told_from_a_plain_copy(compiled: dict[str, SassFacts]) -> None:
    multicast = method("memory.cluster_multicast").signature
    assert multicast is not None
    assert multicast.seen_in_code(compiled["memory_tma_loads"]) is False
    assert multicast.seen_in_code(compiled["memory_bulk_copy"]) is False


@needs_tools
def test_words_of_a_signature_name_instructions_that_occur(compiled: dict[str, SassFacts]) -> None:
    """What `facts` writes in capitals is an opcode of a sample of that method."""
    for method_id, samples in SHOWN.items():
        signature = method(method_id).signature
        assert signature is not None
        present = {
            without_its_modifiers(opcode) for name in samples for opcode in compiled[name].opcodes
        }
        words = signature.facts.replace(",", " ").replace(";", " ").split()
        named = {
            without_its_modifiers(word)
            for word in words
            if word.isupper() and word not in {"DEALLOC", "TRY_ALLOC", "FFMA"}
        }
        assert named <= present, method_id


def test_no_method_for_hopper_is_in_the_general_playbook() -> None:
    assert not HOPPER & set(playbook())
    assert all(entry.is_general for entry in playbook().values())
    assert set(playbook_for("host", "9.0")) == {*playbook(), *HOPPER} == set(catalogue())


@pytest.mark.parametrize("dialect", tuple(DIALECTS.values()))
@pytest.mark.parametrize("capability", ["7.5", "8.9", "10.0", None])
def test_other_gpus_and_unknown_ones_get_the_general_methods(
    dialect: Dialect, capability: str | None
) -> None:
    assert playbook_for(dialect, capability) == playbook()


def test_hoppers_methods_can_be_written_where_there_is_source() -> None:
    cuda = set(playbook_for("cuda", "9.0"))
    assert {"memory.tma_loads", "memory.tma_stores", "memory.bulk_copy"} <= cuda
    assert {"compute.wgmma", "latency.mbarrier_pipeline"} <= cuda
    assert set(playbook_for("space", "9.0")) == set(playbook())


def test_bounds_choose_among_the_methods_that_fit() -> None:
    among = playbook_for("host", "9.0")
    assert method("compute.wgmma") in methods_for("compute", among)
    assert method("compute.wgmma") not in methods_for("compute")
    assert method("compute.wgmma") not in methods_for("launch", among)


def hopper() -> list[Method]:
    return [method(name) for name in sorted(HOPPER)]


@pytest.mark.parametrize("entry", hopper(), ids=lambda entry: entry.id)
def test_a_method_for_hopper_says_when_how_what_goes_wrong_and_what_to_expect(
    entry: Method,
) -> None:
    assert entry.capabilities == ("9.0",) and "space" not in entry.dialects
    assert entry.applies_when and entry.pitfalls and entry.evidence and entry.tunables
    assert entry.id.partition(".")[0] == entry.axis
    for text in (entry.description, entry.pitfalls, entry.evidence):
        assert text in entry.advice


def test_signatures_of_methods_for_hopper_are_asked_too() -> None:
    assert set(SHOWN) <= set(signatures())
    assert not SEEN_IN_ITS_USE & set(signatures())
