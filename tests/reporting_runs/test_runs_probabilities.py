"""Reports of judges that answer with probabilities: what moves beside what flips, and how often they come true."""

from __future__ import annotations

import json
from html import unescape
from typing import Any

import pytest
from support.measured import measured

from judgeharness_integrations import VerdictRow
from judgeharness_integrations.analysis.result import HarnessResult
from judgeharness_integrations.analysis.runs import RunReport, run_report
from judgeharness_integrations.analysis.runs.report import JudgeSection
from judgeharness_integrations.reporting.html.charts import Tones, dots
from judgeharness_integrations.reporting.html.judgecards import CriterionCard, judge_card
from judgeharness_integrations.reporting.rundocument import report_document
from judgeharness_integrations.reporting.runsection import report_section
from judgeharness_integrations.reporting.sections import section_markdown

FORMS = ("none", "negated", "retest")


def row(case_id: str, perturbation: str, shares: dict[str, float], **more: Any) -> VerdictRow:
    best = max(shares, key=shares.__getitem__)
    return VerdictRow(case_id=case_id, perturbation=perturbation, verdict=best, probabilities=shares, **more)


def of_pass(share: float) -> dict[str, float]:
    return {"PASS": share, "FAIL": 1 - share}


def case(number: int, shares: dict[str, float], gold: str | None = None) -> HarnessResult:
    """A case with the probability of PASS under each of its forms."""
    rows = [row(f"c{number}", form, of_pass(share), gold=gold) for form, share in shares.items()]
    told = {"rule_name": "mean_probability(0.6)", "perturbations": tuple(shares), "repetitions": 1}
    return measured(rows, case_id=f"c{number}", **told)  # type: ignore[arg-type]


def moving(count: int = 40, *, retested: bool = True, labelled: bool = True) -> list[HarnessResult]:
    """Cases whose answers are .1 lower under `negated` and .02 lower asked again, 3 of 4 labelled as the judge says."""
    cases = []
    for number in range(count):
        plain = 0.7 + 0.2 * (number % 2)
        shares = {"none": plain, "negated": plain - 0.1} | ({"retest": plain - 0.02} if retested else {})
        cases.append(case(number, shares, ("FAIL" if number % 4 == 0 else "PASS") if labelled else None))
    return cases


def text_of(report: RunReport) -> str:
    return unescape(section_markdown(report_section(report)))


def card_of(report: RunReport) -> CriterionCard:
    section: JudgeSection = report.judges[0]
    (found,) = judge_card(section, report.results, Tones(report.results)).criteria
    return found


def test_beside_a_flip_rate_stands_the_change_of_probability_less_the_retest_band() -> None:
    (summary,) = run_report(moving()).summaries
    assert summary.probabilities is not None
    moved = summary.probabilities.changes["negated"]
    assert moved.excess is not None
    assert (moved.n, moved.change.value, moved.excess.value) == (40, pytest.approx(0.1), pytest.approx(0.08))


def test_the_change_of_a_run_is_the_mean_of_the_changes_of_its_cases() -> None:
    cases = [case(0, {"none": 0.9, "negated": 0.6}), case(1, {"none": 0.8, "negated": 0.7}), case(2, {"none": 0.8})]
    changes = [
        part.probability_change
        for one in cases
        for part in one.only.perturbations
        if part.probability_change is not None
    ]
    (summary,) = run_report([cases[0], cases[1]]).summaries
    assert summary.probabilities is not None
    assert changes == pytest.approx([0.3, 0.1])
    assert summary.probabilities.changes["negated"].change.value == pytest.approx(0.2)


def test_a_result_says_it_beside_the_flip_rate() -> None:
    (result,) = moving(1)
    assert "flip rate against none 0.0  probability moves by 0.1" in str(result)
    assert "probability moves by" in result._repr_html_()
    plain = measured([VerdictRow(case_id="c", verdict="PASS")], repetitions=1, perturbations=("none",))
    assert "probability moves by" not in plain._repr_html_()


def test_the_text_says_how_far_probabilities_move_and_what_of_it_is_noise() -> None:
    text = text_of(run_report(moving()))
    assert "probabilities differ between none and negated by 0.100 [" in text
    assert "of it beyond the retest, mean over 40 cases" in text
    assert "asked the very same again, answers move by 0.020 [" in text


def test_without_a_retest_nothing_is_subtracted_and_it_is_said() -> None:
    text = text_of(run_report(moving(retested=False)))
    assert "beyond the retest" not in text
    assert "nothing was asked twice, so that no change of form can be told from noise" in text


def test_a_case_that_was_asked_again_has_its_noise_measured() -> None:
    told = "the judge's own noise was not measured"
    (again,), (once,) = (run_report(moving(1, retested=retested)).judges for retested in (True, False))
    assert not any(line.startswith(told) for line in again.not_measured)
    assert any(line.startswith(told) for line in once.not_measured)


def test_the_document_holds_changes_band_and_curve() -> None:
    found = report_document(run_report(moving()))["judges"][0]["criteria"][0]["probabilities"]
    assert found["options"] == ["PASS", "FAIL"]
    assert found["retest"]["change"]["value"] == pytest.approx(0.02)
    assert found["changes"][0]["excess"]["value"] == pytest.approx(0.08)
    assert [(round(one["probability"], 2), one["share"]["n"]) for one in found["figures"]["curve"]] == [
        (0.65, 20),
        (0.85, 20),
    ]
    json.dumps(found, allow_nan=False)


def test_other_judges_have_none() -> None:
    plain = measured([VerdictRow(case_id="c", verdict="PASS")], repetitions=1, perturbations=("none",))
    report = run_report([plain])
    assert "probabilities" not in report_document(report)["judges"][0]["criteria"][0]
    assert "probabilities" not in text_of(report)
    assert (card_of(report).reliability, card_of(report).retest, card_of(report).unreliable) == (None, "", "")


def test_the_page_draws_how_often_probabilities_come_true() -> None:
    report = run_report(moving())
    card = card_of(report)
    assert card.reliability is not None
    assert (card.reliability.event, card.reliability.labels, len(card.reliability.dots)) == ("PASS", 40, 2)
    assert "said 65.0\u00a0%, true 50.0\u00a0% of 20" in card.reliability.words
    page = " ".join(report.to_html().split())
    assert "How often probabilities come true" in page
    assert "probabilities differ by 0.100 [" in page


def test_of_more_than_two_labels_it_is_the_most_probable_one() -> None:
    shares = {"formal": 0.6, "casual": 0.3, "rude": 0.1}
    rows = [row(f"c{n}", "none", shares, gold="formal" if n % 3 else "rude") for n in range(30)]
    cases = [measured([one], case_id=one.case_id, perturbations=("none",), repetitions=1) for one in rows]
    found = card_of(run_report(cases)).reliability
    assert found is not None
    assert found.event == "the most probable answer"
    (dot,) = found.dots
    assert dot.words == "said 60.0\u00a0%, true 66.7\u00a0% of 30"


@pytest.mark.parametrize(
    ("golds", "shares", "why"),
    [
        ((None, None), of_pass(0.8), "no case has a label"),
        ((1, 2), {"1": 0.5, "2": 0.5}, "its answers are levels of a score"),
        (("A", "TIE"), {"A": 0.8, "B": 0.2}, "the label 'TIE' is none of the options A, B"),
    ],
)
def test_without_labels_that_fit_it_is_said_why_there_is_no_picture(
    golds: tuple[Any, ...], shares: dict[str, float], why: str
) -> None:
    scored = "1" in shares
    verdict: Any = 1.5 if scored else max(shares, key=shares.__getitem__)
    told: Any = {"perturbations": ("none",), "repetitions": 1, "rule_name": "median" if scored else "majority"}
    cases = [
        measured(
            [VerdictRow(case_id=f"c{n}", verdict=verdict, probabilities=shares, gold=gold)], case_id=f"c{n}", **told
        )
        for n, gold in enumerate(golds)
    ]
    report = run_report(cases)
    assert f"probabilities beside labels: not measured, {why}" in text_of(report)
    assert card_of(report).unreliable.startswith(why)
    assert "Not measured:" in report.to_html()


def test_a_dot_without_an_interval_has_none() -> None:
    (summary,) = run_report([case(0, {"none": 0.9}, "PASS")]).summaries
    assert summary.probabilities is not None
    assert summary.probabilities.figures is not None
    (dot,) = dots(summary.probabilities.figures.curve)
    assert (dot.x, dot.y) == ("90%", "0%")
