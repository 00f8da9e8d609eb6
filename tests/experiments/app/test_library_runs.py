"""Whole runs in which the model looks things up in a CUTLASS tree, over HTTP."""

from __future__ import annotations

import json
import os
import shutil
import threading
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from experiments.runs.folders.journal import read_events
from experiments.runs.options.config import read_config
from experiments.runs.options.libraries import open_library, read_library
from experiments.text.lookups import lookups_of, lookups_text
from experiments.views.report.conversations import read_conversations
from mcts.errors import InputError
from mcts.journal.record import read_result
from mcts.options import ModelOptions
from tests.support import paper_gpu
from tests.support.commands import completed, refused, rooftree
from tests.support.needs import needs_litellm
from tests.support.openai_server import Answer, AutoModel, OpenAiServer, Say
from tests.support.shelf import blocks, calls
from tests.support.story import OPTIONS
from tests.support.story_answers import Sources

LIKE = Path(__file__).parents[2] / "data" / "cutlass_like"
TMA = "include/cute/arch/copy_sm90_tma.hpp"
pytestmark = needs_litellm
IN, OUT = Decimal("0.7"), Decimal("2.1")
"""US dollars per million tokens."""


@pytest.fixture(autouse=True)
def world(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-these-tests-alone")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A tree with what a model should not get."""
    found = Path(shutil.copytree(LIKE, tmp_path / "tree"))
    (tmp_path / "secret.h").write_text("int secret;")
    (found / "include/link.h").symlink_to(tmp_path / "secret.h")
    (found / "include/huge.h").write_bytes(b"x" * (10 * 1024 * 1024))
    return found


Asked = list[tuple[str, dict[str, Any]]]
FIRST: Asked = [
    ("search", {"query": "load a tile by TMA"}),
    ("read", {"path": TMA, "lines": "16-40"}),
    ("read", {"path": "../secret.h"}),
    ("read", {"path": "include/link.h"}),
    ("read", {"path": "include/huge.h"}),
    ("search", {"query": "(a+)+$"}),
]
REFUSED = (
    "../secret.h lies outside of the CUTLASS tree",
    "include/link.h lies outside of the CUTLASS tree",
    "include/huge.h has 10.5 MB",
    "'(a+)+$' looks like a regular expression",
)
REPAIR: Asked = [("definition", {"symbol": "SM90_TMA_LOAD"}), ("uses", {"symbol": "SM90_TMA_LOAD"})]
THOUSAND: Asked = [("search", {"query": f"word{at}"}) for at in range(1_000)]


@dataclass
class Author:
    """Looks up, writes what does not compile, repairs it, then asks for a thousand things."""

    protocol: str
    sources: Sources = field(default_factory=Sources)
    counted: list[tuple[int, int]] = field(default_factory=list)
    wrote: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, body: dict[str, Any]) -> Answer:
        with self.lock:
            said = self._say(body)
            tokens = 1000 + 7 * len(body["messages"]), 70 + len(self.counted)
            self.counted.append(tokens)
            return Say(said.text, calls=said.calls, prompt_tokens=tokens[0],
                       completion_tokens=tokens[1])  # fmt: skip

    def _say(self, body: dict[str, Any]) -> Say:
        messages = body["messages"]
        fresh = len(messages) == 2
        if "does not compile" in messages[1]["content"].partition("# How it failed")[2]:
            return self._ask(REPAIR) if fresh else self._write("mended")
        if not self.wrote:
            return self._ask(FIRST) if fresh else self._write("broken")
        if len(self.wrote) == 2 and fresh:
            return self._ask(THOUSAND)
        return self._write("good")

    def _ask(self, asked: Asked) -> Say:
        if self.protocol == "calls":
            return Say("Let me look.", calls=calls(*asked))
        return Say(f"Let me look.\n\n{blocks(*asked)}")

    def _write(self, what: str) -> Say:
        self.wrote.append(what)
        good = self.sources.good
        made = good() if what == "good" else getattr(self.sources, what)("compile")
        return Say(made)

    @property
    def cost(self) -> Decimal:
        return sum(((a * IN + b * OUT) / 1_000_000 for a, b in self.counted), Decimal(0))


@pytest.mark.nvrtc
@pytest.mark.parametrize("protocol", ["calls", "text"])
def test_the_model_looks_things_up_and_repairs_and_a_refusal_does_not_end_the_run(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, protocol: str
) -> None:
    paper_gpu.install(monkeypatch)
    author, run = Author(protocol), tmp_path / "run"
    words = [word for word in map(str, OPTIONS) if word != "26"]
    words[words.index("--evaluations")] = "--evaluations=5"
    with OpenAiServer([author]) as server:
        done = completed(
            "optimize", "row_softmax", "--evaluator", "paper-gpu", "--api-base", server.url, *words,
            "--library", f"cutlass={tree}", "--lookup-protocol", protocol, "--out", run,
        )  # fmt: skip
        bodies = [seen.body for seen in server.requests]
    assert "library CUTLASS 9.1.3" in done.output
    assert author.wrote[:3] == ["broken", "mended", "good"]
    told = "\n".join(str(each["content"]) for body in bodies for each in body["messages"])
    for line in REFUSED:
        assert f"refused: {line}" in told
    assert "int secret;" not in told
    assert f"{TMA}:16-40 of 55 lines" in told and "struct SM90_TMA_LOAD" in told
    assert "refused: 988 further look-ups of this reply" in told
    (repair, *_) = (body["messages"] for body in bodies if "# How it failed" in
                    body["messages"][1]["content"])  # fmt: skip
    condensed = repair[1]["content"].partition("# How it failed")[2]
    assert 'identifier "column" is undefined' in condensed
    result = read_result(read_events(run))
    assert result.best.speedup is not None and result.evaluations == 5
    assert result.spending.cost == author.cost
    assert result.spending.tokens == sum(map(sum, author.counted))
    looked = [one for node in result.nodes for one in node.usage.get("lookups", ())]
    assert len(looked) == len(FIRST) + len(REPAIR) + 13
    assert all(one["bytes"] > 0 and one["seconds"] >= 0 for one in looked)
    _it_is_told_to_people(run, result)


def _it_is_told_to_people(run: Path, result: Any) -> None:
    text = rooftree("explain", run).output
    assert "## What was looked up for it" in text
    assert "In CUTLASS 9.1.3, by the model while it wrote: 21 look-ups, 5 refused" in text
    asked_of = read_conversations(run, read_events(run))
    wrote = [node for node in result.nodes if node.usage.get("lookups")]
    for node in wrote:
        *cut, whole = asked_of[node.id]
        thousand = any("more at once" in one["asked"] for one in node.usage["lookups"])
        assert len(cut) == thousand, (
            "all that was said is one conversation, but for what was shortened"
        )
        roles = [each.role for each in whole.messages]
        assert roles[:2] == ["system", "user"] and roles.count("assistant") >= 2
        assert any(
            "search" in each.text or "definition" in each.text for each in whole.messages[2:3]
        )


class TestOptions:
    @pytest.mark.parametrize(
        ("words", "told"),
        [
            (("--library", "cutlass={tree}"), "--library is for the llm proposer"),
            (("--model", "m", "--lookups", 3), "--lookups does nothing without --library"),
            (("--model", "m", "--lookup-tokens", 3000), "--lookup-tokens does nothing without"),
            (("--lookup-protocol", "text"), "--lookup-protocol is for the llm proposer"),
            (("--model", "m", "--library", "numpy"), "only cutlass, or cutlass=PATH"),
            (("--model", "m", "--library", "cutlass=/nowhere"), "no CUTLASS tree is there"),
            (("--model", "m", "--library", "cutlass={tree}", "--lookup-protocol", "smoke"),
             "--lookup-protocol 'smoke': auto, calls or text"),
        ],
        ids=str,
    )  # fmt: skip
    def test_an_option_without_effect_or_library_is_refused(
        self, tree: Path, tmp_path: Path, words: tuple[object, ...], told: str
    ) -> None:
        given = [str(word).replace("{tree}", str(tree)) for word in words]
        done = rooftree("optimize", "row_softmax", "--evaluator", "replay", *given,
                        "--out", tmp_path / "run")  # fmt: skip
        refused(done)
        assert told in " ".join(done.stderr.split())
        assert not (tmp_path / "run").exists()

    @pytest.mark.parametrize(
        ("model", "server", "protocol"),
        [("gpt-4o", None, "calls"), ("gpt-4o", "http://host:1/v1", "text"),
         ("openai/my-own", "http://host:1/v1", "text"), ("ollama/llama2", None, "text")],
    )  # fmt: skip
    def test_the_lookup_protocol_follows_from_the_model(
        self, model: str, server: str | None, protocol: str
    ) -> None:
        from codegen.chat.clients import with_protocol

        found = with_protocol(ModelOptions(name=model, api_base=server))
        assert found.lookup_protocol == protocol
        asked = ModelOptions(name=model, api_base=server, lookup_protocol="text")
        assert with_protocol(asked) is asked


def looks_then_auto(body: dict[str, Any]) -> Answer:
    if len(body["messages"]) == 2:
        return blocks(("definition", {"symbol": "SM90_TMA_LOAD"}))
    return AutoModel()(body)


def test_a_run_resumes_with_its_own_library_alone(tree: Path, tmp_path: Path) -> None:
    run, tape = tmp_path / "run", tmp_path / "tape.jsonl"
    start = ("optimize", "row_softmax", "--evaluator", "replay", "--model", "openai/x",
             "--library", f"cutlass={tree}", "--lookups", 3)  # fmt: skip
    with OpenAiServer([looks_then_auto]) as server:
        completed(*start, "--api-base", server.url, "--evaluations", 2, "--llm-record", tape,
                        "--out", run)  # fmt: skip
        config = read_config(run / "config.toml")
        assert config.library is not None
        assert (config.library.version, config.library.path) == ("9.1.3", str(tree))
        assert (config.model.lookups, config.model.lookup_protocol) == (3, "text")
        completed("resume", run, "--evaluations", 3)
        assert len(server.requests) == 6
        played = completed(*start, "--evaluations", 3, "--llm-replay", tape, "--out",
                          tmp_path / "played", "--json")  # fmt: skip
        digest = read_result(read_events(run)).tree_digest
        assert json.loads(played.stdout)["tree_digest"] == digest
        version = tree / "include/cutlass/version.h"
        version.write_text(version.read_text().replace("MAJOR 9", "MAJOR 8"))
        other = rooftree("resume", run, "--evaluations", 4)
        assert other.exit_code == 2 and len(server.requests) == 6
        assert "looks things up in CUTLASS 9.1.3" in " ".join(other.stderr.split())
        assert "is 8.1.3 now" in " ".join(other.stderr.split())


def test_an_edited_library_is_refused_and_a_reinstalled_one_is_not(
    tree: Path,
) -> None:
    began = read_library(f"cutlass={tree}")
    for file in tree.rglob("*.hpp"):
        os.utime(file, ns=(1, 1))
    assert read_library(f"cutlass={tree}") == began
    open_library(began).close()
    old = began.model_copy(update={"sha256": None})
    edited = tree / TMA
    edited.write_bytes(edited.read_bytes().swapcase())
    with pytest.raises(InputError, match=r"files of cutlass=.* have changed since it began") as no:
        open_library(began)
    assert "put them back as they were, or start a new run" in str(no.value)
    open_library(old).close()


@pytest.mark.parametrize("odd", [None, "x", 7, [1, None], [{}], [{"bytes": "many", "seconds": []}]])
def test_an_odd_usage_is_shown_as_far_as_it_can_be_read(odd: object) -> None:
    found = lookups_of({"lookups": odd})
    assert all(one.bytes == 0 and one.seconds == 0 and not one.refused for one in found)
    assert lookups_text(found) == "" or lookups_text(found).startswith("1 look-up, 0 bytes")
