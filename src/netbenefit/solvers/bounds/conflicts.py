"""Pairs of patterns that a card with given signs cannot keep in order.

Let u be a pattern whose call is a gain at some threshold, w one whose call is a loss.  To call u
and not w needs x_u·λ > x_w·λ, hence a column with (x_u − x_w)_k λ_k > 0: an element of the pair's
*repairs*

    E(u, w) = {(k, +): x_uk > x_wk} ∪ {(k, −): x_uk < x_wk} .

A card whose signs avoid E(u, w) loses u or w.  Pairs with repairs inside a set D, packed so that no
pattern pays twice, show what a card that avoids D loses at least.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from netbenefit.common import IntArray
from netbenefit.solvers.bounds.signs import Signs, Words
from netbenefit.solvers.kernels.jit import count_bits, internal, jit

#: Nodes of a search for hitting sets between two looks at the clock.
_NODES = 2000
_NONE, _FOUND, _PAUSED = 0, 1, 2


class HittingSet(NamedTuple):
    """Outcome of a search: ``elements`` is None where no set of that size exists."""

    elements: IntArray | None
    nodes: int
    complete: bool  #: False where the search was stopped; then nothing is known


@jit
def _search(
    sets: IntArray,
    sizes: IntArray,
    member: NDArray[np.bool_],
    rival: IntArray,
    weights: IntArray,
    room: IntArray,
    most: int,
    state: IntArray,
    banned: NDArray[np.bool_],
    hits: IntArray,
    budget: int,
) -> tuple[int, int]:
    """Depth-first search; ``state`` rows: set, position, element of each depth; last row: depth.

    1. Take a set that is not met yet and has the fewest elements that may be taken.
    2. Where more disjoint sets are open than elements may be added, go back.
    3. Try its elements in turn; what was tried is banned for those that follow.
    """
    n_sets = sizes.size
    depth = state[3, 0]
    nodes = 0
    used = np.zeros(member.shape[1], dtype=np.bool_)
    fresh = state[3, 1] == 1
    while depth >= 0:
        if fresh:
            if nodes == budget:
                state[3, 0], state[3, 1] = depth, 1
                return _PAUSED, nodes
            nodes += 1
            fresh = False
            best, fewest = -1, 1 << 30
            for c in range(n_sets):
                if hits[c] == 0:
                    free = 0
                    for j in range(sizes[c]):
                        if not banned[depth, sets[c, j]]:
                            free += 1
                    if free < fewest:
                        best, fewest = c, free
                        if free == 0:
                            break
            if best < 0:
                state[3, 0] = depth
                return _FOUND, nodes
            open_sets = 0
            if fewest > 0 and depth < most:
                used[:] = False
                for step in range(-1, n_sets):  # the chosen set first
                    c = best if step < 0 else step
                    if hits[c] > 0:
                        continue
                    apart = True
                    for j in range(sizes[c]):
                        e = sets[c, j]
                        if used[e] and not banned[depth, e]:
                            apart = False
                            break
                    if apart:
                        open_sets += 1
                        if open_sets > most - depth:
                            break
                        for j in range(sizes[c]):
                            used[sets[c, j]] = True
            if fewest == 0 or depth >= most or open_sets > most - depth:
                depth -= 1
                continue
            state[0, depth], state[1, depth], state[2, depth] = best, 0, -1
        c = state[0, depth]
        last = state[2, depth]
        if last >= 0:
            for s in range(n_sets):
                if member[s, last]:
                    hits[s] -= 1
            for r in range(room.size):
                room[r] += weights[r, last]
            banned[depth, last] = True
            state[2, depth] = -1
        taken = -1
        while state[1, depth] < sizes[c] and taken < 0:
            e = sets[c, state[1, depth]]
            state[1, depth] += 1
            if not banned[depth, e]:
                taken = e
                for r in range(room.size):
                    if weights[r, e] > room[r]:
                        taken = -1
                if taken < 0:
                    banned[depth, e] = True  # room only shrinks further down
        if taken < 0:
            depth -= 1
            continue
        state[2, depth] = taken
        for s in range(n_sets):
            if member[s, taken]:
                hits[s] += 1
        for r in range(room.size):
            room[r] -= weights[r, taken]
        banned[depth + 1] = banned[depth]
        if rival[taken] >= 0:
            banned[depth + 1, rival[taken]] = True
        depth += 1
        fresh = True
    return _NONE, nodes


def hitting_set(
    member: NDArray[np.bool_],
    most: int,
    *,
    rival: IntArray,
    weights: IntArray,
    room: IntArray,
    should_stop: Callable[[], bool] = lambda: False,
) -> HittingSet:
    """Find at most ``most`` elements that meet every set, or show that there are none.

    ``member`` is (sets, elements) bool; ``rival`` is an element that may not be taken together with
    this one, or −1; Σ weights[r, e] ≤ room[r] over the elements taken, weights (R, elements) ≥ 0.
    """
    n_sets, n_elements = member.shape
    sizes = member.sum(axis=1).astype(np.int64)
    by_size = np.argsort(sizes, kind="stable")
    member, sizes = np.ascontiguousarray(member[by_size]), sizes[by_size]
    sets = np.full((n_sets, max(1, int(sizes.max(initial=0)))), -1, dtype=np.int64)
    often = member.sum(axis=0)
    for c in range(n_sets):
        elements = np.flatnonzero(member[c])
        sets[c, : elements.size] = elements[np.argsort(-often[elements], kind="stable")]
    most = max(0, min(most, n_elements))
    state = np.zeros((4, most + 2), dtype=np.int64)
    state[3, 1] = 1
    banned = np.zeros((most + 2, n_elements), dtype=np.bool_)
    if (room < 0).any():
        return HittingSet(None, 0, True)
    limits = rival, np.ascontiguousarray(weights), room.copy(), most
    work = state, banned, np.zeros(n_sets, dtype=np.int64)
    nodes = 0
    while True:
        outcome, more = _search(sets, sizes, member, *limits, *work, _NODES)
        nodes += more
        if outcome == _FOUND:
            return HittingSet(state[2, : int(state[3, 0])].copy(), nodes, True)
        if outcome == _NONE:
            return HittingSet(None, nodes, True)
        if should_stop():
            return HittingSet(None, nodes, False)


#: Sizes of repairs from this on count as one.
_SIZES = 512


class Pairs(NamedTuple):
    """Pairs of patterns in conflict, those with the fewest repairs first."""

    u: IntArray
    w: IntArray
    repairs: Words  #: (pairs, 2 W)
    active_u: IntArray  #: all patterns that are in conflict with some other
    active_w: IntArray
    complete: bool  #: whether all pairs are listed


@internal
def _repairs(bits: Any, ranks: Any, wide: Any, u: int, w: int, out: Any) -> None:
    """Write E(u, w) to ``out``."""
    n_words = bits.shape[1]
    for q in range(n_words):
        out[q] = bits[u, q] & ~bits[w, q]
        out[n_words + q] = bits[w, q] & ~bits[u, q]
    for k in wide:
        a, b = ranks[u, k], ranks[w, k]
        if a != b:
            one = np.uint64(1) << np.uint64(k & 63)
            out[(k >> 6) if a > b else n_words + (k >> 6)] |= one


@internal
def _few(histogram: Any, most: int) -> int:
    """A size such that at most ``most`` pairs are smaller; but not below all of them."""
    kept, limit = 0, 0
    while limit < histogram.size and kept + histogram[limit] <= most:
        kept += histogram[limit]
        limit += 1
    return limit if kept > 0 else limit + 1


@internal
def _compact(out_u: Any, out_w: Any, sizes: Any, limit: int) -> int:
    """Drop pairs whose size is not below ``limit``."""
    kept = 0
    for j in range(sizes.size):
        if sizes[j] < limit:
            out_u[kept], out_w[kept], sizes[kept] = out_u[j], out_w[j], sizes[j]
            kept += 1
    return kept


@internal
def _distance(bits: Any, w: int, plus: Any, minus: Any) -> Any:
    """Number of repairs among columns with two values.

    ``plus`` and ``minus`` hold those that u has where the bits of w are 0 or 1.
    """
    size = np.int64(0)
    for q in range(plus.size):
        size += count_bits((plus[q] & ~bits[w, q]) | (minus[q] & bits[w, q]))
    return size


@internal
def _wide_distance(ranks: Any, wide: Any, u: int, w: int, allowed: Any) -> Any:
    """Number of repairs among columns with many values."""
    size, n_words = np.int64(0), allowed.size // 2
    for k in wide:
        a, b = ranks[u, k], ranks[w, k]
        if a != b:
            word = allowed[(k >> 6) if a > b else n_words + (k >> 6)]
            size += np.int64((word >> np.uint64(k & 63)) & np.uint64(1))
    return size


@jit
def _collect(
    bits: Words,
    ranks: NDArray[np.int32],
    wide: IntArray,
    rows_u: IntArray,
    cells_u: IntArray,
    rows_w: IntArray,
    cells_w: IntArray,
    chosen: Words,
    allowed: Words,
    capacity: int,
) -> Any:
    """List conflicts under ``chosen``; where there are too many, those with few repairs.

    Cells hold the patterns that ``chosen`` cannot tell apart, as first positions in ``rows``.
    """
    n_words = bits.shape[1]
    flag_u = np.zeros(rows_u.size, dtype=np.bool_)
    flag_w = np.zeros(rows_w.size, dtype=np.bool_)
    out_u = np.empty(capacity, dtype=np.int64)
    out_w = np.empty(capacity, dtype=np.int64)
    sizes = np.empty(capacity, dtype=np.int64)
    histogram = np.zeros(_SIZES, dtype=np.int64)
    mask = np.zeros(2 * n_words, dtype=np.uint64)
    plus = np.zeros(n_words, dtype=np.uint64)
    minus = np.zeros(n_words, dtype=np.uint64)
    found, limit, complete = 0, _SIZES, True
    for c in range(cells_u.size - 1):
        for d in range(cells_w.size - 1):
            _repairs(bits, ranks, wide, rows_u[cells_u[c]], rows_w[cells_w[d]], mask)
            hit = np.uint64(0)
            for q in range(2 * n_words):
                hit |= mask[q] & chosen[q]
            if hit != 0:
                continue
            flag_u[cells_u[c] : cells_u[c + 1]] = True
            flag_w[cells_w[d] : cells_w[d + 1]] = True
            for a in range(cells_u[c], cells_u[c + 1]):
                u = rows_u[a]
                for q in range(n_words):
                    plus[q] = bits[u, q] & allowed[q]
                    minus[q] = ~bits[u, q] & allowed[n_words + q]
                for b in range(cells_w[d], cells_w[d + 1]):
                    w = rows_w[b]
                    size = _distance(bits, w, plus, minus)
                    if wide.size > 0:
                        size += _wide_distance(ranks, wide, u, w, allowed)
                    size = min(size, _SIZES - 1)
                    if size >= limit or u == w:
                        complete = complete and u == w
                        continue
                    out_u[found], out_w[found], sizes[found] = u, w, size
                    histogram[size] += 1
                    found += 1
                    if found == capacity:
                        complete = False
                        limit = _few(histogram, capacity // 2)
                        if histogram[limit - 1] == capacity:  # one size fills the list
                            found -= 1
                            histogram[limit - 1] -= 1
                        else:
                            found = _compact(out_u, out_w, sizes, limit)
                            histogram[limit:] = 0
    return out_u[:found], out_w[:found], sizes[:found], flag_u, flag_w, complete


@jit
def _masks(
    bits: Words, ranks: NDArray[np.int32], wide: IntArray, u: IntArray, w: IntArray, allowed: Words
) -> Words:
    """Repairs of each pair."""
    masks = np.empty((u.size, allowed.size), dtype=np.uint64)
    for j in range(u.size):
        _repairs(bits, ranks, wide, u[j], w[j], masks[j])
        for q in range(allowed.size):
            masks[j, q] &= allowed[q]
    return masks


def collect_pairs(
    signs: Signs, rows_u: IntArray, rows_w: IntArray, chosen: Words, capacity: int
) -> Pairs:
    """Pairs that a card with signs in ``chosen`` only cannot keep in order."""
    rows_u, cells_u = _cells(signs, rows_u, chosen)
    rows_w, cells_w = _cells(signs, rows_w, chosen)
    u, w, sizes, flag_u, flag_w, complete = _collect(
        signs.bits,
        signs.ranks,
        signs.wide,
        rows_u,
        cells_u,
        rows_w,
        cells_w,
        chosen,
        signs.allowed,
        capacity,
    )
    order = np.argsort(sizes, kind="stable")
    u, w = u[order], w[order]
    masks = _masks(signs.bits, signs.ranks, signs.wide, u, w, signs.allowed)
    return Pairs(u, w, masks, np.sort(rows_u[flag_u]), np.sort(rows_w[flag_w]), bool(complete))


def _cells(signs: Signs, rows: IntArray, chosen: Words) -> tuple[IntArray, IntArray]:
    """Rows sorted into cells that columns of ``chosen`` do not tell apart, and cells' starts."""
    if rows.size == 0:
        return rows, np.zeros(1, dtype=np.int64)
    columns = np.unique(signs.elements(chosen) % max(1, signs.columns.size))
    codes = signs.ranks[np.ix_(rows, columns)]
    order = np.lexsort([*codes.T, np.zeros(rows.size)])
    codes = codes[order]
    new = np.concatenate([[True], (codes[1:] != codes[:-1]).any(axis=1), [True]])
    return rows[order], np.flatnonzero(new)


@internal
def _take(gain: Any, loss: Any, u: int, w: int) -> Any:
    """Let a pair pay what both patterns have left; return the payment."""
    paid = np.int64(0)
    for i in range(gain.shape[1]):
        y = min(gain[u, i], loss[w, i])
        if y > 0:
            gain[u, i] -= y
            loss[w, i] -= y
            paid += y
    return paid


@jit
def pack_pairs(pairs: Pairs, chosen: Words, gain: IntArray, loss: IntArray) -> Any:
    """Pack pairs with repairs inside ``chosen``; which pairs pay, and what all pay together.

    ``gain`` and ``loss``, (n, thresholds), hold what patterns can still pay; changed in place.
    """
    used = np.zeros(pairs.u.size, dtype=np.bool_)
    total = np.int64(0)
    for j in range(pairs.u.size):
        rest = np.uint64(0)
        for q in range(chosen.size):
            rest |= pairs.repairs[j, q] & ~chosen[q]
        if rest == 0:
            paid = _take(gain, loss, pairs.u[j], pairs.w[j])
            used[j] = paid > 0
            total += paid
    return used, total


@jit
def grow_set(pairs: Pairs, gain: IntArray, loss: IntArray, target: int, chosen: Words) -> Any:
    """Add repairs to ``chosen`` until the pairs inside pay ``target``.

    The next pair is one that can pay and adds the fewest elements.  Returns what all pay, and the
    pairs that pay, in order.
    """
    u, w, repairs = pairs.u, pairs.w, pairs.repairs
    total = np.int64(0)
    log = np.empty(u.size, dtype=np.int64)
    logged = 0
    while True:
        best, fewest = -1, 1 << 30
        for j in range(u.size):
            more = 0
            for q in range(chosen.size):
                more += count_bits(repairs[j, q] & ~chosen[q])
            if more == 0:
                paid = _take(gain, loss, u[j], w[j])
                if paid > 0:
                    total += paid
                    log[logged] = j
                    logged += 1
                if total >= target:
                    return total, log[:logged]
            elif more < fewest:
                for i in range(gain.shape[1]):
                    if min(gain[u[j], i], loss[w[j], i]) > 0:
                        best, fewest = j, more
                        break
        if best < 0:
            return total, log[:logged]
        for q in range(chosen.size):
            chosen[q] |= repairs[best, q]


def shrink_set(
    pairs: Pairs, gain: IntArray, loss: IntArray, target: int, chosen: Words, signs: Signs
) -> Words:
    """Leave out elements while the pairs inside still pay ``target``."""
    inside = (pairs.repairs & ~chosen == 0).all(axis=1)
    inner = pairs._replace(u=pairs.u[inside], w=pairs.w[inside], repairs=pairs.repairs[inside])
    kept, elements = chosen.copy(), signs.elements(chosen)
    often = [int((inner.repairs & signs.mask([e])).any(axis=1).sum()) for e in elements]
    for e in elements[np.argsort(often, kind="stable")]:
        smaller = kept & ~signs.mask([e])
        if pack_pairs(inner, smaller, gain.copy(), loss.copy())[1] >= target:
            kept = smaller
    return kept
