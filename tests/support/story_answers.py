"""What the model of the story says about row_softmax: as tunable values, or as complete kernels.

Both kinds offer good variants without end, one that does not compile, one whose result is wrong,
and the repair of either. Kernels are real CUDA: a GPU judges them like any other. Values are those
of the bundled recording; `doctored` plants the two failures in a copy of it, because none of the
recorded variants failed in these ways.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from mcts.domain import Scalar, Status
from profilers.recordings.recording import RecordedConfiguration, Recording
from profilers.recordings.t4 import load_recording, write_recording

TASK = Path(__file__).parents[2] / "experiments" / "data" / "tasks" / "row_softmax"
RECORDING = TASK / "recordings" / "nvidia_h200.json.gz"
COMPILE_LOG = (
    'candidate.cu(64): error: identifier "column" is undefined\n'
    "            top = fmaxf(top, in[column]);\n"
    "                                ^\n"
    '1 error detected in the compilation of "candidate.cu".'
)
WRONG = "output y on workload main, element [17, 40]: 0.0312 where 0.00024 is expected"


class Answers(Protocol):
    """Replies by what comes of them."""

    def good(self) -> str:
        """A variant that nobody has proposed yet, and that works."""
        ...

    def known(self, prompt: str) -> str:
        """A variant that was proposed before and is not the one in the prompt."""
        ...

    def broken(self, why: str) -> str:
        """A variant that fails: `compile` or `result`."""
        ...

    def mended(self, why: str) -> str:
        """Its repair."""
        ...


class Values:
    """Combinations of the recording, each given whole, so that the parent does not matter."""

    def __init__(self) -> None:
        recording = load_recording(RECORDING)
        found = [each for each in recording.configurations if _shares_rows(each)]
        found.sort(key=lambda each: (-(each.time_us or 0.0), str(each.key)))
        self.failing = {"compile": found[60].configuration, "result": found[120].configuration}
        self._repairs = {"compile": found[61].configuration, "result": found[121].configuration}
        spent = [*self.failing.values(), *self._repairs.values()]
        self._good = iter([e.configuration for e in found[5::9] if e.configuration not in spent])
        self._first: list[dict[str, Scalar]] = []

    def good(self) -> str:
        values = next(self._good)
        self._first = [*self._first, values][:2]
        return values_reply(values)

    def known(self, prompt: str) -> str:
        shown = prompt.partition("Values of its tunables: ")[2].partition("\n")[0]
        other = [each for each in self._first if _line(each) != shown]
        return values_reply(other[0])

    def broken(self, why: str) -> str:
        return values_reply(self.failing[why])

    def mended(self, why: str) -> str:
        return values_reply(self._repairs[why])

    def doctored(self, path: Path) -> Path:
        """A copy of the recording in which the two broken variants fail as they should."""
        recording = load_recording(RECORDING)
        told: dict[str, tuple[Status, str]] = {
            str(self.failing["compile"]): ("compile_failed", COMPILE_LOG),
            str(self.failing["result"]): ("wrong_result", WRONG),
        }

        def planted(each: RecordedConfiguration) -> RecordedConfiguration:
            if (found := told.get(str(each.configuration))) is None:
                return each
            return RecordedConfiguration(
                configuration=each.configuration, status=found[0], message=found[1]
            )

        changed: Recording = replace(
            recording, configurations=tuple(map(planted, recording.configurations))
        )
        write_recording(path, changed)
        return path


def _shares_rows(each: RecordedConfiguration) -> bool:
    """Whether several threads work on a row, which the baseline does not do."""
    return each.measured and each.configuration["LANES"] != 1


def _line(values: dict[str, Scalar]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in values.items())


def values_reply(values: dict[str, Any]) -> str:
    return (
        "## Analysis\n\nThreads of a warp read far apart.\n\n"
        "## Plan\n\nLet more lanes share a row: memory.coalesced_access\n\n"
        f"## Values\n\n```json\n{json.dumps(values)}\n```\n"
    )


class Sources:
    """Complete kernels: a block for each row, in several designs, widths and block sizes."""

    def __init__(self) -> None:
        self._good = self._designs()
        self._first: list[str] = []

    @staticmethod
    def _designs() -> Iterator[str]:
        for block in BLOCKS:
            for vec in (1, 4):
                for passes in ("three", "online"):
                    yield kernel(block=block, vec=vec, passes=passes)

    def good(self) -> str:
        source = next(self._good)
        self._first = [*self._first, source][:2]
        return source_reply(source)

    def known(self, prompt: str) -> str:
        shown = prompt.partition("# The variant\n")[2].partition("\n# ")[0]
        return source_reply(next(each for each in self._first if each.strip() not in shown))

    def broken(self, why: str) -> str:
        return source_reply(kernel(block=_OWN[why], vec=1, fault=why))

    def mended(self, why: str) -> str:
        """The repair of what does not compile is a whole file, that of a wrong result a change."""
        if why == "compile":
            return source_reply(kernel(block=_OWN[why], vec=1))
        return (
            "## Analysis\n\nOnly the first warp's share is summed.\n\n## Plan\n\nJoin the warps: "
            "compute.warp_primitives\n\n## Code\n\n```\n<<<<<<< SEARCH\n"
            "    return parts[0];\n=======\n"
            "    v = parts[0];\n    for (int w = 1; w < BLOCK / 32; ++w)\n"
            "        v = MAX ? fmaxf(v, parts[w]) : v + parts[w];\n"
            "    return v;\n>>>>>>> REPLACE\n```\n"
        )


BLOCKS = (256, 128, 512, 1024, 192, 384, 768)
_OWN = {"compile": 64, "result": 448}
"""Blocks of no other design, so that a repair is new."""


def source_reply(source: str) -> str:
    return (
        "## Analysis\n\nOne thread reads a whole row, so that loads are not coalesced.\n\n"
        "## Plan\n\nA block for each row: memory.coalesced_access, compute.warp_primitives\n\n"
        f"## Code\n\n```cuda\n{source}```\n"
    )


def kernel(*, block: int, vec: int, passes: str = "three", fault: str = "") -> str:
    """A softmax of rows; `fault` is what is wrong with it."""
    index = "column" if fault == "compile" else "c"
    joined = "    return parts[0];\n" if fault == "result" else _JOINED
    blocks = ", ".join(map(str, sorted({block, *BLOCKS})))
    head = _HEAD.replace("@BLOCKS@", blocks)
    head = head.replace("@BLOCK@", str(block)).replace("@VEC@", str(vec))
    body = _ONLINE if passes == "online" else _THREE
    return (head + _REDUCE + joined + "}\n" + body).replace("@INDEX@", index)


_HEAD = """/* rooftree
where = ["cols % VEC == 0"]
[tunables]
BLOCK = { values = [@BLOCKS@], default = @BLOCK@, methods = ["latency.block_size"] }
VEC = { values = [1, 4], default = @VEC@, methods = ["memory.vectorized_loads"] }
[[launch]]
kernel = "row_softmax"
grid = ["rows"]
block = ["BLOCK"]
args = ["x", "y", "rows", "cols"]
*/
struct alignas(4 * VEC) Pack {
    float v[VEC];
};
"""
_REDUCE = """
template <bool MAX> __device__ __forceinline__ float over_block(float v)
{
    __shared__ float parts[32];
    for (int d = 16; d > 0; d >>= 1) {
        const float other = __shfl_xor_sync(0xffffffffu, v, d);
        v = MAX ? fmaxf(v, other) : v + other;
    }
    __syncthreads();
    if (threadIdx.x % 32 == 0)
        parts[threadIdx.x / 32] = v;
    __syncthreads();
"""
_JOINED = """    v = parts[0];
    for (int w = 1; w < BLOCK / 32; ++w)
        v = MAX ? fmaxf(v, parts[w]) : v + parts[w];
    return v;
"""
_BEGIN = """
extern "C" __global__ void row_softmax(
    const float* __restrict__ x, float* __restrict__ y, int rows, int cols)
{
    const Pack* in = reinterpret_cast<const Pack*>(x + (size_t)blockIdx.x * cols);
    Pack* out = reinterpret_cast<Pack*>(y + (size_t)blockIdx.x * cols);
    const int count = cols / VEC;
    float top = -3.4e38f, sum = 0.0f;
"""
_END = """    const float scale = 1.0f / over_block<false>(sum);
    for (int c = threadIdx.x; c < count; c += BLOCK) {
        Pack p = in[c];
        for (int i = 0; i < VEC; ++i)
            p.v[i] = expf(p.v[i] - top) * scale;
        out[c] = p;
    }
}
"""
_THREE = (
    _BEGIN
    + """    for (int c = threadIdx.x; c < count; c += BLOCK) {
        const Pack p = in[@INDEX@];
        for (int i = 0; i < VEC; ++i)
            top = fmaxf(top, p.v[i]);
    }
    top = over_block<true>(top);
    for (int c = threadIdx.x; c < count; c += BLOCK) {
        const Pack p = in[c];
        for (int i = 0; i < VEC; ++i)
            sum += expf(p.v[i] - top);
    }
"""
    + _END
)
_ONLINE = (
    _BEGIN
    + """    for (int c = threadIdx.x; c < count; c += BLOCK) {
        const Pack p = in[@INDEX@];
        float higher = top;
        for (int i = 0; i < VEC; ++i)
            higher = fmaxf(higher, p.v[i]);
        sum *= expf(top - higher);
        top = higher;
        for (int i = 0; i < VEC; ++i)
            sum += expf(p.v[i] - top);
    }
    const float mine = top;
    top = over_block<true>(top);
    sum *= expf(mine - top);
"""
    + _END
)
