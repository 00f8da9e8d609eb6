"""Ways to a cluster: one that runs, or one of this machine's own GPUs."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.cluster.evaluator import RESOURCE, SLOTS, gpu_workers
from mcts.errors import InputError, WorldError

if TYPE_CHECKING:
    from distributed import Client

_ADDRESS = re.compile(r"(?:[a-z]+://)?[^\s/]+:\d{1,5}")
_CONNECT_S = 20.0
_LOGGERS = ("asyncio", "distributed", "tornado")
_LOOPBACK = "127.0.0.1"
_MOST_DEATHS = 2
"""Workers that an order may end without being given up: the third one is its last."""


def connected(where: str) -> Client:
    """A client of the scheduler at `where`, an address or a scheduler's file.

    InputError if it cannot be understood or reached, or if there is no Dask.
    """
    distributed = _distributed()
    path = Path(where)
    try:
        if path.suffix == ".json" or path.is_file():
            if not path.is_file():
                raise InputError(f"--evaluator dask:{where}: there is no such scheduler file")
            return _client(distributed, scheduler_file=str(path))
        if not _ADDRESS.fullmatch(where):
            raise InputError(f"--evaluator dask:{where}: write ADDRESS as tcp://HOST:PORT")
        return _client(distributed, address=where)
    except InputError:
        raise
    except ValueError as error:
        raise InputError(f"--evaluator dask:{where}: {error}") from None
    except (OSError, TimeoutError) as error:
        raise InputError(
            f"--evaluator dask:{where}: no scheduler answers there ({type(error).__name__})"
        ) from None


def workers_at(where: str) -> list[str]:
    """The addresses of the workers with a GPU there. InputError as `connected` raises it."""
    client = connected(where)
    try:
        return gpu_workers(client)
    finally:
        client.close()  # type: ignore[no-untyped-call]


def own_cluster(devices: Sequence[int]) -> tuple[Client, Callable[[], None]]:
    """A cluster of this machine, with a worker process for each device, and what ends it.

    It listens on loopback alone, to whoever has the certificate that is made for it: a candidate
    that escaped its jail's network would find a port that does not answer.
    """
    distributed = _distributed()
    import dask

    security = _security(distributed)
    workers = {
        f"gpu-{device}": {
            "cls": distributed.Nanny,
            "options": {
                "nthreads": SLOTS,
                "resources": {RESOURCE: 1},
                "env": {"CUDA_VISIBLE_DEVICES": str(device)},
                "security": security,
                "dashboard": False,
                "dashboard_address": f"{_LOOPBACK}:0",
                "host": _LOOPBACK,
                "memory_limit": 0,
                "silence_logs": logging.ERROR,
            },
        }
        for device in devices
    }
    scheduler = {
        "cls": distributed.Scheduler,
        "options": {
            "host": _LOOPBACK,
            "protocol": "tls://",
            "security": security,
            "dashboard": False,
            "dashboard_address": f"{_LOOPBACK}:0",
        },
    }
    with dask.config.set({"distributed.scheduler.allowed-failures": _MOST_DEATHS}):
        try:
            cluster: Any = distributed.SpecCluster(
                workers=workers, scheduler=scheduler, security=security, silence_logs=logging.ERROR,
                name="rooftree",
            )  # fmt: skip
        except (OSError, RuntimeError, TimeoutError) as error:
            raise WorldError(f"no workers could be started on this machine: {error}") from None
    try:
        client = _client(distributed, address=cluster)
        client.wait_for_workers(len(devices), timeout=_CONNECT_S + 5 * len(devices))
    except (OSError, TimeoutError) as error:
        cluster.close()
        raise WorldError(f"the workers on this machine did not start: {error}") from None
    return client, cluster.close


def _client(distributed: Any, **where: Any) -> Client:
    client: Client = distributed.Client(
        **where, timeout=_CONNECT_S, set_as_default=False, name="rooftree"
    )
    return client


def _security(distributed: Any) -> Any:
    try:
        return distributed.Security.temporary()
    except ImportError:
        raise InputError(
            "several GPUs need certificates between their workers: pip install 'rooftree[cluster]'"
        ) from None


def _distributed() -> Any:
    try:
        import distributed
    except ImportError:
        raise InputError(
            "a cluster needs dask.distributed, which is not installed: "
            "pip install 'rooftree[cluster]'"
        ) from None
    _silence()
    return distributed


def _silence() -> None:
    """What Dask logs of lost connections, tracebacks included, is an error of ours in one line."""
    for name in [*_LOGGERS, *logging.Logger.manager.loggerDict]:
        if name.partition(".")[0] in _LOGGERS:
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
