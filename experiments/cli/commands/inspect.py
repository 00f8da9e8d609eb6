"""`inspect`: what is slow in a kernel or a program, and what to do about it."""

from __future__ import annotations

import json

from experiments.app.messages import say
from experiments.inspect.request import InspectRequest
from experiments.inspect.results import Inspection, as_json


def inspect(request: InspectRequest) -> None:
    """Inspect a file, print the findings, and draw the roofline if `out` is given.

    Raises InputError if the options do not fit the file.
    """
    from experiments.inspect.inspecting import inspect_file

    request.check()
    inspection = inspect_file(request, on_progress=say)
    if request.as_json:
        print(json.dumps(as_json(inspection), ensure_ascii=False))
    else:
        from experiments.inspect.text_report import show

        show(inspection, limit=request.limit)
    if request.out is not None:
        _draw(inspection, request)


def _draw(inspection: Inspection, request: InspectRequest) -> None:
    from experiments.inspect.picture import svg

    assert request.out is not None
    request.out.write_text(svg(inspection), encoding="utf-8")
    say(f"picture: {request.out}")
