// The programs and texts that the stories are about.

const HEAD = `import torch
from sglang.kernels.ops.kv_canary.scatter_req_token_ids import launch_scatter_req_token_ids_kernel
`;

export const SCATTER = `${HEAD}
flat_in = torch.arange(10)
offsets = torch.tensor([0, 4, 10])
rows = torch.tensor([2, 5])
pool = torch.zeros((8, 16), dtype=torch.int64)
launch_scatter_req_token_ids_kernel(flat_in=flat_in, offsets=offsets, req_pool_indices=rows, pool_out=pool)
`;

export const MESSAGE = "TypeError: kv-canary: scatter_req_token_ids pool_out must be int32, got torch.int64";
export const FIX = "Allocate `pool` as torch.int32";
