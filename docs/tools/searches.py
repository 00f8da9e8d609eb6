"""The searches for the reference, each by its module: `python -m docs.tools.searches`."""

from __future__ import annotations

from mcts.search.catalogue import searches

_SECTION = """\
### `{name}`

::: {module}
    options:
      heading_level: 4
      show_root_heading: false
      show_root_toc_entry: false"""


def markdown() -> str:
    """A section for each search, in the order of the names."""
    return "\n\n".join(
        _SECTION.format(name=name, module=settings.__module__)
        for name, settings in searches().items()
    )


if __name__ == "__main__":
    print(markdown())
