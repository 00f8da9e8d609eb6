"""What this machine has for Rooftree, probe by probe. The probes change nothing and send nothing.

The ceilings of its GPUs, which must be measured, are in `experiments.runs.machines.ceilings`; a
profile is tried in `experiments.app.trial_profile`.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from pathlib import Path
from typing import Any, Literal

from experiments.app.plugins import OURS, plugins_found
from experiments.runs.machines.ceilings import DeviceCeilings
from experiments.runs.machines.machine import driver_version, gpu_names, has_module
from experiments.views.tree.render import find_dot

Level = Literal["ok", "note", "problem"]
PACKAGES = ("mcts", "codegen", "profilers", "microtools", "cutlass_search", "experiments")
KEYS = (
    "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "AZURE_API_KEY", "GROQ_API_KEY",
    "MISTRAL_API_KEY", "DEEPSEEK_API_KEY", "OPENROUTER_API_KEY", "TOGETHERAI_API_KEY",
)  # fmt: skip
POISONED_LITELLM = ("1.82.7", "1.82.8")
_TOOLS = {
    "ncu": "hardware counters; comes with Nsight Compute",
    "nsys": "timelines; comes with Nsight Systems",
    "cuobjdump": "machine code; in rooftree[cuda]",
    "nvdisasm": "machine code; in rooftree[cuda]",
}
_PARANOID = Path("/proc/driver/nvidia/params")
_TIMEOUT_S = 20


@dataclass(frozen=True, slots=True)
class Check:
    """One probe's answer, on one line."""

    name: str
    level: Level
    detail: str


def examine() -> list[Check]:
    """Run every probe; returns the checks in the order of the probes."""
    probes: tuple[Callable[[], Iterator[Check]], ...] = (
        _python, _gpu, _cluster, _nvrtc, _torch, _tools, _readers, _counters, _sandbox, _drawing,
        _llm, _optuna, _plugins, _shadows,
    )  # fmt: skip
    return [check for probe in probes for check in probe()]


def as_json(checks: list[Check], ceilings: list[DeviceCeilings]) -> dict[str, Any]:
    """Checks, and what the GPUs reach, as one object."""
    return {
        "ok": all(check.level != "problem" for check in checks),
        "checks": [asdict(check) for check in checks],
        "ceilings": [device.as_json() for device in ceilings],
    }


def _python() -> Iterator[Check]:
    supported = sys.version_info >= (3, 11)
    where = f"{platform.python_version()} at {sys.executable}"
    yield Check("Python", "ok" if supported else "problem", where)
    yield Check("rooftree", "ok", _version("rooftree") or "not installed, run from its sources")


def _gpu() -> Iterator[Check]:
    names = gpu_names()
    if not names:
        yield Check("GPU", "note", "none usable here; recordings can be replayed")
        return
    for index, name in enumerate(names):
        yield Check(f"GPU {index}", "ok", name)
    yield Check("CUDA driver", "ok", driver_version() or "present, version not known without NVML")


def _cluster() -> Iterator[Check]:
    """What several GPUs, here or elsewhere, need besides."""
    lacking = [name for name in ("distributed", "cryptography") if not has_module(name)]
    if lacking:
        hint = "pip install 'rooftree[cluster]', for --devices and --evaluator dask:"
        yield Check("several GPUs", "note", f"{' and '.join(lacking)} not installed: {hint}")
        return
    usable = len(gpu_names())
    here = f"; --devices all would take {usable}" if usable > 1 else ""
    yield Check("several GPUs", "ok", f"dask.distributed {_version('distributed')}{here}")


def _nvrtc() -> Iterator[Check]:
    if not has_module("cuda.bindings"):
        yield Check("NVRTC", "note", "not installed: pip install 'rooftree[cuda]'")
        return
    bindings, compiler = _version("cuda-bindings"), _version("nvidia-cuda-nvrtc")
    found = f"cuda-bindings {bindings}, nvidia-cuda-nvrtc {compiler or 'not installed'}"
    yield Check("NVRTC", "ok" if compiler else "note", found)


def _torch() -> Iterator[Check]:
    """PyTorch, without importing it, and the compilers that its `load_inline` calls."""
    found = _version("torch")
    if found is None and not has_module("torch"):
        hint = "PyTorch candidates need it: pip install 'rooftree[torch]'"
        yield Check("PyTorch", "note", hint)
    else:
        build = _torch_cuda()
        where = f"built for CUDA {build}" if build else "built without CUDA: it can judge nothing"
        yield Check("PyTorch", "ok" if build else "note", f"{found or 'from sources'}, {where}")
    yield from _builders()


def _torch_cuda() -> str | None:
    """The CUDA version that PyTorch's `version.py` names; None if it names none."""
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        return None
    try:
        text = (Path(spec.origin).parent / "version.py").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    found = re.search(r"^cuda\b[^=\n]*=\s*['\"]([\d.]+)['\"]", text, re.MULTILINE)
    return found[1] if found else None


def _builders() -> Iterator[Check]:
    from profilers.compiling.toolchain import find_tool

    for tool in ("nvcc", "c++"):
        path = find_tool(tool)
        hint = "not found (PyTorch candidates that call load_inline need it)"
        yield Check(tool, "ok" if path else "note", str(path or hint))


def _tools() -> Iterator[Check]:
    from profilers.compiling.toolchain import find_tool

    for tool, what in _TOOLS.items():
        path = find_tool(tool)
        if path is None:
            yield Check(tool, "note", f"not found ({what})")
        else:
            yield Check(tool, "ok", f"{_tool_version(path)} at {path}")


def _readers() -> Iterator[Check]:
    """Readers that only some reports, or some machines, need."""
    reader, importer, cupti = _report_reader(), _importer(), _version("cupti-python")
    yield Check(
        "ncu_report",
        "ok" if reader else "note",
        reader or "not found (reads .ncu-rep files; without it ncu itself does)",
    )
    yield Check(
        "QdstrmImporter",
        "ok" if importer else "note",
        str(importer or "not found (for an nsys that leaves raw .qdstrm events)"),
    )
    yield Check(
        "CUPTI",
        "ok" if cupti else "note",
        f"cupti-python {cupti}" if cupti else "no cupti-python (timelines without nsys)",
    )


def _report_reader() -> str | None:
    """Where Nsight Compute's Python module is; None if it is not found."""
    from profilers.ncu.report_files import module_folders

    if has_module("ncu_report"):
        return "importable"
    folder = next(module_folders(), None)
    return None if folder is None else f"in {folder}"


def _importer() -> Path | None:
    """The importer beside nsys, or else on PATH; None if there is none."""
    from profilers.compiling.toolchain import find_tool

    nsys = find_tool("nsys")
    beside = sorted(nsys.resolve().parent.parent.glob("*/QdstrmImporter")) if nsys else []
    return beside[0] if beside else find_tool("QdstrmImporter")


def _tool_version(path: Path) -> str:
    try:
        done = subprocess.run(
            [str(path), "--version"],
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"does not start ({error})"
    lines = [line.strip() for line in done.stdout.splitlines() if line.strip()]
    return next((line for line in lines if "ersion" in line or " V" in line), "version not known")


def _counters() -> Iterator[Check]:
    """Whether the driver reserves performance counters for administrators."""
    try:
        text = _PARANOID.read_text(encoding="utf-8")
    except OSError:
        return
    restricted = "RmProfilingAdminOnly: 1" in text
    if restricted and os.geteuid() != 0:
        hint = "for administrators only: load the driver with NVreg_RestrictProfilingToAdminUsers=0"
        yield Check("GPU counters", "note", hint)
    else:
        yield Check("GPU counters", "ok", "readable by this user")


def _sandbox() -> Iterator[Check]:
    if os.name != "posix":
        yield Check("sandbox", "problem", "needs POSIX process groups")
        return
    from profilers.children.processes import probe_isolation

    found = probe_isolation()
    lacking = "; ".join(f"no {part}: {why}" for part, why in found.missing.items())
    held = ", ".join(found.parts) or "a process group, an allow-listed environment, limits"
    yield Check(
        "sandbox",
        "ok" if found.level == "full" else "note",
        f"{found.level}: {held}" + (f" ({lacking})" if lacking else ""),
    )


def _drawing() -> Iterator[Check]:
    program = find_dot()
    if program is None:
        yield Check("dot", "note", "not found, trees stay .dot files: pip install graphviz-pure")
    else:
        yield Check("dot", "ok", program)


def _llm() -> Iterator[Check]:
    found = _version("litellm")
    if found in POISONED_LITELLM:
        hint = f"{found} steals credentials: uninstall it and change every key this machine held"
        yield Check("litellm", "problem", hint)
    else:
        yield Check("litellm", "ok" if found else "note", found or "not installed: no LLM proposer")
    present = [name for name in KEYS if os.environ.get(name)]
    yield Check("API keys", "ok" if present else "note", ", ".join(present) or "none are set")


def _optuna() -> Iterator[Check]:
    found = _version("optuna")
    hint = "not installed: the proposer tpe needs it: pip install 'rooftree[optuna]'"
    yield Check("Optuna", "ok" if found else "note", found or hint)


def _plugins() -> Iterator[Check]:
    """Parts that others registered, if there are any."""
    foreign = [one for one in plugins_found() if one.source != OURS]
    good = [f"{one.kind} {one.name}" for one in foreign if not one.problem and not one.hidden]
    if good:
        yield Check("plug-ins", "ok", ", ".join(good))
    for one in foreign:
        if one.problem or one.hidden:
            why = one.problem or "one of ours has this name"
            yield Check("plug-ins", "note", f"{one.kind} {one.name} of {one.source}: {why}")


def _shadows() -> Iterator[Check]:
    """Whether another distribution installs a package of one of our plain top-level names."""
    owners = packages_distributions()
    home = Path(__file__).resolve().parents[2]
    clean = True
    for package in PACKAGES:
        others = sorted(set(owners.get(package, ())) - {"rooftree"})
        spec = importlib.util.find_spec(package)
        place = Path(spec.origin).resolve().parent.parent if spec and spec.origin else None
        if others:
            clean = False
            hint = f"{', '.join(others)} installs a package of this name too: uninstall it"
            yield Check(f"package {package}", "problem", hint)
        elif place is not None and place != home:
            clean = False
            yield Check(f"package {package}", "problem", f"is taken from {place}, not from {home}")
    if clean:
        yield Check("packages", "ok", f"all six are Rooftree's own, in {home}")


def _version(distribution: str) -> str | None:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None
