"""The value of a PACKED box as ``docs/certificate_format.md`` has it, in plain Python."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

from netbenefit.problem.problem import IntegerProblem
from netbenefit.solvers.bounds.packed import Rules

NO, YES, EITHER = 0, 1, 2


def tighten(
    integers: IntegerProblem, rules: Rules, lower: Any, upper: Any, asked: Any
) -> tuple[list[list[int]], list[int], set[int]] | None:
    """(allowed values of each column, flags, used columns); None where no card is left."""
    base = integers.lower.tolist()
    zero = [a <= 0 <= b for a, b in zip(base, integers.upper.tolist(), strict=True)]
    zero = [inside and bool(rules.values[k, -base[k]]) for k, inside in enumerate(zero)]
    values = [
        [v for v in range(int(a), int(b) + 1) if rules.values[k, v - base[k]]]
        for k, (a, b) in enumerate(zip(lower, upper, strict=True))
    ]
    flags, of = [int(a) for a in asked], integers.questions.tolist()
    used: set[int] = set()
    while True:
        old = [list(v) for v in values], list(flags), set(used)
        for k, own in enumerate(values):
            if flags[of[k]] == NO:
                values[k] = [v for v in own if v == 0]
            if not values[k]:
                return None
            if values[k][0] > 0 or values[k][-1] < 0:
                used.add(k)
        for k in used:
            if flags[of[k]] == NO or values[k] == [0]:
                return None
            flags[of[k]] = YES
        for q, flag in enumerate(flags):
            open_ = [k for k in range(len(of)) if of[k] == q and values[k] != [0]]
            if flag == YES and not open_:
                return None
            if flag == YES and len(open_) == 1:
                used.add(open_[0])
        certain = flags.count(YES)
        if certain > rules.max_questions or len(used) > rules.max_features:
            return None
        if certain == rules.max_questions:
            flags = [NO if f == EITHER else f for f in flags]
        if len(used) == rules.max_features:
            for k in range(len(of)):
                if k not in used:
                    values[k] = [0] if zero[k] else []
        if old == (values, flags, used):
            return values, flags, used


def packed_value(
    integers: IntegerProblem,
    rules: Rules,
    box: tuple[Any, Any, Any],
    entries: list[tuple[int, dict[int, int], int, int]],
    fines: list[tuple[int, int]],
) -> int | None:
    """Value of a box with entries (threshold, times of patterns, amount, way); None if empty."""
    tight = tighten(integers, rules, *box)
    if tight is None:
        return None
    values, flags, used = tight
    columns = range(len(values))
    lo, hi = [v[0] for v in values], [v[-1] for v in values]
    units, of = integers.units.tolist(), integers.questions.tolist()
    fixed = [k for k in columns if lo[k] == hi[k]]
    decided = {k for k in columns if k in fixed or (k in used and (lo[k] >= 0 or hi[k] <= 0))}

    def cell(u: int) -> tuple[int, ...]:
        rest = [units[u][k] for k in columns if k not in fixed]
        return (*rest, sum(units[u][k] * lo[k] for k in fixed))

    gain: list[dict[tuple[int, ...], int]] = []
    for row in integers.gains.tolist():
        sums: dict[tuple[int, ...], int] = {}
        for u, g in enumerate(row):
            sums[cell(u)] = sums.get(cell(u), 0) + g
        gain.append(sums)
    grain = math.gcd(
        integers.unit, *(row[k] for row in units for k in columns if lo[k] != 0 or hi[k] != 0)
    )
    charge = {(k, s): 0 for k in columns for s in (1, -1)}
    pools: dict[tuple[int, ...], int] = {}
    value = 0
    for threshold, times, y, way in entries:
        P = {cell(u) for u, t in times.items() if t > 0}
        N = {cell(u) for u, t in times.items() if t < 0}
        D = [sum(t * units[u][k] for u, t in times.items()) for k in columns]
        A = sum(t for t in times.values() if t > 0)
        parts = [max(D[k] * lo[k], D[k] * hi[k]) for k in columns]
        if sum(parts) >= grain * A:
            if way == 1:
                moved = [d if lo[k] != 0 or hi[k] != 0 else 0 for k, d in enumerate(D)]
                delta = tuple(d // math.gcd(*moved) for d in moved)
                pools[delta] = pools.get(delta, 0) + y
            else:
                need = grain * A - sum(parts[k] for k in decided)
                if need <= 0:
                    continue
                for k in columns:
                    if k not in decided and parts[k] > 0:
                        sign = 1 if D[k] * hi[k] == parts[k] and hi[k] > 0 else -1
                        charge[k, sign] += -(-y * min(need, parts[k]) // need)
        for c in P:
            gain[threshold][c] -= y
        for c in N:
            gain[threshold][c] += y
        value += y * (len(P) - 1)
    for delta, amount in pools.items():
        back = tuple(-d for d in delta)
        other = pools.get(back, 0)
        if amount > other or (amount == other and delta > back):
            value += amount
    price, question = [integers.price] * len(of), integers.question_price
    for limit, fine in fines:
        if limit < len(rules.support):
            price = [c + fine * int(r) for c, r in zip(price, rules.support[limit], strict=True)]
            value += fine * int(rules.support_limit[limit])
        elif limit == len(rules.support):
            price = [c + fine for c in price]
            value += fine * rules.max_features
        else:
            question += fine
            value += fine * rules.max_questions
    cost = [price[k] - (0 if k in decided else max(charge[k, 1], charge[k, -1])) for k in columns]
    for q, flag in enumerate(flags):
        own = [k for k in columns if of[k] == q and values[k] != [0]]
        must = {k for k in own if k in used}
        options = [
            sum(cost[k] for k in chosen) + (question if chosen else 0)
            for size in range(len(own) + 1)
            for chosen in combinations(own, size)
            if must <= set(chosen) and (chosen or flag != YES)
        ]
        value -= min(options)
    return value + sum(max(0, g) for sums in gain for g in sums.values())
