"""`judgeharness replay` and the command as a whole."""
# ruff: noqa: S603 - what is run is this interpreter and the command under test

from __future__ import annotations

import gc
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from judgeharness_integrations import __version__
from judgeharness_integrations.analysis.replay import replay
from judgeharness_integrations.cli import main
from judgeharness_integrations.verdictlog import VerdictRow, read_log, write_log

DATA = Path(__file__).parent.parent / "data"
LLMBAR = DATA / "llmbar.csv.gz"
VICUNA = DATA / "gpt4_ratings_vicuna.csv.gz"
HERE = [sys.executable, "-c", "import sys; from judgeharness_integrations.cli import main; sys.exit(main())"]
Command = Callable[..., Any]


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rows = [row for row in read_log(LLMBAR) if row.judge in ("GPT-4/CoT", "Falcon/CoT")]
    return write_log(rows, tmp_path_factory.mktemp("logs") / "two_judges.csv.gz")


@pytest.mark.slow
@pytest.mark.untraced
def test_json_is_the_report_and_nothing_else(command: Command, small: Path) -> None:
    ran = command("replay", small, "--rule", "swap_consensus", "--json")
    assert (ran.code, ran.err) == (0, "")
    assert ran.json == replay(read_log(small), "swap_consensus").to_dict()


def test_one_judge_and_several(command: Command, small: Path) -> None:
    one = command("replay", small, "--rule", "majority", "--judge", "GPT-4/CoT", "--json").json
    assert [entry["judge"] for entry in one["judges"]] == ["GPT-4/CoT"]
    both = command("replay", small, "--rule", "majority", "--judge", "GPT-4/CoT", "--judge", "Falcon/CoT", "--json")
    assert [entry["judge"] for entry in both.json["judges"]] == ["Falcon/CoT", "GPT-4/CoT"]


def test_labels_min_valid_and_tolerance(command: Command) -> None:
    labels = command("replay", VICUNA, "--rule", "abstain_on_disagreement", "--labels", "--json").json["judges"][0]
    assert (labels["kind"], labels["coverage"]) == ("labels", 0.621875)
    exact = command("replay", VICUNA, "--rule", "median", "--tolerance", "0", "--json").json["judges"][0]
    assert exact["consistency_rate"] < 1
    strict = command("replay", VICUNA, "--rule", "median", "--min-valid", "4", "--json").json["judges"][0]
    assert strict["not_graded"] == 320


UNGRADED = [VerdictRow(case_id=case, judge="shy", verdict=None, outcome="unparsed") for case in "ab"]


@pytest.mark.parametrize("options", [(), ("--json",), ("--fail-under", "coverage>=0.5")])
def test_a_log_in_which_nothing_was_graded_is_no_success(
    command: Command, tmp_path: Path, options: tuple[str, ...]
) -> None:
    ran = command("replay", write_log(UNGRADED, tmp_path / "log.csv"), "--rule", "majority", *options)
    assert ran.code == 3
    assert "shy: nothing was graded (2 cases)" in " ".join((ran.err if "--json" in options else ran.out).split())


def test_one_judge_that_graded_nothing_is_named_beside_one_that_did(command: Command, tmp_path: Path) -> None:
    rows = [*UNGRADED, VerdictRow(case_id="a", judge="bold", verdict="PASS")]
    ran = command("replay", write_log(rows, tmp_path / "log.csv"), "--rule", "majority")
    assert (ran.code, ran.out.count("nothing was graded")) == (0, 1)


def test_text_prints_rule_exploratory_denominators_intervals(command: Command, small: Path) -> None:
    text = command("replay", small, "--rule", "net_preference").out
    assert "rule: net_preference, chosen after the samples: exploratory" in text
    assert "75.9 of 419" in text
    assert "[71.6, 79.7]" in text
    assert "100.0 of 419" in text
    assert "cannot be split" in text
    assert "\x1b" not in text


def test_text_of_scores_splits_the_variance(command: Command) -> None:
    text = command("replay", VICUNA, "--rule", "median").out
    assert "0.367" in text
    assert "80.8" in text
    assert "0.808" in text


def test_text_with_gold_scores_criteria_and_odd_names(command: Command, tmp_path: Path) -> None:
    rows = [
        VerdictRow(case_id=case, verdict=verdict, judge="\x1b[31mj", criterion="tone", repetition=repetition, gold=3)
        for case, verdicts in {"x": (3, 4), "y": (1, 1)}.items()
        for repetition, verdict in enumerate(verdicts)
    ]
    text = command("replay", write_log(rows, tmp_path / "scores.jsonl"), "--rule", "mean").out
    assert "[31mj · tone" in text
    assert "\x1b" not in text
    assert "1.250" in text


def test_text_of_labels_that_are_neither_a_nor_pass(command: Command, tmp_path: Path) -> None:
    rows = [
        VerdictRow(case_id=case, verdict=verdict, judge=judge, repetition=repetition, outcome=outcome)
        for judge, verdict, outcome in (("x", "red", "ok"), ("y", None, "unparsed"))
        for case in "ab"
        for repetition in range(2)
    ]
    text = command("replay", write_log(rows, tmp_path / "colours.csv"), "--rule", "majority").out
    assert "is red" in text


def test_text_says_how_many_decided_cases_were_labelled(command: Command, tmp_path: Path) -> None:
    rows = [VerdictRow(case_id="x", verdict="A", gold="A"), VerdictRow(case_id="y", verdict="B")]
    log = write_log(rows, tmp_path / "log.csv")
    assert "100.0 of 1" in command("replay", log, "--rule", "majority").out
    entry = command("replay", log, "--rule", "majority", "--json").json["judges"][0]
    assert (entry["decided"], entry["correct"], entry["accuracy"]) == (2, 1, 1.0)
    assert "labelled" not in entry


@pytest.mark.slow
def test_a_report_with_gold_does_not_say_that_nothing_measured_how_right_the_rule_is(
    command: Command, tmp_path: Path
) -> None:
    rows = [VerdictRow(case_id=f"c{n}", verdict="A", gold="A", repetition=k) for n in range(4) for k in range(3)]
    page = tmp_path / "page.html"
    told = command("report", write_log(rows, tmp_path / "log.csv"), "--rule", "majority", "--html", page).out
    said = "not calibrated: 4 gold labels in this run, no separate label set"
    assert said in " ".join(told.split())
    assert said in page.read_text()
    assert "how often this rule is right was not measured" not in told


@pytest.mark.parametrize("shown", ["replay", "report"])
def test_what_is_right_is_called_of_decided_with_gold(command: Command, tmp_path: Path, shown: str) -> None:
    golds = ("A", "A", "B", None)
    rows = [VerdictRow(case_id=f"c{n}", verdict="A", gold=gold) for n, gold in enumerate(golds)]
    told = command(shown, write_log(rows, tmp_path / "log.csv"), "--rule", "majority").out
    head = " ".join(told[: told.index("66.7 of 3")].split())
    assert ("right, % of" in head, "with gold" in head) == (True, True)


@pytest.mark.parametrize("width", [80, 120])
def test_tables_fit_the_terminal(command: Command, small: Path, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    for log, rule in ((small, "net_preference"), (VICUNA, "median")):
        ran = command("replay", log, "--rule", rule)
        tables = [line for line in ran.out.splitlines() if "  " in line or "──" in line]
        assert max(map(len, tables)) <= width  # sentences stay whole in a pipe
        assert "…" not in ran.out


def test_a_rule_may_be_a_function(command: Command, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    write_log([VerdictRow(case_id="c", verdict="A")], folder / "log.csv")
    ran = command("replay", "log.csv", "--rule", "cli_judges:first_row", "--json")
    assert (ran.json["rule"], ran.json["judges"][0]["decided"]) == ("cli_judges:first_row", 1)


def test_version_and_help(command: Command) -> None:
    assert command("--version").out == f"judgeharness {__version__}\n"
    ran = command("--help")
    assert ran.code == 0
    for words in (
        "demo",
        "replay",
        "run",
        "calibrate",
        "adapters",
        "0 fine",
        "1 a gate or a check failed",
        "143 terminated",
        "3 a judge or a cluster is down",
        "2 wrong usage",
    ):
        assert words in " ".join(ran.out.split())
    assert command().out == ran.out
    assert "--rule" in command("replay", "--help").out
    for name in ("run", "calibrate"):
        words = " ".join(command(name, "--help").out.replace("│", " ").split())
        assert "without a terminal nothing is asked" in words


@pytest.mark.slow
def test_help_is_light() -> None:
    program = (
        "import sys, typer; before = set(sys.modules); "
        "from judgeharness_integrations.cli import main; main(['--help']); "
        "left = 'judgeharness_integrations.judging'; "
        "heavy = ('rich', 'yaml', f'{left}.harness', f'{left}.config', 'asyncio'); "
        "sys.exit(', '.join(name for name in heavy if name in set(sys.modules) - before) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
def test_replay_asks_nobody_and_needs_no_harness(small: Path) -> None:
    program = (
        "import sys, typer; before = set(sys.modules); from judgeharness_integrations.cli import main; "
        f"main(['replay', {str(small)!r}, '--rule', 'majority', '--json']); "
        "left = 'judgeharness_integrations.judging'; "
        "heavy = ('rich', f'{left}.harness', f'{left}.execution', 'asyncio'); "
        "sys.exit(', '.join(name for name in heavy if name in set(sys.modules) - before) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
def test_a_closed_pipe_is_quiet(small: Path) -> None:
    large = ["replay", str(LLMBAR), "--rule", "majority", "--json"]
    for arguments in (["replay", str(small), "--rule", "majority"], ["demo"], large):
        process = subprocess.Popen([*HERE, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        error = process.stderr.read()
        process.stderr.close()
        assert (process.wait(60), error) == (141, b"")


@pytest.mark.parametrize("as_json", [(), ("--json",)])
def test_a_pipe_that_closes_ends_the_command_with_its_own_code(
    small: Path, monkeypatch: pytest.MonkeyPatch, as_json: tuple[str, ...]
) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "w", encoding="utf-8") as stream:  # noqa: PTH123 - of a file descriptor
        monkeypatch.setattr(sys, "stdout", stream)
        assert main(["replay", str(small), "--rule", "majority", *as_json]) == 141


def test_output_may_go_to_what_is_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.StringIO()
    monkeypatch.setattr(sys, "stdout", written)
    assert main(["--version"]) == 0
    assert written.getvalue() == f"judgeharness {__version__}\n"


def test_garbage_collection_is_left_as_it_was(command: Command, small: Path) -> None:
    for enabled in (False, True):
        (gc.enable if enabled else gc.disable)()
        assert command("replay", small, "--rule", "majority", "--json").code == 0
        assert gc.isenabled() == enabled


@pytest.mark.slow
def test_a_terminal_that_cannot_show_a_character_shows_its_code(tmp_path: Path) -> None:
    log = write_log([VerdictRow(case_id="c", verdict="A", judge="jüdge")], tmp_path / "log.jsonl")
    environment = os.environ | {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = subprocess.run(
        [*HERE, "replay", str(log), "--rule", "majority", "--json"], capture_output=True, env=environment, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(done.stdout.replace(b"\\xfc", b"u"))["judges"][0]["judge"] == "judge"
