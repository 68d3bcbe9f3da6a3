"""Put the tokens of two requests into their rows of a pool that was allocated as int64."""

import torch
from sglang.kernels.ops.kv_canary.scatter_req_token_ids import launch_scatter_req_token_ids_kernel

tokens = torch.arange(10, device="cuda")
offsets = torch.tensor([0, 4, 10], device="cuda")
rows = torch.tensor([2, 5], device="cuda")
pool = torch.zeros((8, 16), dtype=torch.int64, device="cuda")
launch_scatter_req_token_ids_kernel(  # TypeError: kv-canary: scatter_req_token_ids pool_out must be int32, got torch.int64
    flat_in=tokens, offsets=offsets, req_pool_indices=rows, pool_out=pool
)
