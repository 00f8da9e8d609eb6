"""An `ncu` that runs the program it is given, and prints what was recorded of another.

Like the real one it prints on its standard output, which the program inherits, and its folder holds
the files that it needs.
"""

from __future__ import annotations

from pathlib import Path

from tests.support.tools import put_tool

RECORDED = Path(__file__).parents[3] / "data" / "ncu" / "three_kernels.csv"
SCRIPT = """
here=$(dirname "$0")
while [ $# -gt 0 ]; do
  case "$1" in
    --csv) shift;;
    --*) shift 2;;
    *) break;;
  esac
done
{run}
"""
ONLY_PRINT = 'cat "$here/target/recorded.csv"'
THEN_PRINT = '"$@" || exit $?\ncat "$here/target/recorded.csv"'


def install(folder: Path, run: str = THEN_PRINT) -> Path:
    """Put it into a folder on PATH; `run` is what it does with the program in ``"$@"``."""
    (folder / "target").mkdir(parents=True, exist_ok=True)
    (folder / "target" / "recorded.csv").write_bytes(RECORDED.read_bytes())
    return put_tool(folder / "ncu", SCRIPT.replace("{run}", run))
