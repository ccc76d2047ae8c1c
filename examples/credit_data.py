"""Write simulated borrowers as a raw file: ``python examples/credit_data.py credit.csv``.

They have the columns and faults of Give Me Some Credit: missing incomes, utilisation far above 1,
and counts of late payments with the codes 96 and 98.
"""

from __future__ import annotations

import csv
import sys

import numpy as np

N_ROWS = 8000


def columns(seed: int = 0) -> dict[str, list[object]]:
    """Simulate a table, column by column."""
    rng = np.random.default_rng(seed)
    age = np.clip(rng.normal(52, 15, N_ROWS), 21, 99).astype(int)
    used = np.round(np.minimum(rng.beta(0.5, 1.1, N_ROWS), 1.0), 3)
    strained = used + 0.015 * (52 - age) + rng.normal(0, 0.5, N_ROWS)
    late = [rng.poisson(np.exp(strained + shift)) for shift in (-2.2, -3.4, -3.2)]
    income = np.round(np.exp(rng.normal(8.6, 0.6, N_ROWS)), -1).astype(int)
    debt = np.round(np.exp(rng.normal(-1.1, 0.9, N_ROWS)), 3)
    log_odds = -4.2 + 1.9 * used + 0.8 * late[0] + 1.1 * late[1] + 1.4 * late[2]
    log_odds += 0.02 * (50 - age) + 0.3 * (debt > 0.8) - 0.3 * (income > 9000)
    event = rng.random(N_ROWS) < 1 / (1 + np.exp(-log_odds))
    odd = rng.random(N_ROWS)
    used = np.where(odd < 0.002, np.round(1000 * used), used)
    code = np.where(odd > 0.999, 98, np.where(odd > 0.9985, 96, 0))
    late = [np.where(code > 0, code, np.minimum(count, 12)) for count in late]
    known = rng.random(N_ROWS) > 0.2
    found = {
        "SeriousDlqin2yrs": event.astype(int),
        "RevolvingUtilizationOfUnsecuredLines": used,
        "age": np.where(odd == odd.min(), 0, age),
        "NumberOfTime30-59DaysPastDueNotWorse": late[0],
        "DebtRatio": debt,
        "MonthlyIncome": np.where(known, income, -1),
        "NumberOfOpenCreditLinesAndLoans": rng.poisson(8.4, N_ROWS),
        "NumberOfTimes90DaysLate": late[2],
        "NumberRealEstateLoansOrLines": rng.poisson(1.0, N_ROWS),
        "NumberOfTime60-89DaysPastDueNotWorse": late[1],
        "NumberOfDependents": rng.poisson(0.8, N_ROWS),
    }
    table: dict[str, list[object]] = {name: values.tolist() for name, values in found.items()}
    table["MonthlyIncome"] = ["" if value == -1 else value for value in table["MonthlyIncome"]]
    return table


if __name__ == "__main__":
    with open(sys.argv[1], "w", newline="", encoding="utf-8") as file:
        table = columns()
        writer = csv.writer(file)
        writer.writerow(table)
        writer.writerows(zip(*table.values(), strict=True))
