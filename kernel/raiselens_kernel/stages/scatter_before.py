"""The bundled scatter as it stands before a repair: it must raise what was predicted."""

from __future__ import annotations

from typing import Any

import torch

from raiselens_kernel.messages import printed_class, same_class, same_message
from raiselens_kernel.scatter.guards import GUARDS, arguments_raising
from raiselens_kernel.scatter.launch import SGLANG_BATCH_BLOCK, launch_scatter_req_token_ids_kernel


def run(request: dict[str, Any]) -> dict[str, Any]:
    """`before` for the finding; without one each of the ten guards, and the first that failed or the last of all."""
    device = torch.device(request["device"])
    target = request["target"]
    if target["kind"] == "finding":
        predicted = target["predicted"]
        return {"before": _before(predicted["class"], predicted["message"], predicted["holes"], device)}
    outcomes = [_before(guard.class_name, guard.message, (), device) for guard in GUARDS]
    failed = [outcome for outcome in outcomes if not outcome["as_predicted"]]
    shown = failed[0] if failed else next(o for o in outcomes if "pool_out must be int32" in o["message"])
    return {"before": {**shown, "guards": len(outcomes), "guards_as_predicted": len(outcomes) - len(failed)}}


def _before(class_name: str, message: str, holes: Any, device: torch.device) -> dict[str, Any]:
    arguments = arguments_raising(message, {}, device)
    try:
        launch_scatter_req_token_ids_kernel(
            flat_in=arguments["flat_in"],
            offsets=arguments["offsets"],
            req_pool_indices=arguments["req_pool_indices"],
            pool_out=arguments["pool_out"],
            batch_block=SGLANG_BATCH_BLOCK,
        )
    except Exception as error:  # noqa: BLE001 -- what it raises is the answer
        raised, text = printed_class(error), str(error)
    else:
        return {"class": "", "message": "", "as_predicted": False}
    spans = [(start, end) for start, end, *_ in holes]
    agrees = same_class(raised, class_name) and same_message(text, message, spans)
    return {"class": raised, "message": text, "as_predicted": agrees}
