"""A model looks things up, writes host code, and repairs it from what nvcc said, condensed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from codegen.llm import LlmProposer
from cutlass_search.index.corpus import open_corpus
from cutlass_search.index.store import open_index
from cutlass_search.library import CutlassLibrary
from mcts.domain import Build, Candidate, Evaluation, parse_host_plan
from mcts.options import ModelOptions
from mcts.search.trial import Move
from profilers.compiling.compiler import CompileFailed
from profilers.host.compiler import HostCompiler
from tests.codegen.cases import ask
from tests.codegen.test_host import host_task, reply
from tests.support.host_sources import source
from tests.support.scripted_client import ScriptedClient
from tests.support.shelf import blocks

pytestmark = [
    pytest.mark.nvrtc,
    pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs nvcc"),
]
LIKE = Path(__file__).parents[2] / "data" / "cutlass_like"
TEMPLATES = """
template <int Ranks> struct Layout { static_assert(Ranks == 2, "the ranks do not match"); };
template <int Ranks> __device__ void partition() { Layout<Ranks> layout; (void)layout; }
__global__ void parts() { partition<@RANKS@>(); }
"""


def test_searches_reads_writes_compiles_and_repairs_from_a_condensed_error(tmp_path: Path) -> None:
    script = [
        blocks(("search", {"query": "load a tile"}), ("definition", {"symbol": "SM90_TMA_LOAD"})),
        blocks(("read", {"path": "cute/arch/copy_sm90_tma.hpp", "lines": "22-35"})),
        reply(source(extra=TEMPLATES.replace("@RANKS@", "3"))),
        blocks(("uses", {"symbol": "SM90_TMA_LOAD"})),
        reply(source(extra=TEMPLATES.replace("@RANKS@", "2"))),
    ]
    client = ScriptedClient(script)
    library = CutlassLibrary(open_index(open_corpus(LIKE), folder=tmp_path / "index"))
    proposer = LlmProposer(ModelOptions(name="openai/x"), client=client, library=library)
    compiler = HostCompiler(cache_dir=tmp_path / "cache")
    first = proposer.propose(ask(host_task()))
    with pytest.raises(CompileFailed) as failure:
        _compile(compiler, first.candidate)
    failed = Evaluation(
        candidate_id=first.candidate.id,
        status="compile_failed",
        message=str(failure.value),
        build=Build(log=failure.value.log),
    )
    second = proposer.propose(
        ask(host_task(), parent=first.candidate, evaluation=failed, move=Move("repair", 0))
    )
    told = client.asked[3].messages[1]["content"].partition("# How it failed")[2]
    assert "the ranks do not match" in told and "your line: candidate.cu:" in told
    _compile(compiler, second.candidate)
    looked = [one["tool"] for one in (*first.usage["lookups"], *second.usage["lookups"])]
    assert looked == ["search", "definition", "read", "uses"]
    assert first.usage["cost_usd"] == 0.03 and second.usage["cost_usd"] == 0.02
    proposer.close()
    compiler.close()


def _compile(compiler: HostCompiler, candidate: Candidate) -> None:
    compiler.compile(candidate.source, parse_host_plan(candidate.source), candidate.tunables)
