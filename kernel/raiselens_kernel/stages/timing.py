"""Time the bundled scatter beside a copy of as many tokens, in one run on one device."""

from __future__ import annotations

from typing import Any

import torch

from raiselens_kernel.scatter.cases import draw
from raiselens_kernel.scatter.launch import launch_scatter_req_token_ids_kernel
from raiselens_kernel.scatter.timing import device_times, host_time
from raiselens_kernel.scatter.workloads import copies, launches, typical


def run(request: dict[str, Any]) -> dict[str, Any]:
    """`timing`, in microseconds; also the number of tokens it holds for."""
    torch.cuda.set_device(request["device"])
    workload = typical()
    inputs = workload.rotated(draw(request["seed"], workload.name, torch.device("cuda")))
    ours = launches(inputs, launch_scatter_req_token_ids_kernel)
    time, copy = (result.median for result in device_times([ours, copies(inputs)]))
    return {
        "timing": {
            "us": round(time, 2),
            "copy_us": round(copy, 2),
            "share": round(copy / time, 3),
            "launch_us": round(host_time(ours[0]).median, 2),
            "tokens": int(inputs[0].flat_in.shape[0]),
            "requests": int(inputs[0].req_pool_indices.shape[0]),
        }
    }
