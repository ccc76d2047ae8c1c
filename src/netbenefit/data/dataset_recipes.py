"""From the raw UCI tables to the columns of the benchmark files, one function a data set.

Each takes the raw columns in their published order, as objects (None where missing), the outcome
last, and returns the outcome and the named columns.  The recipes were worked out from the files;
``docs/baselines.md`` says what they could be checked against.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netbenefit.common.checks import InputError, shorten

__all__ = ["RECIPES", "Raw", "Recipe"]

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


# -- one a data set ------------------------------------------------------------------------------


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
    """One column a letter; the veil's type is constant, a missing root and no ring are no kind."""
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
