from deepeval import assert_test
from deepeval.metrics import GEval
from deepeval.test_case import LLMTestCase, LLMTestCaseParams

metric = GEval(name="Correctness", criteria="Is the output correct?", evaluation_params=[LLMTestCaseParams.ACTUAL_OUTPUT])


def test_it():
    assert_test(LLMTestCase(input="a", actual_output="b"), [metric])
