"""Operators of PyTorch, and what each makes of a tensor's shape.

After CUDA Agent, section 3.1: classes of `torch.nn` and functions of `torch`, at most five of which
are stacked into a layer. Those that draw random numbers are not here.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

Kind = Literal["image", "sequence", "rows"]
ELEMENT_BYTES = 4


@dataclass(frozen=True, slots=True)
class Shape:
    """A tensor: an image is (batch, channels, height, width), a sequence (batch, length, features),
    rows are (batch, features). `side` is the height and width, or the length; of rows it is 1.
    """

    kind: Kind
    batch: int
    width: int
    side: int = 1

    @property
    def places(self) -> int:
        """Elements of each channel or feature, over the batch."""
        return self.batch * (self.side**2 if self.kind == "image" else self.side)

    @property
    def elements(self) -> int:
        """Elements in all."""
        return self.places * self.width

    @property
    def names(self) -> tuple[str, ...]:
        """The sizes as `get_inputs` names them."""
        return {
            "image": ("batch_size", "channels", "height", "width"),
            "sequence": ("batch_size", "length", "features"),
            "rows": ("batch_size", "features"),
        }[self.kind]

    @property
    def sizes(self) -> tuple[int, ...]:
        """The sizes in the order of `names`."""
        return {
            "image": (self.batch, self.width, self.side, self.side),
            "sequence": (self.batch, self.side, self.width),
            "rows": (self.batch, self.width),
        }[self.kind]


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """One operator at its place in a model.

    init: lines of ``__init__``, forward: lines of ``forward``, which read and write ``x``; `{n}` in
    both is the place's number, and names of `constants` stand for module-level constants of that
    name with the number behind. second: whether it reads a further input ``y{n}`` of the shape that
    comes in. flops and moved: floating-point operations, and bytes read and written.
    """

    operator: str
    out: Shape
    init: tuple[str, ...] = ()
    forward: tuple[str, ...]
    constants: Mapping[str, int | float] = field(default_factory=dict)
    second: bool = False
    flops: float = 0.0
    moved: float


@dataclass(frozen=True, slots=True)
class Operator:
    """What takes tensors of some kinds. `make` returns None for a shape that does not fit."""

    name: str
    kinds: frozenset[Kind]
    make: Callable[[Shape, random.Random], Layer | None]


def _moved(shape: Shape, out: Shape, *, weights: int = 0) -> float:
    return ELEMENT_BYTES * float(shape.elements + out.elements + weights)


def _plain(
    name: str,
    forward: str,
    *,
    init: str = "",
    kinds: tuple[Kind, ...] = ("image", "sequence", "rows"),
    flops: float = 4,
    second: bool = False,
    constants: Mapping[str, Callable[[random.Random], int | float]] | None = None,
) -> Operator:
    """An operator whose output has its input's shape; `{w}` in its lines is the width."""

    def make(shape: Shape, draw: random.Random) -> Layer:
        drawn = {key: value(draw) for key, value in (constants or {}).items()}
        return Layer(
            operator=name,
            out=shape,
            init=(init.replace("{w}", str(shape.width)),) if init else (),
            forward=(forward,),
            constants=drawn,
            second=second,
            flops=flops * shape.elements,
            moved=_moved(shape, shape) + (ELEMENT_BYTES * shape.elements if second else 0),
        )

    return Operator(name, frozenset(kinds), make)


def _conv(shape: Shape, draw: random.Random) -> Layer:
    kernel, out_width = draw.choice((1, 3, 3, 5)), draw.choice((32, 64, 96, 128))
    out = replace(shape, width=out_width)
    weights = shape.width * out_width * kernel**2
    return Layer(
        operator="Conv2d",
        out=out,
        init=(
            f"self.conv{{n}} = nn.Conv2d({shape.width}, out_channels{{n}}, "
            f"kernel_size={kernel}, padding={kernel // 2})",
        ),
        forward=("x = self.conv{n}(x)",),
        constants={"out_channels": out_width},
        flops=2.0 * out.places * weights,
        moved=_moved(shape, out, weights=weights),
    )


def _depthwise(shape: Shape, draw: random.Random) -> Layer:
    kernel = draw.choice((3, 5, 7))
    return Layer(
        operator="DepthwiseConv2d",
        out=shape,
        init=(
            f"self.conv{{n}} = nn.Conv2d({shape.width}, {shape.width}, kernel_size={kernel}, "
            f"padding={kernel // 2}, groups={shape.width})",
        ),
        forward=("x = self.conv{n}(x)",),
        flops=2.0 * shape.elements * kernel**2,
        moved=_moved(shape, shape),
    )


def _conv_transpose(shape: Shape, draw: random.Random) -> Layer | None:
    if shape.side > 128:
        return None
    out_width = draw.choice((32, 48, 64))
    out = replace(shape, width=out_width, side=2 * shape.side)
    weights = shape.width * out_width * 4
    return Layer(
        operator="ConvTranspose2d",
        out=out,
        init=(
            f"self.conv{{n}} = nn.ConvTranspose2d({shape.width}, out_channels{{n}}, "
            "kernel_size=2, stride=2)",
        ),
        forward=("x = self.conv{n}(x)",),
        constants={"out_channels": out_width},
        flops=2.0 * shape.places * weights,
        moved=_moved(shape, out, weights=weights),
    )


def _conv1d(shape: Shape, draw: random.Random) -> Layer:
    kernel, out_width = draw.choice((3, 5, 9)), draw.choice((128, 256, 384))
    out = replace(shape, width=out_width)
    weights = shape.width * out_width * kernel
    return Layer(
        operator="Conv1d",
        out=out,
        init=(
            f"self.conv{{n}} = nn.Conv1d({shape.width}, out_channels{{n}}, "
            f"kernel_size={kernel}, padding={kernel // 2})",
        ),
        forward=("x = self.conv{n}(x.transpose(1, 2)).transpose(1, 2)",),
        constants={"out_channels": out_width},
        flops=2.0 * out.places * weights,
        moved=_moved(shape, out, weights=weights),
    )


def _linear(shape: Shape, draw: random.Random) -> Layer:
    out = replace(shape, width=draw.choice((512, 1024, 2048, 4096)))
    weights = shape.width * out.width
    return Layer(
        operator="Linear",
        out=out,
        init=(f"self.linear{{n}} = nn.Linear({shape.width}, out_features{{n}})",),
        forward=("x = self.linear{n}(x)",),
        constants={"out_features": out.width},
        flops=2.0 * out.places * weights,
        moved=_moved(shape, out, weights=weights),
    )


def _pool(name: str, layer: str) -> Operator:
    def make(shape: Shape, draw: random.Random) -> Layer | None:
        if shape.side % 2 or shape.side < 8:
            return None
        out = replace(shape, side=shape.side // 2)
        return Layer(
            operator=name,
            out=out,
            init=(f"self.pool{{n}} = nn.{layer}(2)",),
            forward=("x = self.pool{n}(x)",),
            flops=4.0 * out.elements,
            moved=_moved(shape, out),
        )

    return Operator(name, frozenset({"image"}), make)


def _halved(shape: Shape, draw: random.Random) -> Layer | None:
    if shape.width % 2 or shape.width < 64:
        return None
    out = replace(shape, width=shape.width // 2)
    return Layer(
        operator="GLU",
        out=out,
        forward=("x = F.glu(x, dim=-1)",),
        flops=6.0 * out.elements,
        moved=_moved(shape, out),
    )


def _channels_shuffled(shape: Shape, draw: random.Random) -> Layer | None:
    if shape.width % 4 or shape.width < 64 or shape.side > 256:
        return None
    out = replace(shape, width=shape.width // 4, side=2 * shape.side)
    return Layer(
        operator="PixelShuffle",
        out=out,
        forward=("x = F.pixel_shuffle(x, 2)",),
        moved=_moved(shape, out),
    )


def _to_rows(name: str, kind: Kind, forward: str) -> Operator:
    def make(shape: Shape, draw: random.Random) -> Layer:
        out = Shape("rows", shape.batch, shape.width)
        return Layer(
            operator=name,
            out=out,
            forward=(forward,),
            flops=float(shape.elements),
            moved=_moved(shape, out),
        )

    return Operator(name, frozenset({kind}), make)


def _attention(shape: Shape, draw: random.Random) -> Layer | None:
    if shape.width % 64 or shape.side > 2048:
        return None
    heads = shape.width // 64
    scores = float(shape.batch * heads * shape.side**2)
    return Layer(
        operator="SelfAttention",
        out=shape,
        forward=(
            f"h = x.view(x.shape[0], x.shape[1], {heads}, 64).transpose(1, 2)",
            "h = F.scaled_dot_product_attention(h, h, h)",
            "x = h.transpose(1, 2).reshape(x.shape)",
        ),
        flops=2 * 2 * 64 * scores,
        moved=_moved(shape, shape),
    )


def _grouped(shape: Shape, draw: random.Random) -> Layer | None:
    groups = draw.choice((4, 8, 16))
    if shape.width % groups:
        return None
    return Layer(
        operator="GroupNorm",
        out=shape,
        init=(f"self.norm{{n}} = nn.GroupNorm({groups}, {shape.width})",),
        forward=("x = self.norm{n}(x)",),
        flops=8.0 * shape.elements,
        moved=2 * _moved(shape, shape),
    )


def _between(low: float, high: float) -> Callable[[random.Random], float]:
    return lambda draw: round(draw.uniform(low, high), 2)


_LAST: tuple[Kind, ...] = ("sequence", "rows")
OPERATORS: tuple[Operator, ...] = (
    Operator("Conv2d", frozenset({"image"}), _conv),
    Operator("DepthwiseConv2d", frozenset({"image"}), _depthwise),
    Operator("ConvTranspose2d", frozenset({"image"}), _conv_transpose),
    Operator("Conv1d", frozenset({"sequence"}), _conv1d),
    Operator("Linear", frozenset(_LAST), _linear),
    Operator("SelfAttention", frozenset({"sequence"}), _attention),
    Operator("GroupNorm", frozenset({"image"}), _grouped),
    Operator("GLU", frozenset(_LAST), _halved),
    Operator("PixelShuffle", frozenset({"image"}), _channels_shuffled),
    _pool("MaxPool2d", "MaxPool2d"),
    _pool("AvgPool2d", "AvgPool2d"),
    _to_rows("GlobalAveragePool", "image", "x = x.mean(dim=(2, 3))"),
    _to_rows("GlobalMaxPool", "image", "x = torch.amax(x, dim=(2, 3))"),
    _to_rows("MeanOverLength", "sequence", "x = x.mean(dim=1)"),
    _to_rows("LogSumExpOverLength", "sequence", "x = torch.logsumexp(x, dim=1)"),
    _plain("ReLU", "x = F.relu(x)", flops=1),
    _plain("GELU", "x = F.gelu(x)", flops=12),
    _plain("SiLU", "x = F.silu(x)", flops=8),
    _plain("Mish", "x = F.mish(x)", flops=16),
    _plain("Softplus", "x = F.softplus(x)", flops=10),
    _plain("Hardswish", "x = F.hardswish(x)"),
    _plain("Tanh", "x = torch.tanh(x)", flops=8),
    _plain("Sigmoid", "x = torch.sigmoid(x)", flops=8),
    _plain(
        "LeakyReLU", "x = F.leaky_relu(x, negative_slope{n})",
        constants={"negative_slope": _between(0.01, 0.3)},
    ),
    _plain("Scale", "x = x * scale{n}", flops=1, constants={"scale": _between(0.3, 3)}),
    _plain("Shift", "x = x + shift{n}", flops=1, constants={"shift": _between(-1, 1)}),
    _plain(
        "Clamp", "x = torch.clamp(x, min=-bound{n}, max=bound{n})", flops=2,
        constants={"bound": _between(0.5, 4)},
    ),
    _plain("Square", "x = x * x", flops=1),
    _plain("Add", "x = x + y{n}", flops=1, second=True),
    _plain("Multiply", "x = x * y{n}", flops=1, second=True),
    _plain("Maximum", "x = torch.maximum(x, y{n})", flops=1, second=True),
    _plain("SquaredDifference", "x = (x - y{n}) ** 2", flops=2, second=True),
    _plain("Softmax", "x = torch.softmax(x, dim=-1)", kinds=_LAST, flops=10),
    _plain("LogSoftmax", "x = F.log_softmax(x, dim=-1)", kinds=_LAST, flops=10),
    _plain("SoftmaxOverChannels", "x = torch.softmax(x, dim=1)", kinds=("image",), flops=10),
    _plain(
        "LayerNorm", "x = self.norm{n}(x)", init="self.norm{n} = nn.LayerNorm({w})", kinds=_LAST,
        flops=8,
    ),
    _plain(
        "RMSNorm", "x = x * torch.rsqrt(x.pow(2).mean(dim=-1, keepdim=True) + 1e-6)", kinds=_LAST,
        flops=5,
    ),
    _plain("Normalize", "x = F.normalize(x, dim=-1)", kinds=_LAST, flops=5),
    _plain(
        "BatchNorm2d", "x = self.norm{n}(x)", init="self.norm{n} = nn.BatchNorm2d({w})",
        kinds=("image",), flops=6,
    ),
    _plain(
        "InstanceNorm2d", "x = self.norm{n}(x)", init="self.norm{n} = nn.InstanceNorm2d({w})",
        kinds=("image",), flops=8,
    ),
    _plain(
        "ChannelBias", "x = x + self.bias{n}",
        init="self.bias{n} = nn.Parameter(torch.randn({w}, 1, 1) * 0.1)", kinds=("image",), flops=1,
    ),
    _plain(
        "FeatureScale", "x = x * self.scale{n}",
        init="self.scale{n} = nn.Parameter(torch.rand({w}) + 0.5)", kinds=_LAST, flops=1,
    ),
    _plain("CumulativeSum", "x = torch.cumsum(x, dim=1)", kinds=_LAST, flops=1),
    _plain(
        "SubtractMean", "x = x - x.mean(dim=-1, keepdim=True)", kinds=_LAST, flops=2,
    ),
    _plain(
        "SubtractChannelMean", "x = x - x.mean(dim=1, keepdim=True)", kinds=("image",), flops=2,
    ),
)  # fmt: skip
"""All operators. What reads a further input makes the model one of several inputs."""
HEAVY = frozenset({"Conv2d", "DepthwiseConv2d", "ConvTranspose2d", "Conv1d", "Linear"})
"""Those with weights that multiply: each task has at most two."""


def start(draw: random.Random) -> Shape:
    """A shape to begin with, small but of the widths that it keeps."""
    kind: Kind = draw.choice(("image", "sequence", "rows"))
    if kind == "image":
        return Shape(kind, 2, draw.choice((16, 32, 48, 64, 128)), draw.choice((32, 64, 128, 256)))
    if kind == "sequence":
        return Shape(kind, 2, draw.choice((256, 384, 512, 1024)), draw.choice((128, 512, 1024)))
    return Shape(kind, 64, draw.choice((1024, 2048, 4096, 8192, 16384)))


def scaled(shape: Shape, factor: float) -> Shape:
    """The shape with a batch that is `factor` times as large, rounded to a multiple of a power of
    two.
    """
    wanted = max(1.0, shape.batch * factor)
    step = 2 ** max(0, math.floor(math.log2(wanted)) - 2)
    return replace(shape, batch=max(1, round(wanted / step) * step))
