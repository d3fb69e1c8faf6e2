"""Studies of workflows are those of the product: each simulation against the functions that commands call."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.measured import calibration

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis.calibration import LabelledItem
from judgeharness_integrations.analysis.calibration.drift import drift
from judgeharness_integrations.analysis.gates.gate import parse_expression
from judgeharness_integrations.analysis.gates.sequential import Evidence, weigh
from judgeharness_integrations.analysis.planning import Goal
from judgeharness_integrations.cli import selftest as commands
from judgeharness_integrations.cli.selftest import COMMANDS, typed
from judgeharness_integrations.testing.selftest import PromiseCheck, run_selftest
from judgeharness_integrations.testing.selftest.looking import (
    daily_alarms,
    daily_errors,
    passes_at_some_look,
    planted_population,
    violates,
)
from judgeharness_integrations.testing.selftest.report import WORKFLOWS
from judgeharness_integrations.testing.selftest.workflows import (
    decided,
    is_found,
    is_narrow,
    measured_labels,
    passes_bar,
    rate_decided,
    recommended_rate,
    two_systems,
)


@pytest.mark.parametrize(
    "check",
    [
        pytest.param(one, id=one.name, marks=[pytest.mark.slow] if one.name.endswith("difference") else [])
        for one in WORKFLOWS
    ],
)
def test_every_point_can_be_simulated(check: Any) -> None:
    for point in check.points:
        happened = check.simulate(point, 2, np.random.default_rng(0))
        assert happened.shape == (2,)
        assert (np.isin(happened, (0.0, 1.0)) | np.isnan(happened)).all()
        assert 0 < check.promised(point) < 1


def test_points_reach_rates_of_a_fiftieth_ten_cases_and_three_clusters() -> None:
    values: dict[str, set[float]] = {}
    for check in (*WORKFLOWS, *COMMANDS):
        assert isinstance(check, PromiseCheck)
        for point in check.points:
            for name, value in point.items():
                values.setdefault(name, set()).add(float(value))
    for name in ("rate", "bar"):
        assert {0.02, 0.98} <= values[name]
    assert min(values["clusters"]) == 3
    assert {min(values[name]) for name in ("pilot", "labels", "cases", "looks")} == {10.0}


def test_4000_studies_a_point_in_the_full_version() -> None:
    assert {check.full_replicates for check in (*WORKFLOWS, *COMMANDS) if isinstance(check, PromiseCheck)} == {4000}


# drift


def daily(wrong: np.ndarray) -> bool:
    """Whether `drift` finds any on a day, given all days before."""

    def items(day: np.ndarray) -> tuple[LabelledItem, ...]:
        return tuple(
            LabelledItem(case_id=f"c{n}", criterion="verdict", gold="A", verdict="B" if bad else "A", status="decided")
            for n, bad in enumerate(day)
        )

    old, past, alarms = calibration(items=items(wrong[0])), [], []
    for day in wrong[1:]:
        found = drift(old, items(day), anchors=None, past=past)
        decisions = found.criteria["verdict"].decisions.items()
        past.append({(case, "verdict"): float(value or 0) for case, value in decisions})
        alarms.append(found.answer == "drifted")
    return any(alarms)


@pytest.mark.slow
def test_an_alarm_is_that_of_the_daily_check() -> None:
    generator = np.random.default_rng(5)
    wrong = daily_errors(np.full(9, 0.1), studies=12, days=12, generator=generator)
    wrong[4:8, 6:, :7] = True  # comes late
    wrong[8:, 1:, :8] = True  # on the first day
    wrong[8:, 0] = False
    expected = [daily(study) for study in wrong]
    assert daily_alarms(wrong).tolist() == expected
    assert expected[4:] == [True] * 8
    assert not any(expected[:4])


# gates that are looked at again


@pytest.mark.parametrize("size", [None, 60])
def test_a_look_is_that_of_a_sequential_gate(size: int | None) -> None:
    gate = parse_expression("pass_rate>=0.7")
    paths = (np.random.default_rng(1).random((6, 40)) < [[0.7], [0.7], [0.9], [0.95], [1.0], [0.2]]).astype(float)

    def looks(path: list[float]) -> bool:
        evidence = (Evidence.of(path[:n], range(n), size=size) for n in range(1, len(path) + 1))
        return any(weigh(gate, one).outcome == "passed" for one in evidence)

    expected = [looks(path) for path in paths.tolist()]
    assert passes_at_some_look(paths, 0.7, size=size).tolist() == expected
    assert len(set(expected)) == 2


def test_a_look_at_clusters_is_that_of_a_sequential_gate() -> None:
    gate, generator = parse_expression("pass_rate>=0.6"), np.random.default_rng(2)
    weights = np.full((4, 60), 5)
    hits = generator.binomial(weights, [[0.6], [0.97], [1.0], [0.3]])

    def looks(path: Any, sizes: Any) -> bool:
        cases = [
            (float(place < hit), unit)
            for unit, (hit, size) in enumerate(zip(path, sizes, strict=True))
            for place in range(size)
        ]
        ends = np.cumsum(sizes).tolist()
        evidence = (Evidence.of(*zip(*cases[:end], strict=True)) for end in ends)
        return any(weigh(gate, one).outcome == "passed" for one in evidence)

    expected = [looks(*study) for study in zip(hits.tolist(), weights.tolist(), strict=True)]
    found = passes_at_some_look(hits.astype(float), 0.6, weights=weights.astype(float), most=5)
    assert found.tolist() == expected
    assert len(set(expected)) == 2


# labels


def test_counts_of_labels_are_calibrated_and_corrected() -> None:
    found = measured_labels(60, 5, 3, 32)
    assert found.precision is not None
    assert found.recall is not None
    assert (found.precision.successes, found.precision.trials) == (60, 63)
    assert (found.recall.trials, found.untold) == (65, "")
    assert measured_labels(98, 0, 2, 0).untold
    interval = recommended_rate(500, 300, 60, 5, 3, 32)
    assert interval is not None
    assert interval[0] < 0.64 < interval[1]
    assert recommended_rate(10, 5, 0, 0, 0, 0) is None


def test_a_gate_is_that_of_a_report() -> None:
    assert passes_bar(95, 100, "pass_rate>=0.85")
    assert not passes_bar(90, 100, "pass_rate>=0.85")
    assert passes_bar(3, 100, "pass_rate<=0.1")
    assert not passes_bar(0, 0, "pass_rate>=0.1")


# plans


def test_two_systems_are_as_far_apart_as_planted() -> None:
    goal = Goal(kind="difference", value=0.1)
    before, after = two_systems(np.random.default_rng(3), goal, 0.3, (1, 3), (100_000,))
    assert before.mean() == pytest.approx(rate_decided(0.3, (1, 3)), abs=0.01)
    assert after.mean() - before.mean() == pytest.approx(0.1, abs=0.015)
    assert np.corrcoef(before, after)[0, 1] > 0.15
    assert is_found(before, after, (1, 3))
    assert not is_found(before, before, (1, 3))
    assert (np.diff(decided(0.3, (2, 3))) >= 0).all()
    assert [is_narrow(half, 2 * half, 0.2) for half in (50, 30)] == [True, False]
    assert not is_narrow(0, 0, 1.0)


# certificates


def test_a_population_errs_as_planted_and_less_where_votes_agree() -> None:
    found = planted_population(5, 0.11)
    assert found.wrong.mean() == pytest.approx(0.11, abs=0.01)
    assert set(found.scores) == {0.6, 0.8, 1.0}
    assert found.wrong[found.scores == 0.6].mean() > 2 * found.risk(1.0)
    assert (found.violated(1.0, agreement=0.9), found.violated(0.6, agreement=0.9)) == (False, True)
    assert set(planted_population(1, 0.2).scores) == {1.0}
    assert 0.5 not in planted_population(4, 0.2).scores


def test_a_certificate_is_violated_where_its_threshold_is_too_low_and_never_where_it_is_refused() -> None:
    found = planted_population(5, 0.11)
    right, wrong = np.flatnonzero(~found.wrong & (found.scores == 0.6)), np.flatnonzero(found.wrong)
    assert violates(found, np.resize(right, 200), labels=50, agreement=0.9) == 1.0  # luck: no error at .6
    assert violates(found, np.resize(wrong, 200), labels=50, agreement=0.9) == 0.0
    assert violates(found, np.resize(right, 200), labels=20, agreement=0.9) == 0.0  # too few
    assert violates(found, np.resize(right, 200), labels=50, agreement=0.9, size=5) == 0.0  # in ten clusters


# commands


@pytest.mark.sampled(3)
@pytest.mark.parametrize("check", COMMANDS, ids=lambda check: check.name)
def test_the_commands_run_on_files_of_their_own(
    check: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    path, modules = list(sys.path), set(sys.modules)
    [point] = check.points
    happened = check.simulate(point, 2, np.random.default_rng(0))
    assert np.isin(happened, (0.0, 1.0)).all()
    assert list((tmp_path / "temporary").iterdir()) == []
    assert not (tmp_path / "summary.md").exists()
    assert os.environ["GITHUB_STEP_SUMMARY"] == str(tmp_path / "summary.md")
    assert sys.path == path
    assert "judgeharness_selftest_judge" not in set(sys.modules) - modules
    assert capsys.readouterr() == ("", "")


@pytest.mark.slow
def test_what_a_command_finds_reaches_the_study() -> None:
    """A difference of all cases is found, a good judge passes, and one that errs at random is not certified."""
    compared, anchored, _ = COMMANDS
    assert isinstance(compared, PromiseCheck)
    assert isinstance(anchored, PromiseCheck)
    sure = {"rate": 0.2, "pilot": 40, "difference": 0.5}
    assert compared.simulate(sure, 6, np.random.default_rng(0)).mean() >= 0.5
    assert np.isnan(compared.simulate(sure | {"difference": 0.95}, 1, np.random.default_rng(0))).all()
    everything = {"rate": 0.93, "passes": 1.0, "labels": 40}
    assert anchored.simulate(everything, 1, np.random.default_rng(0)).tolist() == [0.0]


@pytest.mark.slow
def test_a_judge_that_reads_its_cases_would_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "_JUDGE", "def judge(case):\n    return case.reference or 'PASS'  # {passes}\n")
    monkeypatch.setattr(commands, "_CASES", ("case_id", "input", "output", "gold", "reference"))
    monkeypatch.setattr(commands, "_case", lambda name, gold: (name, f"q{name}", "a", gold, gold))
    point = {"rate": 0.6, "passes": 1.0, "labels": 60}
    assert COMMANDS[1].simulate(point, 1, np.random.default_rng(0)).tolist() == [1.0]  # type: ignore[union-attr, call-arg]


def test_a_command_that_cannot_do_what_it_is_asked_ends_the_self_test(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="asked for `judgeharness certify`, which ended with 2: error: "):
        typed("certify", tmp_path / "none.csv")


@pytest.mark.slow
@pytest.mark.untraced
def test_no_workflow_breaks_its_promise() -> None:
    report = run_selftest((*WORKFLOWS, *COMMANDS))
    assert [f"{check.name}: {check.reason}" for check in report.checks if check.verdict == "broken"] == []
