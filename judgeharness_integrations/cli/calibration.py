"""What `judgeharness calibrate` and `certify` are asked for, and how what they measure is printed and saved."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from rich.text import Text

from judgeharness_integrations._errors import ConfigError, UnknownNameError, UsageError
from judgeharness_integrations.analysis.calibration import CalibrationReport
from judgeharness_integrations.analysis.calibration.saved import SavedMeasurement
from judgeharness_integrations.cli._output import print_json
from judgeharness_integrations.judging.candidates import CandidateOptions
from judgeharness_integrations.judging.config import Config
from judgeharness_integrations.judging.labelset import unsaid_source
from judgeharness_integrations.reporting.calibrationtext import calibration_section
from judgeharness_integrations.reporting.sections import Section
from judgeharness_integrations.reporting.terminal import console, say, show_section

EXPLORATORY = "rule chosen after the samples: exploratory, unless the run was planned with it"


@dataclass(frozen=True, kw_only=True)
class Request(CandidateOptions):
    """What all ways of calibrating are asked for."""

    as_json: bool
    judge: str | None = None
    name: str | None = None
    source: str | None = None
    positive: str | None = None
    plot: Path | None = None
    run: str | None = None
    by: str | None = None

    @property
    def declared_source(self) -> str:
        """Where the labels come from: what a calibration is worth depends on it, so that it has to be said."""
        if self.source is None:
            raise UsageError(f"{unsaid_source('--source')}.")
        return self.source


def deliver(report: CalibrationReport, request: Request, *notes: str) -> None:
    """Print a calibration, save and draw it."""
    print_and_save(report, request, lambda: (*notes, calibration_section(report)))
    if request.plot is not None:
        _draw(report, request.plot, request)


def print_and_save(report: SavedMeasurement, request: Request, told: Callable[[], Iterable[str | Section]]) -> None:
    """Print what was measured, as it is told, and save it: what was paid for is kept even when one of the two fails."""
    try:
        _print(report, request, told)
    finally:
        if request.out is not None:
            _save(report, request.out, request)


def _draw(report: CalibrationReport, folder: Path, request: Request) -> None:
    from judgeharness_integrations.reporting.figures import draw_risk_coverage  # noqa: PLC0415 - few draw

    for path in draw_risk_coverage(report, folder):
        if not request.as_json:
            console().print(Text(f"drawn: {path}"), soft_wrap=True)


def _save(report: SavedMeasurement, out: Path, request: Request) -> None:
    try:
        report.save(out)
    except OSError as error:
        if not request.as_json:
            print_json(report.to_dict())
        reason = f"{out} cannot be written ({error.strerror or error})"
        raise ConfigError(f"the {report.KIND} was not saved, it is printed as JSON: {reason}.") from error
    if not request.as_json:
        console().print(Text(f"saved to {out}"), soft_wrap=True)


def _print(report: SavedMeasurement, request: Request, told: Callable[[], Iterable[str | Section]]) -> None:
    if request.as_json:
        print_json(report.to_dict())
        return
    screen = console()
    for part in told():
        if isinstance(part, Section):
            show_section(part, screen, every=True)
        else:
            say(screen, part)


def refuse_of_log(rule: str | None, run: str | None) -> None:
    """Refuse beside a configuration what says how a log is read."""
    if rule is not None:
        raise UsageError("--rule goes with --log: with CONFIG the rule is its harness.aggregation_rule.")
    if run is not None:
        raise UsageError("--run goes with --log: with CONFIG the judge is asked now.")


def place_of(config: Config, name: str | None) -> int:
    """Return the place of the named judge in a configuration, of its only one without a name."""
    names = [judge.name for judge in config.judges]
    if name is None and len(names) > 1:
        raise ConfigError(f"the configuration has {len(names)} judges: choose one with --judge.")
    if name is not None and name not in names:
        raise UnknownNameError("judge", name, names)
    return 0 if name is None else names.index(name)
