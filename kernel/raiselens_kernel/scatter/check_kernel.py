"""The Triton kernel that checks the scatter's preconditions; only `@triton.jit` code stands here."""

# mypy: disable-error-code="no-untyped-def"

import triton
import triton.language as tl

NONE = tl.constexpr((1 << 63) - 1)
"""No index: what the check's buffers hold where nothing was found, and no request has claimed a row."""


@triton.jit
def _note(found_ptr, index, wrong):
    """Keep the smallest index at which something is wrong; in the usual case a 32-bit reduction says that nothing is."""
    if tl.max(wrong.to(tl.int32), axis=0) > 0:
        tl.atomic_min(found_ptr, tl.min(tl.where(wrong, index, NONE), axis=0))


@triton.jit(do_not_specialize=["num_tokens", "num_requests", "num_rows"])
def check_scatter_inputs_kernel(
    found_ptr,  # [6] int64: the first index of each violation, in the order of `checking.VIOLATIONS`
    claimed_ptr,  # [num_rows] int64: the first request that named each row
    flat_ptr,  # [num_tokens] int64
    offsets_ptr,  # [num_requests + 1] int64
    rows_ptr,  # [num_requests] int64
    num_tokens,
    num_requests,
    num_rows,
    flat_stride,
    offsets_stride,
    rows_stride,
    TILE: tl.constexpr,
):
    """The smallest index at which each of the scatter's preconditions fails.

    Rows are looked at only for requests that have tokens. Of two requests with one row the later is at fault, whichever
    claims it first: the one that comes second finds the other, and notes the greater.
    """
    first = tl.program_id(0).to(tl.int64) * TILE
    index = first + tl.arange(0, TILE).to(tl.int64)
    token = tl.load(flat_ptr + index * flat_stride, mask=index < num_tokens, other=0)
    _note(found_ptr + 5, index, token != token.to(tl.int32).to(tl.int64))

    if first <= num_requests:
        known = index < num_requests
        begin = tl.load(offsets_ptr + index * offsets_stride, mask=index <= num_requests, other=0)
        after = tl.load(offsets_ptr + (index + 1) * offsets_stride, mask=known, other=0)
        _note(found_ptr, index, (index == 0) & (begin != 0))
        _note(found_ptr + 1, index + 1, known & (after < begin))
        _note(found_ptr + 2, index, (index == num_requests) & (begin != num_tokens))

        row = tl.load(rows_ptr + index * rows_stride, mask=known, other=0)
        filled = known & (after > begin)
        inside = (row >= 0) & (row < num_rows)
        _note(found_ptr + 3, index, filled & (inside == 0))
        earlier = tl.atomic_min(claimed_ptr + row, index, mask=filled & inside)
        _note(found_ptr + 4, tl.maximum(index, earlier), filled & inside & (earlier != NONE))
