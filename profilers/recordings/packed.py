"""Files that may be gzipped, read without trusting how much they unpack to."""

from __future__ import annotations

import gzip
import io
import zlib
from pathlib import Path

from mcts.errors import InputError

_MAGIC = b"\x1f\x8b"


def read_unpacked(path: Path, *, most: int) -> bytes:
    """A file's bytes, unpacked if it is gzipped, of which no more than `most` are ever held.

    InputError if there are more, or if the file cannot be read.
    """
    try:
        with path.open("rb") as stream:
            data = stream.read(most + 1)
        if len(data) <= most and data.startswith(_MAGIC):
            data = gzip.GzipFile(fileobj=io.BytesIO(data)).read(most + 1)
    except FileNotFoundError:
        raise InputError(f"{path} does not exist") from None
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise InputError(f"{path}: the gzip data is damaged or cut short") from None
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from None
    if len(data) > most:
        raise InputError(f"{path} holds more than {most >> 20} MiB")
    return data
