"""Answers of other runs: whose they are, how they are kept, and that each stands for one sample."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pytest

from judgeharness_integrations import AnswerCase, JudgeHarness
from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.judging.calibrating import CalibrationSet
from judgeharness_integrations.judging.execution import Budget
from judgeharness_integrations.judging.judge import Answer, JudgeIdentity, Judgment, Probe
from judgeharness_integrations.verdictlog import SqlLog

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from judgeharness_integrations.judging.cases import Criterion


@dataclass
class Numbering:
    """A judge whose every answer is another one."""

    name: str = "judge"
    identity: JudgeIdentity | None = field(default_factory=lambda: JudgeIdentity(name="judge", model="m-1"))
    criteria: tuple[Criterion, ...] | None = None
    calls: int = 0

    async def judge(self, probe: Probe) -> Judgment:
        del probe
        self.calls += 1
        await asyncio.sleep(0)
        said = f"it says {self.calls}"
        facts: dict[str, str | float] = {"response_id": f"id-{self.calls}", "shown": "the text of a patient"}
        return Judgment(answers=(Answer(verdict=f"v{self.calls}", reasoning=said),), raw=said, facts=facts)


@pytest.fixture
def log(tmp_path: Path) -> Iterator[SqlLog]:
    with SqlLog(tmp_path / "log.sqlite") as opened:
        yield opened


def harness(log: object, run: str, **options: Any) -> JudgeHarness:
    design: dict[str, Any] = {"perturbations": ["none"], "repetitions": 3, "aggregation_rule": "majority"}
    return JudgeHarness(**design | {"log": log, "run": run, "observers": (), "max_concurrency": 1} | options)


def judged(one: JudgeHarness, judge: object, cases: list[Any]) -> dict[str, Any]:
    return {result.case_id: result for result in one.evaluate_many(judge, cases)}  # type: ignore[arg-type]


def same(*names: str) -> list[AnswerCase]:
    return [AnswerCase(case_id=name, input="q", output="the same") for name in names]


def verdicts(result: Any) -> list[str]:
    return [row.verdict for row in result.rows]


def test_a_case_takes_its_own_answers(log: SqlLog) -> None:
    judge = Numbering()
    before = judged(harness(log, "r1"), judge, same("a", "b"))
    after = judged(harness(log, "r2"), judge, same("b", "a"))
    assert judge.calls == 6
    assert {name: verdicts(result) for name, result in after.items()} == {
        name: verdicts(result) for name, result in before.items()
    }


def test_labels_made_after_a_run_change_no_question(log: SqlLog) -> None:
    judge, case = Numbering(), AnswerCase(case_id="c", input="q", output="the same")
    judged(harness(log, "first"), judge, [case])
    judged(harness(log, "second"), judge, [replace(case, gold="v1", attributes={"label_count": 2.0})])
    assert judge.calls == 3


def test_one_answer_never_stands_for_two_samples(log: SqlLog) -> None:
    judge = Numbering()
    judged(harness(log, "r1"), judge, same("a", "b"))
    after = judged(harness(log, "r2"), judge, same("c", "b", "d"))
    assert judge.calls == 6 + 3
    assert {name: result.usage.reused for name, result in after.items()} == {"c": 3, "b": 3, "d": 0}
    assert max(Counter(verdict for result in after.values() for verdict in verdicts(result)).values()) == 1
    assert {row.attributes.get("reused_case") for row in after["c"].rows} == {"a"}
    assert {row.attributes.get("reused_case") for row in after["b"].rows} == {None}


def test_an_answer_taken_before_the_run_was_cut_off_is_not_taken_again(log: SqlLog) -> None:
    judge = Numbering()
    judged(harness(log, "r1"), judge, same("a"))
    judged(harness(log, "r2"), judge, same("c"))
    resumed = judged(harness(log, "r2"), judge, same("d", "a", "c"))
    assert judge.calls == 3 + 6
    assert {name: result.usage.reused for name, result in resumed.items()} == {"d": 0, "a": 0, "c": 3}


def test_answers_taken_but_not_in_the_log_yet_are_not_taken_again(log: SqlLog) -> None:
    judge = Numbering()
    judged(harness(log, "r1"), judge, same("a"))
    one = harness(log, "r2")

    async def both() -> list[Any]:
        return await asyncio.gather(*(one.aevaluate(judge, case) for case in same("c", "d")))

    results = asyncio.run(both())
    assert judge.calls == 6
    assert sorted(result.usage.reused for result in results) == [0, 3]


def test_copies_of_one_answer_are_one_answer(log: SqlLog, tmp_path: Path) -> None:
    judge = Numbering()
    judged(harness(log, "r1"), judge, same("a"))
    for run, case in (("r2", "b"), ("r3", "c")):
        judged(harness(log, run), judge, same(case))
    with SqlLog(tmp_path / "other.sqlite") as other:  # which lacks the originals
        other.append(row for run in ("r2", "r3") for row in log.rows(run=run))
        judged(harness(other, "r4"), judge, same("d", "e"))
        assert judge.calls == 3 + 3
        assert {row.attributes.get("reused_from") for row in other.rows(run="r4", case_id="d")} == {"r1"}
        assert {row.attributes.get("reused_case") for row in other.rows(run="r4", case_id="d")} == {"a"}


def test_two_judges_of_one_identity_do_not_share_an_answer(log: SqlLog) -> None:
    first, second = Numbering(), Numbering(name="twin")
    judged(harness(log, "r1"), first, same("a"))
    assert judged(harness(log, "r2"), second, same("a"))["a"].rows[0].attributes["reused_judge"] == "judge"
    judged(harness(log, "r2"), first, same("a"))
    assert (first.calls, second.calls) == (6, 0)


@pytest.mark.parametrize("keep", ["text", "hash", "none"])
def test_what_is_taken_over_is_kept_as_the_run_keeps_its_own(log: SqlLog, keep: Any) -> None:
    judge = Numbering()
    told = replace(same("a")[0], author="gpt-4o")
    asked = judged(harness(log, "r1"), judge, [told])["a"].rows[0]
    taken = judged(harness(log, "r2", keep=keep), judge, same("b"))["b"].rows[0]
    again = judged(harness(log, "r3", keep=keep), judge, same("b"))["b"].rows[0]
    own = judged(harness(log, "r4", keep=keep, reuse=False), Numbering(), same("b"))["b"].rows[0]
    assert (taken.reasoning, taken.raw, taken.error) == (own.reasoning, own.raw, own.error)
    assert again.raw == taken.raw
    provenance = {"response_id": "id-1", "reused_from": "r1", "reused_case": "a"}
    assert taken.attributes == provenance | {name: own.attributes[name] for name in ("characters", "text_digest")}
    assert asked.attributes["author"] == "gpt-4o"


def test_a_hash_is_not_hashed_again(log: SqlLog) -> None:
    judge = Numbering()
    before = judged(harness(log, "r1", keep="hash"), judge, same("a"))["a"]
    after = judged(harness(log, "r2", keep="hash"), judge, same("a"))["a"]
    assert [row.raw for row in after.rows] == [row.raw for row in before.rows]


def test_half_a_character_can_be_hashed(log: SqlLog) -> None:
    def judge(case: Any) -> Judgment:
        del case
        return Judgment(answers=(Answer(verdict="PASS", reasoning="cut off \ud83d"),), raw="\udfff")

    result = harness(log, "r1", keep="hash").evaluate(judge, same("a")[0])
    assert (result.verdict, result.rows[0].raw[:7]) == ("PASS", "sha256:")  # type: ignore[index]


def test_a_calibration_is_measured_on_samples_of_its_own(log: SqlLog) -> None:
    judge = Numbering()
    cases = same("a")
    labels = CalibrationSet("people", tuple((case, "v1") for case in cases))
    first = judged(harness(log, "r1", calibration_set=labels), judge, cases)["a"]
    assert (first.calibration is not None, judge.calls) == (True, 6)
    judged(harness(log, "r2", calibration_set=labels), judge, cases)
    assert judge.calls == 9  # the case is taken over, the labelled one asked
    judged(harness(log, "r3"), judge, [*cases, *same("b")])
    assert judge.calls == 12  # nothing is left to take but labelled ones


def test_a_calibration_that_was_cut_off_goes_on(log: SqlLog) -> None:
    judge = Numbering()
    labels = CalibrationSet("people", tuple((case, "v1") for case in same("k")))
    other = [AnswerCase(case_id="x", output="another")]
    judged(harness(log, "r1", calibration_set=labels, budget=Budget(max_calls=4)), judge, other)
    judged(harness(log, "r1", calibration_set=labels), judge, other)
    assert judge.calls == 6


@pytest.mark.sampled(3)
@pytest.mark.parametrize("identity", [JudgeIdentity(name="judge"), None], ids=["known", "unknown"])
@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"output": "ANOTHER"}, "holds another answer for case 'a' under 'none'"),
        ({"gold": "v2"}, "holds rows of case 'a' with another gold label or other attributes"),
        ({"attributes": {"length": 7}}, "holds another answer"),
        ({"author": "gpt-4o"}, "another gold label or other attributes"),
    ],
)
def test_a_run_is_not_continued_with_a_case_that_has_changed(
    log: SqlLog, identity: JudgeIdentity | None, changes: dict[str, Any], said: str
) -> None:
    judge = Numbering(identity=identity)
    case = AnswerCase(case_id="a", output="the same", gold="v1", attributes={"length": 3, "subset": "x"})
    before = judged(harness(log, "r1"), judge, [case])
    assert judged(harness(log, "r1"), judge, [case]) == before
    with pytest.raises(UsageError, match=said):
        judged(harness(log, "r1"), judge, [replace(case, **changes)])
    assert judge.calls == 3


def test_gold_labels_that_are_sets_are_known_again(log: SqlLog) -> None:
    case = AnswerCase(case_id="a", output="o", gold=frozenset({"x", "y"}), attributes={"share": float("nan")})
    judge = Numbering()
    for _ in range(2):
        judged(harness(log, "r1"), judge, [case])
    assert judge.calls == 3


def test_answers_of_a_judge_nobody_knows_are_nobody_elses(log: SqlLog) -> None:
    judge = Numbering(identity=None)
    for run in ("r1", "r2"):
        judged(harness(log, run), judge, same("a"))
    assert judge.calls == 6
    assert all(row.probe_hash for row in log.rows())


def test_rows_that_do_not_say_what_was_asked_are_not_continued(log: SqlLog, tmp_path: Path) -> None:
    judge = Numbering(identity=None)
    judged(harness(log, "r1"), judge, same("a"))
    with SqlLog(tmp_path / "other.sqlite") as other:
        other.append(replace(row, probe_hash=None) for row in log.rows())
        with pytest.raises(UsageError, match="for case 'a' under 'none' that does not say what was asked"):
            judged(harness(other, "r1"), judge, same("a"))
    assert judge.calls == 3
