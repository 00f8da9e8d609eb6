"""`serve`: the runs of a folder in a browser."""

from __future__ import annotations

from pathlib import Path

from experiments.app.interrupting import signals_interrupt
from experiments.app.messages import say


def serve(folder: Path, *, port: int) -> None:
    """Serve until Ctrl-C. InputError if the folder is none or the port is taken."""
    from experiments.app.serving.server import RunServer

    server = RunServer(folder, port=port)
    try:
        with signals_interrupt():
            print(server.address, flush=True)
            say(f"the runs in {folder}, to look at, for this machine alone; Ctrl-C ends it")
            server.serve_forever()
    except KeyboardInterrupt:
        say("no longer served; no run was touched")
    finally:
        server.server_close()
