"""How a command ends after an error: one line and an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NoReturn, TextIO

import typer

from experiments.cli import address_space
from experiments.cli.declaring import PlainGroup
from experiments.cli.usage import USAGE_ERROR, is_help, usage_line

INTERRUPTED = 130
_USAGE = 2


class OneLine(PlainGroup):
    """A group whose errors are one line and an exit code; --debug shows their tracebacks."""

    def make_context(self, info_name: str | None, *args: Any, **more: Any) -> Any:
        try:
            return super().make_context(info_name, *args, **more)
        except USAGE_ERROR as error:
            _fail_usage(error, command=str(info_name))
        except BrokenPipeError:  # help and version are printed here
            _leave_quietly()
        except OSError as error:
            _fail(_refusal(error), _USAGE)

    def invoke(self, ctx: Any) -> Any:
        from mcts.errors import RooftreeError

        if too_little := address_space.problem():
            _fail(too_little, _USAGE)
        if ctx.params.get("debug"):
            return self._parsed(ctx)
        try:
            return self._parsed(ctx)
        except RooftreeError as error:
            _fail(str(error), error.exit_code)
        except KeyboardInterrupt as error:
            typer.echo(str(error) or "interrupted", err=True)
            raise typer.Exit(INTERRUPTED) from None
        except BrokenPipeError:
            _leave_quietly()
        except OSError as error:
            _fail(_refusal(error), _USAGE)
        except (typer.Exit, typer.Abort):
            raise  # which are RuntimeErrors too
        except address_space.OUT_OF_SPACE as error:
            if (told := address_space.exhausted(error)) is None:
                raise
            _fail(told, _USAGE)

    def _parsed(self, ctx: Any) -> Any:
        """Run the command. A wrong option is one line even with --debug: its traceback would show
        nothing but the parser of options.
        """
        try:
            return super().invoke(ctx)
        except USAGE_ERROR as error:
            _fail_usage(error, command=f"{ctx.command_path} {ctx.invoked_subcommand or ''}".strip())


def _fail_usage(error: Exception, *, command: str) -> NoReturn:
    """Fail with the error in one line, or raise it if it stands for a group's help."""
    if is_help(error):
        raise error
    _fail(usage_line(error, command=command), _USAGE)


def _fail(message: str, code: int) -> NoReturn:
    """Print the message as one line on standard error and exit with `code`."""
    with suppress(OSError):  # nobody can be told
        typer.echo(f"error: {' '.join(message.splitlines())}", err=True)
    raise typer.Exit(code)


def _refusal(error: OSError) -> str:
    """The message for a file that cannot be read or written, with its name."""
    place = str(error.filename2 or error.filename or "the output")
    if len(place) > 120:
        place = f"{place[:60]}...{place[-40:]}"
    return f"cannot use {place}: {error.strerror or error}"


def _leave_quietly() -> NoReturn:
    """Exit without a message: the reader of our output is gone."""
    _discard(sys.stdout)
    raise typer.Exit(1)


def _discard(stream: TextIO) -> None:
    """Have what is still to be written to a standard stream go nowhere: Python tries it once more
    at its end, and would complain or end with a code of its own.
    """
    with suppress(OSError, ValueError):  # ValueError: it is no file
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def open_streams() -> None:
    """Have all three standard streams; one that the caller closed leads nowhere.

    Otherwise the next file to be opened, a journal say, would get its number.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, "w" if number else "r", closefd=False))


@contextmanager
def output_written() -> Iterator[None]:
    """Write all output before the process ends; fail in one line if it cannot be written, in
    silence if its reader is gone. What ended the block otherwise goes on.
    """
    ending: SystemExit | None = None
    try:
        yield
    except SystemExit as done:
        ending = done
    try:
        sys.stdout.flush()
    except OSError as error:
        _discard(sys.stdout)
        if ending is None or not ending.code:
            ending = SystemExit(1 if isinstance(error, BrokenPipeError) else _USAGE)
            if ending.code == _USAGE:
                with suppress(OSError):
                    typer.echo(f"error: {_refusal(error)}", err=True)
    try:
        sys.stderr.flush()
    except OSError:
        _discard(sys.stderr)
    if ending is not None:
        raise ending
