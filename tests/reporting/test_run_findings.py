"""What a report opens with: may one rely on the judge here, why not, and what to do next; the same in every format."""

from __future__ import annotations

import json
from dataclasses import replace
from html import unescape
from typing import Any

import pytest
from support import report_scenes
from support.measured import EXPIRED, TOLD, VALID, calibration, measured
from support.rows import both_orders, sampled

from judgeharness_integrations.analysis.aggregation import rule
from judgeharness_integrations.analysis.certifying.measuring import Labels, Wanted, certify
from judgeharness_integrations.analysis.gates.gate import GateReport
from judgeharness_integrations.analysis.result import HarnessResult
from judgeharness_integrations.analysis.runs import RunReport, run_report
from judgeharness_integrations.analysis.runs.report import CriterionSummary, FlipRate
from judgeharness_integrations.reporting.rundocument import report_document
from judgeharness_integrations.reporting.runfindings import position_sentences, run_finding
from judgeharness_integrations.reporting.runsection import report_section
from judgeharness_integrations.reporting.terminal import section_lines


def decided(*golds: str | None, said: str | None = None, judge: str = "judge", **facts: Any) -> list[HarnessResult]:
    """Results of cases with these gold labels, decided as they say or as `said`, case after case."""
    return [
        measured(
            sampled([said or gold or "PASS"] * 4, case_id=f"c{n}", gold=gold, judge=judge),
            case_id=f"c{n}",
            judge=judge,
            **facts,
        )
        for n, gold in enumerate(golds)
    ]


def summary(**changes: Any) -> CriterionSummary:
    [one] = run_report(decided("PASS")).summaries
    given = {name: changes.pop(name) for name in list(changes) if name in ("flips", "noise")}
    return replace(one, replay=replace(one.replay, **changes), **given)


def flip(value: float, cases: int = 24, low: float = 0.0, high: float = 1.0, name: str = "position_swap") -> FlipRate:
    return FlipRate(perturbation=name, value=value, low=low, high=high, cases=cases)


def answer(report: RunReport) -> str:
    return run_finding(report).answer


SIDES = ("PASS", "FAIL")
HELD: dict[str, Any] = {"calibration": calibration(*TOLD), "calibration_state": VALID}
RIGHT = "right in 100.0 % of 16 decided labelled cases (95 % [80.6, 100.0])"


def held_to(*gates: str, judge: str = "judge", criterion: str = "verdict", **changes: Any) -> GateReport:
    """Gates that passed, with the whole interval above 0.806."""
    passed = replace(report_scenes.gates().checks[1], judge=judge, criterion=criterion, value=1.0, low=0.806, high=1.0)
    return GateReport(checks=tuple(replace(passed, gate=gate, **changes) for gate in gates))


def test_a_calibrated_judge_that_was_held_to_no_bar_is_not_recommended_and_its_rate_is_said() -> None:
    report = run_report(decided(*["PASS", "FAIL"] * 8, **HELD))
    assert answer(report) == f"judge: {RIGHT}, calibrated on human_labeled_set_v1; no bar was set"
    for gates in (
        held_to("abstention<=0.2", "require_calibration"),  # say nothing of how often it is right
        held_to("accuracy<=0.9"),
        held_to("precision>=0.8", judge="other"),
    ):
        assert run_finding(report, gates).answer == answer(report)
    for gates in (held_to("precision>=0.9"), held_to("precision>=0.8", low=None)):  # passed by the value alone
        assert run_finding(report, gates).answer == answer(report).replace(
            "no bar was set", "its interval clears no bar"
        )


def test_one_may_rely_on_a_judge_whose_interval_clears_a_bar_and_the_bar_is_said() -> None:
    report = run_report(decided(*["PASS", "FAIL"] * 8, **HELD))
    said = f"You may rely on judge here, within these limits: {RIGHT}, calibrated on human_labeled_set_v1; it passes "
    assert run_finding(report, held_to("precision >= 0.8")).answer == f"{said}precision >= 0.8"
    both = held_to("precision>=0.8", "accuracy>0.75", "consistency>=0.5")
    assert run_finding(report, both).answer == f"{said}precision>=0.8 and accuracy>0.75"
    untold = held_to("recall>=0.8", status="not_measured", value=None, low=None)
    assert run_finding(report, untold).answer == ("Do not rely on judge yet: recall>=0.8 was not measured")


def test_a_bar_for_one_criterion_is_none_for_the_other() -> None:
    rows = [
        row
        for name in ("tone", "depth")
        for n, gold in enumerate(["PASS", "FAIL"] * 8)
        for row in sampled([gold] * 4, case_id=f"c{n}", gold=gold, criterion=name)
    ]
    cases = [[row for row in rows if row.case_id == f"c{n}"] for n in range(16)]
    [told] = HELD["calibration"].criteria.values()
    both = replace(HELD["calibration"], criteria={"tone": told, "depth": told})
    report = run_report(
        [measured(one, case_id=one[0].case_id, calibration=both, calibration_state=VALID) for one in cases]
    )
    rates = f"judge: tone: {RIGHT}, depth: {RIGHT}, calibrated on human_labeled_set_v1; no bar was set"
    assert answer(report) == rates
    assert run_finding(report, held_to("accuracy>=0.8", criterion="tone")).answer == f"{rates} for depth"


def test_a_calibration_that_says_nothing_of_how_often_a_judge_is_right_recommends_nothing() -> None:
    bare = calibration(*TOLD)
    without = replace(bare.criteria["verdict"], accuracy=None)
    apart = replace(bare, criteria={"verdict": without, "other": bare.criteria["verdict"]})
    assert answer(run_report(decided(None, **HELD | {"calibration": apart}))) == (
        "Do not rely on judge yet: how often it is right is not measured on human_labeled_set_v1"
    )


def test_a_calibrated_judge_no_better_than_one_that_reads_nothing_is_not_recommended() -> None:
    pairs = [("PASS", "PASS")] * 24 + [("PASS", "FAIL")] * 6 + [("FAIL", "FAIL")] * 6
    told = calibration(*pairs)
    assert not told.untold()  # balanced accuracy is above a constant judge's
    said = answer(run_report(decided(None, **HELD | {"calibration": told})))
    assert said == (
        "Do not rely on judge yet: right in 83.3 % of 36 decided labelled cases (95 % "
        "[68.1, 92.1]), not better than a judge that always answers PASS"
    )
    worse = calibration(*[("PASS", "PASS")] * 50, *[("PASS", "FAIL")] * 40, *[("FAIL", "FAIL")] * 10)
    assert not worse.untold()
    said = answer(run_report(decided(None, **HELD | {"calibration": worse})))
    assert said.startswith("Do not rely on judge here: right in 60.0 % of 100 decided labelled cases (95 % [")
    assert said.endswith(", worse than a judge that always answers PASS")


@pytest.mark.parametrize(
    ("results", "why"),
    [
        (decided(None, None), "no decided case has a gold label"),
        (
            decided(*["PASS", "FAIL"] * 8),
            "not calibrated: 16 gold labels in this run, no separate label set",
        ),
        (decided(None, calibration=calibration(*TOLD), calibration_state=EXPIRED), "its calibration does not hold"),
        (
            decided(None, calibration=calibration(*TOLD, source="model:o3"), calibration_state=VALID),
            "its labels are a model's",
        ),
        (
            decided("PASS", "PASS"),
            "it is not better than a judge that always answers PASS (2 decided cases with a gold label)",
        ),
    ],
)
def test_nothing_shows_that_one_may_rely_on_a_judge_and_the_reason_is_said(
    results: list[HarnessResult], why: str
) -> None:
    assert answer(run_report(results)) == f"Do not rely on judge yet: {why}"


def test_a_control_that_reads_nothing_only_in_some_of_the_cases_is_said_to() -> None:
    found = run_report(decided("PASS", "PASS"))
    [section] = found.judges
    [one] = section.criteria
    assert one.controls is not None
    few = tuple(replace(control, n=1) for control in one.controls.listed)
    parts = replace(section, criteria=(replace(one, controls=replace(one.controls, listed=few)),))
    assert answer(replace(found, judges=(parts,))).endswith("(1 of 2 decided cases with a gold label)")


def test_labels_that_do_not_tell_a_judge_from_one_that_reads_nothing_are_no_anchor() -> None:
    held: dict[str, Any] = {"calibration": calibration(("PASS", "PASS")), "calibration_state": VALID}
    said = answer(run_report(decided(None, **held)))
    assert said.startswith("Do not rely on judge yet: ")
    assert said.endswith(held["calibration"].untold())


def test_what_speaks_against_a_judge_is_said() -> None:
    sides = SIDES * 20
    wrong = [measured(sampled([sides[n + 1]] * 4, case_id=f"c{n}", gold=sides[n]), case_id=f"c{n}") for n in range(39)]
    assert answer(run_report(wrong)).startswith(
        "Do not rely on judge here: it is worse than a judge that always answers "
    )
    leaning = [
        measured(
            both_orders(["A"] * 3, ["B"] * 3, case_id=f"p{n}"),
            case_id=f"p{n}",
            perturbations=("none", "position_swap"),
            repetitions=3,
            rule_name="swap_consensus",
        )
        for n in range(12)
    ]
    assert answer(run_report(leaning)) == "Do not rely on judge here: it has a position bias"
    failed = replace(report_scenes.gates().checks[0], judge="judge", status="failed", gate="pass_rate>=0.9")
    gates = GateReport(checks=(replace(failed, judge="other"), failed))
    assert run_finding(run_report(decided(None)), gates).answer == (
        "Do not rely on judge here: it fails the gate pass_rate>=0.9"
    )


def test_a_judge_that_graded_nothing_and_one_that_was_asked_once() -> None:
    assert answer(report_scenes.all_failed()).startswith("Do not rely on judge here: nothing was graded (6 cases)")
    assert "each case was asked once, so nothing was measured" in answer(report_scenes.informal())
    assert run_finding(run_report([])).answer == "Nothing was judged"
    assert run_finding(run_report([], planned={"judge": 4})).answer == (
        "Do not rely on judge here: nothing was graded (4 cases)"
    )


def test_of_several_judges_each_has_its_sentence_and_many_are_counted() -> None:
    good = decided(*["PASS", "FAIL"] * 8, judge="good", **HELD)
    report = run_report([*good, *decided(None, judge="new")])
    found = run_finding(report)
    assert found.answer == "1 of 2 judges is calibrated, and cleared no bar: good"
    assert found.reasons[0] == f"good: {RIGHT}, calibrated on human_labeled_set_v1; no bar was set"
    found = run_finding(report, held_to("precision>=0.8", judge="good"))
    assert found.answer == "You may rely on 1 of 2 judges here, as far as their labels go: good"
    assert found.reasons[1] == "Do not rely on new yet: no decided case has a gold label"
    many = [result for n in range(5) for result in decided(None, judge=f"j{n}")]
    assert run_finding(run_report(many)) == run_finding(run_report(many[::-1]))
    held = run_report([one for n in range(5) for one in decided(*SIDES * 8, judge=f"j{n}", **HELD)])
    assert run_finding(held).answer == "5 of 5 judges are calibrated, and cleared no bar"
    assert run_finding(held).reasons == ("5 of 5 judges: calibrated, and cleared no bar",)
    assert run_finding(run_report(many)).answer == "Do not rely on any of the 5 judges yet"
    assert run_finding(run_report(many)).reasons == ("5 of 5 judges: not to be relied on yet",)
    asked = [replace(flipped, judge="good") for flipped in report_scenes.pairs().results]
    told = run_finding(run_report([*asked, *decided(None, judge="new")])).reasons
    assert any(line.startswith("good: ") and "swapping flips" in line for line in told)


def test_position_is_one_sentence_with_one_denominator() -> None:
    swap, again = flip(0.139), flip(0.194, name="none")
    leaning = {"always_first": 6, "always_second": 2, "position_bias_p": 0.219}
    assert list(position_sentences(summary(flips=(swap,), noise=again, **leaning))) == [
        (
            "no position bias shown: swapping flips 13.9 %, asking again flips 19.4 % (of pairs of verdicts, mean "
            "over 24 cases); a lean to the first answer is not proven (of pairs of samples 6 always chose "
            "the first, 2 the second; over cases, p .219)"
        )
    ]
    [apart] = position_sentences(summary(flips=(swap,), noise=replace(again, cases=20)))
    assert apart == (
        "no position bias shown: swapping flips 13.9 % (of pairs of verdicts, mean over 24 cases), asking again flips "
        "19.4 % (of pairs of verdicts, mean over 20 cases)"
    )


@pytest.mark.parametrize(
    ("changes", "begins"),
    [
        ({"noise": flip(0.1)}, "position bias neither shown nor ruled out: "),
        ({"noise": flip(0.1, high=0.2), "flips": (flip(0.5, low=0.3),)}, "swapping changes verdicts more than asking "),
        (
            {"noise": flip(0.1), "always_first": 2, "always_second": 12, "position_bias_p": 0.01},
            "position bias shown: ",
        ),
        (
            {"noise": None},
            "position bias cannot be told from noise, as nothing was asked twice: swapping flips 30.0 % ",
        ),
        ({"noise": flip(0.1), "flips": (flip(0.2, name="format_change"),)}, "asking again flips 10.0 % "),
    ],
)
def test_position_bias_is_said_only_as_far_as_it_is_shown(changes: dict[str, Any], begins: str) -> None:
    [said] = position_sentences(summary(**({"flips": (flip(0.3),)} | changes)))
    assert said.startswith(begins)
    lean = (
        "leans to the second answer (of pairs of samples 2 always chose the first, 12 the second; over cases, p .010)"
    )
    assert said.endswith(lean) is ("always_first" in changes)


def test_a_lean_of_a_stopped_run_and_one_to_neither_side_prove_nothing() -> None:
    lean: dict[str, Any] = {"always_first": 2, "always_second": 12, "position_bias_p": 0.01}
    one = summary(flips=(flip(0.3),), noise=flip(0.4), **lean)
    assert next(position_sentences(one, stopped=True)).startswith("no position bias shown: ")
    assert "leans" not in next(
        position_sentences(summary(flips=(flip(0.3),), noise=flip(0.4), **lean | {"always_first": 12}))
    )
    assert list(position_sentences(summary())) == []


def test_the_reasons_name_what_was_right_abstained_and_never_asked() -> None:
    told = run_finding(report_scenes.typical()).reasons
    assert told[0].startswith("verdict: calibrated precision 1.000 [0.943, 1.000] (64 of 64)")
    split = measured(sampled(["PASS", "FAIL"] * 2, case_id="c"), case_id="c")
    assert "abstained on 1 of 1 case (100.0 %)" in run_finding(run_report([split])).reasons
    assert told[-1] == "4 of 124 cases were never asked"
    assert run_finding(report_scenes.scored()).reasons[0].startswith("off by ")
    undone = run_finding(
        run_report([*decided("PASS", "FAIL"), measured(sampled([None] * 4, case_id="x"), case_id="x")])
    )
    assert "1 of 3 cases not graded" in undone.reasons
    stopped = replace(run_report(decided(None)), gates=GateReport(checks=(), stopped=True))
    assert run_finding(stopped).reasons[-1].startswith("the run was asked until its own gate is settled")
    rows = [row for name in ("tone", "depth") for row in sampled(["PASS", "FAIL"] * 2, criterion=name)]
    assert "depth: abstained on 1 of 1 case (100.0 %)" in run_finding(run_report([measured(rows)])).reasons


def test_a_certificate_stands_for_decisions_and_labels_of_selected_cases_are_told() -> None:
    report = run_report(decided(None))
    [section] = report.judges
    rows = [row for n in range(60) for row in sampled([SIDES[n % 2]] * 4, case_id=f"c{n}", gold=SIDES[n % 2])]
    certificate = certify(rows, rule("majority"), Wanted(), Labels(name="people"), measured_at="2026-01-01T00:00:00Z")
    assert answer(replace(report, judges=(replace(section, certificates=((certificate, VALID),)),))) == (
        "You may rely on judge here, within these limits: its decided cases agree with people at least 90 % of the "
        "time, with 90 % confidence"
    )
    alike = replace(certificate, selections=(replace(certificate.selections[0], untold="one label alone"),))
    for unlike in (alike, replace(certificate, source="model:o3")):
        assert "no decided case has" in answer(
            replace(report, judges=(replace(section, certificates=((unlike, VALID),)),))
        )
    expired = (certificate, EXPIRED)
    assert "no decided case has" in answer(replace(report, judges=(replace(section, certificates=(expired,)),)))
    apart = replace(section, criteria=(replace(section.criteria[0], apart="the labelled cases were selected"),))
    assert "the labelled cases were selected" in run_finding(replace(report, judges=(apart,))).reasons


def test_the_next_command_labels_a_run_and_shows_what_is_calibrated() -> None:
    plain = run_report(decided(None), run="r", arguments=("my run",))
    assert run_finding(plain).next == "judgeharness audit 'my run'"
    log = run_report(decided(None), run="r", arguments=("log.csv", "--rule", "majority"))
    assert run_finding(log).next == "judgeharness report log.csv --rule majority --html report.html"
    good = run_report(decided("PASS", "FAIL", **HELD), run="r", arguments=("out",))
    assert run_finding(good).next == "judgeharness report out --html report.html"
    assert run_finding(good, has_page=True).next == ""
    assert run_finding(plain, has_page=True).next == "judgeharness audit 'my run'"
    assert run_finding(run_report(decided(None))).next == ""


def test_every_format_opens_with_the_same_words() -> None:
    report = run_report(decided("PASS", "FAIL", None), run="r", arguments=("out",))
    found = run_finding(report)
    lines = section_lines(report_section(report))
    assert lines[0] == found.answer
    assert lines[1 : len(found.reasons) + 2] == [*(f"- {line}" for line in found.reasons), f"next: {found.next}"]
    assert report.to_markdown().splitlines()[0].startswith("## Do not rely on judge yet")
    page = unescape(report.to_html())
    assert f"<h1><bdi>{found.answer}</bdi></h1>" in page.replace("\N{NO-BREAK SPACE}%", " %")
    assert all(f"<li><bdi>{line}</bdi></li>" in page for line in found.reasons)
    assert json.loads(json.dumps(report_document(report)))["finding"] == found.document()


def test_cases_to_look_at_stand_first() -> None:
    rows = {"steady": "PPPP", "divided": "PPPF", "open": "PPFF", "wrong": "FFFF", "gone": [None] * 4}
    results = [
        measured(
            sampled([{"P": "PASS", "F": "FAIL"}.get(one or "") for one in said], case_id=case, gold="PASS"),
            case_id=case,
        )
        for case, said in rows.items()
    ]
    lines = section_lines(report_section(run_report(results)))
    start = lines.index("cases to look at first")
    assert [line.split()[0] for line in lines[start + 3 : start + 7]] == ["open", "gone", "wrong", "divided"]
    page = run_report(results).to_html()
    places = [page.index(f'id="case-{case}"') for case in ("open", "gone", "wrong", "divided", "steady")]
    assert places == sorted(places)
    both = [*results, *(replace(result, judge="other") for result in results)]
    assert any("other" in line for line in section_lines(report_section(run_report(both)))[start:])


def test_of_several_judges_each_says_what_was_never_asked_and_what_calibrating_it_cost() -> None:
    report = report_scenes.several_judges()
    first, *others = report.judges
    asked = replace(first, not_asked=4, calibration_usage=first.usage)
    told = " ".join(section_lines(report_section(replace(report, judges=(asked, *others)))))
    assert f"4 of {first.cases + 4} cases were never asked" in told
    assert "calibrating it, beside that: " in told
    assert "calibrating it" not in " ".join(section_lines(report_section(report)))
