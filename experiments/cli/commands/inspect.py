"""`inspect`: what is slow in a kernel or a program, and what to do about it."""

from __future__ import annotations

import json
from dataclasses import replace

from experiments.app.messages import say
from experiments.inspect import listing
from experiments.inspect.request import InspectRequest
from experiments.inspect.results import Inspection, as_json


def inspect(request: InspectRequest) -> None:
    """Inspect a file, or two beside each other, print the findings, and draw the roofline if `out`
    is given.

    Raises InputError if the options do not fit the file.
    """
    from experiments.inspect.inspecting import inspect_file

    request.check()
    if request.beside is not None:
        _both(request, replace(request, file=request.beside))
        return
    inspection = inspect_file(request, on_progress=say)
    code = _code(inspection, request) if request.sass else None
    if request.as_json:
        found = as_json(inspection)
        if code is not None:
            found["sass"] = listing.as_json(code)
        print(json.dumps(found, ensure_ascii=False))
    else:
        from experiments.inspect.text_report import show

        show(inspection, limit=request.limit, what_if=request.what_if)
        if code is not None:
            listing.show(code, inspection.source)
    if request.out is not None:
        _draw(inspection, request)


def _both(first: InspectRequest, second: InspectRequest) -> None:
    from experiments.inspect.inspecting import inspect_file
    from experiments.inspect.side_by_side import show
    from experiments.inspect.targets import identify

    identify(second.file, planned=second.plan is not None)  # before the first takes its time
    found = [inspect_file(each, on_progress=say) for each in (first, second)]
    if first.as_json:
        print(json.dumps([as_json(each) for each in found], ensure_ascii=False))
    else:
        show(*found)


def _code(inspection: Inspection, request: InspectRequest) -> listing.Code:
    """For the GPU that measured, if one did."""
    hardware = inspection.hardware
    capability = hardware.compute_capability if hardware else None
    arch = f"sm_{capability.replace('.', '')}" if capability else None
    return listing.code_of(request, arch=arch)


def _draw(inspection: Inspection, request: InspectRequest) -> None:
    from experiments.inspect.picture import svg

    assert request.out is not None
    request.out.write_text(svg(inspection), encoding="utf-8")
    say(f"picture: {request.out}")
