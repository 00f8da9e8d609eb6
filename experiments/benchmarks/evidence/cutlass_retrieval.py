"""How well does the search over CUTLASS find what an author of kernels asks for?

    python -m experiments.benchmarks.evidence.cutlass_retrieval --root PATH [--held-back] [--misses]

Prints recall at 5 and at 10, over files, of our search, of ripgrep and of plain FTS5 (one document
per file, the default tokenizer, no symbols). Without --held-back only the questions that the search
was tuned on are asked.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sqlite3
import statistics
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from cutlass_search.index.corpus import Corpus, open_corpus
from cutlass_search.index.store import Index, open_index
from cutlass_search.index.tokens import query_terms, split_identifier
from cutlass_search.search.searching import Hit, find
from experiments.benchmarks.evidence.cutlass_retrieval_questions import HELD_BACK, TUNED, Question
from profilers.hardware.locks import user_cache_dir

DEPTHS = (5, 10)
Ranker = Callable[[str], Sequence[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalRow:
    """The results of one way of searching on a set of questions; recall per depth in [0, 1].

    cited: the share of needs whose symbol lies in the lines that the first ten hits cite; None for
    a way that cites only files.
    """

    way: str
    recall: dict[int, float]
    cited: float | None
    median_ms: float
    misses: tuple[str, ...]


def main() -> None:
    """Print the table."""
    options = _options()
    corpus = open_corpus(options.root)
    sets = {"tuned by": TUNED} | ({"held back": HELD_BACK} if options.held_back else {})
    if not all(sets.values()):
        raise SystemExit(
            "there are no questions held back: experiments/benchmarks/evidence/cutlass_questions"
        )
    with open_index(corpus, folder=user_cache_dir() / "cutlass") as index:
        _check(index, [question for questions in sets.values() for question in questions])
        print(f"CUTLASS {corpus.version}, {index.count('file')} files")
        for name, questions in sets.items():
            given = sum(map(gives_away, questions))
            print(f"\n{len(questions)} questions {name}; {given} hold the whole name of an answer")
            print(f"{'':34}{'at 5':>8}{'at 10':>8}{'cited':>8}{'median':>12}")
            for row in _rows(index, questions):
                cited = "" if row.cited is None else f"{row.cited:.2f}"
                recalls = "".join(f"{row.recall[depth]:>8.2f}" for depth in DEPTHS)
                print(f"{row.way:<34}{recalls}{cited:>8}{row.median_ms:>9.1f} ms")
                for miss in row.misses if options.misses else ():
                    print(f"    not in the first 10: {miss}")


def recall(question: Question, files: Sequence[str], depth: int) -> float:
    """The share of the question's needs that have a place among the first `depth` of `files`."""
    first = set(files[:depth])
    met = [any(_path(place) in first for place in need) for need in question.needs]
    return sum(met) / len(met)


def gives_away(question: Question) -> bool:
    """Whether a question contains the full name of an answer of several words, in any spelling."""
    asked = f" {_spelt(question.text)} "
    names = [
        _spelt(place.partition("#")[2]) for need in question.needs for place in need if "#" in place
    ]
    return any(" " in name and f" {name} " in asked for name in names)


def _spelt(text: str) -> str:
    """The words of a text and the parts of its identifiers, in lower case."""
    words = re.findall(r"\w+", text)
    return " ".join(part.lower() for word in words for part in split_identifier(word) or (word,))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure the search over a CUTLASS tree.")
    parser.add_argument("--root", type=Path, help="the tree; default: an installed nvidia-cutlass")
    parser.add_argument("--held-back", action="store_true", help="also ask what was held back")
    parser.add_argument("--misses", action="store_true", help="name what was not found")
    return parser.parse_args()


def _rows(index: Index, questions: Sequence[Question]) -> Iterable[RetrievalRow]:
    yield _ours(index, questions, curated=True)
    yield _ours(index, questions, curated=False)
    with closing(_plain_index(index.corpus)) as plain:
        yield _others(
            "plain FTS5, one document per file", lambda text: _plain(plain, text), questions
        )
    tool = shutil.which("rg")
    if tool is None:
        print("ripgrep is not installed: left out")
    else:
        yield _others("ripgrep", lambda text: _ripgrep(tool, index.corpus, text), questions)


def _ours(index: Index, questions: Sequence[Question], *, curated: bool) -> RetrievalRow:
    cited: list[float] = []
    kept: dict[str, list[Hit]] = {}

    def ask(text: str) -> list[str]:
        kept[text] = find(index, text, curated=curated)
        return [hit.best.path for hit in kept[text]]

    row = _others("rooftree" if curated else "rooftree, no map of concepts", ask, questions)
    lines = _definition_lines(index)
    for question in questions:
        met = [any(_cites(kept[question.text], place, lines) for place in need)
               for need in question.needs]  # fmt: skip
        cited.append(sum(met) / len(met))
    return RetrievalRow(
        way=row.way,
        recall=row.recall,
        cited=statistics.mean(cited),
        median_ms=row.median_ms,
        misses=row.misses,
    )


def _others(way: str, ask: Ranker, questions: Sequence[Question]) -> RetrievalRow:
    """The row of a way that ranks files; `cited` is None."""
    times_ms, answers = [], []
    for question in questions:
        start = time.perf_counter()
        answers.append((question, ask(question.text)))
        times_ms.append(1e3 * (time.perf_counter() - start))
    recalls = {
        depth: statistics.mean(recall(question, files, depth) for question, files in answers)
        for depth in DEPTHS
    }
    misses = tuple(
        question.text for question, files in answers if recall(question, files, DEPTHS[-1]) < 1
    )
    return RetrievalRow(
        way=way, recall=recalls, cited=None, median_ms=statistics.median(times_ms), misses=misses
    )


def _words(text: str) -> list[str]:
    """The words of a question, without fillers: what a person would search for."""
    return [term.word for term in query_terms(text) if not term.joined]


def _plain_index(corpus: Corpus) -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE VIRTUAL TABLE document USING fts5 (path UNINDEXED, text)")
    connection.executemany(
        "INSERT INTO document VALUES (?, ?)",
        (
            (file.path, (corpus.root / file.path).read_text("utf-8", errors="replace"))
            for file in corpus.files()
        ),
    )
    return connection


def _plain(connection: sqlite3.Connection, text: str) -> list[str]:
    match = " OR ".join(f'"{word}"' for word in _words(text))
    query = "SELECT path FROM document WHERE document MATCH ? ORDER BY rank LIMIT ?"
    return [str(path) for (path,) in connection.execute(query, (match, max(DEPTHS)))]


def _ripgrep(tool: str, corpus: Corpus, text: str) -> list[str]:
    """Files in order of how many of the words they hold, then of how many matches they have."""
    distinct: Counter[str] = Counter()
    matches: Counter[str] = Counter()
    known = {file.path for file in corpus.files()}
    for word in _words(text):
        done = subprocess.run(
            [tool, "--ignore-case", "--fixed-strings", "--count-matches", "--no-messages",
             "--no-ignore", "--no-config", "-e", word, "."],
            cwd=corpus.root, capture_output=True, text=True, check=False,
        )  # fmt: skip
        for line in done.stdout.splitlines():
            path, _, count = line.removeprefix("./").rpartition(":")
            if path in known:
                distinct[path] += 1
                matches[path] += int(count)
    ranked = sorted(distinct, key=lambda path: (-distinct[path], -matches[path], path))
    return ranked[: max(DEPTHS)]


def _definition_lines(index: Index) -> dict[tuple[str, str], list[int]]:
    """The lines of definitions, by path and symbol."""
    lines: dict[tuple[str, str], list[int]] = {}
    for path, name, line in index.connection.execute(
        "SELECT f.path, s.name, s.line FROM symbol s JOIN file f ON f.id = s.file WHERE s.body"
    ):
        lines.setdefault((path, name), []).append(line)
    return lines


def _cites(hits: Iterable[Hit], place: str, lines: dict[tuple[str, str], list[int]]) -> bool:
    """Whether the hits cite a definition of the place's symbol, or its file if it has none."""
    path, _, symbol = place.partition("#")
    for hit in hits:
        if hit.best.path == path:
            cited = (hit.best, *hit.besides)
            wanted = lines.get((path, symbol), [])
            return not symbol or any(
                passage.line <= line <= passage.last and passage.kind != "file"
                for passage in cited for line in wanted
            )  # fmt: skip
    return False


def _check(index: Index, questions: Iterable[Question]) -> None:
    """Print the answers that this version of CUTLASS does not have."""
    lines = _definition_lines(index)
    paths = {str(path) for (path,) in index.connection.execute("SELECT path FROM file")}
    for question in questions:
        for need in question.needs:
            for place in need:
                path, _, symbol = place.partition("#")
                if path not in paths or (symbol and (path, symbol) not in lines):
                    print(f"not in CUTLASS {index.corpus.version}: {place}")


def _path(place: str) -> str:
    return place.partition("#")[0]


if __name__ == "__main__":
    main()
