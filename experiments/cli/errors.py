"""How a command ends when something goes wrong: one line and an exit code."""

from __future__ import annotations

import os
import sys
from typing import Any

import typer
from typer.core import TyperGroup

INTERRUPTED = 130


class OneLine(TyperGroup):
    """Turns what goes wrong into one line and an exit code; --debug shows where it came from."""

    def invoke(self, ctx: Any) -> Any:
        from mcts.errors import RooftreeError

        if ctx.params.get("debug"):
            return super().invoke(ctx)
        try:
            return super().invoke(ctx)
        except RooftreeError as error:
            _fail(str(error), error.exit_code)
        except KeyboardInterrupt as error:
            typer.echo(str(error) or "interrupted", err=True)
            raise typer.Exit(INTERRUPTED) from None
        except BrokenPipeError:
            _leave_quietly()
        except OSError as error:
            _fail(_refusal(error), 2)


def _fail(message: str, code: int) -> None:
    typer.echo(f"error: {' '.join(message.splitlines())}", err=True)
    raise typer.Exit(code)


def _refusal(error: OSError) -> str:
    """A file system that refuses is the user's to mend; it names the file that was refused."""
    place = str(error.filename2 or error.filename or "the output")
    if len(place) > 120:
        place = f"{place[:60]}...{place[-40:]}"
    return f"cannot use {place}: {error.strerror or error}"


def _leave_quietly() -> None:
    """The reader of our output went away: nobody is left to tell."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    raise typer.Exit(1)
