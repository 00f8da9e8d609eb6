"""Finds the CUDA command line tools: on PATH, in a pip wheel, or in a toolkit."""

from __future__ import annotations

import importlib.util
import os
import platform
import re
import shutil
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path

_TOOLKITS = ("/usr/local/cuda", "/opt/cuda")
_NSIGHT = Path("/opt/nvidia")
_INSIDE_NSIGHT = (
    "", "bin", "target-linux-*", "host-linux-*", "host/target-linux-*", "host/linux-desktop-*",
)  # fmt: skip
_FOREIGN = {"x86_64": ("sbsa", "armv8", "aarch64", "ppc64"), "aarch64": ("x64", "ppc64")}


@lru_cache(maxsize=32)
def find_tool(name: str) -> Path | None:
    """The executable called `name`, or None: "ncu", "nsys", "QdstrmImporter", "cuobjdump",
    "nvdisasm", "cu++filt", "nvcc".

    Searched are PATH, because that is the user's choice; then the folders of wheels; then CUDA_HOME
    and the usual places of a toolkit; then the Nsight tools, newest first, which have subfolders of
    their own: Nsight Compute contains an nsys, and nsys its importer.
    """
    if found := shutil.which(name):
        return Path(found)
    for folder in (*_wheel_folders(), *_toolkit_folders()):
        tool = folder / name
        if tool.is_file() and os.access(tool, os.X_OK):
            return tool
    return None


def environment_with(*tools: Path, base: Mapping[str, str]) -> dict[str, str]:
    """`base` with the folders of `tools` in front of its PATH: cuobjdump calls nvdisasm by name."""
    folders = dict.fromkeys(str(tool.parent) for tool in tools)
    path = os.pathsep.join([*folders, *filter(None, [base.get("PATH")])])
    return {**base, "PATH": path}


def _wheel_folders() -> Iterator[Path]:
    """`bin` folders of the nvidia wheels: nvidia/cu13/bin, or nvidia/<component>/bin."""
    spec = importlib.util.find_spec("nvidia")
    for root in (spec.submodule_search_locations or ()) if spec else ():
        for component in _newest_first(Path(root), "*"):
            yield component / "bin"


def _toolkit_folders() -> Iterator[Path]:
    named = [os.environ[key] for key in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(key)]
    roots = [Path(root) for root in (*named, *_TOOLKITS)]
    for root in roots:
        yield root / "bin"
    installed = [_NSIGHT, *roots]
    if prefix := os.environ.get("CONDA_PREFIX"):
        installed.append(Path(prefix))
    # Nsight Systems before the nsys that comes with Nsight Compute: it has its importer with it.
    for product in ("nsight-systems", "nsight-compute"):
        for root in installed:
            for release in (*_newest_first(root, f"{product}-*"), *_releases(root / product)):
                yield from _inside_nsight(release)


def _releases(root: Path) -> Iterator[Path]:
    yield from _newest_first(root, "*")
    yield root


def _inside_nsight(release: Path) -> Iterator[Path]:
    foreign = _FOREIGN.get(platform.machine(), ())
    for pattern in _INSIDE_NSIGHT:
        folders = _newest_first(release, pattern) if pattern else [release]
        for folder in folders:
            if not any(name in folder.name for name in foreign):
                yield folder


def _newest_first(root: Path, pattern: str) -> list[Path]:
    """Folders in `root` by their version: 2025.10 before 2025.9."""
    try:
        found = [path for path in root.glob(pattern) if path.is_dir()]
    except OSError:
        return []
    return sorted(found, key=_version, reverse=True)


def _version(path: Path) -> tuple[list[int], str]:
    return [int(number) for number in re.findall(r"\d{1,9}", path.name)], path.name
