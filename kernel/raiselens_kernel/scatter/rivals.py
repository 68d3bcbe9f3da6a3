"""What the bench holds the scatter against: sglang's launcher, torch alone, a kernel told all places, an empty one."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from typing import TYPE_CHECKING, Any

import torch
import triton
import triton.language as tl

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from raiselens_kernel.scatter.cases import ScatterInputs

_SGLANG_MODULE = "sglang.kernels.ops.kv_canary.scatter_req_token_ids"
_FUNCTION = "launch_scatter_req_token_ids_kernel"
_TILE = 256


def index_put(
    *, flat_in: torch.Tensor, offsets: torch.Tensor, req_pool_indices: torch.Tensor, pool_out: torch.Tensor
) -> None:
    """The scatter by `searchsorted` and `index_put_`: no synchronisation, but no clipping either."""
    token = torch.arange(flat_in.shape[0], device=flat_in.device)
    owner = torch.searchsorted(offsets, token, right=True) - 1
    pool_out.index_put_((req_pool_indices[owner], token - offsets[owner]), flat_in.to(torch.int32))


def compiled_index_put() -> Callable[..., Any]:
    """`index_put` through `torch.compile`, one compilation for all sizes."""
    return torch.compile(index_put, dynamic=True)


def sglang_launcher(file: Path | None) -> Callable[..., Any] | None:
    """Sglang's launcher: from its module's file where one is named, else from the installed package, else `None`."""
    if file is not None:
        spec = importlib.util.spec_from_file_location("sglang_scatter_req_token_ids", file)
        if spec is None or spec.loader is None:
            return None
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
        return getattr(module, _FUNCTION, None)
    try:
        return getattr(importlib.import_module(_SGLANG_MODULE), _FUNCTION, None)
    except Exception:  # noqa: BLE001 -- absent or broken, it is not here to be measured
        return None


def place_of_each_token(inputs: ScatterInputs) -> torch.Tensor:
    """`[tokens]` int64: where each token goes, in elements from the pool's first; for a pool whose rows are packed."""
    requests = torch.arange(inputs.req_pool_indices.shape[0], device=inputs.flat_in.device)
    owner = torch.repeat_interleave(requests, inputs.offsets[1:] - inputs.offsets[:-1])
    column = torch.arange(inputs.flat_in.shape[0], device=inputs.flat_in.device) - inputs.offsets[owner]
    return inputs.req_pool_indices[owner] * inputs.pool_out.stride(0) + column


def put_at_places(inputs: ScatterInputs, places: torch.Tensor) -> None:
    """`pool.view(-1)[places] = flat_in`: the scatter with nothing to search for, and 8 bytes more to read a token."""
    num_tokens = inputs.flat_in.shape[0]
    grid = (triton.cdiv(num_tokens, _TILE),)
    _put_at_places_kernel[grid](inputs.pool_out, inputs.flat_in, places, num_tokens, TILE=_TILE)


def empty_launch(anything: torch.Tensor) -> Callable[[], object]:
    """A launch of one program that does nothing: what any launch costs."""
    return lambda: _empty_kernel[(1,)](anything)


@triton.jit(do_not_specialize=["num_tokens"])
def _put_at_places_kernel(pool_ptr, flat_ptr, places_ptr, num_tokens, TILE: tl.constexpr):  # type: ignore[no-untyped-def]
    position = tl.program_id(0).to(tl.int64) * TILE + tl.arange(0, TILE)
    here = position < num_tokens
    token = tl.load(flat_ptr + position, mask=here, other=0).to(tl.int32)
    tl.store(pool_ptr + tl.load(places_ptr + position, mask=here, other=0), token, mask=here)


@triton.jit
def _empty_kernel(pointer):  # type: ignore[no-untyped-def]
    pass
