"""The calibrated probability as the score: mapped on one half of the labels, its threshold set on the other."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.planted_probabilities_judge import PlantedJudge, planted_cases

from judgeharness_integrations import JudgeHarness
from judgeharness_integrations._errors import ConfigError, UsageError
from judgeharness_integrations.analysis.aggregation import rule
from judgeharness_integrations.analysis.aggregation.cases import CaseDecision
from judgeharness_integrations.analysis.aggregation.folds import decided
from judgeharness_integrations.analysis.certifying import Certificate, Wanted, certify
from judgeharness_integrations.analysis.certifying.applying import sureness
from judgeharness_integrations.analysis.certifying.certificate import certificate_text
from judgeharness_integrations.analysis.certifying.measuring import Labels
from judgeharness_integrations.analysis.probability.maps import ProbabilityMap
from judgeharness_integrations.judging.running import fingerprint_parts
from judgeharness_integrations.verdictlog.row import VerdictRow

NOW = datetime(2026, 11, 1, tzinfo=UTC)


def planted(
    count: int, seed: int, *, slope: float = 2.0, spread: float = 3.0, labelled: int | None = None
) -> list[VerdictRow]:
    """A judge `slope` times as sure as it may be, whose log odds are normal around .8; labels are drawn."""
    source, rows = random.Random(seed), []  # noqa: S311 - cases, no secret
    for number in range(count):
        odds = source.gauss(0.8, spread)
        gold = "PASS" if source.random() < 1 / (1 + math.exp(-odds)) else "FAIL"
        share = round(1 / (1 + math.exp(-slope * odds)), 2)
        rows.append(
            VerdictRow(
                case_id=f"c{number}",
                verdict="PASS" if share > 0.5 else "FAIL" if share < 0.5 else None,
                probabilities={"PASS": share, "FAIL": 1 - share},
                gold=gold if labelled is None or number < labelled else None,
            )
        )
    return rows


def certificate(rows: Sequence[VerdictRow], rule_name: str = "mean_probability(0.5)", **wanted: Any) -> Certificate:
    asked = Wanted(**{"score": "probability"} | wanted)
    return certify(rows, rule(rule_name), asked, Labels(name="people"), measured_at=NOW.isoformat())


def test_the_map_is_of_one_half_of_the_labels_and_the_steps_are_of_the_other() -> None:
    (found,) = certificate(planted(400, 1)).selections
    assert found.map is not None
    assert found.map.labels == 200
    assert max(step.labelled for step in found.steps) <= 200
    assert found.labelled == 400


def test_the_threshold_is_a_calibrated_probability() -> None:
    (found,) = certificate(planted(400, 1)).selections
    assert found.map is not None
    assert found.map.temperature == pytest.approx(2.0, abs=0.7)  # what the judge is too sure by
    assert found.threshold is not None
    assert 0.5 < found.threshold < 1


def test_a_harness_leaves_to_people_what_is_not_certified() -> None:
    judge, harness = (
        PlantedJudge(temperature=0.5),
        JudgeHarness(perturbations=["none"], repetitions=1, aggregation_rule="mean_probability(0.5)"),
    )
    rows = [row for result in harness.evaluate_many(judge, planted_cases(300)) for row in result.rows]
    given = certify(
        rows,
        harness.design.rule,
        Wanted(score="probability"),
        Labels(name="people"),
        parts=fingerprint_parts(judge, harness.design),
        measured_at=datetime.now(UTC).isoformat(),
    )
    (selection,) = given.selections
    assert selection.map is not None
    assert selection.threshold is not None
    certified = JudgeHarness(
        perturbations=["none"], repetitions=1, aggregation_rule="mean_probability(0.5)", certificate=given
    )
    for result in certified.evaluate_many(judge, planted_cases(40, seed=2)):
        shares = result.rows[0].probabilities
        assert shares is not None
        sure = max(selection.map.apply(shares).values())
        assert result.status == ("decided" if sure >= selection.threshold else "abstained")


def test_a_saved_certificate_brings_its_map_back(tmp_path: Path) -> None:
    given = certificate(planted(400, 1))
    assert Certificate.load(given.save(tmp_path / "certificate.json")) == given


def test_a_map_that_is_none_is_refused(tmp_path: Path) -> None:
    given = certificate(planted(400, 1))
    (selection,) = given.selections
    broken = replace(selection, map=ProbabilityMap(kind="isotonic", options=("PASS", "FAIL")))
    with pytest.raises((ConfigError, UsageError), match="knots"):
        Certificate.load(replace(given, selections=(broken,)).save(tmp_path / "certificate.json"))


def test_the_text_names_the_map_and_the_labels_it_was_fitted_on() -> None:
    lines = list(certificate_text(certificate(planted(400, 1))))
    assert any("fitted on 200 labels that set no threshold" in line for line in lines)


def test_a_refusal_counts_the_labels_of_both_halves() -> None:
    (found,) = certificate(planted(80, 3, labelled=40), agreement=0.95).selections
    assert found.threshold is None
    assert found.refusal is not None
    assert found.refusal.labels is not None
    assert found.refusal.labels % 2 == 0


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ([VerdictRow(case_id="a", verdict="PASS", gold="PASS")], "holds probabilities"),
        (
            [VerdictRow(case_id="a", verdict=1.5, probabilities={"1": 0.5, "2": 0.5}, gold=1)],
            "verdicts that are numbers have no probability",
        ),
        ([*planted(1, 1)], "two clusters"),
    ],
)
def test_what_cannot_be_certified_is_said_in_a_sentence(rows: list[VerdictRow], why: str) -> None:
    with pytest.raises(UsageError, match=why):
        certificate(rows, "majority | median")


def test_labels_of_cases_without_probabilities_certify_nothing() -> None:
    rows = [replace(row, gold=None) for row in planted(60, 1)]
    plain = [VerdictRow(case_id=f"p{n}", verdict="PASS", gold="PASS") for n in range(60)]
    (found,) = certificate([*rows, *plain]).selections
    assert (found.threshold, found.map) == (None, None)


def test_two_labels_fit_no_map() -> None:
    (found,) = certificate(planted(2, 1)).selections
    assert found.map is not None
    assert found.map.kind == "none"
    assert found.threshold is None


@pytest.mark.parametrize("options", [("GOOD", "BAD"), ("PASS", "FAIL", "UNSURE")])
def test_answers_of_other_options_are_as_sure_as_nobody_knows(options: tuple[str, ...]) -> None:
    shares = dict.fromkeys(options, 0.01) | {options[0]: 1 - 0.01 * (len(options) - 1)}
    row = VerdictRow(case_id="s", verdict=options[0], probabilities=shares)
    case = CaseDecision(case_id="s", rows=[row], decision=decided(options[0]), gold=None)
    by = ProbabilityMap(kind="none", options=("PASS", "FAIL"))
    assert sureness(case, "probability", numeric=False, tolerance=1.0, by=by) is None


@pytest.mark.parametrize("kind", ["constant", "shuffled"])
def test_a_worthless_judge_is_certified_nothing_however_common_its_label(kind: str) -> None:
    rows = [replace(row, gold="PASS" if number % 50 else "FAIL") for number, row in enumerate(planted(300, 1))]
    if kind == "constant":
        rows = [replace(row, verdict="PASS", probabilities={"PASS": 0.99, "FAIL": 0.01}) for row in rows]
    (found,) = certificate(rows, agreement=0.5).selections
    assert found.threshold is None
    assert found.refusal is not None
    assert "skill over the base rate" in found.refusal.reason


def test_labels_that_are_too_few_to_show_skill_certify_nothing() -> None:
    (found,) = certificate(planted(29, 1), agreement=0.5, delta=0.4).selections
    assert found.refusal is not None
    assert found.refusal.labels == 30
    assert "29 independent labels tell too little" in found.refusal.reason


@pytest.mark.slow
def test_no_more_certificates_are_broken_than_allowed() -> None:
    studies, slope, delta, agreement, granted, broken = 100, 2.0, 0.1, 0.85, 0, 0
    odds = np.random.default_rng(0).normal(0.8, 2.0, 20_000)
    for seed in range(studies):
        (found,) = certificate(planted(200, seed, slope=slope, spread=2.0), agreement=agreement, delta=delta).selections
        if found.threshold is None or found.map is None:
            continue
        granted += 1
        said = (1 / (1 + np.exp(-slope * odds))).round(2)
        sure = {share: found.map.apply({"PASS": share, "FAIL": 1 - share}) for share in np.unique(said).tolist()}
        kept = np.array([max(sure[share].values()) >= found.threshold for share in said.tolist()])
        right = 1 / (1 + np.exp(-np.abs(odds)))
        broken += bool(right[kept].mean() < agreement)
    assert granted > studies / 2
    assert broken <= delta * studies + 2 * math.sqrt(delta * (1 - delta) * studies)
