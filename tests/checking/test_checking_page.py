"""The page of a check: the answer first, every property on one axis, and nothing hostile gets through."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.browser import CONTRAST, DESKTOP, PHONE, started, visiting
from support.inert_pages import assert_inert

from judgeharness_integrations.analysis.calibration.controls import controls_of
from judgeharness_integrations.analysis.checking import CheckReport, PropertyCheck, WorstCase
from judgeharness_integrations.reporting.checkpage import (
    axis_of,
    check_page,
    deciding_end,
    effect_text,
    fact_rows,
    forest,
    gloss,
    judge_section,
    seen_text,
    sentence,
    shown,
)
from judgeharness_integrations.reporting.checks import (
    checks_section,
    headline,
    next_command,
    next_step,
    others,
    rule_text,
)
from judgeharness_integrations.reporting.sections import section_markdown

NASTY = "<img src=x onerror=alert(1)><script>window.__pwned=1</script>\u202e{{ 7 * 7 }}"
WORST = WorstCase(case_id="lima", before="A", after="B", perturbation="probe:authority(b)", raw="I trust it.\n[[B]]")
COUNTS = {"tolerance": 0.1, "cases": 50, "asked": 150, "valid": 148, "baseline_cases": 50}
TESTED = {"p_value": 0.002, "adjusted_p": 0.02, "smallest_effect": 0.16}


def a_check(name: str, status: Any = "pass", effect: float | None = 0.02, **changes: Any) -> PropertyCheck:
    given: dict[str, Any] = {"reason": f"Of {name}, this.", "criterion": "verdict"} | COUNTS | TESTED
    if effect is not None:
        given |= {"rate": effect + 0.02, "interval": (0.01, effect + 0.1), "hits": 2.0, "baseline": 0.02}
        given |= {"effect": effect, "effect_interval": (effect - 0.04, effect + 0.06)}
    return PropertyCheck(name=name, status=status, **(given | changes))


def checks() -> tuple[PropertyCheck, ...]:
    return (
        a_check("position", "fail", 0.4, worst=(replace(WORST, raw=None),)),
        a_check("names"),
        a_check("my_own_change"),
        PropertyCheck(name="paraphrase", criterion="verdict", status="not_checked", reason="No rewriter."),
        PropertyCheck(name="prompt_variant", criterion="verdict", status="not_checked", reason="No rewriter."),
        PropertyCheck(name="collapse", criterion="verdict", status="inconclusive", reason="Short texts.", cases=50),
        a_check("injection.encoded", "inconclusive", 0.07, more_cases=120, more_calls=480, worst=(WORST,)),
        a_check("my_own_probe"),
        a_check("sentinel.empty"),
    )


def a_report(*found: PropertyCheck, judge: str = "house", **changes: Any) -> CheckReport:
    facts = {"criterion": "verdict", "consistency": 0.62, "consistency_of": "orders", "right_of_labelled": None}
    given: dict[str, Any] = {"judge": judge, "properties": found or checks(), "alpha": 0.05, "tolerance": 0.1}
    given |= {"cases": 50, "calls": 450, "facts": (facts,)}
    given |= {"outcomes": {"ok": 440, "unparsed": 6, "refused": 0, "error": 4}}
    return CheckReport(**(given | changes))


def nasty() -> CheckReport:
    worst = WorstCase(case_id=NASTY, before=NASTY, after=NASTY, perturbation=NASTY, raw=NASTY, shown=NASTY)
    found = [replace(one, name=NASTY + one.name, reason=NASTY, criterion=NASTY, worst=(worst,) * 3) for one in checks()]
    facts = ({"criterion": NASTY, NASTY: NASTY},)
    return a_report(*found, judge=NASTY, judge_model=NASTY, facts=facts, notes=(NASTY,), outcomes={NASTY: 3})


def test_the_headline_is_the_answer() -> None:
    assert headline([a_report()]) == "house FAILS 1 of 7: position, 2 of 50"
    failing = [a_check(name, "fail") for name in ("position", "names", "format", "whitespace", "authority")]
    assert headline([a_report(*failing)]).endswith("; whitespace, 2 of 50; and 1 more")
    part = a_check("names", "fail", hits=None, rate=0.075)
    assert headline([a_report(part)]) == "house FAILS 1 of 1: names, 7.5 % of 50 cases"
    assert headline([a_report(replace(part, hits=2.5))]) == "house FAILS 1 of 1: names, 7.5 % of 50 cases"
    still = a_check("names", "inconclusive")
    assert headline([a_report(still)]) == "house fails none of 1; 1 inconclusive: names"
    twice = replace(still, criterion="style")
    assert headline([a_report(still, twice)]).endswith("; 2 inconclusive: verdict · names, style · names")
    passing = a_report(a_check("names"), checks()[3])
    assert headline([passing]) == "house passes the one property that could be checked"
    assert headline([a_report(*[a_check("names")] * 2)]) == "house passes all 2 that could be checked"
    assert headline([a_report(checks()[3])]) == "Nothing about house could be checked"
    assert headline([passing, passing]) == "None of 2 judges fails a property"
    assert f"<h1><bdi>{headline([passing])}</bdi></h1>" in check_page([passing])


def test_of_several_judges_the_headline_is_about_the_one_that_fails_most() -> None:
    passing, bad = a_report(a_check("names")), a_report(judge="other")
    assert headline([passing, bad]) == "other FAILS 1 of 7: position, 2 of 50"
    assert others([bad]) == ()
    assert others([passing, bad]) == ("house passes the one property that could be checked",)
    assert others([bad] * 2 + [passing] * 3) == ("2 of 5 judges fail a property",)
    assert others([passing] * 5) == ()
    page = check_page([passing, bad])
    assert page.index('id="judge-1"><bdi>other') < page.index('id="judge-2"><bdi>house')
    assert f"<li><bdi>{others([passing, bad])[0]}</bdi></li>" in page


def test_the_next_command_follows_from_what_was_found() -> None:
    passing, bad = a_report(a_check("names")), a_report(judge="other one")
    still = a_report(a_check("names", "inconclusive", more_cases=9), a_check("format", "inconclusive", more_cases=30))
    asked = ("my config.yaml", "--cases", "50")
    assert next_command([bad], ()) == ""
    assert next_command([bad], asked) == "judgeharness check 'my config.yaml' --cases 50 --all"
    both = next_command([passing, bad], ("c.yaml", "--judge", "house", "--judge", "other one"))
    assert both == "judgeharness check c.yaml --judge 'other one' --all"
    assert next_command([still, passing], asked) == "judgeharness check 'my config.yaml' --cases 80"
    assert next_command([still], ("--log", "l.csv")) == "judgeharness check --log l.csv --all"
    assert next_command([passing], asked) == "judgeharness run 'my config.yaml'"
    assert "<b>next:</b> <code><bdi>judgeharness run c.yaml</bdi></code>" in check_page([passing], source=["c.yaml"])
    assert "<b>next:</b>" not in check_page([passing])


def test_one_axis_holds_every_effect_interval_and_tolerance() -> None:
    axis = axis_of(checks())
    assert (axis.low, axis.high) == (-0.1, 0.5)
    assert [tick.text for tick in axis.ticks] == ["\N{MINUS SIGN}10", "0", "+10", "+20", "+30", "+40", "+50"]
    assert axis.zero == next(tick.x for tick in axis.ticks if tick.text == "0")
    wide = axis_of([a_check("position", "fail", 0.9, effect_interval=(-1.0, 1.0))])
    assert [tick.text for tick in wide.ticks] == ["\N{MINUS SIGN}100", "\N{MINUS SIGN}50", "0", "+50", "+100"]
    nothing = axis_of([checks()[3]])
    assert (nothing.low, nothing.high, len(nothing.ticks)) == (0.0, 0.05, 2)


def test_rows_stand_by_kind_with_the_band_that_passes() -> None:
    groups = forest(checks(), axis_of(checks()))
    [failing, *_] = forest([*checks()[1:5], replace(checks()[0], name="authority")], axis_of(checks()))
    assert [row.name for row in failing.rows] == ["authority", "names", "my_own_change"]
    behind = [checks()[1], checks()[5], replace(checks()[0], name="authority")]
    assert next(group.title for group in forest(behind, axis_of(behind))) == "Attacks in an answer"
    assert {group.title: [row.name for row in group.rows] for group in groups} == {
        "Changes that must not matter": ["position", "names", "my_own_change"],
        "The judge by itself": ["collapse"],
        "Attacks in an answer": ["injection.encoded", "my_own_probe"],
        "Answers whose verdict is known": ["sentinel.empty"],
    }
    position, names = groups[0].rows[:2]
    assert position.mark is not None
    assert (position.status, position.tone, position.mark.mark) == ("fail", "bad", "43.33%")
    assert (position.mark.low, position.mark.at, position.mark.high) == ("76.67%", "83.33%", "93.33%")
    assert (position.band, position.width) == ("0%", "33.33%")
    wide = axis_of([a_check("names", effect_interval=(-0.5, 0.1))])
    assert (wide.low, wide.high) == (-0.5, 0.25)
    lean, rate = a_check("sentinel.copy"), a_check("sentinel.copy", effect=None, rate=0.0, interval=(0.0, 0.08))
    for check, band in {
        a_check("position"): ("53.33%", "26.67%"),
        a_check("names"): ("0%", "80%"),
        lean: ("53.33%", "26.67%"),
        rate: ("0%", "80%"),
        replace(rate, tolerance=None): ("0%", "0%"),
    }.items():
        [row] = forest([check], wide)[0].rows
        assert (row.band, row.width) == band
    told = "what leans to either side has a shaded part with two ends"
    assert [told in check_page([a_report(one)]) for one in (lean, a_check("names"))] == [True, False]
    assert names.words == "names: pass, +2.0 points [\N{MINUS SIGN}2.0, 8.0]"
    assert groups[1].rows[0].mark is None
    assert (gloss("my_own_change"), gloss("names")) == ("", "the authors' names change places")


def test_numbers_keep_what_they_are_of() -> None:
    assert effect_text(a_check("x", effect=-0.031)) == (
        "\N{MINUS SIGN}3.1",
        "[\N{MINUS SIGN}7.1, 2.9]",
    )
    assert effect_text(a_check("x", effect=0.0))[0] == "0.0"
    rate = a_check("parse_rate", effect=None, rate=0.04, interval=(0.01, 0.12), hits=2.5)
    assert effect_text(rate) == ("4.0", "[1.0, 12.0]")
    assert effect_text(replace(rate, interval=None)) == ("2.5 of 50 cases", "")
    assert shown(replace(rate, interval=None)) is None
    assert seen_text(rate) == ("4.0\u00a0% [1.0, 12.0]", "2.5 of 50 cases")
    assert seen_text(replace(rate, hits=2.0))[1] == "2 of 50 cases"
    assert seen_text(replace(rate, hits=None, interval=None)) == ("4.0\u00a0%", "50 cases")
    assert seen_text(replace(rate, rate=None)) == ("\u2013", "50 cases")
    assert seen_text(replace(rate, rate=None, cases=0)) == ("\u2013", "")


def test_a_pass_by_the_rate_is_drawn_and_said() -> None:
    passed = a_check("names", interval=(0.0, 0.09), effect_interval=(-0.08, 0.12))
    assert deciding_end(passed) == 0.09
    for change in (
        {"status": "inconclusive"},
        {"interval": (0.0, 0.11)},
        {"effect_interval": (-0.08, 0.1)},
        {"effect_interval": None},
        {"interval": None},
        {"tolerance": None},
    ):
        assert deciding_end(replace(passed, **change)) is None
    axis = axis_of([passed])
    [group] = forest([passed], axis)
    assert group.by_rate
    assert (group.rows[0].end, axis.low, axis.high) == ("63.33%", -0.1, 0.2)
    assert group.rows[0].words.endswith("; the interval of the rate ends within the tolerance")
    assert not forest([a_check("names")], axis)[0].by_rate
    page, other = check_page([a_report(passed)]), check_page([a_report(a_check("names"))])
    assert page.count('<path class="end"') == 2  # the property, and the key
    assert '<path class="end"' not in other
    assert "What passes ends in the shaded part: this interval, or that of the rate itself" in page
    assert "A pass is shown: the 95 % interval of the effect, or of the rate itself" in page
    assert rule_text(a_report(passed)).startswith(
        "pass: the 95 % interval of the effect, or of the rate itself (an effect is no larger), ends within 10 points; "
        "fail: neither does, and a test rejects at a level of 5 % that 1 test has"
    )


def test_a_worst_case_shows_what_the_judge_was_shown_escaped() -> None:
    page = check_page([a_report(a_check("names", "fail", worst=(replace(WORST, shown=NASTY),)))])
    assert page.count('<details class="shown" open>') == 1
    assert "&lt;script&gt;" in page.split('<details class="shown" open>')[1].split("</details>")[0]
    assert page.count("<script") == 1  # the page's own
    assert '<details class="shown"' not in check_page([a_report()])


def test_the_first_failing_sample_is_open_and_what_was_put_in_is_marked() -> None:
    worst = replace(WORST, shown="It is <b>. Trust me. So it is.", changed=((10, 19), (22, 30)))
    failing = a_check("names", "fail", worst=(worst, worst)), a_check("format", "fail", worst=(worst,))
    page = check_page([a_report(*failing, judge="one"), a_report(*failing[:1], judge="two")])
    assert (page.count('<details class="shown" open>'), page.count('<details class="shown">')) == (1, 4)
    assert worst.pieces == (("It is <b>.", False), (" Trust me", True), (". S", False), ("o it is.", True))
    marked = "<bdi>It is &lt;b&gt;.</bdi><mark><bdi> Trust me</bdi></mark><bdi>. S</bdi><mark><bdi>o it is.</bdi>"
    assert page.count(marked) == 5
    assert WORST.pieces == ()


def test_facts_say_what_they_are_of() -> None:
    fact = {"consistency": 0.5, "consistency_of": "repetitions", "consistency_cases": 12, "right_of_labelled": 0.25}
    assert list(fact_rows(fact)) == [
        ("same verdict when asked again", "50.0\u00a0%", "of 12 cases"),
        ("single answers that are right", "25.0\u00a0%", ""),
    ]
    *_, (_, _, of) = fact_rows(fact | {"right_of_labelled_interval": (0.1, 0.45), "labelled_cases": 1})
    assert of == "[10.0, 45.0] of 1 case"
    assert list(fact_rows({"criterion": "verdict", "consistency": None})) == []
    pairs = controls_of(["A", "B", "A"], ["A", "A", "A"], range(3))
    assert list(fact_rows({"controls": pairs}))[:2] == [
        ("control: always A", "66.7\u00a0%", "of 3 cases"),
        ("control: a coin", "50.0\u00a0%", "of 3 cases"),
    ]
    scores = controls_of([1, 2, 4], [1, 2, 2], range(3))
    assert next(iter(fact_rows({"controls": scores}))) == ("control: always 2, mean error", "1.000", "of 3 cases")
    assert [sentence(one) for one in ("a b", "Why?", "name_swap fails")] == ["A b.", "Why?", "name_swap fails."]


def test_an_open_property_says_what_would_settle_it() -> None:
    still = a_check("names", "inconclusive", more_cases=1, more_calls=1200)
    assert next_step(still) == "About 1 more case (1,200 calls) would settle it."
    assert next_step(replace(still, more_calls=None)) == "About 1 more case would settle it."
    assert next_step(replace(still, more_cases=None)) == "No number of further cases that can be foreseen settles it."
    assert next_step(replace(still, status="pass")) == ""
    assert next_step(checks()[5]).startswith("Let the judge give its reasons")


def test_a_card_has_everything_once() -> None:
    section = judge_section(a_report(), axis_of(checks()))
    [card] = section.criteria
    assert [(count.word, count.count) for count in card.counts] == [
        *(("fail", 1), ("inconclusive", 2), ("pass", 4), ("not checked", 2)),
    ]
    assert [one.name for one in card.failed] == ["position"]
    assert [one.name for one in card.open] == ["collapse", "injection.encoded"]
    assert len(card.passed) == 4
    assert [[row.name for row in group.rows] for group in card.groups] == [
        *(["position"], ["collapse"], ["injection.encoded"]),
    ]
    assert sum(len(group.rows) for group in card.passing) == 4
    assert [(one.names, one.reason) for one in card.unchecked] == [(("paraphrase", "prompt_variant"), "No rewriter.")]
    assert len(card.numbers) == 7
    unasked = [replace(one, reason=f"no sample under {one.name}") for one in checks()[3:5]]
    [alike] = judge_section(a_report(*unasked), axis_of(unasked)).criteria[0].unchecked
    assert (alike.names, alike.reason) == (("paraphrase", "prompt_variant"), "No sample under these changes.")
    assert card.numbers[0].baseline_of == "50 cases"
    assert (card.numbers[3].baseline, card.numbers[3].baseline_of, card.numbers[3].smallest) == ("\u2013", "", "\u2013")
    assert (card.title, card.facts) == ("", (("same verdict in both orders", "62.0\u00a0%", ""),))
    assert "6 properties tested together (Holm), at most 5 % of" in section.level
    assert [one.tone for one in section.outcomes.segments] == ["first", "second", "failed"]


def test_criteria_of_a_judge_have_cards_of_their_own() -> None:
    second = [replace(one, criterion="helpfulness") for one in checks()]
    section = judge_section(a_report(*checks(), *second), axis_of(checks()))
    assert [card.title for card in section.criteria] == ["verdict", "helpfulness"]
    alone = judge_section(a_report(*second), axis_of(second))
    assert [card.title for card in alone.criteria] == ["helpfulness"]
    page = check_page([a_report(*checks(), *second)])
    assert page.count('<table class="effects">') == 4  # what passes is folded
    assert page.count("<h4>All samples</h4>") == 1


def test_several_judges_stand_in_a_table_that_links_to_them() -> None:
    page = check_page([a_report(judge_model="model-1"), a_report(a_check("names"), judge="other")])
    assert page.count('href="#judge-') == 4  # in the table, and in the navigation
    assert "Are these judges any good?" in page
    assert page.count("model-1") == 1
    assert "<bdi>model-1</bdi> · 50 cases, 450 calls" in page
    assert page.count('data-of="steady">62.0\u00a0%<') == 2
    assert page.count('data-of="right">\u2013<') == 2
    assert judge_section(a_report(facts=()), axis_of(checks())).steady == "\u2013"
    nothing = check_page([a_report(checks()[3])])
    assert "<table" not in nothing
    assert "No rewriter." in nothing


def test_a_status_is_said_in_words_and_shown_by_shape() -> None:
    page = check_page([a_report()])
    for word in ("fail", "inconclusive", "pass", "not checked"):
        assert f"{word}</span>" in page
    assert page.count('aria-label="position: fail, +40.0 points [36.0, 46.0]"') == 1
    assert page.count('<rect class="value"') == 3  # the property that fails, and two keys
    assert "I trust it." in page


def test_a_page_has_a_policy_and_hostile_texts_stay_texts() -> None:
    page = check_page([nasty(), nasty()])
    assert_inert(page)
    assert set(re.findall(r"https?://[^\"]*", page)) == {"http://www.w3.org/2000/svg"}  # a name, not an address


@pytest.mark.slow
def test_in_a_browser_it_fits_can_be_read_and_nothing_happens(tmp_path: Path) -> None:
    with started() as browser:
        for reports in ([a_report()], [nasty()], [a_report(), nasty(), a_report(a_check("names"), judge="other")]):
            page = check_page(reports)
            contexts: tuple[dict[str, Any], ...] = (
                {"viewport": PHONE},
                {"color_scheme": "dark"},
                {"color_scheme": "light"},
            )
            for context in contexts:
                with visiting(browser, page, tmp_path, **context) as visit:
                    visit.harmless()
                    width, window = visit.page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
                    assert width <= window
                    inner = "[...document.querySelectorAll('main *')].filter((e) => e.scrollWidth > e.clientWidth + 1"
                    inner += " && getComputedStyle(e).overflowX === 'auto').length"
                    assert visit.page.evaluate(inner) == 0
                    lines = "[...document.querySelectorAll('caption')].map((e) => e.getBoundingClientRect().height)"
                    assert max(visit.page.evaluate(lines)) < 120
                    contrast, where = visit.page.evaluate(CONTRAST)
                    assert contrast >= 4.5, where
                    assert visit.page.locator(".effects svg.effect").count() >= 6


@pytest.mark.slow
def test_rows_line_up_with_their_axis(tmp_path: Path) -> None:
    ends = "(e) => [...e].map((one) => { const b = one.getBoundingClientRect(); return [b.left, b.width]; })"
    with started() as browser:
        for size in (PHONE, DESKTOP):
            with visiting(browser, check_page([a_report()]), tmp_path, viewport=size) as visit:
                visit.page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
                places = visit.page.evaluate(f"({ends})(document.querySelectorAll('.effects .plot > svg'))")
                assert len(places) == 8  # two of them axes
                assert max(abs(left - places[0][0]) + abs(width - places[0][1]) for left, width in places) < 1


def test_an_effect_within_the_tolerance_that_is_more_than_chance_is_said() -> None:
    small, chance = a_check("names"), a_check("format", adjusted_p=0.5)
    lines = section_markdown(checks_section([a_report(small, chance, facts=())]))
    assert "passes, though an effect is there" in lines
    assert "names: Of names, this." in lines
    assert "Of format, this." not in lines
