"""Data to try things on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from netbenefit import InputError
from reproduction.datasets import check_present, data_folder, load_dataset


def test_data_folder_is_a_setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NETBENEFIT_DATA", str(tmp_path))
    assert data_folder() == tmp_path
    monkeypatch.delenv("NETBENEFIT_DATA")
    assert data_folder() == Path("../shared/data")


def test_load_dataset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tiny.csv").write_text("ill,age,sex\n1,51,0\n0,52,1\n")
    monkeypatch.setenv("NETBENEFIT_DATA", str(tmp_path))
    X, y, names = load_dataset("tiny")
    assert names == ("age", "sex")
    assert X.dtype == np.int64
    assert X.tolist() == [[51, 0], [52, 1]]
    assert y.tolist() == [True, False]
    with pytest.raises(InputError, match=r"no data set 'huge' in .*; there are 'tiny'"):
        load_dataset("huge")


def test_unknown_names_are_not_taken_for_a_file(tmp_path: Path) -> None:
    (tmp_path / "givemesomecredit.csv.gz").write_text("not the very file")
    with pytest.raises(InputError, match=r"no data set 'haert'; there are .*'credit'"):
        check_present("haert", folder=tmp_path)
    with pytest.raises(InputError, match="is not the file of the published experiments"):
        check_present("credit", folder=tmp_path)


def test_no_data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NETBENEFIT_DATA", str(tmp_path / "absent"))
    with pytest.raises(InputError, match="Set the environment variable NETBENEFIT_DATA"):
        load_dataset("adult")


@pytest.mark.parametrize(
    ("name", "shape", "share"),
    [
        ("adult", (32_561, 36), 0.241),
        ("bankruptcy", (250, 6), 0.572),
        ("breastcancer", (683, 9), 0.350),
        ("haberman", (306, 3), 0.735),
        ("heart", (303, 32), 0.459),
        ("mammo", (961, 14), 0.463),
        ("mushroom", (8_124, 113), 0.482),
        ("spambase", (4_601, 57), 0.394),
    ],
)
def test_benchmark_files(
    data_folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    shape: tuple[int, int],
    share: float,
) -> None:
    monkeypatch.setenv("NETBENEFIT_DATA", str(data_folder))
    X, y, names = load_dataset(name)
    assert X.shape == shape
    assert len(names) == shape[1]
    assert round(y.mean(), 3) == share
