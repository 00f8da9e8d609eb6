"""A small decoder, initialised at random, with a tokenizer trained on what it shall read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from experiments.training.fitting.config import Decoder

_START, _END, _PAD = "<|start|>", "<|end|>", "<|pad|>"
_TEMPLATE = (
    "{% for message in messages %}<|start|>{{ message['role'] }}\n{{ message['content'] }}<|end|>"
    "{% endfor %}{% if add_generation_prompt %}<|start|>assistant\n{% endif %}"
)


def fresh_tokenizer(texts: Iterable[str], decoder: Decoder) -> Any:
    """A byte-level BPE trained on `texts`. A number is no part of a longer token, and one that is
    met often is a single token. Names in capitals, as tunables have them, are two letters a token:
    no token is that of one name alone. Other words may run together, as prompts would be twice as
    long otherwise. Every text can be encoded.
    """
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex("[A-Z_]{1,2}"), behavior="isolated"),
            pre_tokenizers.Digits(individual_digits=False),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=decoder.vocabulary,
        special_tokens=[_PAD, _START, _END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    found = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token=_PAD, bos_token=_START, eos_token=_END
    )
    found.chat_template = _TEMPLATE
    found.model_max_length = decoder.context
    return found


def fresh_model(decoder: Decoder, tokenizer: Any, *, seed: int) -> Any:
    """A decoder of the Llama family with random weights."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(seed)
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=decoder.width,
            intermediate_size=4 * decoder.width,
            num_hidden_layers=decoder.layers,
            num_attention_heads=decoder.heads,
            max_position_embeddings=decoder.context,
            tie_word_embeddings=True,
            bos_token_id=tokenizer.bos_token_id,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
        )
    )
