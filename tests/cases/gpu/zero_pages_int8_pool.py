"""Clear two pages of a KV pool; the pool was allocated as int8, and pages are zeroed in a uint8 one."""

import torch
from sglang.kernels.ops.kvcache.zero_pages import zero_pages

PAGE_BYTES = 4096

pool = torch.zeros(64 * PAGE_BYTES, dtype=torch.int8, device="cuda")
freed = torch.tensor([3, 17], device="cuda")
zero_pages(pool, freed, 64, PAGE_BYTES)  # AssertionError: expected uint8 pool, got torch.int8
