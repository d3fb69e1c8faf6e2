"""What `judgeharness calibrate` is asked for, and how a calibration is printed and saved."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rich.text import Text

from judgeharness_integrations._errors import ConfigError, UsageError
from judgeharness_integrations.calibration import CalibrationReport
from judgeharness_integrations.cli._json import print_json
from judgeharness_integrations.cli._printing import console
from judgeharness_integrations.reporting import calibration_text

__all__ = ["EXPLORATORY", "Request", "deliver", "refuse_same"]

EXPLORATORY = "rule chosen after the samples: exploratory, unless the run was planned with it"


@dataclass(frozen=True, kw_only=True)
class Request:
    """What both ways of calibrating are asked for."""

    labels: Path | None
    out: Path | None
    judge: str | None
    name: str | None
    source: str
    positive: str | None
    as_json: bool
    plot: Path | None = None
    run: str | None = None


def refuse_same(option: str, path: Path, *read: Path | None) -> None:
    """Refuse to write where something else is read from."""
    for other in read:
        if other is not None and path.is_file() and other.is_file() and path.samefile(other):
            raise UsageError(f"{option} {path} is {other}, which is read: give another {option}.")


def deliver(report: CalibrationReport, request: Request, *notes: str) -> None:
    """Print the report and save it: what was paid for is kept even when one of the two fails."""
    try:
        _print(report, request, *notes)
    finally:
        if request.out is not None:
            _save(report, request.out, request)
    if request.plot is not None:
        _draw(report, request.plot, request)


def _draw(report: CalibrationReport, folder: Path, request: Request) -> None:
    from judgeharness_integrations.calibration.plots import draw_risk_coverage  # noqa: PLC0415 - few draw

    for path in draw_risk_coverage(report, folder):
        if not request.as_json:
            console().print(Text(f"drawn: {path}"), soft_wrap=True)


def _save(report: CalibrationReport, out: Path, request: Request) -> None:
    try:
        report.save(out)
    except OSError as error:
        if not request.as_json:
            print_json(report.to_dict())
        reason = f"{out} cannot be written ({error.strerror or error})"
        raise ConfigError(f"the calibration was not saved, it is printed as JSON: {reason}.") from error
    if not request.as_json:
        console().print(Text(f"saved to {out}"), soft_wrap=True)


def _print(report: CalibrationReport, request: Request, *notes: str) -> None:
    if request.as_json:
        print_json(report.to_dict())
        return
    screen = console()
    for line in (*notes, *calibration_text(report)):
        screen.print(Text(line), soft_wrap=True)
