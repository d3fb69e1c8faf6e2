"""What counts as a judge that is down, and the error that says so."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Sequence
from dataclasses import replace

import pytest

from judgeharness_integrations import AnswerCase, Criterion, HarnessResult, JudgeHarness
from judgeharness_integrations._errors import JudgeHarnessError, NotGradedError, UsageError
from judgeharness_integrations.analysis.result import RunState, all_failed, check_on_not_graded, raise_where_all_failed
from judgeharness_integrations.judging.execution import Budget
from judgeharness_integrations.judging.judge import Answer, JudgeIdentity, Judgment, Probe

CASE = AnswerCase(case_id="greeting", output="Hello to you all!")


class Saying:
    """Says one thing after another: a verdict, an outcome, or an exception to raise."""

    name = "saying"
    identity = JudgeIdentity(name="saying")

    def __init__(self, *script: object, criteria: Sequence[str] = ("tone",)) -> None:
        self.criteria = tuple(Criterion(name=name, labels=("PASS", "FAIL")) for name in criteria)
        self._script, self._asked = script, 0

    async def judge(self, probe: Probe) -> Judgment:
        said = self._script[self._asked % len(self._script)]
        self._asked += 1
        if isinstance(said, Exception):
            raise said
        outcome = said if said in ("unparsed", "refused") else "ok"
        verdict = said if outcome == "ok" else None
        answers = [Answer(criterion=one.name, verdict=verdict, outcome=outcome) for one in self.criteria]  # type: ignore[arg-type]
        return Judgment(answers=tuple(answers))


def measured(*script: object, criteria: Sequence[str] = ("tone",), **options: object) -> HarnessResult:
    harness = JudgeHarness(
        perturbations=["none"],
        repetitions=6,
        aggregation_rule="supermajority(2/3)",
        max_attempts=1,
        max_concurrency=1,
        **options,  # type: ignore[arg-type]
    )
    return harness.evaluate(Saying(*script, criteria=criteria), CASE)


def dead(**options: object) -> HarnessResult:
    return measured(*[PermissionError("no key")] * 5, TimeoutError(), **options)  # type: ignore[arg-type]


def test_one_sentence_says_the_kinds_of_errors_and_their_counts() -> None:
    result = dead()
    with pytest.raises(NotGradedError) as raised:
        raise_where_all_failed([result])
    assert str(raised.value) == (
        'not graded: all 6 samples failed (PermissionError 5, TimeoutError 1), the first with "no key": check the '
        "judge's key, address and "
        "model (result.rows of this error hold what each said), or say on_not_graded='report' to get such a case "
        "without a verdict."
    )
    assert raised.value.result is result
    assert raised.value.results == (result,)
    assert isinstance(raised.value, JudgeHarnessError)
    assert not isinstance(raised.value, UsageError)


def test_the_first_error_is_quoted_short_without_secrets_and_not_where_texts_are_not_kept() -> None:
    secret = "sk-proj-" + "a1B2" * 10
    said = measured(TimeoutError(), PermissionError(f"key {secret} is\nno key " + "x" * 500))
    with pytest.raises(NotGradedError, match=r"Error 3\), the first with .key .* is no key x+….: check") as raised:
        raise_where_all_failed([said])
    assert secret not in str(raised.value)
    for kept in ("hash", "none"):
        with pytest.raises(NotGradedError, match=r"\(PermissionError 5, TimeoutError 1\): check"):
            raise_where_all_failed([dead(keep=kept)])


def test_a_private_measurement_quotes_nothing() -> None:
    with pytest.raises(NotGradedError, match=r"\(PermissionError 5, TimeoutError 1\): check"):
        raise_where_all_failed([dead()], private=True)


def test_several_criteria_are_one_sample() -> None:
    with pytest.raises(NotGradedError, match=r"all 6 samples failed \(PermissionError 5, TimeoutError 1\)"):
        raise_where_all_failed([dead(criteria=("tone", "length"))])


def test_a_list_raises_with_every_result_in_order() -> None:
    results = [measured("PASS"), dead(), measured("unparsed"), dead()]
    with pytest.raises(NotGradedError, match=r"all 12 samples of 2 of 4 cases failed \(PermissionError 10, Timeout"):
        raise_where_all_failed(results)
    with pytest.raises(NotGradedError) as raised:
        raise_where_all_failed(results)
    assert raised.value.result is results[1]
    assert raised.value.results == tuple(results)


@pytest.mark.parametrize(
    "script",
    [
        ["PASS"],
        ["PASS", "FAIL"],
        ["unparsed"],
        ["refused"],
        [TimeoutError(), TimeoutError(), TimeoutError(), TimeoutError(), TimeoutError(), "unparsed"],
        [TimeoutError(), TimeoutError(), TimeoutError(), TimeoutError(), TimeoutError(), "PASS"],
    ],
    ids=["decided", "abstained", "unparsed", "refused", "one unparsed", "one verdict"],
)
def test_a_judge_that_answered_once_is_reachable(script: list[object]) -> None:
    result = measured(*script)
    assert not all_failed(result)
    raise_where_all_failed([result])


def test_a_spent_budget_is_no_failure_of_the_judge() -> None:
    result = dead(budget=Budget(max_calls=2))
    assert (result.state, {row.outcome for row in result.rows}) == ("budget_exhausted", {"error"})
    assert not all_failed(result)


@pytest.mark.parametrize("state", ["budget_exhausted", "interrupted"])
def test_a_run_that_was_ended_is_no_failure_of_the_judge(state: RunState) -> None:
    assert not all_failed(replace(dead(), state=state))
    assert not all_failed(replace(dead(), rows=()))


def test_what_an_error_says_may_be_left_out_and_its_kind_stays() -> None:
    with pytest.raises(NotGradedError, match=r"\(PermissionError 5, TimeoutError 1\)") as raised:
        raise_where_all_failed([dead(keep="none")])
    assert {row.error for row in raised.value.result.rows} == {"PermissionError", "TimeoutError"}
    assert {row.error_kind for row in dead().rows} == {"PermissionError", "TimeoutError"}
    assert {row.error_kind for row in measured("PASS").rows} == {None}


def test_the_error_goes_from_process_to_process() -> None:
    with pytest.raises(NotGradedError) as raised:
        raise_where_all_failed([dead(), measured("PASS")])
    for again in (pickle.loads(pickle.dumps(raised.value)), copy.deepcopy(raised.value)):  # noqa: S301 - ours
        assert (type(again), str(again)) == (NotGradedError, str(raised.value))
        assert again.result == raised.value.result
        assert again.results == raised.value.results


def test_the_error_of_a_check_has_its_result_or_none() -> None:
    result = dead()
    assert NotGradedError("nothing").results == ()
    assert NotGradedError("one", result).results == (result,)


@pytest.mark.parametrize("choice", ["rais", None, True, ["raise"]])
def test_another_choice_is_refused(choice: object) -> None:
    with pytest.raises(UsageError, match=r"^on_not_graded is 'raise' or 'report', not "):
        check_on_not_graded(choice)
