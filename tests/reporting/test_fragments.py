from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import pytest
from support.measured import EXPIRED, calibration, measured, pattern, shapes
from support.ranked_study import board
from support.rows import both_orders, sampled

from judgeharness_integrations.analysis.agreement import Panel, agreement_table, alt_test
from judgeharness_integrations.analysis.agreement.kappa import Bootstrap
from judgeharness_integrations.analysis.calibration import Judged, measure_calibration
from judgeharness_integrations.analysis.ranking import RankRequest, rank
from judgeharness_integrations.analysis.replay import replay
from judgeharness_integrations.analysis.result import boundary
from judgeharness_integrations.analysis.runs import run_report
from judgeharness_integrations.reporting.fragments import rendered
from judgeharness_integrations.reporting.fragments.results import parts_of
from judgeharness_integrations.reporting.text import headline

SHAPES = shapes()
HOSTILE = (
    "<script>alert(1)</script>",
    "<svg onload=alert(1)>",
    "<img src=x onerror=alert(1)>",
    '" onmouseover="alert(1)" x="',
    "' style='position:fixed",
    "</style></table></div><h1>",
    "{{7*7}}{% raw %}{# #}",
    "a\u202ebidi\u2066\u200b",
    "line\nbreak\x1b[31m",
    "half \ud83d",
    "&lt;b&gt;&#60;",
    "javascript:alert(1)",
)
VOID = {"br", "img", "hr"}
TAGS = {
    "div",
    "br",
    "span",
    "strong",
    "bdi",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "ul",
    "li",
    "q",
    "details",
    "summary",
}
ATTRIBUTES = {"class", "style", "role", "aria-label", "aria-hidden", "scope", "open"}


class Reader(HTMLParser):
    """What a browser sees: texts, tags, attributes; every element is closed."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.open: list[str] = []
        self.texts: list[str] = []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join("".join(self.texts).split())


def read(shown: Any) -> Reader:
    """Read a fragment, which is inert and needs nothing."""
    html = shown._repr_html_()
    found = Reader(html)
    assert set(found.tags) <= TAGS
    assert {name for name, _ in found.attributes} <= ATTRIBUTES
    styles = [value for name, value in found.attributes if name == "style"]
    assert not [one for one in styles if re.search(r"url\(|expression|@|http|position", one)]
    assert not re.search(
        r"color:(?!inherit)", re.sub(r"(?:background|border|scrollbar)[\w-]*:[^;]*", "", ";".join(styles))
    )
    html.encode("utf-8")
    assert not re.search("[\u202a-\u202e\u2066-\u2069\x1b]", html)
    return found


# a result


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_of_a_result_shows_its_line_and_its_boundary(shape: str) -> None:
    result = SHAPES[shape]
    text = read(result).text
    for name, measured_ in result.criteria.items():
        assert headline(result, name) in text
        for perturbation in measured_.perturbations:
            assert f"{perturbation.valid}/{perturbation.asked}" in text
    for sentence in boundary(result):
        assert sentence in text


def test_the_badge_tells_the_three_statuses_apart() -> None:
    shown = {shape: read(SHAPES[shape]).text for shape in ("pattern", "abstained", "not graded", "informal")}
    assert "PASS decided" in shown["pattern"]
    assert "ABSTAIN abstained" in shown["abstained"]
    assert "- not graded" in shown["not graded"]
    assert "PASS informal" in shown["informal"]


def test_the_bar_adds_up_and_is_told_in_words() -> None:
    found = read(SHAPES["not graded"])
    assert ("aria-label", "1 PASS, 3 without a verdict") in found.attributes
    widths = [float(one) for _, value in found.attributes for one in re.findall(r"^width:([\d.]+)%", value)]
    assert sum(widths) == pytest.approx(100)


def test_flip_rates_stand_beside_their_perturbation() -> None:
    text = read(measured(both_orders("AAB", "ABB"), rule_name="swap_consensus", repetitions=3)).text
    assert "none 3/3 {A: 2, B: 1} -" in text
    assert "position_swap 3/3 {B: 2, A: 1} 0.556" in text


def test_the_strongest_dissent_is_quoted_with_its_order() -> None:
    rows = both_orders("AA", "AB")
    rows[-1] = replace(rows[-1], reasoning="B names its source.")
    text = read(measured(rows, rule_name="majority")).text
    assert "strongest dissent, B (shown in swapped order): B names its source." in text
    assert "dissent" not in read(SHAPES["pattern"]).text


def test_several_criteria_are_named_and_very_many_are_counted() -> None:
    text = read(SHAPES["rubric"]).text
    assert "tone PASS decided" in text
    assert "score 7 decided" in text
    many = [row for n in range(15) for row in sampled(["PASS"] * 2, criterion=f"criterion {n}")]
    text = read(measured(many)).text
    assert "criterion 11" in text
    assert "criterion 12 PASS" not in text
    assert "and 3 more criteria: to_pandas() holds them" in text


def test_a_run_that_did_not_finish_and_warnings_are_said() -> None:
    text = read(SHAPES["unfinished"]).text
    assert "run budget exhausted" in text
    assert "odd thing" in read(replace(pattern(), warnings=("odd thing",))).text
    assert "judge (gpt-4o)" in read(pattern()).text
    assert "calibration expired: rule changed" in read(pattern(calibration_state=EXPIRED)).text


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_texts_stay_texts(text: str) -> None:
    rows = [
        *sampled(["PASS", "PASS", text.strip()], criterion=text, case_id=text, reasoning=text, perturbation="none"),
        *sampled([None], criterion=text, case_id=text, perturbation=f"p {text}".strip(), error=text),
    ]
    result = measured(
        rows,
        perturbations=("none", f"p {text}".strip()),
        judge_model=text,
        skipped={text: text},
        calibration=calibration(name=text, source=f"model:{text}"),
        calibration_state=EXPIRED,
        model_families=(text, text),
    )
    for shown in (replace(result, warnings=(text,), judge=text), result.calibration):
        found = read(shown)
        if text.startswith("{{"):
            assert "{{7*7}}{% raw %}{# #}" in found.text
            assert "49" not in found.text
        assert not [name for name, _ in found.attributes if name.startswith("on")]


# bars


def test_labels_are_ordered_by_count_and_scores_by_size() -> None:
    assert [part.label for part in parts_of({"B": 3, "A": 1})] == ["B", "A"]
    scores = parts_of({7: 3, 2: 1, 9.5: 1})
    assert [(part.label, part.count) for part in scores] == [("2", 1), ("7", 3), ("9.5", 1)]
    assert scores[0].opacity < scores[1].opacity < scores[2].opacity == "1.00"
    assert parts_of({7: 1})[0].opacity == "1.00"


def test_one_verdict_has_one_colour_everywhere() -> None:
    one, two = parts_of({"PASS": 1, "FAIL": 1}), parts_of({"FAIL": 5, "PASS": 1})
    assert {part.label: part.colour for part in one} == {part.label: part.colour for part in two}
    assert len({part.colour for part in parts_of({f"l{n}": 1 for n in range(6)})}) == 6


def test_rare_verdicts_are_one_part_and_nothing_is_lost() -> None:
    parts = parts_of({f"label {n}": 20 - n for n in range(12)}, failed=2)
    assert [part.label for part in parts[-2:]] == ["other verdicts", "without a verdict"]
    assert sum(part.count for part in parts) == sum(20 - n for n in range(12)) + 2


def test_a_bar_of_a_stopped_case_shows_what_was_not_asked_as_empty() -> None:
    [part] = parts_of({"PASS": 3}, planned=6)
    assert part.width == "50.000"
    assert parts_of({}) == ()


# reports


def answers() -> Panel:
    rows = [
        row
        for place, rater in enumerate("wxyz")
        for n in range(40)
        for row in sampled(["AB"[n % (5 + place) < 2]], judge=rater, case_id=f"k{n}")
    ]
    return Panel.from_rows(rows)


def test_a_replay_shows_denominators_intervals_and_that_it_is_exploratory() -> None:
    rows = [*both_orders("AAB", "AAA", gold="A", judge="one"), *sampled(["B", None], gold="A", judge="two")]
    text = read(replay(rows, "majority")).text
    assert "replay under majority" in text
    assert "one 100.0 of 1 0 0 100.0 of 1[20.7, 100.0]" in text
    assert "chosen after the samples: exploratory" in text
    before = replace(replay(rows, "majority"), rule_fixed="before")
    assert "exploratory" not in read(before).text
    unlabelled = read(replay(sampled([3, 4]), "median")).text
    assert "judge 100.0 of 1 0 0 100.0" in unlabelled


def test_a_ranking_shows_elo_intervals_ranks_and_what_it_rests_on() -> None:
    text = read(board()).text
    first = board().judges[0]
    assert f"first of 4 judges by Bradley-Terry: {first.judge}" in text
    assert "ranking of 4 judges" in text
    assert f"1 {first.judge} {first.elo:.0f}" in text
    assert "rule chosen" not in text
    assert "of answers failed" not in text
    assert "Bradley-Terry as published" in text
    assert "EIP" in read(board("eip")).text
    assert "prefers longer" not in text


def test_a_ranking_shows_whether_the_better_answer_is_the_one_preferred_for_length() -> None:
    rows = [
        replace(row, attributes={"length_a": 2.0 if n % 4 else 4.0, "length_b": 3.0})
        for judge, said in (("right", "A"), ("half", "AB"), ("poor", "ABB"))
        for n in range(12)
        for row in sampled([said[n % len(said)]], judge=judge, case_id=f"c{n}", gold="A")
    ]
    text = read(rank(rows, RankRequest())).text
    assert "prefers longer better is longer" in text
    assert "right 25.0 25.0" in text


def test_a_judge_without_elo_shows_its_place() -> None:
    rows = [
        row
        for judge, said in (("right", "A"), ("half", "AB"), ("poor", "ABB"))
        for n in range(12)
        for row in sampled([said[n % len(said)]], judge=judge, case_id=f"c{n}", gold="A")
    ]
    text = read(rank(rows, RankRequest())).text
    assert "right above" in text
    assert "no finite Elo" in text
    silent = [*rows, *sampled([None], judge="silent", case_id="c0", gold="A")]
    assert "- silent unseen" in read(rank(silent, RankRequest(failures="missing"))).text


def test_an_alt_test_shows_result_denominator_and_scope() -> None:
    report = alt_test(answers(), humans=["x", "y", "z"], candidates=["w"])
    text = read(report).text
    one = report.candidates[0]
    word = "passes" if one.passed else "does not pass"
    assert f"w {word} at epsilon 0.2: H0 is rejected for {one.n_rejected} of 3 annotators." in text
    assert "this panel of 3 humans alone" in text
    few = read(
        alt_test(answers(), humans=["x", "y", "z"], candidates=["w"], min_instances=99, multiplicative=True)
    ).text
    assert "w: not testable" in few
    assert "does not pass" in read(alt_test(answers(), humans=["x", "y", "z"], candidates=["w"], epsilons=0.0)).text
    same = Panel.from_rows(
        [r for j in "wxyz" for n in range(40) for r in sampled(["AB"[n % 2]], judge=j, case_id=f"{n}")]
    )
    assert "w passes at" in read(alt_test(same, humans=["x", "y", "z"], candidates=["w"])).text


def test_agreement_shows_pairs_means_and_how_intervals_were_made() -> None:
    table = agreement_table(answers(), humans=["x", "y", "z"], candidates=["w"], bootstrap=Bootstrap(replicates=50))
    text = read(table).text
    assert "agreement about 40 items" in text
    assert "coefficient of pairs: Cohen's kappa" in text
    assert "mean of pairs of humans" in text
    assert "Krippendorff's alpha" in text
    assert "BCa bootstrap of 50 resamples" in text
    alone = read(agreement_table(answers(), humans=["x"], candidates=["w"], bootstrap=Bootstrap(replicates=0))).text
    assert "mean of pairs" not in alone
    assert "x w candidate" in alone


def test_a_calibration_shows_rates_with_their_counts_and_the_confusions() -> None:
    text = read(calibration(("PASS", "PASS"), ("FAIL", "PASS"), ("FAIL", "FAIL"))).text
    assert "calibrated on human_labeled_set_v1 (labels: human, consensus majority)" in text
    assert "verdict, 3 labelled cases measure value 95 % of precision 0.500 [0.095, 0.905] 1 of 2" in text
    assert re.search(r"kappa 0\.\d{3} \[-?0\.\d{3}, 0\.\d{3}\] n=3", text)
    assert "decisions by gold label gold decisions PASS PASS 1 FAIL PASS 1, FAIL 1" in text
    assert "agreement with o3 on" in read(calibration(source="model:o3")).text
    items = [Judged(gold=n % 5, verdict=n % 4 + 0.5, status="decided") for n in range(12)]
    scores = read(calibration(criteria={"verdict": measure_calibration(items)})).text
    assert re.search(r"mean absolute error \d\.\d{3} \[\d\.\d{3}, \d\.\d{3}\] n=12", scores)
    assert re.search(r"bias [-+]\d\.\d{3} \[-\d\.\d{3}, \d\.\d{3}\] n=12", scores)
    one = read(calibration(criteria={"verdict": measure_calibration(items[:1])})).text
    assert "bias +0.500 - n=1" in one


def test_a_run_shows_each_judge_and_how_often_something_was_not_measured() -> None:
    results = [
        pattern(),
        measured(sampled(["FAIL"] * 2, case_id="c2", gold="PASS"), case_id="c2", judge="judge"),
        measured(sampled([7, 8], criterion="tone", judge="other"), judge="other", rule_name="median"),
    ]
    text = read(run_report(results, source="runs/first", costs={"judge": 0.5})).text
    assert "runs/first, state: complete, 2 cases" in text
    assert "PASS 100.0 of 1[20.7, 100.0] 100.0 0 0 - 62.5" in text
    assert "PASS 0.0 of 1[0.0, 79.3] 100.0 0 0 0.0 of 1[0.0, 79.3] 100.0" in text
    assert "other · tone mean 7.500no intervalof 1" in text
    assert "cost 0.5000 by the prices given" in text
    own = "judge: not calibrated: 1 gold label in this run, no separate label set"
    assert f"{own} (1 of 2 cases)" in text
    assert "other: uncalibrated: how often this rule is right was not measured" in text
    assert text.count("sensitivity to wording was not measured") == 1
    calibrated = read(run_report([pattern()], state="interrupted")).text
    assert "state: interrupted, 1 case" in calibrated
    assert "calibrated on human_labeled_set_v1" in calibrated
    labelled = read(run_report([measured(sampled(["spam"] * 2))])).text
    assert "judge spam 100.0 of 1[20.7, 100.0] 100.0 0 0 100.0" in labelled
    assert run_report(results).to_pandas()["case_id"].tolist() == ["c1", "c2", "c1"]


def test_long_tables_are_cut_and_say_so() -> None:
    rows = [row for n in range(45) for row in sampled(["A"], judge=f"judge {n:02d}", gold="A")]
    text = read(replay(rows, "majority")).text
    assert "judge 39" in text
    assert "judge 40 100.0 of 1 0 0" not in text
    assert "and 5 more rows: to_pandas() holds them" in text


def test_a_report_of_nothing_is_a_title() -> None:
    empty = calibration(criteria={})
    assert "calibrated on" in read(empty).text
    assert "table" not in read(empty).tags


def test_a_template_prints_no_none() -> None:
    with pytest.raises(TypeError, match="a template prints None"):
        rendered(
            "result.html", case_id=None, judge="j", state="", criteria=(), alone=True, more=0, warnings=(), boundary=()
        )


def test_notes_that_do_not_fit_are_counted() -> None:
    skipped = {f"change_{n:02d}": "does not fit" for n in range(20)}
    text = read(run_report([measured(sampled(["PASS"] * 4), skipped=skipped)])).text
    left_out = int(re.search(r"and (\d+) more sentences of this kind", text)[1])  # type: ignore[index]
    everything = len(run_report([measured(sampled(["PASS"] * 4), skipped=skipped)]).judges[0].not_measured)
    assert left_out == everything - 10
    assert "more sentences" not in read(run_report([measured(sampled(["PASS"] * 4))])).text


def test_how_far_scores_lie_off_gold_is_shown() -> None:
    text = read(run_report([measured(sampled([3, 5], gold=6), rule_name="median")])).text
    assert "off by 2.000of 1" in text
