"""`load_results`: real evaluations read back, joined with ADK's results, told, and replayed by the real command."""

from __future__ import annotations

import asyncio
import json
import logging
import shutil
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from support.adk_answers import JudgeDown, always, by_city, in_turn, per_rubric
from support.adk_folder import FINAL_RESPONSE, judge_options
from support.adk_offline import isolated_adk
from support.adk_outcomes import HALLUCINATIONS, MATCH, TOOL_USE, evaluate_with
from support.adk_projects import evaluate_again, evaluate_by_command, evaluated

from judgeharness_adk import AdkResults, load_results
from judgeharness_integrations.analysis.replay import replay
from judgeharness_integrations.cli import main
from judgeharness_integrations.verdictlog import read_log

SCRIPT = by_city(
    {
        "Oslo": per_rubric({"polite": ["yes", "yes", "no"], "short": ["yes", "yes", "yes"]}),
        "Rome": per_rubric({"polite": ["no", "no", "no"], "short": ["yes", "no", "yes"]}),
    }
)
KNOWN = ("app", "eval_set_id", "eval_id", "turn", "run")
ANY_ONE = "results.filter(lambda one: one.evaluation == results[0].evaluation)"
WHEN = ("evaluation", "evaluated_at")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two cases, run twice, judged about two rubrics three times."""
    folder = tmp_path_factory.mktemp("project")
    evaluated(folder, SCRIPT, rubrics=("polite", "short"), aggregation_rule="majority")
    return folder


@pytest.fixture(scope="module")
def results(project: Path) -> AdkResults:
    return load_results(project)


# Joining


@pytest.mark.slow
def test_every_run_of_every_case_is_known(results: AdkResults) -> None:
    assert (len(results), results.joined, results.notes) == (4, 4, ())
    places = {tuple(getattr(one, name) for name in KNOWN) for one in results}
    assert places == {("weather_app", "weather_set", f"case_{case}", 1, run) for case in (0, 1) for run in (1, 2)}
    assert {one.metric for one in results} == {FINAL_RESPONSE}
    [(evaluation, moment)] = {(one.evaluation, one.evaluated_at) for one in results}
    assert str(evaluation).startswith("weather_app_weather_set_")
    assert abs(datetime.now(UTC) - datetime.fromisoformat(str(moment))) < timedelta(minutes=10)
    oslo = next(one for one in results if one.eval_id == "case_0")
    assert (oslo.input, oslo.output) == ("What is the weather in Oslo?", "It is 10 degrees in Oslo.")
    assert oslo.reference == oslo.output
    assert oslo.context == 'tool call: get_weather({"city": "Oslo"}) -> {"report": "It is 10 degrees in Oslo."}'
    assert oslo.rubrics == {"polite": "The answer is polite.", "short": "The answer is short."}
    assert oslo.standing == ("polite", "short")
    assert oslo.fingerprint == oslo.result.fingerprint
    assert dict(oslo.result.criteria["polite"].sample_distribution) == {"PASS": 2, "FAIL": 1}


def test_the_sidecars_are_found_from_wherever_one_points(project: Path, results: AdkResults) -> None:
    hidden = project / ".adk" / "judgeharness"
    [file] = hidden.iterdir()
    assert load_results(str(file)) == load_results(hidden) == load_results(project / ".adk") == results


def test_the_working_directory_is_looked_into_by_default(
    project: Path, results: AdkResults, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    assert [one.invocation_id for one in load_results()] == [one.invocation_id for one in results]


def test_the_history_may_lie_elsewhere(project: Path, results: AdkResults, tmp_path: Path) -> None:
    [file] = (project / ".adk" / "judgeharness").iterdir()
    shutil.copy(file, tmp_path)
    assert load_results(tmp_path).joined == 0
    assert load_results(tmp_path, history=project).results == results.results
    [history] = project.rglob("*.evalset_result.json")
    assert load_results(tmp_path, history=history).results == results.results


def test_a_copied_history_is_no_further_evaluation(project: Path, results: AdkResults, tmp_path: Path) -> None:
    shutil.copytree(project, tmp_path / "copy")
    copied = next(tmp_path.rglob("*.evalset_result.json"))
    shutil.copy(copied, tmp_path / f"copy-{copied.name}")
    assert load_results(tmp_path / "copy", history=tmp_path).results == results.results


@pytest.mark.slow
def test_two_agents_on_one_eval_set_are_no_runs_of_one_another(tmp_path: Path) -> None:
    for name in ("first_app", "second_app"):
        evaluated(tmp_path, always("yes"), cases=1, num_runs=1, name=name)
    assert {(one.app, one.eval_id, one.run) for one in load_results(tmp_path)} == {
        ("first_app", "case_0", 1),
        ("second_app", "case_0", 1),
    }


@pytest.mark.slow
def test_turns_of_a_conversation(tmp_path: Path) -> None:
    evaluated(tmp_path, always("yes"), cases=1, turns=2, num_runs=1)
    first, second = load_results(tmp_path)
    assert (first.turn, second.turn, first.run, second.run) == (1, 2, 1, 1)
    assert second.context is not None
    said, called = second.context.splitlines()[0], second.context.splitlines()[-1]
    assert (said, called.partition("(")[0]) == ("user: What is the weather in Oslo?", "tool call: get_weather")
    assert "agent: It is 10 degrees in Oslo." in second.context


@pytest.mark.slow
def test_what_adk_did_not_keep_stays_unjoined(tmp_path: Path) -> None:
    evaluated(tmp_path, always("yes"), persist=False)
    results = load_results(tmp_path)
    assert (len(results), results.joined) == (4, 0)
    assert {tuple(getattr(one, name) for name in KNOWN + WHEN) for one in results} == {(None,) * 7}
    assert "0 of 4 joined with ADK's results\n  not joined: no *.evalset_result.json" in str(results)
    assert "4 invocations of unknown eval cases" in str(results)
    assert "runs of a case are told apart by ADK's results, and none is joined" in str(results)
    assert results.variance()[0].cases == 4
    assert len(results.latest()) == 0


def test_an_invocation_judged_again_has_its_last_measurement(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with isolated_adk(tmp_path):
        from judgeharness_adk.evaluators import EVALUATORS

        for word in ("yes", "no"):
            evaluate_with(EVALUATORS[FINAL_RESPONSE], always(word), samples=2)
    [one] = load_results()
    assert one.result.criteria["polite"].verdict == "FAIL"
    assert load_results().notes == ("1 measurements were replaced by later ones of the same invocation and metric",)
    assert "note: 1 measurements were replaced" in load_results().report()


def test_a_copied_sidecar_adds_nothing(project: Path, results: AdkResults, tmp_path: Path) -> None:
    shutil.copytree(project, tmp_path / "a")
    shutil.copytree(project, tmp_path / "b")
    copies = load_results(tmp_path)
    assert (copies.results, copies.notes) == (results.results, ())


# Evaluations


@pytest.fixture(scope="module")
def twice(tmp_path_factory: pytest.TempPathFactory) -> AdkResults:
    """A case run twice, then, the agent edited, twice again: it never satisfies the judge any more."""
    folder = tmp_path_factory.mktemp("twice")
    agent = evaluated(folder, always("yes"), cases=1)
    evaluate_again(agent, always("no"), num_runs=2)
    return load_results(folder)


@pytest.mark.slow
def test_runs_are_counted_within_an_evaluation(twice: AdkResults) -> None:
    told = [(one.run, one.result.criteria["polite"].verdict) for one in twice]
    assert (sorted(told[:2]), sorted(told[2:])) == ([(1, "PASS"), (2, "PASS")], [(1, "FAIL"), (2, "FAIL")])
    before, after = (tuple(getattr(twice[place], name) for name in WHEN) for place in (0, -1))
    assert [tuple(getattr(one, name) for name in WHEN) for one in twice] == [before, before, after, after]
    assert before < after


def test_what_an_edit_changed_is_no_noise_of_the_agent(twice: AdkResults) -> None:
    [pooled] = twice.variance()
    assert (pooled.between_cases, pooled.between_runs, pooled.between_samples) == (0.5, 0.0, 0.0)
    assert (pooled.cases, pooled.runs, pooled.samples) == (2, 4, 12)
    [last] = twice.latest().variance()
    assert (last.between_cases, last.between_runs, last.cases, last.runs) == (None, 0.0, 1, 2)


def test_pooled_evaluations_are_told_and_one_can_be_taken(twice: AdkResults) -> None:
    text = twice.report()
    assert text.splitlines()[1:3] == [
        f"  2 evaluations are pooled, from {twice[0].evaluated_at} to {twice[-1].evaluated_at}",
        f"  the last of each eval set: results.latest(); any one: {ANY_ONE}",
    ]
    assert "  4 invocations, 1 eval cases, 2 evaluations, runs of a case in one evaluation: 2\n" in text
    assert "  a turn counts once an evaluation: what differs between evaluations is in the part from turns\n" in text
    latest = twice.latest()
    assert latest.results == twice.results[2:]
    assert "pooled" not in latest.report()
    assert "between evaluations" not in latest.report()
    assert "  2 invocations, 1 eval cases, runs of a case: 2\n" in latest.report()
    first = twice.filter(lambda one: one.evaluation == twice[0].evaluation)
    assert first.results == twice.results[:2]
    assert twice[::-1].latest().results == twice.results[:1:-1]


@pytest.mark.slow
def test_the_command_keeps_an_evaluation_an_eval_set(tmp_path: Path) -> None:
    agent = evaluated(tmp_path, always("yes"), cases=1, num_runs=1)
    other = agent.path / "other.test.json"
    other.write_text(agent.eval_set.read_text().replace('"weather_set"', '"other_set"'))
    evaluate_by_command(agent, always("no"), str(agent.eval_set), str(other), f"--config_file_path={agent.config}")
    results = load_results(tmp_path)
    assert [(one.eval_set_id, one.run) for one in results[:1]] == [("weather_set", 1)]
    assert {(one.eval_set_id, one.eval_id, one.run) for one in results[1:]} == {
        ("weather_set", "case_0", 1),
        ("other_set", "case_0", 1),
    }
    assert len({one.evaluation for one in results}) == 3
    assert results.latest().results == results.results[1:]
    assert "  3 evaluations are pooled, from " in results.report()
    assert "no case ran twice in one evaluation" in results.report()


def test_measurements_of_unknown_time_are_before_all_others(twice: AdkResults) -> None:
    undated = AdkResults(tuple(replace(one, evaluated_at=None) for one in twice))
    assert undated.latest().results == undated.results[2:]  # the last in the order of what was kept
    assert undated.report().splitlines()[1] == "  2 evaluations are pooled"
    mixed = AdkResults((*twice.results[:2], *undated.results[2:]))
    assert mixed.latest().results == twice.results[:2]


# A sequence


def test_it_is_a_sequence_that_can_be_filtered(results: AdkResults) -> None:
    assert isinstance(results[:2], AdkResults)
    assert results[:2][1] is results[1]
    second = results.filter(lambda one: one.run == 2)
    assert [one.run for one in second] == [2, 2]
    assert repr(second) == f"AdkResults(2 measurements, 2 joined; {FINAL_RESPONSE})"
    assert results.metrics == (FINAL_RESPONSE,)


def test_nothing_is_left_of_a_filter_and_still_told(results: AdkResults) -> None:
    nothing = results.filter(lambda one: False)
    assert nothing.report() == "0 measurements of 0 invocations; 0 of 0 joined with ADK's results\n"
    assert (nothing.rows(), nothing.variance()) == ([], ())


# The log


@pytest.mark.parametrize("name", ["log.csv", "log.jsonl.gz"])
def test_the_log_is_replayed_by_the_command(
    results: AdkResults, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    log = results.write_log(tmp_path / "logs" / name)
    assert main(["replay", str(log), "--rule", "majority", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told == replay(results.rows(), "majority").to_dict()
    decided = {entry["criterion"]: (entry["cases"], entry["decided"]) for entry in told["judges"]}
    assert decided == {"polite": (4, 4), "short": (4, 4)}
    assert {entry["judge"] for entry in told["judges"]} == {FINAL_RESPONSE}


def test_a_row_says_which_run_of_which_case_it_is_of(results: AdkResults, tmp_path: Path) -> None:
    rows = read_log(results.write_log(tmp_path / "log.jsonl"))
    assert rows == results.rows()
    assert len(rows) == 4 * 2 * 3
    row, one = rows[0], results[0]
    assert row.case_id == one.invocation_id
    known = {name.replace("run", "eval_run"): getattr(one, name) for name in KNOWN + WHEN}
    assert row.attributes == {name: row.attributes[name] for name in ("characters", "text_digest")} | known


# Several metrics


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> AdkResults:
    """Three metrics; the judge is down for a third of the samples about Rome."""
    folder = tmp_path_factory.mktemp("mixed")
    judge = {"samples": 3, "judge_harness": {"aggregation_rule": "abstain_on_disagreement"}}
    criteria = {
        MATCH: judge_options("scripted-judge", rubrics=None, **judge),
        HALLUCINATIONS: judge_options("scripted-judge", rubrics=None, evaluate_intermediate_nl_responses=True, **judge),
        TOOL_USE: judge_options("scripted-judge", **judge | {"samples": 1}),
    }
    script = by_city({"Oslo": always("yes"), "Rome": in_turn("yes", "no", JudgeDown("503"))})
    evaluated(folder, script, criteria=criteria, num_runs=1)
    return load_results(folder)


@pytest.mark.slow
def test_metrics_stand_side_by_side(mixed: AdkResults) -> None:
    assert set(mixed.metrics) == {MATCH, HALLUCINATIONS, TOOL_USE}
    assert mixed.joined == len(mixed) == 6
    replayed = replay(mixed.rows(), "majority")
    assert {entry.judge for entry in replayed.judges} == {MATCH, HALLUCINATIONS, TOOL_USE}


def test_sentences_are_pooled(mixed: AdkResults) -> None:
    sentences = mixed.filter(lambda one: one.metric == HALLUCINATIONS)
    assert {one.pooled for one in sentences} == {"sentences"}
    assert sentences.variance() == ()
    assert "sentence 1" not in sentences.report()
    [line] = [line for line in sentences.report().splitlines() if line.strip().startswith("sentences")]
    assert line.split()[:5] == ["sentences", "1", "1", "0", "2"]


def test_the_report_counts_every_decision(mixed: AdkResults) -> None:
    text = mixed.filter(lambda one: one.metric == MATCH).report()
    assert text == (
        "2 measurements of 2 invocations; 2 of 2 joined with ADK's results\n"
        "\n"
        "final_response_match_v2 · judge scripted-judge · none x 3 · abstain_on_disagreement\n"
        "  2 invocations, 2 eval cases, runs of a case: 1\n"
        "  rubric                decided  abstained  not graded  of   PASS of decided  failed samples  consistency"
        "  calibration\n"
        "  final_response_match        1          1           0   2  1 of 1 (100.0 %)          1 of 6   0.75 (n=2)"
        "  uncalibrated\n"
        '  variance of "a sample says PASS" (1 or 0); -: not estimable from so few turns, runs or samples\n'
        "  no case ran twice in one evaluation: what differs between runs (num_runs) is in the part from turns\n"
        "  rubric                turns  runs  samples  between turns  between runs  between samples"
        "  negative, set to 0\n"
        "  final_response_match      2     2        5          0.056             -            0.167  -\n"
        "\n"
        "not measured:\n"
        "  - uncalibrated: how often this rule is right was not measured\n"
        "  - sensitivity to formatting was not measured\n"
        "  - sensitivity to wording was not measured\n"
        "  - whether the repetitions are independent cannot be told from short identical or missing texts"
        " (1 of 2 measurements)\n"
        "  - 1 of 6 samples hold no verdict\n"
    )
    informal = mixed.filter(lambda one: one.metric == TOOL_USE).report()
    assert "none x 1 · one sample, informal" in informal
    assert [line.split()[-2] for line in informal.splitlines() if line.startswith("  polite ")] == ["none", "-"]


def test_a_rubric_nobody_could_decide_has_no_share(tmp_path: Path) -> None:
    evaluated(tmp_path, always(JudgeDown("503")), cases=1, num_runs=1, max_attempts=1)
    results = load_results(tmp_path)
    [line] = [line for line in results.report().splitlines() if line.startswith("  polite ")][:1]
    assert line.split() == ["polite", "0", "0", "1", "1", "0", "of", "0", "3", "of", "3", "none", "uncalibrated"]
    assert results.report().endswith("  - 3 of 3 samples hold no verdict\n")
    [variance] = results.variance()
    assert (variance.cases, variance.samples, variance.between_samples) == (0, 0, None)
    assert "between cases -, runs -, samples - (0 cases, 0 runs, 0 samples)" in str(variance)


def test_what_was_not_measured_is_told_once_with_how_often(mixed: AdkResults) -> None:
    lines = mixed.report().partition("\nnot measured:\n")[2].splitlines()
    assert lines[0] == "  - uncalibrated: how often this rule is right was not measured"
    assert "  - one sample: neither noise nor bias of the judge was measured (2 of 6 measurements)" in lines
    assert lines[-1] == "  - 2 of 14 samples hold no verdict"
    assert len(lines) == len(set(lines))
    assert sum("hold no verdict" in line for line in lines) == 1


def test_an_answer_that_cannot_be_read_leaves_a_mark(tmp_path: Path) -> None:
    script = per_rubric({"polite": ["yes", "unknown", "unknown"], "short": ["yes"] * 3})
    evaluated(
        tmp_path, script, cases=1, num_runs=1, rubrics=("polite", "short"), min_valid=1, aggregation_rule="majority"
    )
    results = load_results(tmp_path)
    lines = [line for line in results.report().splitlines() if "uncalibrated" in line and "- " not in line]
    assert [line.split()[10:13] for line in lines] == [["2", "of", "3"], ["0", "of", "3"]]
    assert results.report().endswith("  - 2 of 6 samples hold no verdict\n")


def test_runs_that_differ_in_number_are_told_so(results: AdkResults) -> None:
    first = results[0]
    fewer = results.filter(lambda one: one.eval_id != first.eval_id or one.run == first.run)
    assert "3 invocations, 2 eval cases, runs of a case: 1 to 2" in fewer.report()


@pytest.mark.slow
def test_another_configuration_stands_apart(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = evaluated(tmp_path, always("yes"), cases=1, num_runs=1)
    config = folder.config.read_text()
    folder.config.write_text(config.replace('"num_samples": 3', '"num_samples": 2'))
    with caplog.at_level(logging.WARNING, logger="judgeharness_adk"):
        evaluate_again(folder, always("no"))
        results = load_results(tmp_path)
    text = results.report()
    assert "  another configuration than above: repetitions changed\n" in text
    assert [line.split()[1:6] for line in text.splitlines() if line.startswith("  polite ") and "cal" in line] == [
        ["1", "0", "0", "1", "1"],
        ["1", "0", "0", "1", "0"],
    ]
    assert len(results.variance()) == 2
    assert not caplog.records


def test_reading_needs_no_event_loop_and_minds_none(project: Path) -> None:
    async def read() -> int:
        return len(load_results(project))

    assert asyncio.run(read()) == 4
