"""Where the CUDA command line tools are: on PATH, in a pip wheel, or in a toolkit."""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path

_TOOLKITS = ("/usr/local/cuda", "/opt/cuda")


@lru_cache(maxsize=32)
def find_tool(name: str) -> Path | None:
    """The executable called `name` ("ncu", "nsys", "cuobjdump", "nvdisasm"), or None.

    PATH first, because a user who put one there means it; then the wheels' folders; then
    CUDA_HOME and the usual places of a toolkit, where Nsight has its own subfolder.
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
        for component in sorted(Path(root).glob("*"), reverse=True):
            yield component / "bin"


def _toolkit_folders() -> Iterator[Path]:
    named = [os.environ[key] for key in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(key)]
    for root in map(Path, (*named, *_TOOLKITS)):
        yield root / "bin"
        yield from sorted(root.glob("nsight-*"), reverse=True)
    yield from sorted(Path("/opt/nvidia").glob("nsight-*/*"), reverse=True)
