"""Tensors on two devices in an operation that checks them before it runs a CUDA kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raiselens_server.values.lattice import HolePart
from raiselens_server.values.ops.building import SAME_DEVICE, device_text, error

if TYPE_CHECKING:
    from raiselens_server.values.lattice import Device, Tensor
    from raiselens_server.values.ops.outcome import Raise


def apart(left: Device | None, right: Device | None) -> bool:
    """Whether two tensors are certainly on different real devices, one of them no cpu; meta tensors may mix."""
    if left is None or right is None or "meta" in (left.type, right.type):
        return False
    if left.type != right.type:
        return True
    return left.index is not None and right.index is not None and left.index != right.index


def device_mismatch(first: Tensor, second: Tensor, name: str, method: str | None) -> Raise | None:
    """The raise of `second`, torch's argument `name`, on another device than `first`.

    `method`: the C++ wrapper that the message names; None where it depends.
    """
    if not apart(first.device, second.device) or not first.shape or not second.shape:
        return None
    if method is None or first.device is None or second.device is None:
        return error(
            "RuntimeError",
            name,
            SAME_DEVICE,
            "Expected all tensors to be on the same device, but ",
            HolePart("what differs"),
        )
    return error(
        "RuntimeError",
        name,
        SAME_DEVICE,
        f"Expected all tensors to be on the same device, but got {name} is on ",
        device_text(second.device),
        ", different from other tensors on ",
        device_text(first.device),
        f" (when checking argument in method wrapper_CUDA_{method})",
    )
