"""Random arguments for the operations of the rule tables, mostly ones that fit."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

if TYPE_CHECKING:
    from raiselens_server.values.ops.table import Entry

from tests.values.oracle import DTYPES


class Arguments:
    """Random arguments, drawn by the names of parameters; tensors come from a small pool."""

    def __init__(self, seed: int, *, vague: bool) -> None:
        self.rng = random.Random(seed)  # noqa: S311 - not for secrets
        self.vague = vague
        self.pool: list[torch.Tensor] = []

    def tensor(self) -> torch.Tensor:
        """A tensor of the pool, or a new one."""
        rng = self.rng
        if self.pool and rng.random() < 0.6:
            return rng.choice(self.pool)
        return self.new(tuple(rng.choice([1, 2, 3, 4, 4, 0]) for _ in range(rng.choice([0, 1, 1, 2, 2, 2, 3, 3, 4]))))

    def new(self, shape: tuple[int, ...], dtype: torch.dtype | None = None) -> torch.Tensor:
        """A tensor of a given shape; its values are small enough to be indices."""
        rng = self.rng
        device = "meta" if rng.random() < 0.12 else "cpu"
        chosen = dtype or rng.choice(DTYPES)
        made = (
            torch.ones(shape, dtype=chosen, device=device)
            if rng.random() < 0.5
            else torch.zeros(shape, dtype=chosen, device=device)
        )
        if made.dim() >= 2 and rng.random() < 0.3:
            made = made.transpose(rng.randrange(made.dim()), rng.randrange(made.dim()))
        if made.dim() and made.size(-1) > 1 and rng.random() < 0.1:
            made = made[..., ::2]
        if made.is_floating_point() and rng.random() < 0.06:
            made.requires_grad_()
        return made

    def near(self, tensor: torch.Tensor) -> torch.Tensor:
        """A tensor that has something to do with `tensor`."""
        rng = self.rng
        shape = list(tensor.shape)
        match rng.randrange(7):
            case 0 if shape:
                shape.pop(rng.randrange(len(shape)))
            case 1 if shape:
                shape[rng.randrange(len(shape))] = rng.choice([1, 2, 5])
            case 2 if len(shape) >= 2:
                shape[-1], shape[-2] = shape[-2], shape[-1]
            case 3:
                return self.tensor()
            case _:
                pass
        return self.new(tuple(shape), rng.choice([tensor.dtype, tensor.dtype, None]))

    def index(self, tensor: torch.Tensor) -> torch.Tensor:
        """An index tensor, mostly."""
        rng = self.rng
        dtype = rng.choice([torch.int64, torch.int64, torch.int64, torch.int32, torch.float32, torch.bool, torch.int16])
        made = self.near(tensor) if rng.random() < 0.7 else self.new((rng.choice([1, 2, 3]),))
        return torch.zeros(made.shape, dtype=dtype, device=made.device)

    def number(self) -> Any:
        """A Python number."""
        return self.rng.choice([0, 1, 2, -1, 3, 0.5, 1.5, True, 2])

    def dim(self) -> int:
        """A dimension, sometimes out of range."""
        return self.rng.choice([0, 0, 1, 1, -1, -2, 2, 3, -3])

    def size(self, tensor: torch.Tensor) -> tuple[int, ...]:
        """Sizes that may suit `tensor`."""
        rng = self.rng
        count = tensor.numel()
        match rng.randrange(6):
            case 0:
                return (-1,)
            case 1 if count % 2 == 0:
                return (2, count // 2)
            case 2:
                return (*tensor.shape, 1)
            case 3:
                return (rng.choice([2, 3]), *tensor.shape)
            case 4:
                return (-1, rng.choice([1, 2, 3, 4]))
            case _:
                return tuple(rng.choice([-1, 1, 2, 3, 4]) for _ in range(rng.randrange(1, 4)))

    def argument(self, name: str, first: torch.Tensor, entry: Entry) -> Any:
        """An argument for the parameter `name`."""
        rng = self.rng
        match name:
            case "dim" | "dim0" | "dim1" | "start_dim" | "end_dim":
                many = (
                    entry.short in ("sum", "mean", "amax", "amin", "all", "squeeze", "std", "var")
                    and rng.random() < 0.2
                )
                return (self.dim(), self.dim()) if many else self.dim()
            case "other" | "exponent" | "min" | "max" | "tensor1" | "tensor2":
                return self.near(first) if rng.random() < 0.7 else self.number()
            case "source" | "destination" if entry.short in {"movedim", "moveaxis"}:
                return self.dim()
            case "mat1" | "mat2" | "weight" | "src" | "source" | "values" | "target" | "bias" | "key" | "query":
                return self.near(first)
            case "value" if entry.short == "scaled_dot_product_attention":
                return self.near(first)
            case "index" | "indices" if entry.short != "select":
                return (self.index(first),) if entry.short == "index_put" else self.index(first)
            case "mask":
                made = self.near(first)
                return made.bool() if rng.random() < 0.7 else made
            case "condition":
                return self.near(first).bool() if rng.random() < 0.7 else self.near(first)
            case "dtype":
                return rng.choice(DTYPES)
            case "device":
                return rng.choice(["cpu", "meta", torch.device("cpu")])
            case "size" if entry.short == "interpolate":
                return rng.choice([4, (4,), (3, 4), [2, 3]])
            case "output_size" if entry.short == "repeat_interleave":
                return None
            case "size" if entry.short == "unfold":
                return rng.choice([1, 2, 3])
            case "size" | "sizes" | "shape" | "repeats" if entry.short != "repeat_interleave":
                return self.size(first)
            case "dims":
                dims = list(range(first.dim()))
                rng.shuffle(dims)
                return tuple(dims) if rng.random() < 0.8 else (self.dim(), self.dim())
            case (
                "keepdim" | "requires_grad" | "as_tuple" | "copy" | "training" | "sorted" | "descending" | "stable" | "largest"
                | "unbiased" | "accumulate" | "include_self"
            ):  # fmt: skip
                return rng.random() < 0.5
            case (
                "align_corners"
                | "recompute_scale_factor"
                | "log_target"
                | "upper"
                | "is_causal"
                | "enable_gqa"
                | "ceil_mode"
            ):
                return False
            case "return_indices" | "cudnn_enable" | "full_matrices" | "antialias" | "count_include_pad" | "left":
                return name == "left"
            case "UPLO":
                return "L"
            case "reduction":
                return rng.choice(["mean", "none", "sum"])
            case "type" | "type1" | "type2" | "from_" | "to":
                return rng.choice(DTYPES)
            case "alpha" | "beta" | "value" if entry.short not in {"index_fill", "fill_", "masked_fill"}:
                return 1
            case "dropout_p" | "p" if entry.short not in {"norm", "normalize"}:
                return rng.choice([0.0, 0.5, 1.5])
            case "scale" | "attn_mask" | "mode" | "driver":
                return (
                    None
                    if name != "mode"
                    else "constant"
                    if entry.short == "pad"
                    else "nearest"
                    if entry.short == "interpolate"
                    else "reduced"
                )
            case "stride" | "dilation" | "kernel_size" if entry.short != "empty_strided":
                return rng.choice([1, 2, (1, 2)])
            case "padding" | "start" | "length" | "index" if entry.short in {"narrow", "select"} or name == "padding":
                return rng.choice([0, 1, 1, 2])
            case "groups":
                return 1
            case "pad":
                return rng.choice([(1, 1), (1, 0, 2, 1), (0, 2)])
            case "scale_factor":
                return rng.choice([2, (2,), (2.0, 2.0)])
            case "output_size":
                return rng.choice([1, 2, (1, 2)])
            case "running_mean" | "running_var":
                return (
                    None if rng.random() < 0.3 else self.new((first.size(1) if first.dim() > 1 else 3,), torch.float32)
                )
            case "weight" | "bias" if entry.short in {"layer_norm", "rms_norm", "group_norm", "batch_norm"}:
                return self.new(
                    (
                        first.size(-1 if "layer" in entry.short or "rms" in entry.short else 1)
                        if first.dim() > 1
                        else 3,
                    ),
                    rng.choice([first.dtype, first.dtype, torch.float32]),
                )
            case "weight" if entry.short.startswith("conv"):
                return self.new(
                    (2, first.size(1) if first.dim() > 1 else 2, *(2,) * int(entry.short[4])),
                    rng.choice([first.dtype, first.dtype, None]),
                )
            case "bias" if entry.short.startswith("conv"):
                return self.new((2,), first.dtype)
            case "A" | "B" | "vec" | "vec2" | "tensor" | "src":
                return self.near(first)
            case "approximate":
                return "none"
            case "eps" | "nan" | "posinf" | "neginf" | "min_val" | "negative_slope" | "threshold" | "label_smoothing":
                return 0.1
            case "tensors":
                rest = [self.near(first) if rng.random() < 0.5 else first for _ in range(rng.choice([1, 1, 2]))]
                return [first, *rest]
            case "split_size" | "split_size_or_sections":
                return rng.choice([1, 2, 3, 0, [1, 2], [2, 2], [1, 1, 1]])
            case "stride":
                return (1,) * rng.choice([1, 2])
            case "data" if entry.short == "Parameter":
                return first
            case "boundaries" | "sorted_sequence" | "elements" | "test_elements":
                return self.near(first)
            case "num_samples" | "dimension" | "step":
                return rng.choice([0, 1, 1, 2])
            case "data" | "object":
                return rng.choice(
                    [
                        1,
                        2.5,
                        True,
                        [1, 2],
                        [1.0, 2],
                        [[1, 2], [3, 4]],
                        [[1], [2, 3]],
                        [],
                        first,
                        (1, 2),
                        torch.Size([2, 3]),
                    ]
                )
            case "ndarray":
                return rng.choice([np.zeros((2, 3), dtype=rng.choice(["int32", "float64", "float32", "int64"])), [1]])
            case "rounding_mode":
                return rng.choice(["floor", "trunc", None])
            case "p" | "ord":
                return 2
            case "reduce":
                return "sum"
            case "num_classes":
                return rng.choice([-1, 3, 5])
            case "normalized_shape":
                return tuple(first.shape[-rng.choice([1, 2]) :]) if rng.random() < 0.7 else (4,)
            case "start" | "end" | "step" | "low" | "high" | "fill_value" | "alpha" | "beta":
                return self.number()
            case _:
                return rng.choice([0, 1, 2, 3])

    def subscript(self, tensor: torch.Tensor) -> Any:
        """An index for `tensor`."""
        rng = self.rng

        def one(dim: int) -> Any:
            size = tensor.size(dim) if dim < tensor.dim() else 2
            match rng.randrange(10):
                case 0 | 1:
                    return rng.choice([0, -1, 1, size - 1, size, 2])
                case 2 | 3:
                    return slice(None)
                case 4 | 5:
                    return slice(
                        rng.choice([None, 0, 1, -1]),
                        rng.choice([None, 1, 2, size, -1, 9]),
                        rng.choice([None, None, 1, 2]),
                    )
                case 6:
                    return rng.choice([None, ..., True, [0, 0], [True] * size])
                case 7:
                    return self.index(tensor)
                case 8:
                    return torch.zeros(
                        rng.choice([(2,), (1,), (), (2, 1)]), dtype=rng.choice([torch.int64, torch.int32])
                    )
                case _:
                    return torch.ones(size, dtype=torch.bool)

        count = rng.choice([1, 1, 1, 2, 2, 3])
        return one(0) if count == 1 else tuple(one(dim) for dim in range(count))


def raw_arguments(program: Arguments, entry: Entry, first: torch.Tensor) -> tuple[list[Any], dict[str, Any]]:
    """Arguments for the rules that read them unbound."""
    rng = program.rng
    if entry.short == "to":
        options: list[Any] = [
            [torch.int32], ["cpu"], ["meta"], [torch.device("meta"), torch.float16], [program.near(first)], ["cpu", torch.float64], [],
        ]  # fmt: skip
        kwargs = rng.choice([{}, {}, {"dtype": torch.int64}, {"copy": True}, {"non_blocking": True}])
        chosen = rng.choice(options)
        return [first, *chosen], kwargs if chosen or "dtype" in kwargs else {"dtype": torch.float32}
    if entry.short == "einsum":
        equation = rng.choice(
            ["ij,jk->ik", "ij,kj->ik", "ij,kj", "i,i->", "bij,bjk->bik", "ij->ji", "ij,ij->ijz", "ij"]
        )
        return [
            equation,
            *[first if rng.random() < 0.5 else program.near(first) for _ in range(equation.count(",") + 1)],
        ], {}
    if entry.short == "arange":
        return [program.number() for _ in range(rng.choice([1, 2, 3]))], rng.choice([{}, {"dtype": torch.int32}])
    if entry.short == "randint":
        return rng.choice([[3, (2, 3)], [0, 5, (4,)], [5, 2, (3,)]]), rng.choice([{}, {"dtype": torch.int32}])
    return rng.choice([[2, 3], [[1, 2]], [first], [torch.Size([2])], [(2, 3)], [4], []]), {}


SKIPPED = {
    "layout", "pin_memory", "size_average", "type_", "enable", "delta", "generator", "names", "memory_format", "non_blocking", "_stacklevel", "inplace", "like", "order", "subok",
    "sparse_grad", "force", "out", "max_norm", "norm_type", "scale_grad_by_freq",
    "side",
    "sorter",
    "gradient",
    "retain_graph",
    "create_graph",
    "inputs",
    "storage_offset",
    "rtol",
    "atol", "sparse", "implicit",
}  # fmt: skip
