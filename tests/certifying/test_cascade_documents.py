"""A cascade as it is saved and read, and whom it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.judges_in_turn import CHEAP, STRONG, cascade_of, rows_of

from judgeharness_integrations._errors import ConfigError, UnknownNameError, UsageError
from judgeharness_integrations.analysis.certifying.cascade import Cascade, cascade_log
from judgeharness_integrations.analysis.usage import Price


def test_a_cascade_comes_back_from_its_file(tmp_path: Path) -> None:
    cascade = cascade_of()
    loaded = Cascade.load(cascade.save(tmp_path / "a" / "cascade.json"))
    assert json.dumps(loaded.to_dict()) == json.dumps(cascade.to_dict())
    assert cascade_log(rows_of(), loaded) == cascade_log(rows_of(), cascade)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"schema": "judgeharness.certificate/1"}, r"not a cascade .* certify its judges together, with certify LOG"),
        ({"steps": None}, "incomplete or damaged .*: certify it again"),
        ({"steps": [{}]}, "incomplete or damaged .*: certify it again"),
        ({"agreement": "much"}, "incomplete or damaged .*: certify it again"),
    ],
)
def test_what_is_no_cascade_is_refused(change: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        Cascade.from_dict(cascade_of().to_dict() | change)


def test_a_cascade_of_one_judge_twice_is_damaged() -> None:
    document = json.loads(json.dumps(cascade_of().to_dict()))
    with pytest.raises(ConfigError, match="fewer than two judges, or one twice"):
        Cascade.from_dict(document | {"steps": document["steps"][:1] * 2})


@pytest.mark.parametrize(("text", "problem"), [("{", "cannot be read"), ("[]", "is not a JSON object")])
def test_a_file_that_is_no_object_is_refused(text: str, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "cascade.json"
    path.write_text(text)
    with pytest.raises(ConfigError, match=problem):
        Cascade.load(path)


def test_a_cascade_holds_for_its_judges_in_their_order_alone() -> None:
    with pytest.raises(UsageError, match="certified for cheap, strong, in that order, not for strong, cheap"):
        cascade_of().check(["strong", "cheap", "people"])
    with pytest.raises(UsageError, match="not for no judge"):
        cascade_of().check([])


def test_a_cascade_holds_for_its_rule_alone() -> None:
    with pytest.raises(UsageError, match="certified under rule majority, not strict_majority: use that rule"):
        cascade_of().check(["cheap", "strong"], "strict_majority")


def test_a_cascade_in_which_nobody_is_certified_is_refused() -> None:
    refused = cascade_of(agreement=0.999)
    assert refused.certificates == {}
    with pytest.raises(UsageError, match="no step of the cascade is certified"):
        refused.check(["cheap", "strong"])


def test_a_decision_has_its_price_in_money() -> None:
    prices = {"cheap-model-1": Price(input=1, output=1), "strong-model-1": Price(input=20, output=20)}
    report = cascade_log(rows_of(), cascade_of(), prices=prices)
    cheap, strong = report.steps
    assert cheap.bill.cost == pytest.approx(cheap.calls * 110 / 1e6)
    assert strong.bill.cost == pytest.approx(strong.calls * 20 * 110 / 1e6)
    assert report.bill.cost is not None
    assert report.cost_per_decision == pytest.approx(report.bill.cost / report.decided)


def test_without_prices_a_decision_has_a_price_in_calls_alone() -> None:
    document = cascade_log(rows_of(), cascade_of()).to_dict()
    assert (document["cost"], document["cost_per_decision"]) == (None, None)
    assert document["calls_per_decision"] > 6
    assert json.loads(json.dumps(document)) == document


@pytest.mark.slow
def test_a_judge_that_no_case_comes_to_need_not_be_in_the_log() -> None:
    cascade = cascade_of()
    mine = [row for row in rows_of() if row.judge == CHEAP.name]
    easy = [row for row in mine if _sure(row.case_id)]
    report = cascade_log(easy, cascade)
    assert (report.left, report.steps[1].reached, report.steps[1].calls) == ((), 0, 0)


def _sure(case_id: str) -> bool:
    return len({row.verdict for row in rows_of() if (row.judge, row.case_id) == (CHEAP.name, case_id)}) == 1


def test_a_judge_that_cases_come_to_has_to_be_in_the_log() -> None:
    mine = [row for row in rows_of() if row.judge != STRONG.name]
    with pytest.raises(UnknownNameError, match="'strong'"):
        cascade_log(mine, cascade_of())
