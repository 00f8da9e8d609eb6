"""A child that never answers. Run as ``python -m tests.support.endless_worker``."""

from __future__ import annotations

import threading
from typing import Any

from profilers.children.serving import serve


def _never(_request: dict[str, Any]) -> dict[str, Any]:
    threading.Event().wait()
    return {}


if __name__ == "__main__":
    serve({"compile": _never})
