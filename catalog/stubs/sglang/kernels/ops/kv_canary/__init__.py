"""Guard stubs."""

from sglang.kernels.ops.kv_canary.scatter_req_token_ids import launch_scatter_req_token_ids_kernel

__all__ = ["launch_scatter_req_token_ids_kernel"]
