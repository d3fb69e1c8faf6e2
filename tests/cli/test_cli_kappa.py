"""`judgeharness agreement kappa`: files in, tables or JSON out."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

DATA = Path(__file__).parents[1] / "data"
PANDALM = DATA / "pandalm.csv.gz"
HUMANS = ("--raters", "annotator*")


@pytest.fixture
def kappa(command: Callable[..., Any]) -> Callable[..., Any]:
    def run(*arguments: object) -> Any:
        return command("agreement", "kappa", *arguments)

    return run


@pytest.fixture
def said(tmp_path: Path) -> Callable[..., Path]:
    def write(name: str = "said.json", **raters: Any) -> Path:
        path = tmp_path / name
        path.write_text(
            json.dumps(
                {
                    rater: {str(i): label for i, label in enumerate(all_of) if label != "."}
                    for rater, all_of in raters.items()
                }
            )
        )
        return path

    return write


@pytest.mark.slow
def test_json_of_the_goldens(kappa: Callable[..., Any]) -> None:
    ran = kappa(PANDALM, *HUMANS, "--candidate", "gpt-3.5-turbo", "--json")
    golden = json.loads((DATA / "golden" / "pandalm.json").read_text())
    assert (ran.code, ran.err) == (0, "")
    assert ran.json["schema"] == "judgeharness.kappa/1"
    humans = [pair["coefficient"]["value"] for pair in ran.json["pairs"] if pair["role"] == "human"]
    assert humans == pytest.approx(golden["kappas"], abs=1e-12)
    against = ran.json["consensus"][0]["coefficient"]
    assert against["value"] == pytest.approx(golden["metrics"]["gpt-3.5-turbo|unparseable=drop"]["kappa"], abs=1e-12)
    assert [group["name"] for group in ran.json["groups"]] == ["fleiss", "alpha", "gwet"]
    assert ran.json == kappa(PANDALM, *HUMANS, "--candidate", "gpt-3.5-turbo", "--json", "--seed", 0).json


@pytest.mark.slow
def test_text_shows_values_intervals_and_denominators(kappa: Callable[..., Any]) -> None:
    ran = kappa(PANDALM, *HUMANS, "--candidate", "gpt*,pandalm-7b")
    assert ran.code == 0
    assert "5 raters, 999 items; coefficient of pairs: Cohen's kappa" in ran.out
    assert "intervals: 95 %, BCa bootstrap of 2000 resamples by item, seed 0" in ran.out
    lines = ran.out.splitlines()
    pairs = [line.split() for line in lines if line.startswith("annotator") and "  gpt-3.5-turbo  candidate" in line]
    assert [(one[3], one[-1]) for one in pairs] == [("0.479", "974"), ("0.471", "974"), ("0.483", "974")]
    assert "mean of pairs of humans: 0.8" in ran.out
    rater = next(line for line in lines if line.startswith("gpt-3.5-turbo  candidate"))
    assert rater.split()[2:5] == ["974", "25", "0.478"]
    assert next(line for line in lines if line.startswith("Gwet's AC1")).split()[2:3] == ["0.886"]
    assert "candidates against the humans' most frequent answer" in ran.out
    assert "folded" not in ran.out


@pytest.mark.slow
def test_without_raters_everybody_is_one(kappa: Callable[..., Any]) -> None:
    ran = kappa(PANDALM, "--resamples", 0)
    assert "each rater with the other raters" in ran.out
    assert "all raters at once" in ran.out
    assert "human" not in ran.out
    assert "bootstrap" not in ran.out
    found = kappa(PANDALM, "--candidate", "gpt-3.5-turbo", "--json", "--resamples", 0).json
    roles = {row["rater"]: row["role"] for row in found["raters"]}
    assert roles.pop("gpt-3.5-turbo") == "candidate"
    assert set(roles.values()) == {"human"}
    assert len(roles) == 4


@pytest.mark.slow
def test_a_glob_of_candidates_takes_no_human(kappa: Callable[..., Any]) -> None:
    found = kappa(PANDALM, "--raters", "annotator1,annotator2", "--raters", "annotator3", "--candidate", "*", "--json")
    assert [row["rater"] for row in found.json["raters"] if row["role"] == "candidate"] == [
        "gpt-3.5-turbo",
        "pandalm-7b",
    ]


@pytest.mark.slow
def test_the_pairs_of_many_raters_are_listed_on_request(kappa: Callable[..., Any], said: Callable[..., Path]) -> None:
    generator = np.random.default_rng(1)
    path = said(**{f"r{number}": "".join(generator.choice(list("AB"), 30)) for number in range(13)})
    short = kappa(path, "--resamples", 50)
    assert "\npairs: 78, listed with --pairs or --json\n" in short.out
    assert "pairs, over" not in short.out
    ran = kappa(path, "--resamples", 50, "--pairs")
    assert "pairs, over the items both answered" in ran.out
    assert sum(line.startswith("r0 ") for line in ran.out.splitlines()) == 13
    assert "pairs, over the items both answered" in kappa(path, "--raters", "r1,r2,r3,r10", "--resamples", 50).out


def test_a_crowd_is_told_what_is_left_out(kappa: Callable[..., Any], said: Callable[..., Path]) -> None:
    generator = np.random.default_rng(1)
    raters = {f"r{place}": ["."] * 100 for place in range(70)}
    for item in range(100):
        for place in generator.choice(70, 3, replace=False).tolist():
            raters[f"r{place}"][item] = str(generator.choice(list("AB")))
    ran = kappa(said(**raters), "--resamples", 50)
    assert "the pairs are too many for intervals of each and of the means of raters" in ran.out
    assert "more pairs share no item" in ran.out
    assert "no item was answered" not in ran.out


def test_of_what_has_no_value_the_totals_come_first(kappa: Callable[..., Any], said: Callable[..., Path]) -> None:
    constant = {f"r{number}": "AAAA" for number in range(6)}
    ran = kappa(said(**constant), "--resamples", 0)
    notes = [line for line in ran.out.splitlines() if ": no value" in line]
    assert notes[0].startswith("- Fleiss' kappa: no value, every answer is the same")
    assert notes[-1].startswith("- r")


def test_raters_who_are_everybody_leave_no_candidate(kappa: Callable[..., Any]) -> None:
    ran = kappa(PANDALM, "--raters", "*", "--candidate", "gpt*")
    assert (ran.code, ran.out) == (2, "")
    assert "the raters took everybody, so that no candidate is left" in ran.err


def test_sets_have_a_table_by_label(kappa: Callable[..., Any], said: Callable[..., Path]) -> None:
    generator = np.random.default_rng(2)
    labels: list[list[str]] = [[], ["x"], ["y"], ["x", "y"], ["z"], ["x", "z"]]
    raters = {name: [labels[place] for place in generator.integers(0, 6, 30)] for name in ("a", "b", "judge")}
    ran = kappa(said(**raters), "--raters", "a,b", "--candidate", "judge", "--resamples", 100)
    assert "sets agree when they are the same; by label: is it in the set or not" in ran.out
    table = ran.out.split("by label: coefficients of all at once")[1].partition("──\n")[2]
    assert sum(line.startswith(("x ", "y ", "z ")) for line in table.splitlines()) == 3 * 5


def test_one_human_has_candidates_and_no_group(kappa: Callable[..., Any], said: Callable[..., Path]) -> None:
    ran = kappa(said(a="ABABAB", judge="ABABBB"), "--raters", "a", "--candidate", "judge")
    assert ran.code == 0
    assert "at once" not in ran.out
    assert "candidates against the humans' most frequent answer" in ran.out


@pytest.mark.slow
def test_numbers_are_weighted_by_squares_unless_told_otherwise(
    kappa: Callable[..., Any], said: Callable[..., Path]
) -> None:
    path = said(a=[1, 2, 3, 4, 5, 3], b=[1, 2, 3, 5, 5, 2], judge=[2, 2, 3, 4, 4, 2])
    ran = kappa(path, "--raters", "a,b", "--candidate", "judge")
    assert "Cohen's kappa, quadratic weights" in ran.out
    assert "candidates against the humans' median" in ran.out
    for option, weights in ((("--weights", "none"), "none"), (("--weights", "linear"), "linear"), ((), "quadratic")):
        assert kappa(path, *option, "--json").json["weights"] == weights
    assert kappa(path, "--labels", "--json").json["weights"] == "none"


def test_an_order_is_printed(kappa: Callable[..., Any], said: Callable[..., Path]) -> None:
    path = said(a=["lo", "mid", "hi", "lo"], b=["lo", "mid", "mid", "lo"])
    ran = kappa(path, "--weights", "linear", "--order", "lo, mid, hi")
    assert "declared scale: lo, mid, hi" in ran.out
    assert "Gwet's AC2, linear weights" in ran.out


def test_why_a_value_is_missing_is_said(kappa: Callable[..., Any], said: Callable[..., Path]) -> None:
    ran = kappa(said(a="ABABAB", b="AAAAAA", c="BABABA"))
    assert "a with b: no value, one of the two never varies, so chance alone could agree as much" in ran.out
    assert "a with c: no" not in ran.out  # six items without an agreement: a wide interval, and it is given
    constant = {f"r{number}": "AAAA" for number in range(6)}
    many = kappa(said(other="ABBA", **constant), "--json", "--resamples", 0).json
    reasons = sum(bool(pair["coefficient"]["reason"]) for pair in many["pairs"])
    assert reasons == 21
    assert (
        "and 9 more of the kind, each with its reason under --json"
        in kappa(said(other="ABBA", **constant), "--resamples", 0).out
    )


def test_items_of_one_answer_are_counted_beside(kappa: Callable[..., Any], said: Callable[..., Path]) -> None:
    ran = kappa(said(a="ABABAB..", b="ABABBBA."))
    fleiss = next(line for line in ran.out.splitlines() if line.startswith("Fleiss"))
    assert fleiss.split()[-3:] == ["6", "1", "2"]


def test_repeated_answers_name_their_rule(kappa: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    rows = [(case, judge, repetition, "AB"[case % 2]) for case in range(6) for judge in "ab" for repetition in range(3)]
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerows([("case_id", "judge", "repetition", "verdict"), *rows])
    ran = kappa(path)
    assert "several answers of one rater about one item are folded by: majority" in ran.out
    assert "decided" in ran.out


@pytest.mark.slow
def test_a_table_of_marks_and_clusters(kappa: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "marks.csv"
    generator = np.random.default_rng(3)
    lines = [
        f"{text},{who},{text // 4},{','.join(map(str, generator.integers(0, 2, 2)))}"
        for text in range(40)
        for who in "ab"
    ]
    path.write_text("\n".join(["text_nr,who,book,rude,kind", *lines]) + "\n")
    named = ("--item", "text_nr", "--rater", "who", "--columns", "rude,kind", "--cluster", "book")
    found = kappa(path, *named, "--json").json
    assert (found["kind"], sorted(found["per_label"])) == ("sets", ["kind", "rude"])
    assert (found["cluster"], found["clusters"]) == ("book", 10)
    assert "resamples by book (10 of them)" in kappa(path, *named).out


@pytest.mark.slow
def test_other_coefficients_of_pairs(kappa: Callable[..., Any]) -> None:
    found = kappa(PANDALM, *HUMANS, "--coefficient", "gwet", "--json").json
    assert found["coefficient"] == "gwet"
    assert {pair["coefficient"]["name"] for pair in found["pairs"]} == {"gwet"}


def test_plots_are_drawn_into_the_folder(
    kappa: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[Any] = []

    def draw(report: Any, folder: Path) -> list[Path]:
        drawn.append((report.to_dict()["schema"], folder))
        return [folder / "kappa.png"]

    plots = ModuleType("judgeharness_integrations.reporting.agreementfigures")
    plots.draw_kappa = draw  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, plots.__name__, plots)
    ran = kappa(PANDALM, *HUMANS, "--resamples", 0, "--plot", tmp_path)
    assert drawn == [("judgeharness.kappa/1", tmp_path)]
    assert f"drawn: {tmp_path / 'kappa.png'}" in ran.out


def test_hostile_names_cannot_steer_the_terminal(kappa: Callable[..., Any], said: Callable[..., Path]) -> None:
    ran = kappa(said(**{"\x1b[31mred": "ABAB", "b\u202e": "ABBB", "[bold]c": "BBAB"}))
    assert ran.code == 0
    assert "\x1b" not in ran.out
    assert "\u202e" not in ran.out
    assert "[bold]c" in ran.out


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--raters", "anotator1,annotator2"), "unknown rater 'anotator1': did you mean 'annotator1'?"),
        (("--raters", "annotator1"), "agreement needs two raters"),
        (("--raters", "annotator1,annotator2", "--candidate", "annotator1"), "is named twice"),
        (("--candidate", "gtp-3.5-turbo"), "unknown candidate 'gtp-3.5-turbo'"),
        (("--coefficient", "cohens"), "unknown coefficient 'cohens': did you mean 'cohen'?"),
        (("--weights", "squared"), "unknown weights 'squared'"),
        (("--weights", "linear"), "linear weights need the order of the labels"),
        (("--resamples", "-5"), "-5 resamples cannot be drawn"),
        (("--seed", "-5"), "the seed is a whole number from 0"),
        (("--cluster", "book"), "'book'"),
    ],
)
def test_a_wrong_request_is_one_sentence_and_exit_code_2(
    kappa: Callable[..., Any], options: tuple[str, ...], problem: str
) -> None:
    ran = kappa(PANDALM, *options)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("error: ")
    assert problem in ran.err
    assert ran.err.count("\n") == 1
