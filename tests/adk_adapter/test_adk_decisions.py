"""ADK's rubrics answered by a decision model on a loopback server, through ADK's own evaluation."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from google.adk.evaluation.eval_case import Invocation
from google.adk.evaluation.eval_result import EvalCaseResult
from google.adk.evaluation.evaluator import Evaluator
from google.adk.evaluation.metric_evaluator_registry import MetricEvaluatorRegistry
from support.adk_folder import FINAL_RESPONSE, eval_set, invocation, judge_options, rubric
from support.adk_judges import scripted_judge
from support.adk_offline import isolated_adk
from support.adk_outcomes import MATCH, MULTI_TURN, TOOL_USE, evaluate_case_with
from support.decision_fixtures import KEY, Decide, decision_server
from support.decision_models_there import decision_models_are_there
from support.planted_decisions import Planted
from support.planted_passports import granted_from
from support.provider_server import ProviderServer
from support.wire_decisions import state_in

if not decision_models_are_there():
    pytest.skip("langchain-openai has no decision models yet", allow_module_level=True)

import judgeharness_adk
from judgeharness_adk.adapter import ADAPTER
from judgeharness_adk.invocations import answer_text, invocation_case
from judgeharness_integrations._errors import ConfigError
from judgeharness_integrations.cli.app import main
from judgeharness_integrations.judging.adapters import JudgeSpec
from judgeharness_integrations.judging.judge import Judge

__all__ = ["decision_server"]  # a fixture
PLANTED = Planted()
TURN = invocation("Oslo")
RUBRICS = ("polite", "short")
Scores = dict[str, float | None]


@pytest.fixture(autouse=True)
def _adk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    with isolated_adk(tmp_path):
        yield


def options_of(server: ProviderServer) -> dict[str, str]:
    return {"base_url": f"{server.url}/v1", "api_key": KEY}


def evaluated(
    server: ProviderServer,
    *,
    metric: str = FINAL_RESPONSE,
    block: Mapping[str, Any] | None = None,
    turns: tuple[Invocation, ...] = (TURN,),
    evaluator: type[Evaluator] | None = None,
    **options: Any,
) -> EvalCaseResult:
    """What ADK has of one case that `luna` answers; ADK's own judge model is never asked."""
    registry = MetricEvaluatorRegistry()
    if evaluator is not None:
        infos = {info.metric_name: info for info in registry.get_registered_metrics()}
        registry.register_evaluator(infos[metric], evaluator)
    judgeharness_adk.register(
        registry, decisions={"luna": {"model": "openai:gpt-6-luna", **options_of(server)}}, folder=Path.cwd()
    )
    with scripted_judge(lambda _: pytest.fail("ADK's judge model was asked")) as judge:
        criterion = judge_options(
            judge.model, **{"rubrics": RUBRICS, **options}, judge_harness={"decisions": "luna", **(block or {})}
        )
        return evaluate_case_with(registry, {metric: criterion}, turns=turns)


def scores(found: EvalCaseResult) -> Scores:
    [metric] = found.overall_eval_metric_results
    return {row.rubric_id: row.score for row in metric.details.rubric_scores or ()}


def chances() -> dict[str, float]:
    """The planted probability that Oslo's answer passes each rubric."""
    return {name: PLANTED.passes(name, answer_text(TURN)) for name in RUBRICS}


def kept_chances() -> dict[str, float]:
    """The probability of a pass by rubric, as the measurements hold it."""
    rows = judgeharness_adk.load_results(".").rows()
    return {row.criterion: row.probabilities["PASS"] for row in rows if row.probabilities}


def judge_of(server: ProviderServer, **spec: Any) -> Judge:
    given = {"rubrics": [rubric(name).model_dump(exclude_none=True) for name in RUBRICS]}
    named = {"name": "luna", "evaluator": FINAL_RESPONSE, "model": "decisions:openai:gpt-6-luna", **spec}
    return ADAPTER.build_judge(JudgeSpec(**named, model_options=options_of(server), evaluator_options=given))


def save_passport(server: ProviderServer, threshold: float) -> None:
    granted_from(threshold, judge_of(server), invocation_case([TURN], case_id="c")).save("passport.json")


def test_each_rubric_is_decided_by_its_probability(decision_server: Decide) -> None:
    found = scores(evaluated(decision_server(PLANTED)))
    assert found == {name: float(chance > 0.5) for name, chance in chances().items()}


def test_probabilities_stand_in_the_rows(decision_server: Decide) -> None:
    evaluated(decision_server(PLANTED))
    assert kept_chances() == pytest.approx(chances())


def test_a_case_is_asked_once_whatever_num_samples_says(decision_server: Decide) -> None:
    server = decision_server(PLANTED)
    evaluated(server, turns=tuple(invocation(city) for city in ("Oslo", "Rome", "Lima")), samples=5)
    assert len(server.requests) <= 4  # one of the three may be in the slice that is asked again


@pytest.mark.parametrize(
    ("metric", "judged"),
    [(FINAL_RESPONSE, answer_text(TURN)), (TOOL_USE, "get_weather"), (MULTI_TURN, "What is the weather in Oslo?")],
)
def test_the_state_holds_what_adk_shows_a_judge(decision_server: Decide, metric: str, judged: str) -> None:
    server = decision_server(PLANTED)
    evaluated(server, metric=metric)
    assert judged in state_in(server.requests[0])["Answer"]


def test_tool_calls_are_context_of_a_final_response(decision_server: Decide) -> None:
    server = decision_server(PLANTED)
    evaluated(server)
    assert "Response steps:" in state_in(server.requests[0])["Context"]


def test_a_refused_question_is_a_refused_row_of_its_rubric(decision_server: Decide) -> None:
    server = decision_server(Planted(refuses=lambda criterion, state: criterion == "short"))
    evaluated(server)
    rows = judgeharness_adk.load_results(".").rows()
    assert {(row.criterion, row.outcome) for row in rows} == {("polite", "ok"), ("short", "refused")}


@pytest.mark.slow
def test_a_rubric_of_one_invocation_is_asked_too(decision_server: Decide) -> None:
    own = invocation("Oslo", rubrics=[rubric("own", kind="FINAL_RESPONSE_QUALITY")])
    assert set(scores(evaluated(decision_server(PLANTED), turns=(own,)))) == {*RUBRICS, "own"}


def test_a_negated_question_is_mapped_back(decision_server: Decide) -> None:
    evaluated(decision_server(PLANTED), block={"perturbations": ["negated"]})
    assert kept_chances() == pytest.approx(chances())


def test_a_passport_decides_the_rubrics_it_certifies(decision_server: Decide) -> None:
    server = decision_server(PLANTED)
    certainties = {name: max(chance, 1 - chance) for name, chance in chances().items()}
    threshold = sum(certainties.values()) / 2
    save_passport(server, threshold)
    found = scores(evaluated(server, block={"passport": "passport.json"}))
    expected = {
        name: float(chance > 0.5) if certainties[name] >= threshold else None for name, chance in chances().items()
    }
    assert found == expected


def rationales(found: EvalCaseResult) -> dict[str, str]:
    [metric] = found.eval_metric_result_per_invocation[0].eval_metric_results
    return {row.rubric_id: str(row.rationale).splitlines()[0] for row in metric.details.rubric_scores or ()}


def test_the_headline_of_a_rubric_names_the_passport_that_decided_it(decision_server: Decide) -> None:
    server = decision_server(PLANTED)
    save_passport(server, 0.5)
    told = rationales(evaluated(server, block={"passport": "passport.json"}))
    assert all("decisions agree with people at least 90 % of the time" in line for line in told.values())
    assert not any("uncalibrated" in line for line in told.values())
    own = invocation("Oslo", rubrics=[rubric("own", kind="FINAL_RESPONSE_QUALITY")])
    told = rationales(evaluated(server, block={"passport": "passport.json"}, turns=(own,)))
    assert not any("uncalibrated" in line for line in told.values())
    assert "passport" in told["own"]


@pytest.mark.slow
def test_under_another_models_passport_every_rubric_abstains(decision_server: Decide) -> None:
    server = decision_server(PLANTED)
    judge = judge_of(server, model="decisions:openai:gpt-6-terra")
    granted_from(0.5, judge, invocation_case([TURN], case_id="c")).save("passport.json")
    found = evaluated(server, block={"passport": "passport.json"})
    assert scores(found) == dict.fromkeys(RUBRICS)


@pytest.mark.slow
def test_a_rubric_of_one_invocation_abstains_under_a_passport(decision_server: Decide) -> None:
    server = decision_server(PLANTED)
    save_passport(server, 0.5)
    own = invocation("Oslo", rubrics=[rubric("own", kind="FINAL_RESPONSE_QUALITY")])
    assert scores(evaluated(server, block={"passport": "passport.json"}, turns=(own,)))["own"] is None


def test_a_class_with_a_prompt_of_its_own_is_refused(decision_server: Decide, caplog: pytest.LogCaptureFixture) -> None:
    class Strict(judgeharness_adk.HarnessedRubricBasedFinalResponseQualityV1Evaluator):
        def format_auto_rater_prompt(self, actual: Invocation, expected: Invocation | None) -> str:
            return super().format_auto_rater_prompt(actual, expected) + "\nIn doubt, the verdict is no."

    server = decision_server(PLANTED)
    evaluated(server, evaluator=Strict)
    assert ("is asked no prompt of" in caplog.text, len(server.requests)) == (True, 0)


@pytest.mark.parametrize(
    ("block", "metric", "told"),
    [
        ({"decisions": "http://elsewhere"}, FINAL_RESPONSE, "is no decision model: write openai:MODEL, or one that"),
        (
            {"decisions": {"model": "openai:gpt-6-luna", "base_url": "http://elsewhere"}},
            FINAL_RESPONSE,
            "decisions must be a text",
        ),
        ({"passport": "gone.json"}, FINAL_RESPONSE, "is no passport below the folder of this agent"),
        ({"decisions": None, "passport": "p.json"}, FINAL_RESPONSE, "a passport decides from probabilities"),
        ({"passport": "p.json", "aggregation_rule": "majority"}, FINAL_RESPONSE, "the passport decides: leave out"),
        ({}, MATCH, "has no rubrics for a decision model to answer"),
    ],
)
def test_a_block_that_cannot_be_used_fails_before_anything_is_asked(
    decision_server: Decide, caplog: pytest.LogCaptureFixture, block: dict[str, Any], metric: str, told: str
) -> None:
    server = decision_server(PLANTED)
    evaluated(server, metric=metric, block=block, rubrics=RUBRICS if metric == FINAL_RESPONSE else None)
    assert (told in caplog.text, len(server.requests)) == (True, 0)


def test_what_adk_shows_is_part_of_the_judges_identity(decision_server: Decide) -> None:
    server = decision_server(PLANTED)
    final, tools = (judge_of(server, evaluator=metric).identity for metric in (FINAL_RESPONSE, TOOL_USE))
    assert final is not None
    assert tools is not None
    assert final.prompt_hash != tools.prompt_hash


def test_the_key_is_no_part_of_the_judges_identity(decision_server: Decide) -> None:
    identity = judge_of(decision_server(PLANTED)).identity
    assert identity is not None
    assert KEY not in json.dumps([identity.model, dict(identity.parameters), identity.prompt_hash])


def test_a_decision_model_that_is_registered_needs_a_name() -> None:
    with pytest.raises(ConfigError, match="must be a mapping with a model"):
        judgeharness_adk.register(MetricEvaluatorRegistry(), decisions={"luna": {"base_url": "http://localhost"}})


@pytest.mark.slow
def test_a_passport_of_the_kept_answers_holds_for_the_same_block(decision_server: Decide) -> None:
    server = decision_server(PLANTED)
    evaluated(server)
    results = judgeharness_adk.load_results(".")
    results.write_log("verdicts.jsonl")
    sheet = results.write_labelling_sheet("sheet.csv").read_text(encoding="utf-8-sig").splitlines()
    Path("labels.csv").write_text("\n".join([sheet[0], *(f"{line}PASS" for line in sheet[1:])]))
    judge = {
        "name": FINAL_RESPONSE,
        "adapter": "adk",
        "evaluator": FINAL_RESPONSE,
        "model": "decisions:openai:gpt-6-luna",
        "model_options": options_of(server),
        "evaluator_options": {"rubrics": [rubric(name).model_dump(exclude_none=True) for name in RUBRICS]},
    }
    harness = {"perturbations": ["none"], "repetitions": 1, "aggregation_rule": "majority"}
    Path("run.yaml").write_text(json.dumps({"judges": [judge], "harness": harness, "cases": "set.evalset.json"}))
    Path("set.evalset.json").write_text(eval_set().model_dump_json(exclude_none=True))
    options = {"--log": "verdicts.jsonl", "--labels": "labels.csv", "--source": "human", "--out": "p.json"}
    main(["passport", "run.yaml", *(word for option in options.items() for word in option)])
    found = evaluated(server, block={"passport": "p.json"})
    [metric] = found.eval_metric_result_per_invocation[0].eval_metric_results
    [why, *_] = [str(row.rationale).splitlines()[-1] for row in metric.details.rubric_scores or ()]
    assert why.startswith("why: the passport certifies no answer to polite: 1 independent label tells too little")
