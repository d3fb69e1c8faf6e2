"""Gates on rows apart from the folder of their run: what they tell of a cut, and what nobody can know."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from support.rows import sampled

from judgeharness_integrations.analysis.aggregation.rules import PLANNED_SAMPLES
from judgeharness_integrations.analysis.gates import GateCheck, Gates, check_gates
from judgeharness_integrations.analysis.runs import run_report
from judgeharness_integrations.analysis.runs.reading import results_of_log
from judgeharness_integrations.verdictlog import VerdictRow

TAKEN = "nothing here says how many cases were to be asked"


def rows_of(count: int = 60, *, judge: str = "judge", samples: int = 3, **changes: Any) -> list[VerdictRow]:
    every = [row for n in range(count) for row in sampled(["PASS"] * samples, case_id=f"c{n}", gold="PASS")]
    return [replace(row, judge=judge, run="r1", **changes) for row in every]


def checks(rows: Sequence[VerdictRow], gate: str = "pass_rate>=0.5", **options: Any) -> list[GateCheck]:
    report = run_report(results_of_log(rows, "majority"), planned=options.pop("planned", {}))
    return list(check_gates(report, Gates(fail_under=(gate,), **options)).checks)


def test_rows_of_a_run_are_taken_for_all_of_it_and_that_is_said() -> None:
    (check,) = checks(rows_of())
    assert (check.status, TAKEN in check.reason) == ("passed", True)
    (known,) = checks(rows_of(), planned={"judge": 60})
    assert TAKEN not in known.reason
    (unnamed,) = checks([replace(row, run="") for row in rows_of()])
    assert TAKEN not in unnamed.reason
    (watched,) = checks(rows_of(), sequential=True)
    assert watched.reason.count(TAKEN) == 1


@pytest.mark.parametrize("gate", ["pass_rate>=0.5", "accuracy>=0.5", "coverage>=0.5", "consistency>=0.5"])
@pytest.mark.parametrize("sequential", [False, True])
def test_a_case_that_was_cut_off_shows_that_its_run_was(gate: str, sequential: bool) -> None:  # noqa: FBT001 - a case of the table
    (check,) = checks(rows_of()[:-1], gate, sequential=sequential)
    assert check.status == "not_measured"
    assert "1 of 60 cases holds fewer samples than the others, as after a cut: gate on the folder" in check.reason


def test_early_stopping_and_perturbations_that_do_not_fit_are_no_cut() -> None:
    early = [replace(row, attributes={PLANNED_SAMPLES: 3.0}) for row in rows_of()[:-1]]
    assert checks(early)[0].status == "passed"
    other = [replace(row, perturbation="case_change") for row in rows_of()[:-3]]
    assert checks([*rows_of(), *other])[0].status == "passed"


def test_a_judge_that_was_asked_less_than_others_shows_that_its_run_was_cut_off() -> None:
    part, whole = checks([*rows_of(judge="a", count=40), *rows_of(judge="b")])
    assert (part.judge, part.status, whole.status) == ("a", "not_measured", "passed")
    assert "other judges of the run were asked about 20 cases more" in part.reason
    apart = [replace(row, case_id=f"x{row.case_id}") for row in rows_of(judge="b")]
    assert [one.status for one in checks([*rows_of(judge="a"), *apart])] == ["passed", "passed"]
