"""Calibrated, expired, uncalibrated: what the metadata says of it."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from openevals.code.pyright import create_pyright_evaluator
from openevals.exact import exact_match
from openevals.json import create_json_match_evaluator
from openevals.llm import create_async_llm_as_judge, create_llm_as_judge
from openevals.string.embedding_similarity import create_embedding_similarity_evaluator
from openevals.trajectory.match import create_trajectory_match_evaluator
from support.openai_server import Reply, Request, chat_model
from support.openevals_judging import CASE, PROMPT, Serve, scored, told

from judgeharness_integrations import AnswerCase, CalibrationSet, JudgeHarness
from judgeharness_integrations._errors import UsageError
from judgeharness_openevals import harness_judge

LABELS = CalibrationSet(
    "people_v1",
    (
        (AnswerCase(case_id="a", input="What is the capital of France?", output="It is Paris."), "PASS"),
        (AnswerCase(case_id="b", input="What is the capital of Spain?", output="It is Paris."), "FAIL"),
        (AnswerCase(case_id="c", input="What is the capital of Italy?", output="It is Paris."), "FAIL"),
    ),
)
RATES = ("calibrated_precision", "calibrated_recall", "calibration_validity", "calibration_n")


def knows_france(request: Request) -> Reply:
    return scored("France" in request.user or "Spain" in request.user)


def rates(answer: dict[str, Any]) -> list[Any]:
    return [answer["metadata"][name] for name in RATES]


@pytest.mark.slow
def test_a_saved_calibration_holds_for_the_sync_and_the_async_judge(openai_server: Serve, tmp_path: Path) -> None:
    model = chat_model(openai_server(knows_france))
    bare = create_llm_as_judge(prompt=PROMPT, judge=model)
    report = JudgeHarness.standard("labels").calibrate(harness_judge(bare).judge, LABELS)
    report.save(path := tmp_path / "calibration.json")
    asynchronous = create_async_llm_as_judge(prompt=PROMPT, judge=model)
    for judge in (harness_judge(bare, calibration=report), harness_judge(asynchronous, calibration=path)):
        answer = told(judge, **CASE)
        assert rates(answer) == [0.5, 1.0, "valid", 3]
        assert answer["metadata"]["harness"]["calibration"]["source"] == "people_v1"


@pytest.mark.slow
def test_another_prompt_expires_it_and_none_is_no_calibration(openai_server: Serve) -> None:
    model = chat_model(openai_server(knows_france))
    report = JudgeHarness.standard("labels").calibrate(
        harness_judge(create_llm_as_judge(prompt=PROMPT, judge=model)).judge, LABELS
    )
    other = create_llm_as_judge(prompt=f"Be kind. {PROMPT}", judge=model)
    assert rates(harness_judge(other, calibration=report)(**CASE)) == [None, None, "expired", None]
    assert rates(harness_judge(other)(**CASE)) == [None, None, None, None]


def short(outputs: str, inputs: str = "") -> bool:
    return len(outputs) < 20


def long(outputs: str, inputs: str = "") -> bool:
    return len(outputs) >= 20


def test_a_function_is_known_again_by_its_source(tmp_path: Path) -> None:
    harness = JudgeHarness.standard("labels")
    path = harness.calibrate(harness_judge(short).judge, LABELS).save(tmp_path / "calibration.json")
    for function, validity in ((short, "valid"), (long, "expired"), (lambda outputs: True, "unverifiable")):
        answer: Any = harness_judge(function, harness, calibration=path)(outputs="It is Paris.")
        assert answer["metadata"]["calibration_validity"] == validity


@pytest.mark.parametrize(
    ("factory", "other"),
    [
        (lambda: exact_match, create_json_match_evaluator()),
        (create_json_match_evaluator, create_json_match_evaluator(exclude_keys=["born"])),
        (create_trajectory_match_evaluator, create_trajectory_match_evaluator(tool_args_match_mode="ignore")),
        (create_embedding_similarity_evaluator, create_embedding_similarity_evaluator(algorithm="dot_product")),
    ],
)
def test_a_comparison_is_known_again_by_how_it_is_set(factory: Any, other: Any) -> None:
    known, again, different = (harness_judge(one).judge.identity for one in (factory(), factory(), other))
    assert known is not None
    assert (known == again, known == different) == (True, False)
    assert known.parameters["versions"] == {"openevals": version("openevals")}


def test_a_saved_calibration_holds_for_a_comparison(tmp_path: Path) -> None:
    labels = CalibrationSet(
        "people_v1",
        tuple((AnswerCase(case_id=text, output=text, reference="Paris"), "PASS") for text in ("Paris", "It is Paris")),
    )
    judge: Any = exact_match
    report = JudgeHarness.standard("labels").calibrate(harness_judge(judge).judge, labels)
    path = report.save(tmp_path / "calibration.json")
    harnessed = harness_judge(judge, JudgeHarness.standard("labels"), calibration=path)
    assert rates(harnessed(outputs="Paris", reference_outputs="Paris"))[1:] == [0.5, "valid", 2]


def test_what_a_comparison_is_set_by_may_be_unknown() -> None:
    matchers = {"search": lambda a, b: a == b}
    judge = harness_judge(create_trajectory_match_evaluator(tool_args_match_overrides=matchers)).judge  # type: ignore[arg-type]
    assert judge.identity is None
    assert "a lambda has no name" in judge.unidentified
    tool = harness_judge(create_pyright_evaluator()).judge
    assert (tool.identity, tool.unidentified) == (None, "it runs a tool, whose version and settings are not known")


@pytest.mark.slow
@pytest.mark.parametrize("known", [True, False])
def test_a_label_set_is_measured_once_for_all_calls(openai_server: Serve, *, known: bool) -> None:
    server = openai_server(knows_france)
    bare = create_llm_as_judge(prompt=PROMPT, judge=chat_model(server))
    judge = harness_judge(
        bare if known else (lambda inputs, outputs: bare(inputs=inputs, outputs=outputs)),
        JudgeHarness.standard("labels", calibration_set=LABELS),
    )
    first, second = judge(**CASE), judge(**CASE)
    assert server.calls == 6 * (2 + len(LABELS.labeled_examples))
    assert rates(first) == rates(second)
    assert first["metadata"]["calibration_validity"] == "valid"
    assert first["comment"] == "because"


@pytest.mark.slow
def test_one_sample_beside_a_label_set_is_the_cases_own(openai_server: Serve) -> None:
    harness = JudgeHarness(perturbations=["none"], repetitions=1, aggregation_rule="majority", calibration_set=LABELS)
    judge = harness_judge(create_llm_as_judge(prompt=PROMPT, judge=chat_model(openai_server(knows_france))), harness)
    assert judge(**CASE)["score"] is True
    assert judge(inputs="Italy?", outputs="It is Paris.")["score"] is False


@pytest.mark.slow
def test_a_calibration_of_scores_has_no_precision(openai_server: Serve) -> None:
    server = openai_server([scored(0.5)])
    labels = CalibrationSet("scored", ((AnswerCase(case_id="a", input="q", output="an answer"), 0.5),))
    judge = harness_judge(create_llm_as_judge(prompt=PROMPT, judge=chat_model(server), continuous=True))
    report = judge.harness.calibrate(judge.judge, labels)
    again = harness_judge(create_llm_as_judge(prompt=PROMPT, judge=chat_model(server), continuous=True), None, report)
    assert rates(again(**CASE)) == [None, None, "valid", 1]


@pytest.mark.slow
def test_two_calibrations_are_one_too_many(openai_server: Serve) -> None:
    bare = create_llm_as_judge(prompt=PROMPT, judge=chat_model(openai_server(knows_france)))
    harness = JudgeHarness.standard("labels", calibration_set=LABELS)
    report = JudgeHarness.standard("labels").calibrate(harness_judge(bare).judge, LABELS)
    with pytest.raises(UsageError, match="has a calibration already"):
        harness_judge(bare, harness, report)
