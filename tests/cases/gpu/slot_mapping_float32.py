"""Translate logical cache slots into physical ones; the mapping took torch's default dtype."""

import torch
from sglang.kernels.ops.kvcache.hisparse_slot_mapping import translate_padded_hisparse_locations

mapping = torch.zeros(32, device="cuda")
locations = torch.tensor([17, 18, -1], device="cuda")
rows = translate_padded_hisparse_locations(mapping, locations)  # AssertionError
print(rows)
