"""The launchers of the compiled libraries, called with PyTorch's tensors."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from mcts.errors import WorldError

_POINTER, _INT, _SIZE = ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t


class LaunchFailed(WorldError):
    """A launcher refused or failed; the text is its own."""


class Product:
    """`bf16_gemm.cu` in a library: C = A B^T, or A B if it was built with B_LAYOUT 1.

    `b_rows_of_n` says which: True for K x N.
    """

    def __init__(self, library: Path, *, torch: Any, b_rows_of_n: bool = False) -> None:
        self._torch = torch
        self._b_rows_of_n = b_rows_of_n
        self._library = library_of(library)
        self._failure = self._library.bf16_gemm_failure
        self._failure.restype = ctypes.c_char_p
        self._room = self._library.bf16_gemm_workspace
        self._room.argtypes, self._room.restype = [_INT] * 3, _SIZE
        self._call = self._library.bf16_gemm_ordered
        self._call.argtypes = [*[_POINTER] * 3, *[_INT] * 5, _POINTER, _SIZE, _POINTER]
        self._workspace = _Workspace(torch)

    def facts(self) -> dict[str, int]:
        """Shared memory in bytes, pipeline stages and threads of a block."""
        return block_facts(self._library.bf16_gemm_facts)

    def __call__(self, a: Any, b: Any, c: Any, *, raster: int = 0, swizzle: int = 1) -> None:
        """Writes the product into `c`, on the present stream.

        a: (M, K); b: (N, K), or (K, N) with `b_rows_of_n`; c: (M, N); all contiguous, bf16.
        LaunchFailed with the launcher's own words.
        """
        m, k = a.shape
        n = b.shape[1] if self._b_rows_of_n else b.shape[0]
        stream = self._torch.cuda.current_stream().cuda_stream
        room = self._workspace.of(self._room, m, n, k)
        code = self._call(
            a.data_ptr(), b.data_ptr(), c.data_ptr(), m, n, k, raster, swizzle,
            room.data_ptr(), room.numel(), stream,
        )  # fmt: skip
        if code != 0:
            raise LaunchFailed(f"{self._failure().decode()} (code {code})")


class _Experts:
    """`grouped_gemm.cu` or `expert_gemm.cu` in a library."""

    def __init__(self, library: Path, *, torch: Any) -> None:
        self._torch = torch
        self._library = library_of(library)
        self._failure = self._library.grouped_gemm_failure
        self._failure.restype = ctypes.c_char_p
        self._room = self._library.grouped_gemm_workspace
        self._room.argtypes, self._room.restype = [_INT], _SIZE
        self._call = self._library.grouped_gemm_ordered
        self._call.argtypes = [*[_POINTER] * 4, *[_INT] * 6, _POINTER, _SIZE, _POINTER]
        self._workspace = _Workspace(torch)

    def facts(self) -> dict[str, int]:
        """Shared memory in bytes, pipeline stages and threads of a block."""
        return block_facts(self._library.grouped_gemm_facts)

    def _launch(
        self, tensors: Sequence[Any], sizes: tuple[int, int, int, int], raster: int, swizzle: int
    ) -> None:
        """Calls it on the present stream; `sizes` are rows, experts, N, K."""
        stream = self._torch.cuda.current_stream().cuda_stream
        room = self._workspace.of(self._room, sizes[1])
        code = self._call(
            *(tensor.data_ptr() for tensor in tensors), *sizes, raster, swizzle,
            room.data_ptr(), room.numel(), stream,
        )  # fmt: skip
        if code != 0:
            raise LaunchFailed(f"{self._failure().decode()} (code {code})")


class Grouped(_Experts):
    """Y = X W^T for each expert, or X W if the library was built with B_LAYOUT 1."""

    def __init__(self, library: Path, *, torch: Any, w_rows_of_n: bool = False) -> None:
        super().__init__(library, torch=torch)
        self._w_rows_of_n = w_rows_of_n

    def __call__(
        self, x: Any, w: Any, y: Any, ends: Any, *, raster: int = 1, swizzle: int = 1
    ) -> None:
        """Writes the experts' products into `y`, on the present stream.

        x: (rows, K); w: (experts, N, K), or (experts, K, N) with `w_rows_of_n`; y: (rows, N); all
        contiguous, bf16. ends: (experts,) int32 on the device, the row behind each expert's last.
        LaunchFailed with the launcher's own words.
        """
        experts, n, k = w.shape
        if self._w_rows_of_n:
            n, k = k, n
        self._launch((x, w, y, ends), (x.shape[0], experts, n, k), raster, swizzle)


class WeightGradient(_Experts):
    """dW = dY^T X for each expert, by `grouped_gemm.cu` or `expert_gemm.cu` built with WGRAD 1."""

    def __call__(
        self, dy: Any, x: Any, dw: Any, ends: Any, *, raster: int = 1, swizzle: int = 1
    ) -> None:
        """Writes the experts' products into `dw`, on the present stream.

        dy: (rows, N); x: (rows, K); dw: (experts, N, K); all contiguous, bf16. ends: as for
        `Grouped`; rows behind the last are no expert's. LaunchFailed with the launcher's own words.
        """
        experts, n, k = dw.shape
        self._launch((dy, x, dw, ends), (x.shape[0], experts, n, k), raster, swizzle)


class _Workspace:
    """Device memory that is kept between calls and grows with them."""

    def __init__(self, torch: Any) -> None:
        self._torch = torch
        self._sizes: dict[tuple[int, ...], int] = {}
        self._room: Any = None

    def of(self, size: Callable[..., int], *arguments: int) -> Any:
        """At least `size(*arguments)` bytes, which is asked once per arguments."""
        if arguments not in self._sizes:
            self._sizes[arguments] = max(int(size(*arguments)), 16)
        needed = self._sizes[arguments]
        if self._room is None or self._room.numel() < needed:
            self._room = self._torch.zeros(needed, dtype=self._torch.uint8, device="cuda")
        return self._room


def library_of(path: Path) -> ctypes.CDLL:
    """The loaded library; LaunchFailed if it cannot be loaded."""
    try:
        return ctypes.CDLL(str(path))
    except OSError as error:
        raise LaunchFailed(f"{path.name} cannot be loaded: {error}") from None


def block_facts(function: Any) -> dict[str, int]:
    """What a library says of its blocks."""
    values = [_INT() for _ in range(3)]
    function(*map(ctypes.byref, values))
    return dict(
        zip(("shared_bytes", "stages", "threads"), (one.value for one in values), strict=True)
    )
