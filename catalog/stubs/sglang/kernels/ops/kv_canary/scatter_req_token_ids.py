"""Guards of sglang's scatter of flat token ids into the request pool."""

from __future__ import annotations

import torch

_SCATTER_BATCH_BLOCK: int = 512


def launch_scatter_req_token_ids_kernel(
    *,
    flat_in: torch.Tensor,
    offsets: torch.Tensor,
    req_pool_indices: torch.Tensor,
    pool_out: torch.Tensor,
) -> None:
    """Check the arguments of the scatter: ranks, then dtypes, then sizes.

    `flat_in` [total_tokens] int64, `offsets` [bs + 1] int64, `req_pool_indices` [bs] int64,
    `pool_out` [max_reqs, max_context_len] int32.
    """
    if flat_in.dim() != 1:
        raise ValueError(f"kv-canary: scatter_req_token_ids flat_in must be 1-D, got shape {tuple(flat_in.shape)}")
    if offsets.dim() != 1:
        raise ValueError(f"kv-canary: scatter_req_token_ids offsets must be 1-D, got shape {tuple(offsets.shape)}")
    if req_pool_indices.dim() != 1:
        raise ValueError(
            "kv-canary: scatter_req_token_ids req_pool_indices must be 1-D, "
            f"got shape {tuple(req_pool_indices.shape)}"
        )
    if pool_out.dim() != 2:
        raise ValueError(f"kv-canary: scatter_req_token_ids pool_out must be 2-D, got shape {tuple(pool_out.shape)}")
    if flat_in.dtype != torch.int64:
        raise TypeError(f"kv-canary: scatter_req_token_ids flat_in must be int64, got {flat_in.dtype}")
    if offsets.dtype != torch.int64:
        raise TypeError(f"kv-canary: scatter_req_token_ids offsets must be int64, got {offsets.dtype}")
    if req_pool_indices.dtype != torch.int64:
        raise TypeError(
            f"kv-canary: scatter_req_token_ids req_pool_indices must be int64, got {req_pool_indices.dtype}"
        )
    if pool_out.dtype != torch.int32:
        raise TypeError(f"kv-canary: scatter_req_token_ids pool_out must be int32, got {pool_out.dtype}")
    bs = int(req_pool_indices.shape[0])
    if int(offsets.shape[0]) != bs + 1:
        raise ValueError(
            f"kv-canary: scatter_req_token_ids offsets length {offsets.shape[0]} != bs+1 ({bs + 1})"
        )
    if bs + 1 > _SCATTER_BATCH_BLOCK:
        raise ValueError(
            f"kv-canary: scatter_req_token_ids bs+1={bs + 1} exceeds BATCH_BLOCK={_SCATTER_BATCH_BLOCK}; "
            "bump _SCATTER_BATCH_BLOCK if real workloads need this"
        )
