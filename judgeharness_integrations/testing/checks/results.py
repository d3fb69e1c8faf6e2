"""Checks of the result: its calibration, its JSON, and the bare evaluator's."""

from __future__ import annotations

import json
from typing import Any

from judgeharness_integrations.calibration import CalibrationReport, CalibrationSet
from judgeharness_integrations.result import HarnessResult
from judgeharness_integrations.testing.bench import Bench, Evaluator, Native
from judgeharness_integrations.testing.checks._bench_work import (
    FIRST,
    SECOND,
    Watcher,
    carried,
    expect,
    harness_of,
    in_new_loop,
    in_thread,
    labels_of,
    measured,
)
from judgeharness_integrations.testing.script import Script

__all__ = ["check_calibration", "check_equality_with_bare", "check_json"]


def check_calibration(bench: Bench) -> None:
    """A calibration is reported as valid, as expired without its numbers, or not at all."""
    label, _ = labels_of(bench)
    report = _calibrated(bench, label)
    for calibration, repetitions, status, precision in (
        (None, 2, None, None),
        (report, 2, "valid", 1.0),
        (report, 3, "expired", None),
    ):
        native = measured(bench, (label,), harness_of(repetitions, calibration=calibration))
        said = _status(native)
        expect(said == status, f"a calibration that is {status or 'absent'} was reported as {said or 'absent'}")
        wanted = f"a calibration that is {status or 'absent'} has precision {precision}"
        expect(native.precision == precision, f"{wanted}, and the result states {native.precision}")


def _calibrated(bench: Bench, label: str) -> CalibrationReport:
    harness = harness_of(2)
    evaluator = bench.harnessed(Script((label,)), harness)
    labelled = CalibrationSet("bench", ((evaluator.case(FIRST, SECOND), label),))
    return in_new_loop(lambda: harness.acalibrate(evaluator.judge, labelled))


def _status(native: Native) -> str | None:
    calibration = carried(native)["calibration"]
    return None if calibration is None else str(calibration["status"])


def check_json(bench: Bench) -> None:
    """The framework's result is JSON, and the document in it is the measurement."""
    label, _ = labels_of(bench)
    watcher = Watcher()
    native = measured(bench, (label,), harness_of(2, "none", bench.perturbation, observers=(watcher,)))
    _as_json(native.answer, "result")
    document = _as_json(carried(native), "document")
    expect(len(watcher.results) == 1, f"observers of the harness saw {len(watcher.results)} results of one case")
    wanted = _as_json(watcher.results[0].to_dict(), "measurement")
    differing = sorted(name for name, value in wanted.items() if document.get(name) != value)
    expect(not differing, f"the document differs from the measurement in {', '.join(differing)}")
    if "rows" in document:
        rebuilt = _as_json(HarnessResult.from_dict(document).to_dict(), "rebuilt measurement")
        expect(rebuilt == wanted, "the document does not rebuild the measurement")


def _as_json(value: Any, what: str) -> Any:
    try:
        return json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise AssertionError(f"the {what} is no JSON ({error})") from error


def check_equality_with_bare(bench: Bench) -> None:
    """One sample of an unperturbed case gives the bare evaluator's result, and says that it is informal."""
    if bench.bare is None:
        raise AssertionError("there is no bare evaluator to compare with: give one, or opt out and say why")
    for label in (*labels_of(bench), *(("TIE",) if bench.pairwise else ())):
        bares = _by_both_faces(bench.bare(Script((label,))))
        natives = _by_both_faces(bench.harnessed(Script((label,)), harness_of(1)))
        for bare, native in zip(bares, natives, strict=True):
            expect(bare.verdict == label, f"the bench's bare evaluator reads {label} as {bare.verdict}")
            differing = ", ".join(sorted(k for k in {*bare.plain, *native.plain} if not _same(bare, native, k)))
            expect(not differing, f"one sample saying {label} differs from the bare evaluator in {differing}")
            expect(carried(native)["informal"] is True, "a single sample is not said to be informal")


def _by_both_faces(evaluator: Evaluator) -> tuple[Native, Native]:
    return in_thread(lambda: evaluator.evaluate(FIRST, SECOND)), in_new_loop(lambda: evaluator.aevaluate(FIRST, SECOND))


def _same(bare: Native, native: Native, key: str) -> bool:
    """Whether both results have a key with the same value of the same type: True is not 1.0."""
    if key not in bare.plain or key not in native.plain:
        return False
    one, other = bare.plain[key], native.plain[key]
    return type(one) is type(other) and bool(one == other)
