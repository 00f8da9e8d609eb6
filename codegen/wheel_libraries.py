# SPDX-License-Identifier: Apache-2.0
"""Libraries of CUDA that came as wheels (`nvidia-cudnn-cu13`), for a linker and a compiler.

Such a wheel has `libcudnn.so.9` and no `libcudnn.so`, which is what `-lcudnn` looks for, and its
headers lie where no compiler looks.
"""

from __future__ import annotations

import contextlib
import importlib.util
from collections.abc import Iterator, Sequence
from pathlib import Path


def wheel_options(flags: Sequence[str], *, links: str) -> tuple[list[str], list[str]]:
    """A linker's `flags` so that each `-lNAME` finds the library of a wheel, and the folders of
    those libraries' headers.

    The folder `links` gets a link by the name that the linker looks for. What no wheel has is left
    to the linker's own folders. Headers of several libraries share a folder with CUDA's own, which
    may be of another version than the compiler's: its own have to come first, as they do where
    folders are named by CPLUS_INCLUDE_PATH.
    """
    found, headers = list(flags), []
    for flag in flags:
        library = _library(flag.removeprefix("-l")) if flag.startswith("-l") else None
        if library is None:
            continue
        Path(links).mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            Path(links, f"lib{flag[2:]}.so").symlink_to(library)
        found += [f"-L{links}", f"-Wl,-rpath,{library.parent}"]
        if (include := library.parents[1] / "include").is_dir():
            headers.append(str(include))
    return list(dict.fromkeys(found)), list(dict.fromkeys(headers))


def _library(name: str) -> Path | None:
    """The file of that library in NVIDIA's wheels."""
    versions = (path for folder in _folders() for path in folder.glob(f"lib{name}.so.*"))
    return min(versions, key=lambda path: (len(path.name), path.name), default=None)


def _folders() -> Iterator[Path]:
    """`lib` of each of NVIDIA's wheels, which share the package `nvidia`."""
    spec = importlib.util.find_spec("nvidia")
    for place in (spec.submodule_search_locations or ()) if spec is not None else ():
        yield from sorted(Path(place).glob("*/lib"))
