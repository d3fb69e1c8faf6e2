"""The examples run offline, as they stand."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.adk_example import copy_example, evaluate_example, fill_sheet

from judgeharness_integrations import read_log

pytestmark = pytest.mark.slow  # each is a process of its own

EXAMPLES = Path(__file__).parent.parent / "examples"


def run(*command: str, cwd: Path) -> str:
    keys = ("OPENAI_", "LANGSMITH_", "LANGCHAIN_")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(keys)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd, env=environment, timeout=90)  # noqa: S603
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_changed_line(tmp_path: Path) -> None:
    shown = run(sys.executable, str(EXAMPLES / "langchain_one_line.py"), cwd=tmp_path)
    assert "one call:    A 1" in shown
    assert "harnessed:   None None abstained" in shown


def test_the_changed_line_of_openevals(tmp_path: Path) -> None:
    shown = run(sys.executable, str(EXAMPLES / "openevals_one_line.py"), cwd=tmp_path)
    assert "one call:   correctness True" in shown
    assert "harnessed:  correctness None abstained" in shown
    assert "highest count 3 of 6 samples is below 2/3" in shown


def test_the_changed_line_of_langsmith(tmp_path: Path) -> None:
    shown = run(sys.executable, str(EXAMPLES / "langsmith_evaluate.py"), cwd=tmp_path)
    before, after = shown.split("\nharnessed\n")
    assert before.partition("one call\n")[2].split()[:3] == ["feedback.correctness", "True", "False"]
    assert after.split() == [
        *("feedback.correctness", "feedback.correctness.consistency", "feedback.correctness.valid_samples"),
        *("ABSTAIN", "0.5", "6", "False", "1.0", "6"),
    ]


def test_a_configured_run(tmp_path: Path) -> None:
    folder = shutil.copytree(EXAMPLES / "run_config", tmp_path / "run")
    shown = run(str(Path(sys.executable).with_name("judgeharness")), "run", "config.yaml", "--json", cwd=folder)
    summary = json.loads(shown)
    assert summary == json.loads((folder / "results" / "summary.json").read_text(encoding="utf-8"))
    by_judge = {judge["judge"]: judge for judge in summary["judges"]}
    assert by_judge["likes-the-first"]["criteria"][0]["abstained"] == 3
    assert by_judge["prefers-longer"]["criteria"][0]["decided"] == 3
    assert len(read_log(folder / "results" / "verdicts.jsonl")) == 2 * 3 * 6


def commands_of(page: Path) -> list[list[str]]:
    """Return the commands of this package that a page shows."""
    lines = page.read_text(encoding="utf-8").splitlines()
    return [shlex.split(line)[1:] for line in lines if line.startswith("judgeharness ")]


def test_a_study_of_annotators_is_two_commands(tmp_path: Path) -> None:
    folder = shutil.copytree(EXAMPLES / "annotator_study", tmp_path / "study")
    commands = commands_of(folder / "README.md")
    assert [command[:2] for command in commands] == [["agreement", "alt-test"], ["agreement", "kappa"]]
    test, kappa = (
        run(str(Path(sys.executable).with_name("judgeharness")), *command, cwd=folder) for command in commands
    )
    assert "strong (jaccard) passes at epsilon 0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3" in test
    assert "Krippendorff's alpha" in kappa
    drawn = {path.name for path in (folder / "plots").iterdir()}
    names = ("omega", "advantage", "scatter", "kappa", "kappa_by_label")
    assert drawn == {f"{name}.{kind}" for name in names for kind in ("png", "svg")}
    shown = run(sys.executable, "study.py", cwd=folder)
    assert "strong    jaccard  epsilon 0.2: omega 1.0, rho 0.944" in shown
    assert "annotator_5  mean kappa with the other humans 0.028" in shown


# Google ADK


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Where the ADK example was evaluated, and what the command printed."""
    folder = tmp_path_factory.mktemp("adk")
    copy_example(folder)
    return folder, evaluate_example(folder)


def text_block(page: str, first: str) -> list[str]:
    """Return the lines of a page's text block that begins so."""
    found = re.findall(
        r"^```text\n(.*?)^```$", (EXAMPLES.parent / page).read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )
    [block] = [text for text in found if text.startswith(first)]
    return [re.sub(r'("fingerprint":)"\w+"', r"\1", line) for line in block.splitlines()]


@pytest.mark.slow
def test_the_adk_agent_prints_what_the_docs_show(evaluated: tuple[Path, str]) -> None:
    _, printed = evaluated
    assert "Tests passed: 2\n  Tests failed: 1" in printed
    lines = printed.splitlines()
    of_lima = lines[lines.index("Eval Id: lima") :]
    for page in ("docs/use/adk.md", "examples/adk_agent/README.md"):
        shown = text_block(page, "Eval Id: lima")
        assert [line for line in of_lima if line in shown][:5] == shown
    assert any("8 PASS, 2 FAIL of 10" in line for line in lines)


@pytest.mark.slow
def test_the_rationale_in_the_docs_is_that_of_the_adk_agent(evaluated: tuple[Path, str]) -> None:
    folder, _ = evaluated
    [path] = (folder / "examples" / "adk_agent" / ".adk" / "eval_history").iterdir()
    [lima] = [case for case in json.loads(path.read_text())["eval_case_results"] if case["eval_id"] == "lima"]
    metrics = lima["eval_metric_result_per_invocation"][0]["eval_metric_results"]
    [rationale] = [
        row["rationale"]
        for metric in metrics
        for row in (metric.get("details") or {}).get("rubric_scores") or ()
        if row["rubric_id"] == "says_what_to_wear"
    ]
    rationale = re.sub(r'("fingerprint":)"\w+"', r"\1", rationale)
    assert rationale.splitlines() == text_block("docs/use/adk.md", "ABSTAIN")


@pytest.mark.slow
def test_the_adk_agent_is_calibrated_as_the_docs_say(evaluated: tuple[Path, str], tmp_path: Path) -> None:
    from judgeharness_adk import load_results

    results = load_results(evaluated[0])
    labels = fill_sheet(results.write_labelling_sheet(tmp_path / "sheet.csv"), tmp_path / "labels.csv")
    folder = copy_example(tmp_path)
    results.calibrate(labels).save(folder / "weather.calibration.json")
    path = folder / "test_config.json"
    config = json.loads(path.read_text())
    [criterion] = config["criteria"].values()
    criterion["judge_harness"]["calibration"] = "weather.calibration.json"
    path.write_text(json.dumps(config))
    printed = evaluate_example(tmp_path)
    [line] = text_block("docs/use/adk.md", "Rubric: ")
    assert line in printed.splitlines()
