"""Whether the cases of a run are like the labelled ones of a certificate."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from judgeharness_integrations.analysis.aggregation import rule
from judgeharness_integrations.analysis.aggregation.grouping import by_criterion
from judgeharness_integrations.analysis.calibration.saved import CalibrationReport, CalibrationState
from judgeharness_integrations.analysis.calibration.transport import facts_of_decisions
from judgeharness_integrations.analysis.certifying import Certificate, Wanted, certify
from judgeharness_integrations.analysis.certifying.cascade import certificate_on_run
from judgeharness_integrations.analysis.certifying.certificate import held_text
from judgeharness_integrations.analysis.certifying.measuring import Labels
from judgeharness_integrations.analysis.replay import case_decisions
from judgeharness_integrations.verdictlog import VerdictRow

MAJORITY = rule("majority")
VALID = CalibrationState(status="valid")


def cases(kind: str, count: int, rate: float, *, seed: int, labelled: bool = False) -> list[VerdictRow]:
    """Cases of a judge that is sure of each; `rate` of them are passed, rightly."""
    draw, found = np.random.default_rng(seed), []
    for number in range(count):
        verdict = "PASS" if draw.random() < rate else "FAIL"
        attributes = {"kind": kind, "length_a": 100 if kind == "short" else 4000, "length_b": 100}
        found += [
            VerdictRow(
                case_id=f"{kind}{seed}-{number}",
                verdict=verdict,
                gold=verdict if labelled else None,
                repetition=repetition,
                attributes=attributes,
            )
            for repetition in range(3)
        ]
    return found


def measured(rows: Sequence[VerdictRow], **wanted: str) -> Certificate:
    return certify(rows, MAJORITY, Wanted(**wanted), Labels(name="people"), measured_at="2026-01-01T00:00:00+00:00")


def state_on(certificate: Certificate, rows: Sequence[VerdictRow], own: CalibrationState = VALID) -> CalibrationState:
    decided = {name: case_decisions(group, MAJORITY) for name, group in by_criterion(rows).items()}
    facts = facts_of_decisions(decided, column=certificate.stratum)
    return certificate_on_run((certificate, own), facts, None, None)[1]


def labelled(kinds: Sequence[str]) -> list[VerdictRow]:
    return [row for place, kind in enumerate(kinds) for row in cases(kind, 60, 0.5, seed=place, labelled=True)]


def test_cases_unlike_the_labelled_ones_are_seen_without_a_calibration() -> None:
    given = measured(labelled(["short"]))
    assert given.granted
    assert state_on(given, cases("short", 200, 0.5, seed=7)) == VALID
    shifted = state_on(given, cases("short", 200, 0.95, seed=8))
    assert shifted.status == "shifted"
    assert shifted.reason.startswith("this run's cases are not like the labelled ones in decisions of verdict (")
    longer = state_on(given, cases("long", 200, 0.5, seed=9))
    assert "lengths in length_a + length_b" in longer.reason


def test_a_certificate_by_strata_holds_for_any_mix_of_them_and_names_the_one_that_shifted() -> None:
    given = measured(labelled(["short", "long"]), stratum="kind")
    mixed = [*cases("short", 300, 0.5, seed=7), *cases("long", 30, 0.5, seed=8)]
    assert state_on(given, mixed) == VALID
    found = state_on(given, [*cases("short", 100, 0.5, seed=7), *cases("long", 100, 0.02, seed=8)])
    assert found.status == "shifted"
    assert found.reason.startswith("kind long: this run's cases are not like the labelled ones in decisions of verdict")


@pytest.mark.slow
def test_runs_of_the_same_population_are_called_shifted_in_one_of_a_hundred_at_most() -> None:
    kinds = ["short", "long", "short2", "long2"]
    alarms = 0
    for seed in range(200):
        rows = [row for kind in kinds for row in cases(kind, 60, 0.5, seed=4 * seed, labelled=True)]
        given = measured(rows, stratum="kind")
        run = [row for kind in kinds for row in cases(kind, 60, 0.5, seed=4 * seed + 1)]
        alarms += state_on(given, run) != VALID
    assert alarms <= 7  # of 200 at .01: P < .005 beyond


@pytest.mark.parametrize("count", [5, 0])
def test_that_cases_were_too_few_to_compare_is_said(count: int) -> None:
    given = measured(labelled(["short"]))
    found = state_on(given, cases("short", count, 0.5, seed=7))
    why = f"the run's cases are too few: {count} cases, 20 are needed"
    assert (found.status, found.reason) == (
        "valid",
        f"whether this run's cases are like the labelled ones was not measured: {why}",
    )
    assert held_text(given, found).endswith(f", if cases are like the labelled ones; {found.reason}")


def test_a_certificate_that_does_not_hold_is_compared_with_nothing() -> None:
    given = measured(labelled(["short"]))
    unverifiable = CalibrationState(status="unverifiable", reason="nobody knows")
    assert state_on(given, cases("short", 200, 0.95, seed=8), unverifiable) == unverifiable


def test_strata_with_too_few_cases_are_named_beside_those_that_were_compared() -> None:
    given = measured(labelled(["short", "long", "new"]), stratum="kind")
    few = [*cases("short", 200, 0.5, seed=7), *cases("long", 5, 0.5, seed=8)]
    found = state_on(given, few)
    assert found.valid
    assert found.reason.startswith("kind long: whether this run's cases are like the labelled ones was not measured: ")
    assert found.reason.endswith("5 cases, 20 are needed; nor in 1 other")
    assert state_on(given, few[:600]).reason.endswith("; nor in 1 other")
    assert state_on(given, []).reason.endswith("; nor in 2 others")


def test_cases_of_a_run_that_its_gate_ended_are_not_compared_and_that_is_said() -> None:
    given = measured(labelled(["short"]))
    _, found = certificate_on_run((given, VALID), (), None, None, stopped=True)
    assert found.valid
    assert found.reason.endswith(
        "was not measured: the run was asked until its own gate is settled, "
        "which cases that look like success do sooner"
    )


def test_a_certificate_that_certifies_nothing_needs_no_comparison() -> None:
    refused = measured([replace(row, gold="PASS") for row in labelled(["short"])])
    assert (refused.granted, state_on(refused, [])) == (False, VALID)


def test_the_counts_are_saved_and_an_earlier_version_has_none() -> None:
    given = measured(labelled(["short"]))
    document = json.loads(json.dumps(given.to_dict()))
    assert Certificate.from_dict(document) == given
    for one in document["selections"]:
        del one["population"]
    earlier = Certificate.from_dict(document)
    assert [one.population for one in earlier.selections] == [None]
    run = cases("short", 200, 0.95, seed=8)
    found = state_on(earlier, run)
    assert (found.valid, "certificate was saved by an earlier version" in found.reason) == (True, True)


def test_a_calibration_beside_a_certificate_of_an_earlier_version_speaks_for_it() -> None:
    given = measured(labelled(["short"]))
    earlier = replace(given, selections=tuple(replace(one, population=None) for one in given.selections))
    beside = CalibrationReport(
        name="labels",
        judge=given.judge,
        source="human",
        consensus="majority",
        excluded_ties=0,
        measured_at=given.measured_at,
        criteria={},
    )
    shifted = CalibrationState(status="shifted", reason="other cases")
    told = CalibrationState(status="shifted", reason="by the calibration on labels, other cases")
    assert certificate_on_run((earlier, VALID), (), beside, shifted) == (earlier, told)
    assert certificate_on_run((earlier, VALID), (), beside, VALID) == (earlier, VALID)
    expired = CalibrationState(status="expired", reason="old")
    assert "was not measured" in certificate_on_run((earlier, VALID), (), beside, expired)[1].reason
