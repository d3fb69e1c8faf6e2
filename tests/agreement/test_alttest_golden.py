"""The alternative annotator test against its reference values."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from judgeharness_integrations.analysis.agreement import Panel, read_panel
from judgeharness_integrations.analysis.agreement.alttest import alt_test
from judgeharness_integrations.analysis.agreement.alttestreport import AltTestReport

DATA = Path(__file__).parents[1] / "data"
PANEL = json.loads((DATA / "golden" / "panel.json").read_text())
PANDALM = json.loads((DATA / "golden" / "pandalm.json").read_text())["alttest"]
NEAR = {"rel": 1e-9, "abs": 1e-9}


@cache
def panel(name: str) -> Panel:
    return read_panel(DATA / name)


@cache
def report(score: str, epsilon: float, *, multiplicative: bool) -> AltTestReport:
    candidates = ["strong", "middling", "weak"]
    options: dict[str, Any] = {"scores": score, "epsilons": epsilon, "multiplicative": multiplicative}
    return alt_test(panel("panel.csv.gz"), humans=["annotator_*"], candidates=candidates, **options)


def name_of(entry: dict[str, Any]) -> str:
    kind = "multiplicative" if entry["multiplicative"] else "additive"
    return f"{entry['candidate']}-{entry['score']}-{kind}-{entry['epsilon']}"


def test_all_120_reference_entries_are_there() -> None:
    assert len({name_of(entry) for entry in PANEL["results"]}) == 120


@pytest.mark.sampled(30)
@pytest.mark.parametrize("expected", sorted(PANEL["results"], key=name_of), ids=name_of)
def test_the_panel_of_label_sets_gives_the_reference_values(expected: dict[str, Any]) -> None:
    made = report(expected["score"], expected["epsilon"], multiplicative=expected["multiplicative"]).to_dict()
    (found,) = [one for one in made["candidates"] if one["candidate"] == expected["candidate"]]
    for key in ("omega", "rho", "rho_human"):
        assert found[key] == pytest.approx(expected[key], **NEAR)
    assert found["m_tested"] == expected["m_tested"]
    assert found["skipped"] == expected["skipped"]
    assert len(found["annotators"]) == len(expected["annotators"])
    for mine, theirs in zip(found["annotators"], expected["annotators"], strict=True):
        for key, value in theirs.items():
            assert mine[key] == (pytest.approx(value, **NEAR) if isinstance(value, float) else value), key
        assert (mine["tango_p"] is None) == expected["multiplicative"]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("key", sorted(PANDALM))
def test_pandalm_gives_the_reference_values(key: str) -> None:
    expected = PANDALM[key]
    made = alt_test(
        panel("pandalm.csv.gz"),
        humans=["annotator*"],
        candidates=[key.split("|", maxsplit=1)[0]],
        epsilons=expected["epsilon"],
    )
    (found,) = made.candidates
    assert (found.omega, found.passed, found.n_instances) == (
        expected["omega"],
        expected["passes"],
        expected["n_instances"],
    )
    assert found.rho == pytest.approx(expected["rho"], **NEAR)
    assert found.rho_human == pytest.approx(expected["rho_human"], **NEAR)
    for mine, theirs in zip(found.annotators, expected["annotators"], strict=True):
        assert mine.t == pytest.approx(theirs["t"], **NEAR)
        assert mine.p == pytest.approx(theirs["p"], **NEAR)
        assert mine.p_adjusted == pytest.approx(theirs["p_by_adjusted"], **NEAR)
        assert (mine.n_candidate_win, mine.n_tie, mine.n_human_win) == (
            theirs["n_llm_win"],
            theirs["n_tie"],
            theirs["n_human_win"],
        )


def test_the_order_of_annotators_in_the_file_does_not_change_a_reference_value() -> None:
    raters = panel("panel.csv.gz").raters
    rows = {name: _said(name) for name in reversed(raters)}
    turned = alt_test(
        Panel.from_annotations(rows),
        humans=["annotator_*"],
        candidates=["weak"],
        scores=["accuracy", "jaccard", "macro_jaccard", "hamming"],
    )
    for found in turned.candidates:
        (expected,) = [
            one for one in report(found.score, 0.2, multiplicative=False).candidates if one.candidate == "weak"
        ]
        assert (found.omega, found.tie_rate) == (expected.omega, pytest.approx(expected.tie_rate))
        assert {one.annotator: one.p for one in found.annotators} == {
            one.annotator: one.p for one in expected.annotators
        }


def test_three_hamming_values_of_the_reference_rest_on_the_last_digit_of_a_sum() -> None:
    # the exact totals are 19 sixths each, a tie; in floating point and the order of names the human's is larger
    positions = {name: (_said(name), set(PANEL["labels"])) for name in ("annotator_1", "middling")}
    others = [_said(f"annotator_{number}") for number in (0, 2, 3, 4)]
    agreed = {
        name: [len(everything) - len(set(said["29"]) ^ set(other["29"])) for other in others]
        for name, (said, everything) in positions.items()
    }
    assert agreed == {"middling": [6, 5, 4, 4], "annotator_1": [5, 4, 5, 5]}
    assert sum(count / 6 for count in agreed["annotator_1"]) > sum(count / 6 for count in agreed["middling"])
    (test,) = [one for one in report("hamming", 0.2, multiplicative=False).candidates if one.candidate == "middling"]
    assert (test.annotators[1].n_human_win, test.annotators[1].n_tie) == (18, 10)  # 17 and 11 in exact numbers


@pytest.mark.parametrize(
    ("candidate", "counts"),
    [("strong", (28, 18, 4)), ("middling", (18, 11, 18))],  # 27, 20, 3 and 17, 12, 18 as k/L
)
def test_a_hamming_similarity_rounded_twice_is_had_as_a_function(candidate: str, counts: tuple[int, int, int]) -> None:
    width = len(PANEL["labels"])

    def one_minus_distance(prediction: frozenset[str], annotations: list[frozenset[str]]) -> float:
        return float(np.mean([1 - len(prediction ^ one) / width for one in annotations]))

    made = alt_test(
        panel("panel.csv.gz"), humans=["annotator_*"], candidates=[candidate], scores=[one_minus_distance, "hamming"]
    )
    by_function, by_name = made.candidates
    first = by_function.annotators[0]
    assert (first.n_candidate_win, first.n_tie, first.n_human_win) == counts
    assert by_function.rho is not None
    assert by_name.rho is not None
    assert by_function.rho < by_name.rho  # .920 and .928, .591 and .604: the same similarity on paper


def _said(rater: str) -> dict[str, list[str]]:
    source = panel("panel.csv.gz")
    cells = source.cells_of(rater)
    marks = zip(source.item[cells].tolist(), source.values[cells].tolist(), strict=True)
    return {
        source.items[item]: [label for label, marked in zip(source.labels, row, strict=True) if marked]
        for item, row in marks
    }
