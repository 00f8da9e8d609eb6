"""Names of tasks, and of files of tasks, from names that others chose."""

from __future__ import annotations

import re
import unicodedata


def plain_name(text: str, *, otherwise: str = "") -> str:
    """`text` as a task's name: accents are dropped, and runs of what it cannot have become "_".

    `otherwise` if nothing is left.
    """
    letters = unicodedata.normalize("NFKD", text)
    text = "".join(letter for letter in letters if not unicodedata.combining(letter))
    return re.sub(r"[^A-Za-z0-9_.-]+", "_", text).strip("_.-") or otherwise
