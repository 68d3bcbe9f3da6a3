"""Other ways to do the scatter, for the bench: sglang's own launcher, and torch without a kernel of ours."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_SGLANG_MODULE = "sglang.kernels.ops.kv_canary.scatter_req_token_ids"
_FUNCTION = "launch_scatter_req_token_ids_kernel"


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
