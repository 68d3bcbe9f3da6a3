"""The scatter's Triton kernel; only `@triton.jit` code stands here."""

import triton
import triton.language as tl

FAR = tl.constexpr(1 << 62)
"""An offset beyond every token; leaves room for adding a row's width without overflow."""


@triton.jit
def _owner(offsets_ptr, offsets_stride, num_requests, token, WINDOW: tl.constexpr):
    """The largest `r < num_requests` with `offsets[r] <= token`, or -1: the request that owns `token`.

    A search over `WINDOW` probes at once: the count of offsets not above `token` lies in `[lo, hi]`, and each round
    keeps one of at most `WINDOW` equal pieces of it.
    """
    lane = tl.arange(0, WINDOW)
    lo = tl.full((), 0, tl.int64)
    hi = lo + num_requests
    while hi - lo > WINDOW:
        piece = (hi - lo + WINDOW - 1) // WINDOW
        probe = lo + (lane + 1) * piece - 1
        value = tl.load(offsets_ptr + probe * offsets_stride, mask=probe < hi, other=FAR)
        whole = tl.sum((value <= token).to(tl.int32), axis=0)
        lo = lo + whole * piece
        hi = tl.minimum(hi, lo + piece - 1)
    probe = lo + lane
    value = tl.load(offsets_ptr + probe * offsets_stride, mask=probe < hi, other=FAR)
    return lo + tl.sum((value <= token).to(tl.int32), axis=0) - 1


@triton.jit
def _row_base(rows_ptr, rows_stride, request, begin, num_requests, num_rows, pool_stride_row, pool_stride_col):
    """Where token 0 would stand if `request`'s row went on leftwards, and whether that row is in the pool."""
    known = (request >= 0) & (request < num_requests)
    row = tl.load(rows_ptr + request * rows_stride, mask=known, other=-1)
    inside = (row >= 0) & (row < num_rows)
    return row * pool_stride_row - begin * pool_stride_col, inside


@triton.jit
def scatter_req_token_ids_kernel(
    pool_ptr,  # [num_rows, width] int32, written
    flat_ptr,  # [num_tokens] int64
    offsets_ptr,  # [num_requests + 1] int64
    rows_ptr,  # [num_requests] int64
    num_tokens,
    num_requests,
    num_rows,
    width,
    pool_stride_row,
    pool_stride_col,
    flat_stride,
    offsets_stride,
    rows_stride,
    TILE: tl.constexpr,
    WINDOW: tl.constexpr,
):
    r"""`pool[rows[r], t - offsets[r]] = int32(flat[t])` for every token `t`, where `offsets[r] <= t < offsets[r + 1]`.

    Left out: positions not under `width` (a row is clipped), tokens that no request owns, and rows outside the pool;
    so no input makes it write, or read, outside the tensors.

    One program writes `TILE` tokens. The tokens are loaded first, since their address depends on nothing, and the
    owner is searched while they are on their way. Then, by how many requests the tile meets: one, and the tile is a
    straight copy; up to four, and each token chooses among four known bases; more, and each token searches for its
    owner. Offsets within a tile are 32-bit, everything that addresses memory is 64-bit.
    """
    first = tl.program_id(0).to(tl.int64) * TILE
    lane = tl.arange(0, TILE)
    wide_lane = lane.to(tl.int64)
    present = lane < tl.minimum(num_tokens - first, TILE).to(tl.int32)
    token = tl.load(flat_ptr + first * flat_stride + wide_lane * flat_stride, mask=present, other=0).to(tl.int32)

    owner = _owner(offsets_ptr, offsets_stride, num_requests, first, WINDOW)
    near = offsets_ptr + owner * offsets_stride
    begin0 = tl.load(near, mask=owner >= 0, other=0)
    begin1 = tl.load(near + offsets_stride, mask=owner + 1 <= num_requests, other=FAR)
    begin2 = tl.load(near + 2 * offsets_stride, mask=owner + 2 <= num_requests, other=FAR)
    begin3 = tl.load(near + 3 * offsets_stride, mask=owner + 3 <= num_requests, other=FAR)
    begin4 = tl.load(near + 4 * offsets_stride, mask=owner + 4 <= num_requests, other=FAR)
    end = first + TILE
    # The token-0 address of the tile's own first token: positions in the tile are added to it in 32 bits.
    here = first * pool_stride_col

    if begin4 >= end:
        base, inside = _row_base(
            rows_ptr, rows_stride, owner, begin0, num_requests, num_rows, pool_stride_row, pool_stride_col
        )
        stop = tl.where(inside, tl.minimum(begin1, begin0 + width), first)
        limit = tl.maximum(tl.minimum(stop - first, TILE), 0).to(tl.int32)
        if begin1 >= end:
            target = pool_ptr + (base + here) + wide_lane * pool_stride_col
            tl.store(target, token, mask=present & (lane < limit))
        else:
            base1, inside1 = _row_base(
                rows_ptr, rows_stride, owner + 1, begin1, num_requests, num_rows, pool_stride_row, pool_stride_col
            )
            base2, inside2 = _row_base(
                rows_ptr, rows_stride, owner + 2, begin2, num_requests, num_rows, pool_stride_row, pool_stride_col
            )
            base3, inside3 = _row_base(
                rows_ptr, rows_stride, owner + 3, begin3, num_requests, num_rows, pool_stride_row, pool_stride_col
            )
            stop1 = tl.where(inside1, tl.minimum(begin2, begin1 + width), first)
            stop2 = tl.where(inside2, tl.minimum(begin3, begin2 + width), first)
            stop3 = tl.where(inside3, tl.minimum(begin4, begin3 + width), first)
            limit1 = tl.maximum(tl.minimum(stop1 - first, TILE), 0).to(tl.int32)
            limit2 = tl.maximum(tl.minimum(stop2 - first, TILE), 0).to(tl.int32)
            limit3 = tl.maximum(tl.minimum(stop3 - first, TILE), 0).to(tl.int32)
            from1 = lane >= tl.minimum(begin1 - first, TILE).to(tl.int32)
            from2 = lane >= tl.minimum(begin2 - first, TILE).to(tl.int32)
            from3 = lane >= tl.minimum(begin3 - first, TILE).to(tl.int32)
            chosen = tl.where(from3, base3, tl.where(from2, base2, tl.where(from1, base1, base)))
            bound = tl.where(from3, limit3, tl.where(from2, limit2, tl.where(from1, limit1, limit)))
            target = pool_ptr + (chosen + here) + wide_lane * pool_stride_col
            tl.store(target, token, mask=present & (lane < bound))
    else:
        last = _owner(offsets_ptr, offsets_stride, num_requests, tl.minimum(end, first * 0 + num_tokens) - 1, WINDOW)
        span = (last - owner).to(tl.int32)
        position = first + wide_lane
        step = tl.full((), 1, tl.int32)
        while step * 2 <= span:
            step = step * 2
        # Binary lifting: `ahead` only ever grows, by halving steps, so one load a round decides a bit of it.
        ahead = tl.zeros((TILE,), tl.int32)
        while step > 0:
            reach = ahead + step
            value = tl.load(near + reach.to(tl.int64) * offsets_stride, mask=reach <= span, other=FAR)
            ahead = tl.where(value <= position, reach, ahead)
            step = step // 2
        request = owner + ahead.to(tl.int64)
        owned = present & (request >= 0)
        begin = tl.load(offsets_ptr + request * offsets_stride, mask=owned, other=0)
        after = tl.load(offsets_ptr + (request + 1) * offsets_stride, mask=owned, other=0)
        row = tl.load(rows_ptr + request * rows_stride, mask=owned, other=-1)
        column = position - begin
        kept = (position < after) & (column < width) & (row >= 0) & (row < num_rows)
        tl.store(pool_ptr + row * pool_stride_row + column * pool_stride_col, token, mask=owned & kept)
