"""Fetching and preparing raw tables: recipes against the benchmark files, without a network."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import sklearn.datasets

from netbenefit import InputError
from reproduction.datasets import (
    _MUSHROOM,
    DATASETS,
    RECIPES,
    _rows_digest,
    fetch_dataset,
    load_credit,
    load_dataset,
)

#: The first rows of the raw UCI files, in the words of OpenML where these differ.
FIRST = {
    "adult": [
        "39|State-gov|77516|Bachelors|13|Never-married|Adm-clerical|Not-in-family|White|Male|2174|0"
        "|40|United-States|<=50K",
        "50|Self-emp-not-inc|83311|Bachelors|13|Married-civ-spouse|Exec-managerial|Husband|White"
        "|Male|0|0|13|United-States|<=50K",
        "38|Private|215646|HS-grad|9|Divorced|Handlers-cleaners|Not-in-family|White|Male|0|0|40"
        "|United-States|<=50K",
        "53|Private|234721|11th|7|Married-civ-spouse|Handlers-cleaners|Husband|Black|Male|0|0|40"
        "|United-States|<=50K",
        "28|Private|338409|Bachelors|13|Married-civ-spouse|Prof-specialty|Wife|Black|Female|0|0|40"
        "|Cuba|<=50K",
    ],
    "bankruptcy": ["P|P|A|A|A|P|NB", "N|N|A|A|A|N|NB"],
    "breastcancer": [
        "5|1|1|1|2|1|3|1|1|benign",
        "5|4|4|5|7|10|3|2|1|benign",
        "3|1|1|1|2|2|3|1|1|benign",
    ],
    "haberman": ["30|64|1|1", "30|62|3|1", "30|65|0|1", "31|59|2|1"],
    "heart": [
        "63|male|typ_angina|145|233|t|left_vent_hyper|150|no|2.3|down|0|fixed_defect|<50",
        "67|male|asympt|160|286|f|left_vent_hyper|108|yes|1.5|flat|3|normal|>50_1",
        "67|male|asympt|120|229|f|left_vent_hyper|129|yes|2.6|flat|2|reversable_defect|>50_1",
        "37|male|non_anginal|130|250|f|normal|187|no|3.5|down|0|normal|<50",
        "41|female|atyp_angina|130|204|f|left_vent_hyper|172|no|1.4|up|0|normal|<50",
    ],
    "mushroom": [
        "x|s|n|t|p|f|c|n|k|e|e|s|s|w|w|p|w|o|p|k|s|u|p",
        "x|s|y|t|a|f|c|b|k|e|c|s|s|w|w|p|w|o|p|n|n|g|e",
        "b|s|w|t|l|f|c|b|n|e|c|s|s|w|w|p|w|o|p|n|n|m|e",
    ],
}


def columns_of(rows: list[str]) -> dict[str, np.ndarray]:
    cells = np.array([row.split("|") for row in rows], dtype=object)
    return {f"c{k}": cells[:, k] for k in range(cells.shape[1])}


@pytest.mark.parametrize("name", sorted(FIRST))
def test_first_raw_rows_give_the_first_rows_of_the_file(name: str, data_folder: Path) -> None:
    file = pd.read_csv(data_folder / f"{name}.csv")
    y, made = RECIPES[name](columns_of(FIRST[name]))
    assert list(made) == file.columns[1:].tolist()
    assert y.tolist() == (file.iloc[: len(y), 0] == 1).tolist()
    for column, values in made.items():
        assert values == pytest.approx(file[column].to_numpy()[: len(y)], abs=1e-12), column


def test_counts_that_uci_documents(data_folder: Path) -> None:
    """Groups of categories have as many rows as UCI counts for their members together."""
    adult = pd.read_csv(data_folder / "adult.csv").sum()
    counts = {
        "EmployedInPublicSector": 960 + 2093 + 1298,
        "HSDiploma": 10501 + 7291,
        "ProfVocOrAS": 1382 + 1067 + 576,
        "Graduate": 1723,
        "NoHS": 168 + 333 + 646 + 514 + 933 + 1175 + 433,
        "JobService": 3295 + 3650 + 1597 + 1370 + 149,
        "JobSkilledSpecialty": 4140 + 4099 + 2002 + 928 + 649,
        "Married": 14976 + 23 + 418,
        "DivorcedOrSeparated": 4443 + 1025,
        "NativeUSorCanada": 29170 + 121,
    }
    assert {name: int(adult[name]) for name in counts} == counts
    assert 32561 - adult["Age_leq_21"] == 395 + 550 + 712 + 753  # aged 17 to 20
    heart = pd.read_csv(data_folder / "heart.csv")
    assert (heart["NumVesselsByFlourosopy"] == 0).sum() == 176 + 4  # four are missing
    assert (heart.filter(like="Thal_eq_").sum(axis=1) == 0).sum() == 2
    mushroom = pd.read_csv(data_folder / "mushroom.csv").sum()
    assert mushroom["stalk_surface_above_ring_eq_grooves"] == 2372  # silky, in UCI's words
    assert mushroom["odor_eq_none"] == 3528


def one_hot_back(file: pd.DataFrame, prefix: str, words: dict[str, str], none: object) -> list:
    """Which of some columns is 1."""
    found = [none] * len(file)
    for kind, word in words.items():
        for row in np.flatnonzero(file[prefix + kind] == 1):
            found[row] = word
    return found


def raw_of(name: str, folder: Path) -> pd.DataFrame:
    """A raw table, as OpenML would give it, that the benchmark file may have come from."""
    file = pd.read_csv(folder / f"{name}.csv")
    y = file.iloc[:, 0]
    if name == "breastcancer":
        raw = file.iloc[:, 1:].astype(float)
        raw["Class"] = np.where(y == 1, "malignant", "benign")
        bad = raw.iloc[:3].copy()
        bad["BareNuclei"] = np.nan
        return pd.concat([raw, bad], ignore_index=True)
    if name == "haberman":
        years = (file["YrsSinceFirstOperations"] + 58).astype(str).astype("category")
        status = np.where(y == 1, "1", "2")
        return pd.DataFrame({"a": file["Age"], "b": years, "c": file["NumberOfNodes"], "d": status})
    if name == "bankruptcy":
        raw = file.iloc[:, 1:].replace({1: "P", 0: "A", -1: "N"})
        raw["Class"] = np.where(y == 1, "NB", "B")
        return raw
    if name == "spambase":
        raw = file.iloc[:, 1:].copy()
        raw["class"] = y.astype(str).astype("category")
        return raw
    assert name == "mushroom"
    columns: dict[str, object] = {}
    for feature, kinds in _MUSHROOM:
        pairs = dict(reversed(pair.split("=")) for pair in kinds.split())
        none = {"bruises": "f", "ring_number": "n", "veil_type": "p"}.get(feature)
        columns[feature] = one_hot_back(file, f"{feature}_eq_", pairs, none)
    columns["class"] = np.where(y == 1, "p", "e")
    return pd.DataFrame(columns)


class Network:
    """A stand-in for scikit-learn's loader."""

    def __init__(self, frame: pd.DataFrame | Exception) -> None:
        self.frame = frame
        self.requests: list[int] = []

    def __call__(self, *, data_id: int, as_frame: bool, parser: str) -> SimpleNamespace:
        assert as_frame
        self.requests.append(data_id)
        if isinstance(self.frame, Exception):
            raise self.frame
        target = self.frame.columns[-1]
        data = self.frame.drop(columns=target)
        return SimpleNamespace(frame=self.frame, data=data, target=self.frame[target])


@pytest.fixture
def plug(monkeypatch: pytest.MonkeyPatch):
    def plug_in(frame: pd.DataFrame | Exception) -> Network:
        network = Network(frame)
        monkeypatch.setattr(sklearn.datasets, "fetch_openml", network)
        return network

    return plug_in


@pytest.mark.parametrize("name", ["bankruptcy", "breastcancer", "haberman", "mushroom", "spambase"])
def test_a_fetched_table_becomes_the_file(name: str, data_folder: Path, plug, tmp_path) -> None:
    network = plug(raw_of(name, data_folder))
    made = load_dataset(name, folder=tmp_path, fetch=True)
    assert network.requests == [DATASETS[name].openml]
    file = load_dataset(name, folder=data_folder)
    assert made.names == file.names
    assert made.y.tolist() == file.y.tolist()
    assert (made.X == file.X).all()


def test_a_file_that_is_there_is_not_fetched(data_folder: Path, plug) -> None:
    network = plug(OSError("no network"))
    assert load_dataset("haberman", folder=data_folder, fetch=True).y.size == 306
    assert network.requests == []


def test_another_version_is_refused(data_folder: Path, plug) -> None:
    raw = raw_of("haberman", data_folder)
    raw.loc[5, "a"] += 1
    plug(raw)
    with pytest.raises(InputError, match=r"does not give the rows of haberman\.csv"):
        fetch_dataset("haberman")
    assert fetch_dataset("haberman", check=False).y.size == 306
    plug(raw.drop(columns="b"))
    with pytest.raises(InputError, match=r"has 3 columns .*, but 4 were expected"):
        fetch_dataset("haberman")
    raw = raw_of("bankruptcy", data_folder)
    raw.iloc[0, 0] = "Q"
    plug(raw)
    with pytest.raises(InputError, match="holds 'Q', not 'P'"):
        fetch_dataset("bankruptcy")


def test_adult_takes_the_larger_part(plug) -> None:
    """Both parts come in one table, the smaller one first."""
    rows = [row.split("|") for row in FIRST["adult"]]
    other = [["17", *rows[0][1:]]] * 16281
    plug(pd.DataFrame(other + [rows[k % 5] for k in range(32561)]))
    made = fetch_dataset("adult", check=False)
    assert made.y.size == 32561
    assert made.X[:, 0].all()  # nobody is 17


def test_no_network(plug) -> None:
    plug(ValueError("Dataset 49 is inactive"))
    with pytest.raises(InputError, match="could not be fetched from OpenML"):
        fetch_dataset("heart")
    plug(OSError("name resolution"))
    with pytest.raises(InputError, match=r"name resolution.*set the environment variable"):
        fetch_dataset("heart")
    with pytest.raises(InputError, match="how they were found is not known"):
        fetch_dataset("mammo")
    with pytest.raises(InputError, match="there is no data set 'huge'"):
        fetch_dataset("huge")


@pytest.mark.parametrize("name", sorted(DATASETS))
def test_digests_are_those_of_the_files(name: str, data_folder: Path) -> None:
    data = load_dataset(name, folder=data_folder)
    assert _rows_digest(data) == DATASETS[name].rows
    order = np.random.default_rng(0).permutation(data.y.size)
    assert _rows_digest(data._replace(X=data.X[order], y=data.y[order])) == DATASETS[name].rows
    flipped = data.y.copy()
    flipped[0] ^= True
    assert _rows_digest(data._replace(y=flipped)) != DATASETS[name].rows


def test_a_changed_file_is_refused(data_folder: Path, tmp_path: Path) -> None:
    text = (data_folder / "haberman.csv").read_text()
    (tmp_path / "haberman.csv").write_text(text.replace("1,30,1,6", "1,31,1,6"))
    with pytest.raises(InputError, match="not the file of the published experiments"):
        load_dataset("haberman", folder=tmp_path)
    assert load_dataset("haberman", folder=tmp_path, check=False).X[0, 0] == 31


def test_credit(data_folder: Path, tmp_path: Path) -> None:
    columns, late = load_credit(folder=data_folder)
    assert len(columns) == 10
    assert (late.size, round(late.mean(), 3)) == (150_000, 0.067)
    assert np.isnan(columns["MonthlyIncome"]).any()
    with pytest.raises(InputError, match=r"no data set 'givemesomecredit\.csv\.gz'"):
        load_credit(folder=tmp_path)
    (tmp_path / "givemesomecredit.csv.gz").write_bytes(b"else")
    with pytest.raises(InputError, match="not the file of the published experiments"):
        load_credit(folder=tmp_path)
