"""What `judgeharness check` says: below its tables, in a narrow terminal, in a job's summary, of a folder's log."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from judgeharness_integrations.analysis.checking import CheckReport, PropertyCheck, WorstCase
from judgeharness_integrations.reporting.checks import checks_section, next_step
from judgeharness_integrations.reporting.sections import Bullets, Section, section_markdown
from judgeharness_integrations.reporting.terminal import console, section_lines, show_section
from judgeharness_integrations.verdictlog import VerdictRow, write_log

Command = Callable[..., Any]

JUDGES = """
def fooled(case):
    return "A" if len(case.output) >= len(case.output_b) else "B"
"""
NEITHER = "the excess is neither within 10 points nor more than noise explains"


def a_check(name: str, status: Any = "pass", reason: str = "2 of 50 cases changed", **changes: Any) -> PropertyCheck:
    given: dict[str, Any] = {"criterion": "verdict", "tolerance": 0.1, "cases": 50, "hits": 12.0, "rate": 0.24}
    given |= {"interval": (0.13, 0.38), "baseline": 0.12, "baseline_cases": 50, "effect": -0.12}
    given |= {"effect_interval": (-0.22, 0.14), "p_value": 0.01, "adjusted_p": 0.2, "smallest_effect": 0.17}
    return PropertyCheck(name=name, status=status, reason=reason, **(given | changes))


def a_report(*found: PropertyCheck, **changes: Any) -> CheckReport:
    given: dict[str, Any] = {"judge": "house", "alpha": 0.05, "tolerance": 0.1, "cases": 50, "calls": 450}
    return CheckReport(properties=found, outcomes={"ok": 450}, **(given | changes))


def part(report: CheckReport, title: str) -> list[str]:
    """Return the sentences under one heading of a judge's section."""
    [judge, _] = checks_section([report]).blocks
    assert isinstance(judge, Section)
    [found] = [block for block in judge.blocks if isinstance(block, Section) and block.title == title]
    return [
        line
        for block in found.blocks
        for line in (block.lines if isinstance(block, Bullets) else [block])
        if isinstance(line, str)
    ]


def test_open_properties_that_lack_the_same_stand_together() -> None:
    still = [
        a_check(name, "inconclusive", f"{count} of 50 cases changed: {NEITHER}", more_cases=9, more_calls=count)
        for count, name in enumerate(("names", "format", "authority"), start=1)
    ]
    never = a_check("verbosity", "inconclusive", f"7 of 50 cases changed: {NEITHER}")
    assert part(a_report(*still, never), "inconclusive") == [
        f"3 properties: {NEITHER}",
        "names: 1 of 50 cases changed (9 more cases, 1 more call)",
        "format: 2 of 50 cases changed (9 more cases, 2 more calls)",
        "authority: 3 of 50 cases changed (9 more cases, 3 more calls)",
        f"verbosity: 7 of 50 cases changed: {NEITHER}. No number of further cases that can be foreseen settles it.",
    ]
    collapse = a_check("collapse", "inconclusive", "short texts")
    assert part(a_report(collapse), "inconclusive") == ["collapse: short texts. " + next_step(collapse)]
    twice = [collapse, replace(collapse, criterion="style")]
    assert part(a_report(*twice), "inconclusive")[1:] == ["verdict · collapse, style · collapse"]
    same = [replace(one, reason=f"0 of 50 cases changed: {NEITHER}", more_calls=92) for one in still]
    assert part(a_report(*same), "inconclusive")[1:] == [
        "names, format, authority: 0 of 50 cases changed (9 more cases, 92 more calls each)"
    ]


def test_payloads_that_are_long_or_formatted_may_fail_for_that() -> None:
    injected, formatted = a_check("injection.encoded", "fail"), a_check("format", "fail")
    assert part(a_report(formatted, injected), "fails")[2:] == [
        "injections make an answer longer and format it: they may fail for the cause of format"
    ]
    padded = a_check("verbosity", "fail")
    assert part(a_report(formatted, injected, padded), "fails")[-1].endswith("the cause of format and verbosity")
    assert len(part(a_report(injected), "fails")) == 1
    assert len(part(a_report(formatted, padded), "fails")) == 2


def test_what_was_shown_is_cut_and_stands_on_one_line() -> None:
    worst = WorstCase(case_id="c1", before="A", after="B", perturbation="name_swap", shown="Ann\nsaid " * 90)
    [line] = part(a_report(a_check("names", "fail", worst=(worst,))), "for example")
    assert line.startswith("names: case c1, A -> B under name_swap; shown: Ann said Ann")
    assert len(line.partition("; shown: ")[2]) == 100
    marked = replace(worst, shown="Ann said so.", changed=((4, 8),))
    [line] = part(a_report(a_check("names", "fail", worst=(marked,))), "for example")
    assert line.endswith("; shown: Ann {+said+} so.")
    plain = a_check("names", "fail", worst=(replace(worst, shown=None, raw="B\nit is"),))
    told = part(a_report(plain), "for example")
    assert part(a_report(replace(plain, worst=plain.worst * 3)), "more cases that speak against it") == told * 2
    assert part(a_report(replace(plain, status="inconclusive")), "more cases that speak against it") == told
    assert told == ["names: case c1, A -> B under name_swap: B it is"]


def test_the_table_fits_80_columns_with_names_whole_and_failures_first(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    found = [
        a_check("names", smallest_effect=0.31),
        a_check("injection.system_message", "inconclusive", more_cases=120, more_calls=480, hits=8.8),
        a_check("format", "fail", rate=1.0, interval=(0.93, 1.0)),
    ]
    show_section(checks_section([a_report(*found)]), console(), every=True)
    out = capsys.readouterr().out
    tables = out.partition("\nproperties that fail\n")[2].partition("\nhow to read it")[0].splitlines()
    assert max(len(line) for line in tables if not line.startswith("- ")) <= 80
    rows = [line.split() for line in tables]
    assert rows[3] == ["format", "12/50", "100", "[93,", "100]", "12", "-12", "[-22,", "14]", "17"]
    assert rows[9][:5] == ["injection.system_message", "8.8/50", "24", "[13,", "38]"]
    assert (tables[5], tables[11]) == ("inconclusive", "properties that pass")
    passed = ["names", "12/50", "24", "[13,", "38]", "12", "-12", "[-22,", "14]"]
    assert rows[15] == passed  # what could be seen says nothing of a pass
    assert "(120 more cases, 480 more calls)" in out


def test_judges_that_fail_stand_first() -> None:
    reports = [a_report(a_check("names"), judge="fine"), a_report(a_check("names", "fail"), judge="bad")]
    section = checks_section(reports)
    assert section.title == "bad FAILS 1 of 1: names, 12 of 50"
    titles = [block.title.partition(":")[0] for block in section.blocks if isinstance(block, Section)]
    assert titles == ["bad", "fine", "how to read it"]


def test_the_advice_about_more_cases_names_its_price() -> None:
    told = " ".join(section_lines(checks_section([a_report(a_check("names", "inconclusive", more_cases=120))])))
    assert "asking them is a second look: a judge without faults is twice as likely, at most, to fail" in told


def test_a_summary_begins_with_what_fails_and_nothing_of_it_is_markup() -> None:
    evil = "<img src=x> | [a](http://b) @you"
    found = [a_check("names", "inconclusive", evil), a_check("format", "fail"), a_check("position")]
    text = section_markdown(checks_section([a_report(*found, judge=evil)]), depth=3)
    lines = text.splitlines()
    assert lines[0].startswith("### ")
    assert lines[2].startswith("#### ")
    assert "1 pass, 1 fail, 1 inconclusive; 50 cases, 450 calls" in lines[2]
    assert lines[4:7] == ["##### fails", "", "- format: 2 of 50 cases changed"]
    tables = [place for place, line in enumerate(lines) if line.startswith("| property | cases |")]
    assert [lines[place - 2] for place in tables] == [
        "properties that fail:",
        "inconclusive:",
        "properties that pass:",
    ]
    assert "<summary>what pass and fail mean</summary>" in text
    assert "<img" not in text
    assert "](" not in text
    assert "@y" not in text
    several = [a_check("names", "fail"), a_check("names", criterion="style")]
    assert "verdict · names" in section_markdown(checks_section([a_report(*several)]))


@pytest.fixture
def fooled(folder: Path) -> Path:
    (folder / "cli_judges.py").write_text(JUDGES)
    rows = [f"c{n},q,a long answer,short" if n % 2 else f"c{n},q,short,a long answer" for n in range(4)]
    (folder / "cases.csv").write_text("\n".join(["case_id,input,output,output_b", *rows, ""]))
    path = folder / "mine.json"
    whole: dict[str, Any] = {"judges": [{"name": "fooled", "callable": "cli_judges:fooled"}], "cases": "cases.csv"}
    path.write_text(json.dumps(whole | {"harness": {"shape": "pairwise"}}))
    return path


@pytest.mark.slow
def test_it_says_what_was_shown_and_a_folder_is_a_log(
    command: Command, folder: Path, fooled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(folder / "step.md"))
    options = ("--probe", "authority", "--repetitions", 2, "-y", "--all")
    ran = command("check", fooled, *options)
    assert ran.code in (0, 1), ran.err
    kept = folder / "judgeharness-check" / "mine"
    [judge] = json.loads((kept / "check.json").read_text())["judges"]
    [authority] = [one for one in judge["properties"] if one["name"] == "authority"]
    assert len(authority["worst"]) == 3
    assert all(case["shown"].startswith("short") and len(case["shown"]) > 20 for case in authority["worst"])
    assert "; shown: short" in ran.out
    assert "\n| authority | " in (folder / "step.md").read_text()

    again = command("check", "--log", kept, "--json")
    [read] = again.json["judges"]
    assert (again.code, read["calls"]) == (ran.code, judge["calls"])
    assert {case["shown"] for one in read["properties"] for case in one["worst"]} == {None}
    (kept / "verdicts.jsonl").unlink()
    assert command("check", "--log", kept, "--json").json["judges"][0]["calls"] == judge["calls"]
    (kept / "verdicts.sqlite").unlink()
    empty = command("check", "--log", kept)
    assert (empty.code, "holds neither verdicts.sqlite nor verdicts.jsonl" in empty.err) == (2, True)


@pytest.mark.slow
def test_nothing_is_shown_where_texts_are_not_kept(command: Command, folder: Path, fooled: Path) -> None:
    whole = json.loads(fooled.read_text()) | {"keep": "hash"}
    fooled.write_text(json.dumps(whole))
    command("check", fooled, "--probe", "authority", "--repetitions", 2, "-y")
    [judge] = json.loads((folder / "judgeharness-check" / "mine" / "check.json").read_text())["judges"]
    shown = [case["shown"] for one in judge["properties"] for case in one["worst"]]
    assert set(shown) == {None}


def test_of_the_folder_of_a_run_its_run_is_checked(command: Command, folder: Path) -> None:
    rows = [VerdictRow(case_id=f"c{n}", verdict="A", run=run) for n in range(3) for run in ("old", "new")]
    write_log(rows, folder / "verdicts.jsonl")
    several = command("check", "--log", folder)
    assert (several.code, "choose one with --run" in several.err) == (2, True)
    (folder / "run.json").write_text(json.dumps({"run": "new"}))
    assert command("check", "--log", folder, "--json").json["judges"][0]["cases"] == 3
    assert command("check", "--log", folder, "--run", "other").code == 2
