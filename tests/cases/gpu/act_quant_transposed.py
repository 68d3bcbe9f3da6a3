"""Quantize activations in blocks of 128; they come transposed."""

import torch
from sglang.kernels.ops.quantization.act_quant_triton import act_quant

activations = torch.randn(128, 16, device="cuda")
quantized, scales = act_quant(activations.t())  # AssertionError: Input tensor must be contiguous
print(quantized.dtype, scales.shape)
