"""One report document: each report says the same at a terminal, in Markdown and in a notebook."""

from __future__ import annotations

import html
import io
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from support.comparisons import documented_comparisons
from support.gated import passes
from support.live_markdown import HOSTILE_TEXTS, live_parts
from support.measured import measured
from support.report_scenes import all_failed, hostile, informal, pairs, scored, several_criteria, typical
from support.rows import both_orders, sampled

from judgeharness_integrations.analysis.agreement.alttest import alt_test
from judgeharness_integrations.analysis.agreement.kappa import Bootstrap
from judgeharness_integrations.analysis.agreement.kappatable import agreement_table
from judgeharness_integrations.analysis.agreement.panel import Panel
from judgeharness_integrations.analysis.gates import check_gates
from judgeharness_integrations.analysis.ranking import rank
from judgeharness_integrations.analysis.replay.replaying import replay
from judgeharness_integrations.analysis.runs import run_report
from judgeharness_integrations.reporting import ranking
from judgeharness_integrations.reporting import runsection as runending
from judgeharness_integrations.reporting.agreement import agreement_section, alt_test_section
from judgeharness_integrations.reporting.comparison import comparison_section
from judgeharness_integrations.reporting.fragments import section_html
from judgeharness_integrations.reporting.measured import Measured, gates_section, measured_table, replay_section
from judgeharness_integrations.reporting.runsection import report_section
from judgeharness_integrations.reporting.sections import LONGEST_CELL, Bullets, Section, Strong, Table, section_markdown
from judgeharness_integrations.reporting.terminal import say, show_section
from judgeharness_integrations.verdictlog.encoding import SENTENCE, safe_text


def panel() -> Panel:
    return Panel.from_rows(
        [
            row
            for place, rater in enumerate("wxyz")
            for n in range(30)
            for row in sampled(["AB"[n % (5 + place) < 2]], judge=rater, case_id=f"k{n}")
        ]
    )


def replayed() -> Section:
    rows = [
        *both_orders("AAB", "ABA", gold="A", judge="one"),
        *sampled(["B", None], gold="A", judge="two"),
        *sampled(["A", "A", "B"], case_id="c2", judge="two"),
    ]
    groups = [[row for row in rows if row.judge == judge] for judge in ("one", "two")]
    return replay_section(replay(rows, "majority"), groups, source="log.csv", notes=["2 cases were never asked"])


REPORTS: dict[str, Callable[[], Section]] = {
    **{f"comparison {n}": lambda one=one: comparison_section(one) for n, one in enumerate(documented_comparisons())},  # type: ignore[misc]
    "agreement": lambda: agreement_section(
        agreement_table(panel(), humans=list("xyz"), candidates=["w"], bootstrap=Bootstrap(replicates=50)), pairs=True
    ),
    "annotators": lambda: alt_test_section(alt_test(panel(), humans=list("xyz"), candidates=["w"])),
    "gates": lambda: gates_section(check_gates(passes(93, 7), ["pass_rate>=0.9", "coverage>=0.5"]), of_run=True),
    "replay": replayed,
    **{
        f"report {name}": lambda made=made: report_section(made(), every=True)  # type: ignore[misc]
        for name, made in {
            "typical": lambda: typical(cases=30),
            "scores": scored,
            "informal": informal,
            "criteria": several_criteria,
            "pairs": pairs,
            "failed": all_failed,
            "hostile": lambda: hostile()[0],
        }.items()
    },
}


def told(section: Section) -> Iterator[str]:
    """Yield every sentence and cell, as it is made safe for people."""
    yield safe_text(section.title, SENTENCE)
    for block in section.blocks:
        if isinstance(block, Section):
            yield from told(block)
        elif isinstance(block, Table):
            rows = block.rows if not block.examples else block.rows[:10]
            yield from (safe_text(line, LONGEST_CELL) for row in rows for cell in row for line in cell.split("\n"))
        else:
            yield from (safe_text(line, SENTENCE) for line in (block.lines if isinstance(block, Bullets) else (block,)))


def text_of(section: Section, *, every: bool = True) -> str:
    screen = Console(file=io.StringIO(), width=2_000, markup=False, highlight=False, emoji=False)
    show_section(section, screen, every=every)
    return screen.file.getvalue()  # type: ignore[attr-defined,no-any-return]


def plain(shown: str) -> str:
    """Return what a person reads, without any white space."""
    without = re.sub(r"<[^>]*>", "", shown).replace("**", "")
    return re.sub(r"\s", "", html.unescape(without).replace("\u200b", ""))


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", REPORTS)
def test_every_format_says_the_same_numbers_under_the_same_names(name: str) -> None:
    section = REPORTS[name]()
    shown = {
        "terminal": re.sub(r"\s", "", text_of(section)),
        "Markdown": plain(section_markdown(section, every=True)),
        "notebook": plain(section_html(section)),
    }
    expected = {re.sub(r"\s", "", one) for one in told(section)}
    assert len(expected) > 5
    for where, text in shown.items():
        missing = [one for one in expected if one not in text and one.replace("\u200b", "") not in text]
        assert missing == [], where


def sample() -> Section:
    table = Table.of("cases", ("case", "count-\ned\nso"), ((f"c{n}", "1") for n in range(60)), examples=True, left=40)
    return Section(
        title="a report",
        blocks=(
            Strong("the answer"),
            "a sentence",
            Bullets(("one", Strong("two"))),
            table,
            Table.of("", ("name", "value"), [(Strong("a"), "1\n2")]),
            Section(title="open", blocks=("inside",)),
            Section(title="folded", blocks=("hidden",), folded=True),
        ),
    )


def test_a_terminal_shows_what_is_folded_and_all_examples_on_request() -> None:
    short, whole = text_of(sample(), every=False), text_of(sample())
    assert "and 90 more: --all lists them" in short
    assert "and 40 more: --all lists them" in whole
    assert ("hidden" in short, "hidden" in whole) == (False, True)
    assert ("more: --all, or --json" in short, "more: --all, or --json" in whole) == (True, False)
    assert "- one\n- two\n" in short
    assert "inside" in short


def test_a_sentence_is_broken_under_its_bullet_at_a_terminal_alone(capsys: pytest.CaptureFixture[str]) -> None:
    section = Section(title="title", blocks=(Bullets(("word " * 30,)),))
    screen = Console(file=io.StringIO(), width=40, force_terminal=True, color_system=None)
    show_section(section, screen)
    lines = screen.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert lines[1].startswith("- word")
    assert lines[2].startswith("  word")
    assert max(map(len, lines)) <= 40
    show_section(section, Console(width=40))
    assert "- " + " ".join(["word"] * 30) in capsys.readouterr().out


def test_what_is_said_at_a_terminal_keeps_its_indentation(capsys: pytest.CaptureFixture[str]) -> None:
    screen = Console(file=io.StringIO(), width=40, force_terminal=True, color_system=None)
    say(screen, "    " + "word " * 12)
    lines = screen.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert lines == ["    word word word word word word word", "    word word word word word"]
    say(Console(width=40), "    " + " ".join(["word"] * 12))
    assert capsys.readouterr().out == "    " + " ".join(["word"] * 12) + "\n"


def test_markdown_nests_headings_folds_and_cuts_examples() -> None:
    text = section_markdown(sample())
    assert text.startswith("## a report\n")
    assert "**the answer**" in text
    assert "- **two**" in text
    assert "### open\n\ninside" in text
    assert "<details>\n<summary>folded</summary>\n\nhidden\n" in text
    assert "| case | counted so |" in text
    assert "| **a** | 1<br>2 |" in text
    assert "and 80 more" in text
    assert "and 40 more" in section_markdown(sample(), every=True)


def test_a_notebook_shows_the_first_rows_and_says_how_many_are_left() -> None:
    text = section_html(sample())
    assert "<strong><bdi>the answer</bdi></strong>" in text
    assert "and 90 more</div>" in text
    assert '<details style="margin-top:8px"><summary style="cursor:pointer"><bdi>folded</bdi></summary>' in text
    long = Section(title="t", blocks=(Table.of("", ("n",), ((str(n),) for n in range(45)), texts=0),))
    assert "and 5 more rows: to_pandas() holds them" in section_html(long)


@pytest.mark.parametrize("hostile_text", HOSTILE_TEXTS)
def test_no_text_is_alive_in_any_format(hostile_text: str) -> None:
    section = Section(
        title=hostile_text,
        blocks=(
            hostile_text,
            Strong(hostile_text),
            Bullets((hostile_text, Strong(hostile_text))),
            Table.of(hostile_text, (hostile_text, "b"), [(hostile_text, Strong(hostile_text))]),
            Section(title=hostile_text, blocks=(hostile_text,), folded=True),
        ),
    )
    assert live_parts(re.sub(r"^#+ ", "", section_markdown(section), flags=re.MULTILINE)) == []
    page = section_html(section)
    assert not re.search(r"<(script|img|a|iframe)\b", page)
    assert "\x1b" not in text_of(section)


def test_a_page_of_sections_needs_no_file(tmp_path: Path) -> None:
    shown = section_html(sample())
    (tmp_path / "page.html").write_text(shown)
    assert not re.search(r"(src|href)=|url\(|@import", shown)


NAMES = ("openai/gpt-4o-mini · tone", "mistral-large\nof last week")


def table_of(width: int, *names: str) -> list[str]:
    screen = Console(file=io.StringIO(), width=width, markup=False, highlight=False, emoji=False)
    rows = [(name, "90.2 of 51\n[79.0, 95.7]", str(9 + place)) for place, name in enumerate(names)]
    table = Table.of("", ("judge", "right,\n% of cases", "ab-\nstained"), rows)
    show_section(Section(title="report", blocks=(table,)), screen)
    return screen.file.getvalue().splitlines()[1:]  # type: ignore[attr-defined,no-any-return]


def test_names_that_fit_stand_beside_their_numbers() -> None:
    assert table_of(60, *NAMES)[3:5] == [
        "openai/gpt-4o-mini · tone    90.2 of 51        9",
        "                           [79.0, 95.7]         ",
    ]


def test_names_are_folded_where_their_parts_meet() -> None:
    lines = table_of(42, *NAMES)
    assert lines[3:] == [
        "openai/gpt-4o-mini    90.2 of 51        9",
        "· tone              [79.0, 95.7]         ",
        "mistral-large         90.2 of 51       10",
        "of last week        [79.0, 95.7]         ",
    ]


def test_names_that_cannot_be_folded_stand_above_their_numbers() -> None:
    lines = table_of(32, "openai/gpt-4o-mini-2024-07-18 · faithfulness", "x" * 40, "short")
    assert lines[0].endswith("right,      ab-")
    assert lines[3:] == [
        "openai/gpt-4o-mini-2024-07-18",
        "· faithfulness",
        "         90.2 of 51        9",
        "       [79.0, 95.7]         ",
        "x" * 32,
        "x" * 8,
        "         90.2 of 51       10",
        "       [79.0, 95.7]         ",
        "short",
        "         90.2 of 51       11",
        "       [79.0, 95.7]         ",
    ]


def test_numbers_too_wide_for_the_terminal_stand_below_one_another_and_none_is_cut() -> None:
    assert table_of(26, *NAMES) == [
        "openai/gpt-4o-mini · tone",
        "  right, % of cases: 90.2 ",
        "of 51 [79.0, 95.7]",
        "  abstained: 9",
        "mistral-large",
        "of last week",
        "  right, % of cases: 90.2 ",
        "of 51 [79.0, 95.7]",
        "  abstained: 10",
    ]


def test_what_was_not_measured_of_every_judge_is_said_once() -> None:
    judges = [
        report_section(run_report([measured(sampled(["PASS"] * 2, judge=judge), judge=judge) for judge in judges]))
        for judges in (["one"], ["one", "two"], [f"judge {n}" for n in range(5)])
    ]
    for section in judges:
        last, legend = section.blocks[-2:]
        assert isinstance(last, Section)
        assert isinstance(legend, Section)
        assert (last.title, last.folded) == ("not measured", False)
        assert (legend.title, legend.folded) == ("how to read it", True)
        assert text_of(section).count("sensitivity to wording was not measured") == 1
        assert not any(line.startswith("- one: sensitivity") for line in text_of(section).splitlines())


def test_of_no_decided_case_with_gold_nothing_is_right() -> None:
    (entry,) = replay(sampled(["A", "B"], gold="A"), "majority").judges
    none, all_of_them = (measured_table([Measured(name="j", replay=one)]) for one in (entry, replace(entry, decided=2)))
    assert (entry.labelled, none.columns == all_of_them.columns) == (0, True)
    assert not any("right" in head for head in none.heads)


def test_a_replay_says_what_gold_labels_are_not_read_and_which_cases_belong_together() -> None:
    (entry,) = replay(sampled(["A", "B"], gold="A"), "majority").judges
    one = replay(sampled(["A"], gold="A"), "majority")
    for unread, said in ((1, "1 case has a gold label that"), (2, "2 cases have gold labels that")):
        changed = replace(one, judges=(replace(entry, unread=unread, clusters=3, labelled=7),))
        shown = text_of(replay_section(changed))
        assert said in shown
        assert "intervals of accuracy and controls: 7 cases in 3 clusters" in shown


def test_a_run_says_how_many_calls_early_stopping_saved() -> None:
    nothing: dict[str, Any] = {"calibration": None, "criteria": [], "not_measured": [], "warnings": []}
    judge = nothing | {"not_asked_cases": 0, "judged_cases": 4, "saved_calls": 3, "skipped_perturbations": {}}
    assert "3 calls saved by stopping early" in list(runending._ending_about(judge))


def test_of_no_judges_nothing_stands_beside_ranks() -> None:
    board = rank([row for judge in ("a", "b") for row in sampled(["A", "B"], judge=judge, gold="A")])
    assert list(ranking._judges(replace(board, judges=()))) == []
