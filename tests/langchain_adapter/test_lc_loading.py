"""`load_evaluator`: names and options that do not exist are refused, with or without LangChain's evaluators."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_classic.evaluation import CriteriaEvalChain, EvaluatorType, PairwiseStringEvalChain
from langchain_core.language_models.fake_chat_models import FakeListChatModel

from judgeharness_integrations._errors import NotInstalledError, UnknownNameError, UsageError
from judgeharness_langchain import CriteriaJudge, PairwiseJudge, ScoreJudge, load_evaluator, loading
from judgeharness_langchain.loading import build_evaluator

pytestmark = pytest.mark.filterwarnings("ignore:langchain-classic is not installed")


def model() -> FakeListChatModel:
    return FakeListChatModel(responses=["[[A]]"])


@pytest.fixture
def without_classic(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "_PACKAGES", ("no_such_langchain.evaluation",))


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("pairwise_string", {"critera": "x"}, "unknown option of pairwise_string 'critera': did you mean 'criteria'"),
        ("labeled_score_string", {"normalise_by": 10}, "did you mean 'normalize_by'"),
        ("criteria", {"promt": None}, "did you mean 'prompt'"),
        ("qa", {"zzz": 1}, "unknown option of qa 'zzz': known: .*prompt"),
        ("exact_match", {"ignore_cases": True}, "unknown option of exact_match 'ignore_cases': did you mean"),
        ("pairwise_strng", {}, "unknown evaluator 'pairwise_strng': did you mean 'pairwise_string'"),
    ],
)
def test_unknown_names_and_options_are_refused(name: str, options: dict[str, Any], words: str) -> None:
    with pytest.raises(UnknownNameError, match=words):
        load_evaluator(name, llm=model(), **options)


def test_the_model_is_no_option_to_suggest() -> None:
    with pytest.raises(UnknownNameError) as caught:
        build_evaluator("qa", llm=model(), zzzzz=1)
    assert "llm," not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("pairwise_string", {"criteria": "conciseness", "verbose": False, "tags": ["t"]}),
        ("score_string", {"normalize_by": 10}),
        ("labeled_criteria", {"criteria": "correctness", "llm_kwargs": {"stop": ["x"]}}),
        ("context_qa", {"metadata": {"a": 1}}),
        ("exact_match", {"ignore_case": True}),
        ("json_equality", {"operator": None}),
        ("json_edit_distance", {"string_distance": len, "canonicalize": str}),
    ],
)
def test_options_that_exist_reach_the_evaluator(name: str, options: dict[str, Any]) -> None:
    evaluator = build_evaluator(name, llm=model(), **options)
    for option in {"normalize_by", "tags", "llm_kwargs", "metadata", "ignore_case"} & options.keys():
        assert getattr(evaluator, option) == options[option]


def test_an_evaluator_type_is_as_good_as_its_name() -> None:
    assert isinstance(build_evaluator(EvaluatorType.CRITERIA, llm=model()), CriteriaEvalChain)


def test_without_a_model_langchains_default_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "unused")
    built = build_evaluator("pairwise_string")
    assert isinstance(built, PairwiseStringEvalChain)
    assert built.llm.model_name == "gpt-4"  # type: ignore[attr-defined]
    with pytest.raises(UnknownNameError, match="critera"):
        build_evaluator("pairwise_string", critera="x")


@pytest.mark.usefixtures("without_classic")
@pytest.mark.parametrize(
    ("name", "kind", "labeled"),
    [
        ("pairwise_string", PairwiseJudge, False),
        ("labeled_pairwise_string", PairwiseJudge, True),
        ("labeled_score_string", ScoreJudge, True),
        ("criteria", CriteriaJudge, False),
    ],
)
def test_our_judges_take_the_place_of_langchains(name: str, kind: type[Any], labeled: bool) -> None:  # noqa: FBT001
    with pytest.warns(UserWarning, match=f"langchain-classic is not installed: {kind.__name__} judges"):
        judge = build_evaluator(name, llm=model())
    assert isinstance(judge, kind)
    assert (judge.name, judge.requires_input, judge.requires_reference) == (name, True, labeled)


@pytest.mark.usefixtures("without_classic")
def test_what_our_judges_cannot_replace_is_refused() -> None:
    with pytest.raises(NotInstalledError, match=r"\[langchain-classic\]"):
        build_evaluator("exact_match", llm=model())
    with pytest.raises(UsageError, match="needs a model"):
        build_evaluator("criteria")
    with pytest.raises(UnknownNameError, match="unknown option of CriteriaJudge 'critera': did you mean 'criteria'"):
        build_evaluator("criteria", llm=model(), critera="x")
