"""A comparison as JSON, Markdown and HTML: the same facts, and nothing hostile gets through."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from jsonschema import Draft202012Validator
from support.comparisons import a_run, documented_comparisons, rows_of
from support.live_markdown import HOSTILE_TEXTS, live_parts

from judgeharness_integrations.analysis.comparison import ComparisonReport, ConfigurationDifference, compare
from judgeharness_integrations.analysis.comparison.report import interval_text, value_text
from judgeharness_integrations.analysis.runs import RunReport, run_report
from judgeharness_integrations.analysis.runs.reading import results_of_log
from judgeharness_integrations.reporting.comparison import caveats, details, differences, flip_cells, named, titled
from judgeharness_integrations.reporting.schemas import schema

P, F = "PASS", "FAIL"
NASTY = "<script>alert(1)</script>|[x](http://evil)\x1b[31m@all"


def nasty() -> ComparisonReport:
    cases = {f"{NASTY}{i}": [P, P] for i in range(60)}
    flipped = {case: [NASTY, NASTY] for case in cases}
    facts = {"judge": NASTY, "criterion": NASTY}
    return compare(a_run(cases, **facts, source=NASTY), a_run(flipped, **facts, source=NASTY))


@pytest.mark.slow
def test_json_is_plain_and_follows_its_schema() -> None:
    check = Draft202012Validator(schema("comparison-1"))
    for found in documented_comparisons():
        document = json.loads(json.dumps(found.to_dict(), allow_nan=False))
        assert [error.message for error in check.iter_errors(document)] == []


def test_both_sides_stand_beside_judges_that_read_nothing() -> None:
    cases = {f"c{n}": F if n % 4 else P for n in range(40)}
    texts = {case: {"input": case, "output": f"about {case}"} for case in cases}

    def measured(judge: Callable[[str], str], *, answers: str | None = None) -> RunReport:
        rows = [row for case, gold in cases.items() for row in rows_of(case, [judge(gold)], gold=gold)]
        told = {case: {**one, **({} if answers is None else {"output": answers})} for case, one in texts.items()}
        return run_report(results_of_log(rows, "majority", rule_fixed="before"), source="a", case_texts=told)

    report = compare(measured(lambda gold: gold), measured(lambda _: F))
    (one,) = report.criteria
    assert one.controls_before is not None
    assert one.controls_before.beaten
    assert one.controls_after is not None
    assert not one.controls_after.beaten
    told = list(details(one))
    assert any(
        line.startswith("before: accuracy 1.000 (n=40), better than a judge that always answers FAIL") for line in told
    )
    assert any(
        line.startswith("after: accuracy 0.750 (n=40), not better than a judge that always answers FAIL")
        for line in told
    )
    assert [line for line in told if line.startswith("controls")] == [one.controls_after.line]
    worthless = "not shown to be better than a judge that reads nothing: 1 (judge, verdict, after)"
    assert worthless in list(caveats(report))
    for rendered in (report.to_markdown(), report.to_html(), report._repr_html_()):
        assert worthless in html.unescape(rendered).replace("\\", "")
    document = report.to_dict()
    assert document["criteria"][0]["controls_after"] == one.controls_after.to_dict()
    assert document["unvaried"] == []
    flat = compare(measured(lambda gold: gold), measured(lambda gold: gold, answers="[[A]] is the best"))
    (said,) = flat.unvaried
    assert said.startswith("the answers of output do not vary")
    assert said in list(caveats(flat))


def test_controls_stand_on_decided_cases_with_one_gold_label() -> None:
    scores = a_run({f"c{n}": [n % 5] for n in range(20)}, "median", gold=3)
    (one,) = compare(scores, a_run({f"c{n}": [n % 4] for n in range(20)}, "median")).criteria
    assert one.controls_after is not None
    assert one.controls_after.scored
    assert any(f"mean error {one.controls_after.value:.3f} (n=20)" in line for line in details(one))
    (none,) = compare(a_run({"a": [P], "b": [P]}), a_run({"a": [F], "b": [P]})).criteria
    assert (none.controls_before, none.controls_after) == (None, None)
    (mixed,) = compare(a_run({"a": [P], "b": [P]}, gold=P), a_run({"a": [1], "b": [2]}, "median", gold=P)).criteria
    assert (mixed.kind, mixed.controls_before) == ("mixed", None)


def test_json_holds_every_flip_with_both_distributions() -> None:
    found = compare(a_run({"a": [P, P, F], "b": [P, P, P]}), a_run({"a": [F, F, P], "b": [P, P, P]}))
    (criterion,) = found.to_dict()["criteria"]
    (flip,) = criterion["flips"]
    assert flip["before"]["sample_distribution"] == [{"verdict": P, "count": 2}, {"verdict": F, "count": 1}]
    assert (flip["before"]["verdict"], flip["after"]["verdict"], flip["gold"]) == (P, F, None)
    assert criterion["noise"]["observed"] == 1
    assert "p_of_case" not in criterion["noise"]


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.links: list[str | None] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.links += [value for name, value in attrs if name in {"src", "href"}]


@pytest.mark.parametrize("whole", [True, False])
def test_html_stands_alone_and_escapes(whole: bool) -> None:  # noqa: FBT001 - a parameter of the test
    report = nasty()
    page = report.to_html() if whole else report._repr_html_()
    parser = Tags()
    parser.feed(page)
    assert not parser.tags & {"img", "iframe", *(() if whole else ("script",))}
    # An empty icon is what keeps a browser from asking a server for one.
    assert all(link == "data:," or str(link).startswith("#") for link in parser.links)
    assert "\x1b" not in page
    assert page.count('<details class="flip"' if whole else "<tr>") >= (60 if whole else 10)
    assert ("and 50 more" in page) is not whole
    assert ("Content-Security-Policy" in page) is whole


def test_markdown_escapes_and_cuts_long_lists() -> None:
    report = replace(
        nasty(), configuration=(ConfigurationDifference(judge=NASTY, part="rule", before=NASTY, after=None),)
    )
    text = report.to_markdown()
    assert "configurations differ" in text
    assert "Configurations differ" in report.to_html()
    assert live_parts(text) == []
    assert "\x1b" not in text
    assert "60 flipped, least likely under noise first" in text
    assert "and 40 more" in text
    table = [line for line in text.splitlines() if line.startswith("|")]
    assert all(line.count("|") == 7 for line in table)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("hostile", HOSTILE_TEXTS)
def test_no_link_mention_or_html_of_a_name_or_a_text_is_alive_in_markdown(hostile: str) -> None:
    cases = {hostile: [P, P], f"a {hostile}": [P, P], f"{hostile} z": [P, P]}
    flipped = {case: [hostile, hostile] for case in cases}
    facts = {"judge": hostile, "criterion": hostile}
    report = replace(
        compare(a_run(cases, **facts, source=hostile), a_run(flipped, **facts, source=hostile)),
        configuration=(ConfigurationDifference(judge=hostile, part="rule", before=hostile, after=None),),
    )
    text = report.to_markdown()
    assert live_parts(text) == []
    words = "".join(re.findall(r"\w+", hostile))
    assert words in re.sub(r"\W", "", html.unescape(text).replace("\u200b", ""))  # people read what was written


def test_what_is_alive_in_markdown_is_found() -> None:
    assert [hostile for hostile in HOSTILE_TEXTS if not live_parts(hostile)] == [
        *("a | b | c", "# heading", "[x]: http://evil.example", "--- |")
    ]


def test_markdown_of_runs_alike_says_so() -> None:
    run = a_run({f"c{i}": [P, P] for i in range(12)})
    text = compare(run, run).to_markdown()
    assert "flipped" not in compare(run, run).to_html().replace("decisions flipped", "")
    assert text.startswith("## Both sides are the same run: nothing can differ\n")
    assert "flipped\n" not in text


def test_facts_name_denominators_and_what_is_missing() -> None:
    before = a_run({"a": [P, P], "b": [P, P], "x": [P, P]}, gold=P)
    after = a_run({"a": [P, P], "b": [F, F], "y": [P, P], "z": [F, F]}, "strict_majority", gold=P)
    found = compare(before, after)
    (one,) = found.criteria
    lines = list(details(one))
    assert lines[0] == "cases: 2 in both runs; only before: 1 (x); only after: 2 (y, z)"
    assert one.reason.endswith("; not of cases in one run alone (1 only before, 2 only after)")
    assert "1 only before, 2 only after" in found.to_markdown()
    assert any("tested: labelled cases judged right (abstained and" in line for line in lines)
    assert any(line.startswith("noise: 1 flips of 2 cases, 0.3 expected of noise") for line in lines)
    assert any("no change can be found with 80 % power" in line for line in lines)
    assert list(differences(found)) == ["judge: rule majority before, strict_majority now"]
    assert any("not known 2 of the cases" in line for line in caveats(found))
    assert flip_cells(one.flips[0])[:2] == ("b", "PASS -> FAIL")
    assert named([str(i) for i in range(9)]) == "9 (0, 1, 2, 3, 4, ...)"
    assert titled(one) == "judge, verdict"
    assert (value_text(one.main, None), interval_text(replace(one.main, low=None))) == ("-", "no interval")
    single = compare(a_run({"a": [P]}), a_run({"a": [F]})).criteria[0]
    assert flip_cells(single.flips[0])[-2:] == ("-", "-")


@pytest.mark.slow
def test_facts_of_every_documented_comparison_are_told() -> None:
    everything = ""
    for report in documented_comparisons():
        everything += " ".join([*caveats(report), *(line for one in report.criteria for line in details(one))])
    for part in (
        "gold label differs between the runs",
        "clusters",
        "of the scores' range",
        "judges only before",
        "criteria only after",
        "noise: not measured",
        "whose answers one run took over",
        "whose samples are copies",
        "more than 100,000",
        "shares of labels",
    ):
        assert part in everything
