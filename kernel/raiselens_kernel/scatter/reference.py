"""The scatter in plain torch: what the kernel must equal, element by element."""

from __future__ import annotations

import torch


def scatter_req_token_ids_reference(
    *, flat_in: torch.Tensor, offsets: torch.Tensor, req_pool_indices: torch.Tensor, pool_out: torch.Tensor
) -> None:
    """`pool_out[req_pool_indices[r], t - offsets[r]] = int32(flat_in[t])`, where `offsets[r] <= t < offsets[r + 1]`.

    `flat_in` `[n]` int64, `offsets` `[bs + 1]` int64 rising from 0 to `n`, `req_pool_indices` `[bs]` int64 naming a
    row of `pool_out` `[rows, width]` int32, no row twice. Positions from `width` on are dropped; what no token
    addresses stays as it was. Works on any device and any strides; allocates some 50 bytes a token and synchronises.
    """
    num_requests = req_pool_indices.shape[0]
    requests = torch.arange(num_requests, device=flat_in.device)
    owner = torch.repeat_interleave(requests, offsets[1:] - offsets[:-1])
    column = torch.arange(flat_in.shape[0], device=flat_in.device) - offsets[owner]
    kept = column < pool_out.shape[1]
    pool_out[req_pool_indices[owner[kept]], column[kept]] = flat_in[kept].to(torch.int32)
