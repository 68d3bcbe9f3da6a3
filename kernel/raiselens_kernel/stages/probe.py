"""What there is to run on: versions and devices, or why torch or triton cannot be used."""

from __future__ import annotations

import platform
from typing import Any


def run(request: dict[str, Any]) -> dict[str, Any]:
    """`versions` and `devices` (`[{"name", "arch"}]`, empty without CUDA), or `missing` with one line."""
    del request
    try:
        import torch
        import triton
    except Exception as error:  # noqa: BLE001 -- a broken installation raises anything
        package = "triton" if "torch" in locals() else "torch"
        lines = str(error).strip().splitlines() or [type(error).__name__]
        return {"missing": f"{package} cannot be imported: {lines[0]}"}
    versions = {"torch": torch.__version__, "triton": triton.__version__, "python": platform.python_version()}
    devices = []
    if torch.cuda.is_available():
        for index in range(torch.cuda.device_count()):
            major, minor = torch.cuda.get_device_capability(index)
            devices.append({"name": torch.cuda.get_device_name(index), "arch": f"sm_{major}{minor}"})
    return {"versions": versions, "devices": devices}
