"""Has the judge drifted? The same anchors decided again, and the history of such checks."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final, TypeAlias, TypeVar

from judgeharness_integrations._errors import ConfigError, UsageError
from judgeharness_integrations.verdictlog.encoding import LONE_SURROGATES
from judgeharness_integrations.verdictlog.row import is_number

from ..fingerprint import Fingerprint, design_changes, design_of_parts
from .driftanswer import DEFAULT_ANCHORS, Answer, Change, Day, Kind, Place, anchor_items, by_place, compared, same_label
from .items import LabelledItem, simultaneous_alpha
from .saved import CalibrationReport

__all__ = [
    "DEFAULT_ALPHA",
    "DEFAULT_MARGIN",
    "DRIFT_SCHEMA",
    "Answer",
    "CriterionDrift",
    "DriftReport",
    "check_levels",
    "drift",
]

DRIFT_SCHEMA: Final = "judgeharness.drift/1"
DEFAULT_MARGIN: Final = 0.1
DEFAULT_ALPHA: Final = 0.05

Parts: TypeAlias = "Mapping[str, Any] | None"


@dataclass(frozen=True, kw_only=True)
class CriterionDrift:
    """What became of `n` anchors about one criterion.

    Labels: `worse` anchors were correct and are not any more, `better` ones the other way round; `difference` is the
    change of the share that is correct, with Tango's 95 % interval. Scores: `worse` and `better` count anchors whose
    distance from gold grew or shrank; `difference` is the mean change of that distance, in units of the score, with
    Student's 95 % interval (where all changes are equal, what so few anchors cannot rule out). Abstained and not
    graded anchors are not correct, or infinitely far off, and counted apart. `p` is the exact sign (McNemar) test of
    `worse` against `better`, `p_adjusted` Holm's over criteria. `margin` is in units of `difference`.
    `minimum_detectable` is the smallest net share of worse anchors that the test would find with 80 % power, given
    the exchange in both directions that was seen; None when it could not even find that all are worse.
    `anchors_needed` is given where the answer is inconclusive; None when it is more than 100,000, or where more of the
    same would not help: the judge decides all anchors alike now, and did not before.

    Where earlier checks are known, `checks` counts them and this one, and from the second one on the `evidence` of all
    of them (`sequential.drift_evidence`) decides: drifted from `evidence_needed` on. `always_low` and `always_high` are
    the ends of a confidence sequence of the difference: the intervals of all days hold together at 95 %. `varied`: some
    anchor was decided otherwise on some day; where none was, asking again adds no evidence. `decisions` maps anchors to
    how bad they are now, for later checks: 0 or 1 for right and wrong, of scores the distance from gold, None without a
    score.
    """

    criterion: str
    kind: Kind
    answer: Answer
    reason: str
    n: int
    correct_before: int | None
    correct_now: int | None
    changed: int
    worse: int
    better: int
    difference: float | None
    low: float | None
    high: float | None
    margin: float
    p: float
    p_adjusted: float
    minimum_detectable: float | None
    anchors_needed: int | None
    abstained_before: int
    abstained_now: int
    not_graded_before: int
    not_graded_now: int
    checks: int | None = None
    evidence: float | None = None
    evidence_needed: float | None = None
    varied: bool = True
    always_low: float | None = None
    always_high: float | None = None
    decisions: Mapping[str, float | None] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, kw_only=True)
class DriftReport:
    """A judge compared with its earlier self on the anchors of a calibration.

    `answer` is `drifted` if any criterion drifted, `stable` if all are stable, else `inconclusive`. Where the
    calibration is that of the best of several `candidates`, chance helped choose it, and its next decisions are worse
    without any drift: tests are at `alpha` divided by their number, so that it does not matter which was chosen.
    `cases` anchors were chosen; `missing` (case, criterion) pairs have no new decision, `relabelled` ones another gold
    label than before: both are left out. `changes` names what changed in the fingerprint; None when it cannot be
    compared, for the reason `incomparable`. `design_changes` says what differs in rule, perturbations and repetitions
    as far as both sides know them, also where there is no fingerprint.
    """

    answer: Answer
    calibration: str
    judge: str
    measured_at: str
    cases: int
    margin: float
    alpha: float
    criteria: Mapping[str, CriterionDrift]
    missing: tuple[Place, ...] = ()
    relabelled: tuple[Place, ...] = ()
    changes: tuple[str, ...] | None = None
    incomparable: str = ""
    design_changes: tuple[str, ...] = ()
    fingerprint_before: str | None = field(default=None, repr=False)
    fingerprint: str | None = field(default=None, repr=False)
    candidates: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON keeps it (schema `judgeharness.drift/1`)."""
        places = {
            name: [{"case_id": case_id, "criterion": criterion} for case_id, criterion in getattr(self, name)]
            for name in ("missing", "relabelled")
        }
        lists = {
            "changes": None if self.changes is None else list(self.changes),
            "design_changes": list(self.design_changes),
        }
        criteria = [asdict(one) for one in self.criteria.values()]
        return {"schema": DRIFT_SCHEMA, **asdict(self), **places, **lists, "criteria": criteria}


def drift(
    old: CalibrationReport,
    new: Iterable[LabelledItem],
    *,
    parts: Parts = None,
    design: Parts = None,
    anchors: int | None = DEFAULT_ANCHORS,
    margin: float = DEFAULT_MARGIN,
    alpha: float = DEFAULT_ALPHA,
    past: Sequence[Day] | None = None,
) -> DriftReport:
    """Compare new decisions with those of an earlier calibration, on its anchors.

    Args:
        old: the calibration; it holds its items.
        new: decisions about the same cases now; of cases that are no anchors nothing is used. Items without gold are
            compared with the old gold label.
        parts: the fingerprint parts of the judge now; None when it has no identity, or answers come from a log.
        design: rule, perturbations and repetitions of the new decisions, as far as known; those of `parts` when None.
        anchors: how many cases of the old calibration are looked at; every one when None.
        margin: how much the share of correct anchors may change in a stable judge; for scores this part of the range
            of gold labels and scores.
        alpha: level of the test over all criteria together, and over all candidates the calibration was chosen from.
        past: what earlier checks decided, oldest first, as `history.past_days` returns it; empty before the first one.
            The level then holds for all checks of an unchanged judge together. None: this is the only look.

    Raises:
        UsageError: the calibration holds no items, nothing can be compared, or a number is out of range.

    """
    check_levels(margin=margin, alpha=alpha)
    count = max(1, len(old.items)) if anchors is None else anchors
    wanted = anchor_items(old.items, count)
    found = by_place((item for item in new if (item.case_id, item.criterion) in wanted), "what was decided now")
    relabelled = tuple(place for place in wanted if place in found and not same_label(wanted[place], found[place]))
    missing = tuple(place for place in wanted if place not in found)
    changes: dict[str, list[Change]] = {}
    for place, before in wanted.items():
        if place in found and place not in relabelled:
            changes.setdefault(place[1], []).append(Change(before=before, now=found[place]))
    if not changes:
        raise UsageError(
            f"none of {len(wanted)} anchors can be compared: {len(missing)} are missing, {len(relabelled)} have "
            "another gold label than before; calibrate anew."
        )
    level = simultaneous_alpha(alpha, old.candidates or 1)
    facts = compared(changes, margin=margin, alpha=level, past=past)
    criteria = {name: CriterionDrift(**found) for name, found in facts.items()}
    return DriftReport(
        answer=_together([one.answer for one in criteria.values()]),
        calibration=old.name,
        judge=old.judge,
        measured_at=old.measured_at,
        cases=len({case_id for case_id, _ in wanted}),
        margin=margin,
        alpha=alpha,
        criteria=criteria,
        missing=missing,
        relabelled=relabelled,
        candidates=old.candidates,
        design_changes=design_changes(old.known_design, design_of_parts(design or parts or {})),
        **_identity(old.parts, parts),
    )


def check_levels(**numbers: float) -> None:
    """Raise a UsageError for a margin or a level that does not lie between 0 and 1."""
    for name, value in numbers.items():
        if not 0 < value < 1:
            raise UsageError(f"{name} must lie between 0 and 1, not {value:g}.")


def _together(answers: Iterable[Answer]) -> Answer:
    given = set(answers)
    if "drifted" in given:
        return "drifted"
    return "stable" if given == {"stable"} else "inconclusive"


def _identity(before: Parts, now: Parts) -> dict[str, Any]:
    """Return the fingerprints and what differs between them."""
    digests = {
        "fingerprint_before": None if before is None else Fingerprint(before).digest,
        "fingerprint": None if now is None else Fingerprint(now).digest,
    }
    if before is not None and now is not None:
        return digests | {"changes": Fingerprint(before).changes(now)}
    side, which = ("the calibration", "was") if before is None else ("the new decisions", "were")
    how = "made from a log, or by a judge without identity: in a configuration `model` gives one to a `callable`"
    return digests | {"incomparable": f"{side} {which} {how}"}


HISTORY_SCHEMA: Final = "judgeharness.drift_history/1"
_CALLED: Final = ("history", "--history")
_Line = TypeVar("_Line")
_KEPT = (
    "criterion",
    "answer",
    "n",
    "difference",
    "low",
    "high",
    "p_adjusted",
    "minimum_detectable",
    "not_graded_now",
    "evidence",
    "decisions",
)


@dataclass(frozen=True, kw_only=True)
class History:
    """The checks of a history in order, and how many of its lines could not be read; these stay in the file."""

    checks: tuple[Mapping[str, Any], ...] = ()
    unreadable: int = 0


def history_line(report: DriftReport, *, judge: str, checked_at: str) -> dict[str, Any]:
    """Return what the history keeps of a check.

    Args:
        report: what the check found.
        judge: the judge that was checked.
        checked_at: when, as an ISO 8601 time with offset.

    """
    return {
        "schema": HISTORY_SCHEMA,
        "checked_at": checked_at,
        "answer": report.answer,
        "judge": judge,
        "calibration": report.calibration,
        "calibrated_at": report.measured_at,
        "fingerprint": report.fingerprint,
        "changes": None if report.changes is None else list(report.changes),
        "design_changes": list(report.design_changes),
        "missing": len(report.missing),
        "relabelled": len(report.relabelled),
        "criteria": [{name: getattr(one, name) for name in _KEPT} for one in report.criteria.values()],
    }


def past_days(history: History, calibration: CalibrationReport) -> list[Day]:
    """Return what the checks of a history decided about the anchors of a calibration, oldest first.

    Checks of another calibration, and those that did not keep their decisions, are left out.
    """
    known = {"calibration": calibration.name, "calibrated_at": calibration.measured_at}
    mine = [check for check in history.checks if all(check.get(name) == value for name, value in known.items())]
    return [day for check in mine if (day := _day(check))]


def _day(check: Mapping[str, Any]) -> Day:
    criteria = [one for one in check["criteria"] if isinstance(one, dict) and isinstance(one.get("decisions"), dict)]
    return {
        (case_id, str(one.get("criterion"))): math.inf if value is None else float(value)
        for one in criteria
        for case_id, value in one["decisions"].items()
        if value is None or is_number(value)
    }


def append_history(path: Path, line: Mapping[str, Any]) -> None:
    """Add a line at the end of the file; what stands in it is not touched.

    Raises:
        ConfigError: it cannot be written.

    """
    append_line(path, line, called=_CALLED)


def append_line(path: Path, line: Mapping[str, Any], *, called: tuple[str, str]) -> None:
    """Add a JSON object as a line of its own.

    Args:
        path: the file, which is made where it is missing.
        line: the object.
        called: what the file is, and the option that names another, for the error.

    Raises:
        ConfigError: it cannot be written.

    """
    text = json.dumps(line, ensure_ascii=False, allow_nan=False) + "\n"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        text = text if _ends_line(path) else "\n" + text
        with path.open("ab") as file:  # one write, so that lines of processes side by side stay lines
            file.write(text.encode("utf-8", errors=LONE_SURROGATES))
    except OSError as error:
        raise _cannot(path, "written", error, called) from error


def read_lines(path: Path, read: Callable[[str], _Line | None], *, called: tuple[str, str]) -> tuple[list[_Line], int]:
    """Return what lines hold, and how many hold nothing `read` can read; nothing without the file.

    Args:
        path: the file.
        read: of a line, None where it cannot be read.
        called: see `append_line`.

    Raises:
        ConfigError: the file cannot be read.

    """
    if not path.is_file():
        return [], 0
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
    except OSError as error:
        raise _cannot(path, "read", error, called) from error
    held = [read(line) for line in lines if line.strip()]
    known = [one for one in held if one is not None]
    return known, len(held) - len(known)


def _cannot(path: Path, what: str, error: OSError, called: tuple[str, str]) -> ConfigError:
    name, option = called
    return ConfigError(f"{name} {path} cannot be {what} ({error.strerror or error}): give another {option}.")


def _ends_line(path: Path) -> bool:
    """Whether the file is empty or ends with a whole line; an interrupted check may have left half of one."""
    if not path.is_file():  # a device
        return True
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - 1))
        return file.read(1) in (b"", b"\n")


def read_history(path: Path) -> History:
    """Return the checks in a file; without the file there were none.

    Raises:
        ConfigError: it cannot be read.

    """
    checks, unreadable = read_lines(path, _check, called=_CALLED)
    return History(checks=tuple(checks), unreadable=unreadable)


def _check(line: str) -> Mapping[str, Any] | None:
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        return None
    fits = isinstance(data, dict) and data.get("schema") == HISTORY_SCHEMA
    return data if fits and isinstance(data.get("criteria"), list) else None
