"""Data to try things on: the benchmark files, and scikit-learn's breast-cancer measurements."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from netbenefit.common.checks import FloatArray, InputError, check_binary, shorten
from netbenefit.data.dataset_recipes import RECIPES, Raw
from netbenefit.data.files import read_table

__all__ = [
    "DATASETS",
    "Dataset",
    "Source",
    "check_present",
    "data_folder",
    "fetch_dataset",
    "load_breast_cancer",
    "load_credit",
    "load_dataset",
]


class Source(NamedTuple):
    """What is known of a benchmark file."""

    file: str
    digest: str  #: SHA-256 of the file
    rows: str  #: SHA-256 of its rows, sorted, as text; what a fetched table must have
    openml: int | None  #: number of the raw table on OpenML; None where there is none to use


#: The files of the published experiments, by name.
DATASETS: dict[str, Source] = {
    "adult": Source(
        "adult.csv",
        "b4f47313889d61c85eb1dd0ded48f624ce5145a6b2773aaed0378f5e6708f0e4",
        "cb536034c8f950223141e0c65556358afef97389991642548eb82cfdbc596a73",
        1590,
    ),
    "bankruptcy": Source(
        "bankruptcy.csv",
        "ff4e6637a2d91129d514f3a44f1f105d60368a2c920b0009d460ded1ab7b19c3",
        "831b4becbb5606e2612cbde3f8ed48dc06f6fd82d69fac7b5c239975447feab9",
        1495,
    ),
    "breastcancer": Source(
        "breastcancer.csv",
        "c5f4b53b631f263f0cfeffc8d7a8b919aab4d4d435fc7c6060bbba9a0d9eb012",
        "fb66dad32a0f71ad96353a1448699d3599f06ef19c9c31cb74188a4f29e5c108",
        15,
    ),
    "haberman": Source(
        "haberman.csv",
        "33b99963934dee8f29aec8d975b76d8970e68e5f855e2a7ddc991bf0ccf3869b",
        "e250456e2e6963e81921ed48cdd479e0aa5b750547fb99303ca00f857d9bcbfd",
        43,
    ),
    "heart": Source(
        "heart.csv",
        "af62bd21acdd1e4f126ceb5dfefa86611fff6f83c52e3697adb6130365de4bac",
        "db552193b49da1bb7581c9048d3c418f6eeaf47325041119de36744dde8963c6",
        49,
    ),
    "mammo": Source(
        "mammo.csv",
        "485a754dad0aa9063ce5c86b0170d2286e76899a041af2610d38bbe1ca64c5dd",
        "2785173f12af80756e2543583400717d7394c6b71752d079c75046cc9d5e37e3",
        None,
    ),
    "mushroom": Source(
        "mushroom.csv",
        "d37a1948f2926ce05e14265b66e3904f317b96500b0de35fd752657a6328a611",
        "67fc230841e2329371cc9bd66525ba2a43e2e13369a607cc43922bd95897078d",
        24,
    ),
    "spambase": Source(
        "spambase.csv",
        "0c6b90eabc14d296a7ecc438f3aa52c078c11d6b94f8f9ac0c6b06b87685881a",
        "188a8da9ab3b7916a8f77a42c8d7abcd7aa7dc7579372cc7348187089cd232dc",
        44,
    ),
}
_CREDIT = (
    "givemesomecredit.csv.gz",
    "205498356666e881e2e6055744d0598077b3f4446e4266b6bc63debbb7a233de",
)
#: Rows of the first part of UCI's Adult, which is all that the benchmark uses.
_ADULT_ROWS = 32_561


class Dataset(NamedTuple):
    """A table of numbers with its outcome."""

    X: NDArray[Any]
    y: NDArray[np.bool_]
    names: tuple[str, ...]


def data_folder() -> Path:
    """Return the folder of the benchmark files: ``NETBENEFIT_DATA``, else ``../shared/data``.

    Examples
    --------
    >>> from unittest import mock
    >>> with mock.patch.dict(os.environ, {"NETBENEFIT_DATA": "tables"}):
    ...     print(data_folder())
    tables
    """
    return Path(os.environ.get("NETBENEFIT_DATA") or Path("..", "shared", "data"))


def load_dataset(
    name: str, *, folder: str | Path | None = None, check: bool = True, fetch: bool = False
) -> Dataset:
    r"""Read a benchmark file, whose first column is the outcome.

    Parameters
    ----------
    name : str
        Name of a CSV file in the folder, without its ending: ``"adult"``, ``"mammo"``, …
    folder : path, optional
        Where the files are; by default :func:`data_folder`.
    check : bool, default=True
        Whether a file of the published experiments (:data:`DATASETS`) must be the very one, by its
        SHA-256.  Other files are read as they are.
    fetch : bool, default=False
        Whether to ask OpenML where there is no such file (:func:`fetch_dataset`).

    Returns
    -------
    Dataset
        ``X, y, names``; X holds integers where all columns do.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as here:
    ...     _ = Path(here, "tiny.csv").write_text("ill,age,sex\n1,51,0\n0,52,1\n")
    ...     load_dataset("tiny", folder=here).names
    ('age', 'sex')
    """
    where = data_folder() if folder is None else Path(folder)
    path = where / f"{name}.csv"
    if fetch and name in DATASETS and not path.is_file():
        return fetch_dataset(name, check=check)
    _check_there(path, name, where)
    if check and name in DATASETS:
        _check_digest(path, DATASETS[name].digest)
    target, *names = columns = read_table(path)
    y = check_binary(columns[target], name=f"column {target!r}")
    return Dataset(np.column_stack([columns[n] for n in names]), y, tuple(names))


def check_present(name: str, *, folder: str | Path | None = None) -> None:
    """Refuse a data set whose file is not there, or is not the very one, before it is needed.

    Parameters
    ----------
    name : str
        A name of :data:`DATASETS`, or ``"credit"``.
    folder : path, optional
        As for :func:`load_dataset`.

    Examples
    --------
    >>> check_present("heart", folder="/nowhere")
    Traceback (most recent call last):
    netbenefit.common.checks.InputError: there is no data folder /nowhere. Set the environment ...
    """
    where = data_folder() if folder is None else Path(folder)
    if name not in DATASETS and name != "credit":
        known = shorten([*DATASETS, "credit"], 20)
        raise InputError(f"there is no data set {name!r}; there are {known}.")
    file, digest = _CREDIT if name == "credit" else DATASETS[name][:2]
    _check_there(where / file, name, where)
    _check_digest(where / file, digest)


def load_credit(
    *, folder: str | Path | None = None, check: bool = True
) -> tuple[dict[str, NDArray[Any]], NDArray[np.bool_]]:
    r"""Read the raw training file of Give Me Some Credit, missing values and all.

    It comes from Kaggle, whose files need an account: nothing is fetched.

    Parameters
    ----------
    folder, check
        As for :func:`load_dataset`.

    Returns
    -------
    columns : dict of str to array
        Ten raw columns of 150,000 borrowers; missing values are NaN.
    late : array of bool
        The event: 90 days past due, or worse, within two years.

    Examples
    --------
    >>> import gzip, tempfile
    >>> with tempfile.TemporaryDirectory() as here:
    ...     with gzip.open(Path(here, "givemesomecredit.csv.gz"), "wt") as file:
    ...         _ = file.write("SeriousDlqin2yrs,age\n1,45\n0,40\n")
    ...     columns, late = load_credit(folder=here, check=False)
    >>> columns, late
    ({'age': array([45, 40])}, array([ True, False]))
    """
    where = data_folder() if folder is None else Path(folder)
    path = where / _CREDIT[0]
    _check_there(path, _CREDIT[0], where)
    if check:
        _check_digest(path, _CREDIT[1])
    columns = read_table(path)
    late = check_binary(columns.pop("SeriousDlqin2yrs"), name="column 'SeriousDlqin2yrs'")
    return columns, late


def fetch_dataset(name: str, *, check: bool = True) -> Dataset:
    """Fetch a raw table from OpenML, and prepare it as the benchmark file was.

    Needs a network and pandas.  Rows need not come in the order of the file, so that folds of the
    same seed may differ.

    Parameters
    ----------
    name : str
        A name of :data:`DATASETS`, but for ``"mammo"``: its file has values in place of missing
        ones, and how these were found is not known.
    check : bool, default=True
        Whether the rows must be those of the file, by a digest that is kept here.  Without the
        check you get what OpenML has, by the recipe as far as it is known.

    Returns
    -------
    Dataset

    Examples
    --------
    >>> fetch_dataset("mammo")
    Traceback (most recent call last):
    netbenefit.common.checks.InputError: data set 'mammo' cannot be made from its raw table: ...
    """
    if name not in DATASETS:
        raise InputError(f"there is no data set {name!r}; there are {shorten(list(DATASETS), 20)}.")
    if DATASETS[name].openml is None:
        raise InputError(
            f"data set {name!r} cannot be made from its raw table: its file holds values in place "
            "of missing ones, and how they were found is not known. Set the environment variable "
            f"NETBENEFIT_DATA to a folder with {DATASETS[name].file} (from ustunb/slim-python)."
        )
    tables = _parts(name, _openml(name))
    made = [_prepare(name, raw) for raw in tables]
    if not check:
        return made[0]
    for data in made:
        if _rows_digest(data) == DATASETS[name].rows:
            return data
    raise InputError(
        f"OpenML's table {DATASETS[name].openml} does not give the rows of {DATASETS[name].file} "
        f"({made[0].y.size:,} rows, {int(made[0].y.sum()):,} events). Results on it are not "
        "comparable with published ones. Pass check=False to use it all the same."
    )


def _openml(name: str) -> Raw:
    """Raw columns, the outcome last; None where a value is missing."""
    number = DATASETS[name].openml
    try:
        import pandas  # type: ignore[import-untyped,unused-ignore]  # noqa: F401  # the loader's own need
        from sklearn.datasets import fetch_openml
    except ImportError as error:
        raise InputError(
            f"fetching data needs pandas, which cannot be imported ({error}). Install it with pip "
            "install pandas, or set NETBENEFIT_DATA to the folder of the benchmark files."
        ) from error
    try:
        found = fetch_openml(data_id=number, as_frame=True, parser="auto")
    except (OSError, ValueError) as error:  # no network; no such table, or a broken one
        raise InputError(
            f"data set {name!r} could not be fetched from OpenML ({error}). Connect to the "
            "network, or set the environment variable NETBENEFIT_DATA to the folder that holds "
            "the benchmark files."
        ) from error
    frame = found.frame
    raw: dict[str, NDArray[Any]] = {}
    for column in (*found.data.columns, found.target.name):
        values = np.array(frame[column].astype(object).to_numpy(), dtype=object)
        values[frame[column].isna().to_numpy()] = None
        raw[str(column)] = values
    return raw


def _parts(name: str, raw: Raw) -> list[Raw]:
    """The table, or the parts of it that may be the one that is meant."""
    size = len(next(iter(raw.values())))
    if name != "adult" or size <= _ADULT_ROWS:
        return [raw]
    # OpenML holds both parts of Adult; only the larger one is in the benchmark.
    parts = slice(size - _ADULT_ROWS, None), slice(0, _ADULT_ROWS)
    return [{c: column[part] for c, column in raw.items()} for part in parts]


def _prepare(name: str, raw: Raw) -> Dataset:
    y, columns = RECIPES[name](raw)
    return Dataset(np.column_stack(list(columns.values())), y, tuple(columns))


def _rows_digest(data: Dataset) -> str:
    """SHA-256 of the rows, outcome first, in any order; numbers to nine digits."""
    table = np.column_stack([data.y.astype(np.float64), data.X.astype(np.float64)])
    lines = sorted(",".join(f"{value:.9g}" for value in row) for row in table.tolist())
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _check_there(path: Path, name: str, folder: Path) -> None:
    if not folder.is_dir():
        can = name in DATASETS and DATASETS[name].openml is not None
        hint = " With a network, load_dataset(name, fetch=True) asks OpenML." if can else ""
        raise InputError(
            f"there is no data folder {folder}. Set the environment variable NETBENEFIT_DATA to "
            f"the folder that holds the benchmark files.{hint}"
        )
    if not path.is_file():
        known = sorted(file.stem for file in folder.glob("*.csv"))
        raise InputError(
            f"there is no data set {name!r} in {folder}; there are {shorten(known, 20) or 'none'}."
        )


def _check_digest(path: Path, digest: str) -> None:
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != digest:
        raise InputError(
            f"{path} is not the file of the published experiments: its SHA-256 is {found[:12]}…, "
            f"not {digest[:12]}…. Get it again (lines must end in a plain line feed), or pass "
            "check=False to use it all the same."
        )


def load_breast_cancer(kind: str = "worst") -> tuple[dict[str, FloatArray], NDArray[np.bool_]]:
    """Return measurements of 569 breast tumours that scikit-learn ships, and which are malignant.

    Parameters
    ----------
    kind : {"worst", "mean"}, default="worst"
        Ten measurements of the cell nuclei, each as the mean over all nuclei of a tumour or as the
        mean of the three largest.

    Returns
    -------
    columns : dict of str to array
    malignant : array of bool
        The event.

    Examples
    --------
    >>> columns, malignant = load_breast_cancer()
    >>> len(columns), malignant.sum()
    (10, np.int64(212))
    """
    from sklearn import datasets  # late: slow to import

    raw = datasets.load_breast_cancer()
    columns = {
        str(name): raw.data[:, k]
        for k, name in enumerate(raw.feature_names)
        if str(name).startswith(f"{kind} ")
    }
    if not columns:
        raise InputError(f'kind={kind!r} is not known. Use "worst" or "mean".')
    return columns, raw.target == 0
