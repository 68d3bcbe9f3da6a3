"""Layers of `torch.nn.functional`: normalisation, convolution, pooling, attention, resizing, dropout."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from raiselens_server.values import dims
from raiselens_server.values.dtypes import ANY_FLOATING, COMPLEX
from raiselens_server.values.lattice import Const, HolePart, Opaque, Seq, Tensor, Value
from raiselens_server.values.ops import axes, reading
from raiselens_server.values.ops.building import derive, error, inherited_grad, ok
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


def layer_like(source: Tensor, shape: Shape | None, *others: Value | None) -> Outcome:
    """A new tensor of the dtype and device of `source`."""
    grad = inherited_grad(_grad(source, *others), source.dtypes)
    return ok(derive(source, shape=shape, strides=None, requires_grad=grad), may_raise=True)


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
    listed = any(isinstance(b.get(name), Seq) for name in ("stride", "padding", "dilation"))
    odd = empty or listed or differ(source, weight) or not reading.absent(b.get("bias"))
    return replace(outcome, earlier=True) if odd and isinstance(outcome, Raise) else outcome


def _convolution_checked(b: Bound, source: Tensor, weight: Tensor) -> Outcome:
    spatial = b.data
    own, kernel = source.shape, weight.shape
    others = (weight, b.get("bias"))
    if own is None or kernel is None or len(kernel) != spatial + 2 or is_meta(source) or is_meta(weight):
        return layer_like(source, None, *others)
    if len(own) not in (spatial + 1, spatial + 2):
        text = f"Expected {spatial + 1}D (unbatched) or {spatial + 2}D (batched) input to conv{spatial}d, but got input of size: "
        return error("RuntimeError", "input", f"input.dim() in ({spatial + 1}, {spatial + 2})", text, own)
    if len(own) == spatial + 1:
        own = (1, *own)
    groups = 1 if reading.absent(b.get("groups")) else reading.constant_int(b.get("groups"))
    if groups is None or groups < 1:
        return layer_like(source, None, *others)
    channels = dims.multiply(kernel[1], groups)
    if 0 in own or 0 in kernel:
        return ok(Tensor(), may_raise=True)
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
    return layer_like(source, (*own[:1], kernel[0], *sizes) if batched else (kernel[0], *sizes), *others)


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
        return layer_like(source, None)
    if reading.given(size) and reading.given(factor):
        text = "only one of size or scale_factor should be defined"
        found = error("ValueError", "size", "size and scale_factor are not both given", text)
        return replace(found, earlier=len(b.named) > 3)
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
        return layer_like(source, (*own[:2], *(None for _ in spatial)))
    return layer_like(source, (*own[:2], *target))


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
        return layer_like(query, None, key, value)
    if any(t.shape is None for t in tensors):
        return layer_like(query, None, key, value)
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
        return layer_like(query, None, key, value)
    batch = query.shape[:-2] if query.shape[:-2] == value.shape[:-2] else (None,) * len(query.shape[:-2])
    shape = (*batch, query.shape[-2], value.shape[-1]) if len(query.shape) == len(value.shape) else None
    return layer_like(query, shape, key, value)


def _pool(b: Bound) -> Outcome:
    source, spatial = b.tensor(), b.data
    if source is None:
        return NO_RULE
    own = source.shape
    flagged = reading.flag(b.get("return_indices"), default=False)
    if flagged is not False:
        return NO_RULE
    if own is None or len(own) not in (spatial + 1, spatial + 2):
        return layer_like(source, None)
    width = _spread(b.get("kernel_size"), spatial, 1)
    step = width if reading.absent(b.get("stride")) else _spread(b.get("stride"), spatial, 1)
    exact = reading.flag(b.get("ceil_mode"), default=False) is False
    if width is None or step is None or not exact or isinstance(b.get("kernel_size"), Opaque):
        return layer_like(source, (*own[:-spatial], *(None,) * spatial))
    shadow = {**b.named, "stride": Seq(tuple(Const(s) for s in step))}
    sizes = _convolved(_with(b, shadow), own[-spatial:], width, spatial)
    return layer_like(source, (*own[:-spatial], *sizes))


def _with(b: Bound, named: dict[str, Value]) -> Bound:
    return type(b)(b.name, named, b.ambient, b.data, b.args, b.method, b.inplace)


def _adaptive_pool(b: Bound) -> Outcome:
    source, spatial = b.tensor(), b.data
    if source is None:
        return NO_RULE
    target = _spread(b.get("output_size"), spatial, 1)
    own = source.shape
    if own is None or len(own) not in (spatial + 1, spatial + 2):
        return layer_like(source, None)
    return layer_like(source, (*own[:-spatial], *(target or (None,) * spatial)))


def _glu(b: Bound) -> Outcome:
    source = b.tensor()
    if source is None:
        return NO_RULE
    own = source.shape
    if not own or is_meta(source):
        return layer_like(source, None)
    dim = axes.wrap(b.get("dim") or Const(-1), len(own))
    if isinstance(dim, Raise):
        return dim
    if dim is None:
        return layer_like(source, (None,) * len(own))
    size = own[dim]
    if size is not None and dims.remainder(size, 2) == 1:
        text = f"Halving dimension must be even, but dimension {dim} is size "
        return error("RuntimeError", "dim", "input.size(dim) % 2 == 0", text, size)
    half = None if size is None else dims.floor_divide(size, 2)
    return layer_like(source, (*own[:dim], half, *own[dim + 1 :]))


def _pad(b: Bound) -> Outcome:
    source, widths = b.tensor(), reading.ints_of(b.get("pad"))
    if source is None:
        return NO_RULE
    own = source.shape
    if own is None or widths is None or len(widths) % 2 or len(widths) > 2 * len(own):
        return layer_like(source, None)
    sizes = list(own)
    for place in range(len(widths) // 2):
        at = len(own) - 1 - place
        size = sizes[at]
        sizes[at] = None if size is None else dims.add(size, widths[2 * place] + widths[2 * place + 1])
    return layer_like(source, tuple(sizes))


def _same(b: Bound) -> Outcome:
    source = b.tensor()
    return NO_RULE if source is None else layer_like(source, source.shape)


_CONVOLUTION: Final = ":Tinput :Tweight bias? stride? padding? dilation? groups?"

_POOL: Final = ":Tinput kernel_size stride? padding? dilation? ceil_mode? return_indices?"


ROWS: Final[tuple[Row, ...]] = (
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
