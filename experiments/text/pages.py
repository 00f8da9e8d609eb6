"""HTML pages from templates: every value is escaped, unless it is marked as markup."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Environment


def page(package: str, template: str, **values: Any) -> str:
    """The template `template` of the folder of `package` (``experiments.views.report``), filled."""
    return _environment(package).get_template(template).render(**values)


def markup(html: str) -> str:
    """`html` as what it is, markup that is not escaped again: our own, never that of others."""
    from markupsafe import Markup

    return Markup(html)


@cache
def _environment(package: str) -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    top, _, folder = package.partition(".")
    return Environment(
        loader=PackageLoader(top, folder.replace(".", "/")),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
