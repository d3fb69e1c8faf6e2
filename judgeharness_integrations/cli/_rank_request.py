"""The options of `judgeharness rank` as what they stand for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import Final, get_args

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.aggregation.rules import RuleLike
from judgeharness_integrations.cli._names import cut_ties_named, failures_named, names_in, one_of
from judgeharness_integrations.cli._replay import rule_of
from judgeharness_integrations.ranking.correctness.policy import Policy, Ties
from judgeharness_integrations.ranking.eip import EipOptions
from judgeharness_integrations.ranking.judges.facts import read_judge_facts
from judgeharness_integrations.ranking.rating import method_named
from judgeharness_integrations.ranking.request import RankRequest
from judgeharness_integrations.reporting.figures import check_drawable

__all__ = ["EIP_DEFAULTS", "Wishes", "request_of"]

EIP_DEFAULTS: Final[Mapping[str, float | str]] = {
    "alpha": 0.85,
    "tolerance": 1e-10,
    "range": "0:1",
    "all_equal": 0.5,
}

_TIES: tuple[Ties, ...] = get_args(Ties)


@dataclass(frozen=True, kw_only=True)
class Wishes:
    """What is read beside the request, and what becomes of the answer.

    Raises:
        UsageError: `out` is a file, or `draws` cannot be drawn.
        NotInstalledError: pictures are wanted and matplotlib is missing.

    """

    run: str | None = None
    labels: bool = False
    pointwise: Path | None = None
    cases: Path | None = None
    against: Path | None = None
    audit: str | None = None
    draws: int = 50
    seed: int = 0
    out: Path | None = None
    whole: bool = False
    as_json: bool = False

    def __post_init__(self) -> None:
        """Refuse what would fail after everything was computed."""
        if self.draws < 1:
            raise UsageError(f"--draws must be at least 1, not {self.draws}.")
        if self.seed < 0:
            raise UsageError(f"--seed must be at least 0, not {self.seed}.")
        if self.out is not None and self.out.exists() and not self.out.is_dir():
            raise UsageError(f"--out {str(self.out)!r:.200} is a file: name a folder.")
        check_drawable(self.out)
        if self.out is not None:
            _check_writable(self.out)


def _check_writable(folder: Path) -> None:
    """Make the folder and a file in it, which is gone at once."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            pass
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise UsageError(f"--out {str(folder)!r:.200} cannot be written to ({why}): name another folder.") from error


def request_of(
    *,
    method: str,
    rule: str | None,
    criteria: Sequence[str],
    judges: Sequence[str],
    failures: str,
    ties: str | None,
    by: Sequence[str],
    cluster: str | None,
    flagged: str | None,
    cut: float,
    cut_ties: str,
    eip: Mapping[str, float | str],
    facts: Path | None,
) -> RankRequest:
    """Return the request of the options' texts.

    Raises:
        UnknownNameError: a method, rule or policy is not known; the nearest is offered.
        UsageError: a number is out of range, or the facts cannot be read.

    """
    return RankRequest(
        method=method_named(method),
        rule=None if rule is None else _rule(rule),
        criteria=tuple(criteria),
        judges=tuple(judges),
        failures=failures_named(failures),
        ties=None if ties is None else one_of("ties policy", ties, _TIES),
        by=", ".join(names_in(by)) or None,
        cluster=cluster,
        flagged=flagged,
        cut=cut,
        cut_ties=cut_ties_named(cut_ties),
        eip=_eip(eip),
        facts={} if facts is None else read_judge_facts(facts),
    )


def _rule(spec: str) -> RuleLike:
    return rule_of(spec) if ":" in spec else Policy.of(spec).rule


def _eip(options: Mapping[str, float | str]) -> EipOptions:
    low, _, high = str(options["range"]).partition(":")
    try:
        limits = float(low), float(high)
    except ValueError:
        raise UsageError(f"--score-range is LOW:HIGH, as 0:1, not {options['range']!r:.40}.") from None
    alpha, tolerance, all_equal = (float(options[name]) for name in ("alpha", "tolerance", "all_equal"))
    return EipOptions(alpha=alpha, tolerance=tolerance, low=limits[0], high=limits[1], all_equal=all_equal)
