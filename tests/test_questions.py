"""Typed questions: what stands in them, their other forms, and what their probabilities say."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgeharness_integrations import AnswerCase, Criterion, PairwiseCase
from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.judging.cases import Presentation, QuestionForm
from judgeharness_integrations.judging.execution.preparing import content_digest
from judgeharness_integrations.judging.questions import (
    INSTRUCTIONS,
    Question,
    answer_of,
    default_instructions,
    question_of,
    state_of,
    unchanged,
)

PAIR = PairwiseCase(case_id="p", input="q", output="left", output_b="right", context="c", reference="r")
LABELS = Criterion(name="tone", labels=("formal", "casual", "rude"))
YES_NO = Criterion(name="polite", description="is it polite")
SCORE = Criterion(name="depth", scale=(1, 4))


def asked(criterion: Criterion, *, pairwise: bool = False, **options: Any) -> Question:
    return question_of(criterion, "key", pairwise=pairwise, **options)


def test_two_answers_are_a_choice_of_their_names_and_a_tie() -> None:
    question = asked(Criterion(name="help"), pairwise=True, slots=("X", "Y"))
    assert question.kind == "choice"
    assert [(option.value, option.label) for option in question.options] == [("X", "A"), ("Y", "B"), ("TIE", "TIE")]
    assert question.options[1].description == "The answer of Y is better."
    two = asked(Criterion(name="help", labels=("A", "B")), pairwise=True)
    assert two.labels == ("A", "B")


def test_labels_are_a_choice_scores_levels_and_the_rest_yes_or_no() -> None:
    described = {"rude": "It insults."}
    assert [(one.value, one.description) for one in asked(LABELS, described=described).options] == [
        ("formal", ""),
        ("casual", ""),
        ("rude", "It insults."),
    ]
    assert (asked(YES_NO).kind, asked(YES_NO).labels) == ("yes_no", ("PASS", "FAIL"))
    assert (asked(SCORE).kind, asked(SCORE).labels) == ("score", ("1", "2", "3", "4"))
    assert asked(Criterion(name="x", labels=("FAIL", "PASS")), pairwise=True).kind == "yes_no"
    assert asked(Criterion(name="x", labels=("A", "B"))).kind == "choice"


def test_a_question_says_its_criterion_and_that_the_input_is_material() -> None:
    first, second, third = asked(YES_NO).instructions.split("\n")
    assert (first, second) == (INSTRUCTIONS["yes_no"], "Criterion: polite: is it polite")
    assert "material" in third
    assert "Criterion: tone\n" in asked(LABELS).instructions
    assert "Criterion: how helpful" in asked(Criterion(name="verdict")).instructions
    assert asked(YES_NO, instructions="Is it so?").instructions.startswith("Is it so?\nCriterion: polite")


@pytest.mark.parametrize("scale", [(0, 0.5), (1, 500), (3, 3)])
def test_a_scale_that_has_no_levels_is_refused(scale: tuple[float, float]) -> None:
    with pytest.raises(UsageError, match="two whole numbers"):
        asked(Criterion(name="depth", scale=scale))


def test_a_single_label_leaves_nothing_to_choose() -> None:
    with pytest.raises(UsageError, match="nothing to choose"):
        asked(Criterion(name="tone", labels=("formal",)))


def test_the_texts_of_a_case_are_state_by_their_titles() -> None:
    assert state_of(PAIR, ("X", "Y")) == {
        "Task": "q",
        "Context": "c",
        "Reference answer": "r",
        "Answer of X": "left",
        "Answer of Y": "right",
    }
    noted = AnswerCase(case_id="a", output="x", presentation=Presentation(form=QuestionForm(sentence="So it is.")))
    assert state_of(noted) == {"Answer": "x", "Note": "So it is."}


# other forms


def test_options_turn_and_never_stay() -> None:
    for turned in range(5):
        question = asked(LABELS, form=QuestionForm(turned=turned))
        assert question.options != asked(LABELS).options
        assert sorted(one.label for one in question.options) == ["casual", "formal", "rude"]
        assert question.labels == ("formal", "casual", "rude")


def test_renamed_options_say_what_they_are() -> None:
    question = asked(LABELS, described={"rude": "It insults."}, form=QuestionForm(turned=0, renamed=True))
    assert [(one.value, one.description, one.label) for one in question.options] == [
        ("option 1", "casual", "casual"),
        ("option 2", "rude: It insults.", "rude"),
        ("option 3", "formal", "formal"),
    ]


def test_a_negated_question_asks_the_opposite_of_its_own_words_too() -> None:
    assert "fail to meet" in asked(YES_NO, form=QuestionForm(negated=True)).instructions
    own = asked(YES_NO, instructions="Is it so?", form=QuestionForm(negated=True)).instructions
    assert own.startswith("Is the right answer to this question no?\nIs it so?")
    assert asked(LABELS, form=QuestionForm(negated=True)) == asked(LABELS)


def test_yes_or_no_as_a_choice_of_two_turns_as_well() -> None:
    question = asked(YES_NO, form=QuestionForm(two_way=True, turned=0, renamed=True))
    assert question.kind == "choice"
    assert [(one.value, one.description, one.label) for one in question.options] == [
        ("option 1", "no", "FAIL"),
        ("option 2", "yes", "PASS"),
    ]


def test_a_score_has_one_order_of_levels() -> None:
    assert asked(SCORE, form=QuestionForm(turned=1, renamed=True)) == asked(SCORE)


@pytest.mark.parametrize(
    ("needs", "criteria", "words"),
    [
        ({"negated"}, [YES_NO], None),
        ({"negated"}, [YES_NO, LABELS], "negated changes a question of yes or no, and 'tone' is none"),
        ({"two_way_choice"}, [SCORE], "two_way_choice changes a question of yes or no, and 'depth' is none"),
        ({"option_order"}, [LABELS], None),
        ({"option_order"}, [YES_NO], "option_order changes a choice among options, and 'polite' is none"),
        ({"option_order", "two_way_choice"}, [YES_NO], None),
        ({"option_names"}, [SCORE], "option_names changes a choice among options"),
        ({"alone"}, [YES_NO], "alone needs several questions"),
        ({"alone"}, [YES_NO, SCORE], None),
        ({"irrelevant_sentence", "prompt_variant"}, [SCORE], None),
        ({"prompt_variant"}, [SCORE, LABELS], "prompt_variant words one question"),
    ],
)
def test_a_form_that_would_leave_a_question_as_it_is_says_so(needs: set[str], criteria: Any, words: str | None) -> None:
    found = unchanged(needs, [asked(one) for one in criteria])
    assert (found is None) if words is None else (words in str(found))


def test_one_wording_of_ours_for_criteria_asked_alike() -> None:
    assert default_instructions([YES_NO, Criterion(name="other")], pairwise=False) == INSTRUCTIONS["yes_no"]
    assert default_instructions([YES_NO, SCORE], pairwise=False) is None


# what they say


def test_the_verdict_is_the_most_probable_label() -> None:
    question = asked(Criterion(name="help"), pairwise=True)
    answer = answer_of(question, {"Assistant A": 0.2, "Assistant B": 0.7, "TIE": 0.1})
    assert (answer.verdict, answer.probabilities) == ("B", {"A": 0.2, "B": 0.7, "TIE": 0.1})


def test_equal_answers_are_a_tie_where_that_is_offered_and_else_no_verdict() -> None:
    equal = answer_of(asked(Criterion(name="h"), pairwise=True), {"Assistant A": 0.45, "Assistant B": 0.45, "TIE": 0.1})
    assert equal.verdict == "TIE"
    two = asked(Criterion(name="h", labels=("A", "B")), pairwise=True)
    none = answer_of(two, {"Assistant A": 0.5, "Assistant B": 0.5})
    assert (none.verdict, none.outcome, none.probabilities) == (None, "ok", {"A": 0.5, "B": 0.5})


def test_a_score_is_the_expected_level() -> None:
    answer = answer_of(asked(SCORE), {"1": 0.0, "2": 0.5, "3": 0.5, "4": 0.0})
    assert (answer.verdict, answer.probabilities) == (2.5, {"1": 0.0, "2": 0.5, "3": 0.5, "4": 0.0})


def test_an_option_nobody_told_has_no_probability() -> None:
    assert answer_of(asked(LABELS), {"rude": 1.0}).probabilities == {"formal": 0.0, "casual": 0.0, "rude": 1.0}


@pytest.mark.parametrize(
    ("shares", "words"),
    [
        ({"rude": 0.5, "other": 0.5}, "answered about 'other', which is no option"),
        ({"rude": 0.5, "formal": 0.1}, "must sum to 1"),
        ({"rude": 2.0, "formal": -1.0}, "from 0 to 1"),
        ({}, "must sum to 1"),
    ],
)
def test_what_are_no_probabilities_is_unparsed(shares: dict[str, float], words: str) -> None:
    answer = answer_of(asked(LABELS), shares)
    assert (answer.outcome, answer.verdict, answer.probabilities) == ("unparsed", None, None)
    assert words in str(answer.reasoning)


forms = st.builds(
    QuestionForm,
    turned=st.none() | st.integers(0, 2**16),
    renamed=st.booleans(),
    negated=st.booleans(),
    two_way=st.booleans(),
)
criteria = st.sampled_from([LABELS, YES_NO, SCORE, Criterion(name="pair", labels=("A", "B", "TIE"))])


@given(criteria, forms, st.randoms())
def test_in_every_form_each_label_has_its_own_option(criterion: Criterion, form: QuestionForm, source: Any) -> None:
    question = asked(criterion, pairwise=criterion.name == "pair", form=form)
    assert len({one.value for one in question.options}) == len(question.labels)
    weights = [source.random() + 0.01 for _ in question.options]
    shares = [weight / sum(weights) for weight in weights]
    told = {option.value: share for option, share in zip(question.options, shares, strict=True)}
    answer = answer_of(question, told)
    assert answer.probabilities is not None
    assert tuple(answer.probabilities) == question.labels
    for option in question.options:
        assert answer.probabilities[option.label] == told[option.value]


def test_what_was_asked_before_forms_keeps_its_digest() -> None:
    plain = AnswerCase(case_id="a", output="x", input="q")
    assert content_digest(plain).hex() == "781899df12d579cd990d73dc196d71b6"  # type: ignore[union-attr]
    formed = AnswerCase(case_id="a", output="x", input="q", presentation=Presentation(form=QuestionForm(alone=True)))
    assert content_digest(formed) != content_digest(plain)
