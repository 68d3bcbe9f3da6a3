"""The scatter's preconditions on what its inputs hold, checked on the device."""

from __future__ import annotations

import torch

from raiselens_kernel.scatter.check_kernel import check_scatter_inputs_kernel

NAME = "kv-canary: scatter_req_token_ids"
VIOLATIONS = ("start", "order", "end", "row outside", "row twice", "wide token")

_NONE = (1 << 63) - 1
_TILE = 1024


def check_scatter_inputs(
    flat_in: torch.Tensor, offsets: torch.Tensor, req_pool_indices: torch.Tensor, pool_out: torch.Tensor
) -> None:
    """Raise `ValueError` with index and value where the inputs do not say where each token goes.

    Offsets must start at 0, never decrease, and end at the number of tokens; a request that has tokens must name a
    row of the pool that no other such request names; tokens must fit int32. Takes one launch, two fills (six numbers,
    and one for each row of the pool) and a synchronisation.
    """
    found = torch.full((len(VIOLATIONS),), _NONE, dtype=torch.int64, device=flat_in.device)
    claimed = torch.full((int(pool_out.shape[0]),), _NONE, dtype=torch.int64, device=flat_in.device)
    num_tokens, num_requests = int(flat_in.shape[0]), int(req_pool_indices.shape[0])
    check_scatter_inputs_kernel[(-(-max(num_tokens, num_requests + 1) // _TILE),)](
        found,
        claimed,
        flat_in,
        offsets,
        req_pool_indices,
        num_tokens,
        num_requests,
        int(pool_out.shape[0]),
        flat_in.stride(0),
        offsets.stride(0),
        req_pool_indices.stride(0),
        TILE=_TILE,
    )
    for violation, index in zip(VIOLATIONS, found.tolist(), strict=True):
        if index != _NONE:
            raise ValueError(f"{NAME} {_described(violation, index, flat_in, offsets, req_pool_indices, pool_out)}")


def _described(
    violation: str,
    index: int,
    flat_in: torch.Tensor,
    offsets: torch.Tensor,
    req_pool_indices: torch.Tensor,
    pool_out: torch.Tensor,
) -> str:
    match violation:
        case "start":
            return f"offsets must start at 0, got {int(offsets[0])}"
        case "order":
            return (
                f"offsets must not decrease, got offsets[{index}]={int(offsets[index])} "
                f"after offsets[{index - 1}]={int(offsets[index - 1])}"
            )
        case "end":
            return f"offsets must end at the number of tokens {flat_in.shape[0]}, got {int(offsets[index])}"
        case "row outside":
            return (
                f"req_pool_indices must name rows of pool_out, got req_pool_indices[{index}]="
                f"{int(req_pool_indices[index])} with {pool_out.shape[0]} rows"
            )
        case "row twice":
            return (
                f"req_pool_indices must name no row twice, got req_pool_indices[{index}]="
                f"{int(req_pool_indices[index])} again"
            )
        case _:
            return f"flat_in must fit int32, got flat_in[{index}]={int(flat_in[index])}"
