"""What inputs of type ``random`` are, told by their names, as SOL-ExecBench draws them.

A mask of standard normal numbers masks nothing, and the logarithm of a negative variance is none.
The names and what is drawn for them are those of that benchmark's `core/bench/io.py` (commit
8d2237d); FlashInfer-Bench draws standard normal numbers, whatever the name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from experiments.runs.tasks.definitions import TensorField

_WIDE = {"float16", "bfloat16", "float32", "float64"}
_NORM_WEIGHT = re.compile(r"norm\d*_weight$")
_NORM_BIAS = re.compile(r"norm\d*_bias$")
_CAUSAL = re.compile(r"^(?:attention|causal)_mask$")
_MASK = re.compile(r"^(?:x|text|aspect_ratio|drop|attention)_mask$")
_MASK_WORDS = ("binary", "{0, 1}", "0 or 1", "1.0 for valid", "0.0 for masked")
_COS = re.compile(r"^(?:cos|cos_cached|rope_cos)$")
_SIN = re.compile(r"^(?:sin|sin_cached|rope_sin)$")
_POSITIVE = re.compile(r"(?:^|_)(?:rstd|std|var)\d*$|^variance\d*$|_variance$")
_SHARES = re.compile(r"^(?:attn|attention|routing)_weights$")
_MATRIX = re.compile(r"(?:^weight|_weights?|_projs?|_weight_matrix)\d*$")
_DECAY = {"A": (-1.0, -1e-3), "A_log": (-5.0, -1.0), "g": (-5.0, 0.0)}

_Rule = tuple[Callable[[str, Sequence[str], str], bool], str]


def named_draw(name: str, field: TensorField) -> str | None:
    """The expression that draws an input of this name; None where the name says nothing.

    It is of ``{shape}`` and ``{dtype}``, which are still to be filled in.
    """
    if field.shape is None or field.dtype not in _WIDE:
        return None
    about = (field.description or "").lower()
    return next((made for applies, made in _RULES if applies(name, field.shape, about)), None)


def _is(pattern: re.Pattern[str]) -> Callable[[str, Sequence[str], str], bool]:
    return lambda name, _shape, _about: pattern.search(name) is not None


def _causal(name: str, shape: Sequence[str], about: str) -> bool:
    square = len(shape) > 1 and shape[-1] == shape[-2]
    return square and (
        bool(_CAUSAL.search(name)) or ("attention mask" in about and "causal" in about)
    )


def _mask(name: str, _shape: Sequence[str], about: str) -> bool:
    told = name.endswith("_mask") and any(word in about for word in _MASK_WORDS)
    return told or _MASK.search(name) is not None


def _shares(name: str, _shape: Sequence[str], about: str) -> bool:
    return bool(_SHARES.search(name)) or ("softmax" in about and "output" in about)


def _matrix(name: str, shape: Sequence[str], _about: str) -> bool:
    return len(shape) > 1 and _MATRIX.search(name) is not None


_ANGLE = "torch.randn({shape}).clamp(-torch.pi, torch.pi)"
_RULES: tuple[_Rule, ...] = (
    (_is(_NORM_WEIGHT), "torch.ones({shape}, dtype={dtype})"),
    (_is(_NORM_BIAS), "torch.zeros({shape}, dtype={dtype})"),
    (_causal, "torch.full({shape}, torch.finfo({dtype}).min, dtype={dtype}).triu(1)"),
    (_mask, "torch.randint(0, 2, {shape}).to({dtype})"),
    (_is(_COS), f"{_ANGLE}.cos().to({{dtype}})"),
    (_is(_SIN), f"{_ANGLE}.sin().to({{dtype}})"),
    (_is(_POSITIVE), "torch.randn({shape}, dtype={dtype}).abs() + 0.1"),
    (_is(re.compile("^A_cumsum$")), "(torch.rand({shape}) * -0.1).cumsum(-1).to({dtype})"),
    *(
        (
            _is(re.compile(f"^{which}$")),
            f"torch.empty({{shape}}).uniform_({low}, {high}).to({{dtype}})",
        )
        for which, (low, high) in _DECAY.items()
    ),
    (_shares, "torch.randn({shape}).softmax(-1).to({dtype})"),
    (_matrix, "torch.randn({shape}, dtype={dtype}) / {shape}[-1] ** 0.5"),
)
