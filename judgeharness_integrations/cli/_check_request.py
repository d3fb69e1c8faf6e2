"""What a `judgeharness check` was asked for, and which options go together."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from pathlib import Path

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.cli._writing import check_file

__all__ = ["CheckRequest"]

_OF_CONFIG = ("out", "repetitions", "cases", "probes", "max_calls", "seed")
_OF_LOG = ("run", "criteria", "labels")
_OPTIONS = {"criteria": "criterion", "probes": "probe"}


@dataclass(frozen=True, kw_only=True)
class CheckRequest:
    """The options of one `judgeharness check`; None leaves a choice to the configuration or a default.

    `probes` None are all of them, an empty tuple none.
    """

    config: Path | None = None
    log: Path | None = None
    judges: tuple[str, ...] = ()
    run: str | None = None
    criteria: tuple[str, ...] = ()
    labels: bool = False
    out: Path | None = None
    repetitions: int | None = None
    cases: int | None = None
    probes: tuple[str, ...] | None = None
    tolerance: float = 0.1
    alpha: float = 0.05
    score_tolerance: float | None = None
    max_calls: int | None = None
    seed: int | None = None
    yes: bool = False
    as_json: bool = False
    html: Path | None = None

    def check(self, *, both_probes: bool = False) -> None:
        """Refuse options that contradict each other, and a page that cannot be written.

        Raises:
            UsageError: neither or both of CONFIG and --log are given, an option is the other one's, or a number is
                out of range.

        """
        if (self.config is None) == (self.log is None):
            raise UsageError("give a configuration, whose judges are asked, or --log with a log: one of the two.")
        if both_probes:
            raise UsageError("--probe names what to attack with, --no-probes nothing: give one of the two.")
        names, other = (_OF_CONFIG, "--log") if self.config is None else (_OF_LOG, "a configuration")
        defaults = {one.name: one.default for one in fields(self)}
        for name in names:
            if getattr(self, name) != defaults[name]:
                option = "no-probes" if name == "probes" and not self.probes else _OPTIONS.get(name, name)
                raise UsageError(f"--{option.replace('_', '-')} does not go with {other}.")
        self._check_numbers()
        if self.html is not None:
            if self.html.is_dir():
                raise UsageError(f"{self.html} is a folder: give the path of a file as --html.")
            check_file(self.html, option="--html")

    def _check_numbers(self) -> None:
        """Refuse, before a plan is shown, numbers that no report can be made with."""
        for name in ("tolerance", "alpha"):
            if not 0 < (value := getattr(self, name)) < 1:
                raise UsageError(f"{name} must be a number between 0 and 1, not {value!r}.")
        if self.score_tolerance is not None and not 0 <= self.score_tolerance < math.inf:
            raise UsageError(f"score_tolerance must be a number of at least 0, not {self.score_tolerance!r}.")
