"""The report's scripts: vendored as pinned, and linked from modules without a bundler."""

from __future__ import annotations

import hashlib
import re
from importlib.resources import files

import pytest

from experiments.views.report import assets
from experiments.views.report.assets import link

VENDOR = files("experiments.views.report") / "vendor"


def test_vendored_files_are_as_pinned_and_no_other_is_there() -> None:
    pinned = dict(
        reversed(row.split("  ./")) for row in (VENDOR / "SHA256SUMS").read_text().splitlines()
    )
    for name, digest in pinned.items():
        assert hashlib.sha256((VENDOR / name).read_bytes()).hexdigest() == digest, name
    own = {"README.md", "SHA256SUMS", "fetch.sh"}
    assert {item.name for item in VENDOR.iterdir()} - own == set(pinned)
    assert set(pinned) == {*assets.VENDORED, *assets.LICENSES}


def test_versions_in_the_readme_are_those_that_are_fetched() -> None:
    readme, script = ((VENDOR / name).read_text() for name in ("README.md", "fetch.sh"))
    fetched = dict(re.findall(r"^take (\S+) (\S+) ", script, re.MULTILINE))
    assert fetched == dict(re.findall(r"npm `(\w+)`\) \| (\S+) \|", readme))


def test_the_licences_travel_with_the_libraries() -> None:
    libraries, _ = assets.scripts()
    assert "MIT LICENSE" in libraries and "Kevin Decker" in libraries


def test_our_scripts_never_turn_text_into_markup() -> None:
    _, own = assets.scripts()
    for way in (
        "innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function",
        "srcdoc", "javascript:", "fetch(", "XMLHttpRequest", "setTimeout(\"",
    ):  # fmt: skip
        assert way not in own, way
    assert not any("</script" in script for script in assets.scripts())


def test_modules_become_one_script_in_the_order_of_their_imports() -> None:
    script = link(
        {
            "main": 'import { two } from "./b.js";\nrun(two());\n',
            "b": 'import { one } from "./a.js";\nexport function two() { return one + 1; }\n',
            "a": "export const one = 1;\n",
            "unused": "nothing();\n",
        },
        "main",
    )
    assert script.index("const one = 1;") < script.index("function two()") < script.index("run(")
    assert "nothing" not in script and not re.search(r"^\s*(import|export)\b", script, re.MULTILINE)


@pytest.mark.parametrize(
    ("modules", "why"),
    [
        ({"main": 'import { a } from "./b.js";\n'}, "imports b, which is not there"),
        (
            {"main": 'import { a } from "./b.js";\n', "b": "export const c = 1;\n"},
            "imports a, which b does not export",
        ),
        (
            {
                "main": 'import { a } from "./b.js";\nexport const m = 1;\n',
                "b": 'import { m } from "./main.js";\nexport const a = 1;\n',
            },
            "circle: main → b → main",
        ),
        ({"main": "export default 1;\n"}, "cannot link 'export default 1;'"),
        ({"main": 'import * as b from "./b.js";\n'}, "cannot link"),
    ],
)
def test_an_import_that_cannot_be_linked_is_refused(modules: dict[str, str], why: str) -> None:
    with pytest.raises(ValueError, match=re.escape(why)):
        link(modules, "main")
