"""The page as a document: complete, self-contained, well formed, the same every time."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from functools import cache
from hashlib import sha256
from html.parser import HTMLParser
from itertools import pairwise

import pytest
from support import report_scenes
from support.measured import shapes

from judgeharness_integrations.analysis.gates.gate import GateReport
from judgeharness_integrations.analysis.runs import RunReport, run_report
from judgeharness_integrations.reporting.html.frame import environment
from judgeharness_integrations.reporting.runfindings import attention

SCENES = (
    *("typical", "several_judges", "scored", "informal", "several_criteria", "pairs", "all_failed"),
    *("hostile_annotators", "every_shape", "empty"),
)
VOID = {"meta", "link", "input"}


@cache
def scene(name: str) -> RunReport:
    if name == "every_shape":
        return run_report(shapes().values())
    return run_report([]) if name == "empty" else getattr(report_scenes, name)()


# Every element that the page itself is made of.
CALM = set(
    """html head meta title link style body a nav ul li button header p span bdi h1 h2 h3 h4 h5 div table caption thead
    tbody tr th td svg line circle rect main section b code details summary dl dt dd form label input select option
    output noscript footer script""".split()  # noqa: SIM905 - a line a name would be long
)


@cache
def page_of(name: str) -> Page:
    return Page(scene(name).to_html())


class Page(HTMLParser):
    """Elements, ids, links and texts of a page; every element must be closed where it was opened."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: dict[str, str] = {}
        self.text = ""
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in ("script", "style"):
            name = self.tags[-1][1].get("id") or self.open[-1]
            self.scripts[name] = self.scripts.get(name, "") + data
        else:
            self.text += data

    def values(self, attribute: str) -> list[str]:
        return [attrs[attribute] or "" for _, attrs in self.tags if attribute in attrs]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", SCENES)
def test_a_page_is_well_formed_needs_nothing_and_is_the_same_every_time(name: str) -> None:
    report = scene(name)
    html = report.to_html()
    assert html == report.to_html()
    html.encode()
    page = Page(html)
    keys = {key for _, attrs in page.tags for key in attrs}
    assert not {key for key in keys if key in ("style", "src") or key.startswith("on")}
    assert all(link.startswith("#") or link == "data:," for link in page.values("href"))
    ids = page.values("id")
    assert len(ids) == len(set(ids))
    assert {link[1:] for link in page.values("href") if link != "data:,"} <= set(ids)
    assert {part for value in page.values("aria-labelledby") for part in value.split()} <= set(ids)
    assert not re.search(r"\bNone\b|Undefined|&lt;bdi&gt;", page.text)
    levels = [int(tag[1]) for tag, _ in page.tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", SCENES)
def test_every_row_opens_to_data_and_nothing_is_left_out(name: str) -> None:
    report = scene(name)
    page = page_of(name)
    rows = [attrs for tag, attrs in page.tags if tag == "tr" and "data-n" in attrs]
    every = [(result, measured) for result in report.results for measured in result.criteria.values()]
    wanted = sorted(every, key=lambda pair: attention(pair[1], pair[0]))
    assert len(rows) == len(wanted)
    for attrs, (result, measured) in zip(rows, wanted, strict=True):
        data = json.loads(page.scripts[f"data-{attrs['data-n']}"])
        given = [sample for group in data["reasons"] for sample in group["samples"]]
        assert len(given) == measured.valid
        asked = [row for row in result.rows if row.criterion in (measured.criterion, "*")]
        assert len(given) + len(data["failures"]) == len(asked)
        if "data-t" in attrs:
            texts = json.loads(page.scripts[f"texts-{attrs['data-t']}"])
            assert dict(texts) == report.case_texts[result.case_id]


def test_the_policy_allows_the_pages_own_script_and_style_alone() -> None:
    page = page_of("informal")
    policy = next(attrs["content"] for tag, attrs in page.tags if attrs.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    assert "default-src 'none'" in policy
    for kind in ("script", "style"):
        digest = b64encode(sha256(page.scripts[kind].encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy


@pytest.mark.slow
def test_hostile_texts_add_no_element_and_no_attribute() -> None:
    report, gates = report_scenes.hostile()
    page = Page(report.to_html(gates=gates))
    assert {tag for tag, _ in page.tags} <= CALM
    for attack in report_scenes.HOSTILE[:2]:
        assert attack in page.text


@pytest.mark.slow
def test_the_head_says_what_was_judged_and_what_it_comes_to() -> None:
    report = scene("typical")
    text = Page(report.to_html(gates=report_scenes.gates())).text
    summary = report.summaries[0]
    assert "120 cases judged by gpt-4o" in text
    assert "stopped: the budget is used up" in text
    assert f"{summary.verdicts['PASS']} of all 124 cases" in text
    assert "and 4 not graded" in text
    assert f"a guessing judge shows {100 * (summary.chance_consistency or 0):.1f}\u00a0%" in text
    assert "Failed: 1 of 3 checks passed" in text
    assert "Calibrated on human_labeled_set_v1" in text
    assert "1.284 by the prices given" in text
    assert "Yes, within the scope below" in text
    assert "4 cases were planned and not asked" in text


def test_a_calibration_that_does_not_hold_is_never_called_one() -> None:
    page = page_of("several_judges")
    assert "Not calibrated: the calibration on human_labeled_set_v1 is expired" in page.text
    assert "the model changed. The numbers below are of the configuration it was measured on" in page.text
    assert "--judge 'a small local model with a long name' --labels" in page.text


def test_single_samples_are_informal_and_no_word_is_said_of_aggregation() -> None:
    report = scene("informal")
    html = report.to_html()
    summary = html[html.index('<header id="summary">') : html.index("</header>")]
    assert "informal" in summary
    for word in ("Consistency", "Abstained", "Rule"):
        assert word not in summary
    assert "By perturbation" not in Page(html).scripts["data-0"]


def test_passed_gates_and_no_gates() -> None:
    report = scene("informal")
    assert '<h2 id="gates-title"' not in report.to_html()
    passed = GateReport(checks=report_scenes.gates().checks[1:2])
    assert "Passed: 1 of 1 check passed" in Page(report.to_html(gates=passed)).text


def test_the_boundary_counts_the_cases_each_sentence_holds_for() -> None:
    text = page_of("several_judges").text
    assert re.search(r"120 of 120\s*sensitivity to wording was not measured", text)
    assert re.search(
        r"40 of 40\s*not calibrated: \d+ gold labels in this run, no separate label set \(a small local", text
    )


def test_one_case_under_two_designs_has_two_addresses() -> None:
    page = Page(run_report(report_scenes.graded(1, reasons=0) * 2).to_html())
    addresses = [attrs["id"] for tag, attrs in page.tags if tag == "tr" and "id" in attrs]
    assert addresses == ["case-case-0000", "case-case-0000/2"]


def test_a_value_that_was_not_measured_cannot_be_printed_by_accident() -> None:
    with pytest.raises(TypeError, match="a template prints something that is no text"):
        environment().from_string("{{ value }}").render(value=None)
