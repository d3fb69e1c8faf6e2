"""What a harness accepts: everything else is refused with one sentence before anything is asked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, TypeVar

from judgeharness_integrations._errors import PlanError
from judgeharness_integrations.analysis.aggregation.curtailing import curtails
from judgeharness_integrations.analysis.aggregation.rules import Rule, RuleLike, rule
from judgeharness_integrations.analysis.calibration.saved import CalibrationReport, SavedMeasurement
from judgeharness_integrations.analysis.design import Design
from judgeharness_integrations.verdictlog.row import is_probe

from .execution.preparing import wordings_of
from .execution.retrying import Budget
from .perturbations import Perturbation

if TYPE_CHECKING:
    from judgeharness_integrations.analysis.certifying.certificate import Certificate

    from .calibrating import CalibrationSet

_Saved = TypeVar("_Saved", bound=SavedMeasurement)


def check_kinds(perturbations: object, aggregation_rule: object) -> None:
    """Raise a PlanError for arguments of a kind that has no meaning here."""
    if isinstance(perturbations, (str, Perturbation)):
        raise PlanError("perturbations is a list: write ['none', 'position_swap'], even for a single one.")
    if not isinstance(perturbations, Iterable):
        raise PlanError(f"perturbations is a list of names or Perturbations, not {type(perturbations).__name__}.")
    if not isinstance(aggregation_rule, (str, Rule)) and not callable(aggregation_rule):
        raise PlanError(f"a rule is a name, a function of rows or a Rule, not {type(aggregation_rule).__name__}.")
    if isinstance(aggregation_rule, Rule) and hasattr(aggregation_rule.function, "held_passport"):
        raise PlanError("a passport is of one judge: give passport=, in a configuration the key passport, not a rule.")


def loaded(kind: type[_Saved], given: _Saved | str | PathLike[str] | None) -> _Saved | None:
    """Return a calibration or certificate, read from its file where a path is given."""
    return kind.load(given) if isinstance(given, (str, PathLike)) else given


def check_calibration(calibration: CalibrationReport | None, calibration_set: CalibrationSet | None) -> None:
    """Raise a UsageError for calibrations and label sets that cannot be used, be it for a single label."""
    if calibration is not None and calibration_set is not None:
        raise PlanError("give a calibration or a calibration_set, not both.")
    if calibration is not None and not hasattr(calibration, "state"):
        kind = type(calibration).__name__
        raise PlanError(f"calibration is a CalibrationReport, not {kind}: read it with CalibrationReport.load(path).")
    if calibration_set is not None:
        if not hasattr(calibration_set, "golds"):
            kind = type(calibration_set).__name__
            hint = f": give its {kind}.calibration_set" if hasattr(calibration_set, "calibration_set") else ""
            raise PlanError(f"calibration_set is a CalibrationSet, not {kind}{hint}.")
        calibration_set.golds()


def check_certificate(certificate: Certificate | None, design: Design) -> None:
    """Raise a PlanError for a certificate that cannot be used."""
    if certificate is None:
        return
    if not hasattr(certificate, "selections"):
        kind = type(certificate).__name__
        raise PlanError(f"certificate is a Certificate, not {kind}: read it with Certificate.load(path).")
    if not certificate.granted:
        raise PlanError(f"the certificate on {certificate.name} was refused, so that every case would abstain.")
    if certificate.curtailed != design.curtail:
        kinds = ("stopped early", "asked in full")
        then, now = kinds if certificate.curtailed else kinds[::-1]
        raise PlanError(
            f"the certificate on {certificate.name} is of samples {then}, these are {now}: how sure decisions are "
            "cannot be compared; certify such samples, or change curtail."
        )


def _check_observers(observers: object) -> None:
    """Raise a PlanError unless it is None or a list of observers."""
    if observers is None:
        return
    given = observers if isinstance(observers, (list, tuple)) else [None]
    if not all(hasattr(one, "begin") and hasattr(one, "end") and not isinstance(one, type) for one in given):
        raise PlanError("observers is a list of observers, as in observers=[LangSmithTracing()].")


def check_choices(*, on_unfit: str, keep: str, log: object, observers: object) -> None:
    """Raise a PlanError for a choice that is none, a log that takes no rows, and observers that cannot watch."""
    _check_observers(observers)
    if log is not None and not (hasattr(log, "append") and hasattr(log, "rows")):
        raise PlanError(
            f"log is a SqlLog, a MemoryLog or a JsonlLog of judgeharness_integrations.verdictlog, not {log!r}."
        )
    if on_unfit not in ("error", "skip"):
        raise PlanError(f"on_unfit is 'error' or 'skip', not {on_unfit!r}.")
    if keep not in ("text", "hash", "none"):
        raise PlanError(f"keep is 'text', 'hash' or 'none', not {keep!r}.")


def check_running(
    *, budget: object, switches: Mapping[str, object], run: object, executor: object, rates: Mapping[str, object]
) -> None:
    """Raise a PlanError for arguments of a kind that says nothing, and for limits an executor would not hear of."""
    if budget is not None and not isinstance(budget, Budget):
        raise PlanError(
            f"budget is a Budget of judgeharness_integrations.judging.execution, not {type(budget).__name__}."
        )
    for name, switch in switches.items():
        if not isinstance(switch, bool):
            raise PlanError(f"{name} is True or False, not {switch!r}.")
    if run is not None and (not isinstance(run, str) or not run.strip()):
        raise PlanError(f"run is a name, or None for a new one each time, not {run!r}.")
    for name, rate in rates.items():
        if executor is not None and rate is not None and getattr(getattr(executor, "rates", None), name, None) != rate:
            raise PlanError(f"{name} is a limit of the executor: give it Rates({name}={rate!r}) instead.")


def check_policy(retrying: object, executor: object) -> None:
    """Raise a PlanError for a retry policy that an executor would not hear of."""
    if retrying is None or executor is None:
        return
    if getattr(getattr(executor, "policy", None), "retrying", None) is not retrying:
        raise PlanError("retrying is a matter of the executor: give it policy=CallPolicy(retrying=...) instead.")


def designed(
    chosen: Sequence[Perturbation], folding: RuleLike, instructions: Sequence[str], **measuring: Any
) -> Design:
    """Return the design of perturbations, a rule and what else a `Design` holds.

    Raises:
        PlanError: samples are to stop early, and the decision can change until the last one.

    """
    names, wordings = tuple(one.name for one in chosen), wordings_of(chosen, instructions)
    design = Design(perturbations=names, rule=rule(folding), wordings=wordings, **measuring)
    _check_curtail(design)
    return design


def _check_curtail(design: Design) -> None:
    if not design.curtail:
        return
    if (probe := next(filter(is_probe, design.perturbations), None)) is not None:
        raise PlanError(
            f"{probe!r} does not vote, and early stopping asks only what a decision needs: leave curtail out."
        )
    if (reason := curtails(design.rule)) is not None:
        raise PlanError(f"{reason.rstrip('.')}: leave curtail out.")


def check_design(perturbations: Sequence[Perturbation], **numbers: float | None) -> None:
    """Raise a PlanError for perturbations and numbers that make no measurement."""
    if not perturbations:
        raise PlanError("there is no perturbation: give at least ['none'].")
    names = [p.name for p in perturbations]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise PlanError(f"perturbation {twice!r} is listed twice: use repetitions to ask more often.")
    for name, value in numbers.items():
        whole = name not in ("timeout_s", "tolerance")
        least = 0 if name == "tolerance" else 1 if whole else 1e-9
        if value is None and name in ("min_valid", "max_attempts", "max_calls", "timeout_s"):
            continue
        if isinstance(value, bool) or not isinstance(value, (int,) if whole else (int, float)) or not value >= least:
            kind = "a whole number of at least 1" if whole else "a number of at least 0" if least == 0 else "above 0"
            raise PlanError(f"{name} must be {kind}, not {value!r}.")
    planned = sum(not is_probe(name) for name in names) * int(numbers["repetitions"] or 0)
    if (quorum := numbers["min_valid"]) is not None and quorum > planned:
        raise PlanError(f"min_valid={quorum} is more than the {planned} samples planned a case.")
