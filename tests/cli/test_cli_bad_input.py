"""Bad input: exit code 2, one sentence, never a traceback."""
# ruff: noqa: S603 - what is run is this interpreter and the command under test

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from judgeharness_integrations.cli import app as application

Command = Callable[..., Any]
HEADER = "case_id,judge,perturbation,repetition,verdict\n"
GOOD = HEADER + "c1,j,none,0,A\nc1,j,position_swap,0,A\n"
LOGS: dict[str, tuple[str | bytes, str, str]] = {
    # what is wrong: the file, the rule, what the sentence says
    "unknown rule": (GOOD, "majorty", "did you mean 'majority'?"),
    "unknown parameter": (GOOD, "supermajority(treshold=2/3)", "did you mean 'threshold'?"),
    "parameter out of range": (GOOD, "supermajority(3/2)", "it must be above 0 and at most 1"),
    "parameter that is no number": (GOOD, "supermajority(most)", "is not a number"),
    "malformed rule": (GOOD, "supermajority(", "is malformed"),
    "rule of the other kind": (GOOD, "median", "folds numbers"),
    "rule that is a missing module": (GOOD, "no_such_module_here:rule", "cannot be imported"),
    "both orders never shown": (HEADER + "c1,j,none,0,A\n", "swap_consensus", "never shows a case in both"),
    "duplicate key": (HEADER + "c1,j,none,0,A\nc1,j,none,0,B\n", "majority", "line 3: repeats the key of line 2"),
    "missing column": ("case_id,judge\nc1,j\n", "majority", "column 'verdict' is missing"),
    "missing case": ("verdict\nA\n", "majority", "column 'case_id' is missing"),
    "empty case": (HEADER + ",j,none,0,A\n", "majority", "line 2: case_id is empty"),
    "not a number": (HEADER + "c1,j,none,0,nan\n", "median", "line 2: verdict 'nan' is not finite"),
    "infinite": (HEADER + "c1,j,none,0,-inf\n", "median", "line 2: verdict '-inf' is not finite"),
    "mixed": (HEADER + "c1,j,none,0,A\nc2,j,none,0,3\n", "majority", "line 3: criterion 'verdict' holds a number here"),
    "negative repetition": (HEADER + "c1,j,none,-1,A\n", "majority", "line 2: repetition '-1'"),
    "ragged": (HEADER + "c1,j,none\n", "majority", "line 2: 3 cells where the header has 5"),
    "column twice": ("case_id,verdict,verdict\nc,A,B\n", "majority", "column 'verdict' stands twice"),
    "unclosed quote": (HEADER + 'c1,"j,none,0,A\n', "majority", "is not CSV"),
    "no rows": (HEADER, "majority", "holds no rows"),
    "empty file": ("", "majority", "holds no rows"),
    "binary": (b"\x00\xff\xfe\x80" * 50, "majority", "is not UTF-8"),
    "cut off gzip": (b"\x1f\x8b\x08\x00\x00", "majority", "cannot be read"),
    "two golds": ("case_id,repetition,verdict,gold\nc,0,A,A\nc,1,A,B\n", "majority", "two gold labels"),
}


def one_sentence(ran: Any, sentence: str) -> None:
    assert ran.code == 2, ran.err
    assert ran.out == ""
    assert ran.err.startswith("error: ")
    assert ran.err.count("\n") == 1
    assert sentence in ran.err
    assert "Traceback" not in ran.err


@pytest.mark.parametrize("wrong", LOGS)
def test_logs(command: Command, tmp_path: Path, wrong: str) -> None:
    content, rule, sentence = LOGS[wrong]
    log = tmp_path / "log.csv"
    log.write_bytes(content if isinstance(content, bytes) else content.encode())
    ran = command("replay", log, "--rule", rule)
    one_sentence(ran, sentence)
    if "line" in sentence:
        assert str(log) in ran.err


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{\n", "line 1: is not JSON"),
        ('{"case_id": "c", "verdict": "A"}\n[1]\n', "line 2: a row is a JSON object"),
        ('{"case_id": "c", "verdict": NaN}\n', "line 1: verdict nan is not finite"),
        ('{"case_id": "c", "verdict": {"a": 1}}\n', "line 1"),
        ('{"case_id": "c", "verdict": "A", "outcome": "good"}\n', "outcome 'good' is not one of"),
    ],
)
def test_jsonl_logs(command: Command, tmp_path: Path, text: str, sentence: str) -> None:
    (tmp_path / "log.jsonl").write_text(text)
    one_sentence(command("replay", tmp_path / "log.jsonl", "--rule", "majority"), sentence)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("none.csv", "--rule", "majority"), "cannot be read"),
        ((".", "--rule", "majority"), ". holds neither verdicts.sqlite nor verdicts.jsonl: give the folder of a run"),
        (("log.xlsx", "--rule", "majority"), "a verdict log is .csv or .jsonl"),
        (("log.csv", "--rule", "majority", "--judge", "jj"), "unknown judge 'jj': did you mean 'j'?"),
        (("log.csv", "--rule", "majority", "--min-valid", "0"), "min_valid must be"),
        (("log.csv", "--rule", "majority", "--tolerance", "nan"), "tolerance must be"),
        (("log.csv", "--rule", "majority", "--tolerance", "wide"), "--tolerance"),
        (("log.csv",), "Missing option '--rule' (see judgeharness replay --help)."),
        (("log.csv", "--rule", "majority", "--jason"), "No such option"),
        ((), "Missing argument"),
    ],
)
def test_replay_calls(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], sentence: str
) -> None:
    (tmp_path / "log.csv").write_text(GOOD)
    monkeypatch.chdir(tmp_path)
    one_sentence(command("replay", *arguments), sentence)


def test_unknown_command(command: Command) -> None:
    one_sentence(command("reply"), "No such command 'reply'")


HARNESS: dict[str, Any] = {"perturbations": ["none"], "repetitions": 1, "aggregation_rule": "majority"}


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"harness": HARNESS | {"perturbations": ["position_swp"]}}, "did you mean 'position_swap'?"),
        ({"harness": HARNESS | {"perturbations": []}}, "there is no perturbation"),
        ({"harness": HARNESS | {"perturbations": ["none", "none"]}}, "listed twice"),
        ({"harness": HARNESS | {"perturbations": ["slot_names"]}}, "does not build its own prompt"),
        ({"harness": HARNESS | {"perturbations": ["paraphrase"]}}, "paraphrase needs a rewriter"),
        ({"harness": HARNESS | {"repetitions": 0}}, "repetitions must be a whole number of at least 1, not 0."),
        ({"harness": HARNESS | {"aggregation_rule": "mjority"}}, "did you mean 'majority'?"),
        ({"harness": HARNESS | {"aggregation_rule": "supermajority(0)"}}, "is out of range"),
        ({"harness": HARNESS | {"aggregation_rule": "swap_consensus"}}, "needs both orders equally often"),
        ({"harness": HARNESS | {"min_valid": 5}}, "min_valid=5 is more than the 1 samples planned"),
        ({"harness": HARNESS | {"repititions": 2}}, "unknown key 'harness.repititions': did you mean"),
        ({"execution": {"timeout_s": 0}}, "timeout_s must be above 0"),
        ({"execution": {"max_calls": 0}}, "max_calls must be a whole number of at least 1, not 0."),
        ({"cases": "empty.csv"}, "holds no cases"),
        ({"cases": "none.csv"}, "cannot be read"),
        ({"cases": "no_output.csv"}, "line 2: column 'output' is missing or empty"),
        ({"cases": "twice.csv"}, "line 3: repeats the case_id 'c1' of line 2"),
        ({"cases": "binary.csv"}, "is not UTF-8"),
        ({"judges": []}, "judges"),
        ({"judges": [{"name": "j", "callable": "no_such_module_here:f"}]}, "cannot be imported"),
        ({"judges": [{"name": "j", "adapter": "langchian", "evaluator": "x"}]}, "did you mean 'langchain'?"),
        ({"calibration": "none.json"}, "calibration"),
        ({"calibration": {"labels": "cases.csv", "source": "nobody"}}, "the source of a label set is"),
        ({"calibration": {"labels": "no_gold.csv", "source": "human"}}, "holds no labelled examples"),
    ],
)
def test_run_configurations(
    command: Command, configure: Command, folder: Path, changes: dict[str, Any], sentence: str
) -> None:
    (folder / "empty.csv").write_text("case_id,output\n")
    (folder / "no_output.csv").write_text("case_id,text\nc1,x\n")
    (folder / "no_gold.csv").write_text("case_id,output\nc1,x\n")
    (folder / "twice.csv").write_text("case_id,output\nc1,x\nc1,y\n")
    (folder / "binary.csv").write_bytes(b"\xff\xfe\x00\x01" * 9)
    ran = command("run", configure("good", **({"harness": HARNESS} | changes)), "--out", folder / "out", "--json")
    # the plan may stand before the sentence where planning is what went well
    ran = type(ran)(ran.code, ran.out, ran.err[ran.err.index("error: ") :])
    one_sentence(ran, sentence)
    assert not (folder / "out").exists()


def test_a_rule_that_does_not_fit_the_answers(command: Command, configure: Command, folder: Path) -> None:
    harness = HARNESS | {"aggregation_rule": "median"}
    ran = command("run", configure("good", harness=harness), "--out", folder / "out", "--json")
    assert ran.code == 2
    assert "folds numbers" in ran.err
    assert (folder / "out" / "verdicts.jsonl").read_text()


def test_files_that_cannot_be_written(command: Command, configure: Command, folder: Path) -> None:
    ran = command("run", configure("good"), "--out", folder / "cases.csv" / "deep", "--json")
    assert ran.code == 2
    assert ran.err.count("error: ") == 1
    assert "Traceback" not in ran.err


def test_control_characters_do_not_reach_the_terminal(command: Command, tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("case_id,verdict\nc,A\n")
    ran = command("replay", tmp_path / "log.csv", "--rule", "major\x1b[31m\nity")
    one_sentence(ran, "is malformed")
    assert "\x1b" not in ran.err


def test_an_interrupt_elsewhere_is_said(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    class Interrupted:
        @staticmethod
        def main(**_: Any) -> None:
            raise KeyboardInterrupt

    monkeypatch.setattr(application, "_command", lambda _: Interrupted)
    ran = command("demo")
    assert (ran.code, ran.err) == (130, "error: interrupted.\n")


def test_errors_that_are_nobodys_are_not_hidden(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    class Wrong:
        @staticmethod
        def main(**_: Any) -> None:
            raise ZeroDivisionError

    monkeypatch.setattr(application, "_command", lambda _: Wrong)
    with pytest.raises(ZeroDivisionError):
        command("demo")


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        ("replay", "none.csv", "--rule", "majority"),
        ("replay", "none.csv", "--rule", "majorty"),
        ("run", "none.yaml"),
        ("calibrate", "none.toml", "--labels", "x.csv", "--out", "y.json"),
        ("replay",),
    ],
)
def test_the_installed_command_says_one_sentence(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    program = Path(sys.executable).with_name("judgeharness")
    done = subprocess.run([program, *arguments], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ("replay", "nowhere", "--rule", "majority"),
        ("survey", "nowhere"),
        ("label", "nowhere", "--annotator", "ann"),
        ("label", "nowhere.csv", "--annotator", "ann"),
        ("passport", "--log", "nowhere"),
        ("passport", "--log", "nowhere.csv"),
    ],
)
def test_what_is_missing_is_one_sentence_that_says_what_to_do(command: Command, arguments: tuple[str, ...]) -> None:
    one_sentence(command(*arguments), "cannot be read: there is no such file or folder; give the name of one that is")


def test_a_configuration_that_is_missing_is_one_sentence(command: Command) -> None:
    one_sentence(command("passport", "nowhere.yaml"), "give a configuration that is there")
