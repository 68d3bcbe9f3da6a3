"""The scatter's Triton kernel; only `@triton.jit` code stands here."""

# mypy: disable-error-code="no-untyped-def"

import triton
import triton.language as tl

FAR = tl.constexpr(1 << 62)
"""An offset beyond every token; leaves room for adding a row's width without overflow."""

NONE = tl.constexpr((1 << 63) - 1)
"""No index: what the check's buffers hold where nothing was found, and no request has claimed a row."""

SPAN = tl.constexpr(4)
"""Up to so many requests a tile may meet and still be written request by request."""


@triton.jit
def _begin(offsets_ptr, offsets_stride, request, num_requests):
    """`offsets[request]`; far where there is no such offset."""
    known = (request >= 0) & (request <= num_requests)
    return tl.load(offsets_ptr + request * offsets_stride, mask=known, other=FAR)


@triton.jit
def _row(rows_ptr, rows_stride, request, num_requests):
    """`rows[request]`; -1 where there is no such request."""
    known = (request >= 0) & (request < num_requests)
    return tl.load(rows_ptr + request * rows_stride, mask=known, other=-1)


@triton.jit
def _around(offsets_ptr, offsets_stride, num_requests, guess, WINDOW: tl.constexpr):
    """Where the window around `guess` starts, and the offsets in it; far behind the last request."""
    start = tl.maximum(tl.minimum(guess - WINDOW // 2, num_requests - WINDOW), 0)
    probe = start + tl.arange(0, WINDOW)
    return start, tl.load(offsets_ptr + probe * offsets_stride, mask=probe < num_requests, other=FAR)


@triton.jit
def _owner(offsets_ptr, offsets_stride, num_requests, token, start, window, WINDOW: tl.constexpr):
    """The largest `r < num_requests` with `offsets[r] <= token`, or -1: the request that owns `token`.

    `window` holds the offsets from `start` on. The count of offsets not above `token` lies in `[lo, hi]`: in the usual
    case the window decides it, otherwise each round keeps one of `WINDOW` pieces of what is left.
    """
    found = tl.sum((window <= token).to(tl.int32), axis=0)
    lo = start + found
    hi = lo
    if found == 0:
        lo = lo * 0
    if found == WINDOW:
        hi = hi * 0 + num_requests
    while lo < hi:
        piece = (hi - lo + WINDOW - 1) // WINDOW
        probe = lo + (tl.arange(0, WINDOW) + 1) * piece - 1
        value = tl.load(offsets_ptr + probe * offsets_stride, mask=probe < hi, other=FAR)
        whole = tl.sum((value <= token).to(tl.int32), axis=0)
        lo = tl.minimum(lo + whole * piece, hi)
        hi = tl.minimum(hi, lo + piece - 1)
    return lo - 1


@triton.jit
def _put(pool_ptr, token, lane, first, count, begin, after, row, num_rows, width, row_step, col_step):
    """Write those of the tile's tokens that one request owns and its row has room for."""
    stop = tl.where((row >= 0) & (row < num_rows), tl.minimum(after, begin + width), begin)
    low = tl.minimum(tl.maximum(begin - first, 0), count).to(tl.int32)
    high = tl.minimum(tl.maximum(stop - first, 0), count).to(tl.int32)
    # Where the tile's first token would stand if the row went on leftwards.
    base = row * row_step + (first - begin) * col_step
    tl.store(pool_ptr + base + lane * col_step, token, mask=(lane >= low) & (lane < high))


# A size of 1 made a constant gains nothing, costs a compilation, and breaks Triton 3.6's coalescing pass.
@triton.jit(do_not_specialize=["num_tokens", "num_requests", "num_rows", "width", "row_step"])
def scatter_req_token_ids_kernel(
    pool_ptr,  # [num_rows, width] int32, written
    flat_ptr,  # [num_tokens] int64
    offsets_ptr,  # [num_requests + 1] int64
    rows_ptr,  # [num_requests] int64
    num_tokens,
    num_requests,
    num_rows,
    width,
    row_step,
    col_step,
    flat_stride,
    offsets_stride,
    rows_stride,
    TILE: tl.constexpr,
    WINDOW: tl.constexpr,
    PART: tl.constexpr,
):
    r"""`pool[rows[r], t - offsets[r]] = int32(flat[t])` for every token `t`, where `offsets[r] <= t < offsets[r + 1]`.

    Left out: positions not under `width` (a row is clipped), tokens that no request owns, and rows outside the pool;
    so no input makes it write, or read, outside the tensors.

    One program writes `TILE` tokens. What its loads need waits for nothing: first the offsets around where the owner
    of the first token would be if all requests were alike, then the tokens, so that the search is done while they are
    on their way. Of a token only the low word is loaded, which is its int32, so that one lane holds one token in the
    load and in the store, and nothing passes through shared memory. A tile that meets up to four requests is written
    request by request. Otherwise each token searches for its owner, `PART` tokens at a time: that path is rare, and
    must not cost the others their registers.
    """
    first = tl.program_id(0).to(tl.int64) * TILE
    count = tl.minimum(num_tokens - first, TILE).to(tl.int32)
    end = first + count
    lane = tl.arange(0, TILE).to(tl.int64)
    low_words = (flat_ptr + first * flat_stride).to(tl.pointer_type(tl.int32), bitcast=True)
    guess = first.to(tl.float32) * (num_requests.to(tl.float32) / num_tokens.to(tl.float32))
    start, window = _around(offsets_ptr, offsets_stride, num_requests, guess.to(tl.int64), WINDOW)
    token = tl.load(low_words + 2 * lane * flat_stride, mask=lane < count, other=0)

    owner = tl.full((), 0, tl.int64)
    if num_requests > SPAN:
        owner = _owner(offsets_ptr, offsets_stride, num_requests, first, start, window, WINDOW)
    begin0 = _begin(offsets_ptr, offsets_stride, owner, num_requests)
    begin1 = _begin(offsets_ptr, offsets_stride, owner + 1, num_requests)
    begin2 = _begin(offsets_ptr, offsets_stride, owner + 2, num_requests)
    begin3 = _begin(offsets_ptr, offsets_stride, owner + 3, num_requests)
    begin4 = _begin(offsets_ptr, offsets_stride, owner + 4, num_requests)
    row0 = _row(rows_ptr, rows_stride, owner, num_requests)
    row1 = _row(rows_ptr, rows_stride, owner + 1, num_requests)
    row2 = _row(rows_ptr, rows_stride, owner + 2, num_requests)
    row3 = _row(rows_ptr, rows_stride, owner + 3, num_requests)

    if (begin4 >= end) | (num_requests <= SPAN):
        _put(pool_ptr, token, lane, first, count, begin0, begin1, row0, num_rows, width, row_step, col_step)
        if begin1 < end:
            _put(pool_ptr, token, lane, first, count, begin1, begin2, row1, num_rows, width, row_step, col_step)
            _put(pool_ptr, token, lane, first, count, begin2, begin3, row2, num_rows, width, row_step, col_step)
            _put(pool_ptr, token, lane, first, count, begin3, begin4, row3, num_rows, width, row_step, col_step)
    else:
        start, window = _around(offsets_ptr, offsets_stride, num_requests, owner + WINDOW // 2, WINDOW)
        last = _owner(offsets_ptr, offsets_stride, num_requests, end - 1, start, window, WINDOW)
        span = (last - owner).to(tl.int32)
        top = tl.full((), 1, tl.int32)
        while top * 2 <= span:
            top = top * 2
        near = offsets_ptr + owner * offsets_stride
        for part in range(0, TILE, PART):
            spot = part + tl.arange(0, PART)
            here = spot < count
            position = first + spot
            value = tl.load(flat_ptr + position * flat_stride, mask=here, other=0).to(tl.int32)
            # Binary lifting: `ahead` only grows, by halving steps, so one load a round decides a bit of it.
            ahead = tl.zeros((PART,), tl.int32)
            step = top
            while step > 0:
                reach = ahead + step
                begin = tl.load(near + reach.to(tl.int64) * offsets_stride, mask=reach <= span, other=FAR)
                ahead = tl.where(begin <= position, reach, ahead)
                step = step // 2
            request = owner + ahead.to(tl.int64)
            owned = here & (request >= 0)
            begin = tl.load(offsets_ptr + request * offsets_stride, mask=owned, other=0)
            after = tl.load(offsets_ptr + (request + 1) * offsets_stride, mask=owned, other=0)
            row = tl.load(rows_ptr + request * rows_stride, mask=owned, other=-1)
            column = position - begin
            kept = owned & (position < after) & (column < width) & (row >= 0) & (row < num_rows)
            tl.store(pool_ptr + row * row_step + column * col_step, value, mask=kept)


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
