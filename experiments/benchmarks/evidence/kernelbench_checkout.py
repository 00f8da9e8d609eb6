"""A checkout of KernelBench: its problems, and its own evaluator in a fresh process."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from mcts.errors import InputError, WorldError

CORRECT_TRIALS, PERFORMANCE_TRIALS = 5, 100
"""What KernelBench's own scripts ask for."""
_EVALUATOR = Path(__file__).parents[1] / "kernels_for_comparison" / "run_kernelbench.py"
_NEEDED = {
    "torch": "torch",
    "requests": "requests",
    "pydantic": "pydantic",
    "numpy": "numpy",
    "dotenv": "python-dotenv",
    "tqdm": "tqdm",
    "openai": "openai",
    "litellm": "litellm",
}
"""The modules that the package kernelbench imports, and their names for pip."""
_DEADLINE_S = 1800


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelBenchVerdict:
    """KernelBench's verdict in its own words, with its speedup if it timed one.

    `seconds` is what the evaluation took in its process, without its start and imports. `double`
    is the verdict on the problem's own model in double precision, where that was asked for.
    """

    verdict: str
    speedup: float | None
    seconds: float
    double: str | None = None


DOUBLE = '''

class ModelNew(Model):
    """The model itself, in double precision."""

    def forward(self, *inputs):
        def wide(value):
            floats = isinstance(value, torch.Tensor) and value.is_floating_point()
            return value.double() if floats else value

        self.double()
        try:
            found = super().forward(*map(wide, inputs))
        finally:
            self.float()
        return found.float() if isinstance(found, torch.Tensor) else found
'''
"""Behind a problem's text, a candidate: what it says should be, within the last bit of float32."""


@dataclass(frozen=True, slots=True)
class Checkout:
    """The repository at `root`."""

    root: Path

    def check(self) -> None:
        """Raise InputError if this is no checkout, or if its evaluator lacks a package."""
        if not (self.root / "src" / "kernelbench" / "eval.py").is_file():
            raise InputError(
                f"{self.root} is no KernelBench checkout: "
                "git clone https://github.com/ScalingIntelligence/KernelBench"
            )
        missing = [pip for name, pip in _NEEDED.items() if importlib.util.find_spec(name) is None]
        if missing:
            raise InputError(f"KernelBench's evaluator needs: pip install {' '.join(missing)}")

    def problem(self, name: str) -> Path:
        """The file of a problem such as "level1/26". InputError if there is none."""
        level, _, number = name.partition("/")
        files = sorted((self.root / "KernelBench" / level).glob(f"{number}_*.py"))
        if not files:
            raise InputError(
                f"{self.root} has no problem {name}: give --root a KernelBench checkout"
            )
        return files[0]

    def judge(
        self, reference: str, source: str, *, builds: Path, device: int
    ) -> KernelBenchVerdict:
        """The verdict of KernelBench's evaluator on a `ModelNew`, from a fresh process.

        `builds` is the folder for what `load_inline` builds. WorldError if there is no verdict.
        """
        request = {
            "root": str(self.root),
            "reference": reference,
            "candidate": source,
            "device": device,
            "build": str(builds),
            "correct_trials": CORRECT_TRIALS,
            "performance_trials": PERFORMANCE_TRIALS,
        }
        environment = {**os.environ, "TORCH_EXTENSIONS_DIR": str(builds), "PYTHONSAFEPATH": "1"}
        try:
            done = subprocess.run(
                [sys.executable, str(_EVALUATOR)],
                input=json.dumps(request),
                capture_output=True,
                text=True,
                timeout=_DEADLINE_S,
                env=environment,
                cwd=builds,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise WorldError(f"KernelBench did not finish within {_DEADLINE_S} s") from None
        lines = done.stdout.strip().splitlines()
        if done.returncode or not lines:
            message = (done.stderr.strip().splitlines() or ["no message"])[-1]
            raise WorldError(f"KernelBench's evaluator ended with {done.returncode}: {message}")
        reply = json.loads(lines[-1])
        return KernelBenchVerdict(
            verdict=reply["verdict"], speedup=reply["speedup"], seconds=reply["seconds"]
        )
