from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.cli import check as _check
from judgeharness_integrations.cli import check as _check_parts
from judgeharness_integrations.cli._command import Terminated
from judgeharness_integrations.cli._judge_options import CheckRequest
from judgeharness_integrations.judging.config import SendableJudge
from judgeharness_integrations.judging.execution.local import LocalExecutor
from judgeharness_integrations.judging.execution.retrying import Budget
from judgeharness_integrations.testing.checking.judge import check_judge
from judgeharness_integrations.verdictlog import VerdictRow, read_log, write_log

LLMBAR = Path(__file__).parents[1] / "data" / "llmbar.csv.gz"
COUNTING = """
import pathlib

def noted(case):
    with pathlib.Path(__file__).with_name("asked").open("a") as asked:
        asked.write(f"{case.case_id}\\n")

def good(case):
    noted(case)
    if "WIN" in case.output + case.output_b:
        raise AssertionError
    points = [text.count("good") if text.strip() else -1 for text in (case.output, case.output_b)]
    return "TIE" if points[0] == points[1] else "A" if points[0] > points[1] else "B"

def first(case):
    noted(case)
    return "A"

def broken(case):
    noted(case)
    raise ValueError("key sk-1234567890abcdef is no key")

def mute(case):
    return "I cannot say.\\nReally."

def either(case):
    return {"style": good(case), "facts": "A"}
"""
QUICK = ("--probe", "authority", "--repetitions", 2, "-y")

Command = Callable[..., Any]


@pytest.fixture
def config(folder: Path, asked: Callable[[], int]) -> Callable[..., Path]:
    """Writes a configuration of judges, each with a model; pairs of the folder's cases."""
    del asked

    def write(*judges: str, cases: int = 3, **changes: Any) -> Path:
        pairs = [f"c{n},q{n},good,fair,A" if n % 2 else f"c{n},q{n},fair,good,B" for n in range(cases)]
        (folder / "cases.csv").write_text("\n".join(["case_id,input,output,output_b,gold", *pairs, ""]))
        listed = [{"name": name, "callable": f"cli_judges:{name}", "model": "m-1"} for name in judges]
        path = folder / "check.json"
        whole = {"judges": listed, "cases": "cases.csv", "harness": {"shape": "pairwise"}} | changes
        path.write_text(json.dumps(whole))
        sys.modules.pop("cli_judges", None)
        return path

    return write


def checked(folder: Path) -> dict[str, Any]:
    return dict(json.loads((folder / "judgeharness-check" / "check" / "check.json").read_text()))


def statuses(report: dict[str, Any]) -> dict[str, str]:
    return {one["name"]: one["status"] for one in report["properties"]}


@pytest.mark.slow
def test_a_judge_is_checked_and_the_same_command_again_asks_nothing(
    command: Command, folder: Path, config: Callable[..., Path], asked: Callable[[], int]
) -> None:
    path = config("good")
    ran = command("check", path, *QUICK)
    assert ran.code == 0, ran.err
    calls = asked()
    assert calls == 3 * (2 + 2 + 1)  # position_swap, format_change; authority
    assert "good (m-1):" in ran.out
    assert "judgeharness-check/check/check.json" in ran.out
    document = checked(folder)
    assert (document["schema"], document["state"]) == ("judgeharness.checks/1", "complete")
    report = document["judges"][0]
    assert (report["judge"], report["cases"], report["calls"], report["failed"]) == ("good", 3, calls, [])
    assert report["properties"][0]["name"] == "position"
    rows = read_log(folder / "judgeharness-check" / "check" / "verdicts.jsonl")
    assert len(rows) == calls
    assert {row.perturbation for row in rows if "probe" in row.perturbation} == {
        "probe:authority(a)",
        "probe:authority(b)",
    }

    again = command("check", path, *QUICK)
    assert (again.code, asked()) == (0, calls)
    assert f"good: {calls} answers are in the log" in again.err
    assert again.out.startswith("good fails none of ")  # the plan is no answer
    assert checked(folder) == document


@pytest.mark.slow
def test_its_runs_are_among_those_of_the_log(command: Command, folder: Path, config: Callable[..., Path]) -> None:
    path = config("good", execution={"budget": {"calls": 5}})
    command("check", path, *QUICK)
    [run] = command("runs", folder / "judgeharness-check" / "check", "--json").json["runs"]
    assert (run["state"], run["planned_calls"]) == ("budget_exhausted", 15)
    command("check", config("good"), *QUICK)
    [run] = command("runs", folder / "judgeharness-check" / "check", "--json").json["runs"]
    assert (run["state"], run["planned_calls"]) == ("complete", 15)


@pytest.mark.slow
def test_more_of_the_same_run_asks_what_is_new(
    command: Command, folder: Path, config: Callable[..., Path], asked: Callable[[], int]
) -> None:
    path = config("good", cases=6)
    command("check", path, *QUICK, "--cases", 2)
    first = asked()
    command("check", path, *QUICK, "--cases", 4)
    assert asked() == 2 * first
    command("check", path, *QUICK, "--cases", 4, "--probe", "verbosity")
    assert asked() == 2 * first + 4
    assert len({row.run for row in read_log(folder / "judgeharness-check" / "check" / "verdicts.sqlite")}) == 1


@pytest.mark.slow
def test_a_changed_configuration_is_another_run_that_takes_over_what_still_fits(
    command: Command, folder: Path, config: Callable[..., Path], asked: Callable[[], int]
) -> None:
    command("check", config("good"), *QUICK)
    before = asked()
    ran = command("check", config("good", cases=4), *QUICK)
    assert ran.code == 0, ran.err
    assert asked() == before + 5  # those of the new case
    assert len({row.run for row in read_log(folder / "judgeharness-check" / "check" / "verdicts.sqlite")}) == 2
    assert checked(folder)["judges"][0]["cases"] == 4
    command("check", config("good", cases=4), *QUICK, "--seed", 1)
    assert asked() == before + 5 + 4 * 5  # other wordings, so other questions


@pytest.mark.slow
def test_a_property_that_fails_is_exit_code_1_and_each_judge_has_its_report(
    command: Command, folder: Path, config: Callable[..., Path]
) -> None:
    ran = command("check", config("good", "first", cases=12), "--probe", "sentinel.copy", "-y", "--repetitions", 1)
    assert ran.code == 1
    good, first = checked(folder)["judges"]
    assert (good["judge"], good["failed"]) == ("good", [])
    assert (first["judge"], first["failed"]) == ("first", ["position", "sentinel.copy"])
    for part in (
        "fails\n- position: 12 of 12 cases",
        "for example\n- position: case c0, A -> B",
    ):
        assert part in ran.out
    assert ran.out.count("what pass and fail mean") == 0
    one = command("check", config("good", "first", cases=12), "--judge", "good", "--probe", "sentinel.copy", "-y")
    assert [judge["judge"] for judge in checked(folder)["judges"]] == ["good"]
    assert one.code == 0
    unknown = command("check", config("good", "first"), "--judge", "goood")
    assert (unknown.code, "did you mean 'good'?" in unknown.err) == (2, True)


@pytest.mark.slow
def test_json_is_what_stands_in_the_file(command: Command, folder: Path, config: Callable[..., Path]) -> None:
    ran = command("check", config("good"), "--no-probes", "--json")
    assert ran.json == checked(folder)
    assert "plan" in ran.err
    assert not any(
        name.startswith("injection")
        for name, status in statuses(ran.json["judges"][0]).items()
        if status != "not_checked"
    )


@pytest.mark.slow
def test_perturbations_of_the_configuration_are_asked_besides(
    command: Command, folder: Path, config: Callable[..., Path]
) -> None:
    harness = {"perturbations": ["none", "whitespace"], "repetitions": 9, "aggregation_rule": "majority", "seed": 4}
    command("check", config("good", harness=harness), "--no-probes", "--json", "--repetitions", 1)
    rows = read_log(folder / "judgeharness-check" / "check" / "verdicts.jsonl")
    assert {row.perturbation for row in rows} == {"none", "position_swap", "format_change", "whitespace"}
    assert {row.repetition for row in rows} == {0}


@pytest.mark.slow
def test_probes_of_the_configuration_are_attacked_once_and_on_the_side_that_lost(
    command: Command, folder: Path, config: Callable[..., Path], asked: Callable[[], int]
) -> None:
    names = ["none", "probe:authority(b)", "probe:authority(b)+position_swap"]
    harness = {"perturbations": names, "repetitions": 1, "aggregation_rule": "majority"}
    command("check", config("good", harness=harness), *QUICK, "--json")
    rows = read_log(folder / "judgeharness-check" / "check" / "verdicts.jsonl")
    assert sum("authority" in row.perturbation for row in rows) == len({row.case_id for row in rows})
    [report] = checked(folder)["judges"]
    assert report["calls"] == asked() == len(rows)


def logged(folder: Path, *judges: str, cases: int = 12, **common: Any) -> Path:
    """Write a log of judges in both orders: `first` says A to whatever stands first, any other one is steady."""
    rows = [
        VerdictRow(
            case_id=f"c{n}",
            judge=judge,
            verdict="B" if judge == "first" and swapped else "A",
            perturbation=name,
            swapped=bool(swapped),
            criterion=criterion,
            **common,
        )
        for judge in judges
        for n in range(cases)
        for swapped, name in enumerate(("none", "position_swap"))
        for criterion in ("style", "facts")
    ]
    return write_log(rows, folder / "log.jsonl")


def test_a_log_is_checked_without_asking(command: Command, folder: Path) -> None:
    log = logged(folder, "first", "steady")
    ran = command("check", "--log", log, "--judge", "first", "--judge", "steady", "--json")
    assert ran.code == 1
    assert ran.json["state"] is None
    assert [(judge["judge"], judge["failed"]) for judge in ran.json["judges"]] == [
        ("first", ["position"]),
        ("steady", []),
    ]
    text = command("check", "--log", log, "--judge", "steady", "--all")
    assert text.code == 0
    assert "style · sentinel.copy: no sample of the probe" in text.out
    several = command("check", "--log", log)
    assert (several.code, "choose one with --judge" in several.err) == (2, True)


@pytest.mark.slow
def test_a_published_log_is_checked(command: Command) -> None:
    ran = command("check", "--log", LLMBAR, "--judge", "ChatGPT-0301/CoT", "--judge", "GPT-4/Swap_CoT", "--json")
    biased, other = ran.json["judges"]
    assert (ran.code, biased["failed"]) == (1, ["position"])
    assert "position" not in other["failed"]


@pytest.mark.slow
def test_a_small_effect_that_is_there_passes_and_is_told(command: Command, folder: Path) -> None:
    rows = [
        VerdictRow(case_id=f"c{n}", verdict="B" if name != "none" and n < 25 else "A", perturbation=name, repetition=r)
        for n in range(1000)
        for name, count in (("none", 2), ("format_change", 1))
        for r in range(count)
    ]
    ran = command("check", "--log", write_log(rows, folder / "log.jsonl"))
    assert ran.code == 0
    assert "passes, though an effect is there\n- format: 25 of 1,000 cases" in ran.out
    assert "25/1000" in command("check", "--log", folder / "log.jsonl", "--all").out


def test_a_criterion_of_a_log_may_be_chosen(command: Command, folder: Path) -> None:
    log = logged(folder, "steady", cases=4)
    ran = command("check", "--log", log, "--criterion", "style", "--json")
    assert {one["criterion"] for one in ran.json["judges"][0]["properties"]} == {"style"}
    whole = command("check", "--log", log, "--all")
    assert "properties that pass, facts" in whole.out or "inconclusive, facts" in whole.out
    assert "style: same verdict in both orders: 100.0 % of 4 cases" in whole.out
    assert command("check", "--log", log, "--run", "x").code == 2


def test_hostile_names_cannot_steer_the_terminal(command: Command, folder: Path) -> None:
    evil = "\x1b[2Jevil\u202e"
    told = {"judge": evil, "criterion": evil, "raw": evil, "model": evil}
    rows = [
        VerdictRow(case_id=f"{evil}{n}", verdict="AB"[swapped], perturbation=name, swapped=bool(swapped), **told)
        for n in range(20)
        for swapped, name in enumerate(("none", "position_swap"))
    ]
    ran = command("check", "--log", write_log(rows, folder / "log.jsonl"))
    assert "evil" in ran.out
    assert "case" in ran.out
    assert not {"\x1b", "\u202e"} & set(ran.out)


@pytest.mark.slow
def test_the_tables_of_a_report_fit_80_columns(command: Command, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    ran = command("check", "--log", logged(folder, "first", cases=700), "--all")
    tables = [line for line in ran.out.splitlines() if "  " in line or line.startswith("─")]
    assert max(map(len, tables)) <= 80


@pytest.mark.slow
def test_a_page_is_written(command: Command, folder: Path, config: Callable[..., Path]) -> None:
    ran = command("check", config("good"), "--no-probes", "--html", folder / "new" / "page.html")
    assert f"page: {folder / 'new' / 'page.html'}" in ran.out
    assert "<!doctype html>" in (folder / "new" / "page.html").read_text().lower()
    refused = command("check", config("good"), "--html", folder)
    assert (refused.code, "give the path of a file as --html" in refused.err) == (2, True)


@pytest.mark.slow
def test_a_judge_without_a_valid_answer_is_exit_code_3_and_its_errors_are_told_without_secrets(
    command: Command, folder: Path, config: Callable[..., Path]
) -> None:
    ran = command("check", config("broken", execution={"max_attempts": 1}), "--no-probes")
    assert ran.code == 3
    assert "broken: 6 samples: error, ValueError" not in ran.out
    assert "samples: error, ValueError" in ran.err
    assert checked(folder)["judges"][0]["outcomes"] == {"error": 15}
    mute = command("check", config("mute"), "--no-probes", "--out", folder / "mute")
    assert mute.code == 3


@pytest.mark.slow
def test_the_end_of_a_budget_is_exit_code_3_and_the_command_goes_on(
    command: Command, folder: Path, config: Callable[..., Path], asked: Callable[[], int]
) -> None:
    options = ("--no-probes", "--repetitions", 2)
    path = config("good", "first", execution={"max_concurrency": 1, "budget": {"calls": 5}})
    ran = command("check", path, *options)
    assert (ran.code, asked()) == (3, 5)
    assert "budget.calls=5 reached: 5 rows are in " in ran.err
    assert "first: nothing was answered, so there is no report" in ran.err
    document = checked(folder)
    assert document["state"] == "budget_exhausted"
    assert [judge["judge"] for judge in document["judges"]] == ["good"]
    assert "not everything that was planned was asked: budget.calls=5 reached" in ran.out
    path = config("good", "first", execution={"max_concurrency": 1, "budget": {"calls": 99}})
    ran = command("check", path, *options)
    assert (ran.code, asked()) == (0, 24)
    assert checked(folder)["state"] == "complete"


@pytest.mark.slow
def test_a_judge_that_was_never_asked_has_no_report(
    command: Command, folder: Path, config: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*arguments: Any, budget: Budget, **options: Any) -> Any:
        if not budget.exhausted:
            raise KeyboardInterrupt
        return check_judge(*arguments, budget=budget, **options)

    monkeypatch.setattr(_check, "check_judge", interrupted)
    ran = command("check", config("good"), "--no-probes", "--html", folder / "page.html")
    assert (ran.code, checked(folder)["judges"]) == (130, [])
    assert "interrupted: 0 rows are in " in ran.err
    assert not (folder / "page.html").exists()


def test_a_larger_plan_than_allowed_asks_nothing(
    command: Command, folder: Path, config: Callable[..., Path], asked: Callable[[], int]
) -> None:
    ran = command("check", config("good"), "--no-probes", "--max-calls", 5)
    assert (ran.code, asked()) == (2, 0)
    assert "the plan is 15 calls, more than max_calls=5: nothing was asked." in ran.err
    assert not (folder / "judgeharness-check").exists()


@pytest.mark.parametrize(
    "stopped",
    [(KeyboardInterrupt, 130, "interrupted"), pytest.param((Terminated, 143, "terminated"), marks=pytest.mark.slow)],
)
def test_after_an_interrupt_there_is_a_report_of_what_was_answered(
    command: Command,
    folder: Path,
    config: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
    stopped: tuple[type[BaseException], int, str],
) -> None:
    stop, code, word = stopped
    path = config("good", "first")
    command("check", path, *QUICK, "--judge", "good")
    whole = checked(folder)

    def interrupted(*arguments: Any, budget: Budget, **options: Any) -> Any:
        if not budget.exhausted:
            raise stop
        return check_judge(*arguments, budget=budget, **options)

    monkeypatch.setattr(_check, "check_judge", interrupted)
    ran = command("check", path, *QUICK)
    assert ran.code == code
    assert f"{word}: 15 rows are in " in ran.err
    assert "first: nothing was answered" in ran.err
    document = checked(folder)
    assert document["state"] == "interrupted"
    assert document["judges"][0]["properties"] == whole["judges"][0]["properties"]


@pytest.mark.slow
def test_a_first_interrupt_ends_the_budget_and_the_log_is_reported(
    command: Command, folder: Path, config: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def ended(*arguments: Any, budget: Budget, **options: Any) -> Any:
        report = check_judge(*arguments, budget=budget, **options)
        if not budget.exhausted:
            budget.end("interrupted")
        return report

    monkeypatch.setattr(_check, "check_judge", ended)
    ran = command("check", config("good"), *QUICK)
    assert ran.code == 130
    assert [judge["judge"] for judge in checked(folder)["judges"]] == ["good"]


A, LOG = Path("a.yaml"), Path("x.csv")


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({}, "give a configuration, whose judges are asked, or --log with a log: one of the two."),
        ({"config": A, "log": LOG}, "one of the two."),
        ({"config": A, "run": "r"}, "--run does not go with a configuration."),
        ({"config": A, "criteria": ("r",)}, "--criterion does not go with a configuration."),
        ({"config": A, "labels": True}, "--labels does not go with a configuration."),
        ({"log": LOG, "repetitions": 2}, "--repetitions does not go with --log."),
        ({"log": LOG, "seed": 0}, "--seed does not go with --log."),
        ({"log": LOG, "max_calls": 2}, "--max-calls does not go with --log."),
        ({"log": LOG, "no_probes": True}, "--no-probes does not go with --log."),
        ({"log": LOG, "probes": ("injection",)}, "--probe does not go with --log."),
        ({"log": LOG, "out": LOG}, "--out does not go with --log."),
    ],
)
def test_options_of_the_other_source_are_refused_with_one_sentence(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UsageError) as caught:
        CheckRequest(**given).check()
    assert str(caught.value).endswith(sentence)


def test_options_of_one_source_go_together() -> None:
    CheckRequest(config=A, no_probes=True, repetitions=2, cases=3, max_calls=4, seed=5, out=LOG).check()
    CheckRequest(log=LOG, run="r", criteria=("c",), labels=True, judges=("j",)).check()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--probe", "injection", "--no-probes"), "give one of the two."),
        (("--probe", "injektion"), "did you mean 'injection'?"),
        (("--tolerance", "0"), "tolerance must be a number between 0 and 1, not 0.0."),
        (("--alpha", "nan"), "alpha must be a number between 0 and 1, not nan."),
        (("--score-tolerance", "-1"), "score_tolerance must be a number of at least 0, not -1.0."),
        (("--html", "/proc/none/page.html"), "give another --html; nothing was asked."),
        (("--cases", "0"), "error: Invalid value for '--cases': "),
        (("--repetitions", "0"), "error: Invalid value for '--repetitions': "),
    ],
)
def test_options_that_make_no_sense_ask_nothing(
    command: Command, config: Callable[..., Path], asked: Callable[[], int], arguments: tuple[str, ...], sentence: str
) -> None:
    path = config("good")
    ran = command("check", path, *arguments)
    assert (ran.code, asked()) == (2, 0)
    assert sentence in ran.err
    assert ran.out == ""
    assert not path.with_name("judgeharness-check").exists()


def test_a_folder_of_something_else_is_left_alone(command: Command, folder: Path, config: Callable[..., Path]) -> None:
    path = config("good")
    ran = command("check", path, "--out", folder)
    assert (ran.code, "holds something else than a check: give another --out" in ran.err) == (2, True)
    (folder / "run").mkdir()
    (folder / "run" / "run.json").write_text("{}")
    ran = command("check", path, "--out", folder / "run")
    assert (ran.code, "holds a run: give another --out" in ran.err) == (2, True)


@pytest.mark.slow
def test_judges_are_asked_by_the_engine_of_the_configuration(
    command: Command, folder: Path, config: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[object] = []

    class Elsewhere(LocalExecutor):
        def ask(self, judge: Any, probes: Any, asking: Any) -> Any:
            sent.append(judge)
            return super().ask(judge, probes, asking)

    monkeypatch.setattr(_check_parts, "build_executor", lambda config, options: Elsewhere())
    ran = command("check", config("good", execution={"engine": "ray"}), "--no-probes", "--repetitions", 1)
    assert ran.code == 0, ran.err
    assert {type(judge) for judge in sent} == {SendableJudge}


WAITING = """
import pathlib, time

def slow(case):
    pathlib.Path(__file__).with_name("asked").touch()
    while not pathlib.Path(__file__).with_name("answer").exists():
        time.sleep(0.01)
    return "A"
"""
HERE = [
    sys.executable,
    "-c",
    (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "from judgeharness_integrations.cli import main; sys.exit(main())"
    ),
]


@pytest.mark.slow
def test_ctrl_c_keeps_the_calls_in_flight_and_reports_them(folder: Path, config: Callable[..., Path]) -> None:
    (folder / "cli_judges.py").write_text(WAITING)
    path = config("slow", execution={"max_concurrency": 2})
    line = [*HERE, "check", str(path), "--no-probes", "-y"]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:  # noqa: S603
        try:
            while not (folder / "asked").exists():
                assert process.poll() is None
                time.sleep(0.01)
            process.send_signal(signal.SIGINT)
            assert process.stderr is not None
            assert any("finishing the calls in flight" in line for line in process.stderr)
            (folder / "answer").touch()
            _, said = process.communicate(timeout=60)
        finally:
            process.kill()  # where an assertion failed, nothing else ends it
    assert process.returncode == 130
    assert "interrupted: 1 row is in " in said  # the first call of a judge goes alone
    document = checked(folder)
    assert document["state"] == "interrupted"
    assert document["judges"][0]["calls"] == 1
