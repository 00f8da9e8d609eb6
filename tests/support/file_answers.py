"""Answers to a queue of files, given by a model that is played from the prompts alone."""

from __future__ import annotations

import os
import time
from pathlib import Path

from codegen.chat.queue import waiting
from tests.support.openai_server import AutoModel


def answer_all(queue: Path, model: AutoModel, *, only: int = 1000) -> int:
    """Answer what waits, as whoever has the prompt file alone; returns how many that were."""
    prompts = waiting(queue)[:only]
    for prompt in prompts:
        _, system, user = prompt.read_text().split("<!-- ", 2)
        messages = [{"content": text.partition("-->")[2]} for text in (system, user)]
        reply = prompt.with_name(prompt.name.replace(".prompt.md", ".reply.md"))
        reply.write_text(str(model({"messages": messages})))
        os.utime(reply, (time.time() - 60, time.time() - 60))
    return len(prompts)
