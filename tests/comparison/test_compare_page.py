"""The page of a comparison: intervals and distributions as pictures, and nothing hostile gets through."""

from __future__ import annotations

from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from support.browser import PHONE, started, visiting
from support.comparisons import a_run, documented_comparisons, joined
from support.inert_pages import assert_inert

from judgeharness_integrations.analysis.comparison import ComparisonReport, compare
from judgeharness_integrations.analysis.comparison.report import CriterionComparison
from judgeharness_integrations.reporting.comparison import comparison_finding, comparison_section, headline
from judgeharness_integrations.reporting.comparisonpage import FlipText, criterion_card
from judgeharness_integrations.reporting.sections import Table

P, F = "PASS", "FAIL"
NASTY = "<img src=x onerror=alert(1)><script>window.__pwned=1</script>\u202e{{ 7 * 7 }}"


def worse() -> ComparisonReport:
    first = {f"c{i:02}": [P] * 3 if i % 3 else [F] * 3 for i in range(60)}
    second = {case: [F, F, P] if int(case[1:]) < 24 else samples for case, samples in first.items()}
    return compare(a_run(first, gold=P, source="monday"), a_run(second | {"c30": [None] * 3}, gold=P, source="friday"))


def nasty() -> ComparisonReport:
    cases = {f"{NASTY}{i}": [P, P] for i in range(60)}
    facts = {"judge": NASTY, "criterion": NASTY, "source": NASTY, "run": NASTY}
    return compare(a_run(cases, **facts), a_run({case: [NASTY, NASTY] for case in cases}, **facts, model=NASTY))


def test_the_answer_is_the_headline() -> None:
    report = worse()
    assert headline(report) == "Worse: labelled cases judged right 66.7 % -> 40.0 % of 60: -26.7 points [-39.0, -17.1]"
    shown = headline(report).replace("->", "\N{RIGHTWARDS ARROW}").replace(" %", "\N{NO-BREAK SPACE}%")
    assert f"<h1><bdi>{shown}</bdi></h1>" in unescape(report.to_html())
    none = compare(a_run({"a": [P]}), a_run({"b": [P]}))
    assert headline(none) == "Cannot tell: no case was measured in both runs"
    assert not any(isinstance(block, Table) for block in comparison_section(none).blocks)
    first, second = (joined(a_run(one, criterion="x"), a_run({"a": [P, P]}, criterion="y")) for one in _changed())
    assert headline(compare(first, second)) == "Worse: of 2 criteria 1 worse, 1 cannot tell"


def test_what_moved_without_a_test_is_named_beside_no_difference() -> None:
    """Abstentions that double are no part of how often decided cases are right."""
    first = {f"c{i:02}": [P] * 4 if i < 16 else [P, P, P, F] for i in range(24)}
    second = first | {f"c{i}": [P, P, F, F] for i in range(16, 22)}
    gold = {f"c{i:02}": P for i in range(16)}
    runs = [joined(*(a_run({case: one[case]}, gold=gold.get(case)) for case in one)) for one in (first, second)]
    found = comparison_finding(compare(*runs, measure="gold"))
    assert found.answer.startswith("No difference found in labelled cases judged right 100.0 % -> 100.0 % of 16; but ")
    assert "abstained 0 -> 6 of 24 cases" in found.answer
    assert found.answer.endswith(", not part of the test")
    assert "coverage" not in found.answer
    steady = compare(*(replace(run, source=name) for run, name in zip(runs[:1] * 2, "ab", strict=True)))
    assert (
        comparison_finding(steady).answer
        == "No difference found in labelled cases judged right 100.0 % -> 100.0 % of 16"
    )


def test_the_next_command_follows_from_what_was_found() -> None:
    changed, alike = worse(), compare(*(a_run({f"c{i}": [P, P] for i in range(9)}, source=name) for name in "ab"))
    assert comparison_finding(changed).next == ""
    after: dict[str, Any] = {"arguments_after": ("my log.csv", "--rule", "majority")}
    assert comparison_finding(replace(changed, **after)).next == (
        "judgeharness report 'my log.csv' --rule majority --html report.html"
    )
    assert comparison_finding(replace(alike, **after)).next == (
        "judgeharness plan --pilot 'my log.csv' --difference 0.05"
    )
    same = comparison_finding(replace(alike, same_run=True, **after))
    assert (same.answer, same.next) == ("Both sides are the same run: nothing can differ", "")
    assert same.document() == {"answer": same.answer, "reasons": list(same.reasons), "next": None}


def test_of_many_criteria_those_that_changed_are_told() -> None:
    first, second = (
        joined(*(a_run(one, criterion=f"x{n}") for n in range(4)), a_run({"a": [P, P]}, criterion="y"))
        for one in _changed()
    )
    reasons = comparison_finding(compare(first, second)).reasons
    assert [reason.partition(": ")[0] for reason in reasons] == [f"judge, x{n}" for n in range(4)]


def test_a_flipped_case_shows_texts_and_a_reason_of_each_side() -> None:
    texts = {"c": {"input": "Which?", "output": "It is Oslo.", "output_b": "It is Lima.", "reference": "Oslo"}}
    sides = [
        a_run({"c": [verdict] * 3}, case_texts=shown, reasoning=f"said {verdict}", source=verdict)
        for verdict, shown in (("A", texts), ("B", texts), ("B", {"c": texts["c"] | {"output": "It is Rome."}}))
    ]
    [flip] = criterion_card(compare(*sides[:2]).criteria[0]).flips
    assert flip.reasons == ("said A", "said B")
    assert flip.texts == (
        FlipText(name="Input", text="Which?"),
        FlipText(name="Answer A", text="It is Oslo.", other_name="Answer B", other="It is Lima."),
        FlipText(name="Reference", text="Oslo"),
    )
    changed = compare(sides[0], sides[2])
    [flip] = criterion_card(changed.criteria[0]).flips
    assert [text.name for text in flip.texts] == ["Input", "Answer, before", "Answer B", "Reference"]
    assert (flip.texts[1].other_name, flip.texts[1].other) == ("Answer, after", "It is Rome.")
    page = changed.to_html()
    assert page.count('<div class="pair" data-diff>') == 1
    assert 'id="case-c" open>' in page
    assert 'href="#case-c">link to this case' in page
    [bare] = criterion_card(compare(*(a_run({"c": [one] * 3}) for one in "AB")).criteria[0]).flips
    assert (bare.reasons, bare.texts) == (("", ""), ())
    assert criterion_card(_without_results(changed)).flips[0].reasons == ("", "")


def _without_results(report: ComparisonReport) -> CriterionComparison:
    [one] = report.criteria
    return replace(one, flips=tuple(replace(flip, results=None) for flip in one.flips))


def _changed() -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    return {f"c{i}": [P, P] for i in range(30)}, {f"c{i}": [F, F] if i < 20 else [P, P] for i in range(30)}


def test_every_difference_has_its_interval_on_an_axis_around_no_change() -> None:
    report = worse()
    card = criterion_card(report.criteria[0])
    assert [row.name for row in card.changes][:3] == ["labelled cases judged right", "rate of PASS", "coverage"]
    assert [row.tested for row in card.changes][:2] == [True, False]
    found = card.changes[0].whisker
    assert found is not None
    low, at, high = (float(str(place).rstrip("%")) for place in (found.low, found.at, found.high))
    assert low < at < high < 50
    assert found.mark == "50%"
    assert min(float(str(row.whisker.low).rstrip("%")) for row in card.changes if row.whisker) == 0
    assert report.to_html().count('<svg class="whisker"') == len(card.changes)


def test_decisions_and_flips_are_bars_in_the_colours_of_their_verdicts() -> None:
    card = criterion_card(worse().criteria[0])
    before, after = card.bars
    assert {one.label: (one.count, one.tone) for one in before.bar.segments} == {
        "FAIL": (20, "fail"),
        "PASS": (40, "pass"),
    }
    assert {one.label: one.tone for one in after.bar.segments} == {
        "FAIL": "fail",
        "PASS": "pass",
        "not graded": "ungraded",
    }
    flip = next(one for one in card.flips if one.case == "c01")
    assert (flip.before, flip.after, flip.before_tone, flip.after_tone) == (P, F, "pass", "fail")
    assert flip.samples_after.words == "2\u00d7 FAIL, 1\u00d7 PASS"
    assert (card.gold, card.ordered, card.tone) == (True, True, "answer-no")


def test_scores_are_told_by_their_moves() -> None:
    first = {f"c{i}": [i % 9, i % 9 + 1, i % 9] for i in range(24)}
    second = {case: [a + 4, b + 4, c + 4] if case != "c0" else [None] * 3 for case, (a, b, c) in first.items()}
    card = criterion_card(compare(a_run(first, "mean"), a_run(second, "mean")).criteria[0])
    assert [(one.label, one.count, one.tone) for one in card.bars[0].bar.segments] == [
        ("higher score", 23, "first"),
        ("not graded", 1, "ungraded"),
    ]
    assert card.flips[0].before in {"0.3333", "1.333", "2.333", "3.333", "4.333", "5.333", "6.333", "7.333", "8.333"}


@pytest.mark.slow
def test_every_documented_comparison_has_a_page() -> None:
    for report in documented_comparisons():
        page = report.to_html()
        assert page.count("</html>") == 1
        assert ("configurations differ" in report._repr_html_()) is bool(report.configuration)
        for one, card in zip(report.criteria, map(criterion_card, report.criteria), strict=True):
            assert len(card.flips) == len(one.flips)
            assert card.details
    labels = compare(a_run({"c": ["red"] * 2}), a_run({"c": ["blue"] * 2})).criteria[0]
    shares = criterion_card(labels).changes[0]
    assert (shares.whisker, shares.change, shares.before) == (None, "1 changed", "-")
    assert criterion_card(labels).gold is False


def test_a_page_has_a_policy_and_hostile_texts_stay_texts() -> None:
    assert_inert(nasty().to_html())


@pytest.mark.slow
def test_in_a_browser_it_fits_and_nothing_happens(tmp_path: Path) -> None:
    with started() as browser:
        for report in (worse(), nasty(), documented_comparisons()[2]):
            for context in ({"viewport": PHONE}, {"color_scheme": "dark"}, {"color_scheme": "light"}):
                with visiting(browser, report.to_html(), tmp_path, **context) as visit:
                    visit.harmless()
                    width, window = visit.page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
                    assert width <= window
                    assert visit.page.locator("h1").inner_text()
                    back = visit.page.evaluate("getComputedStyle(document.body).backgroundColor")
                    assert back == (
                        "rgb(17, 20, 26)" if context.get("color_scheme") == "dark" else "rgb(244, 245, 248)"
                    )
