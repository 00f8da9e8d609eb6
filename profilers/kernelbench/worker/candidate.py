"""A candidate's file: executed as a module of its own, its `ModelNew` made and given its weights.

Foreign code runs here, so this is the boundary: whatever it raises becomes a RequestRefused whose
kind says whose fault it is and whose text shows lines of the candidate's own file.
"""

from __future__ import annotations

import contextlib
import importlib.util
import re
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any

from profilers.children.protocol import RequestRefused
from profilers.hardware.driver import CudaError
from profilers.kernelbench.shared.clocks import Clock

_LONGEST = 4000
_FRAMES = 4
_FAILED_BUILD = re.compile(
    r"Error building extension|Ninja is required|nvcc fatal|NVRTC_ERROR|CompilationError"
)
_OPTIONAL_WEIGHT = "num_batches_tracked"  # a counter that no forward in evaluation reads


class LoadedCandidate:
    """One file with `ModelNew`. `clock` shows whether an error left the device unusable."""

    def __init__(self, path: Path, module: str, clock: Clock | None = None) -> None:
        self.path = path
        self._name = module
        self._clock = clock
        self.model: Any = None

    def execute(self) -> ModuleType:
        """Run the file as a module that can be imported by name and whose source can be read.

        Raises RequestRefused: "compile" with the end of the log, "contract" if it uses the
        reference, which is not there.
        """
        if not self._name.isidentifier() or self._name in sys.modules:
            raise RequestRefused("internal", f"a candidate cannot be called {self._name!r}")
        sys.dont_write_bytecode = True
        loader = SourceFileLoader(self._name, str(self.path))
        spec = importlib.util.spec_from_loader(self._name, loader)
        assert spec is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[self._name] = module
        with self.boundary("compile"):
            loader.exec_module(module)
        return module

    def construct(self, module: ModuleType, init: Sequence[Any], *, seed: int, device: Any) -> None:
        """Make ``ModelNew(*init)`` under `seed` and move it to `device`.

        Raises RequestRefused: "contract" if there is no such class, "cheat:wraps_reference",
        "runtime" or "compile" for what its constructor does.
        """
        import torch

        made = getattr(module, "ModelNew", None)
        if not isinstance(made, type) or not issubclass(made, torch.nn.Module):
            raise RequestRefused("contract", "the file defines no class ModelNew(torch.nn.Module)")
        if foreign := foreign_model(made, self._name):
            raise RequestRefused("cheat:wraps_reference", foreign)
        with self.boundary("runtime"):
            torch.manual_seed(seed)
            self.model = made(*init).to(device)

    def copy_weights(self, weights: Mapping[str, Any]) -> None:
        """Copy the reference's parameters and buffers by name, in place, so that versions increase.

        Raises RequestRefused "contract" naming what is missing or differs in shape or dtype.
        """
        import torch

        with self.boundary("runtime"):
            own = self.weights()
            for name, source in weights.items():
                if name not in own and name.endswith(_OPTIONAL_WEIGHT):
                    continue
                _check_weight(name, own.get(name), source)
            with torch.no_grad():
                for name, source in weights.items():
                    if name in own:
                        own[name].copy_(source)

    def weights(self) -> dict[str, Any]:
        """Parameters and buffers of the model by name."""
        found = dict(self.model.named_parameters(remove_duplicate=False))
        found.update(self.model.named_buffers(remove_duplicate=False))
        return found

    @contextlib.contextmanager
    def boundary(self, kind: str) -> Iterator[None]:
        """Turn whatever the candidate raises inside into RequestRefused, usually of `kind`.

        Other kinds: "memory", out of memory; "cuda", the device has faulted and this process is of
        no further use; "compile", a build failed, whenever it was started.
        """
        try:
            yield
        except RequestRefused:
            raise
        except BaseException as error:  # noqa: BLE001 - the sandbox boundary, SystemExit included
            raise self._refusal(error, kind) from None

    def _refusal(self, error: BaseException, kind: str) -> RequestRefused:
        import torch

        text = describe_error(error, self.path)
        if isinstance(error, (torch.OutOfMemoryError, MemoryError)):
            return RequestRefused("memory", text)
        if isinstance(error, CudaError):
            return RequestRefused("cuda", str(error), sticky=error.sticky)
        if self._clock is not None:
            try:
                self._clock.synchronize()
            except CudaError as fault:
                return RequestRefused("cuda", f"{fault}; noticed as {text}", sticky=True)
        if missing_reference(error):
            return RequestRefused("contract", f"{text}\n(the reference lives in another process)")
        if _FAILED_BUILD.search(text) and kind == "runtime" and self.model is None:
            kind = "compile"
        return RequestRefused(kind, text)


def foreign_model(model: type, module: str) -> str | None:
    """Evidence that a class inherits from a `Model` that its own file does not define."""
    for base in model.__mro__[1:]:
        if base.__name__ == "Model" and base.__module__ != module:
            return f"{model.__name__} inherits from Model of {base.__module__}"
    return None


def missing_reference(error: BaseException) -> bool:
    """Whether the candidate asked for the reference's class."""
    return isinstance(error, NameError) and getattr(error, "name", "") == "Model"


def describe_error(error: BaseException, path: Path) -> str:
    """The error and its place in the candidate's file; only the end of a long text."""
    text = "".join(traceback.format_exception_only(error)).strip()
    text = text.replace(str(path), path.name)
    if len(text) > _LONGEST:
        text = "..." + text[-_LONGEST:]
    frames = [
        frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)
    ]
    shown = [f"  line {frame.lineno}, in {frame.name}: {frame.line}" for frame in frames[-_FRAMES:]]
    return "\n".join([text, *shown])


def _check_weight(name: str, own: Any, source: Any) -> None:
    if own is None:
        raise RequestRefused(
            "contract",
            f"ModelNew has no parameter or buffer {name!r}: weights are copied by the names that "
            "the reference's model gives them",
        )
    if own.shape != source.shape or own.dtype != source.dtype:
        raise RequestRefused(
            "contract",
            f"{name!r} is {own.dtype} {tuple(own.shape)} in ModelNew and {source.dtype} "
            f"{tuple(source.shape)} in the reference",
        )
