"""Evaluators that ask no model are called once, as they are; what is compared by equality is never reformatted."""

from __future__ import annotations

import functools
import json
from typing import Any

import pytest
from agentevals.graph_trajectory.strict import graph_trajectory_strict_match, graph_trajectory_strict_match_async
from agentevals.trajectory import match as agentevals_match
from langchain_core.language_models import FakeListChatModel
from openevals.code import pyright
from openevals.exact import exact_match, exact_match_async
from openevals.json import create_async_json_match_evaluator, create_json_match_evaluator
from openevals.string.embedding_similarity import create_embedding_similarity_evaluator
from openevals.string.levenshtein import levenshtein_distance, levenshtein_distance_async
from openevals.trajectory.match import create_async_trajectory_match_evaluator, create_trajectory_match_evaluator
from support.openai_server import Reply, chat_model
from support.openevals_judging import Serve, told, without

from judgeharness_integrations import AnswerCase, CalibrationSet, JudgeHarness
from judgeharness_integrations.analysis.result import HarnessResult
from judgeharness_integrations.judging.structured import structured_case
from judgeharness_openevals import OpenevalsJudge, harness_judge
from judgeharness_openevals.asking import comparison_of

SAID = [{"role": "user", "content": "Rain?"}, {"role": "assistant", "content": "It rains in Oslo today."}]
STEPS = {"inputs": [], "results": [{}], "steps": [["agent", "tools"]]}
PERSON = {"name": "Ada Lovelace of London", "born": 1815}
OTHER = {"name": "Ada Lovelace of London", "born": 1816}
FACTORIES = pytest.mark.parametrize("factory", [create_json_match_evaluator, create_async_json_match_evaluator])
RUBRIC = {"bio": "Says the same."}
EXACT: Any = exact_match
DISTANCE: Any = levenshtein_distance
MODEL = FakeListChatModel(responses=["x"])
BIOS = ({"bio": "She wrote programs.", **PERSON}, {"bio": "She was a programmer.", **OTHER})


@pytest.mark.parametrize(
    ("evaluator", "name", "given", "score"),
    [
        (exact_match, "exact_match", "It is Paris.", True),
        (exact_match_async, "exact_match", "It is Paris.", True),
        (levenshtein_distance, "levenshtein_distance", "It is Paris.", 1.0),
        (levenshtein_distance_async, "levenshtein_distance", "It is Paris.", 1.0),
        (create_trajectory_match_evaluator(), "trajectory_strict_match", SAID, True),
        (create_async_trajectory_match_evaluator(), "trajectory_strict_match", SAID, True),
        (agentevals_match.create_trajectory_match_evaluator(), "trajectory_strict_match", SAID, True),
        (agentevals_match.create_async_trajectory_match_evaluator(), "trajectory_strict_match", SAID, True),
        (graph_trajectory_strict_match, "graph_trajectory_strict_match", STEPS, True),
        (graph_trajectory_strict_match_async, "graph_trajectory_strict_match", STEPS, True),
    ],
)
@pytest.mark.parametrize("harness", [None, JudgeHarness.standard("labels", min_valid=4), JudgeHarness.thorough("any")])
def test_what_asks_no_model_is_called_once(
    evaluator: Any, name: str, given: Any, score: Any, harness: JudgeHarness | None
) -> None:
    bare = told(evaluator, outputs=given, reference_outputs=given)
    answer = told(harness_judge(evaluator, harness), outputs=given, reference_outputs=given)
    assert without(answer, "metadata") == without(bare, "metadata")
    assert (answer["score"], answer["metadata"]["planned_samples"]) == (score, 1)
    document = answer["metadata"]["harness"]
    assert (document["perturbations"], document["repetitions"], document["informal"]) == (["none"], 1, True)
    assert document["warnings"] == [f"{name} asks no model: called once, unperturbed"]


def test_the_result_says_so_by_every_entry(tmp_path: Any) -> None:
    harness = JudgeHarness.standard("labels")
    case = structured_case(case_id="a", outputs="Paris", reference_outputs="Paris")
    for judge in (EXACT, OpenevalsJudge.of(EXACT)):
        assert harness.plan(judge, [case]).total == 1
        result = harness.evaluate(judge, case)
        assert (result.verdict, len(result.rows), result.design) == ("PASS", 1, harness.design_for(judge))
        assert "warning: exact_match asks no model: called once, unperturbed" in result.report()
        assert HarnessResult.from_dict(result.to_dict(rows=True)) == result
    assert harness.design_for(lambda case: "PASS") is harness.design


def test_a_rule_for_the_other_kind_or_for_two_orders_folds_one_sample() -> None:
    texts = {"outputs": "It is Paris.", "reference_outputs": "It is Paris!"}
    for rule in ("supermajority(2/3)", "swap_consensus", "median(pass_at=0.5)"):
        harness = JudgeHarness(perturbations=["none", "position_swap"], repetitions=2, aggregation_rule=rule)
        case = structured_case(case_id="a", **texts)
        verdicts = [harness.evaluate(judge, case).verdict for judge in (EXACT, DISTANCE)]
        near = pytest.approx(11 / 12) if rule != "median(pass_at=0.5)" else "PASS"
        assert verdicts == ["FAIL", near]


def test_what_it_raises_is_raised() -> None:
    with pytest.raises(ValueError, match="requires both outputs and reference_outputs"):
        harness_judge(exact_match)(outputs="a", reference_outputs=None)


def test_an_exact_match_can_be_calibrated() -> None:
    labels = [(AnswerCase(case_id=str(n), output=o, reference="Paris"), "PASS") for n, o in enumerate(("Paris", "X"))]
    report = JudgeHarness.standard("labels").calibrate(EXACT, CalibrationSet("people", tuple(labels)))
    recall = report.criteria["exact_match"].recall
    assert recall is not None
    assert recall.value == 0.5


@FACTORIES
def test_keys_compared_by_equality_fold_as_labels(factory: Any) -> None:
    bare = told(factory(), outputs=PERSON, reference_outputs=OTHER)
    answer = told(harness_judge(factory()), outputs=PERSON, reference_outputs=OTHER)
    assert [(part["key"], part["score"]) for part in answer] == [("json_match:born", 0), ("json_match:name", 1)]
    assert [without(part, "metadata") for part in answer] == [without(part, "metadata") for part in bare]
    assert [part["metadata"]["verdict"] for part in answer] == ["FAIL", "PASS"]
    (warning,) = answer[0]["metadata"]["harness"]["warnings"]
    assert warning == "json_match asks no model: called once, unperturbed"


@FACTORIES
@pytest.mark.parametrize(("aggregator", "score", "verdict"), [("all", 0, "FAIL"), ("average", 0.5, 0.5)])
def test_aggregated_keys(factory: Any, aggregator: Any, score: float, verdict: Any) -> None:
    (answer,) = told(harness_judge(factory(aggregator=aggregator)), outputs=PERSON, reference_outputs=OTHER)
    assert (answer["key"], answer["score"]) == (f"json_match:{aggregator}", score)
    assert answer["metadata"]["verdict"] == verdict


@pytest.mark.sampled(2)
@FACTORIES
@pytest.mark.parametrize("key", ["bio", "bio_0"], ids=["one", "several"])
def test_a_rubric_has_only_its_own_keys_perturbed(openai_server: Serve, factory: Any, key: str) -> None:
    server, several = openai_server([Reply.json({key: {"reasoning": "so", "score": True}})]), key != "bio"
    judge = harness_judge(factory(judge=chat_model(server), rubric=RUBRIC), JudgeHarness.quick("any"))
    outputs, reference = ([one] if several else one for one in BIOS)
    answer = told(judge, outputs=outputs, reference_outputs=reference)
    scores = {part["key"].rpartition(":")[2]: part["score"] for part in answer}
    assert scores == {"bio": 1, "name": 1, "born": 0}
    assert [type(part["score"]) for part in answer if part["key"].endswith("name")] == [int]
    assert [part["metadata"]["verdict"] for part in answer] == ["PASS", "FAIL", "PASS"]  # bio, born, name
    shown = {request.user for request in server.requests}
    assert len(shown) == 2  # as it is, and in another format
    assert not any("warnings" in part["metadata"]["harness"] and "asks no" in str(part) for part in answer)


@pytest.mark.sampled(8)
@FACTORIES
@pytest.mark.parametrize("reply", [Reply.text("no JSON"), Reply.status(401)], ids=["unread", "dead"])
@pytest.mark.parametrize(
    ("options", "keys"),
    [
        ({"aggregator": "all"}, ["json_match:all"]),
        ({"aggregator": "average", "list_aggregator": "all"}, ["json_match:average"]),
        ({}, ["json_match:bio", "json_match:born", "json_match:name"]),
        ({"exclude_keys": ["born"]}, ["json_match:bio", "json_match:name"]),
    ],
    ids=["all", "average", "keys", "without"],
)
@pytest.mark.parametrize("several", [False, True], ids=["one", "several"])
def test_a_list_stays_a_list_where_nothing_could_be_read(
    *, openai_server: Serve, factory: Any, reply: Reply, options: dict[str, Any], keys: list[str], several: bool
) -> None:
    evaluator = factory(judge=chat_model(openai_server([reply])), rubric=RUBRIC, **options)
    judge = harness_judge(evaluator, JudgeHarness.quick("any"), on_not_graded="report")
    outputs, reference = ([one] if several else one for one in BIOS)
    answer = told(judge, outputs=outputs, reference_outputs=reference)
    assert [(part["key"], part["score"]) for part in answer] == [(key, None) for key in keys]
    assert all(part["comment"].startswith("not graded: ") for part in answer)
    assert {part["metadata"]["status"] for part in answer} == {"not_graded"}


def test_no_key_of_a_rubric_is_nothing_to_reformat() -> None:
    judge = harness_judge(create_json_match_evaluator(judge=MODEL, rubric={"gone": "?"})).judge
    for outputs in (PERSON, [PERSON], "a text"):
        viewed = judge.view(structured_case(case_id="a", outputs=outputs, reference_outputs=outputs))
        assert viewed.texts() == ()
        assert (viewed.with_texts(str.upper).outputs, judge.view(viewed)) == (outputs, viewed)


def test_tools_that_check_code_ask_no_model_unless_one_finds_the_code() -> None:
    checked = pyright.create_pyright_evaluator()
    assert comparison_of(checked).asked_once == "asks no model"  # type: ignore[union-attr]
    assert harness_judge(checked).judge.key == "pyright_succeeded"
    asks = pyright.create_pyright_evaluator(code_extraction_strategy="llm", client=MODEL)
    assert comparison_of(asks) is None


MATCHERS = pytest.mark.parametrize(
    "factory",
    [
        create_trajectory_match_evaluator,
        create_async_trajectory_match_evaluator,
        agentevals_match.create_trajectory_match_evaluator,
        agentevals_match.create_async_trajectory_match_evaluator,
    ],
)


def _searching(words: str) -> list[dict[str, Any]]:
    call = {"function": {"name": "search", "arguments": json.dumps({"q": words})}}
    return [{"role": "user", "content": "Rain?"}, {"role": "assistant", "content": "", "tool_calls": [call]}]


@MATCHERS
def test_a_matcher_of_the_callers_own_may_ask_a_model_and_is_sampled(factory: Any) -> None:
    asked: list[dict[str, Any]] = []

    def alike(output: dict[str, Any], reference: dict[str, Any]) -> bool:
        asked.append(output)
        return len(asked) != 2  # changes its mind once

    harness = JudgeHarness(perturbations=["none"], repetitions=3, aggregation_rule="majority")
    judge = harness_judge(factory(tool_args_match_overrides={"search": alike}), harness)
    answer = told(judge, outputs=_searching("Oslo rain"), reference_outputs=_searching("rain in Oslo"))
    assert (answer["key"], answer["score"], len(asked)) == ("trajectory_strict_match", True, 3)
    assert "asks no model" not in str(answer)


@MATCHERS
def test_matchers_that_are_names_are_called_once(factory: Any) -> None:
    judge = harness_judge(factory(tool_args_match_overrides={"search": "ignore", "read": ["path"]})).judge
    assert judge.asked_once == "asks no model"


def test_code_that_a_function_of_the_callers_own_finds_is_checked_each_time() -> None:
    for factory in (pyright.create_pyright_evaluator, pyright.create_async_pyright_evaluator):
        assert harness_judge(factory(code_extractor=str)).judge.asked_once is None


def test_a_function_that_wraps_an_exact_match_is_the_callers_own() -> None:
    asked: list[str] = []

    @functools.wraps(exact_match)
    def same(*, outputs: str, reference_outputs: str) -> dict[str, Any]:
        asked.append(outputs)
        return {"key": "same", "score": outputs.lower() == reference_outputs.lower()}

    harness = JudgeHarness(perturbations=["none"], repetitions=3, aggregation_rule="majority")
    answer = told(harness_judge(same, harness), outputs="paris", reference_outputs="Paris")
    assert (comparison_of(same), answer["score"], len(asked)) == (None, True, 3)


def test_an_embedding_is_the_same_each_time() -> None:
    compared = comparison_of(create_embedding_similarity_evaluator())
    assert compared is not None
    assert compared.asked_once == "asks an embedding model, which answers alike each time"
    assert compared.name == "embedding_similarity"


def test_a_function_of_ones_own_is_sampled() -> None:
    def same(outputs: str, reference_outputs: str) -> int:
        return int(outputs == reference_outputs)

    assert comparison_of(same) is None
    assert harness_judge(same).judge.asked_once is None


@pytest.mark.sampled(2)
@FACTORIES
@pytest.mark.parametrize("rubric", [None, RUBRIC])
def test_json_match_is_given_no_inputs_as_langsmith_gives_it_none(
    factory: Any, rubric: Any, openai_server: Serve
) -> None:
    model = chat_model(openai_server([Reply.json({"bio": {"reasoning": "yes", "score": True}})]))
    options = {} if rubric is None else {"rubric": rubric, "judge": model}
    outputs, reference = BIOS
    judge = harness_judge(factory(**options), JudgeHarness.single("any"))
    found = told(judge, inputs={"q": "Who?"}, outputs=outputs, reference_outputs=reference)
    assert {one["key"]: one["score"] for one in found}["json_match:name"] == 1
