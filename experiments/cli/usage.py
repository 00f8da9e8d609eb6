"""A wrong option or argument as one line, in Rooftree's words.

Newer versions of typer ship their own click, older ones use the public one: only attributes that
the errors of both have are used here.
"""

from __future__ import annotations

import re
from typing import Any

import typer

from experiments.text.words import did_you_mean

USAGE_ERROR: type[Exception] = next(
    kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "UsageError"
)
_EXTRA = re.compile(r"unexpected extra arguments?(?:\(s\))? \((.*)\)", re.DOTALL)
_NO_COMMAND = re.compile(r"No such command '(.*?)'", re.DOTALL)
_CLOSE = 0.7


def is_help(error: Any) -> bool:
    """Whether an error stands for the help of a group that was called without a command."""
    return type(error).__name__ == "NoArgsIsHelpError"


def usage_line(error: Any, *, command: str) -> str:
    """``--evaluations -3: at least 1; see rooftree optimize --help``

    `command` is named if the error has no context, as for an option without its value.
    """
    line = _what(error)
    path = command if error.ctx is None else error.ctx.command_path
    return f"{line}{' See' if line.endswith('?') else '; see'} {path} --help"


def _what(error: Any) -> str:
    if hasattr(error, "possibilities") and hasattr(error, "option_name"):
        return _no_option(error)
    if hasattr(error, "param_type"):
        return f"{_label(error.param)} is missing" if error.param else _plain(error)
    if getattr(error, "param", None) is not None:
        return _wrong_value(error)
    if hasattr(error, "option_name"):
        return _with_or_without_value(error)
    if extra := _EXTRA.search(error.message):
        return f"one argument too many: {extra[1]}"
    if unknown := _NO_COMMAND.search(error.message):
        return f"there is no command {unknown[1]!r}{_hint(unknown[1], error.ctx.command.commands)}"
    return _plain(error)


def _no_option(error: Any) -> str:
    name, context = error.option_name, error.ctx
    if name in _options(context.find_root()):
        root = context.find_root().command_path
        rest = context.command_path.removeprefix(root)
        return f"{name} stands before the command: {root} {name}{rest}"
    return f"there is no option {name}{_hint(name, _options(context))}"


def _options(context: Any) -> list[str]:
    """All names of a command's options."""
    options = [each for each in context.command.get_params(context) if _is_option(each)]
    return [name for option in options for name in option.opts]


def _is_option(param: Any) -> bool:
    return str(param.param_type_name) == "option"


def _hint(given: str, known: Any) -> str:
    meant = did_you_mean(given, known, cutoff=_CLOSE)
    return f": {meant}" if meant else ""


def _label(param: Any) -> str:
    """The long name of an option, or an argument's name as in the help."""
    if _is_option(param):
        return str(max(param.opts, key=len))
    return str(param.metavar or param.name.upper())


def _wrong_value(error: Any) -> str:
    label, problems = _label(error.param), getattr(error.__cause__, "errors", None)
    if problems is None:
        return f"{label}: {_plain(error)}"
    from mcts.wrong_values import what_is_wanted

    problem = problems()[0]
    given = problem["input"]
    if str(given).strip("+-").lower() == "nan":  # no bound holds for it
        return f"{label} {given}: a number"
    return f"{label} {given}: {what_is_wanted(problem)}"


def _with_or_without_value(error: Any) -> str:
    if "requires" in error.message:
        return f"{error.option_name} needs a value"
    if "does not take" in error.message:
        return f"{error.option_name} takes no value"
    return f"{error.option_name}: {_plain(error)}"


def _plain(error: Any) -> str:
    """The library's own message, as a part of a sentence."""
    text = str(error.message).strip().rstrip(".")
    return text[:1].lower() + text[1:]
