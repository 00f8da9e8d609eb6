"""Commands whose options come from models: a parameter with a model's type becomes its options.

``limits: Limits`` in a command's signature becomes ``--evaluations``, ``--minutes`` and so on, and
the command is called with the model. `Taken` at the parameter changes that for one command::

    limits: Annotated[Limits, Taken("evaluations", evaluations={"name": "--budget", "default": 20})]

A command is built when it is called or its own help is shown: the models need pydantic, whose
import would delay `rooftree --help`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, get_args, get_origin
from typing import get_type_hints as type_hints

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from mcts.errors import InputError

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

    from mcts.options import Option, Options

_MANY = 4
"""So many options of a model are shown in a panel of their own."""
_WORDS = frozenset({"name", "help", "metavar", "hidden"})


class Taken:
    """Which options of a model a command takes, and what it changes of them.

    It takes those named in `only`, or all if none is named, except those in `without`. `changed`
    maps a field to a table of its "default" and of fields of its `Option`.
    """

    def __init__(
        self, *only: str, without: tuple[str, ...] = (), **changed: Mapping[str, Any]
    ) -> None:
        self._only, self._without, self._changed = only, without, changed

    def takes(self, field: str) -> bool:
        """Whether the command has an option for this field."""
        return field not in self._without and (not self._only or field in self._only)

    def option(self, field: str, option: Option) -> Option:
        """The option as this command has it."""
        changed = self._changed.get(field, {})
        return replace(option, **{name: changed[name] for name in _WORDS & set(changed)})

    def default(self, field: str, default: Any) -> Any:
        """The field's default in this command; `default` if it does not change that."""
        return self._changed.get(field, {}).get("default", default)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Given:
    """One option of a command: the field that it sets, and how it is written."""

    field: str
    option: Option
    info: FieldInfo
    default: Any

    @property
    def names(self) -> tuple[str, ...]:
        """The name that the help shows, then its hidden aliases."""
        return (self.option.name, *self.option.aliases)

    def parameters(self, group: str, panel: str | None = None) -> Iterator[inspect.Parameter]:
        """Parameters of the function that typer reads, one for each name; help shows them in
        `panel`."""
        for name in self.names:
            yield _parameter(self, f"{group}{name.replace('-', '_')}", name, panel)

    def is_given(self, value: Any) -> bool:
        """Whether the user gave the option, or its default here differs from the model's."""
        return value is not None and value != [] and not value == self.default == self.info.default


@dataclass(frozen=True, slots=True)
class _Group:
    """The options that stand for one parameter of a command."""

    name: str
    model: type[Options]
    options: tuple[_Given, ...]

    def parameters(self) -> Iterator[inspect.Parameter]:
        many = len(self.options) >= _MANY
        for option in self.options:
            yield from option.parameters(self.name, self.model.title if many else None)

    def read(self, values: dict[str, Any]) -> Options:
        """Remove the group's options from `values` and return their model.

        InputError if a value is not allowed.
        """
        from pydantic import ValidationError

        from mcts.wrong_values import what_is_wanted

        given: dict[str, Any] = {}
        for option in self.options:
            for parameter in option.parameters(self.name):
                value = values.pop(parameter.name)
                if option.is_given(value):
                    given.setdefault(option.field, value)
        try:
            return self.model(**given)
        except ValidationError as error:
            problem = error.errors()[0]
            name = next(
                each.option.name for each in self.options if each.field == problem["loc"][0]
            )
            raise InputError(f"{name} {problem['input']!r}: {what_is_wanted(problem)}") from None


def declare(app: typer.Typer, *functions: Callable[..., None]) -> None:
    """Add commands to the program, in the order in which help lists them."""
    for function in functions:
        kind = type("Declared", (Declared,), {"function": staticmethod(function)})
        app.command(cls=kind)(_named_as(function))


class _PlainFlags:
    """Help shows a flag by its name alone; typer would call it ``<bool>``."""

    def get_params(self, ctx: Any) -> Any:
        """The options and arguments, `--help` among them."""
        params = super().get_params(ctx)  # type: ignore[misc]
        for each in params:
            if getattr(each, "is_flag", False):
                each.metavar = ""
        return params


class PlainCommand(_PlainFlags, TyperCommand):
    """A command that is built at once."""


class PlainGroup(_PlainFlags, TyperGroup):
    """A command of commands."""


class Declared(PlainCommand):
    """A command that is built from its function when its parameters are first asked for."""

    function: ClassVar[Callable[..., None]]
    _built: Any = None

    @property
    def params(self) -> Any:
        """The command's options and arguments."""
        if self._built is None:
            app = typer.Typer(add_completion=False)
            app.command()(expanded(self.function))
            self._built = get_command(app)
            self.callback = self._built.callback
        return self._built.params

    @params.setter
    def params(self, params: Any) -> None:
        """Ignore the parameters of the placeholder, which has none."""


def expanded(function: Callable[..., None]) -> Callable[..., None]:
    """The function as typer reads it: with options in place of each model in its signature.

    Annotations name the models as `mcts.options` does.
    """
    from mcts import options

    hints = type_hints(
        function, globalns={**vars(options), **function.__globals__}, include_extras=True
    )
    parameters: list[inspect.Parameter] = []
    groups: list[_Group] = []
    for parameter in inspect.signature(function).parameters.values():
        if (group := _group(parameter.name, hints[parameter.name])) is None:
            kind = inspect.Parameter.KEYWORD_ONLY
            parameters.append(parameter.replace(annotation=hints[parameter.name], kind=kind))
        else:
            groups.append(group)
            parameters += group.parameters()

    def command(**values: Any) -> None:
        read = {group.name: group.read(values) for group in groups}
        function(**values, **read)

    named = _named_as(function, command)
    named.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    named.__annotations__ = {each.name: each.annotation for each in parameters}
    return named


def _named_as(
    function: Callable[..., None], command: Callable[..., None] | None = None
) -> Callable[..., None]:
    """`command`, or a placeholder that does nothing, with the name and docstring of `function`."""

    def placeholder() -> None:
        """Stands in for a command until it is built."""

    named = command or placeholder
    named.__name__, named.__doc__ = function.__name__, function.__doc__
    return named


def _group(name: str, hint: Any) -> _Group | None:
    """The options that stand for a parameter; None if its type is not a model."""
    from mcts.options import Options

    model, *metadata = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    if not (isinstance(model, type) and issubclass(model, Options)):
        return None
    taken = next((each for each in metadata if isinstance(each, Taken)), Taken())
    options = tuple(
        _Given(
            field=field,
            option=taken.option(field, option),
            info=model.model_fields[field],
            default=taken.default(field, _default(model, field)),
        )
        for field, option in model.options().items()
        if taken.takes(field)
    )
    return _Group(name, model, tuple(map(_with_default, options)))


def _default(model: type[Options], field: str) -> Any:
    """The default that typer uses and shows; None if only the model knows it."""
    default = model.model_fields[field].default
    plain = isinstance(default, bool | int | float | str) and not model.defaults_in_help
    return default if plain else None


def _with_default(given: _Given) -> _Given:
    """The option with its default in its help."""
    option, default = given.option, given.info.default
    if option.help.endswith("."):
        return given
    usual = option.usual or (f"{default:g}" if isinstance(default, float) else str(default))
    return replace(given, option=replace(option, help=f"{option.help}; default: {usual}."))


def _parameter(given: _Given, parameter: str, name: str, panel: str | None) -> inspect.Parameter:
    option = given.option
    info = typer.Option(
        name,
        help=option.help,
        metavar=option.metavar,
        rich_help_panel=panel,
        hidden=option.hidden or name != option.name,
        exists=option.folder,
        file_okay=not option.folder,
        min=_bound(given.info, "ge"),
        max=_bound(given.info, "le"),
    )
    typed = option.typed or _typed(given.info.annotation)
    return inspect.Parameter(
        parameter,
        inspect.Parameter.KEYWORD_ONLY,
        default=given.default,
        annotation=Annotated[typed if given.default is not None else typed | None, info],
    )


def _bound(info: FieldInfo, which: str) -> Any:
    """A field's bound, ``ge`` or ``le``; None if it has none."""
    bounds = (getattr(each, which, None) for each in info.metadata)
    return next((bound for bound in bounds if bound is not None), None)


def _typed(annotation: Any) -> Any:
    """The type with which typer reads a field: a list for a tuple, `str` for a `Literal`."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _typed(inner[0])
    if origin is Literal:
        return str
    if origin is tuple:
        return list[_typed(inner[0])]  # type: ignore[misc]
    if type(None) in inner:
        return _typed(next(each for each in inner if each is not type(None)))
    return annotation
