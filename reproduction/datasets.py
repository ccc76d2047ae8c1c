"""The benchmark files of the paper, and how they are made from the raw tables."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from netbenefit.common.checks import InputError, check_binary, shorten
from netbenefit.data.duckdb import read_table

# -- from the raw UCI tables to the columns of the benchmark files, one function per data set ------
# Each takes the raw columns in their published order, as objects (None where missing), the outcome
# last, and returns the outcome and the named columns.  The recipes were worked out from the files;
# ``docs/baselines.md`` lists what they could be checked against.


#: Columns by name, in order.
Raw = Mapping[str, NDArray[Any]]
Made = tuple[NDArray[np.bool_], dict[str, NDArray[Any]]]
Recipe = Callable[[Raw], Made]


def _take(raw: Raw, count: int) -> list[NDArray[Any]]:
    """All columns; refuse tables that have another number of them."""
    if len(raw) != count:
        raise InputError(
            f"the raw table has {len(raw)} columns ({shorten(list(raw), 8)}), but {count} were "
            "expected: this is another version of the data."
        )
    return list(raw.values())


def _numbers(column: NDArray[Any]) -> NDArray[np.float64]:
    return np.array([np.nan if v is None else float(v) for v in column], dtype=np.float64)


def _is(column: NDArray[Any], *labels: str) -> NDArray[np.int64]:
    """1 where a cell is one of these words, whatever blanks or quotes stand around it."""
    texts = ("" if v is None else str(v).strip().strip("'\"") for v in column)
    return np.array([text in labels for text in texts], dtype=np.int64)


def _between(column: NDArray[Any], low: float, high: float = np.inf) -> NDArray[np.int64]:
    """1 where low ≤ value < high."""
    values = _numbers(column)
    return ((values >= low) & (values < high)).astype(np.int64)


def _coded(column: NDArray[Any], codes: Mapping[str, int]) -> NDArray[np.int64]:
    texts = ["" if v is None else str(v).strip().strip("'\"") for v in column]
    strange = sorted(set(texts) - set(codes))
    if strange:
        raise InputError(f"the raw table holds {shorten(strange)}, not {shorten(list(codes), 9)}.")
    return np.array([codes[text] for text in texts], dtype=np.int64)


# -- one per data set ------------------------------------------------------------------------------


def breastcancer(raw: Raw) -> Made:
    """Nine scores as they are; rows with a missing one are left out; malignant is the event."""
    columns = _take(raw, 10)
    values = [_numbers(column) for column in columns[:-1]]
    whole = ~np.isnan(values).any(axis=0)
    made = {n: v[whole].astype(np.int64) for n, v in zip(_CELLS.split(), values, strict=True)}
    return _is(columns[-1], "malignant", "4")[whole] == 1, made


def haberman(raw: Raw) -> Made:
    """Age, nodes, and years counted from 1958; survival of five years is the event."""
    age, year, nodes, status = _take(raw, 4)
    made = {
        "Age": _numbers(age),
        "NumberOfNodes": _numbers(nodes),
        "YrsSinceFirstOperations": _numbers(year) - 58,
    }
    return _is(status, "1") == 1, {n: v.astype(np.int64) for n, v in made.items()}


def bankruptcy(raw: Raw) -> Made:
    """Positive, average, negative as 1, 0, −1 (numbers stand for the letters in their order)."""
    *ratings, label = _take(raw, 7)
    codes = {"P": 1, "A": 0, "N": -1, "1": 0, "2": -1, "3": 1}
    made = {f"{n}Risk": _coded(c, codes) for n, c in zip(_RISKS.split(), ratings, strict=True)}
    return _coded(label, {"NB": 1, "B": 0, "2": 1, "1": 0}) == 1, made


def spambase(raw: Raw) -> Made:
    """All columns as they are."""
    *columns, label = _take(raw, 58)
    made = {n: _numbers(c) for n, c in zip(_SPAM_NAMES, columns, strict=True)}
    return _is(label, "1") == 1, made


def heart(raw: Raw) -> Made:
    """Categories and ranges as 0 and 1; missing vessels count as none, a missing thal as no kind.

    The heart-rate column is how far the highest rate stays below 220 − age, relative to that rate.
    """
    columns = _take(raw, 14)
    age, sex, pain, pressure, cholesterol, sugar, ecg, rate, angina, depression = columns[:10]
    slope, vessels, thal, label = columns[10:]
    highest = _numbers(rate)
    made: dict[str, NDArray[Any]] = {
        "FastingBloodSugar_ge_120": _is(sugar, "t", "1", "1.0"),
        "ExerciseAngina": _is(angina, "yes", "1", "1.0"),
        "ExerciseSTDepression": _numbers(depression),
        "NumVesselsByFlourosopy": np.nan_to_num(_numbers(vessels)).astype(np.int64),
        "Male": _is(sex, "male", "1", "1.0"),
        "Female": _is(sex, "female", "0", "0.0"),
    }
    for prefix, column, kinds in (
        ("ChestPain_eq_", pain, _PAIN),
        ("ExerciseSTPeakSlope_eq_", slope, _SLOPE),
        ("Thal_eq_", thal, _THAL),
        ("RestECG_eq_", ecg, _ECG),
    ):
        made |= {prefix + name: _is(column, *words) for name, words in kinds.items()}
    made |= {
        "Cholesterol_lt_200": _between(cholesterol, 0, 200),
        "Cholesterol_200_to_240": _between(cholesterol, 200, 241),
        "Cholesterol_gt_240": _between(cholesterol, 241),
        "RestBP_Normal": _between(pressure, 0, 120),
        "RestBP_PreHypertension": _between(pressure, 120, 140),
        "RestBP_Hypertension_Stage_1": _between(pressure, 140, 160),
        "RestBP_Hypertension_Stage_2": _between(pressure, 160, 180),
        "RestBP_HypertensiveCrisis": _between(pressure, 180),
        "MaxExerciseHRTargetRatio": (220 - _numbers(age) - highest) / highest,
        "Age_lt_30": _between(age, 0, 30),
        **{f"Age_geq_{a}": _between(age, a) for a in (30, 45, 60)},
    }
    return _is(label, "<50", "0", "0.0") == 0, made


def mushroom(raw: Raw) -> Made:
    """One column per letter; the veil's type is constant, no root and no ring are no kind."""
    *columns, label = _take(raw, 23)
    made: dict[str, NDArray[Any]] = {}
    for column, (name, kinds) in zip(columns, _MUSHROOM, strict=True):
        for pair in kinds.split():
            letter, kind = pair.split("=")
            made[f"{name}_eq_{kind}"] = _is(column, letter)
    return _is(label, "p") == 1, made


def adult(raw: Raw) -> Made:
    """Ranges and groups of categories; the column Age_leq_21 of the file means 21 or older."""
    age, work, _, school, _, married, job, _, race, sex, gain, loss, hours, land, label = _take(
        raw, 15
    )
    made: dict[str, NDArray[Any]] = {
        "Age_leq_21": _between(age, 21),
        "Age_22_to_29": _between(age, 22, 30),
        "Age_30_to_44": _between(age, 30, 45),
        "Age_45_to_59": _between(age, 45, 60),
        "Age_geq_60": _between(age, 60),
    }
    for column, kinds in ((work, _WORK), (school, _SCHOOL), (job, _JOB), (married, _MARRIED)):
        made |= {name: _is(column, *words.split()) for name, words in kinds.items()}
    made |= {
        "WorkHrsPerWeek_lt_40": _between(hours, 0, 40),
        "WorkHrsPerWeek_40_to_50": _between(hours, 40, 50),
        "WorkHrsPerWeek_geq_50": _between(hours, 50),
        "Male": _is(sex, "Male"),
        "Female": _is(sex, "Female"),
        "White": _is(race, "White"),
        "Black": _is(race, "Black"),
        "OtherRace": _is(race, "Asian-Pac-Islander", "Amer-Indian-Eskimo", "Other"),
    }
    native, unknown = _is(land, "United-States", "Canada"), _is(land, "?", "")
    made |= {
        "NativeUSorCanada": native,
        "NativeImmigrant": 1 - native - unknown,
        "AnyCapitalGains": _between(gain, 1),
        "AnyCapitalLoss": _between(loss, 1),
    }
    return _is(label, ">50K", ">50K.") == 1, made


_CELLS = (
    "ClumpThickness UniformityOfCellSize UniformityOfCellShape MarginalAdhesion "
    "SingleEpithelialCellSize BareNuclei BlandChromatin NormalNucleoli Mitoses"
)
_RISKS = "Industrial Management FinancialFlexibility Credibility Competitive Operating"
#: What OpenML, or UCI, calls the kinds.
_PAIN = {
    "typicalangina": ("typ_angina", "1", "1.0"),
    "asymptomatic": ("asympt", "4", "4.0"),
    "nonanginal": ("non_anginal", "3", "3.0"),
    "atypicalangina": ("atyp_angina", "2", "2.0"),
}
_SLOPE = {"Down": ("down", "3", "3.0"), "Flat": ("flat", "2", "2.0"), "Up": ("up", "1", "1.0")}
_THAL = {
    "FixedDefect": ("fixed_defect", "6", "6.0"),
    "Normal": ("normal", "3", "3.0"),
    "ReversableDefect": ("reversable_defect", "7", "7.0"),
}
_ECG = {
    "likely_v_hypertrophy": ("left_vent_hyper", "2", "2.0"),
    "normal": ("normal", "0", "0.0"),
    "st_abnormality": ("st_t_wave_abnormality", "1", "1.0"),
}
_WORK = {
    "EmployedInPrivateSector": "Private",
    "EmployedInPublicSector": "Federal-gov Local-gov State-gov",
    "SelfEmployedNotInc": "Self-emp-not-inc",
    "SelfEmployedInc": "Self-emp-inc",
}
_SCHOOL = {  # doctorates and preschool are in no group
    "HSDiploma": "HS-grad Some-college",
    "ProfVocOrAS": "Assoc-voc Assoc-acdm Prof-school",
    "Bachelors": "Bachelors",
    "Graduate": "Masters",
    "NoHS": "1st-4th 5th-6th 7th-8th 9th 10th 11th 12th",
}
_JOB = {
    "JobManagerial": "Exec-managerial",
    "JobAdministrative": "Adm-clerical",
    "JobArmedForces": "Armed-Forces",
    "JobService": "Other-service Sales Transport-moving Handlers-cleaners Priv-house-serv",
    "JobSkilledSpecialty": (
        "Prof-specialty Craft-repair Machine-op-inspct Tech-support Protective-serv"
    ),
    "JobAgriculture": "Farming-fishing",
}
_MARRIED = {
    "Married": "Married-civ-spouse Married-AF-spouse Married-spouse-absent",
    "DivorcedOrSeparated": "Divorced Separated",
    "Widowed": "Widowed",
    "NeverMarried": "Never-married",
}
_MUSHROOM: Sequence[tuple[str, str]] = (
    ("cap_shape", "x=convex b=bell s=sunken f=flat k=knobbed c=conical"),
    ("cap_surface", "s=smooth y=scaly f=fibrous g=grooves"),
    (
        "cap_color",
        "n=brown y=yellow w=white g=gray e=red p=pink b=buff u=purple c=cinnamon r=green",
    ),
    ("bruises", "t=TRUE"),
    ("odor", "p=pungent a=almond l=anise n=none f=foul c=creosote y=fishy s=spicy m=musty"),
    ("gill_attachment", "f=free a=attached"),
    ("gill_spacing", "c=close w=crowded"),
    ("gill_size", "n=narrow b=broad"),
    (
        "gill_color",
        "k=black n=brown g=gray p=pink w=white h=chocolate u=purple e=red b=buff r=green "
        "y=yellow o=orange",
    ),
    ("stalk_shape", "e=elarging t=tapering"),
    ("stalk_root", "e=equal c=club b=bulbous r=rooted"),
    ("stalk_surface_above_ring", "s=smooth f=fibrous k=grooves y=scaly"),
    ("stalk_surface_below_ring", "s=smooth f=fibrous y=scaly k=grooves"),
    (
        "stalk_color_above_ring",
        "w=white g=gray p=pink n=brown b=buff e=red o=orange c=cinnamon y=yellow",
    ),
    (
        "stalk_color_below_ring",
        "w=white p=pink g=gray b=buff n=brown e=red y=yellow o=orange c=cinnamon",
    ),
    ("veil_type", ""),
    ("veil_color", "w=white n=brown o=orange y=yellow"),
    ("ring_number", "o=1 t=2"),
    ("ring_type", "p=pendant e=evanescent l=large f=flaring n=none"),
    (
        "spore_print_color",
        "k=black n=brown u=purple h=chocolate w=white r=green o=orange y=yellow b=buff",
    ),
    ("population", "s=scattered n=numerous a=abundant v=several y=solitary c=clustered"),
    ("habitat", "u=urban g=grasses m=meadows d=woods p=paths w=waste l=leaves"),
)
_SPAM_WORDS = (
    "Make Address All 3D Our Over Remove Internet Order Mail Receive Will People Report Addresses "
    "Free Business Email You Credit Your Font 0 Money HP HPL George 650 Lab Labs Telnet 857 Data "
    "415 85 Technology 1999 Parts PM Direct CS Meeting Original Project RE EDU Table Conference"
)
_SPAM_SIGNS = "Semicolon Parentheses Bracket ExcalamationMark DollarSign Pound"
_SPAM_NAMES = (
    *(f"WordFreq{word}" for word in _SPAM_WORDS.split()),
    *(f"CharFreq{sign}" for sign in _SPAM_SIGNS.split()),
    *(f"CapitalRunLength{kind}" for kind in ("Average", "Longest", "Total")),
)

RECIPES: Mapping[str, Recipe] = {
    "adult": adult,
    "bankruptcy": bankruptcy,
    "breastcancer": breastcancer,
    "haberman": haberman,
    "heart": heart,
    "mushroom": mushroom,
    "spambase": spambase,
}


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
    """Return the folder of the benchmark files: ``NETBENEFIT_DATA``, else ``../shared/data``."""
    return Path(os.environ.get("NETBENEFIT_DATA") or Path("..", "shared", "data"))


def load_dataset(
    name: str, *, folder: str | Path | None = None, check: bool = True, fetch: bool = False
) -> Dataset:
    """Read a benchmark file, whose first column is the outcome, or ``fetch`` it if there is none.

    With ``check``, a file of :data:`DATASETS` must have the published SHA-256.
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
    """Refuse a data set whose file is absent, or is another file, before it is needed."""
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
    """Read the raw columns and outcomes of Give Me Some Credit (Kaggle), missing values as NaN."""
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

    Needs a network and pandas. Rows may come in another order than in the file. With ``check``,
    they must be those of the file, by a digest.
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
