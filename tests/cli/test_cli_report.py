"""`judgeharness report`: a run or a log in every format."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from jsonschema import Draft202012Validator
from rich.console import Console
from support.measured import measured, shapes
from support.report_scenes import hostile, several_criteria, typical
from support.rows import both_orders, sampled

from judgeharness_integrations.analysis.runs import RunReport, run_report
from judgeharness_integrations.cli._output import MOST_BYTES, VARIABLE, append_summary
from judgeharness_integrations.cli._run_options import ReportRequest
from judgeharness_integrations.cli.report import Source
from judgeharness_integrations.reporting.runsection import report_section
from judgeharness_integrations.reporting.schemas import schema
from judgeharness_integrations.reporting.terminal import console, say, show_section
from judgeharness_integrations.verdictlog import SqlLog, write_log
from judgeharness_integrations.verdictlog.row import VerdictRow

Command = Callable[..., Any]
CONFIG = """
judges: [{name: good, callable: "cli_judges:good", model: gpt-4o}]
cases: cases.csv
harness: {perturbations: [none, position_swap], repetitions: 2, aggregation_rule: swap_consensus}
out: results
"""


@pytest.fixture
def run(command: Command, folder: Path) -> Path:
    """A run of three pairs, all of them right."""
    (folder / "run.yaml").write_text(CONFIG)
    assert command("run", folder / "run.yaml").code == 0
    return folder / "results"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Forty graded cases."""
    rows = [row for n in range(40) for row in sampled(["PASS" if n < 30 else "FAIL"] * 3, case_id=f"c{n}")]
    return write_log(rows, tmp_path / "log.csv")


def test_a_run_on_the_terminal(command: Command, run: Path) -> None:
    ran = command("report", run)
    assert ran.code == 0
    for words in ("rule: swap_consensus, chosen before the samples", "good", "100.0 of 3", "to share it: --html FILE"):
        assert words in ran.out
    assert "state: complete, 3 cases" in ran.out


@pytest.mark.slow
def test_every_format_at_once_into_folders_that_are_made(command: Command, run: Path, tmp_path: Path) -> None:
    out = tmp_path / "new" / "folder"
    places = [out / name for name in ("p.html", "r.md", "j.xml", "c.csv")]
    flags = ("--html", "--markdown", "--junit", "--csv")
    options = [part for pair in zip(flags, places, strict=True) for part in pair]
    ran = command("report", run, *options, "--cases", run.parent / "cases.csv")
    assert ran.code == 0
    assert ran.out.count("written: ") == 4
    page, text, junit, table = places
    assert page.read_text().lstrip().startswith("<!")
    assert (
        "output: good one"
        in command("report", run, "--markdown", "-", "--all", "--cases", run.parent / "cases.csv").out
    )
    assert text.read_text().startswith("## ")
    assert len(ET.parse(junit).findall(".//testcase")) == 3  # noqa: S314 - our own document
    assert len([*csv.DictReader(table.read_text().splitlines())]) == 3
    assert command("report", run, *options).code == 0  # its own files it may write again


@pytest.mark.parametrize("flag", ["--html", "--markdown", "--junit", "--csv"])
def test_a_dash_is_standard_output_and_nothing_else_is(command: Command, run: Path, flag: str) -> None:
    ran = command("report", run, flag, "-", "--fail-under", "coverage>=0.1")
    assert "every gate passed" in ran.err
    assert "every gate passed" not in ran.out or flag == "--markdown"
    assert "to share it" not in ran.out
    if flag == "--junit":
        ET.fromstring(ran.out)  # noqa: S314 - our own document


@pytest.mark.slow
def test_json_follows_the_schema(command: Command, run: Path) -> None:
    ran = command("report", run, "--json", "--results", "--fail-under", "accuracy>=0.9")
    assert ran.code == 1
    assert [error.message for error in Draft202012Validator(schema("report-1")).iter_errors(ran.json)] == []
    assert ran.json["gates"]["passed"] is False
    assert len(ran.json["results"]) == 3
    assert "accuracy>=0.9" in ran.err
    plain = command("report", run, "--json").json
    assert (plain["gates"], plain["results"]) == (None, None)


def test_a_log_needs_a_rule_which_is_then_exploratory(command: Command, log: Path) -> None:
    assert "give one, as --rule majority" in command("report", log).err
    ran = command("report", log, "--rule", "majority", "--min-valid", "2")
    assert ran.code == 0
    assert "chosen after the samples: exploratory" in ran.out
    assert "PASS 75.0 of 40" in ran.out
    assert "did you mean 'majority'" in command("report", log, "--rule", "majorty").err


@pytest.mark.slow
def test_scores_several_judges_and_failures_on_the_terminal(command: Command, tmp_path: Path) -> None:
    rows = [
        row
        for n in range(6)
        for judge, verdicts in (("one", [n, n, None]), ("two", [None] * 3))
        for row in sampled(verdicts, case_id=f"c{n}", judge=judge)
    ]
    scores = write_log(rows, tmp_path / "scores.csv")
    ran = command("report", scores, "--rule", "median")
    assert "mean 2.500" in ran.out
    assert ": failed samples: 6 unparsed of 18" in ran.out
    only = command("report", scores, "--rule", "median", "--judge", "one")
    assert "two" not in only.out
    assert "unknown judge 'tow'" in command("report", scores, "--rule", "median", "--judge", "tow").err
    same = write_log([row for n in range(3) for row in sampled([4], case_id=f"c{n}")], tmp_path / "same.csv")
    assert "no interval" in command("report", same, "--rule", "median", "--all").out
    as_labels = command("report", same, "--rule", "majority", "--labels")
    assert "4 100.0 of 3" in as_labels.out
    assert "one sample a case, informal" in as_labels.out
    other = write_log(
        [row for n in range(3) for row in sampled(["fine"], case_id=f"c{n}")]
        + [row for n in range(3) for row in both_orders("A", "B", case_id=f"c{n}", criterion="pair")],
        tmp_path / "other.csv",
    )
    several = command("report", other, "--rule", "majority", "--all").out
    assert "judge · pair" in several
    assert "- pair: verdicts differ between none and position_swap in 100.0 % of pairs [" in several
    assert "two samples of none" not in several


def test_scores_against_gold_and_flips_beside_the_noise_of_the_judge(command: Command, tmp_path: Path) -> None:
    rows = [
        row
        for n in range(4)
        for name, verdicts in (("none", [n, n + 4, n]), ("format_change", [n + 3, n + 3]))
        for row in sampled(verdicts, case_id=f"c{n}", perturbation=name, gold=n + 1)
    ]
    shown = command("report", write_log(rows, tmp_path / "scores.csv"), "--rule", "median", "--all").out
    assert "off by" in shown
    assert (
        "- verdicts differ between none and format_change in 66.7 % of pairs [24.5, 92.5], mean over 4 cases; "
        "between two samples of none in 66.7 % of pairs [24.5, 92.5], mean over 4 cases"
    ) in " ".join(shown.split())


def test_several_designs_of_a_judge_are_told_apart(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "240")
    results = [measured(sampled(["PASS"] * 4)), measured(sampled(["FAIL"] * 4), min_valid=1)]
    show_section(report_section(run_report(results)), console())
    shown = " ".join(capsys.readouterr().out.split())
    assert "half of the samples" in shown
    assert "at least 1 valid" in shown


def test_a_page_that_is_written_is_not_the_next_step(command: Command, log: Path, tmp_path: Path) -> None:
    line, page = ("report", log, "--rule", "majority"), tmp_path / "page.html"
    assert "next: judgeharness report" in command(*line).out
    ran = command(*line, "--html", page)
    assert ran.code == 0
    assert "next:" not in ran.out
    assert "--rule majority --html report.html" not in page.read_text(encoding="utf-8")


def test_a_run_keeps_its_rule(command: Command, run: Path) -> None:
    ran = command("report", run, "--rule", "majority")
    assert ran.code == 2
    assert "leave out --rule, or fold its log with another one" in ran.err
    assert "verdicts.jsonl --rule 'majority'" in ran.err
    assert "--run and --min-valid go with a log" in command("report", run, "--run", "r", "--min-valid", 2).err
    assert command("report", run / "verdicts.jsonl", "--rule", "majority").code == 0


def test_a_log_of_several_runs_wants_one_chosen(command: Command, tmp_path: Path) -> None:
    rows = [row for name in ("a", "b") for row in sampled(["PASS", "FAIL"], run=name)]
    several = write_log(rows, tmp_path / "runs.csv")
    assert "choose one with --run" in command("report", several, "--rule", "majority").err
    assert command("report", several, "--rule", "majority", "--run", "b").code == 0


def test_a_database_is_named_by_its_url(command: Command, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'log.sqlite'}"
    with SqlLog(url) as database:
        database.append(row for name in ("a", "b") for row in sampled(["PASS", "PASS"], run=name))
    assert "give one, as --rule majority" in command("report", url).err
    assert "2 runs ('a', 'b'): choose one with --run" in command("report", url, "--rule", "majority").err
    assert "unknown run 'c'" in command("report", url, "--rule", "majority", "--run", "c").err
    ran = command("report", url, "--rule", "majority", "--run", "b")
    assert (ran.code, "PASS 100.0 of 1" in ran.out, "run b" in ran.out) == (0, True, True)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--csv", "{log}"), "would write over what is read"),
        (("--html", "{folder}"), "is no file: give the path of one"),
        (("--html", ""), "is no file"),
        (("--html", "{folder}/x", "--csv", "{folder}/x"), "--csv and --html both name"),
        (("--html", "-", "--json"), "standard output takes one document, not --html and --json"),
        (("--results",), "--results goes with --json"),
        (("--annotations", "{log}"), "--annotations FILE and --humans NAMES go together"),
        (("--humans", "anna"), "--annotations FILE and --humans NAMES go together"),
        (("--cases", "{folder}/none.csv"), "none.csv"),
        (("--fail-under", "pass_rat>=0.9"), "did you mean 'pass_rate'"),
        (("--csv", "{log}/below/x.csv"), "x.csv cannot be written (Not a directory): give another path."),
        (("--html", "/proc/none/p.html"), "--html /proc/none/p.html cannot be written (No such file or directory)"),
    ],
)
def test_what_does_not_fit_is_one_sentence(
    command: Command, log: Path, options: tuple[str, ...], sentence: str
) -> None:
    before = log.read_bytes()
    given = [option.format(log=log, folder=log.parent) for option in options]
    ran = command("report", log, "--rule", "majority", *given)
    assert ran.code == 2
    assert sentence in ran.err
    assert ran.err.count("\n") == 1
    assert log.read_bytes() == before


def test_files_of_a_run_are_not_written_over(command: Command, run: Path) -> None:
    ran = command("report", run, "--csv", run / "verdicts.jsonl")
    assert "would write over what is read" in ran.err
    assert command("report", run, "--csv", run / "cases.csv").code == 0
    assert "does not exist" in command("report", run / "nowhere").err


def test_people_are_compared_with(command: Command, tmp_path: Path) -> None:
    says = {n: "PASS" if n % 3 else "FAIL" for n in range(40)}
    rows = [row for n, verdict in says.items() for row in sampled([verdict] * 3, case_id=f"c{n}")]
    log = write_log(rows, tmp_path / "log.csv")
    people = {f"h{k}": {f"c{n}": verdict for n, verdict in says.items() if (n + k) % 7} for k in range(3)}
    (tmp_path / "people.json").write_text(json.dumps(people))
    ran = command(
        "report",
        log,
        "--rule",
        "majority",
        "--annotations",
        tmp_path / "people.json",
        "--humans",
        "h0,h1",
        "--humans",
        "h2",
        "--json",
    )
    assert ran.code == 0
    assert ran.json["annotators"]["schema"] == "judgeharness.alttest/1"


def test_what_is_read_is_known() -> None:
    assert Source(ReportRequest(where="postgresql+psycopg://h/d")).files == ()
    assert Source(ReportRequest(where="a.csv", cases=Path("c.csv"))).files == (Path("a.csv"), Path("c.csv"))


def test_the_summary_of_a_github_step_is_appended_to(
    command: Command, log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    summary = tmp_path / "summary.md"
    monkeypatch.setenv(VARIABLE, str(summary))
    command("report", log, "--rule", "majority", "--no-step-summary")
    assert not summary.exists()
    for times in (1, 2):
        command("report", log, "--rule", "majority", "--fail-under", "pass_rate>=0.9")
        assert summary.read_text().count("## Do not rely on judge here: it fails the gate ") == times
    assert "1 of 1 gate checks did not pass" in summary.read_text()
    monkeypatch.setenv(VARIABLE, str(tmp_path / "missing" / "summary.md"))
    ran = command("report", log, "--rule", "majority")
    assert ran.code == 0
    assert "cannot be written (No such file or directory)" in ran.err
    assert ran.err.count("\n") == 1


def test_a_long_report_is_cut_to_what_github_takes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    summary = tmp_path / "summary.md"
    long = (
        "## title\n\n<details>\n<summary>all</summary>\n\n<pre>\n"
        + "wörds and words\n" * 100_000
        + "</pre>\n</details>\n"
    )
    append_summary(long, summary)
    text = summary.read_text()
    assert len(text.encode()) <= MOST_BYTES
    assert len(text.encode()) > MOST_BYTES - 1000
    assert "longer than the 1 MiB that GitHub shows of a step" in text
    assert (text.count("<details>"), text.count("</details>"), text.count("</pre>")) == (1, 1, 1)
    capsys.readouterr()
    append_summary(long, summary)  # there is no room for more
    assert len(summary.read_bytes()) <= MOST_BYTES
    assert summary.read_text() == text
    said = capsys.readouterr().err
    assert "has no room left of the 1 MiB GitHub takes: the report is not in it." in said
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("report", "words"),
    [
        (
            typical,
            (
                "4 of 124 cases were never asked",
                "calibrated on human_labeled_set_v1",
                "verdict: calibrated precision 1.000 [0.943, 1.000] (64 of 64), calibrated recall 0.914 [0.825, 0.960]",
                "(64 of 70); 120 labelled cases",
                "cost 1.2840",
            ),
        ),
        (several_criteria, ("warning: the cache was on", "judge · topics", "exploratory")),
        (lambda: hostile()[0], ("state: complete, 12 cases",)),
        (lambda: run_report(shapes().values()), ("and 10 more sentences of this kind",)),
        (lambda: run_report([]), ("Nothing was judged", "state: complete, 0 cases")),
    ],
)
def test_reports_of_every_kind_on_the_terminal(
    report: Callable[[], RunReport],
    words: tuple[str, ...],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    show_section(report_section(report()), console())
    shown = capsys.readouterr().out
    told = " ".join(shown.split())
    assert [word for word in words if word not in told] == []
    assert all(character.isprintable() or character == "\n" for character in shown)


def failed(error: str, **common: Any) -> list[VerdictRow]:
    """Two samples of a judge that was down."""
    return [replace(row, outcome="error") for row in sampled([None] * 2, error=error, **common)]


def test_a_log_in_which_nothing_was_graded_says_so_first(command: Command, tmp_path: Path) -> None:
    dead = [row for n in range(3) for row in failed("PermissionError: no key", case_id=f"c{n}")]
    ran = command("report", write_log(dead, tmp_path / "dead.csv"), "--rule", "majority")
    assert ran.code == 3
    said = "nothing was graded (3 cases): 0 valid of 2 samples, 1 needed; 2 failed with PermissionError: no key"
    assert said in " ".join(ran.out.split())
    assert ran.out.index("nothing was graded") < ran.out.index("not measured")
    fine = [*dead, *sampled(["PASS", "FAIL"], case_id="tied")]
    ran = command("report", write_log(fine, tmp_path / "one.csv"), "--rule", "majority")
    assert (ran.code, "nothing was graded" in ran.out) == (0, False)  # an abstention is a grade


def test_nothing_graded_goes_before_gates_that_failed(command: Command, tmp_path: Path) -> None:
    dead = write_log(failed("TimeoutError"), tmp_path / "dead.csv")
    ran = command("report", dead, "--rule", "majority", "--fail-under", "pass_rate>=0.5")
    assert ran.code == 3
    assert "nothing was graded (1 case): 0 valid of 2" in " ".join(ran.out.split())


def test_the_page_and_the_comment_say_first_that_one_judge_graded_nothing(command: Command, tmp_path: Path) -> None:
    both = [*sampled(["PASS"] * 2, judge="fine"), *failed("TimeoutError", judge="dead")]
    log, page, comment = write_log(both, tmp_path / "log.csv"), tmp_path / "r.html", tmp_path / "r.md"
    assert command("report", log, "--rule", "majority", "--html", page, "--markdown", comment).code == 0
    for path in (page, comment):
        assert unescape(path.read_text()).count("Do not rely on dead here: nothing was graded (1 case)") == 1


@pytest.mark.parametrize(("terminal", "longest"), [(True, 20), (False, 43)])
def test_a_sentence_is_broken_between_words_at_a_terminal_alone(*, terminal: bool, longest: int) -> None:
    screen = Console(file=io.StringIO(), width=20, force_terminal=terminal, color_system=None)
    say(screen, "a sentence that is longer than a line is, 1")
    written = screen.file.getvalue()  # type: ignore[attr-defined]
    assert (max(map(len, written.splitlines())) <= longest, " ".join(written.split())) == (
        True,
        "a sentence that is longer than a line is, 1",
    )
