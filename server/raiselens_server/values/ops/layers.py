"""Layers of `torch.nn.functional`: normalisation, convolution, pooling, attention, resizing, dropout."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from raiselens_server.values import dims
from raiselens_server.values.dtypes import ANY_FLOATING, COMPLEX
from raiselens_server.values.lattice import Const, HolePart, Opaque, Seq, Tensor, Value
from raiselens_server.values.ops import axes, layout, reading
from raiselens_server.values.ops.building import derive, error, inherited_grad, ok, shape_text
from raiselens_server.values.ops.elementwise import is_meta
from raiselens_server.values.ops.matmul import differ, element
from raiselens_server.values.ops.outcome import NO_RULE, Outcome, Raise

if TYPE_CHECKING:
    from raiselens_server.values.dims import Dim
    from raiselens_server.values.ops.layout import Shape
    from raiselens_server.values.ops.table import Bound, Row

_INEXACT: Final = ANY_FLOATING | COMPLEX


def _grad(*values: Value | None) -> bool | None:
    return False if all(not isinstance(v, Tensor) or v.requires_grad is False for v in values) else None


def _like(source: Tensor, shape: Shape | None, *others: Value | None) -> Outcome:
    grad = inherited_grad(_grad(source, *others), source.dtypes)
    return ok(derive(source, shape=shape, strides=None, requires_grad=grad), may_raise=True)


def _normalized_shape(b: Bound, source: Tensor) -> Shape | Raise | None:
    value = b.get("normalized_shape")
    kind = reading.number_kind(value)
    if kind is not None and b.name == "layer_norm":
        text = f"layer_norm(): argument 'normalized_shape' (position 2) must be tuple of ints, not {kind}"
        return error("TypeError", "normalized_shape", "isinstance(normalized_shape, tuple)", text)
    wanted = reading.sizes_of((value,)) if isinstance(value, Seq) else None
    if wanted is None or is_meta(source):
        return None
    if wanted == ():
        text = (
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got"
            " normalized_shape = []"
        )
        return error("RuntimeError", "normalized_shape", "len(normalized_shape) > 0", text)
    return wanted


def _layer_norm(b: Bound) -> Outcome:
    source = b.tensor()
    if source is None:
        return NO_RULE
    wanted = _normalized_shape(b, source)
    if isinstance(wanted, Raise):
        return replace(wanted, earlier="weight" in b.named or "bias" in b.named)
    outcome = _layer_norm_checked(b, source, wanted)
    names = {t.dtypes for t in (source, b.get("weight"), b.get("bias")) if isinstance(t, Tensor)}
    mixed = len(names) > 1 or not source.dtypes <= _INEXACT
    return replace(outcome, earlier=True) if mixed and isinstance(outcome, Raise) else outcome


def _layer_norm_checked(b: Bound, source: Tensor, wanted: Shape | None) -> Outcome:
    if wanted is None:
        return _like(source, source.shape, b.get("weight"), b.get("bias"))
    for name in ("weight", "bias"):
        given = b.get(name)
        if isinstance(given, Tensor) and given.shape is not None and _differ(given.shape, wanted):
            text = (f"Expected {name} to be of same shape as normalized_shape, but got {name} of shape ", given.shape)
            return error(
                "RuntimeError", name, f"{name}.shape == normalized_shape", *text, " and normalized_shape = ", wanted
            )
    own = source.shape
    if own == () and b.name == "rms_norm":
        return NO_RULE
    if own is not None and (len(own) < len(wanted) or _differ(own[len(own) - len(wanted) :], wanted)):
        listed = list[Any]()
        for size in wanted:
            listed += [", ", size] if b.name == "layer_norm" or listed else [size]
        text = (
            "Given normalized_shape=",
            wanted,
            ", expected input with shape [*",
            *listed,
            "], but got input of size",
            own,
        )
        return error("RuntimeError", "input", "input.shape[-n:] == normalized_shape", *text)
    return _like(source, own, b.get("weight"), b.get("bias"))


def _differ(left: Shape, right: Shape) -> bool:
    return len(left) != len(right) or any(dims.equal(a, c) is False for a, c in zip(left, right, strict=True))


def _group_norm(b: Bound) -> Outcome:
    source = b.tensor()
    if source is None:
        return NO_RULE
    own, groups = source.shape, reading.constant_int(b.get("num_groups"))
    if own is None or is_meta(source):
        return _like(source, own, b.get("weight"), b.get("bias"))
    if len(own) < 2:
        text = f"Expected at least 2 dimensions for input tensor but received {len(own)}"
        return error("RuntimeError", "input", "input.dim() >= 2", text)
    channels = own[1]
    values = layout.numel(own)
    if groups and isinstance(values, int) and isinstance(channels, int) and isinstance(own[0], int):
        size = (own[0] * channels // groups, groups, *own[2:])
        if size[0] * (values // max(own[0] * channels, 1)) == 1:
            text = "Expected more than 1 value per channel when training, got input size "
            return error("ValueError", "input", "more than one value per channel", text, size)
    if groups is not None and groups > 0 and channels is not None and dims.remainder(channels, groups) not in (0, None):
        text = "Expected number of channels in input to be divisible by num_groups, but got input of shape "
        found = error(
            "RuntimeError", "num_groups", "channels % num_groups == 0", text, own, f" and num_groups={groups}"
        )
        return replace(found, earlier="weight" in b.named or "bias" in b.named)
    return _like(source, own, b.get("weight"), b.get("bias"))


def _batch_norm(b: Bound) -> Outcome:
    source = b.tensor()
    if source is None:
        return NO_RULE
    if any(
        isinstance(t, Tensor) and t.shape is not None and len(t.shape) != 1 for t in (b.get("weight"), b.get("bias"))
    ):
        return ok(Tensor(), may_raise=True)
    own = source.shape
    training = reading.flag(b.get("training"), default=False)
    count = layout.numel((own[0], *own[2:])) if own is not None and len(own) > 1 else None
    if training and own is not None and count == 1:
        text = ("Expected more than 1 value per channel when training, got input size ", *shape_text(own))
        return error("ValueError", "input", "more than one value per channel", *text)
    plain = source.dtypes <= _INEXACT and 0 not in (own or ())
    if own is not None and len(own) > 1 and not is_meta(source) and plain:
        for name in ("running_mean", "running_var", "weight", "bias"):
            given = b.get(name)
            if not isinstance(given, Tensor) or given.shape is None or len(given.shape) != 1:
                continue
            size = given.shape[0]
            if dims.equal(size, own[1]) is False:
                text = (f"{name} should contain ", own[1], " elements not ", size)
                found = error("RuntimeError", name, f"{name}.numel() == input.size(1)", *text)
                return replace(found, earlier="weight" in b.named or "bias" in b.named or not given.dtypes <= _INEXACT)
    return _like(source, own, b.get("weight"), b.get("bias"))


def _dropout(b: Bound) -> Outcome:
    source, rate = b.tensor(), b.get("p")
    if source is None:
        return NO_RULE
    if isinstance(rate, Const) and isinstance(rate.value, int | float) and not 0 <= rate.value <= 1:
        text = f"dropout probability has to be between 0 and 1, but got {rate.value}"
        return error("ValueError", "p", "0 <= p <= 1", text)
    return _like(source, source.shape)


def _spread(value: Value | None, count: int, default: int) -> tuple[int, ...] | None:
    """An int or a sequence of `count` ints."""
    if reading.absent(value):
        return (default,) * count
    found = reading.ints_of(value)
    if found is None or len(found) not in (1, count):
        return None
    return found * count if len(found) == 1 else found


def _convolution(b: Bound) -> Outcome:
    source, weight = b.tensor(), b.tensor("weight")
    if source is None or weight is None:
        return NO_RULE
    outcome = _convolution_checked(b, source, weight)
    empty = any(0 in (t.shape or ()) for t in (source, weight))
    odd = empty or differ(source, weight) or not reading.absent(b.get("bias"))
    return replace(outcome, earlier=True) if odd and isinstance(outcome, Raise) else outcome


def _convolution_checked(b: Bound, source: Tensor, weight: Tensor) -> Outcome:
    spatial = b.data
    own, kernel = source.shape, weight.shape
    others = (weight, b.get("bias"))
    if own is None or kernel is None or len(kernel) != spatial + 2 or is_meta(source) or is_meta(weight):
        return _like(source, None, *others)
    if len(own) not in (spatial + 1, spatial + 2):
        text = f"Expected {spatial + 1}D (unbatched) or {spatial + 2}D (batched) input to conv{spatial}d, but got input of size: "
        return error("RuntimeError", "input", f"input.dim() in ({spatial + 1}, {spatial + 2})", text, own)
    if len(own) == spatial + 1:
        own = (1, *own)
    groups = 1 if reading.absent(b.get("groups")) else reading.constant_int(b.get("groups"))
    if groups is None or groups < 1:
        return _like(source, None, *others)
    channels = dims.multiply(kernel[1], groups)
    if 0 in own or 0 in kernel:
        return _like(source, None, *others)
    if dims.equal(own[1], channels) is False and 0 not in own and 0 not in kernel:
        parts = (
            f"Given groups={groups}, weight of size ", kernel, ", expected input", own, " to have ", channels,
            " channels, but got ", own[1], " channels instead",
        )  # fmt: skip
        settled = all(isinstance(size, int) and size >= groups for size in kernel[:1])
        return error(
            "RuntimeError",
            "input",
            "input.size(1) == weight.size(1) * groups",
            *(parts if settled else (HolePart("message"),)),
        )
    if differ(source, weight):
        return error("RuntimeError", "weight", "input.dtype == weight.dtype", HolePart("message"))
    sizes = _convolved(b, own[2:], kernel[2:], spatial)
    batched = len(source.shape or ()) == spatial + 2
    return _like(source, (*own[:1], kernel[0], *sizes) if batched else (kernel[0], *sizes), *others)


def _convolved(b: Bound, sizes: Shape, kernel: Shape, spatial: int) -> Shape:
    padding_value = b.get("padding")
    if padding_value == Const("same"):
        return sizes
    steps = _spread(b.get("stride"), spatial, 1)
    gaps = _spread(b.get("dilation"), spatial, 1)
    padding = (0,) * spatial if padding_value == Const("valid") else _spread(padding_value, spatial, 0)
    if steps is None or gaps is None or padding is None:
        return (None,) * spatial
    found: list[Dim | None] = []
    for size, width, step, gap, pad in zip(sizes, kernel, steps, gaps, padding, strict=True):
        if size is None or not isinstance(width, int) or step < 1:
            found.append(None)
            continue
        room = dims.add(size, 2 * pad - gap * (width - 1) - 1)
        whole = dims.floor_divide(room, step)
        found.append(None if whole is None else dims.add(whole, 1))
    return tuple(found)


def _interpolate(b: Bound) -> Outcome:
    source, size, factor = b.tensor(), b.get("size"), b.get("scale_factor")
    if source is None:
        return NO_RULE
    if reading.absent(size) and reading.absent(factor):
        found = error(
            "ValueError", "size", "size or scale_factor is given", "either size or scale_factor should be defined"
        )
        return replace(found, earlier=len(b.named) > 1)
    own = source.shape
    if own is None or not 3 <= len(own) <= 5:
        return _like(source, None)
    if reading.given(size) and reading.given(factor):
        text = "only one of size or scale_factor should be defined"
        return error("ValueError", "size", "size and scale_factor are not both given", text)
    spatial = own[2:]
    for value, name, what, letters in (
        (size, "size", "output size of ", "o"),
        (factor, "scale_factor", "scale_factor of shape ", "s"),
    ):
        if isinstance(value, Seq) and value.kind in ("tuple", "list") and len(value.items) != len(spatial):
            start = "Input and output" if name == "size" else "Input and scale_factor"
            shown = _sequence_text(value)
            parts = (
                f"{start} must have the same number of spatial dimensions, but got input with spatial dimensions of ", spatial,
                f" and {what}", *shown, ". Please provide input tensor in (N, C, d1, d2, ...,dK) format and ",
                f"{'output size' if name == 'size' else 'scale_factor'} in ({letters}1, {letters}2, ...,{letters}K) format.",
            )  # fmt: skip
            found = error("ValueError", name, f"len({name}) == input.dim() - 2", *parts)
            return replace(found, earlier=bool(b.named.keys() - {"input", "size", "scale_factor"}))
    target = reading.sizes_of((size,)) if isinstance(size, Seq) else None
    if size is not None and reading.number_kind(size) == "int":
        target = (reading.size_of(size),) * len(spatial)
    if target is None:
        return _like(source, (*own[:2], *(None for _ in spatial)))
    return _like(source, (*own[:2], *target))


def _sequence_text(value: Seq) -> tuple[Any, ...]:
    texts: list[Any] = []
    for item in value.items:
        known = isinstance(item, Const) and isinstance(item.value, int | float)
        texts += [", " if texts else "", repr(item.value) if known and isinstance(item, Const) else HolePart("size")]
    if value.kind == "list":
        return ("[", *texts, "]")
    return ("(", *texts, ",)" if len(value.items) == 1 else ")")


def _attention(b: Bound) -> Outcome:
    query, key, value = b.tensor("query"), b.tensor("key"), b.tensor("value")
    if query is None or key is None or value is None:
        return NO_RULE
    tensors = (query, key, value)
    if any(is_meta(t) for t in tensors):
        return _like(query, None, key, value)
    if any(t.shape is None for t in tensors):
        return _like(query, None, key, value)
    if not query.dtypes <= _INEXACT:
        return ok(Tensor(), may_raise=True)
    if differ(query, key) or differ(query, value):
        text = "Expected query, key, and value to have the same dtype, but got query.dtype: "
        shown = [element(t.dtypes) for t in tensors]
        parts = (text, shown[0], " key.dtype: ", shown[1], " and value.dtype: ", shown[2], " instead.")
        return error("RuntimeError", "key", "the dtypes are equal", *parts)
    if any(t.shape is not None and len(t.shape) < 2 for t in tensors):
        ranks = [HolePart("dim") if t.shape is None else str(len(t.shape)) for t in tensors]
        text = "Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: "
        parts = (text, ranks[0], " key.dim: ", ranks[1], " and value.dim: ", ranks[2], " instead.")
        return error("RuntimeError", "query", "dim() >= 2", *parts)
    if query.shape is None or value.shape is None:
        return _like(query, None, key, value)
    batch = query.shape[:-2] if query.shape[:-2] == value.shape[:-2] else (None,) * len(query.shape[:-2])
    shape = (*batch, query.shape[-2], value.shape[-1]) if len(query.shape) == len(value.shape) else None
    return _like(query, shape, key, value)


def _pool(b: Bound) -> Outcome:
    source, spatial = b.tensor(), b.data
    if source is None:
        return NO_RULE
    own = source.shape
    flagged = reading.flag(b.get("return_indices"), default=False)
    if flagged is not False:
        return NO_RULE
    if own is None or len(own) not in (spatial + 1, spatial + 2):
        return _like(source, None)
    width = _spread(b.get("kernel_size"), spatial, 1)
    step = width if reading.absent(b.get("stride")) else _spread(b.get("stride"), spatial, 1)
    exact = reading.flag(b.get("ceil_mode"), default=False) is False
    if width is None or step is None or not exact or isinstance(b.get("kernel_size"), Opaque):
        return _like(source, (*own[:-spatial], *(None,) * spatial))
    shadow = {**b.named, "stride": Seq(tuple(Const(s) for s in step))}
    sizes = _convolved(_with(b, shadow), own[-spatial:], width, spatial)
    return _like(source, (*own[:-spatial], *sizes))


def _with(b: Bound, named: dict[str, Value]) -> Bound:
    return type(b)(b.name, named, b.ambient, b.data, b.args, b.method, b.inplace)


def _adaptive_pool(b: Bound) -> Outcome:
    source, spatial = b.tensor(), b.data
    if source is None:
        return NO_RULE
    target = _spread(b.get("output_size"), spatial, 1)
    own = source.shape
    if own is None or len(own) not in (spatial + 1, spatial + 2):
        return _like(source, None)
    return _like(source, (*own[:-spatial], *(target or (None,) * spatial)))


def _glu(b: Bound) -> Outcome:
    source = b.tensor()
    if source is None:
        return NO_RULE
    own = source.shape
    if not own or is_meta(source):
        return _like(source, None)
    dim = axes.wrap(b.get("dim") or Const(-1), len(own))
    if isinstance(dim, Raise):
        return dim
    if dim is None:
        return _like(source, (None,) * len(own))
    size = own[dim]
    if size is not None and dims.remainder(size, 2) == 1:
        text = f"Halving dimension must be even, but dimension {dim} is size "
        return error("RuntimeError", "dim", "input.size(dim) % 2 == 0", text, size)
    half = None if size is None else dims.floor_divide(size, 2)
    return _like(source, (*own[:dim], half, *own[dim + 1 :]))


def _pad(b: Bound) -> Outcome:
    source, widths = b.tensor(), reading.ints_of(b.get("pad"))
    if source is None:
        return NO_RULE
    own = source.shape
    if own is None or widths is None or len(widths) % 2 or len(widths) > 2 * len(own):
        return _like(source, None)
    sizes = list(own)
    for place in range(len(widths) // 2):
        at = len(own) - 1 - place
        size = sizes[at]
        sizes[at] = None if size is None else dims.add(size, widths[2 * place] + widths[2 * place + 1])
    return _like(source, tuple(sizes))


def _same(b: Bound) -> Outcome:
    source = b.tensor()
    return NO_RULE if source is None else _like(source, source.shape)


_CONVOLUTION: Final = ":Tinput :Tweight bias? stride? padding? dilation? groups?"
_POOL: Final = ":Tinput kernel_size stride? padding? dilation? ceil_mode? return_indices?"

ROWS: Final[tuple[Row, ...]] = (
    ("f", "layer_norm", ":Tinput normalized_shape weight? bias? eps?", _layer_norm),
    ("t", "layer_norm", ":Tinput normalized_shape weight? bias? eps? cudnn_enable?", _layer_norm),
    ("f", "rms_norm", ":Tinput normalized_shape weight? eps?", _layer_norm),
    ("t", "rms_norm", ":Tinput normalized_shape weight? eps?", _layer_norm),
    ("f", "group_norm", ":Tinput num_groups weight? bias? eps?", _group_norm),
    ("f", "batch_norm", ":Tinput running_mean running_var weight? bias? training? momentum? eps?", _batch_norm),
    (
        "f",
        "dropout dropout1d dropout2d dropout3d alpha_dropout feature_alpha_dropout",
        ":Tinput p? training? inplace?",
        _dropout,
    ),
    *(("f", f"conv{n}d", _CONVOLUTION, _convolution, n) for n in (1, 2, 3)),
    (
        "f",
        "interpolate",
        ":Tinput size? scale_factor? mode? align_corners? recompute_scale_factor? antialias?",
        _interpolate,
    ),
    (
        "f",
        "scaled_dot_product_attention",
        ":Tquery :Tkey :Tvalue attn_mask? dropout_p? is_causal? * scale? enable_gqa?",
        _attention,
    ),
    *(("f", f"max_pool{n}d", _POOL, _pool, n) for n in (1, 2, 3)),
    *(
        ("f", f"avg_pool{n}d", ":Tinput kernel_size stride? padding? ceil_mode? count_include_pad?", _pool, n)
        for n in (1, 2, 3)
    ),
    *(
        ("f", f"adaptive_avg_pool{n}d adaptive_max_pool{n}d", ":Tinput output_size", _adaptive_pool, n)
        for n in (1, 2, 3)
    ),
    ("f", "glu", ":Tinput dim?", _glu),
    ("f", "pad", ":Tinput pad mode? value?", _pad),
    ("f", "normalize", ":Tinput p? dim? eps? out?", _same),
    ("f", "threshold", ":Tinput threshold value inplace?", _same),
)
