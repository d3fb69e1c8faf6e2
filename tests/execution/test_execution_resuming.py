from __future__ import annotations

import asyncio
import gc
import weakref
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pytest

from judgeharness_integrations import AnswerCase, JudgeHarness, PairwiseCase
from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.judging.calibrating import CalibrationSet
from judgeharness_integrations.judging.execution import Budget
from judgeharness_integrations.judging.judge import Answer, JudgeIdentity, Judgment, Probe
from judgeharness_integrations.judging.perturbations import Perturbation
from judgeharness_integrations.judging.structured import structured_case
from judgeharness_integrations.verdictlog import MemoryLog, SqlLog

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from judgeharness_integrations.judging.cases import Criterion


@dataclass
class Counting:
    """A judge that counts its calls; the verdict follows from what is asked."""

    name: str = "judge"
    identity: JudgeIdentity | None = field(default_factory=lambda: JudgeIdentity(name="judge", model="m-1"))
    criteria: tuple[Criterion, ...] | None = None
    calls: int = 0
    fails: bool = False
    by_name: bool = False

    async def judge(self, probe: Probe) -> Judgment:
        self.calls += 1
        await asyncio.sleep(0)
        if self.fails:
            raise ValueError("down")
        verdict = "A" if len(probe.case_id) % 2 else "B"
        answers = [Answer(verdict=verdict)]
        if self.by_name:
            answers = [Answer(criterion=name, verdict=verdict) for name in ("clear", "short")]
        return Judgment(answers=tuple(answers), input_tokens=10, output_tokens=2)


@dataclass(frozen=True)
class Signed:
    author: str = field(repr=False)


@pytest.fixture
def log(tmp_path: Path) -> Iterator[SqlLog]:
    with SqlLog(tmp_path / "log.sqlite") as opened:
        yield opened


def pairs(count: int) -> list[PairwiseCase]:
    return [PairwiseCase(case_id="x" * (n + 1), input="Which?", output=f"a {n}", output_b="b") for n in range(count)]


def harness(log: object, run: str | None = "nightly", **options: Any) -> JudgeHarness:
    return JudgeHarness.standard("pairwise", log=log, run=run, observers=(), **options)


def judged(one: JudgeHarness, judge: object, cases: list[Any]) -> dict[str, Any]:
    results = {result.case_id: result for result in one.evaluate_many(judge, cases)}  # type: ignore[arg-type]
    assert len(results) == len(cases)
    return results


def test_a_run_that_was_cut_off_is_continued_where_it_ended(log: SqlLog) -> None:
    first, second, whole = Counting(), Counting(), Counting()
    judged(harness(log, budget=Budget(max_calls=10), max_concurrency=1), first, pairs(4))
    assert first.calls == 10
    resumed = judged(harness(log), second, pairs(4))
    assert second.calls == 4 * 6 - 10
    uninterrupted = judged(harness(MemoryLog()), whole, pairs(4))
    assert {key: result.verdict for key, result in resumed.items()} == {
        key: result.verdict for key, result in uninterrupted.items()
    }
    assert all(result.state == "complete" and result.usage.attempts == 6 for result in resumed.values())
    assert Counter(row.case_id for row in log.rows(run="nightly")) == dict.fromkeys(resumed, 6)


def test_a_finished_run_costs_nothing_again(log: SqlLog) -> None:
    judge = Counting()
    before = judged(harness(log), judge, pairs(3))
    again = judged(harness(log), judge, pairs(3))
    assert judge.calls == 18
    assert before == again


def test_cases_that_are_known_are_measured_after_the_end_of_a_budget(log: SqlLog) -> None:
    judge = Counting()
    judged(harness(log), judge, pairs(3)[1:])
    budget = Budget(max_calls=2)
    results = judged(harness(log, budget=budget, max_concurrency=1), judge, pairs(3))
    assert [results["x" * (n + 1)].state for n in range(3)] == ["budget_exhausted", "complete", "complete"]
    assert results["x"].status == "not_graded"
    assert len(results["x"].rows) == 2


def test_another_question_is_not_answered_by_the_run(log: SqlLog) -> None:
    judge = Counting()
    judged(harness(log), judge, pairs(2))
    other = [replace(case, output="something else") for case in pairs(2)]
    with pytest.raises(UsageError, match="holds another answer for case 'x' under 'none': the judge or the case"):
        judged(harness(log), judge, other)
    assert judge.calls == 12


def test_answers_of_another_run_are_taken_and_said_to_be(log: SqlLog) -> None:
    judge = Counting()
    judged(harness(log), judge, pairs(2))
    results = judged(
        harness(log, run="tuesday"), judge, [replace(case, case_id=case.case_id + "y") for case in pairs(3)]
    )
    assert judge.calls == 12 + 6
    taken = results["xy"]
    assert (taken.usage.calls, taken.usage.attempts, taken.usage.reused) == (0, 0, 6)
    assert {row.attributes["reused_from"] for row in taken.rows} == {"nightly"}
    assert {row.run for row in taken.rows} == {"tuesday"}
    assert taken.usage.input_tokens is None
    assert len(list(log.rows(run="tuesday"))) == 18
    third = judged(harness(log, run="wednesday"), judge, pairs(1))["x"]
    assert {row.attributes["reused_from"] for row in third.rows} == {"nightly"}
    assert judge.calls == 18


def test_cases_that_show_the_same_are_both_taken_over(log: SqlLog) -> None:
    judge = Counting()
    same = [replace(pairs(1)[0], case_id=name) for name in ("x", "xx")]
    judged(harness(log), judge, same)
    assert judge.calls == 12  # within a run samples are its own
    results = judged(harness(log, run="tuesday"), judge, same)
    assert judge.calls == 12
    assert [result.usage.reused for result in results.values()] == [6, 6]


@pytest.mark.parametrize(
    "changes",
    [
        {"identity": JudgeIdentity(name="judge", model="m-2")},
        {"identity": JudgeIdentity(name="judge", model="m-1", prompt_hash="other")},
        {"identity": None},
    ],
    ids=["model", "prompt", "nobody knows"],
)
def test_answers_of_another_judge_are_not_taken(log: SqlLog, changes: dict[str, Any]) -> None:
    judged(harness(log), Counting(**({} if changes["identity"] else changes)), pairs(1))
    other = Counting(**changes)
    judged(harness(log, run="tuesday"), other, pairs(1))
    assert other.calls == 6


@pytest.mark.parametrize("options", [{"reuse": False}, {"seed": 1}])
def test_fresh_samples_are_asked_for_on_request(log: SqlLog, options: dict[str, Any]) -> None:
    judge = Counting()
    judged(harness(log), judge, pairs(1))
    judged(harness(log, run="tuesday", **options), judge, pairs(1))
    assert judge.calls == 12


def test_failed_calls_are_asked_again_by_a_new_run(log: SqlLog) -> None:
    broken, judge = Counting(fails=True), Counting()
    judged(harness(log, max_attempts=1), broken, pairs(1))
    judged(harness(log), judge, pairs(1))
    assert judge.calls == 0  # the run has its rows: failures are answers of this run
    results = judged(harness(log, run="tuesday"), judge, pairs(1))
    assert judge.calls == 6
    assert results["x"].status == "abstained"


def test_calls_with_several_criteria_are_taken_whole(log: SqlLog) -> None:
    judge = Counting(by_name=True)
    cases = [AnswerCase(case_id="x", output="yes")]
    one = JudgeHarness.quick("labels", log=log, run="nightly", observers=())
    judged(one, judge, cases)
    other = JudgeHarness.quick("labels", log=log, run="tuesday", observers=())
    result = judged(other, judge, cases)["x"]
    assert judge.calls == 2
    assert (set(result.criteria), result.usage.reused) == ({"clear", "short"}, 2)
    assert {row.call_id for row in result.rows} == {"tuesday/x/judge/none/0", "tuesday/x/judge/format_change/0"}


def test_a_perturbation_that_asks_a_model_is_not_applied_to_know_whether_to_ask(log: SqlLog) -> None:
    applied = []

    async def shuffled(case: Any) -> Any:
        applied.append(case.case_id)
        return replace(case, output=f"{case.output}, in other words {len(applied)}")

    one = {"perturbations": ["none", Perturbation("mine", shuffled)], "repetitions": 2, "aggregation_rule": "majority"}
    judge = Counting()
    for run, calls in (("nightly", 4), ("nightly", 4), ("tuesday", 6)):
        judged(JudgeHarness(**one, log=log, run=run, observers=()), judge, pairs(1))  # type: ignore[arg-type]
        assert judge.calls == calls
    assert len(applied) == 2


def test_a_perturbation_that_fails_is_a_row_once(log: SqlLog) -> None:
    def broken(case: Any) -> Any:
        raise ValueError("no")

    design: dict[str, Any] = {"perturbations": ["none", Perturbation("mine", broken)], "repetitions": 1}
    judge = Counting()
    for run in ("nightly", "nightly", "tuesday"):
        one = JudgeHarness(**design, aggregation_rule="majority", log=log, run=run, observers=())
        assert judged(one, judge, pairs(1))["x"].only.outcomes["error"] == 1
    assert judge.calls == 1


def test_labelled_cases_are_not_asked_twice_either(log: SqlLog) -> None:
    labels = CalibrationSet("people", tuple((case, "A") for case in pairs(2)))
    judge = Counting()
    for _ in range(2):
        results = judged(
            harness(log, calibration_set=labels), judge, [replace(pairs(1)[0], case_id="new", output="new")]
        )
        assert results["new"].calibration is not None
    assert judge.calls == 6 + 12
    assert {row.case_id for row in log.rows(run="nightly")} == {"new"}


def test_cases_that_json_cannot_hold_are_asked_again(log: SqlLog) -> None:
    judge = Counting()
    for run in ("nightly", "tuesday"):
        JudgeHarness(
            perturbations=["none"], repetitions=2, aggregation_rule="majority", log=log, run=run, observers=()
        ).evaluate(judge, {"case_id": "x", "image": {1, "one"}})
    assert judge.calls == 4


def test_a_case_that_cannot_be_compared_is_not_continued(log: SqlLog) -> None:
    judge, one = Counting(), {"perturbations": ["none"], "repetitions": 2, "aggregation_rule": "majority"}
    measuring = JudgeHarness(**one, log=log, run="nightly", observers=())  # type: ignore[arg-type]
    case = {"case_id": "x", "output": "o", "image": {1, "one"}}
    measuring.evaluate(judge, case)
    with pytest.raises(UsageError, match="case 'x' under 'none', and the case holds what cannot be compared"):
        measuring.evaluate(judge, case)
    assert judge.calls == 2


def test_people_in_what_is_judged_are_part_of_it(log: SqlLog) -> None:
    judge, one = Counting(), {"perturbations": ["none"], "repetitions": 1, "aggregation_rule": "majority"}
    for author, calls in (("Ada", 1), ("Ada", 1), ("Grace", 2)):
        case = structured_case(case_id="x", outputs={"by": Signed(author)})
        JudgeHarness(**one, log=log, run=f"of {author}", observers=()).evaluate(judge, case)  # type: ignore[arg-type]
        assert judge.calls == calls


def test_an_error_of_the_log_ends_the_run(tmp_path: Path) -> None:
    class Full(SqlLog):
        def append(self, rows: Any) -> None:
            raise UsageError("the disk is full.")

    with Full(tmp_path / "log.sqlite") as log, pytest.raises(UsageError, match="the disk is full"):
        judged(harness(log), Counting(), pairs(3))


@pytest.mark.parametrize(("keep", "reworded"), [("text", 1), ("none", 2)])
def test_a_run_that_goes_on_uses_the_words_it_was_given(log: SqlLog, keep: Any, reworded: int) -> None:
    asked: list[str] = []

    async def rewriter(text: str) -> str:
        asked.append(text)
        await asyncio.sleep(0)
        return f"{text}, version {len(asked)}"

    shown: list[str] = []

    async def judge(case: Any) -> str:
        shown.append(case.output)
        return "PASS"

    case = AnswerCase(case_id="x", input="q", output="a")
    for calls in (2, 20):
        one = JudgeHarness(
            perturbations=["paraphrase"],
            repetitions=2,
            aggregation_rule="majority",
            rewriter=rewriter,
            max_concurrency=1,
            budget=Budget(max_calls=calls),
            log=log,
            run="nightly",
            keep=keep,
            observers=(),
        )
        result = one.evaluate(judge, case)
    assert (result.state, len(result.rows)) == ("complete", 2)
    assert len(asked) == reworded
    assert (shown[0] == shown[1]) == (keep == "text")


def test_a_rewriter_that_answers_nothing_is_asked_again(log: SqlLog) -> None:
    asked: list[str] = []

    def rewriter(text: str) -> str:
        asked.append(text)
        return ""

    for run in ("nightly", "tuesday"):
        one = JudgeHarness(
            perturbations=["none", "paraphrase"],
            repetitions=1,
            aggregation_rule="majority",
            rewriter=rewriter,
            log=log,
            run=run,
            observers=(),
        )
        result = one.evaluate(Counting(), AnswerCase(case_id="x", output="a"))
        assert result.only.outcomes["error"] == 1
    assert len(asked) == 2


def test_cases_before_one_that_cannot_be_read_are_asked(log: SqlLog) -> None:
    def cases() -> Iterator[PairwiseCase]:
        yield from pairs(3)
        raise ValueError("line 4 is broken")

    judge = Counting()
    with pytest.raises(ValueError, match="line 4 is broken"):
        list(harness(log).evaluate_many(judge, cases()))
    assert judge.calls == 18
    assert len(list(log.rows(run="nightly"))) == 18


@pytest.mark.slow
def test_a_log_nobody_holds_is_let_go(tmp_path: Path) -> None:
    log = SqlLog(tmp_path / "gone.sqlite")
    judged(harness(log), Counting(), pairs(1))
    gone = weakref.ref(log)
    log.close()
    del log
    gc.collect()
    assert gone() is None


@pytest.mark.slow
def test_the_last_look_up_leaves_no_worker_behind(log: SqlLog) -> None:
    peaks: dict[str, int] = {}
    active = 0

    async def judge(case: Any) -> str:
        nonlocal active
        active += 1
        await asyncio.sleep(0.002)
        peaks[case.case_id] = active
        active -= 1
        return "PASS"

    cases = [AnswerCase(case_id=f"c{n}", output=str(n)) for n in range(100)]  # two look-ups
    options: dict[str, Any] = {"log": log, "run": "r", "observers": (), "max_concurrency": 8}
    JudgeHarness.quick("labels", **options).evaluate(judge, cases[0])
    assert len(judged(JudgeHarness.quick("labels", **options), judge, cases)) == 100
    assert max(peaks[f"c{n}"] for n in range(70, 100)) > 4
