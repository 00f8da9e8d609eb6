"""Kill -9 at any moment: a resumed run comes to what an uninterrupted one comes to, nothing is
measured twice, and no answer of a model is asked for twice."""

from __future__ import annotations

import json
import random
import sqlite3
import tempfile
from collections import Counter
from contextlib import closing
from functools import cached_property
from pathlib import Path
from typing import Any

from tests.faults.commands import Ended, run
from tests.faults.tally import Tally
from tests.support.openai_server import AutoModel, OpenAiServer

MOST_KILLS = 4
"""Of one run, before it may end."""
KEPT_ONCE = {
    "measured": "candidate_id",
    "profiled": "candidate_id",
    "confirmed": "candidate_id",
    "proposed": "trial",
    "told": "trial",
}
SAME = ("tree_digest", "best_speedup", "best_us", "evaluations", "unique", "failed")


class Kills:
    """Of searches with the scripted proposer."""

    name = "kills"
    evaluations = 25

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng

    @cached_property
    def whole(self) -> dict[str, Any]:
        """The summary of the run that nobody disturbs."""
        with tempfile.TemporaryDirectory() as name:
            ended = run([*self.words(), "--out", "run"], Path(name))
            assert ended.code == 0, ended.errors
            self.seconds = ended.seconds
            return json.loads(ended.output)

    def words(self) -> list[str]:
        return [
            "optimize", "row_softmax", "--seed", "5", "--json", "--quiet",
            "--evaluations", str(self.evaluations),
        ]  # fmt: skip

    def strike(self, tally: Tally) -> None:
        """One run, killed until it has been killed enough, then finished."""
        whole = self.whole
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            for _ in range(MOST_KILLS):
                after = self._rng.uniform(0.1, 1.2 * self.seconds)
                ended = run(self._next(folder), folder, kill_after_s=after)
                if fault := ended.fault():
                    tally.violated(self.name, fault)
                if ended.code >= 0:
                    break
                tally.tried(self.name)
            ended = run(self._next(folder), folder)
            for fault in (ended.fault(), self._difference(ended, whole), twice(folder / "run")):
                if fault:
                    tally.violated(self.name, fault)

    def _next(self, folder: Path) -> list[str]:
        """Resume the run if there is one; a start that was killed before it had a name is made
        again, elsewhere."""
        if (folder / "run" / "config.toml").is_file():
            return ["resume", "run", "--json", "--quiet"]
        if (folder / "run").exists():
            (folder / "run").rename(folder / f"left-{self._rng.getrandbits(32)}")
        return [*self.words(), "--out", "run"]

    def _difference(self, ended: Ended, whole: dict[str, Any]) -> str | None:
        if ended.code != 0:
            return f"resume ended with {ended.code}: {ended.errors[-500:]}"
        found = json.loads(ended.output)
        differs = [name for name in SAME if found.get(name) != whole.get(name)]
        return f"a resumed run differs in {', '.join(differs)}" if differs else None


class ModelKills(Kills):
    """Of searches whose model is asked over HTTP; the server keeps count of what it is asked."""

    name = "kills with a model"
    evaluations = 8

    def strike(self, tally: Tally) -> None:
        with OpenAiServer([AutoModel()]) as server:
            self._url = server.url
            self.__dict__.pop("whole", None)
            super().strike(tally)

    def words(self) -> list[str]:
        return [
            *super().words(), "--proposer", "llm", "--model", "openai/auto",
            "--api-base", self._url, "--price", "openai/auto=1,1",
        ]  # fmt: skip

    def _difference(self, ended: Ended, whole: dict[str, Any]) -> str | None:
        """What a model answers depends on what it was asked before: only the end is compared."""
        if ended.code != 0:
            return f"resume ended with {ended.code}: {ended.errors[-500:]}"
        evaluations = json.loads(ended.output)["evaluations"]
        return None if evaluations == whole["evaluations"] else f"{evaluations} evaluations"


def twice(run_folder: Path) -> str | None:
    """What the journal holds twice though it costs something; None if nothing."""
    with closing(sqlite3.connect(run_folder / "run.sqlite")) as connection:
        events = connection.execute("SELECT kind, payload FROM event").fetchall()
    paid = Counter(
        (kind, json.loads(text)[KEPT_ONCE[kind]]) for kind, text in events if kind in KEPT_ONCE
    )
    again = [f"{kind} {key}" for (kind, key), count in paid.items() if count > 1]
    return f"twice in the journal: {', '.join(again[:3])}" if again else None
