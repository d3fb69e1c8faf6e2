"""`judgeharness check`: its options, and which of them go together."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated

import typer

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.cli._command import command
from judgeharness_integrations.cli._shared_options import PlanLimit, Yes

_OF_CONFIG = ("out", "repetitions", "cases", "probes", "no_probes", "max_calls", "seed")
_OF_LOG = ("run", "criteria", "labels")
_OPTIONS = {"criteria": "criterion", "probes": "probe"}


@dataclass(frozen=True, kw_only=True)
class CheckRequest:
    """Is this judge any good? Asks it again under changes and attacks, or reads a log, and says what it passes.

    Of CONFIG every judge is asked; the same command again goes on, and asks nothing twice. Exit code 1 where a
    property fails.
    """

    config: Annotated[
        Path | None,
        typer.Argument(help="A configuration: .yaml, .toml or .json; its judges are asked.", show_default=False),
    ] = None
    log: Annotated[
        Path | None,
        typer.Option(
            help="Instead, a verdict log: .sqlite, .parquet, .csv or .jsonl (.gz), or a folder.", show_default=False
        ),
    ] = None
    judges: Annotated[
        tuple[str, ...],
        typer.Option(
            "--judge", help="Only this judge; may be given several times.", show_default="all of CONFIG, the one of LOG"
        ),
    ] = ()
    run: Annotated[str | None, typer.Option("--run", help="Only this run of LOG.", show_default=False)] = None
    criteria: Annotated[
        tuple[str, ...],
        typer.Option("--criterion", help="Only this criterion of LOG; may be given several times.", show_default=False),
    ] = ()
    labels: Annotated[bool, typer.Option("--labels", help="Read every verdict of LOG as a label, numbers too.")] = False
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder for check.json and verdicts.jsonl.", show_default="judgeharness-check/CONFIG beside CONFIG"
        ),
    ] = None
    repetitions: Annotated[
        int | None,
        typer.Option(help="Samples of every case as it is: the noise to compare with.", min=1, show_default="3"),
    ] = None
    cases: Annotated[int | None, typer.Option(help="How many cases are drawn.", min=1, show_default="50")] = None
    probes: Annotated[
        tuple[str, ...] | None,
        typer.Option(
            "--probe", help="Only this probe or family, as injection; may be given several times.", show_default="all"
        ),
    ] = None
    no_probes: Annotated[bool, typer.Option("--no-probes", help="Attack nothing.")] = False
    tolerance: Annotated[float, typer.Option(help="The largest effect that passes, as a share.")] = 0.1
    alpha: Annotated[float, typer.Option(help="Chance of any false fail in a report.")] = 0.05
    score_tolerance: Annotated[
        float | None,
        typer.Option(
            help="How far two scores lie apart and still agree.", show_default="a ninth of the scale, declared or seen"
        ),
    ] = None
    max_calls: PlanLimit = None
    seed: Annotated[int | None, typer.Option(help="Of the draw of cases and of every change.", show_default="0")] = None
    yes: Yes = False
    as_json: Annotated[bool, typer.Option("--json", help="Print check.json; progress and plan go to stderr.")] = False
    html: Annotated[Path | None, typer.Option(help="Also write a page to this file.", show_default=False)] = None

    @property
    def attacks(self) -> tuple[str, ...] | None:
        """The probes to attack with; None are all of them."""
        return () if self.no_probes else self.probes

    def check(self) -> None:
        """Refuse options that contradict each other, and a page that cannot be written.

        Raises:
            UsageError: neither or both of CONFIG and --log are given, an option is the other one's, or a number is
                out of range.

        """
        if (self.config is None) == (self.log is None):
            raise UsageError("give a configuration, whose judges are asked, or --log with a log: one of the two.")
        if self.no_probes and self.probes:
            raise UsageError("--probe names what to attack with, --no-probes nothing: give one of the two.")
        names, other = (_OF_CONFIG, "--log") if self.config is None else (_OF_LOG, "a configuration")
        defaults = {field.name: field.default for field in fields(self)}
        for name in names:
            if getattr(self, name) != defaults[name]:
                option = _OPTIONS.get(name, name).replace("_", "-")
                raise UsageError(f"--{option} does not go with {other}.")
        self._check_numbers()
        if self.html is not None:
            if self.html.is_dir():
                raise UsageError(f"{self.html} is a folder: give the path of a file as --html.")
            from judgeharness_integrations.cli._output import check_file  # noqa: PLC0415 - keeps --help fast

            check_file(self.html, option="--html")

    def _check_numbers(self) -> None:
        """Refuse, before a plan is shown, numbers that no report can be made with."""
        for name in ("tolerance", "alpha"):
            if not 0 < (value := getattr(self, name)) < 1:
                raise UsageError(f"{name} must be a number between 0 and 1, not {value!r}.")
        if self.score_tolerance is not None and not 0 <= self.score_tolerance < math.inf:
            raise UsageError(f"score_tolerance must be a number of at least 0, not {self.score_tolerance!r}.")


check = command(CheckRequest, "judgeharness_integrations.cli._check:check_judges")
