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

PROBES = tl.constexpr(64)
"""Offsets looked at at once in the search for an owner."""

NEAR = tl.constexpr(128)
"""Offsets behind the owner that a tile of many requests looks at, to learn how many it meets."""

JUMPS = tl.constexpr(3)
"""So often a tile goes from one request to the next over requests without tokens."""


@triton.jit
def _begin(offsets_ptr, offsets_stride, request, num_requests):
    """`offsets[request]`; far where there is no such offset."""
    return tl.load(offsets_ptr + request * offsets_stride, mask=request <= num_requests, other=FAR)


@triton.jit
def _row(rows_ptr, rows_stride, request, num_requests):
    """`rows[request]`; -1 where there is no such request."""
    return tl.load(rows_ptr + request * rows_stride, mask=request < num_requests, other=-1)


@triton.jit
def _window(offsets_ptr, offsets_stride, num_requests, start, SIZE: tl.constexpr):
    """The offsets of `SIZE` requests from `start` on, moved inside where it can be, and where they start."""
    start = tl.maximum(tl.minimum(start, num_requests - SIZE), 0)
    probe = start + tl.arange(0, SIZE)
    return start, tl.load(offsets_ptr + probe * offsets_stride, mask=probe < num_requests, other=FAR)


@triton.jit
def _milestones(offsets_ptr, offsets_stride, num_requests):
    """The last offset of each of `PROBES` equal pieces: the same for all programs, so that caches have them."""
    probe = (tl.arange(0, PROBES) + 1).to(tl.int64) * ((num_requests + PROBES - 1) // PROBES) - 1
    return tl.load(offsets_ptr + probe * offsets_stride, mask=probe < num_requests, other=FAR)


@triton.jit
def _owner(offsets_ptr, offsets_stride, num_requests, token, start, window, milestones, SIZE: tl.constexpr):
    """The largest `r < num_requests` with `offsets[r] <= token`, which owns `token`; 0 where there is none.

    In the usual case the window of offsets from `start` on decides it. Otherwise the count of offsets not above
    `token` lies in one of the pieces between milestones, and each round keeps one of `PROBES` pieces of that.
    """
    found = tl.sum((window <= token).to(tl.int32), axis=0)
    lo = start + found
    if ((found == 0) & (start > 0)) | ((found == SIZE) & (lo < num_requests)):
        piece = (lo * 0 + num_requests + PROBES - 1) // PROBES
        lo = tl.minimum(tl.sum((milestones <= token).to(tl.int32), axis=0) * piece, num_requests)
        hi = tl.minimum(lo + piece - 1, num_requests)
        while lo < hi:
            piece = (hi - lo + PROBES - 1) // PROBES
            probe = lo + (tl.arange(0, PROBES) + 1) * piece - 1
            value = tl.load(offsets_ptr + probe * offsets_stride, mask=probe < hi, other=FAR)
            lo = tl.minimum(lo + tl.sum((value <= token).to(tl.int32), axis=0) * piece, hi)
            hi = tl.minimum(lo + piece - 1, hi)
    return tl.maximum(lo - 1, 0)


@triton.jit
def _put(pool_ptr, token, lane, first, count, begin, after, row, num_rows, width, row_step, col_step):
    """Write those of the tile's tokens that one request owns and its row has room for."""
    stop = tl.where((row >= 0) & (row < num_rows), tl.minimum(after, begin + width), begin)
    low = tl.minimum(tl.maximum(begin - first, 0), count).to(tl.int32)
    high = tl.minimum(tl.maximum(stop - first, 0), count).to(tl.int32)
    # Where the tile's first token would stand if the row went on leftwards.
    base = row * row_step + (first - begin) * col_step
    tl.store(pool_ptr + base + lane * col_step, token, mask=(lane >= low) & (lane < high))


@triton.jit
def _put_each(
    pool_ptr,
    flat_ptr,
    offsets_ptr,
    rows_ptr,
    milestones,
    owner,
    first,
    here,
    end,
    num_requests,
    num_rows,
    width,
    row_step,
    col_step,
    flat_stride,
    offsets_stride,
    rows_stride,
    TILE: tl.constexpr,
    PART: tl.constexpr,
):
    """Write the tile's tokens from `here` on, `PART` at a time, each searching for its owner from `owner` on.

    The requests that begin in the tile do so less than a tile from its first token, so that the low words of their
    offsets say where.
    """
    start, window = _window(offsets_ptr, offsets_stride, num_requests, owner + 1, NEAR)
    last = _owner(offsets_ptr, offsets_stride, num_requests, end - 1, start, window, milestones, NEAR)
    finish = tl.minimum(tl.load(offsets_ptr + num_requests * offsets_stride), end)
    span = (last - owner).to(tl.int32)
    top = tl.full((), 1, tl.int32)
    while top * 2 <= span:
        top = top * 2
    near = (offsets_ptr + owner * offsets_stride).to(tl.pointer_type(tl.int32), bitcast=True)
    low_words = (flat_ptr + first * flat_stride).to(tl.pointer_type(tl.int32), bitcast=True)
    for part in range(0, TILE, PART):
        spot = part + tl.arange(0, PART)
        position = first + spot
        mine = (position >= here) & (position < finish)
        token = tl.load(low_words + 2 * spot.to(tl.int64) * flat_stride, mask=mine, other=0)
        # Binary lifting: `ahead` only grows, by halving steps, so one load a round decides a bit of it.
        ahead = tl.zeros((PART,), tl.int32)
        step = top
        while step > 0:
            reach = ahead + step
            begins = tl.load(near + 2 * reach.to(tl.int64) * offsets_stride, mask=reach <= span, other=0)
            passed = begins - first.to(tl.int32) <= spot
            ahead = tl.where((reach <= span) & passed, reach, ahead)
            step = step // 2
        request = owner + ahead.to(tl.int64)
        column = position - tl.load(offsets_ptr + request * offsets_stride, mask=mine, other=0)
        row = tl.load(rows_ptr + request * rows_stride, mask=mine, other=-1)
        kept = mine & (column >= 0) & (column < width) & (row >= 0) & (row < num_rows)
        tl.store(pool_ptr + row * row_step + column * col_step, token, mask=kept)


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
    PART: tl.constexpr,
):
    r"""`pool[rows[r], t - offsets[r]] = int32(flat[t])` for every token `t`, where `offsets[r] <= t < offsets[r + 1]`.

    Left out: positions not under `width` (a row is clipped), tokens that no request owns, and rows outside the pool;
    so no input makes it write, or read, outside the tensors.

    One program writes `TILE` tokens. What its loads need waits for nothing: first the offsets around where the owner
    of the first token would be if all requests were alike, then the milestones, then the tokens, so that the search is
    done while they are on their way. Of a token only the low word is loaded, which is its int32, so that one lane holds
    one token in the load and in the store, and nothing passes through shared memory.

    A tile that meets up to four requests is written request by request; so is one whose few requests have many
    without tokens between them. Otherwise each token searches for its owner: that path is rare, and takes the tokens
    in parts so that it does not cost the others their registers.
    """
    first = tl.program_id(0).to(tl.int64) * TILE
    count = tl.minimum(num_tokens - first, TILE).to(tl.int32)
    end = first + count
    lane = tl.arange(0, TILE).to(tl.int64)
    low_words = (flat_ptr + first * flat_stride).to(tl.pointer_type(tl.int32), bitcast=True)
    guess = (first.to(tl.float32) * (num_requests.to(tl.float32) / num_tokens.to(tl.float32))).to(tl.int64)
    start, window = _window(offsets_ptr, offsets_stride, num_requests, guess - PROBES // 2, PROBES)
    milestones = _milestones(offsets_ptr, offsets_stride, num_requests)
    token = tl.load(low_words + 2 * lane * flat_stride, mask=lane < count, other=0)

    owner = tl.full((), 0, tl.int64)
    if num_requests > SPAN:
        owner = _owner(offsets_ptr, offsets_stride, num_requests, first, start, window, milestones, PROBES)
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
        here = first
        jumps = tl.full((), 0, tl.int32)
        while (begin1 == begin4) & (begin4 < end) & (jumps < JUMPS):
            _put(pool_ptr, token, lane, first, count, begin0, begin1, row0, num_rows, width, row_step, col_step)
            here = begin1
            start, window = _window(offsets_ptr, offsets_stride, num_requests, owner + SPAN, PROBES)
            owner = _owner(offsets_ptr, offsets_stride, num_requests, here, start, window, milestones, PROBES)
            begin0 = _begin(offsets_ptr, offsets_stride, owner, num_requests)
            begin1 = _begin(offsets_ptr, offsets_stride, owner + 1, num_requests)
            begin4 = _begin(offsets_ptr, offsets_stride, owner + 4, num_requests)
            row0 = _row(rows_ptr, rows_stride, owner, num_requests)
            jumps += 1
        if (jumps > 0) & (begin1 >= end):
            _put(pool_ptr, token, lane, first, count, begin0, begin1, row0, num_rows, width, row_step, col_step)
        else:
            _put_each(
                pool_ptr,
                flat_ptr,
                offsets_ptr,
                rows_ptr,
                milestones,
                owner,
                first,
                here,
                end,
                num_requests,
                num_rows,
                width,
                row_step,
                col_step,
                flat_stride,
                offsets_stride,
                rows_stride,
                TILE,
                PART,
            )


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
