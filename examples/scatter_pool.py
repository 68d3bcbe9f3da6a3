"""Put the token ids of a batch into the pool of running requests, and print each request's row.

The pool was allocated like the inputs, as int64; the launcher wants int32, and says so once the model is loaded.
"""

import torch
from sglang.kernels.ops.kv_canary.scatter_req_token_ids import launch_scatter_req_token_ids_kernel

MAX_REQUESTS = 8
MAX_CONTEXT = 16


def main() -> None:
    """Two requests, of four and of six tokens, in rows 2 and 5 of the pool."""
    flat_in = torch.arange(10)
    offsets = torch.tensor([0, 4, 10])
    rows = torch.tensor([2, 5])
    pool = torch.zeros((MAX_REQUESTS, MAX_CONTEXT), dtype=torch.int64)
    launch_scatter_req_token_ids_kernel(
        flat_in=flat_in,
        offsets=offsets,
        req_pool_indices=rows,
        pool_out=pool,
    )
    print(pool[2, :4].tolist(), pool[5, :6].tolist())


if __name__ == "__main__":
    main()
