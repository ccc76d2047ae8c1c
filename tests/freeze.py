"""What the package makes and prints, as files: ``python -m tests.freeze FOLDER``.

Two versions of the code are compared by the folders that they write (``diff -r``).  The clock moves
on by a tick whenever a solver looks at it, and at no other time, so that limits on time stop a
search at the same place every time, on any machine.
"""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import io
import itertools
import json
import os
import re
import sys
import time
import tomllib
import traceback
import warnings
import zipfile
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

_ticks = itertools.count()
_now = 0.0

EIGHT = (
    "bankruptcy",
    "haberman",
    "mammo",
    "breastcancer",
    "mushroom",
    "heart",
    "adult",
    "spambase",
)
_PROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"
#: Rows of a data set that are used at most: more would only take longer.
_MOST_ROWS = 1500
#: What differs between two runs of the same code.
_CHANGING = [
    (re.compile(r"\d+(?:\.\d+)? ?(?:s|seconds)\b"), "SECONDS"),
    (re.compile(r'("seconds": )[\d.e-]+'), r"\g<1>0.0"),
    (re.compile(r"seconds=[\d.e-]+"), "seconds=0.0"),
    (
        re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2})?(?:\.\d+)?(?:Z|\+00:00)?)?"),
        "DATE",
    ),
    (re.compile(r"0x[0-9a-f]{6,}"), "ADDRESS"),
]
COMMANDS = (
    *("demo", "fit", "sizes", "validate", "evaluate", "score", "update", "compare", "report"),
    *("export", "show", "verify", "reproduce"),
)
FORMATS = ("json", "html", "sql", "python", "js", "xlsx", "pmml", "md", "latex")


def stop_the_clock() -> None:
    """Stop time, except for the solvers' own looks; to be called before the package is loaded."""
    time.perf_counter = _tick
    os.environ.update(COLUMNS="100", TERM="dumb", NO_COLOR="1", MPLBACKEND="svg")
    os.environ["LOKY_MAX_CPU_COUNT"] = "1"  # threads find cards in another order every time


def _tick() -> float:
    """A clock that only solvers move on: compiling, displays and journals take no time."""
    global _now
    if str(sys._getframe(1).f_globals.get("__name__")).startswith("netbenefit.solvers"):
        _now = round(0.01 * next(_ticks), 2)
    return _now


def freeze(folder: Path) -> None:
    """Write everything into a new folder."""
    folder.mkdir(parents=True)
    os.chdir(folder)
    warnings.simplefilter("always")
    for part in (names, eight, raw, resampling, commands):
        began = next(_ticks)
        part()
        sys.stderr.write(f"{part.__name__}: {next(_ticks) - began:,} looks at the clock\n")


def write(name: str, text: str) -> None:
    """Write a text without what changes from run to run."""
    for pattern, word in _CHANGING:
        text = pattern.sub(word, text)
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def attempt(name: str, work: Callable[[], Any]) -> Any:
    """Write what a function returns as text, or its error; return what it returned."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = work()
            text = result if isinstance(result, str) else str(result)
        except Exception as error:
            result, text = None, f"{type(error).__name__}: {error}"
            if "InputError" not in text and "NoCardFound" not in text:
                text += "\n" + traceback.format_exc()
    notes = sorted({f"{w.category.__name__}: {w.message}" for w in caught})
    write(name, "\n".join([text, *notes]) + "\n")
    return result


# -- names -----------------------------------------------------------------------------------------


def names() -> None:
    """Public names and their signatures."""
    import netbenefit
    import netbenefit.export
    import netbenefit.plots
    import netbenefit.theory

    lines = []
    for module in (netbenefit, netbenefit.theory, netbenefit.export, netbenefit.plots):
        for name in sorted(getattr(module, "__all__", ())):
            lines += describe(f"{module.__name__}.{name}", getattr(module, name))
    write("names.txt", "\n".join(lines) + "\n")


def describe(name: str, thing: Any) -> Iterator[str]:
    """A name with its signature; of a class, also those of its methods."""
    yield f"{name}{signature(thing)}"
    if inspect.isclass(thing):
        for own, value in inspect.getmembers(thing):
            if (
                not own.startswith("_")
                and callable(value)
                and "netbenefit" in str(getattr(value, "__module__", ""))
            ):
                yield f"    {own}{signature(value)}"
            elif isinstance(value, property) and not own.startswith("_"):
                yield f"    {own}"


def signature(thing: Any) -> str:
    try:
        return re.sub(r"netbenefit\.[\w.]+\.", "", str(inspect.signature(thing)))
    except (TypeError, ValueError):
        return ""


# -- cards -----------------------------------------------------------------------------------------


def eight() -> None:
    """Taught and published cards of the paper's data."""
    from netbenefit import RiskScoreClassifier, RSSDNBClassifier, SLIMClassifier
    from reproduction.datasets import load_dataset

    for name in EIGHT:
        try:
            X, y, columns = load_dataset(name)
        except Exception as error:
            sys.stderr.write(f"{name} is left out: {error}\n")
            continue
        rows = np.random.default_rng(0).permutation(len(y))[:_MOST_ROWS]
        X, y = X[rows], y[rows]
        made = {
            "taught": RiskScoreClassifier(
                binner=None,
                # Bounds of many columns are computed in threads, which see the clock in any order.
                solver="auto" if len(columns) < 16 else search(),
                time_limit=3,
                n_jobs=1,
            ),
            "small": RiskScoreClassifier(
                binner=None, teacher="logistic", solver=search(), max_features=4, n_jobs=1
            ),
            "published": RSSDNBClassifier(solver="anneal", time_limit=2, n_jobs=1),
        }
        if len(columns) < 20:
            made["slim"] = SLIMClassifier(time_limit=2, n_jobs=1)
        for kind, model in made.items():
            keep_card(f"eight/{name}/{kind}", model, X, y, feature_names=columns)


def search() -> Any:
    """A search that ends after so many rounds, not after so many seconds."""
    from netbenefit.solvers.local_search import LocalSearch

    return LocalSearch(time_limit=None, max_rounds=2)


def keep_card(name: str, model: Any, X: Any, y: Any, **fitting: Any) -> Any:
    """Fit a model, and write card, proof, risks and everything that a card can be exported to."""

    def fit() -> str:
        try:
            model.fit(X, y, **fitting)
        except TypeError:
            model.fit(X, y)
        result = getattr(model, "result_", None)
        summary = "" if result is None else f"{result.status} {result.objective!r} {result.bound!r}"
        digest = hashlib.sha256(np.asarray(model.predict_proba(X)).tobytes()).hexdigest()
        return f"{model}\n{summary}\n{digest}\n"

    attempt(f"{name}/fit.txt", fit)
    card = getattr(model, "scorecard_", None)
    if card is None:
        return None
    card.save(f"{name}/card.json")
    tidy(f"{name}/card.json")
    attempt(f"{name}/card.txt", lambda: str(card))
    attempt(f"{name}/card.html", lambda: card._repr_html_())
    certificate = getattr(model, "certificate_", None)
    if certificate is not None:
        certificate.save(f"{name}/certificate.json")
        tidy(f"{name}/certificate.json")
    for way in FORMATS:
        run(f"{name}/export-{way}", "export", f"{name}/card.json", "--to", way, *out(name, way))
    for dialect in ("duckdb", "postgresql", "spark"):
        run(
            f"{name}/export-{dialect}", "export", f"{name}/card.json", "--to", "sql",
            "--dialect", dialect, "--table", "t", "--scale", "20,600,50",
        )  # fmt: skip
    return card


def out(name: str, way: str) -> list[str]:
    """A workbook cannot be printed."""
    return ["--out", f"{name}/card.xlsx"] if way == "xlsx" else []


def tidy(path: str) -> None:
    """Take what changes out of a file; workbooks become the text of their parts."""
    file = Path(path)
    if file.suffix == ".xlsx":
        with zipfile.ZipFile(file) as book:
            parts = [f"== {n}\n{book.read(n).decode()}" for n in sorted(book.namelist())]
        file.unlink()
        write(f"{path}.txt", "\n".join(parts))
    elif file.suffix in (".json", ".csv", ".html", ".svg", ".txt"):
        write(path, file.read_text(encoding="utf-8"))


# -- raw tables ------------------------------------------------------------------------------------


def ward(n: int = 400, seed: int = 0) -> dict[str, Any]:
    """A table with numbers, levels, missing values, weights and groups."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 95, n).astype(float)
    lactate = np.round(rng.gamma(2.0, 1.2, n), 1)
    stage = rng.choice(["I", "II", "III", "IV"], n, p=[0.4, 0.3, 0.2, 0.1])
    sex = rng.choice(["female", "male"], n)
    missing = rng.random(n) < 0.15
    logit = 0.04 * (age - 65) + 0.5 * (lactate - 2.4) + 0.6 * np.isin(stage, ["III", "IV"]) - 0.8
    logit += 0.7 * missing
    died = rng.random(n) < 1 / (1 + np.exp(-logit))
    return {
        "age": age,
        "lactate": np.where(missing, np.nan, lactate),
        "stage": stage,
        "sex": sex,
        "visits": rng.poisson(2, n),
        "weight": np.round(rng.uniform(0.5, 2.0, n), 2),
        "died": np.where(died, "yes", "no"),
    }


def tumours() -> dict[str, Any]:
    """scikit-learn's breast cancer, ten columns of it."""
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer()
    table: dict[str, Any] = {
        str(name).replace(" ", "_"): data.data[:, k]
        for k, name in enumerate(data.feature_names[:10])
    }
    return {**table, "malignant": (data.target == 0).astype(int)}


def loans(n: int = 600) -> dict[str, Any]:
    """Codes for missing values, a skewed amount, a date-like text, few events."""
    rng = np.random.default_rng(3)
    income = np.round(rng.lognormal(10, 0.6, n), -2)
    late = rng.choice([0, 1, 2, 96, 98], n, p=[0.7, 0.15, 0.1, 0.03, 0.02])
    owner = rng.choice(["rent", "own", "mortgage", ""], n)
    logit = -2.2 + 0.9 * (late % 96) - 0.5 * (np.log(income) - 10)
    return {
        "income": income,
        "late": late,
        "owner": owner,
        "default": (rng.random(n) < 1 / (1 + np.exp(-logit))).astype(int),
    }


TABLES: dict[str, tuple[Callable[[], dict[str, Any]], str]] = {
    "ward": (ward, "died"),
    "tumours": (tumours, "malignant"),
    "loans": (loans, "default"),
}


def save_csv(name: str, table: dict[str, Any]) -> None:
    def cell(value: Any) -> str:
        return "" if value != value else str(value)

    rows = zip(*table.values(), strict=True)
    lines = [",".join(table), *(",".join(map(cell, row)) for row in rows)]
    Path(name).write_text("\n".join(lines) + "\n", encoding="utf-8")


def raw() -> None:
    """Cards of raw tables: rows in memory, as a frame, and as a query."""
    import duckdb
    import polars as pl

    from netbenefit import Binner, RiskScoreClassifier, evaluate_card, update_card

    for name, (make, target) in TABLES.items():
        table = make()
        y = table.pop(target)
        weight = table.pop("weight", None)
        options: dict[str, Any] = {"n_jobs": 1, "solver": search()}
        model = RiskScoreClassifier(binner="auto", max_features=6, **options)
        card = keep_card(f"raw/{name}/auto", model, table, y)
        keep_card(
            f"raw/{name}/weighted",
            RiskScoreClassifier(binner=Binner(method="quantile"), teacher="boosting", **options),
            pl.DataFrame(table),
            y,
            sample_weight=weight,
        )
        attempt(f"raw/{name}/bins.txt", lambda m=model: m.binner_.summary())
        if card is None:
            continue
        for what in ("risks", "cutoffs"):
            attempt(
                f"raw/{name}/update-{what}.txt",
                lambda w=what, c=card, t=table, e=y: update_card(c, t, e, what=w),
            )
        attempt(f"raw/{name}/evaluate.txt", lambda c=card, t=table, e=y: evaluate_card(c, t, e))
        frame = pl.DataFrame({**table, target: y})
        relation = duckdb.from_arrow(frame.to_arrow())
        for kind, rows in (("polars", frame.lazy()), ("duckdb", relation)):
            queried = RiskScoreClassifier(binner="auto", max_features=5, **options)

            def fit(model: Any = queried, rows: Any = rows, target: str = target) -> str:
                model.fit_table(rows, target)
                return f"{model.scorecard_}\n{model.merging_}"

            attempt(f"raw/{name}/table-{kind}.txt", fit)


# -- resampling ------------------------------------------------------------------------------------


def resampling() -> None:
    """Tables of validation, comparison, sizes and sensitivity."""
    from netbenefit import (
        RiskScoreClassifier,
        bootstrap_validate,
        choose_setting,
        compare,
        cross_validate,
        size_path,
        threshold_sensitivity,
    )

    table = ward()
    event = table.pop("died") == "yes"
    weight = table.pop("weight")
    card = RiskScoreClassifier(
        binner="auto", solver="local", time_limit=1, n_jobs=1, max_features=5
    )
    plain = RiskScoreClassifier(binner=None, solver=search(), n_jobs=1)
    numbers = {k: v for k, v in table.items() if k in ("age", "visits")}
    made: dict[str, Callable[[], Any]] = {
        "cross_validate": lambda: cross_validate(card, table, event, folds=3, n_jobs=1),
        "cross_validate_weights": lambda: cross_validate(
            card, table, event, folds=2, sample_weight=weight, n_jobs=1
        ),
        "bootstrap": lambda: bootstrap_validate(card, table, event, resamples=3, n_jobs=1),
        "choose": lambda: choose_setting(
            card, table, event, settings={"max_features": [2, 4]}, folds=3, n_jobs=1
        ),
        "compare": lambda: compare(
            {"card": card, "logistic": "logistic", "lasso": "lasso"},
            table,
            event,
            folds=3,
            n_jobs=1,
        ),
        "sizes": lambda: size_path(card, table, event, sizes=[1, 2, 4], folds=3, n_jobs=1),
        "sizes_numbers": lambda: size_path(plain, numbers, event, sizes=[1, 2], folds=3, n_jobs=1),
        "sensitivity": lambda: threshold_sensitivity(plain, numbers, event, folds=2),
    }
    for name, work in made.items():
        result = attempt(f"resampling/{name}.txt", work)
        for field in ("table", "folds", "summary", "rows"):
            value = getattr(result, field, None)
            if value is not None and not callable(value):
                attempt(f"resampling/{name}-{field}.txt", lambda v=value: v)


# -- commands --------------------------------------------------------------------------------------


def run(name: str, *args: str) -> None:
    """Write what a command prints and how it ends, and tidy the files that it wrote."""
    from typer.testing import CliRunner

    scripts = tomllib.loads(_PROJECT.read_text(encoding="utf-8"))["project"]["scripts"]
    module = import_module(scripts["netbenefit"].split(":")[0])
    result = CliRunner().invoke(module.app, list(args))
    text = f"$ netbenefit {' '.join(args)}\n{result.output}\n[exit {result.exit_code}]\n"
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        text += "".join(traceback.format_exception(result.exception))
    write(f"{name}.txt", text)
    for flag in ("--out", "--csv", "--certificate", "--html", "--plot"):
        if flag in args:
            path = args[args.index(flag) + 1]
            if Path(path).exists():
                tidy(path)


def commands() -> None:
    """Every command on three raw tables, its help, and what it says to bad input."""
    for command in COMMANDS:
        run(f"commands/help-{command}", command, "--help")
    run("commands/help", "--help")
    for name, (make, target) in TABLES.items():
        here = f"commands/{name}"
        Path(here).mkdir(parents=True)
        table = make()
        data, card, proof = f"{here}/data.csv", f"{here}/fit.json", f"{here}/proof.json"
        save_csv(data, table)
        to = ["--target", target]
        weights = ["--sample-weight", "weight"] if "weight" in table else []
        fast = ["--jobs", "1", "--time-limit", "2"]
        new = [*to, *weights, *fast]
        run(f"{here}/fit", "fit", data, *new, "--max-features", "5", "--out", card,
            "--certificate", proof)  # fmt: skip
        run(f"{here}/fit-stream", "fit", data, *new, "--stream", "--max-features", "4",
            "--solver", "local", "--out", f"{here}/stream.json")  # fmt: skip
        run(f"{here}/fit-holdout", "fit", data, *new, "--holdout", "0.3", "--solver", "local",
            "--teacher", "logistic")  # fmt: skip
        run(f"{here}/fit-published", "fit", data, *new, "--prior-strength", "0",
            "--solver", "local", "--max-features", "4", "--thresholds", "0.1:0.5:0.1",
            "--weights", "length")  # fmt: skip
        run(f"{here}/show", "show", card, "--html", f"{here}/show.html")
        run(f"{here}/verify", "verify", card, proof, data, *to, *weights)
        run(f"{here}/verify-sample", "verify", card, proof, data, *to, *weights, "--sample", "9",
            "--seed", "1", "--allow-unchecked")  # fmt: skip
        run(f"{here}/evaluate", "evaluate", card, data, *to, "--csv", f"{here}/curve.csv")
        run(f"{here}/evaluate-json", "evaluate", card, data, *to, *weights, "--json")
        run(f"{here}/evaluate-stream", "evaluate", card, data, *to, "--stream", "--reference", data)
        run(f"{here}/score", "score", card, data, "--out", f"{here}/scores.csv", "--keep", target)
        run(f"{here}/report", "report", card, data, *to, *weights, "--certificate", proof,
            "--out", f"{here}/report.html")  # fmt: skip
        for what in ("risks", "cutoffs", "refit"):
            run(f"{here}/update-{what}", "update", card, data, *to, "--what", what, *fast,
                "--out", f"{here}/updated-{what}.json")  # fmt: skip
        run(f"{here}/update-compare", "update", card, data, *to, *fast, "--compare", "2")
        run(f"{here}/sizes", "sizes", data, *new, "--max-size", "4", "--folds", "3",
            "--csv", f"{here}/sizes.csv")  # fmt: skip
        run(f"{here}/validate", "validate", data, *new, "--folds", "3", "--solver", "local",
            "--csv", f"{here}/validate.csv")  # fmt: skip
        run(f"{here}/validate-nested", "validate", data, *new, "--folds", "2", "--solver", "local",
            "--nested", "--inner-folds", "2", "--max-features", "2,4")  # fmt: skip
        run(f"{here}/validate-bootstrap", "validate", data, *new, "--bootstrap", "2",
            "--solver", "local")  # fmt: skip
        run(f"{here}/compare", "compare", data, *new, "--folds", "2", "--models",
            "scorecard,logistic", "--out", f"{here}/compare.csv")  # fmt: skip
    ward_csv, card = "commands/ward/data.csv", "commands/ward/fit.json"
    bad: dict[str, list[str]] = {
        "no-file": ["fit", "nothing.csv", "--target", "died"],
        "no-target": ["fit", ward_csv, "--target", "dead"],
        "no-event": ["fit", ward_csv, "--target", "died", "--positive", "maybe"],
        "many-labels": ["fit", ward_csv, "--target", "stage"],
        "no-weights": ["fit", ward_csv, "--target", "died", "--sample-weight", "mass"],
        "text-weights": ["fit", ward_csv, "--target", "died", "--sample-weight", "stage"],
        "thresholds": ["fit", ward_csv, "--target", "died", "--thresholds", "0.5:0.1:0.1"],
        "teacher": ["fit", ward_csv, "--target", "died", "--teacher", "nobody"],
        "strength": ["fit", ward_csv, "--target", "died", "--prior-strength", "-3"],
        "monotone-fit": ["fit", ward_csv, "--target", "died", "--monotone", "sex+"],
        "monotone-validate": ["validate", ward_csv, "--target", "died", "--monotone", "sex+",
                              "--folds", "2", "--solver", "local", "--time-limit", "1"],
        "monotone-name": ["validate", ward_csv, "--target", "died", "--monotone", "aeg+"],
        "sign": ["fit", ward_csv, "--target", "died", "--sign", "age=up"],
        "cuts": ["fit", ward_csv, "--target", "died", "--cuts", "age=old"],
        "missing": ["fit", ward_csv, "--target", "died", "--missing", "error"],
        "binner-none": ["fit", ward_csv, "--target", "died", "--binner", "none"],
        "drop": ["fit", ward_csv, "--target", "died", "--drop", "aeg"],
        "evaluate-columns": ["evaluate", card, "commands/loans/data.csv", "--target", "default"],
        "verify-other": ["verify", card, "commands/ward/proof.json", "commands/loans/data.csv",
                         "--target", "default"],
        "score-columns": ["score", card, "commands/loans/data.csv", "--out", "x.csv"],
        "models": ["compare", ward_csv, "--target", "died", "--models", "magic"],
        "no-card": ["show", "nothing.json"],
    }  # fmt: skip
    for name, args in bad.items():
        run(f"commands/bad/{name}", *args)


if __name__ == "__main__":
    stop_the_clock()
    with contextlib.redirect_stdout(io.StringIO()):
        freeze(Path(sys.argv[1]).resolve())
    json.dump({"python": sys.version.split()[0]}, sys.stdout)
