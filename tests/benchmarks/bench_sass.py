"""Cost of reading machine code: ``python tests/benchmarks/bench_sass.py [LINES]``.

Prints for listings of several shapes, each of about LINES lines (default 200000), how fast they are
read and how much memory that takes. It asserts nothing: machines are noisy. What to look for is
that megabytes per second stay the same as LINES grows.
"""

from __future__ import annotations

import itertools
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator

from profilers.sass import parse_lines

_BODY = (
    "LDG.E.CONSTANT R8, desc[UR4][R2.64+-0x800] ;",
    "LDG.E.CONSTANT R9, desc[UR4][R4.64+-0x800] ;",
    "IADD3 R7, R7, 0x400, RZ ;",
    "FFMA R8, R9, R8, R6 ;",
    "ISETP.GE.AND P0, PT, R7, UR6, PT ;",
    "IADD3 R2, P1, R2, 0x1000, RZ ;",
    "IMAD.X R3, RZ, RZ, R3, P1 ;",
)
_PLACE = '\t//## File "/rooftree/candidate.cu", line {}\n'


def _instruction(at: int, text: str) -> str:
    return f"        /*{at * 16:04x}*/                   {text}\n"


def one_block(lines: int) -> Iterator[str]:
    """One kernel without a branch."""
    yield ".text.kernel:\n"
    for at, text in enumerate(itertools.islice(itertools.cycle(_BODY), lines)):
        yield _instruction(at, text)


def many_loops(lines: int) -> Iterator[str]:
    """One kernel of loops one after the other, every instruction with its source line."""
    yield ".text.kernel:\n"
    at = 0
    for loop in range(lines // (2 * len(_BODY) + 3)):
        yield f".L_x_{loop}:\n"
        for number, text in enumerate((*_BODY, f"@!P0 BRA `(.L_x_{loop}) ;")):
            yield _PLACE.format(number % 5 + 1)
            yield _instruction(at, text)
            at += 1


def nested_loops(lines: int) -> Iterator[str]:
    """One kernel of loops in loops in loops."""
    depth = lines // 4
    yield ".text.kernel:\n"
    at = 0
    for loop in range(depth):
        yield f".L_x_{loop}:\n"
        yield _instruction(at, "FFMA R8, R9, R8, R6 ;")
        at += 1
    for loop in reversed(range(depth)):
        yield _instruction(at, f"@!P0 BRA `(.L_x_{loop}) ;")
        at += 1


def many_kernels(lines: int) -> Iterator[str]:
    """Kernels of some hundred lines."""
    for kernel in range(lines // 200):
        for line in many_loops(200):
            yield line.replace(".text.kernel:", f".text.kernel_{kernel}:")


def garbage(lines: int) -> Iterator[str]:
    """Lines that begin like instructions and annotations, and never end."""
    yield ".text.kernel:\n"
    for at in range(lines // 100):
        yield f"        /*{at:04x}*/ BRA " + "(*" * 2000 + "`(.L_" * 400 + "\n"
        yield "/*" * 3000 + ".text." * 100 + "//## File " * 300 + "\n"


def main(lines: int) -> None:
    print(f"{'listing':14} {'lines':>9} {'MB':>7} {'s':>7} {'MB/s':>7} {'peak MB':>8}")
    shapes: tuple[Callable[[int], Iterator[str]], ...] = (
        one_block, many_loops, nested_loops, many_kernels, garbage,
    )  # fmt: skip
    for shape in shapes:
        text = list(shape(lines))
        size = sum(map(len, text)) / 1e6
        start = time.perf_counter()
        parse_lines(text)
        seconds = time.perf_counter() - start
        tracemalloc.start()
        parse_lines(shape(lines // 10))
        peak = tracemalloc.get_traced_memory()[1] / 1e6 * 10
        tracemalloc.stop()
        print(
            f"{shape.__name__:14} {len(text):9} {size:7.1f} {seconds:7.2f} {size / seconds:7.2f} "
            f"{peak:8.0f}"
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200_000)
