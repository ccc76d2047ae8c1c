"""The files that are written: which, and that they can be read back."""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import pytest

from netbenefit import InputError
from netbenefit.common import install_command
from reproduction.outputs import TABLES, write_tables
from reproduction.summary import csv_text, escape, number, pipe_table
from tests.reproduction.made_rows import fold_row, published_rows, with_own_methods

METRICS = ("auroc", "aunbc", "ece", "size")
ROWS = with_own_methods(published_rows(2))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("tables") / "new" / "folder"
    written = write_tables(ROWS, target)
    assert sorted(written) == sorted(target.iterdir())
    assert len(set(written)) == len(written)
    return target


def read(path: Path) -> list[dict[str, str]]:
    with open(path, encoding="utf-8", newline="") as text:
        return list(csv.DictReader(text))


def test_everything_is_written(folder: Path) -> None:
    pairs = ["performance", "ablation", "sensitivity_rss-dnb", "sensitivity_rss-dnb-sa", "ranks"]
    names = {
        f"{name}.{end}" for name in (*pairs, "computational", "objective") for end in ("md", "csv")
    }
    names |= {"friedman.csv", "nemenyi.csv"}
    names |= {f"ranks_{scope}_{metric}.svg" for scope in ("paper", "all") for metric in METRICS}
    assert {path.name for path in folder.iterdir()} == names


def test_csv_files_hold_what_the_table_says(folder: Path) -> None:
    rows = read(folder / "performance.csv")
    (found,) = [
        row
        for row in rows
        if (row["dataset"], row["method"], row["split"], row["metric"])
        == ("heart", "lasso", "test", "auroc")
    ]
    assert float(found["mean"]) == pytest.approx(0.897)
    assert found["published_mean"] == "0.897"
    assert found["published_min"] == ""
    assert (found["n_folds"], found["outside"]) == ("2", "false")
    (empty,) = [
        row
        for row in rows
        if (row["dataset"], row["method"], row["metric"]) == ("heart", "xgboost", "size")
    ]
    assert [empty[key] for key in ("mean", "n_folds", "published_mean", "outside")] == [
        "",
        "0",
        "",
        "",
    ]
    scopes = {row["scope"] for row in read(folder / "ranks.csv")}
    assert scopes == {"paper", "all"}


def test_documents_have_a_title_a_legend_and_the_run(folder: Path) -> None:
    for path in folder.glob("*.md"):
        text = path.read_text(encoding="utf-8")
        assert text.startswith("# ")
        assert "## How to read it" in text
        assert "Budget of the run: paper. Version of the package: 1.0." in text
        assert text.endswith("\n")
        assert not text.endswith("\n\n")
        assert "nan" not in text.lower().split()
        assert "None" not in text


def test_pictures_are_named_in_the_document(folder: Path) -> None:
    text = (folder / "ranks.md").read_text(encoding="utf-8")
    for path in folder.glob("*.svg"):
        assert f"]({path.name})" in text
    assert "Our default card" in (folder / "ranks_all_auroc.svg").read_text(encoding="utf-8")
    assert "AUNBC: average rank over 8" in (folder / "ranks_paper_aunbc.svg").read_text(
        encoding="utf-8"
    )


def test_the_same_rows_give_the_same_files(folder: Path, tmp_path: Path) -> None:
    for path in write_tables(list(reversed(ROWS)), tmp_path, only=["performance", "objective"]):
        assert path.read_bytes() == (folder / path.name).read_bytes()


def test_only_some(tmp_path: Path) -> None:
    names = [path.name for path in write_tables(ROWS, tmp_path, only=["objective", "ablation"])]
    assert names == ["ablation.md", "ablation.csv", "objective.md", "objective.csv"]


def test_wishes_that_make_no_sense(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no table 'rank'.*Choose from performance"):
        write_tables(ROWS, tmp_path, only=["rank"])
    with pytest.raises(InputError, match=r"only=\['ranks'\]"):
        write_tables(ROWS, tmp_path, only="ranks")
    assert list(TABLES) == [
        "performance",
        "ablation",
        "sensitivity",
        "ranks",
        "computational",
        "objective",
    ]


def test_a_short_run_gives_what_it_allows(tmp_path: Path) -> None:
    assert write_tables([], tmp_path / "none") == []
    quick = [r for r in ROWS if r["dataset"] == "heart" and r["setting"] == "original"]
    names = {path.stem for path in write_tables(quick, tmp_path / "quick")}
    assert names == {"performance", "computational", "objective"}
    plain = [{**fold_row("mammo", "lasso", "original", 0), "test_ece": 0.1}]
    assert {path.stem for path in write_tables(plain, tmp_path / "plain")} == {"performance"}


def test_a_variant_alone_has_its_table(tmp_path: Path) -> None:
    rows = [r for r in ROWS if (r["method"], r["setting"]) == ("rss-dnb-sa", "fine")]
    names = [path.name for path in write_tables(rows, tmp_path)]
    assert names == ["sensitivity_rss-dnb-sa.md", "sensitivity_rss-dnb-sa.csv"]


def test_without_the_extra_for_ranks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scikit_posthocs", None)
    (path,) = write_tables(ROWS, tmp_path, only=["ranks"])
    assert install_command("stats") in path.read_text(encoding="utf-8")


def test_without_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    names = [path.name for path in write_tables(ROWS, tmp_path, only=["ranks"])]
    assert names == ["ranks.md", "ranks.csv", "friedman.csv", "nemenyi.csv"]
    text = (tmp_path / "ranks.md").read_text(encoding="utf-8")
    assert "[plots]" in text
    assert "![" not in text


# -- text ------------------------------------------------------------------------------------------


def test_numbers() -> None:
    assert number(-0.0004) == "0.000"
    assert number(-0.0006) == "−0.001"
    assert number(float("nan")) == "–"
    assert number(7, 0) == "7"


def test_escaping() -> None:
    assert escape("a|b\n c") == r"a\|b c"
    assert escape("<b>`x`") == r"\<b\>\`x\`"


def test_a_table_lines_up() -> None:
    lines = pipe_table(["A", "Bee", "C"], [["long name", "1", ""]], left=2).splitlines()
    assert len({len(line) for line in lines}) == 1
    assert lines[1] == "| :-------- | :-- | --: |"


def test_csv_values() -> None:
    assert csv_text([{"a": 'x,"y', "b": False, "c": float("nan"), "d": 3}]) == (
        'a,b,c,d\n"x,""y",false,,3\n'
    )
