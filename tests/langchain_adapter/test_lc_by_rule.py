"""LangChain's evaluators that compare by rule are called once, unperturbed, and answer as they do by themselves."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langchain_classic.evaluation import load_evaluator as classic_load
from langchain_classic.evaluation.parsing.base import JsonEqualityEvaluator
from langchain_classic.evaluation.parsing.json_distance import JsonEditDistanceEvaluator
from langchain_core.embeddings import DeterministicFakeEmbedding
from pydantic import BaseModel, Field
from support.openai_server import OpenAIServer, Reply, chat_model

from judgeharness_integrations import AnswerCase, CalibrationSet, JudgeHarness
from judgeharness_integrations.judging.adapters import JudgeSpec
from judgeharness_langchain import EvaluatorJudge, harness_evaluator
from judgeharness_langchain.adapter import ADAPTER

Serve = Callable[..., OpenAIServer]


class Person(BaseModel):
    """A schema as a class."""

    born: int


class Embedding(DeterministicFakeEmbedding):
    """An embedding model that tells its name."""

    model: str = "counting"
    asked: list[str] = Field(default_factory=list)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Count."""
        self.asked.extend(texts)
        return super().embed_documents(texts)

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        """Count."""
        return self.embed_documents(texts)


def half(first: Any, second: Any) -> float:
    return 1.0 if first == second else 0.5


def other(first: Any, second: Any) -> float:
    return 0.0 if first == second else 1.0


ADA, BOB = '{"born": 1815}', '{"born": "?"}'
SAME = {"prediction": "Paris", "reference": "Paris"}
ONCE = "{} asks no model: called once, unperturbed"
BY_RULE = pytest.mark.parametrize(
    ("name", "options", "given", "verdict"),
    [
        ("exact_match", {"ignore_case": True}, {"prediction": "A", "reference": "a"}, "PASS"),
        ("regex_match", {"flags": re.IGNORECASE}, {"prediction": "Paris.", "reference": "^paris$"}, "FAIL"),
        ("json_validity", {}, {"prediction": "{"}, "FAIL"),
        ("json_equality", {}, {"prediction": ADA, "reference": '{ "born": 1815}'}, "PASS"),
        ("json_equality", {}, {"prediction": {"born": 1815}, "reference": {"born": 1816}}, "FAIL"),
        ("json_equality", {"operator": half}, {"prediction": ADA, "reference": BOB}, 0.5),
        ("json_edit_distance", {"string_distance": half}, {"prediction": ADA, "reference": BOB}, 0.5),
        ("json_schema_validation", {}, {"prediction": ADA, "reference": Person}, "PASS"),
        ("json_schema_validation", {}, {"prediction": BOB, "reference": Person.model_json_schema()}, "FAIL"),
    ],
)
HARNESSES = pytest.mark.parametrize("harness", [None, JudgeHarness.thorough("any"), JudgeHarness.standard("scores")])


@BY_RULE
@HARNESSES
def test_a_rule_is_called_once_and_answers_as_by_itself(
    name: str, options: dict[str, Any], given: dict[str, Any], verdict: Any, harness: JudgeHarness | None
) -> None:
    evaluator = classic_load(name, **options)  # type: ignore[arg-type]
    bare = evaluator.evaluate_strings(**given)  # type: ignore[union-attr]
    harnessed = harness_evaluator(evaluator, harness)
    for answer in (harnessed.evaluate_strings(**given), asyncio.run(harnessed.aevaluate_strings(**given))):
        measured = answer.pop("harness")
        assert answer == bare
        assert type(answer["score"]) is type(bare["score"])
        assert (measured["verdict"], measured["usage"]["calls"]) == (verdict, 1)
        assert measured["warnings"] == [ONCE.format(name)]


@pytest.mark.parametrize(
    ("name", "face", "second"),
    [
        ("embedding_distance", "evaluate_strings", "reference"),
        ("pairwise_embedding_distance", "evaluate_string_pairs", "prediction_b"),
    ],
)
def test_a_distance_of_embeddings_is_asked_once_with_all_faces(name: str, face: str, second: str) -> None:
    pytest.importorskip("numpy")
    given = {"prediction": "Paris", second: "Pairs"}
    model = Embedding(size=4)
    evaluator: Any = classic_load(name, embeddings=model)  # type: ignore[arg-type]
    harnessed = harness_evaluator(evaluator)
    bare = getattr(evaluator, face)(**given)
    model.asked.clear()
    answer = getattr(harnessed, face)(**given)
    assert model.asked == ["Paris", "Pairs"]
    assert answer["score"] == bare["score"] == answer["harness"]["verdict"]
    assert "asks an embedding model, which answers alike each time" in answer["harness"]["warnings"][0]
    expected = evaluator.invoke(given)
    found = [harnessed.invoke(given), asyncio.run(harnessed.ainvoke(given)), *harnessed.batch([given])]
    assert [{key: one[key] for key in expected} for one in found] == [expected] * 3
    assert all(one["harness"]["usage"]["calls"] == 1 for one in found)
    assert harnessed.judge.identity.model == "counting"


@pytest.mark.parametrize(
    ("name", "face", "second"),
    [
        ("string_distance", "evaluate_strings", "reference"),
        ("pairwise_string_distance", "evaluate_string_pairs", "prediction_b"),
    ],
)
def test_a_distance_of_texts_is_its_own(name: str, face: str, second: str) -> None:
    pytest.importorskip("rapidfuzz")
    evaluator, given = classic_load(name), {"prediction": "Paris", second: "Pairs"}  # type: ignore[arg-type]
    answer = getattr(harness_evaluator(evaluator), face)(**given)
    assert answer["score"] == getattr(evaluator, face)(**given)["score"] == answer["harness"]["verdict"]


def test_what_else_a_rule_has_stays_at_hand() -> None:
    harnessed = harness_evaluator(JsonEqualityEvaluator(operator=half))
    assert (harnessed.operator, harnessed._parse_json(ADA)) == (half, {"born": 1815})
    with pytest.raises(AttributeError, match="oprator"):
        _ = harnessed.oprator


def test_what_the_rule_raises_is_raised() -> None:
    given = {"prediction": "a", "reference": "("}
    harnessed = harness_evaluator(classic_load("regex_match"))  # type: ignore[arg-type]
    with pytest.raises(re.error):
        harnessed.evaluate_strings(**given)
    with pytest.raises(ValueError, match="requires a reference string"):
        harnessed.evaluate_strings(prediction="a")
    reported = harness_evaluator(classic_load("regex_match"), on_not_graded="report")  # type: ignore[arg-type]
    assert reported.evaluate_strings(**given)["harness"]["status"] == "not_graded"


def test_a_rule_is_recognised_and_stands_in_a_configuration() -> None:
    case = AnswerCase(case_id="a", output="Paris", reference="paris")
    recognised = ADAPTER.recognise(classic_load("exact_match"))  # type: ignore[arg-type, misc]
    spec = JudgeSpec(
        name="same",
        evaluator="exact_match",
        evaluator_options={"ignore_case": True},
        model_options={},
    )
    built = ADAPTER.build_judge(spec)
    for judge, verdict, name in ((recognised, "FAIL", "exact_match"), (built, "PASS", "same")):
        result = JudgeHarness.standard("labels").evaluate(judge, case)  # type: ignore[arg-type]
        assert (result.only.verdict, len(result.rows), result.warnings) == (verdict, 1, (ONCE.format(name),))


def test_a_saved_calibration_holds_for_the_same_rule_alone(tmp_path: Path) -> None:
    cases = tuple((AnswerCase(case_id=text, output=text, reference="Paris"), "PASS") for text in ("Paris", "paris"))
    bare: Any = classic_load("exact_match")  # type: ignore[arg-type]
    report = JudgeHarness.standard("labels").calibrate(EvaluatorJudge.of(bare), CalibrationSet("people", cases))
    path = report.save(tmp_path / "calibration.json")
    for options, recall in (({}, 0.5), ({"ignore_case": True}, None)):
        again: Any = classic_load("exact_match", **options)  # type: ignore[arg-type]
        answer = harness_evaluator(again, calibration=path).evaluate_strings(**SAME)
        measured = answer["harness"]["calibrated_recall"]
        assert (measured and measured["value"]) == recall


def test_functions_of_ones_own_are_known_by_their_source() -> None:
    def identity(operator: Any) -> Any:
        return EvaluatorJudge.of(JsonEqualityEvaluator(operator=operator))

    assert identity(half).identity == identity(half).identity is not None
    assert identity(half).identity != identity(other).identity
    assert identity(lambda a, b: True).identity is None
    assert "`operator`: a lambda has no name" in str(identity(lambda a, b: True).unidentified)
    unknown = EvaluatorJudge.of(JsonEditDistanceEvaluator(string_distance=half, canonicalize=str))
    assert unknown.unidentified == "its `_canonicalize` is a type, which cannot be compared with another one"
    unnamed = EvaluatorJudge.of(classic_load("embedding_distance", embeddings=DeterministicFakeEmbedding(size=4)))  # type: ignore[arg-type]
    assert "does not tell its name" in str(unnamed.unidentified)


Exact: Any = type(classic_load("exact_match"))


class Lenient(Exact):
    """A rule of LangChain's, set by one's own class."""

    strictness = "low"

    def __init__(self) -> None:
        super().__init__(ignore_case=True)

    @property
    def evaluation_name(self) -> str:
        return "lenient"

    def describe(self) -> str:
        return self.strictness


class Asking(Exact):
    """A judge behind the name of a rule."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def _evaluate_strings(self, **given: Any) -> dict[str, Any]:
        return {"score": int("yes" in self.model.invoke(f"Is it right? {given}").text)}


class Parsing(JsonEqualityEvaluator):
    """A rule whose helper is one's own."""

    def _parse_json(self, string: Any) -> Any:
        return {"as": str(string)}


def test_a_subclass_that_leaves_the_rule_alone_is_called_once() -> None:
    judge = EvaluatorJudge.of(Lenient())
    assert (judge.asked_once, judge.name) == ("asks no model", "lenient")
    assert any("describe" in name for name in (judge.identity.parameters if judge.identity else ()))
    answer = harness_evaluator(Lenient()).evaluate_strings(prediction="paris", reference="Paris")
    assert (answer["score"], answer["harness"]["usage"]["calls"]) == (1, 1)


def test_a_subclass_that_evaluates_by_itself_is_sampled_as_a_judge_is(openai_server: Serve) -> None:
    server = openai_server([Reply.text("yes"), Reply.text("no")])
    evaluator = Asking(chat_model(server))
    judge = EvaluatorJudge.of(evaluator)
    assert (judge.asked_once, judge.identity) == (None, None)
    assert "`model` is a ChatOpenAI" in str(judge.unidentified)
    harness = JudgeHarness.standard("labels", max_concurrency=1)
    harnessed = harness_evaluator(evaluator, harness).evaluate_strings(prediction="Paris is it", reference="Paris")
    assert server.calls == 6
    assert harnessed["harness"]["status"] == "abstained"
    assert EvaluatorJudge.of(Parsing()).asked_once is None
    assert EvaluatorJudge.of(Parsing()).identity is not None
