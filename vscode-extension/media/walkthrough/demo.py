"""Put the token ids of a batch into the pool of running requests.

Everything here is int64, like the inputs; the launcher wants an int32 pool, and says so once the model is loaded.
"""

import torch
from sglang.kernels.ops.kv_canary.scatter_req_token_ids import launch_scatter_req_token_ids_kernel


def main() -> None:
    flat_in = torch.arange(10)
    offsets = torch.tensor([0, 4, 10])
    rows = torch.tensor([2, 5])
    pool = torch.zeros((8, 16), dtype=torch.int64)
    launch_scatter_req_token_ids_kernel(
        flat_in=flat_in,
        offsets=offsets,
        req_pool_indices=rows,
        pool_out=pool,
    )


if __name__ == "__main__":
    main()
