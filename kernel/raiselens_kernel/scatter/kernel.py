"""The scatter's Triton kernel; only `@triton.jit` code stands here.

What belongs together is handed on as a tuple: `pool` is the pointer, the number of rows, their width and both strides;
`flat` is the pointer and stride of the tokens; `batch` is pointer and stride of the offsets, pointer and stride of the rows,
and the number of requests.
"""

# mypy: disable-error-code="no-untyped-def"

import triton
import triton.language as tl

FAR = tl.constexpr(1 << 62)
"""An offset beyond every token; leaves room for adding a row's width without overflow."""

SPAN = tl.constexpr(4)
"""Up to so many requests a tile may meet and still be written request by request."""

PROBES = tl.constexpr(64)
"""Offsets looked at at once in the search for an owner."""

NEAR = tl.constexpr(128)
"""Offsets behind the owner that a tile of many requests looks at, to learn how many it meets."""

JUMPS = tl.constexpr(3)
"""So often a tile goes from one request to the next over requests without tokens."""

LONGEST = tl.constexpr(8)
"""So many tokens of a request one lane may write by itself."""


@triton.jit
def _begin(batch, request):
    """`offsets[request]`; far where there is no such offset."""
    offsets_ptr, offsets_stride, _, _, num_requests = batch
    return tl.load(offsets_ptr + request * offsets_stride, mask=request <= num_requests, other=FAR)


@triton.jit
def _row(batch, request):
    """`rows[request]`; -1 where there is no such request."""
    _, _, rows_ptr, rows_stride, num_requests = batch
    return tl.load(rows_ptr + request * rows_stride, mask=request < num_requests, other=-1)


@triton.jit
def _window(batch, start, SIZE: tl.constexpr):
    """The offsets of `SIZE` requests from `start` on, moved inside where it can be, and where they start."""
    offsets_ptr, offsets_stride, _, _, num_requests = batch
    start = tl.maximum(tl.minimum(start, num_requests - SIZE), 0)
    probe = start + tl.arange(0, SIZE)
    return start, tl.load(offsets_ptr + probe * offsets_stride, mask=probe < num_requests, other=FAR)


@triton.jit
def _likely(batch, num_tokens, token):
    """The window around where the owner of `token` would be if all requests were alike."""
    _, _, _, _, num_requests = batch
    guess = (token.to(tl.float32) * (num_requests.to(tl.float32) / num_tokens.to(tl.float32))).to(tl.int64)
    return _window(batch, guess - PROBES // 2, PROBES)


@triton.jit
def _milestones(batch):
    """The last offset of each of `PROBES` equal pieces: the same for all programs, so that caches have them."""
    offsets_ptr, offsets_stride, _, _, num_requests = batch
    probe = (tl.arange(0, PROBES) + 1).to(tl.int64) * ((num_requests + PROBES - 1) // PROBES) - 1
    return tl.load(offsets_ptr + probe * offsets_stride, mask=probe < num_requests, other=FAR)


@triton.jit
def _owner(batch, token, start, window, milestones, SIZE: tl.constexpr):
    """The largest `r < num_requests` with `offsets[r] <= token`, which owns `token`; 0 where there is none.

    In the usual case the window of offsets from `start` on decides it. Otherwise the count of offsets not above
    `token` lies in one of the pieces between milestones, and each round keeps one of `PROBES` pieces of that.
    """
    offsets_ptr, offsets_stride, _, _, num_requests = batch
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
def _low_words(flat, first):
    """Where the low words of the tokens from `first` on stand, two words apart for each step of the stride."""
    flat_ptr, flat_stride = flat
    return (flat_ptr + first * flat_stride).to(tl.pointer_type(tl.int32), bitcast=True)


@triton.jit
def _tile(flat, first, count, TILE: tl.constexpr):
    """A tile's tokens, of each the low word alone, which is its int32.

    So one lane holds one token in the load and in the store, and nothing passes through shared memory.
    """
    _, flat_stride = flat
    lane = tl.arange(0, TILE).to(tl.int64)
    return tl.load(_low_words(flat, first) + 2 * lane * flat_stride, mask=lane < count, other=0)


@triton.jit
def _put(pool, token, first, count, begin, after, row, TILE: tl.constexpr):
    """Write those of the tile's tokens that one request owns and its row has room for."""
    pool_ptr, num_rows, width, row_step, col_step = pool
    lane = tl.arange(0, TILE).to(tl.int64)
    stop = tl.where((row >= 0) & (row < num_rows), tl.minimum(after, begin + width), begin)
    low = tl.minimum(tl.maximum(begin - first, 0), count).to(tl.int32)
    high = tl.minimum(tl.maximum(stop - first, 0), count).to(tl.int32)
    # Where the tile's first token would stand if the row went on leftwards.
    base = row * row_step + (first - begin) * col_step
    tl.store(pool_ptr + base + lane * col_step, token, mask=(lane >= low) & (lane < high))


@triton.jit
def _put_few(pool, flat, batch, first, count, TILE: tl.constexpr):
    """Write a tile of a batch of up to `SPAN` requests: nothing to search for, one trip to memory before the writes."""
    request = first * 0
    begin0 = _begin(batch, request)
    begin1 = _begin(batch, request + 1)
    row0 = _row(batch, request)
    token = _tile(flat, first, count, TILE)
    begin2 = _begin(batch, request + 2)
    begin3 = _begin(batch, request + 3)
    begin4 = _begin(batch, request + 4)
    row1 = _row(batch, request + 1)
    row2 = _row(batch, request + 2)
    row3 = _row(batch, request + 3)
    _put(pool, token, first, count, begin0, begin1, row0, TILE)
    if begin1 < first + count:
        _put(pool, token, first, count, begin1, begin2, row1, TILE)
        _put(pool, token, first, count, begin2, begin3, row2, TILE)
        _put(pool, token, first, count, begin3, begin4, row3, TILE)


@triton.jit
def _put_short(pool, flat, batch, num_tokens, first, count, TILE: tl.constexpr):
    """Write a tile with a lane for each request; 1 where that is done, 0, with nothing written, where it cannot be.

    It cannot where a request has more than `LONGEST` tokens in the tile, or the tile meets more than `TILE` requests. A
    batch of up to `TILE` requests has nothing to search for.
    """
    pool_ptr, num_rows, width, row_step, col_step = pool
    _, flat_stride = flat
    offsets_ptr, offsets_stride, rows_ptr, rows_stride, num_requests = batch
    end = first + count
    owner = first * 0
    if num_requests > TILE:
        start, window = _likely(batch, num_tokens, first)
        owner = _owner(batch, first, start, window, _milestones(batch), PROBES)
    request = owner + tl.arange(0, TILE).to(tl.int64)
    known = request < num_requests
    begin = tl.load(offsets_ptr + request * offsets_stride, mask=known, other=FAR)
    after = tl.load(offsets_ptr + (request + 1) * offsets_stride, mask=known, other=FAR)
    row = tl.load(rows_ptr + request * rows_stride, mask=known, other=-1)
    low = tl.maximum(begin, first)
    high = tl.where((row >= 0) & (row < num_rows), tl.minimum(tl.minimum(after, begin + width), end), low)
    length = tl.minimum(tl.maximum(high - low, 0), TILE).to(tl.int32)
    is_more = (request == owner + TILE - 1) & (after < end)
    longest = tl.max(tl.where(is_more, TILE, length), axis=0)
    fits = (longest <= LONGEST).to(tl.int32)
    if fits > 0:
        base = row * row_step + (low - begin) * col_step
        low_words = _low_words(flat, first)
        near = low - first
        step = tl.full((), 0, tl.int32)
        while step < longest:
            token = tl.load(low_words + 2 * (near + step) * flat_stride, mask=step < length, other=0)
            tl.store(pool_ptr + base + step * col_step, token, mask=step < length)
            step += 1
    return fits


@triton.jit
def _put_each(pool, flat, batch, milestones, owner, first, here, end, TILE: tl.constexpr, PART: tl.constexpr):
    """Write the tile's tokens from `here` on, `PART` at a time, each searching for its owner from `owner` on.

    The requests that begin in the tile do so less than a tile from its first token, so that the low words of their
    offsets say where.
    """
    pool_ptr, num_rows, width, row_step, col_step = pool
    _, flat_stride = flat
    offsets_ptr, offsets_stride, rows_ptr, rows_stride, num_requests = batch
    start, window = _window(batch, owner + 1, NEAR)
    last = _owner(batch, end - 1, start, window, milestones, NEAR)
    finish = tl.minimum(tl.load(offsets_ptr + num_requests * offsets_stride), end)
    span = (last - owner).to(tl.int32)
    top = tl.full((), 1, tl.int32)
    while top * 2 <= span:
        top = top * 2
    near = (offsets_ptr + owner * offsets_stride).to(tl.pointer_type(tl.int32), bitcast=True)
    low_words = _low_words(flat, first)
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


@triton.jit
def _put_many(pool, flat, batch, num_tokens, first, count, TILE: tl.constexpr, PART: tl.constexpr, SHORT: tl.constexpr):
    """Write a tile of a batch of many requests.

    What the first loads need waits for nothing: first the offsets around where the owner of the first token would be if
    all requests were alike, then the milestones, then the tokens, so that the search is done while they are on their
    way.

    A tile that meets up to four requests is written request by request; so is one whose few requests have many
    without tokens between them. Otherwise each token searches for its owner: that path is rare, and takes the tokens
    in parts so that it does not cost the others their registers.
    """
    end = first + count
    done = tl.full((), 0, tl.int32)
    if SHORT:
        # Loaded for the cache as well: the lanes of requests load them again.
        token = _tile(flat, first, count, TILE)
        done = _put_short(pool, flat, batch, num_tokens, first, count, TILE)
    if done == 0:
        start, window = _likely(batch, num_tokens, first)
        milestones = _milestones(batch)
        if not SHORT:
            token = _tile(flat, first, count, TILE)
        owner = _owner(batch, first, start, window, milestones, PROBES)
        begin0 = _begin(batch, owner)
        begin1 = _begin(batch, owner + 1)
        begin2 = _begin(batch, owner + 2)
        begin3 = _begin(batch, owner + 3)
        begin4 = _begin(batch, owner + 4)
        row0 = _row(batch, owner)
        row1 = _row(batch, owner + 1)
        row2 = _row(batch, owner + 2)
        row3 = _row(batch, owner + 3)
        if begin4 >= end:
            _put(pool, token, first, count, begin0, begin1, row0, TILE)
            if begin1 < end:
                _put(pool, token, first, count, begin1, begin2, row1, TILE)
                _put(pool, token, first, count, begin2, begin3, row2, TILE)
                _put(pool, token, first, count, begin3, begin4, row3, TILE)
        else:
            here = first
            jumps = tl.full((), 0, tl.int32)
            while (begin1 == begin4) & (begin4 < end) & (jumps < JUMPS):
                _put(pool, token, first, count, begin0, begin1, row0, TILE)
                here = begin1
                start, window = _window(batch, owner + SPAN, PROBES)
                owner = _owner(batch, here, start, window, milestones, PROBES)
                begin0 = _begin(batch, owner)
                begin1 = _begin(batch, owner + 1)
                begin4 = _begin(batch, owner + 4)
                row0 = _row(batch, owner)
                jumps += 1
            if (jumps > 0) & (begin1 >= end):
                _put(pool, token, first, count, begin0, begin1, row0, TILE)
            else:
                _put_each(pool, flat, batch, milestones, owner, first, here, end, TILE, PART)


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
    SHORT: tl.constexpr,
    OVERLAP: tl.constexpr,
):
    r"""`pool[rows[r], t - offsets[r]] = int32(flat[t])` for every token `t`, where `offsets[r] <= t < offsets[r + 1]`.

    Left out: positions not under `width` (a row is clipped), tokens that no request owns, and rows outside the pool;
    so no input makes it write, or read, outside the tensors.

    One program writes `TILE` tokens; with `SHORT` it tries first to do so with a lane for each request. With `OVERLAP`
    programs are placed while what was launched before still runs, and wait here until all it wrote can be seen.
    """
    if OVERLAP:
        tl.extra.cuda.gdc_wait()
    first = tl.program_id(0).to(tl.int64) * TILE
    count = tl.minimum(num_tokens - first, TILE).to(tl.int32)
    pool = (pool_ptr, num_rows, width, row_step, col_step)
    flat = (flat_ptr, flat_stride)
    batch = (offsets_ptr, offsets_stride, rows_ptr, rows_stride, num_requests)
    if num_requests <= SPAN:
        _put_few(pool, flat, batch, first, count, TILE)
    else:
        _put_many(pool, flat, batch, num_tokens, first, count, TILE, PART, SHORT)
