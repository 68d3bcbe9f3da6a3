r"""Launch both kernels once for each case and each launch setting, for a memory checker to watch.

    PYTORCH_NO_CUDA_MEMORY_CACHING=1 compute-sanitizer --tool memcheck \
        --kernel-name kernel_substring=scatter_ python -m raiselens_kernel.scatter.sanitize

Without torch's caching allocator every tensor is an allocation of its own, so that a step outside one is seen.
"""

from __future__ import annotations

import sys

import torch

from raiselens_kernel.scatter.cases import drawn
from raiselens_kernel.scatter.launch import all_settings, launch_scatter_req_token_ids_kernel
from raiselens_kernel.seeds import fresh_seed


def main() -> int:
    """Launch everything, and say how many launches there were."""
    seed = fresh_seed()
    count = 0
    for _, inputs in drawn(seed=seed, device=torch.device("cuda"), large="--large" in sys.argv):
        for settings in all_settings():
            launch_scatter_req_token_ids_kernel(
                flat_in=inputs.flat_in,
                offsets=inputs.offsets,
                req_pool_indices=inputs.req_pool_indices,
                pool_out=inputs.pool_out,
                settings=settings,
                checked=True,
            )
            count += 1
        torch.cuda.synchronize()
    sys.stdout.write(f"{count} launches, seed {seed}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
