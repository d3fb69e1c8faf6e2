"""How `judgeharness run` ends: with errors, out of calls, with failed samples; what was paid for is always kept."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis.result import HarnessResult
from judgeharness_integrations.analysis.runs.reading import read_report
from judgeharness_integrations.cli import main
from judgeharness_integrations.cli._output import failures, told, without_replay_advice
from judgeharness_integrations.judging.execution import retrying
from judgeharness_integrations.judging.harness import JudgeHarness
from judgeharness_integrations.verdictlog import VerdictRow, read_log
from judgeharness_integrations.verdictlog.encoding import counted

Command = Callable[..., Any]
MEDIAN = {"perturbations": ["none"], "repetitions": 1, "aggregation_rule": "median"}
MAJORITY = MEDIAN | {"aggregation_rule": "majority"}


def summary_of(folder: Path) -> Any:
    return json.loads((folder / "out" / "summary.json").read_text())


def test_an_error_after_paid_calls_leaves_a_summary(command: Command, configure: Command, folder: Path) -> None:
    ran = command("run", configure("good", harness=MEDIAN), "--out", folder / "out", "--json")
    assert ran.code == 2
    rows = len(read_log(folder / "out" / "verdicts.jsonl"))
    assert rows > 0
    summary = summary_of(folder)
    assert ran.json == summary
    assert (summary["state"], summary["usage"]["calls"], summary["not_graded_cases"]) == ("failed", rows, 3)
    assert summary["error"].startswith("rule median folds numbers, but criterion 'verdict' holds labels")
    assert summary["judges"][0]["criteria"][0]["error"] == summary["error"]
    kept = f"What was answered is kept: {counted(rows, 'row')} in {folder / 'out' / 'verdicts.sqlite'}."
    assert ran.err.splitlines()[-1] == f"error: {summary['error']} {kept}"


def test_a_pipe_that_closes_is_no_disk_that_is_full(
    configure: Command, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Closing(io.TextIOWrapper):
        def write(self, text: str) -> int:
            if (folder / "out" / "summary.json").exists():
                raise BrokenPipeError
            return super().write(text)

    asked = ("run", configure("good", harness=MAJORITY), "--out", folder / "out", "--yes")
    with Closing(io.BufferedWriter(io.FileIO(folder / "shown", "w")), encoding="utf-8") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        assert main([*map(str, asked)]) == 141
    assert "make room" not in capsys.readouterr().err
    assert summary_of(folder)["state"] == "complete"


def test_the_summary_for_people_says_what_was_not_graded(command: Command, configure: Command, folder: Path) -> None:
    ran = command("run", configure("good", harness=MEDIAN), "--out", folder / "out")
    assert ran.code == 2
    assert "good: verdict is not graded: rule median folds numbers" in ran.out
    assert "state: failed" in ran.out


def test_what_was_decided_is_of_all_cases(command: Command, configure: Command, folder: Path) -> None:
    ran = command("run", configure("good"), "--out", folder / "out")
    counts = summary_of(folder)["judges"][0]["criteria"][0]["verdicts"]
    assert [f"{one['verdict']}: {100 * one['count'] / 3:.1f} of 3" in ran.out for one in counts] == [True] * len(counts)
    assert "verdict: " not in ran.out
    assert "(chance)" not in ran.out  # a run at its end does not measure it


def test_run_does_not_advise_what_it_cannot_do(command: Command, configure: Command, folder: Path) -> None:
    ran = command("run", configure("score", harness=MAJORITY), "--out", folder / "out")
    assert ran.code == 2
    assert "use median, mean, trimmed_mean or mode. What" in ran.err
    assert "--labels" not in ran.out + ran.err + (folder / "out" / "summary.json").read_text()


@pytest.mark.parametrize(
    ("message", "left"),
    [
        ("use mode, or --labels.", "use mode."),
        ("use one kind, or read a log with labels=True.", "use one kind."),
        ("use one kind, or read with labels=True (--labels).", "use one kind."),
        ("something else.", "something else."),
    ],
)
def test_advice_for_replay_is_left_out(message: str, left: str) -> None:
    with pytest.raises(UsageError) as caught, without_replay_advice():
        raise UsageError(message)
    assert str(caught.value) == left


@pytest.mark.parametrize("problem", [UsageError("no way to go on."), OSError(28, "No space left on device", "disk")])
def test_an_error_between_two_results(
    command: Command, configure: Command, folder: Path, monkeypatch: pytest.MonkeyPatch, problem: Exception
) -> None:
    answered = JudgeHarness.evaluate_many

    def once(self: JudgeHarness, *arguments: Any) -> Iterator[HarnessResult]:
        yield next(answered(self, *arguments))
        raise problem

    monkeypatch.setattr(JudgeHarness, "evaluate_many", once)
    path = configure("good", "first", execution={"max_concurrency": 1})
    ran = command("run", path, "--out", folder / "out")
    assert ran.code == 2
    assert ("no way to go on. What" if isinstance(problem, UsageError) else "disk: No space left") in ran.err
    assert "was answered is kept: " in ran.err
    summary = summary_of(folder)
    assert (summary["state"], summary["error"]) == ("failed", str(problem))
    assert summary["judges"][0]["criteria"][0]["decided"] >= 1
    assert summary["judges"][1]["not_graded_cases"] == 3


def test_answers_that_fit_in_each_case_and_not_together(command: Command, configure: Command, folder: Path) -> None:
    (folder / "cli_judges.py").write_text("def mixed(case):\n    return 3 if case.case_id == 'c2' else 'A'\n")
    harness = MEDIAN | {"aggregation_rule": "cli_rules:first_row"}
    (folder / "cli_rules.py").write_text("def first_row(rows):\n    return rows[0].verdict\n")
    path = configure("mixed", harness=harness, execution={"max_concurrency": 1})
    ran = command("run", path, "--out", folder / "out", "--json")
    assert ran.code in (2, 3)  # refused, or the odd answer counted as unparsed
    assert summary_of(folder)["usage"]["calls"] == 3


@pytest.mark.slow
def test_half_characters_of_a_judge_can_be_written(command: Command, configure: Command, folder: Path) -> None:
    (folder / "cli_judges.py").write_text("def odd(case):\n    return 'A\\ud800'\n")
    (folder / "cases.csv").write_text("case_id,output\nc1,one\nc2,two\nc3,three\n")
    for as_json in ((), ("--json",)):
        ran = command("run", configure("odd", harness=MAJORITY), "--out", folder / "out", "--overwrite", *as_json)
        assert ran.code == 0, ran.err
    assert summary_of(folder)["judges"][0]["criteria"][0]["verdicts"] == [{"verdict": "A\ud800", "count": 3}]


@pytest.mark.slow
def test_failed_samples_say_why(command: Command, configure: Command, folder: Path) -> None:
    ran = command("run", configure("good", "broken", "broken_on_second"), "--out", folder / "out", "--json")
    assert ran.code == 3
    lines = ran.err.splitlines()
    assert "4 of 9 cases ended not_graded: too few valid answers" in lines[-3]
    assert lines[-2:] == [
        "broken: 6 samples: error, ValueError: nobody home",
        "broken_on_second: 2 samples: error, ValueError: nobody home",
    ]
    assert [judge["failures"] for judge in ran.json["judges"]] == [
        [],
        [{"outcome": "error", "error": "ValueError: nobody home", "count": 6}],
        [{"outcome": "error", "error": "ValueError: nobody home", "count": 2}],
    ]


@pytest.mark.slow
def test_a_run_out_of_calls_says_so(
    command: Command, configure: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retrying, "_FIRST_WAIT_S", 0.001)
    (folder / "cli_judges.py").write_text("def failing(case):\n    raise TimeoutError('always')\n")
    execution = {"max_calls": 6, "max_attempts": 20, "max_concurrency": 1}
    path = configure("failing", execution=execution)
    ran = command("run", path, "--out", folder / "out")
    assert ran.code == 3
    assert "3 of 3 cases ended not_graded, 3 of them never asked: max_calls=6 reached; with a larger one" in ran.err
    assert "never" in ran.out
    assert "failing: 3 of 3 cases, counted as not graded, were never asked or cut off before an answer" in ran.out
    assert "0 calls, 0 attempts in the log, 6 in all" in ran.out
    again = command("run", path, "--out", folder / "out")
    assert "0 attempts in the log, 6 in all" in again.out  # a budget is of the whole run, whatever has rows


def row(error: str | None, place: int, **fields: Any) -> VerdictRow:
    return VerdictRow(case_id=f"c{place}", verdict=None, outcome=fields.pop("outcome", "error"), error=error, **fields)


def test_kinds_of_failure_most_frequent_first() -> None:
    rows = [
        VerdictRow(case_id="fine", verdict="A"),
        row("TimeoutError", 0),
        *(row(f"RateLimitError: 429, wait 1.{n}s, request req_0123abc{n}", n) for n in range(3)),
        row("ServerError: 500", 7),
        *(row(None, 8, outcome="unparsed", repetition=n) for n in range(2)),
        *(row("RateLimitError: 430, wait 9s", 9, call_id="one call", criterion=name) for name in ("tone", "facts")),
    ]
    kinds = failures(rows, {})
    assert kinds == [
        {"outcome": "error", "error": "RateLimitError: 429, wait 1.0s, request req_0123abc0", "count": 3},
        {"outcome": "unparsed", "error": None, "count": 2},
        {"outcome": "error", "error": "TimeoutError", "count": 1},
        {"outcome": "error", "error": "ServerError: 500", "count": 1},
        {"outcome": "error", "error": "RateLimitError: 430, wait 9s", "count": 1},
    ]
    assert list(told("j", kinds)) == [
        "j: 3 samples: error, RateLimitError: 429, wait 1.0s, request req_0123abc0",
        "j: 2 samples: unparsed",
        "j: 1 sample: error, TimeoutError",
        "j: 2 failed in other ways",
    ]


def test_errors_are_told_short_and_cannot_steer_the_terminal() -> None:
    (kind,) = failures([row("Bad\x1b[31m\nnews " + "x" * 500, 0)], {})
    assert kind["error"].startswith("Bad [31m news xxx")
    assert len(kind["error"]) == 200


SECRETS = [f"s3cr3t-{name}" for name in ("key", "header", "query", "auth", "cookie", "url", "rewriter", "token")]


class Leaking:
    """An adapter whose judge repeats everything it was built from, identity and errors included."""

    name = "fake"

    @staticmethod
    def load() -> Any:
        from judgeharness_integrations.judging.adapters import Adapter
        from judgeharness_integrations.judging.judge import JudgeIdentity
        from judgeharness_integrations.testing import ScriptedJudge

        def build(spec: Any) -> Any:
            identity = JudgeIdentity(name=spec.name, parameters=dict(spec.model_options))
            answers = [RuntimeError(" ".join(SECRETS)), "A"]
            return ScriptedJudge(answers, name=spec.name, identity=identity)

        return Adapter(
            name="fake",
            extras={"fake": ("json",)},
            build_judge=build,
            build_rewriter=lambda model, options: str.upper,
        )


@pytest.mark.slow
def test_no_secret_of_a_configuration_is_written_or_shown(
    command: Command, configure: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, header, query, auth, cookie, url, rewriter, token = SECRETS
    options = {
        "api_key": key,
        "base_url": f"https://user:{url}@127.0.0.1/v1",
        "default_headers": {"X-Gateway": f"Bearer {header}", "User-Agent": "tests"},
        "default_query": {"code": query},
        "http_client": {"auth": ["user", auth], "cookies": {"session": cookie}},
        "azure_ad_token": token,
        "temperature": 0.5,
    }
    judges = [{"name": "j", "adapter": "fake", "evaluator": "e", "model": "m", "model_options": options}]
    harness = MAJORITY | {"rewriter": {"adapter": "fake", "model": "m", "model_options": {"api_key": rewriter}}}
    path = configure(judges=judges, harness=harness)
    monkeypatch.setattr("judgeharness_integrations.judging.adapters.entry_points", lambda group: [Leaking])
    shown = [command("run", path, "--out", folder / "out", "--json"), command("run", path, "--out", folder / "text")]
    assert [ran.code for ran in shown] == [3, 3]
    assert "RuntimeError: [redacted]" in shown[0].err
    texts = [text for ran in shown for text in (ran.out, ran.err)]
    files = [file for name in ("out", "text") for file in (folder / name).iterdir()]
    texts += [file.read_bytes().decode(errors="replace") for file in files]
    for secret in SECRETS:
        assert not [text for text in texts if secret in text]
    assert shown[0].json["config"]["judges"][0]["model_options"] == {
        "api_key": "[redacted]",
        "base_url": "https://[redacted]@127.0.0.1/v1",
        "default_headers": "[redacted]",
        "default_query": "[redacted]",
        "http_client": {"auth": "[redacted]", "cookies": "[redacted]"},
        "azure_ad_token": "[redacted]",
        "temperature": 0.5,
    }


UNWRITABLE = {
    "a file": ("cases.csv", "is not a folder"),
    "below a file": ("cases.csv/deep", "cannot be written (Not a directory)"),
    "read-only": ("/proc/no/such", "cannot be written"),
    "a name too long": ("n" * 300, "cannot be written (File name too long)"),
}


@pytest.mark.parametrize("what", UNWRITABLE)
def test_whether_results_can_be_written_is_known_before_anything_is_asked(
    command: Command, configure: Command, folder: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    monkeypatch.setattr(JudgeHarness, "__init__", lambda *_, **__: pytest.fail("a harness was made"))
    name, sentence = UNWRITABLE[what]
    ran = command("run", configure("good"), "--out", folder / name)
    assert ran.code == 2
    assert sentence in ran.err
    assert ran.err.count("\n") == 1


def test_a_folder_in_the_place_of_a_result_is_refused(command: Command, configure: Command, folder: Path) -> None:
    (folder / "out" / "summary.json").mkdir(parents=True)
    ran = command("run", configure("good"), "--out", folder / "out", "--overwrite")
    assert ran.code == 2
    assert "summary.json is a folder" in ran.err
    assert [path.name for path in (folder / "out").iterdir()] == ["summary.json"]


@pytest.mark.slow
def test_complete_is_not_said_beside_exit_code_3(command: Command, configure: Command, folder: Path) -> None:
    ran = command("run", configure("good", "broken_on_second"), "--out", folder / "out")
    assert (ran.code, "state: complete" in ran.out) == (3, False)
    assert "state: all asked, 1 of 6 cases not graded" in ran.out

    gated = command("report", folder / "out", "--fail-under", "coverage>=0.05", "--markdown", folder / "report.md")
    assert (gated.code, "state: complete" in gated.out) == (3, False)
    assert "state: all asked, 1 of 6 cases not graded" in gated.out
    assert "all asked, 1 of 6 cases not graded" in (folder / "report.md").read_text(encoding="utf-8")
    assert "all asked, 1 of 6 cases not graded" in read_report(folder / "out").to_html()
