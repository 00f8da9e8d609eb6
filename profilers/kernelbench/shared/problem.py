"""A KernelBench problem file: the class `Model`, `get_inputs` and `get_init_inputs`.

The file is trusted like any program that its user chose to run, but it may be wrong in many ways,
and the messages tell its author how.
"""

from __future__ import annotations

import importlib.util
import inspect
import random
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from profilers.kernelbench.shared.trees import mapped, shape_text, tensors

_MODULE = "kernelbench_problem"
_NEEDED = ("Model", "get_inputs", "get_init_inputs")


class ProblemFault(Exception):
    """An error in a problem file, described for its author.

    `sticky`: the device faulted as well, so that this process is of no more use.
    """

    def __init__(self, message: str, *, sticky: bool = False) -> None:
        super().__init__(message)
        self.sticky = sticky


class ProblemFile:
    """A problem file that has been executed, and what it makes under a seed.

    Tensors are made on `device`; if the file does not allow that, on the host, and then copied.
    Raises ProblemFault; torch's OutOfMemoryError passes through.
    """

    def __init__(self, path: Path, device: Any) -> None:
        self.path = path
        self._device = device
        self._module = _execute(path)
        for name in _NEEDED:
            if not callable(getattr(self._module, name, None)):
                raise ProblemFault(
                    f"the problem file defines no {name}: a problem has a class Model, and "
                    "functions get_inputs() and get_init_inputs()"
                )

    def init_inputs(self, seed: int) -> list[Any]:
        """The arguments of `Model` in order, even if they were given by name."""
        found = self._made(self._module.get_init_inputs, "get_init_inputs()", seed)
        if isinstance(found, dict):
            with self.faults_while("passing what get_init_inputs() names to Model"):
                bound = inspect.signature(self._module.Model).bind(**found)
                bound.apply_defaults()
            if bound.kwargs:
                raise ProblemFault(
                    "get_init_inputs() returns a dict and Model has arguments that can only be "
                    "given by name; return the list of its positional arguments"
                )
            return list(bound.args)
        if isinstance(found, (list, tuple)):
            return list(found)
        raise ProblemFault(
            f"get_init_inputs() returns a {type(found).__name__}; it returns the list of "
            "arguments of Model, empty where there are none"
        )

    def model(self, seed: int) -> Any:
        """`Model` constructed under `seed`, on the device, in the mode (train or eval) it chose."""
        import torch

        arguments = self.init_inputs(seed)

        def construct() -> Any:
            return self._module.Model(*arguments)

        model = self._made(construct, "Model(*get_init_inputs())", seed, move=False)
        if not isinstance(model, torch.nn.Module):
            raise ProblemFault(f"Model is a {type(model).__name__}, not a torch.nn.Module")
        with self.faults_while("moving Model to the device"):
            return model.to(self._device)

    def inputs(self, seed: int) -> list[Any]:
        """What `get_inputs` returns under `seed`: the arguments of `forward`."""
        found = self._made(self._module.get_inputs, "get_inputs()", seed)
        if not isinstance(found, (list, tuple)):
            raise ProblemFault(
                f"get_inputs() returns a {type(found).__name__}; it returns the list of "
                "arguments of forward"
            )
        if not tensors(found):
            raise ProblemFault("get_inputs() returns no tensor: there is nothing to compute with")
        return list(found)

    @contextmanager
    def faults_while(self, doing: str) -> Iterator[None]:
        """Turn an exception inside into a ProblemFault: what was done, and at which line."""
        import torch

        try:
            yield
        except (ProblemFault, torch.OutOfMemoryError):
            raise
        except Exception as error:
            raise fault_of(error, doing, self.path) from error

    def _made(self, make: Callable[[], Any], doing: str, seed: int, *, move: bool = True) -> Any:
        """The result of `make` with the device as torch's default, or without if that fails."""
        import torch

        seed_all(seed)
        try:
            with torch.device(self._device):
                made = make()
        except torch.OutOfMemoryError:
            raise
        except Exception as error:
            if is_device_fault(error):
                raise fault_of(error, doing, self.path) from error
            seed_all(seed)
            with self.faults_while(doing):
                made = make()
        if not move:
            return made
        with self.faults_while(f"moving what {doing} returns to the device"):
            return mapped(made, lambda tensor: tensor.detach().to(self._device))


def check_alike(first: list[Any], other: list[Any]) -> None:
    """ProblemFault if two results of `get_inputs` differ in structure, shapes or dtypes."""
    before = [(path, shape_text(tensor)) for path, tensor in tensors(first)]
    after = [(path, shape_text(tensor)) for path, tensor in tensors(other)]
    if before != after:
        raise ProblemFault(
            "get_inputs() returns other shapes from one call to the next: "
            f"{_listed(before)} first, then {_listed(after)}; a task has one set of shapes"
        )


def seed_all(seed: int) -> None:
    """Seed every generator a problem may draw from, those of all devices included."""
    import torch

    torch.manual_seed(seed)
    random.seed(seed)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(seed % 2**32)


def fault_of(error: Exception, doing: str, path: Path) -> ProblemFault:
    """`error` as a sentence: what was done, what was raised, at which line of the file."""
    text = f"{doing} fails: {type(error).__name__}: {_first_lines(str(error))}"
    places = [frame for frame in traceback.extract_tb(error.__traceback__) if _is(frame, path)]
    if isinstance(error, SyntaxError) and error.lineno is not None:
        text += f" (line {error.lineno} of the problem file)"
    elif places:
        text += f" (line {places[-1].lineno} of the problem file: {places[-1].line})"
    if isinstance(error, ModuleNotFoundError):
        text += f"; install {error.name} in this environment"
    return ProblemFault(text, sticky=is_device_fault(error))


def is_device_fault(error: BaseException) -> bool:
    """Whether `error` is a CUDA error that makes the process's context unusable."""
    text = str(error)
    return type(error).__name__ == "AcceleratorError" or (
        "CUDA error" in text and "out of memory" not in text
    )


def _execute(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(_MODULE, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[_MODULE] = module  # code that inspects sources looks it up there
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise fault_of(error, "executing the problem file", path) from error
    return module


def _is(frame: traceback.FrameSummary, path: Path) -> bool:
    return Path(frame.filename) == path


def _first_lines(text: str, most: int = 400) -> str:
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    return " ".join(lines)[:most]


def _listed(pairs: list[tuple[str, str]]) -> str:
    return ", ".join(f"{path} {text}" for path, text in pairs)
