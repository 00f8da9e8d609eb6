"""What a reply must hold, and the templates that tell a model so."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from string import Template

from codegen.playbook import Method, playbook, playbook_for
from codegen.prompting.roles import VERSIONS, Beside, Role
from mcts.domain import Dialect, Hardware

_COMMON = "codegen.prompting"


@dataclass(frozen=True, slots=True, kw_only=True)
class Contract:
    """The words of one dialect.

    package: where its `contract.md` is; a `reply.md` or an order `ROLE.md` beside it replaces the
        shared one.
    name: of the contract in the ids of prompts.
    language, first: how the block with the file is marked, and what stands first in it; without
        them a reply holds values of tunables alone.
    methods_of: the dialect whose own methods may be named besides the general ones, if any.
    """

    package: str
    name: str
    language: str = ""
    first: str = ""
    methods_of: Dialect | None = None

    @property
    def whole_file(self) -> bool:
        """Whether a reply holds a file, rather than values alone."""
        return bool(self.first)

    @property
    def text(self) -> str:
        """What a candidate is."""
        return template("contract.md", self.package)

    def reply(self, branches: int) -> str:
        """How a reply is written; with `branches` above zero, that it may list as many others."""
        if self._has("reply.md"):
            return template("reply.md", self.package)
        text = Template(template("reply_source.md"))
        reply = text.substitute(language=self.language, first=self.first)
        if branches:
            listed = Template(template("reply_branches.md")).substitute(branches=branches)
            reply += "\n" + listed
        return reply

    def reply_of(self, beside: Beside) -> str:
        """How one replies who does not write the variant."""
        text = Template(template(f"reply_{beside}.md"))
        return text.substitute(language=self.language, first=self.first)

    def order(self, role: Role | Beside) -> str:
        """What a role is to do."""
        name = f"{role}.md"
        return template(name, self.package) if self._has(name) else template(name)

    def prompt_id(self, role: Role | Beside) -> str:
        """How a prompt is journalled: the order's name and the role's version."""
        name = f"{role}_{self.name}" if self._has(f"{role}.md") else role
        return f"{name}/{VERSIONS[role]}"

    def methods(self, hardware: Hardware | None) -> dict[str, Method]:
        """The methods that a prompt may name, by id."""
        if self.methods_of is None:
            return playbook()
        return playbook_for(self.methods_of, hardware.compute_capability if hardware else None)

    def _has(self, name: str) -> bool:
        return _found(name, self.package) is not None


def template(name: str, package: str = _COMMON) -> str:
    """The text of a template. Raises FileNotFoundError if the package has none of this name."""
    text = _found(name, package)
    if text is None:
        raise FileNotFoundError(f"{package} has no template {name}")
    return text


@lru_cache(maxsize=64)
def _found(name: str, package: str) -> str | None:
    folder = files(package)
    file = (folder / "templates" if package == _COMMON else folder) / name
    return file.read_text(encoding="utf-8").strip() if file.is_file() else None
