"""What a field says of itself as an option, and the base of the models that hold options."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict

AUTO = "auto"
"""As a name: chosen by what there is."""
OFF = "off"
"""As a file: none is read and none is written."""
YEAR_MIN = 366 * 24 * 60
DAY_S = 24 * 3600

Need = Literal["model", "answers", "library", "measurements", "gpu"]
"""What an option needs to have an effect. model: a proposer that asks one. answers: a model that is
asked, not a recording of its answers. library: something to look things up in. measurements: an
evaluator that measures. gpu: an evaluator that spends GPU time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """An option of the command line, as metadata of the field that it sets.

    `aliases` are further names, which help does not show. `metavar` stands for the value in help.
    `usual` says in help what is meant if the option is not given, if the default alone would not.
    `typed` is how the value is written, if not by the field's own type. `folder`: it must be one.
    `needs`: if one of these is lacking, the option is refused. `lasting`: a search that goes on
    keeps to what it began with.
    """

    name: str
    help: str
    aliases: tuple[str, ...] = ()
    metavar: str | None = None
    usual: str = ""
    typed: Any = None
    folder: bool = False
    hidden: bool = False
    needs: tuple[Need, ...] = ()
    lasting: bool = True


class Options(BaseModel):
    """A frozen value that refuses unknown fields.

    Help lists the options under `title`. With `defaults_in_help` the help of an option ends with
    what is taken if it is not given, and an option counts as given whatever its value.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    title: ClassVar[str] = "Options"
    defaults_in_help: ClassVar[bool] = False

    @classmethod
    def options(cls) -> dict[str, Option]:
        """The options by the names of their fields, in the order of the fields."""
        found = {}
        for name, field in cls.model_fields.items():
            option = next((each for each in field.metadata if isinstance(each, Option)), None)
            if option is not None:
                found[name] = option
        return found

    def given(self) -> dict[str, Any]:
        """What was given, by field; None is not, nor is a flag that is not raised."""
        values = {name: getattr(self, name) for name in type(self).model_fields}
        return {
            name: value
            for name, value in values.items()
            if name in self.model_fields_set and value is not None and value is not False
        }

    def changed_by(self, other: Self) -> Self:
        """These options with those that were given in `other` in place of their own."""
        return self.model_copy(update=other.given())

    def lasting(self) -> dict[str, Any]:
        """What a search that goes on keeps to, by field."""
        return {
            name: getattr(self, name) for name, option in self.options().items() if option.lasting
        }

    def going_on_with(self, other: Self) -> Self:
        """These options with those of `other` in place of the ones that need not last."""
        return other.model_copy(update=self.lasting())


def _absolute(path: Path) -> Path:
    return path.absolute()


def _absolute_or_off(value: object) -> object:
    if value is None or str(value) == OFF:
        return value if value is None else OFF
    return str(Path(str(value)).absolute())


Place = Annotated[Path, AfterValidator(_absolute)]
"""A path that holds in any folder: a run may be resumed from elsewhere."""
PlaceOrOff = Annotated[str, BeforeValidator(_absolute_or_off)]
"""The same as text, or `OFF`."""
