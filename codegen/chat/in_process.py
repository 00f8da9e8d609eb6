"""A model that runs in this process: a folder of weights that transformers can load.

For small models, such as those that `experiments.training` makes: a server of its own would take
longer to start than they take to answer. Needs the extra `[train]`.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from codegen.chat.messages import Message, Offer, Reply
from mcts.errors import InputError, ProposalRejected, WorldError
from mcts.text import first_line

PREFIX = "transformers/"
"""Names that begin so are loaded here; what follows is a folder."""
_SEEDS = 2**31
_TURN = threading.Lock()
"""Held while a model is loaded, which transformers cannot do twice at once, and while it answers,
as PyTorch has one state of random numbers for all."""


class TransformersClient:
    """Loads the model `name`, with `PREFIX` before it, when it is first asked. Thread-safe: one
    reply at a time in the whole process.

    On the GPU if PyTorch sees one. A seed gives the same reply on the same machine. It calls no
    tools: look-ups are asked for as text. With `probabilities` replies say how probable they were,
    which takes memory for a number for each word of the vocabulary and each token.
    """

    def __init__(self, name: str, *, probabilities: bool = False) -> None:
        self._name, self._probabilities = name, probabilities
        self._loaded: tuple[Any, Any] | None = None
        self._closed = False

    def complete(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int,
        temperature: float,
        seed: int | None = None,
        offer: Offer | None = None,
    ) -> Reply:
        with _TURN:
            if self._closed:
                raise WorldError(f"{self._name} was given up")
            model, tokenizer = self._loaded = self._loaded or _load(self._name)
            try:
                return _generated(
                    model, tokenizer, messages, self._name, max_tokens=max_tokens,
                    temperature=temperature, seed=seed, probabilities=self._probabilities,
                )  # fmt: skip
            except RuntimeError as error:  # out of memory, among others
                raise WorldError(f"{self._name} gave no answer: {first_line(error)}") from None

    def close(self) -> None:
        """Release the model; idempotent."""
        with _TURN:
            self._closed, self._loaded = True, None


def model_folder(name: str) -> str:
    """The folder of a model. InputError if it holds none: nothing is fetched from a hub."""
    place = name.removeprefix(PREFIX)
    files = ("config.json", "adapter_config.json")
    if not any((Path(place) / file).is_file() for file in files):
        raise InputError(
            f"{name}: {place} is no folder with a model (config.json); fetch one from a hub first"
        )
    return place


def _load(name: str) -> tuple[Any, Any]:
    place = model_folder(name)
    try:
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer
        from transformers.utils import logging
    except ImportError:
        raise InputError(
            f"{name} needs PyTorch and transformers: pip install 'rooftree[train]'"
        ) from None
    logging.disable_progress_bar()
    try:
        tokenizer = AutoTokenizer.from_pretrained(place, local_files_only=True)
        model: Any = AutoModelForCausalLM.from_pretrained(place, local_files_only=True)
    except (OSError, ValueError, ImportError) as error:
        raise InputError(f"the model {place} cannot be loaded: {first_line(error)}") from None
    if tokenizer.chat_template is None:
        raise InputError(f"the model {place} has no chat template: it cannot be asked in messages")
    return model.to("cuda" if torch.cuda.is_available() else "cpu").eval(), tokenizer


def _generated(
    model: Any,
    tokenizer: Any,
    messages: Sequence[Message],
    name: str,
    *,
    max_tokens: int,
    temperature: float,
    seed: int | None,
    probabilities: bool,
) -> Reply:
    import torch
    from jinja2 import TemplateError

    told = [{"role": one["role"], "content": one["content"]} for one in messages]
    try:
        asked = tokenizer.apply_chat_template(told, tokenize=False, add_generation_prompt=True)
    except TemplateError as error:
        raise InputError(f"{name}: its chat template refuses these messages: {error}") from None
    encoded = tokenizer(asked, return_tensors="pt", add_special_tokens=False).to(model.device)
    given = encoded["input_ids"].shape[1]
    room = getattr(model.config, "max_position_embeddings", None)
    if room is not None and given >= room:
        raise ProposalRejected(f"the prompt has {given} tokens and {name} takes {room} in all")
    most = max_tokens if room is None else min(max_tokens, room - given)
    if seed is not None:
        torch.manual_seed(seed % _SEEDS)
    how = {"do_sample": True, "temperature": temperature} if temperature else {"do_sample": False}
    with torch.inference_mode():
        found = model.generate(
            input_ids=encoded["input_ids"],
            attention_mask=encoded["attention_mask"],
            max_new_tokens=most,
            pad_token_id=tokenizer.pad_token_id or tokenizer.eos_token_id,
            return_dict_in_generate=True,
            output_logits=probabilities,
            **how,
        )
        made = found.sequences[0, given:]
        logprob = None
        if probabilities:
            each = zip(found.logits, made.tolist(), strict=True)
            logprob = sum(step[0].float().log_softmax(-1)[token].item() for step, token in each)
    # What ends a reply is the model's own affair; some have several tokens for it.
    ended = len(made) < most or int(made[-1]) == tokenizer.eos_token_id
    return Reply(
        text=tokenizer.decode(made, skip_special_tokens=True),
        model=name,
        asked=name,
        finish_reason="stop" if ended else "length",
        prompt_tokens=given,
        completion_tokens=len(made),
        cost_usd=0.0,
        logprob=logprob,
    )
