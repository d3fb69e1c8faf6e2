"""A test session that asks judges; `pytest recorded_suite.py --judgeharness-out session.jsonl`."""

import pytest
from older_judges import first, polite

from judgeharness_integrations import AnswerCase, PairwiseCase


@pytest.mark.parametrize("answer", ["Thank you, *yes*.", "Please come at 9.", "No."])
def test_polite(judgeharness, answer):
    judgeharness.check(polite, AnswerCase(case_id=answer, output=answer))


@pytest.mark.judgeharness(preset="quick", on_abstain="skip")
def test_pair(judgeharness):
    judgeharness.check(first, PairwiseCase(case_id="pair", output="Hello!", output_b="Hi there!"), expected="B")
