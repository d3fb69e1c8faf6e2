"""The summary of a run, read from its log a few hundred cases at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from judgeharness_integrations import JudgeHarness
from judgeharness_integrations.analysis.aggregation import rule
from judgeharness_integrations.analysis.spending import UsageSums, total_usage, used
from judgeharness_integrations.analysis.usage import Price
from judgeharness_integrations.cli import _output as _failures
from judgeharness_integrations.cli import summary as _summary_judge
from judgeharness_integrations.cli._output import FailureKinds
from judgeharness_integrations.cli.summary import JudgeSums, JudgeTally, planned_rows, summary_document
from judgeharness_integrations.judging.config import Config
from judgeharness_integrations.judging.plan import Plan
from judgeharness_integrations.testing import ScriptedJudge
from judgeharness_integrations.verdictlog import SqlLog, VerdictRow

CONFIG = Config.model_validate({"judges": [{"name": "j", "callable": "m:f"}], "harness": {"shape": "labels"}})
PRICES = {"gpt": Price(input=2.0, output=10.0), "free": Price(input=0, output=0)}


def row(case: int, verdict: Any = "A", **fields: Any) -> VerdictRow:
    common = {"run": "r", "judge": "j", "outcome": "ok" if verdict is not None else "error"}
    return VerdictRow(case_id=str(case), verdict=verdict, **(common | fields))


class ListedRows:
    """Rows in memory, as a log."""

    def __init__(self, rows: Iterable[VerdictRow]) -> None:
        self._rows: dict[tuple[str, str, str], list[VerdictRow]] = {}
        for row in rows:
            self._rows.setdefault((row.run, row.judge, row.case_id), []).append(row)

    def of_cases(self, *, run: str, judge: str, case_ids: Sequence[str]) -> Mapping[str, Sequence[VerdictRow]]:
        return {case_id: self._rows.get((run, judge, case_id), ()) for case_id in case_ids}

    def case_groups(self, *, run: str, judge: str | None = None) -> Iterator[Sequence[VerdictRow]]:
        return (rows for (its, who, _), rows in self._rows.items() if its == run and judge in (None, who))


def harness(**options: Any) -> JudgeHarness:
    design = {"perturbations": ["none"], "repetitions": 2, "aggregation_rule": "majority"}
    return JudgeHarness(**(design | {"run": "r"} | options))


def tally(cases: int, **fields: Any) -> JudgeTally:
    def planned() -> Iterator[tuple[str, int]]:
        return ((str(case), 2) for case in range(cases))

    common = {"judge": ScriptedJudge(["A"], name="j"), "model": None, "plan": Plan(cases=cases, calls=2 * cases)}
    return JudgeTally(**(common | {"planned": planned} | fields))


@pytest.mark.slow
def test_every_planned_case_is_read_from_the_log(tmp_path: Path) -> None:
    rows = [row(case, repetition=n) for case in range(600) for n in range(2)]
    rows += [row(600), row(0, run="other"), row(601, judge="k")]
    with SqlLog(tmp_path / "log.sqlite") as log:
        log.append(rows)
        document = summary_document(CONFIG, harness(), [tally(602)], log)
    (judge,) = document["judges"]
    assert (judge["judged_cases"], judge["not_graded_cases"], judge["not_asked_cases"]) == (601, 2, 1)
    (entry,) = judge["criteria"]
    assert (entry["cases"], entry["decided"], entry["not_graded"]) == (602, 600, 2)
    assert entry["verdicts"] == [{"verdict": "A", "count": 600}]
    listed = summary_document(
        CONFIG,
        harness(),
        [tally(602, planned={str(case): 2 for case in range(602)})],
        ListedRows(one for one in rows if one.run == "r"),
    )
    assert listed == document


def test_no_more_cases_are_read_at_once_than_a_few_hundred() -> None:
    asked: list[int] = []

    class Log:
        def of_cases(self, *, run: str, judge: str, case_ids: Any) -> dict[str, list[VerdictRow]]:
            assert (run, judge) == ("r", "j")
            asked.append(len(case_ids))
            return {case_ids[0]: [row(int(case_ids[0]))]}

        def case_groups(self, *, run: str, judge: str | None = None) -> Iterator[list[VerdictRow]]:
            raise NotImplementedError

    found = planned_rows(Log(), lambda: ((str(n), n) for n in range(1000)), run="r", judge="j")
    assert next(found)[0] == 0
    assert len(asked) == 1
    rest = list(found)
    assert [planned for planned, _ in rest] == list(range(1, 1000))
    assert sum(asked) == 1000
    assert max(asked) <= 500
    assert sum(len(rows) for _, rows in rest) == len(asked) - 1


def sums(**options: Any) -> JudgeSums:
    common: dict[str, Any] = {"criteria": (), "min_valid": None, "tolerance": 1.0, "tolerances": {}}
    return JudgeSums(**(common | {"judge": "j", "rule": rule("majority")} | options))


def test_a_case_that_lacks_a_criterion_known_later_is_not_graded() -> None:
    mine = sums()
    mine.add([row(1, criterion="tone")], planned=1)
    assert mine.not_graded == 0
    mine.add([row(2, criterion="tone"), row(2, criterion="facts")], planned=1)
    mine.add([], planned=1)
    assert (mine.cases, mine.not_asked, mine.not_graded) == (3, 1, 2)
    assert [(one["criterion"], one["decided"], one["not_graded"]) for one in mine.criteria()] == [
        ("tone", 2, 1),
        ("facts", 1, 2),
    ]


def test_answers_the_rule_cannot_read_leave_every_case_not_graded() -> None:
    mine = sums(criteria=["tone"])
    mine.add([row(1, criterion="tone"), row(1, 7, criterion="depth")], planned=1)
    mine.add([row(2, criterion="tone")], planned=1)
    tone, depth = mine.criteria()
    assert (tone["decided"], tone["error"]) == (2, None)
    assert (depth["cases"], depth["not_graded"], depth["verdicts"]) == (2, 2, [])
    assert depth["error"].startswith("rule majority folds labels, but criterion 'depth' holds numbers: use median")
    assert "--labels" not in depth["error"]
    assert mine.not_graded == 2


def test_a_criterion_that_mixes_kinds_late_drops_the_verdicts_before() -> None:
    mine = sums(rule=rule(lambda_free))
    mine.add([row(1)], planned=1)
    mine.add([row(2, 7)], planned=1)
    (entry,) = mine.criteria()
    assert "mixes labels and numbers" in entry["error"]
    assert (entry["decided"], entry["not_graded"], entry["verdicts"]) == (0, 2, [])


def lambda_free(rows: Any) -> Any:
    return rows[0].verdict


def test_verdicts_beyond_those_told_apart_are_counted_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_summary_judge, "_MOST_VERDICTS", 2)
    mine = sums(rule=rule("mean"))
    for case, score in enumerate((1, 2, 3, 2, 4)):
        mine.add([row(case, score)], planned=1)
    (entry,) = mine.criteria()
    assert entry["verdicts"] == [{"verdict": 2.0, "count": 2}, {"verdict": 1.0, "count": 1}]
    assert (entry["other_verdicts"], entry["decided"]) == (2, 5)


def test_kinds_of_failure_beyond_those_told_apart_are_counted_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_failures, "_MOST_KINDS", 2)
    kinds = FailureKinds()
    for case, error in enumerate("abcad"):
        kinds.add([row(case, None, error=error)])
    kinds.add([row(9, None, outcome="unparsed")])
    assert kinds.to_list({}) == [
        {"outcome": "error", "error": "a", "count": 2},
        {"outcome": "error", "error": "of other kinds", "count": 2},
        {"outcome": "error", "error": "b", "count": 1},
        {"outcome": "unparsed", "error": "of other kinds", "count": 1},
    ]


def usage(*cases: list[VerdictRow], prices: Any = PRICES) -> dict[str, Any]:
    found = UsageSums()
    for rows in cases:
        found.add(rows)
    return used(found.usages, prices)


def call(case: int, *, tokens: tuple[int, int] | None = (1000, 100), **fields: Any) -> list[VerdictRow]:
    """One call about two criteria; its tokens stand on the first row."""
    spent = {} if tokens is None else {"input_tokens": tokens[0], "output_tokens": tokens[1]}
    common = {"call_id": f"call {case}", "model": "gpt"} | fields
    first = {"attempts": 1, "latency_s": 0.5} | spent
    return [row(case, criterion="tone", **(first | common)), row(case, criterion="facts", **common)]


def test_usage_sums_calls_tokens_and_cost() -> None:
    assert usage(call(1), call(2, attempts=3), call(3, model="free")) == {
        "calls": 3,
        "attempts": 8,
        "input_tokens": 3000,
        "output_tokens": 300,
        "cached_input_tokens": None,
        "cache_write_tokens": None,
        "latency_s": 1.5,
        "reused": 0,
        "cost": pytest.approx(0.006),
        "cost_remarks": [],
    }


def test_reused_calls_are_counted_apart_and_cost_nothing() -> None:
    paid_before = {"attempts": 0, "attributes": {"reused_from": "before"}, "tokens": None, "latency_s": None}
    found = usage(call(1), call(2, **paid_before), [row(3, None, attempts=0, error="the rewriter failed")])
    assert (found["calls"], found["reused"], found["attempts"]) == (1, 1, 1)
    assert found["cost"] == pytest.approx(0.003)


@pytest.mark.parametrize(
    ("cases", "prices", "cost"),
    [
        ([call(1)], None, None),
        ([call(1)], {}, None),
        ([call(1, model="unknown")], PRICES, None),
        ([call(1, model="unknown")], {"*": Price(input=1.0, output=0)}, 0.001),
        ([call(1, model="free"), call(2, tokens=None)], PRICES, None),
        ([call(1, tokens=(5, None))], PRICES, None),
        ([call(1, attributes={"cached": "shared"})], PRICES, 0),
        ([[row(1, None, attempts=4, error="TimeoutError")]], PRICES, 0),
        ([[row(1, model="gpt", attempts=1, input_tokens=1000, output_tokens=0)]], PRICES, 0.002),
        ([], PRICES, 0),
    ],
)
def test_a_cost_is_known_when_every_answer_has_tokens_and_a_price(cases: Any, prices: Any, cost: Any) -> None:
    found = usage(*cases, prices=prices)["cost"]
    assert found == (None if cost is None else pytest.approx(cost))


def test_the_cost_of_all_judges_is_known_when_that_of_each_is() -> None:
    known, unknown = usage(call(1)), usage(call(1, model="unknown"))
    assert total_usage([known, known])["cost"] == pytest.approx(0.006)
    assert total_usage([known, unknown])["cost"] is None
    assert total_usage([known, unknown])["input_tokens"] == 2000


def test_the_runs_that_paid_before_are_named() -> None:
    rows = [row(n, attempts=0, attributes={"reused_from": f"run {n % 2}"}) for n in range(3)] + [row(3, attempts=1)]
    document = summary_document(CONFIG, harness(repetitions=1), [tally(4)], ListedRows(rows))
    assert document["reused_from"] == document["judges"][0]["reused_from"] == {"run 0": 2, "run 1": 1}
    assert (document["usage"]["reused"], document["usage"]["calls"], document["usage"]["cost"]) == (3, 1, None)


def test_a_case_stopped_early_is_decided_as_the_run_decided_it() -> None:
    early = {"attributes": {"planned_samples": 3}}
    rows = [row(0, repetition=n, **early) for n in range(2)] + [row(1, **early)]
    three = {"0": 3, "1": 3}
    document = summary_document(CONFIG, harness(repetitions=3), [tally(2, planned=three)], ListedRows(rows))
    (entry,) = document["judges"][0]["criteria"]
    assert (entry["decided"], entry["not_graded"], entry["censored"]) == (1, 1, 2)
    assert document["not_graded_cases"] == 1
