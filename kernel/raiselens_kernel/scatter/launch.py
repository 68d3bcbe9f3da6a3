"""The scatter's launcher: what it refuses, and how the kernel is laid over the tokens."""

from __future__ import annotations

import contextlib
import functools
from dataclasses import dataclass

import torch
import triton.language as tl
from triton.backends.nvidia.compiler import CUDAOptions

from raiselens_kernel.scatter.checking import NAME, check_scatter_inputs
from raiselens_kernel.scatter.kernel import scatter_req_token_ids_kernel

SGLANG_BATCH_BLOCK = 512
"""The bound on `bs + 1` that sglang's launcher has; pass it as `batch_block` to be refused where sglang refuses."""

_NO_CONTEXT = contextlib.nullcontext()
_ALONE: dict[str, bool] = {}
_OVERLAPPED = {"launch_pdl": True}


@dataclass(frozen=True, slots=True)
class LaunchSettings:
    """How the kernel is laid over the tokens: tokens a program, warps a program.

    With `short` a program tries a lane for each request first. `part` tokens at a time search for their owners, in a
    tile of many requests. `max_registers` bounds the registers a thread gets, so that more programs fit on a
    multiprocessor. With `overlaps` programs are placed while the launch before still runs, where the device can do so;
    they wait for what it writes.
    """

    tile: int
    part: int
    num_warps: int
    max_registers: int | None = None
    short: bool = False
    overlaps: bool = True


# Few tokens do not fill a GPU: what counts is how soon one program is done.
_FEW = LaunchSettings(tile=64, part=64, num_warps=1)
_SOME = LaunchSettings(tile=256, part=256, num_warps=2)
# Many do: what counts is how many programs are under way at once, and one warp has no barriers to wait at.
_MANY = LaunchSettings(tile=512, part=64, num_warps=1, max_registers=56)
# Where every token searches, what it waits for is hidden by other programs only if there are many of them.
_CROWDED = LaunchSettings(tile=128, part=128, num_warps=1)
# A lane for each request; a batch that one program sees whole needs no search.
_SHORT = LaunchSettings(tile=64, part=64, num_warps=1, short=True)
_SHORT_BATCH = LaunchSettings(tile=256, part=256, num_warps=4, short=True)

_FEW_UP_TO = 1 << 16
_MANY_FROM = 1 << 20
_SHORT_UP_TO = 1 << 17


def launch_settings(num_tokens: int, num_requests: int) -> LaunchSettings:
    """The settings for this many tokens and requests; `docs/benchmarks.md` has the measurements behind them."""
    # A lane writes the tokens of its request one after another: that is soon done, but each is a write of its own to
    # memory, which is what counts once the GPU is full.
    if num_tokens <= max(3 * num_requests // 2, min(4 * num_requests, _SHORT_UP_TO)):
        return _SHORT_BATCH if num_requests <= _SHORT_BATCH.tile else _SHORT
    if num_tokens <= _FEW_UP_TO:
        return _FEW
    if num_tokens < _MANY_FROM:
        return _CROWDED if num_requests >= 1_024 and num_tokens < 128 * num_requests else _SOME
    return _CROWDED if num_tokens < 8 * num_requests else _MANY


def all_settings() -> tuple[LaunchSettings, ...]:
    """Every answer `launch_settings` can give."""
    return (_FEW, _SOME, _MANY, _CROWDED, _SHORT, _SHORT_BATCH)


def launch_scatter_req_token_ids_kernel(
    *,
    flat_in: torch.Tensor,
    offsets: torch.Tensor,
    req_pool_indices: torch.Tensor,
    pool_out: torch.Tensor,
    batch_block: int | None = None,
    checked: bool = False,
    settings: LaunchSettings | None = None,
) -> None:
    """Write each request's tokens into its row of the pool; see the kernel for the formula.

    `flat_in` `[n]` int64, `offsets` `[bs + 1]` int64 rising from 0 to `n`, `req_pool_indices` `[bs]` int64 naming
    rows, no row twice, `pool_out` `[rows, width]` int32, changed in place. Any strides, any `bs`. One launch, no
    synchronisation, no allocation, so it can be captured in a CUDA graph.

    Raises `ValueError` for a wrong rank, length, device or an output whose elements share memory, `TypeError` for a
    wrong dtype. `batch_block` brings back sglang's limit on `bs + 1`, for comparison. With `checked`, what the inputs
    hold is checked first, which synchronises: see `check_scatter_inputs`. Without it, tokens that no request owns and
    rows outside the pool are left out, and of two requests with one row either may win.
    """
    _check_ranks_and_dtypes(flat_in, offsets, req_pool_indices, pool_out)
    num_requests = int(req_pool_indices.shape[0])
    _check_lengths(int(offsets.shape[0]), num_requests, batch_block)
    _check_memory(flat_in, offsets, req_pool_indices, pool_out)

    if checked:
        with _current(flat_in.device):
            check_scatter_inputs(flat_in, offsets, req_pool_indices, pool_out)

    num_tokens = int(flat_in.shape[0])
    num_rows, width = (int(size) for size in pool_out.shape)
    if num_tokens == 0 or num_requests == 0 or num_rows == 0 or width == 0:
        return
    chosen = settings or launch_settings(num_tokens, num_requests)
    overlaps = chosen.overlaps and flat_in.is_cuda and can_overlap(flat_in.device.index)
    with _current(flat_in.device):
        scatter_req_token_ids_kernel[(-(-num_tokens // chosen.tile),)](
            pool_out,
            flat_in,
            offsets,
            req_pool_indices,
            num_tokens,
            num_requests,
            num_rows,
            width,
            pool_out.stride(0),
            pool_out.stride(1),
            flat_in.stride(0),
            offsets.stride(0),
            req_pool_indices.stride(0),
            TILE=chosen.tile,
            PART=chosen.part,
            SHORT=chosen.short,
            OVERLAP=overlaps,
            num_warps=chosen.num_warps,
            maxnreg=chosen.max_registers,
            **_OVERLAPPED if overlaps else _ALONE,
        )


def _check_ranks_and_dtypes(
    flat_in: torch.Tensor, offsets: torch.Tensor, req_pool_indices: torch.Tensor, pool_out: torch.Tensor
) -> None:
    if (
        flat_in.dim() == offsets.dim() == req_pool_indices.dim() == 1
        and pool_out.dim() == 2
        and flat_in.dtype == offsets.dtype == req_pool_indices.dtype == torch.int64
        and pool_out.dtype == torch.int32
    ):
        return
    contract = (
        ("flat_in", flat_in, 1, torch.int64),
        ("offsets", offsets, 1, torch.int64),
        ("req_pool_indices", req_pool_indices, 1, torch.int64),
        ("pool_out", pool_out, 2, torch.int32),
    )
    for name, tensor, rank, _ in contract:
        if tensor.dim() != rank:
            raise ValueError(f"{NAME} {name} must be {rank}-D, got shape {tuple(tensor.shape)}")
    for name, tensor, _, dtype in contract:
        if tensor.dtype != dtype:
            raise TypeError(f"{NAME} {name} must be {str(dtype).removeprefix('torch.')}, got {tensor.dtype}")


def _check_lengths(num_offsets: int, num_requests: int, batch_block: int | None) -> None:
    if num_offsets != num_requests + 1:
        raise ValueError(f"{NAME} offsets length {num_offsets} != bs+1 ({num_requests + 1})")
    if batch_block is not None and num_requests + 1 > batch_block:
        raise ValueError(
            f"{NAME} bs+1={num_requests + 1} exceeds BATCH_BLOCK={batch_block}; "
            "bump _SCATTER_BATCH_BLOCK if real workloads need this"
        )


def _check_memory(
    flat_in: torch.Tensor, offsets: torch.Tensor, req_pool_indices: torch.Tensor, pool_out: torch.Tensor
) -> None:
    device = flat_in.device
    for name, tensor in (("offsets", offsets), ("req_pool_indices", req_pool_indices), ("pool_out", pool_out)):
        if tensor.device != device:
            raise ValueError(f"{NAME} {name} must be on flat_in's device {device}, got {tensor.device}")
    if not pool_out.is_contiguous() and _may_overlap(pool_out):
        raise ValueError(
            f"{NAME} pool_out must not share memory between its elements, got shape {tuple(pool_out.shape)} "
            f"with strides {pool_out.stride()}"
        )


@functools.cache
def can_overlap(device_index: int) -> bool:
    """Whether a launch there may be placed while the one before it still runs (programmatic dependent launch)."""
    known = hasattr(tl.extra.cuda, "gdc_wait") and "launch_pdl" in CUDAOptions.__dataclass_fields__
    return known and torch.version.hip is None and torch.cuda.get_device_capability(device_index) >= (9, 0)


def _current(device: torch.device) -> contextlib.AbstractContextManager[object]:
    """`device` as the current one; nothing where it is already, or where the kernel is interpreted on the CPU."""
    if device.type != "cuda" or device.index == torch.cuda.current_device():
        return _NO_CONTEXT
    return torch.cuda.device(device)


def _may_overlap(tensor: torch.Tensor) -> bool:
    """Whether two elements of a 2-D tensor may share memory; false only where one dimension steps over the other."""
    axes = sorted((stride, size) for stride, size in zip(tensor.stride(), tensor.shape, strict=True) if size > 1)
    reach = 0
    for stride, size in axes:
        if stride <= reach:
            return True
        reach += stride * (size - 1)
    return False
