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

/** A program that fails with `fail`, and its module with a check; torch is the real one. */
export const TRAIN = {
  "buffers.py": `import torch


def store(pool):
    if pool.dtype != torch.int32:
        raise TypeError(f"pool must be int32, got {pool.dtype}")
`,
  "train.py": `import sys

import torch
from buffers import store


def main(name):
    pool = torch.zeros(4, dtype=torch.int64)
    if name == "fail":
        store(pool)


main(*sys.argv[1:])
`,
};
export const TRAIN_MESSAGE = "TypeError: pool must be int32, got torch.int64";

export const LOG = `[2026-11-30 09:12:44] INFO KV cache allocated: 18.25 GB
[rank0]: Traceback (most recent call last):
[rank1]: Traceback (most recent call last):
[rank0]:   File "{ws}/main.py", line 8, in <module>
[rank1]:   File "{ws}/main.py", line 8, in <module>
[rank0]:     launch_scatter_req_token_ids_kernel(
[rank1]:     launch_scatter_req_token_ids_kernel(
[rank0]: ${MESSAGE}
[rank1]: ${MESSAGE}
`;
