"""Compile the scatter's kernel for GPUs that are not here, with Triton's own compiler.

Values proven in Triton's interpreter do not prove that a kernel compiles. This must run in a process without
`TRITON_INTERPRET`, where `@triton.jit` gives a compilable function.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from raiselens_kernel.scatter.check_kernel import check_scatter_inputs_kernel
from raiselens_kernel.scatter.kernel import scatter_req_token_ids_kernel
from raiselens_kernel.scatter.launch import all_settings

if TYPE_CHECKING:
    from collections.abc import Iterator

TARGETS = (80, 90, 100)
"""The CUDA architectures compiled for: A100, H100 and H200, B200."""

_POINTERS = {
    "pool_ptr": "*i32",
    "found_ptr": "*i64",
    "claimed_ptr": "*i64",
    "flat_ptr": "*i64",
    "offsets_ptr": "*i64",
    "rows_ptr": "*i64",
}
_STRIDES = ("col_step", "flat_stride", "offsets_stride", "rows_stride")
_CHECK_TILE = {"TILE": 1024}
_OVERLAPS_FROM = 90


@dataclass(frozen=True, slots=True)
class Compiled:
    """What one target came to: `None`, or the first error in one line."""

    target: str
    error: str | None


def compile_for(architecture: int) -> Compiled:
    """Compile every variant that the launcher may pick for one architecture (`90` for `sm_90`)."""
    target = f"sm_{architecture}"
    for name, source, options in variants(overlaps=architecture >= _OVERLAPS_FROM):
        try:
            kernel = triton.compile(source, target=GPUTarget("cuda", architecture, 32), options=options)
        except Exception as error:  # noqa: BLE001 -- whatever the compiler raises is the answer
            return Compiled(target, f"{name}: {type(error).__name__}: {str(error).strip().splitlines()[-1]}")
        if not kernel.asm.get("cubin"):
            return Compiled(target, f"{name}: no machine code came out")
    return Compiled(target, None)


def variants(*, overlaps: bool) -> Iterator[tuple[str, ASTSource, dict[str, Any]]]:
    """Each variant's name, source and compile options."""
    for settings in all_settings():
        constants = {"TILE": settings.tile, "PART": settings.part, "SHORT": settings.short, "OVERLAP": overlaps}
        options = {"num_warps": settings.num_warps, "maxnreg": settings.max_registers}
        for contiguous, size_type in ((True, "i32"), (False, "i64")):
            name = f"tile {settings.tile}, {'contiguous' if contiguous else 'strided'}, {size_type} sizes"
            yield name, _source(scatter_req_token_ids_kernel, constants, size_type, contiguous=contiguous), options
    for contiguous, size_type in ((True, "i32"), (False, "i64")):
        name = f"check, {'contiguous' if contiguous else 'strided'}, {size_type} sizes"
        yield name, _source(check_scatter_inputs_kernel, _CHECK_TILE, size_type, contiguous=contiguous), {}


def _source(kernel: Any, constants: dict[str, int], size_type: str, *, contiguous: bool) -> ASTSource:
    # As Triton specialises a launch: a stride of 1 becomes a constant, an aligned pointer says so.
    fixed = dict(constants)
    if contiguous:
        fixed |= {name: 1 for name in _STRIDES if name in kernel.arg_names}
    signature = {name: "constexpr" if name in fixed else _POINTERS.get(name, size_type) for name in kernel.arg_names}
    names = list(signature)
    aligned = [name for name in names if name in _POINTERS] if contiguous else []
    return ASTSource(
        fn=kernel,
        signature=signature,
        constexprs={(names.index(name),): value for name, value in fixed.items()},
        attrs={(names.index(name),): [["tt.divisibility", 16]] for name in aligned},
    )
