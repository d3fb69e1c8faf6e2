"""What an application answered, judged: run with `python -m pytest` in this folder."""

import pytest
from house_judge import is_polite, prefers_what_it_reads_first

from judgeharness_integrations import AnswerCase, PairwiseCase
from judgeharness_integrations.testing.pytest_plugin import Asking

ANSWERS = {
    "opening hours": "Thank you for asking: we are open *from 9 to 5*.",
    "refund": "Please send the receipt, and we **refund** the price.",
    "delivery": "You are welcome! It takes *two days*.",
    "parking": "Please use the yard **behind the house**.",
    "greeting": "Thank you, and **good morning** to you.",
}


@pytest.mark.parametrize("question", ANSWERS)
def test_answers_are_polite(judgeharness: Asking, question: str) -> None:
    """Six calls a question; an answer that is impolite under half of the formats abstains, which fails."""
    case = AnswerCase(case_id=question, input=question, output=ANSWERS[question])
    judgeharness.check(is_polite, case)


@pytest.mark.judgeharness(preset="quick", on_abstain="skip")
def test_the_new_greeting_is_better(judgeharness: Asking) -> None:
    """Both orders, once each; this judge likes what it reads first, so the test is skipped."""
    pair = PairwiseCase(case_id="greeting", input="Say hello.", output="Hello!", output_b="Hi there!")
    judgeharness.check(prefers_what_it_reads_first, pair, expected="B")
